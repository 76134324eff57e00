"""The walk over bytes in C beside the one in Python: the same results and the same errors, on any bytes."""
