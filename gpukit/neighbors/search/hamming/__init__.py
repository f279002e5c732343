"""Search by Hamming distance: the key of a pair is the number of different bits of their codes.

O(N**2 n_words) words, three of them counted at a time on a GPU; exact.
"""

READS_CODES = True
IS_SPARSE = False


def worst(settings):
    """Return the key of a pair without equal bits."""
    return settings.n_bits
