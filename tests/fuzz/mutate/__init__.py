"""Mutators: functions (data, rng) -> data. rng: numpy's Generator; all that is random comes from it."""
