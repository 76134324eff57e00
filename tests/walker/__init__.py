"""The walk over bytes in C compared with the one in Python: equal results and equal errors, on any bytes."""
