"""Every write of the product: edits, the gateway with its journal, and writes that count once."""
