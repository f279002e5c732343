"""Memory required by `require_memory`, against the bytes of existing device arrays.

Arrays are counted in the simulator. Kernels do not run, except four whose results determine array sizes.
"""

import numpy as np
import pytest
from base.counted import counting, held

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore:.* encountered|.* neighbour slots are random")]

from gpukit.device import Device
from gpukit.factorization import LSHMF, MatrixFactorization, gpu, plan
from gpukit.factorization.model.layout import major_first
from gpukit.neighbors import gpu as search_gpu
from gpukit.neighbors import plan as neighbors
from gpukit.ratings import Ratings
from gpukit.ratings.orders import order

GPU = Device("cuda", 0, "a GPU", (9, 0))
NAMED = {"n_factors": 32, "n_epochs": 1, "regularization": 0.02, "device": GPU}
MOST = 1.3  # times the required memory
SMALLER = 8  # tables, and with them the stripes of a search, than those that stripes were made for


def pack_keys(users, items, codes, n_users, n_items, item_shift, user_shift, keys, wrong):
    keys[:] = users.astype(np.uint64) << np.uint64(user_shift) | items.astype(np.uint64) << np.uint64(item_shift)


def enter_values(bits, most, table, found):
    values = np.unique(bits)
    found[0] = len(values)
    table[: min(len(values), most)] = values[:most]


def scatter_digits(keys, payload, shift, width, tiles, counts, totals, out_keys, out_payload):
    places = np.argsort(keys >> np.uint64(shift) & np.uint64((1 << width) - 1), kind="stable")
    out_keys[:] = keys[places]


def row_starts(keys, shift, width, starts):
    starts[:] = np.searchsorted(keys >> np.uint64(shift) & np.uint64((1 << width) - 1), np.arange(starts.size))


RUN = {one.__name__: one for one in (pack_keys, enter_values, scatter_digits, row_starts)}


def launch(kernel, grid, block, *arguments, stream=None):
    """Compute the results that determine array sizes, by numpy."""
    if run := RUN.get(kernel.fn.__name__):
        run(*map(held, arguments))


@pytest.fixture
def counter(monkeypatch):
    """Counter of a GPU with enough memory, on which other kernels do nothing."""
    monkeypatch.setattr(gpu, "most_workers", lambda layout: 6000)
    monkeypatch.setattr(search_gpu, "ROWS", 1)  # stripes of more rows take memory that is free
    for module in (plan, search_gpu):
        monkeypatch.setattr(module, "STRIPE_BYTES", neighbors.STRIPE_BYTES // SMALLER)
    with counting(monkeypatch, launch) as found:
        yield found


def table(shape, n, levels=5):
    """Return Ratings of distinct pairs."""
    rng = np.random.default_rng(0)
    users, items = np.divmod(np.sort(rng.choice(shape[0] * shape[1], n, replace=False)), shape[1])
    values = rng.integers(0, levels, n).astype(np.float32) / 8
    return Ratings(users.astype(np.int32), items.astype(np.int32), values, *map(np.arange, shape))


SHAPES = {
    "dense": ((2000, 700), 300_000),
    "sparse": ((30_000 // SMALLER, 9000 // SMALLER), 100_000 // SMALLER),
    "many items": ((1000 // SMALLER, 20_000 // SMALLER), 200_000 // SMALLER),
    "very many items": ((1000 // SMALLER, 300_000 // SMALLER), 200_000 // SMALLER),
    "many users": ((40_000 // SMALLER, 300), 200_000 // SMALLER),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", [MatrixFactorization, LSHMF])
def test_no_more_is_there_at_once_than_was_asked_for(kind, shape, counter):
    ratings = table(*SHAPES[shape])
    estimator = kind(**NAMED) if kind is MatrixFactorization else kind(**NAMED, n_neighbors=32)
    run = estimator.prepare(ratings)
    sizes = len(ratings), major_first(kind.walk, *ratings.shape), run.session.layout
    assert 0.85 < counter.most / plan.memory_needed(*sizes) < 1.15
    assert 1.0 <= counter.now / plan.memory_kept(*sizes) < MOST


@pytest.mark.parametrize("levels, size", [(5, 29), (1000, 38)])
def test_sorting(levels, size, counter):
    ratings = table((500, 600), 200_000, levels)
    _ = order.order_ratings(ratings, GPU)
    assert counter.most / (size * len(ratings)) == pytest.approx(1, rel=0.01)


def test_a_stripe_of_the_search_is_asked_for():
    few, many = (neighbors.stripe_rows(items, neighbors.STRIPE_BYTES) for items in (1000, 100_000))
    assert few == 1000 and many == 671
