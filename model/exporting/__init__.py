"""A diff in the forms of other programs; ``model.export`` is the door."""
