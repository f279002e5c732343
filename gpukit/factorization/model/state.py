"""A model's numbers on the host, and their packing into parameter rows.

They are the same for every device. For models of clicks also the start of training, popularity, and two models as one.
A second model, with a loss with sampled negatives, has all its parts, neighbourhoods included. The errors of the models
differ, so the sum of their scores ranks better than either. Factors are concatenated; the second model's score is
multiplied by `mixed`. The result is a State like any other.
"""

from typing import NamedTuple

import numpy as np

from gpukit._pool import map_row_blocks
from gpukit.factorization.arrays import WeightLists
from gpukit.factorization.constants import RULES
from gpukit.factorization.model.layout import BASE, BIAS, EXTRA, major_first
from gpukit.factorization.prepare.formulas import SPREAD, first_factor
from gpukit.factorization.solvers import solver_defaults
from gpukit.random import key
from gpukit.scheduler import by_block
from gpukit.streams import Keyed

NO_WEIGHTS = np.empty((0, 0), np.float32)
KEPT = BASE + 1  # bias, sum of squared errors, baseline bias


class State(NamedTuple):
    """A model's numbers in the units of training (z), float32 except neighbors.

    user_factors U (M, F), user_extras (M, 3): b_i, s_i, baseline b_i; item_factors V (N, F), item_extras (N, 3)
    likewise; influence (N, 2, K): w and c of Eq. (1); neighbors (N, K) int32 item rows. K is 0 without neighbourhoods.
    item_weights (N, N) float32, or (0, 0): a user's score of item j also has the sum of the weights (i, j) over the
    user's items i (solvers/ease). With weight_starts (N + 1,) int64 and weight_items (n,) int32, not empty, they are
    arrays.WeightLists, and item_weights is (n,). Only the upper half of their bits is used, as files keep no more.
    """

    user_factors: np.ndarray
    user_extras: np.ndarray
    item_factors: np.ndarray
    item_extras: np.ndarray
    influence: np.ndarray
    neighbors: np.ndarray
    item_weights: np.ndarray = NO_WEIGHTS
    weight_starts: np.ndarray = np.empty(0, np.int64)
    weight_items: np.ndarray = np.empty(0, np.int32)


@by_block(lambda out: out.shape[0])
def start_factors(start, stop, seed_key, out):
    """Fill out (rows, F) float32 with uniform numbers of deviation SPREAD.

    Number f of row i is a function of (seed_key, i F + f) alone.
    """
    n = out.shape[1]
    for row in range(start, stop):
        for f in range(n):
            out[row, f] = first_factor(seed_key, np.uint64(row * n + f))


def weights_between(state):
    """Return a State's weights between items: (N, N), arrays.WeightLists, or None for none."""
    if state.weight_starts.size:
        return WeightLists(state.weight_starts, state.weight_items, state.item_weights)
    return state.item_weights if state.item_weights.size else None


def weights_matrix(state):
    """Return a State's weights between items, (N, N) or a scipy.sparse.csr_array; None for none."""
    weights = weights_between(state)
    if not isinstance(weights, WeightLists):
        return weights
    from scipy.sparse import csr_array

    size = len(weights.starts) - 1
    return csr_array((weights.weights, weights.items, weights.starts), (size, size))


def with_weights(state, weights):
    """Return the State with rounded weights between items, (N, N) float32 or a scipy.sparse.csr_array."""
    if isinstance(weights, np.ndarray):
        return state._replace(item_weights=round_weights(weights))
    starts, items = weights.indptr.astype(np.int64), weights.indices.astype(np.int32)
    return state._replace(item_weights=round_weights(weights.data), weight_starts=starts, weight_items=items)


def round_weights(weights):
    """Return weights float32 rounded to the upper half of their bits (bfloat16)."""
    bits = weights.view(np.uint32)
    return ((bits + np.uint32(0x8000)) & np.uint32(0xFFFF0000)).view(np.float32)


def upper_halves(weights):
    """Return the upper halves (uint16) of rounded weights."""
    return (weights.view(np.uint32) >> np.uint32(16)).astype(np.uint16)


def from_upper_halves(halves):
    """Return the weights of `upper_halves`."""
    return (halves.astype(np.uint32) << np.uint32(16)).view(np.float32)


def state_of_factors(users, items):
    """Return the State of factors (M, F), (N, F) float32 alone: without biases and neighbours."""
    extras = [np.zeros((len(rows), KEPT), np.float32) for rows in (users, items)]
    nothing = np.zeros((len(items), 2, 0), np.float32), np.zeros((len(items), 0), np.int32)
    return State(users, extras[0], items, extras[1], *nothing)


def without_factors(state):
    """Return the State with factors of zero: its biases alone predict."""
    return state._replace(
        user_factors=np.zeros_like(state.user_factors), item_factors=np.zeros_like(state.item_factors)
    )


def rows_of_side(layout, walk, of_users):
    """Return the layout.Rows of the users' side, or of the items'."""
    users, items = major_first(walk, layout.major, layout.minor)
    return users if of_users else items


def pack_rows(factors, extras, rows):
    """Return parameter rows (count + 1, stride) in the layout of layout.Rows.

    The last row, all zero, is that of unknown ids.
    """
    count, n_factors = factors.shape
    table = np.zeros((count + 1, rows.stride), np.float32)
    stored, extra_columns = _factors(table, rows), slice(rows.stride - EXTRA, rows.stride - EXTRA + KEPT)

    def pack(part):
        stored[part], table[part, extra_columns] = factors[part], extras[part]

    map_row_blocks(pack, factors.shape)
    return table


def unpack_rows(table, rows):
    """Return (factors, extras), float32, of parameter rows."""
    position = rows.stride - EXTRA
    factors = np.ascontiguousarray(_factors(table, rows)[:-1], np.float32)
    return factors, np.ascontiguousarray(table[:-1, position : position + KEPT])


def _factors(table, rows):
    """Return a view of the factors in parameter rows."""
    return (table.view(np.float16) if rows.half else table)[:, : rows.n_factors]


def pack_sides(state, layout, walk):
    """Return (P, Q): parameter rows of the major and of the minor side."""
    sides = (state.user_factors, state.user_extras), (state.item_factors, state.item_extras)
    walked, other = major_first(walk, *sides)
    return pack_rows(*walked, layout.major), pack_rows(*other, layout.minor)


def pack_neighborhood(neighbors, influence, base, layout):
    """Return (neighbors, influence, offsets) with free slots filled.

    neighbors (N, K); influence (N, 2, K), or None for none yet; base (N,): the items' baseline biases. Returns shapes
    (N + 1, slots) int32, (N + 1, 2 slots), (N + 1, slots).
    """
    n_items, k = neighbors.shape
    near = np.full((n_items + 1, layout.slots), -1, np.int32)
    offsets = np.zeros((n_items + 1, layout.slots), np.float32)
    packed = np.zeros((n_items + 1, 2, layout.slots), np.float32)
    near[:n_items, :k] = neighbors
    offsets[:n_items, :k] = np.asarray(base, np.float32)[neighbors]
    if influence is not None:
        packed[:n_items, :, :k] = influence
    return near, packed.reshape(n_items + 1, -1), offsets


def unpack_influence(influence, layout):
    """Return (N, 2, K) of packed influences (N + 1, 2 slots)."""
    return influence.reshape(len(influence), 2, -1)[:-1, :, : layout.n_neighbors].copy()


def unpack(P, Q, influence, layout, walk, neighbors):
    """Return the State of parameter rows P (major) and Q (minor).

    Packed influences are not read without neighbours.
    """
    walked, other = unpack_rows(P, layout.major), unpack_rows(Q, layout.minor)
    return state_of(*major_first(walk, walked, other), influence, layout, neighbors)


def state_of(users, items, influence, layout, neighbors):
    """Return the State of (factors, extras) of both sides.

    Packed influences are not read without neighbours.
    """
    if not layout.slots:
        count = len(items[0])
        return State(*users, *items, np.zeros((count, 2, 0), np.float32), np.zeros((count, 0), np.int32))
    return State(*users, *items, unpack_influence(influence, layout), neighbors)


def start_state(counts, n_factors, neighbors, seed):
    """Return the State at the start of training.

    counts: clicks of each user (M,) and of each item (N,); neighbors (N, K). Rows without clicks have factors of 0, all
    baseline biases are 0.
    """
    start = 0.1  # deviation of a first row's length: 0.1 / sqrt(F) a number (Rendle et al. 2021)
    sides = []
    for clicks, stream in zip(counts, Keyed.FIRST_FACTORS):
        factors = np.empty((len(clicks), n_factors), np.float32)
        start_factors(key(seed, stream), factors)
        factors *= np.float32(start / n_factors**0.5 / SPREAD)
        factors[clicks == 0] = 0
        sides += [factors, np.zeros((len(clicks), KEPT), np.float32)]
    return State(*sides, np.zeros((len(neighbors), 2, neighbors.shape[1]), np.float32), neighbors)


def with_popularity(state, clicks, share=0.0):
    """Return the State with a share of popularity in its score.

    The score is (1 - share) times that of `state`, plus `share` times popularity. clicks (N,): of each item; popularity
    is 1 for the item with the most clicks. At least it breaks ties and ranks items for unknown users.
    """
    tie = 1e-4  # least weight of popularity in an item's bias
    users, extras = state.user_factors, state.item_extras.copy()
    extras[:, BIAS] += max(tie, share) * clicks / max(1, clicks.max())
    users = users * np.float32(1.0 - share) if share else users
    return state._replace(user_factors=users, item_extras=extras)


def partner(estimator, plan, n_clicks, shape):
    """Return the settings.Settings of the second model; plan: those of the first."""
    standard = solver_defaults("sampled", plan.rates, n_clicks)
    named = {"epochs": "n_epochs", "regularization": "regularization", "learning_rate": "learning_rate"}
    arguments = {own: value for own, name in named.items() if (value := getattr(estimator, name)) is not None}
    loss = plan.loss if plan.solver == "sampled" else "cross-entropy"
    biases, factors = bool(getattr(estimator, "biases", True)), min(RULES.second_factors, *shape)
    own = {"solver": "sampled", "loss": loss, "biases": biases, "n_factors": factors, "mixed": 0.0, "popular": 0.0}
    return plan._replace(**{**standard, **arguments, **own, "counted": False})


def deviation(state):
    """Return the root mean square of all products of a State's factors."""
    users, items = (rows.T.astype(np.float64) @ rows for rows in (state.user_factors, state.item_factors))
    return float(np.sqrt((users * items).sum() / (len(state.user_factors) * len(state.item_factors))))


def combine_states(state, other, weight):
    """Return the State whose score is a State's plus `weight` times another's.

    The first one has no neighbours.
    """
    weight = np.float32(weight)
    sides = []
    for factors, extras, others, other_extras in zip(state[:4:2], state[1:4:2], other[:4:2], other[1:4:2]):
        extras = extras.copy()
        extras[:, BIAS] += weight * other_extras[:, BIAS]
        sides += [np.hstack((factors, others if sides else weight * others)), extras]
    return State(*sides, weight * other.influence, other.neighbors)


def split_states(state, plan):
    """Return the (first, second) State of one that `combine_states` made.

    plan: its settings.Settings. All biases are the second's.
    """
    first, weight, (users, of_users, items, of_items, influence) = plan.n_factors, np.float32(plan.mixed), state[:5]
    others = users[:, first:] / weight, of_users / weight, items[:, first:].copy(), of_items / weight
    one = state_of_factors(users[:, :first].copy(), items[:, :first].copy())
    return one, State(*others, influence / weight, state.neighbors)
