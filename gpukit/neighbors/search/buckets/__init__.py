"""Search by buckets, the paper's (Algorithm 1): the key of a pair is the number of the q fine hashings that differ.

A pair shares a fine hashing when all its p * G bits agree. Each of q tables is sorted by a hash of 24 bits; items with
equal hashes are adjacent, and their bits are compared. O(q (N + shared pairs)); exact.
"""

READS_CODES = True
IS_SPARSE = False


def worst(settings):
    """Return the key of a pair without an equal fine hashing."""
    return settings.q
