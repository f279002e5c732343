"""Small irregular inputs for twins and the simulator."""

import numpy as np

from gpukit.device import cpu
from gpukit.neighbors.formulas import permutation_half, supplement_key
from gpukit.neighbors.plan import Settings, columns_of
from gpukit.neighbors.run import CHUNK, word_keys
from gpukit.random import bits, shuffle_index
from gpukit.ratings import Ratings
from gpukit.ratings.orders.order import order_ratings
from neighbors import naive

SHAPES = {  # ratings(users, items, density, levels), settings, chunk
    "two items, one bit": ((1, 2, 1.0, [3]), Settings(1, 1, 1, 1), CHUNK),
    "unused high bits": ((40, 33, 0.4, [1, 2, 3, 4, 5]), Settings(4, 3, 5, 3), CHUNK),
    "full words": ((33, 12, 0.6, [1, 3, 5]), Settings(11, 2, 4, 8, psi=1, seed=5), CHUNK),
    "r**4 of half stars": ((64, 9, 0.9, np.arange(1, 11) / 2), Settings(3, 1, 9, 7, psi=4), CHUNK),
    "cut columns": ((300, 7, 0.8, [1, 2, 3]), Settings(2, 2, 3, 11), 32),
    "one rating a chunk": ((20, 3, 0.9, [1, 2]), Settings(2, 1, 2, 5), 1),
    "negative and zero": ((50, 8, 0.7, [-2, -1, 0, 3]), Settings(5, 1, 8, 4, psi=1), 16),
    "more than 128 words": ((11, 4, 0.9, [2, 3]), Settings(3, 9, 61, 8), 3),
    "codes of 72 bits": ((9, 30, 0.1, [2, 3]), Settings(6, 9, 10, 8), CHUNK),
}


def ratings(n_users, n_items, density, levels, seed, empty=()):
    """Random ratings with the values `levels`; the items in `empty` have none; the last item has one."""
    rng = np.random.default_rng(seed)
    mask = rng.random((n_users, n_items)) < density
    mask[:, list(empty)] = False
    mask[:, -1] = False
    mask[0, -1] = True
    users, items = np.nonzero(mask)
    order = rng.permutation(len(users))
    values = rng.choice(np.asarray(levels, np.float32), len(users))
    users, items = users[order].astype(np.int32), items[order].astype(np.int32)
    return Ratings(users, items, values, np.arange(n_users), np.arange(n_items))


def columns(made):
    """The Columns of ratings."""
    return columns_of(order_ratings(made, cpu()))


def columns_on_device(table):
    """The Columns with users and levels on the GPU, for the kernels' host steps."""
    from gpukit.device.upload import to_device

    rows = table.by_user
    there = {} if rows is None else {name: to_device(getattr(rows, name)) for name in ("starts", "others", "codes")}
    by_user = rows._replace(**there) if there else None
    return table._replace(users=to_device(table.users), levels=to_device(table.levels), by_user=by_user)


def user_signs(n_users, settings):
    """(n_users, n_bits) of -1 and +1: Phi(H_i), unpacked from the library's words."""
    keys = word_keys(settings.seed, settings.n_words)
    words = np.array([[bits(key, user) for key in keys] for user in range(n_users)], np.uint32)
    return 2 * unpack(words, settings.n_bits) - 1


def unpack(words, n_bits):
    """(n, n_bits) of 0 and 1 from (n, W) uint32 words, lowest bit first."""
    flat = (words[:, :, None] >> np.arange(32, dtype=np.uint32)) & 1
    return flat.reshape(len(words), -1)[:, :n_bits].astype(int)


def case(name):
    """(ratings, their Columns, settings, chunk) of a case of SHAPES."""
    shape, settings, chunk = SHAPES[name]
    made = ratings(*shape, seed=11, empty=[1] if shape[1] > 2 else [])
    return made, columns(made), settings, chunk


def oracle_codes(made, settings):
    """(N, n_bits) of 0 and 1: Eq. (3)."""
    signs = user_signs(made.shape[0], settings)
    return naive.codes(made.users, made.items, made.values, signs, made.shape[1], settings.psi)


def codes(n_items, n_words, n_bits, seed=0):
    """Return (codes (N, W) uint32, every third nearly equal to the previous one; rated (N,) bool: all but one)."""
    rng = np.random.default_rng(seed)
    made = rng.integers(0, 2**32, (n_items, n_words), dtype=np.uint32)
    made[1::3] = made[: len(made[1::3]) * 3 : 3] ^ np.uint32(1 << 9)
    used = np.arange(n_words * 32) < n_bits
    mask = np.packbits(used, bitorder="little").view(np.uint32)
    rated = np.ones(n_items, bool)
    rated[n_items // 2] = n_items < 4
    return made & mask, rated


def random_orders(n_items, seed):
    """Return, per item, all items in the order of the supplement."""
    key, half = supplement_key(seed), permutation_half(n_items)
    own = [bits(key, item) for item in range(n_items)]
    return [[int(shuffle_index(k, index, half, n_items)) for index in range(n_items)] for k in own]


def selection_of(n_items, k, worst, seed):
    """Return (indices (N, k) int32, keys (N, k) uint32) like a selection: ascending, 0 to k of them below worst."""
    rng = np.random.default_rng(seed)
    keys = np.sort(rng.integers(0, worst + 1, (n_items, k)), axis=1).astype(np.uint32)
    keys[0], keys[-1] = worst, 0
    keys[1 % n_items, -1] = 0xFFFFFFFF
    indices = np.array([rng.permutation([j for j in range(n_items) if j != i])[:k] for i in range(n_items)], np.int32)
    return indices, keys
