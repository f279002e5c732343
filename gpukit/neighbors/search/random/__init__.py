"""Random neighbours, the paper's control group: nobody is found, and the supplement fills all slots. O(N K)."""

READS_CODES = False


def worst(settings):
    """No key is below 0."""
    return 0
