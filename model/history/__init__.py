"""One document followed through all its versions: blame, bisect, change map, the history of a field."""
