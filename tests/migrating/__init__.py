"""Moving collections between all layouts while people write: nothing is lost, changed, renumbered or resurrected."""
