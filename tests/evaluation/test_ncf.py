"""NCF's MovieLens 1M: the documented results of popularity and item kNN by its authors' protocol."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from support import data

from gpukit.bench import clicks as ncf_data
from gpukit.evaluation.lists import clicks_of
from gpukit.neighbors.item_knn import ItemKNN


@pytest.mark.slow
@pytest.mark.data
def test_popularity_and_item_knn_on_movielens():
    folder = data("ncf/ml-1m.train.rating").parent.parent
    ncf = ncf_data.read(folder)
    ids = ncf.tests[1]
    assert ids.shape == (6040, 1 + 99)
    own = (ids[:, 1:] == ids[:, :1]).any(axis=1)
    assert own.sum() == 156 and not ncf.there[own].all(axis=1).any()
    known = clicks_of(ncf.clicks.users, ncf.clicks.items, ncf.clicks.shape)
    users, items = ncf.pairs
    popular = ncf.evaluate(known.of_items(ncf.clicks.shape[1])[items].reshape(ncf.items.shape))
    assert popular == pytest.approx((0.4535, 0.2543), abs=5e-5)  # published: .4531, .2542
    starts, naming, cosines = ItemKNN(known, ncf.clicks.shape[1]).naming
    clicks = csr_array((np.ones(len(known.items), np.float32), known.items, known.indptr))
    scores = clicks @ csr_array((cosines, naming, starts))
    near = ncf.evaluate(scores[users, items].reshape(ncf.items.shape))
    assert near == pytest.approx((0.666, 0.397), abs=1e-3)
    assert ncf.evaluate(np.zeros(ncf.items.shape)) == pytest.approx((0.1000, 0.0455), abs=1e-4)
