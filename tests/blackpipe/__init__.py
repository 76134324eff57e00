"""A black pipe: a server whose wire fails on cue, every operation of the product sent through it, and an audit.

After A. Jesse Jiryu Davis, "Black Pipe Testing": a test takes the server's part on the wire, so that each failure
comes when it is asked for and comes again.
"""
