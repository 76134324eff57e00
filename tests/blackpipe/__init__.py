"""A black pipe: a server whose connection fails on cue, every operation of the product through it, and an audit.

After A. Jesse Jiryu Davis, "Black Pipe Testing": a test plays the server on the wire, so that each failure comes
exactly when it is requested, and can be repeated.
"""
