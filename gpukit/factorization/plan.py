"""Memory that a training needs."""

from gpukit.neighbors.plan import STRIPE_BYTES, stripe_rows

CODE_BLOCKS = 1056  # blocks that look up ratings of neighbours in parallel, each with a table of a byte an item
SORTED, SEARCHED, CODED = 34, 31, 8  # bytes a rating: while they are sorted; while neighbours are searched; for the
# positions of ratings and codes, in addition to what is kept
HASHED = 300  # bytes of an item's hashings at the usual settings


def memory_kept(n_ratings, sides, layout):
    """Return the bytes that training holds throughout.

    These are ratings with their codes (8 bytes a rating and one a slot), the users' history (5 bytes a rating), both
    parameter tables, influences, offsets and neighbours. sides: number of rows of the major side (with neighbourhoods:
    the items) and of the minor side.
    """
    rows = sum(_rows(count, side) for count, side in zip(sides, (layout.major, layout.minor)))
    return n_ratings * (13 + layout.slots) + rows + 16 * (sides[0] + 1) * layout.slots


def memory_needed(n_ratings, sides, layout):
    """Return the peak bytes on a GPU over the steps of preparation.

    Arguments as memory_kept.
    """
    kept = memory_kept(n_ratings, sides, layout) + CODED * n_ratings
    steps = [SORTED * n_ratings, kept + _rows(sides[1], layout.minor)]  # the minor side's rows move to another table
    if layout.slots:
        steps += [SEARCHED * n_ratings + _search(sides[0], layout), kept + CODE_BLOCKS * (sides[0] + 1)]
    return max(steps)


def memory_on_host(sides, layout):
    """Return the bytes of main memory that a State needs.

    Parameter rows on the host need additional memory.
    """
    return 2 * memory_kept(0, sides, layout)


def _rows(count, rows):
    """Return the bytes of a side's parameter rows, including the unknown row; rows: layout.Rows."""
    return 4 * (count + 1) * rows.stride


def _search(items, layout):
    """Return the bytes of a search for neighbours: hashings, keys of a stripe, lists."""
    return items * (HASHED + 4 * stripe_rows(items, STRIPE_BYTES) + 8 * layout.slots)
