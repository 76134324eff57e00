"""The search for damage in one document and its versions: facts, and the rules over them."""
