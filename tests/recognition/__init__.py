"""Random databases: ordinary applications without any versions, and versioned collections under random names."""
