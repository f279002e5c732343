"""Mutators: functions (data, rng) -> data. rng: numpy's Generator, the only source of randomness."""
