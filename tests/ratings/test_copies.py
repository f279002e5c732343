"""The binary copy: exact, and damage is detected."""

import numpy as np
import pytest

from gpukit import arrayfile
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


def test_arrays_are_aligned(tmp_path, ratings):
    write_ratings(ratings, tmp_path / "a.gkr")
    header = arrayfile.read_header(tmp_path / "a.gkr", copies.KIND)
    assert all(entry.offset % 64 == 0 for entry in header.entries)
    assert {entry.name for entry in header.entries} == {"users", "items", "values", "user_ids", "item_ids"}


def test_damage_is_noticed(tmp_path, ratings):
    path = tmp_path / "a.gkr"
    write_ratings(ratings, path)
    write_ratings(ratings, tmp_path / "whole.gkr")
    raw = path.read_bytes()
    for damaged, message in (
        (raw[:-1], "cut short"),
        (raw + b"x", "cut short"),
        (raw[:40], "header"),
        (raw[:10], "header"),
        (b"x" + raw[1:], "not a binary copy"),
        (raw[:8] + b"\3" + raw[9:], "format version 3; this gpukit reads version 2"),
        (raw[:8] + (1392).to_bytes(8, "little") + b'{"version": 1', "format version 1"),
        (raw.replace(b'{"facts', b"???????"), "header is not as it was written"),
    ):
        path.write_bytes(damaged)
        with pytest.raises(DataError, match=message):
            read_ratings(path, format="gkr")
    last = arrayfile.read_header(tmp_path / "whole.gkr", copies.KIND).entries[1].offset
    path.write_bytes(raw[:last] + b"\x09" + raw[last + 1 :])
    with pytest.raises(DataError, match="array 'items' is not as it was written"):
        read_ratings(path)


FORGED = {
    "a row beyond": (dict(items=np.array([1, 0, 9, 0], np.int32)), "item row 9, beyond the 2 items"),
    "a negative row": (dict(users=np.array([1, 0, -1, 0], np.int32)), "user row -1"),
    "a rating short": (dict(values=np.ones(3, np.float32)), "3 values, but 4 users"),
    "wide rows": (dict(users=np.array([1, 0, 1, 0])), "users must be .* int32; got int64"),
    "two axes": (dict(values=np.ones((4, 1), np.float32)), "values must be a one-dimensional"),
    "ids that repeat": (dict(item_ids=np.array([7, 7])), "item 7 twice"),
    "ids too few": (dict(item_ids=np.array([7])), "item row 1, beyond the 1"),
    "ids with fractions": (dict(item_ids=np.array([7.0, np.nan])), "item_ids must be"),
    "not finite": (dict(values=np.array([1, np.nan, 1, 1], np.float32)), "is nan"),
    "infinite": (dict(values=np.array([1, 1, 1, np.inf], np.float32)), "Rating number 4 is inf"),
    "a count below 0": (dict(counts=np.array([1, 1, -1, 1], np.int32)), "Rating number 3 has the count -1"),
    "a weight that is none": (dict(weights=np.array([1, np.nan, 1, 1], np.float32)), "number 2 has the weight nan"),
    "no users": (dict(users=None), "lacks 'users'"),
    "another array": (dict(more=np.ones(2)), "'more' is no column of ratings"),
    "times of text": (dict(times=np.array(["a"] * 4)), "times must be"),
}


@pytest.mark.parametrize("case", FORGED)
def test_a_forged_copy_with_sound_checksums(tmp_path, ratings, case):
    changes, message = FORGED[case]
    arrays = {**ratings.columns(), "user_ids": ratings.user_ids, "item_ids": ratings.item_ids, **changes}
    with open(tmp_path / "a.gkr", "wb") as file:
        arrayfile.write(file, copies.KIND.magic, {}, {name: one for name, one in arrays.items() if one is not None})
    with pytest.raises(DataError, match=message) as caught:
        read_ratings(tmp_path / "a.gkr", times="auto")
    assert "\n" not in str(caught.value)


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
