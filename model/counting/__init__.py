"""Counting: sequences, two-step counters with pending tokens, apply-once lists."""
