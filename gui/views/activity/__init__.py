"""Who changed what, over many documents: the changes, their days, and the filter."""
