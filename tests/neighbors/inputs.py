"""Small awkward inputs that the twin tier and the simulator tier share."""

from types import SimpleNamespace

import numpy as np

from gpukit.neighbors import plan
from gpukit.random import bits


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
    return SimpleNamespace(users=users, items=items, values=values, shape=(n_users, n_items))


def user_signs(n_users, settings):
    """(n_users, n_bits) of -1 and +1: Phi(H_i), unpacked from the words that the library draws."""
    keys = plan.word_keys(settings.seed, settings.n_words)
    words = np.array([[bits(key, user) for key in keys] for user in range(n_users)], np.uint32)
    return 2 * unpack(words, settings.n_bits) - 1


def unpack(words, n_bits):
    """(n, n_bits) of 0 and 1 from (n, W) uint32 words, lowest bit first."""
    flat = (words[:, :, None] >> np.arange(32, dtype=np.uint32)) & 1
    return flat.reshape(len(words), -1)[:, :n_bits].astype(int)
