"""Arguments of `require_memory` before RankSVM trains, against the bytes of the arrays that exist at the same time."""

import numpy as np
import pytest
import scipy.sparse
from base.counted import counting

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore:.* encountered")]

from gpukit.device import Device
from gpukit.ranking import RankSVM, gpu
from gpukit.ranking.blocks import HostBlocks
from gpukit.ranking.pair_sums import make_pair_sums
from gpukit.ranking.problem import make_problem

GPU = Device("cuda", 0, "a GPU", (9, 0))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "documents, features",
    [
        (6_000, 3),
        (1_500, 46),
        pytest.param(5_000, 500, marks=pytest.mark.nightly),
        (300, 1_100),
    ],
)
def test_no_more_is_there_at_once_than_was_asked_for(documents, features, dtype, monkeypatch):
    X, y = np.ones((documents, features), dtype), np.arange(documents) % 5
    monkeypatch.setattr(gpu, "walk_blocks", lambda: 16)
    with counting(monkeypatch, lambda *arguments, **options: None) as counter:
        run = RankSVM(device=GPU, scale="none", precondition=False).prepare(X, y, np.arange(documents) // 50)
        run.session.move(np.ones(features))
        run.session.walk(np.ones(features), 1.0)  # wide features are stored by columns too, from here on
        if features < 1_024:  # wider ones have no preconditioner
            run.session.gram()
        assert 0.6 < counter.most / gpu.memory_needed(run.problem) < 1.15


@pytest.mark.slow
@pytest.mark.parametrize("kept", [0, 20])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_blocks_that_travel_take_no_more_than_was_asked_for(kind, kept, monkeypatch):
    """Of 5,000 documents x 46 features, whose rows are padded."""
    monkeypatch.setattr(gpu, "walk_blocks", lambda: 16)
    monkeypatch.setattr(gpu, "has_cupy", lambda: False)
    X, offsets = np.ones((5_000, 46), np.float32), np.arange(0, 5_001, 50)
    blocks = HostBlocks(X if kind == "dense" else scipy.sparse.csr_array(X), offsets, 1 << 15)
    blocks.kept = kept
    problem = make_problem(blocks, np.arange(5_000) % 5, offsets)
    with counting(monkeypatch, lambda *arguments, **options: None) as counter:
        session = make_pair_sums(problem, "scan", gpu)
        session.move(np.ones(46))
        session.walk(np.ones(46), 1.0)
        session.gram()
        assert 0.5 < counter.most / gpu.memory_needed(problem) < 1.15
