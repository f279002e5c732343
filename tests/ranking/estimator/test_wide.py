"""Features of huge numbers: read as CSR; learning says what memory it lacks before it takes any."""

import pytest

from gpukit import RankSVM
from gpukit.documents import read_letor
from gpukit.errors import DeviceMemoryError


@pytest.fixture
def wide(tmp_path):
    """48 documents in a file of a kilobyte, one feature of which has the number 900,000,000."""
    path = tmp_path / "wide.txt"
    path.write_text("".join(f"{k % 3} qid:{k // 12} 1:{k % 7} 900000000:{k % 5}\n" for k in range(48)))
    return read_letor(path)


def test_few_features_of_many_are_sparse(wide):
    assert wide.X.format == "csr" and wide.X.shape == (48, 900_000_000) and wide.X.nnz == 96


@pytest.mark.parametrize("scale", ["none", "minmax"])
def test_learning_says_what_it_lacks(wide, scale, monkeypatch):
    monkeypatch.setattr("gpukit.device.memory.available_memory", lambda: 8 << 30)
    with pytest.raises(DeviceMemoryError, match=r"48 documents x 900,000,000 features needs 67\.06 GiB of main memory"):
        RankSVM(device="cpu", scale=scale).fit(wide)
