"""The patterns that stand beside the layouts, looked through for what should not be."""
