"""The measurements behind :mod:`model.check`, one room for each kind of promise."""
