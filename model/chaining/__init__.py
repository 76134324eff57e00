"""How chains are computed; :mod:`model.chain` is the way in."""
