"""How fast the diff and the merge are, beside other programs on the same data: ``python -m tests.benchmarks``."""
