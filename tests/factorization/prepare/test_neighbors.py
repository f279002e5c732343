"""The neighbours of a model are those of SimLSH for each search and hash."""

import numpy as np
import pytest

from factorization.inputs import planted
from gpukit.factorization import LSHMF
from gpukit.neighbors import SimLSH
from gpukit.neighbors.plan import HASHES, SEARCHES

pytestmark = pytest.mark.filterwarnings("ignore:.* of the neighbour slots are random")
WAYS = [{"search": search} for search in SEARCHES] + [{"hash": hash} for hash in HASHES[1:]]


def lists(way, device):
    """Return (lists of LSHMF, lists of SimLSH on the CPU)."""
    ratings = planted(20, 12, 0.5)
    alone = SimLSH(4, p=1, q=8, random_state=2, device="cpu", **way).fit(ratings)
    model = LSHMF(4, 4, n_epochs=1, lsh_p=1, lsh_q=8, random_state=2, device=device, **way).fit(ratings)
    assert model.random_share_ == alone.random_share_
    return model.neighbors_, alone.neighbors_


@pytest.mark.parametrize("way", WAYS)
def test_neighbours_are_those_of_simlsh(way):
    np.testing.assert_array_equal(*lists(way, "cpu"))


@pytest.mark.gpu
@pytest.mark.parametrize("way", WAYS)
def test_neighbours_on_a_gpu_are_those_of_simlsh(way):
    np.testing.assert_array_equal(*lists(way, "cuda"))
