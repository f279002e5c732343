"""Which digits a sort takes, one pass each."""

MOST_BITS = 8  # of a digit


def digits(begin, end, most=MOST_BITS):
    """[(shift, width)] that cover the bits begin to end (not included), from the lowest, as equal as can be."""
    passes = -(-(end - begin) // most)
    cuts = [begin + (end - begin) * number // passes for number in range(passes + 1)] if passes else []
    return [(first, last - first) for first, last in zip(cuts, cuts[1:])]


def tiles_a_block(n, tile, most_blocks):
    """(tiles that a block walks, blocks) for n records."""
    tiles = max(1, -(-n // tile))
    share = -(-tiles // most_blocks)
    return share, -(-tiles // share)
