"""Histories that other programs wrote: dumps, the scripts that made them, and the states that there were.

A folder for each program, called as its preset; in ``unknown`` those that there is no preset of. ``python -m
tests.writers`` installs the programs from their registries and lets them write anew, with a fresh seed.
"""
