"""The binary copy: back as it was, and no damage unnoticed."""

import json

import numpy as np
import pytest

from gpukit.errors import DataError, ParameterError
from gpukit.ratings import Ratings, copies, read_ratings, write_ratings


@pytest.fixture(params=["integers", "text"])
def ratings(request):
    users = np.array([2**40, 5, -3]) if request.param == "integers" else np.array(["anna", "bob, b", 'zoë "z"'])
    users.sort()
    values = np.array([0.0, 3.5, 0.1, 1 / 3], dtype=np.float32)
    return Ratings(np.array([0, 1, 2, 0], np.int32), np.array([1, 0, 1, 0], np.int32), values, users, np.array([7, 9]))


@pytest.mark.parametrize("suffix", ["gkr", "npz", "csv"])
def test_round_trip(tmp_path, ratings, suffix):
    path = tmp_path / f"copy.{suffix}"
    write_ratings(ratings, path)
    back = read_ratings(path)
    for name in (*ratings.columns(), "user_ids", "item_ids"):
        assert np.array_equal(getattr(back, name), getattr(ratings, name)), name
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_memory_map(tmp_path, ratings):
    write_ratings(ratings, tmp_path / "a.gkr")
    back = copies.read_gkr(tmp_path / "a.gkr", mmap=True)
    assert isinstance(back.values, np.memmap) and np.array_equal(back.values, ratings.values)


def test_arrays_are_aligned(tmp_path, ratings):
    write_ratings(ratings, tmp_path / "a.gkr")
    raw = (tmp_path / "a.gkr").read_bytes()
    header = json.loads(raw[16 : 16 + int.from_bytes(raw[8:16], "little")])
    assert header["version"] == 1 and header["size"] == len(raw)
    assert all(entry["offset"] % 64 == 0 for entry in header["arrays"].values())


def test_damage_is_noticed(tmp_path, ratings):
    path = tmp_path / "a.gkr"
    write_ratings(ratings, path)
    raw = path.read_bytes()
    for damaged, message in (
        (raw[:-1], "cut short"),
        (raw + b"x", "cut short"),
        (raw[:40], "header"),
        (raw[:10], "not a binary copy"),
        (raw.replace(b'"version": 1', b'"version": 2'), "version 2"),
        (raw.replace(b'{"ver', b"?????"), "header"),
    ):
        path.write_bytes(damaged)
        with pytest.raises(DataError, match=message):
            read_ratings(path, format="gkr")
    offset = json.loads(raw[16 : 16 + int.from_bytes(raw[8:16], "little")])["arrays"]["items"]["offset"]
    path.write_bytes(raw[:offset] + b"\x09" + raw[offset + 1 :])
    with pytest.raises(DataError, match="is damaged: .*item row 9, beyond the 2 items"):
        read_ratings(path)


def test_other_npz_files_are_refused(tmp_path, ratings):
    np.savez(tmp_path / "model.npz", factors=np.zeros(3))
    with pytest.raises(DataError, match="not a scipy sparse matrix"):
        read_ratings(tmp_path / "model.npz")
    write_ratings(ratings, tmp_path / "a.npz")
    (tmp_path / "a.npz").write_bytes((tmp_path / "a.npz").read_bytes()[:-30])
    with pytest.raises(DataError, match="damaged"):
        read_ratings(tmp_path / "a.npz")


def test_refused_outputs(tmp_path, ratings):
    with pytest.raises(ParameterError, match="must end in .gkr, .npz, .parquet, .csv"):
        write_ratings(ratings, tmp_path / "a.xlsx")
    with pytest.raises(DataError, match="does not exist"):
        write_ratings(ratings, tmp_path / "none" / "a.gkr")
    twice = ratings.take(np.array([0, 1, 0]))
    with pytest.raises(DataError, match="already"):
        write_ratings(twice, tmp_path / "a.gkr")
    assert not list(tmp_path.iterdir())
