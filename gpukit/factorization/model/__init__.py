"""A fitted model: its numbers on the host (state), in a device's memory (layout), in files (saving); whether one from a
file is sound (check)."""
