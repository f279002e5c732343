"""Sizes that are known before any work: the memory that a training takes."""

from gpukit.neighbors.plan import STRIPE_BYTES, stripe_rows

CODE_BLOCKS = 1056  # that tell at once how neighbours were rated, each with a table of a byte an item
SORTED, SEARCHED, CODED = 34, 31, 8  # bytes a rating: while they are sorted, while neighbours are searched, beside what
# is kept while the rest is made of where each rating stands and where its codes go
HASHED = 300  # bytes of an item's hashings at the usual settings


def memory_kept(n_ratings, sides, layout):
    """Bytes that training holds: ratings with their codes (8 bytes a rating and one a slot) and the users' history (5),
    both parameter tables, influences, offsets, neighbours.

    sides: rows of the side that is walked (with neighbourhoods: the items) and of the other.
    """
    rows = sum(_rows(count, side) for count, side in zip(sides, (layout.major, layout.minor)))
    return n_ratings * (13 + layout.slots) + rows + 16 * (sides[0] + 1) * layout.slots


def memory_needed(n_ratings, sides, layout):
    """Bytes that a GPU needs at most, arguments as memory_kept: what the largest of the steps holds that make training
    ready."""
    kept = memory_kept(n_ratings, sides, layout) + CODED * n_ratings
    steps = [SORTED * n_ratings, kept + _rows(sides[1], layout.minor)]  # the minor side's rows move to another table
    if layout.slots:
        steps += [SEARCHED * n_ratings + _search(sides[0], layout), kept + CODE_BLOCKS * (sides[0] + 1)]
    return max(steps)


def memory_on_host(sides, layout):
    """Bytes of main memory of a State, beside its parameter rows where these lie there too."""
    return 2 * memory_kept(0, sides, layout)


def _rows(count, rows):
    """Bytes of a side's parameter rows, the unknown's too; rows: layout.Rows."""
    return 4 * (count + 1) * rows.stride


def _search(items, layout):
    """Bytes of a search for neighbours: hashings, keys of a stripe, lists."""
    return items * (HASHED + 4 * stripe_rows(items, STRIPE_BYTES) + 8 * layout.slots)
