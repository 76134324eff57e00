"""Histories that other programs write: their rows, keys, states and presets."""
