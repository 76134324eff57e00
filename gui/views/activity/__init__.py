"""Who changed what, over many documents: the changes, the days they were made on, and what is asked for."""
