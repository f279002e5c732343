"""The end of every search (lines 10 to 12 of Algorithm 1): those that were selected become neighbours with a score, and
the slots left over distinct random items with the score NaN. Integers and one exact division: equal on all devices.
"""
