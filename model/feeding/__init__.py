"""The parts of the feeder: what an event says, what is written beside the archive, and one collection's feed."""
