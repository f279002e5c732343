"""Training on ratings on a GPU without copies.

Ratings reach the preparation without a copy, unless a step needs the host.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from base.held import Held

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore:.* encountered")]

from gpukit.base import arrays
from gpukit.device import Device
from gpukit.factorization import LSHMF, MatrixFactorization
from gpukit.factorization import run as begin
from gpukit.factorization.implicit import choosing as begin_implicit
from gpukit.parallel import ALONE
from gpukit.ratings.orders import resident
from gpukit.ratings.orders.resident import ResidentRatings, SentRatings

GPU = Device("cuda", 0, "a GPU", (9, 0))
NAMED = {"n_factors": 2, "n_epochs": 1, "regularization": 0.02}


@pytest.fixture(autouse=True)
def a_small_gpu(monkeypatch):
    monkeypatch.setattr(arrays, "device_view", lambda array: array.there)
    monkeypatch.setattr(resident, "gpu_count", lambda: 1)
    for module in (begin, begin_implicit):
        monkeypatch.setattr(module, "prepare", lambda request: Given((request.estimator, request.ratings)))


class Given(tuple):
    """Estimator and ratings of a request, in place of its Run."""

    def _replace(self, **fields):
        return self


def triple():
    users, items = np.divmod(np.random.default_rng(0).permutation(9 * 8)[:40], 8)
    return users * 10 - 3, items, (1 + (users + items) % 5).astype(np.float32)


@pytest.mark.parametrize("estimator", [MatrixFactorization, LSHMF])
@pytest.mark.parametrize("team", [None, ALONE])
def test_they_arrive_as_they_lie(estimator, team):
    held = tuple(map(Held, triple()))
    _, found, *_ = estimator(**NAMED, device=GPU).prepare(held[:2], held[2], team=team)
    assert type(found) is ResidentRatings and not any(one.seen for one in held)
    assert found.shape == (9, 8) and len(found) == 40


WAYS = {
    "on the CPU": ({"device": "cpu"}, {}),
    "weighted": ({}, {"sample_weight": np.arange(1, 41)}),
    "held out": ({"validation_fraction": 0.2}, {}),
    "clicks": ({"feedback": "implicit"}, {}),
}


@pytest.mark.parametrize("way", WAYS)
def test_what_needs_the_host_has_a_copy(way):
    held, (options, given) = tuple(map(Held, triple())), WAYS[way]
    estimator = MatrixFactorization(**{"n_factors": 2, "device": GPU, **options})
    found, expected = (estimator.prepare(parts[:2], parts[2], **given)[1] for parts in (held, triple()))
    assert type(found) is type(expected) and all(one.seen for one in held)
    for name, column in expected.columns().items():
        np.testing.assert_array_equal(getattr(found, name), column)


def test_values_are_copied_where_the_scale_looks_at_them():
    held = tuple(map(Held, triple()))
    _, found, *_ = MatrixFactorization(**NAMED, device=GPU).prepare(held)
    for exact in (True, False):
        orders = SimpleNamespace(levels=SimpleNamespace(exact=exact))
        assert (begin.values_for(orders, found) is None) == exact and bool(held[2].seen) != exact


def test_large_arrays_of_the_host_arrive_numbered(monkeypatch):
    monkeypatch.setattr(resident, "MANY", 40)
    users, items, values = triple()
    _, found, *_ = LSHMF(**NAMED, device=GPU).prepare((users, items), values)
    assert type(found) is SentRatings and found.shape == (9, 8) and "users" not in vars(found)


@pytest.mark.parametrize("way", WAYS)
def test_what_needs_the_host_has_large_arrays_as_they_are(way, monkeypatch):
    options, given = WAYS[way]
    estimator = MatrixFactorization(**{"n_factors": 2, "device": GPU, **options})
    expected = estimator.prepare(triple()[:2], triple()[2], **given)[1]
    monkeypatch.setattr(resident, "MANY", 40)
    found = estimator.prepare(triple()[:2], triple()[2], **given)[1]
    assert type(found) is type(expected)
    for name, column in expected.columns().items():
        np.testing.assert_array_equal(getattr(found, name), column)
