"""Random neighbours, the paper's control group: the supplement fills all slots. O(N K)."""

READS_CODES = False
IS_SPARSE = False


def worst(settings):
    """Return 0: no key is below it."""
    return 0
