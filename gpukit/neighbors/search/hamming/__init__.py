"""Search by Hamming distance: the key of a pair is the number of bits of their codes that differ.

O(N**2 n_words) words, three of them counted at a time on a GPU; exact.
"""

READS_CODES = True


def worst(settings):
    """All bits differ."""
    return settings.n_bits
