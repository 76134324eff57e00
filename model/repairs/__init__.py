"""The repairs: what each writes, how it is sent, and the way back; behind ``model.repair``."""
