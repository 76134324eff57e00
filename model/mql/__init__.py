"""MongoDB's query language over BSON bytes: what filters, expressions and sort orders mean to a server."""
