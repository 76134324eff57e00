"""Numbers, counts and entries under faults, on the scheduler of the simulation."""
