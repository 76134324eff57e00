"""Laws that hold for every diff and every merge, over all BSON types: ``python -m tests.laws`` is the deep run."""
