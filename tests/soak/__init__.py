"""Processes that write in every way, for any time, while everything goes wrong that can; and their audit."""
