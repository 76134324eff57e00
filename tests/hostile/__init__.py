"""Attacks by name, on the product and on careless forms of it that each must convict: ``python -m tests.hostile``."""
