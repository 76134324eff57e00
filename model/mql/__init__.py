"""MongoDB's query language over BSON bytes: filters, expressions and sort orders, evaluated as on a server."""
