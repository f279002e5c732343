"""Search by buckets, the paper's (Algorithm 1): the key of a pair is the number of the q fine hashings that miss it.

A pair meets in a fine hashing when all its p * G bits agree. Each of q tables is sorted by a hash of 24 bits; items
with equal hashes stand together, and the bits themselves are compared there. O(q (N + meetings)); exact.
"""

READS_CODES = True


def worst(settings):
    """Every fine hashing misses."""
    return settings.q
