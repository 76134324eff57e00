"""Attacks by name, on the product and on a careless form of it that each must convict: ``python -m tests.hostile``."""
