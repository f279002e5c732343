"""Training from a .gkr file that does not fit in main memory: the model is that of one that does, to the bit."""

import hashlib
import subprocess
import sys

import numpy as np
import pytest

pytestmark = pytest.mark.filterwarnings("ignore:.* neighbour slots are random")

from gpukit.device import memory
from gpukit.factorization import LSHMF, MatrixFactorization
from gpukit.ratings import Ratings, copies, read_ratings, synth_ratings
from gpukit.ratings.copies import write_ratings

NAMED = {"n_factors": 4, "n_epochs": 1, "learning_rate": 0.1, "regularization": 0.05, "deterministic": True}
LIMITED = """
import hashlib, os, resource, sys
from pathlib import Path
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])  # the stacks of many threads count as data
from gpukit.device import memory
from gpukit.factorization import MatrixFactorization
from gpukit.ratings import read_ratings

path, warm_up, limit = sys.argv[1:]
memory.SMALL = 1 << 20
settings = {"n_factors": 4, "n_epochs": 1, "learning_rate": 0.1, "regularization": 0.05, "deterministic": True}
MatrixFactorization(**settings, device="cpu").fit(read_ratings(warm_up))
used = int(Path("/proc/self/status").read_text().split("VmData:")[1].split()[0]) << 10
resource.setrlimit(resource.RLIMIT_DATA, (used + int(limit),) * 2)
model = MatrixFactorization(**settings, device="cpu").fit(read_ratings(path))
digest = hashlib.sha256()
for array in (*model._state, *model._rated):
    digest.update(array)
print(digest.hexdigest())
"""


@pytest.mark.parametrize("kind, named", [(MatrixFactorization, {}), (LSHMF, {"n_neighbors": 5})])
@pytest.mark.parametrize("values", [5, 1000])
def test_arrays_in_files(kind, named, values, tmp_path, monkeypatch):
    """Of every size, and ratings that are mapped from the .gkr."""
    ratings = synth_ratings("ml-10m", 0.0005)
    if values == 1000:
        columns = ratings.columns() | {"values": np.random.default_rng(0).normal(size=len(ratings)).astype(np.float32)}
        ratings = ratings.with_columns(**columns)
    write_ratings(ratings, tmp_path / "a.gkr")
    model = kind(**NAMED, **named, device="cpu").fit(read_ratings(tmp_path / "a.gkr"))
    for module in (memory, copies):
        monkeypatch.setattr(module, "is_large", lambda size: size > 0)
    mapped = read_ratings(tmp_path / "a.gkr")
    assert not mapped.users.flags.writeable and type(mapped.users) is np.ndarray
    same = kind(**NAMED, **named, device="cpu").fit(mapped)
    for part in ("_state", "_rated"):
        for name, array in getattr(model, part)._asdict().items():
            np.testing.assert_array_equal(getattr(getattr(same, part), name), array, name)


@pytest.mark.slow
def test_a_training_within_a_fifth_of_its_memory(tmp_path):
    """ulimit -d allows 12 bytes a rating, less than a column of each order; a training in memory takes 60."""
    n, shape = 3_000_000, (10_000, 6_000)
    pairs = np.random.default_rng(0).permutation(n) * (shape[0] * shape[1] // n)
    columns = (pairs // shape[1]).astype(np.int32), (pairs % shape[1]).astype(np.int32), np.float32(np.arange(n) % 5)
    write_ratings(Ratings(*columns, *map(np.arange, shape)), tmp_path / "large.gkr")
    write_ratings(synth_ratings("ml-10m", 0.0005), tmp_path / "small.gkr")
    model = MatrixFactorization(**NAMED, device="cpu").fit(read_ratings(tmp_path / "large.gkr"))
    expected = hashlib.sha256(b"".join(map(bytes, (*model._state, *model._rated)))).hexdigest()
    paths = tmp_path / "large.gkr", tmp_path / "small.gkr"
    result = subprocess.run(
        [sys.executable, "-P", "-c", LIMITED, *map(str, paths), str(12 * n)],
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == expected
