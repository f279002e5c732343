"""Memory that a training needs."""

from gpukit.factorization.solvers.sgd import stream_plan
from gpukit.neighbors.plan import STRIPE_BYTES, stripe_rows

CODE_BLOCKS = 1056  # blocks that look up ratings of neighbours in parallel, each with a table of a byte an item
SORTED = 34  # bytes of a rating while they are sorted


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
    searched, coded = (
        31,
        8,
    )  # bytes of a rating: while neighbours are searched; more than is kept, for positions and codes
    kept = memory_kept(n_ratings, sides, layout) + coded * n_ratings
    steps = [SORTED * n_ratings, kept + _rows(sides[1], layout.minor)]  # the minor side's rows move to another table
    if layout.slots:
        steps += [searched * n_ratings + _search(sides[0], layout), kept + CODE_BLOCKS * (sides[0] + 1)]
    return max(steps)


def memory_searched(n_ratings, items, layout):
    """Return the bytes on a GPU of a search for neighbours whose ratings were sorted on the host, in both orders."""
    order_bytes = 5  # of a rating in one order
    return 2 * order_bytes * n_ratings + _search(items, layout)


def pair_bytes(layout):
    """Return the bytes of a pair that is predicted and judged: rows and numbers; codes, sorted by user."""
    return 20 + (layout.slots and 40 + layout.slots)


def memory_streamed(n_ratings, sides, layout):
    """Return the least bytes on a GPU of a training whose ratings stream from main memory.

    Arguments as memory_kept. The packing is taken to be the widest.
    """
    packing = stream_plan.Packing(8, 0, 8 if layout.slots else 0, layout.slots, True)
    rows = memory_kept(0, sides, layout) + _rows(sides[1], layout.minor)
    return rows + stream_plan.least_memory(n_ratings, packing, sides[0])


def host_memory_streamed(n_ratings, sides, layout):
    """Return the bytes of main memory of a training whose ratings stream, arguments as memory_kept.

    These are sorted ratings, codes of neighbours, packed ratings and a State.
    """
    return n_ratings * (SORTED + 2 * layout.slots) + memory_on_host(sides, layout)


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
    hashed = 300  # bytes of an item's hashings at the usual settings
    return items * (hashed + 4 * stripe_rows(items, STRIPE_BYTES) + 8 * layout.slots)
