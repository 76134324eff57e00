"""Histories that other programs wrote: dumps, the scripts that made them, and the states that existed.

Each program has a folder with its preset's name; ``unknown`` has those without a preset. ``python -m tests.writers``
installs the programs from their registries and lets them write anew, with a fresh seed.
"""
