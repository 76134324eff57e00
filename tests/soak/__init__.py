"""Processes that write in every way, for as long as is wished, while all goes wrong that can; and their audit."""
