"""What layouts share in looking for states that should not be: reading in order, facts, and what they amount to."""
