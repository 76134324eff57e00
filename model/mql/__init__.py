"""MongoDB's query language over BSON bytes: filters, expressions and sort orders as a server reads them."""
