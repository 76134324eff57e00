"""The fields of a document as a tree that can be read and typed into."""
