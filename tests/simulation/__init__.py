"""Writers interleaved at every operation on a server that loses writes, replies and time; replayable by seed."""
