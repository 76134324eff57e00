"""Finds damage in one document and its versions: facts, and rules that judge them."""
