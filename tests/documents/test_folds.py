"""LETOR's folders: found in numerical order, written with LETOR's folds; missing parts are named."""

import numpy as np
import pytest
from support import data

from gpukit.documents import find_folds, read_letor, synth_letor, take_queries, write_folds
from gpukit.documents.folds import PARTS, assign_parts
from gpukit.errors import DataError, ParameterError


def fold(folder, names=("train.txt", "vali.txt", "test.txt")):
    folder.mkdir(parents=True)
    for name in names:
        (folder / name).touch()
    return folder


def test_in_the_order_of_their_numbers(tmp_path):
    for number in (10, 2, 1):
        fold(tmp_path / f"Fold{number}")
    fold(tmp_path / "notes", ["train.txt"])
    (tmp_path / "S1.txt").touch()
    folds = find_folds(tmp_path)
    assert [one.name for one in folds] == ["Fold1", "Fold2", "Fold10"]
    assert folds[1][1:] == tuple(tmp_path / "Fold2" / f"{name}.txt" for name in PARTS)


def test_one_fold_is_one(tmp_path):
    folder = fold(tmp_path / "MQ" / "Fold3")
    assert find_folds(str(folder)) == find_folds(folder.parent) and len(find_folds(folder)) == 1


def test_suffixes(tmp_path):
    folder = fold(tmp_path / "Fold1", ["train.gkl", "vali.txt.gz", "test.txt.xz", "train.txt.query"])
    assert [path.name for path in find_folds(folder)[0][1:]] == ["train.gkl", "vali.txt.gz", "test.txt.xz"]


@pytest.mark.parametrize("part", PARTS)
def test_a_missing_part_is_named(tmp_path, part):
    fold(tmp_path / "Fold1")
    names = [f"{name}.txt" for name in PARTS if name != part]
    folder = fold(tmp_path / "Fold2", names)
    for path in (tmp_path, folder):
        with pytest.raises(DataError, match=f"Fold2 has no {part}.txt;"):
            find_folds(path)


def test_no_folds(tmp_path):
    for path, message in (
        (tmp_path, "holds no folds"),
        (tmp_path / "none", "does not exist"),
        (fold(tmp_path / "a") / "vali.txt", "is a file"),
    ):
        with pytest.raises(DataError, match=message) as caught:
            find_folds(path)
        assert "\n" not in str(caught.value)


def test_mq2008():
    folds = find_folds(data("MQ2008"))
    assert [one.name for one in folds] == [f"Fold{number}" for number in range(1, 6)]
    parts = [set(read_letor(path).qids.tolist()) for path in folds[0][1:]]
    assert sum(map(len, parts)) == len(set().union(*parts)) == 784


@pytest.mark.parametrize("suffix", [".txt", ".gkl"])
def test_write_folds_cuts_as_letor_does(tmp_path, suffix):
    documents = synth_letor("mq2008", 0.05)
    write_folds(documents, tmp_path / "MQ", suffix=suffix)
    assert [entry.name for entry in tmp_path.iterdir()] == ["MQ"]
    read = [[read_letor(path, dtype="float32") for path in one[1:]] for one in find_folds(tmp_path / "MQ")]
    tests = [test.qids.tolist() for _, _, test in read]
    assert sorted(sum(tests, [])) == documents.qids.tolist()
    for at, (train, vali, _) in enumerate(read):
        assert vali.qids.tolist() == tests[at - 1]  # S4 is the test set of fold 5, and so on
        assert train.qids.tolist() == sum((tests[(at + 1 + part) % 5] for part in range(3)), [])
    first = read[0][0]
    expected = take_queries(documents, np.arange(len(first.qids)))
    for left, right in zip(first[:4], expected[:4], strict=True):
        assert np.array_equal(left, right)


def test_what_write_folds_refuses(tmp_path):
    documents = synth_letor("mq2008", 0.05)
    with pytest.raises(DataError, match="exists already"):
        write_folds(documents, tmp_path)
    with pytest.raises(DataError, match="does not exist"):
        write_folds(documents, tmp_path / "none" / "MQ")
    with pytest.raises(ParameterError, match="folds"):
        write_folds(documents, tmp_path / "MQ", folds=6)
    with pytest.raises(DataError, match="4 queries cannot be cut"):
        write_folds(take_queries(documents, [0, 1, 2, 3]), tmp_path / "MQ")
    with pytest.raises(ParameterError, match="must end in"):
        write_folds(documents, tmp_path / "MQ", suffix=".csv")
    assert not list(tmp_path.iterdir())


def test_take_queries():
    documents = synth_letor("mq2008", 0.05)
    documents = documents._replace(comments=np.arange(len(documents.y)).astype(str))
    taken = take_queries(documents, [3, 0])
    rows = np.r_[documents.offsets[3] : documents.offsets[4], 0 : documents.offsets[1]]
    assert taken.qids.tolist() == [4, 1] and np.array_equal(taken.X, documents.X[rows])
    assert np.array_equal(taken.y, documents.y[rows]) and taken.comments.tolist() == rows.astype(str).tolist()
    assert taken.offsets.tolist() == [0, len(rows) - documents.offsets[1], len(rows)]


def test_parts_of_queries_do_not_depend_on_their_order():
    whole = synth_letor("mq2008", 0.05, seed=3)
    m = len(whole.qids)
    parts = assign_parts(whole, 3)
    assert sorted(np.bincount(parts).tolist()) == sorted(len(part) for part in np.array_split(np.arange(m), 3))
    order = np.random.default_rng(0).permutation(m)
    np.testing.assert_array_equal(assign_parts(take_queries(whole, order), 3), parts[order])
    assert (np.diff(parts) != 0).any() and parts.tolist() != (np.arange(m) % 3).tolist()
    with pytest.raises(DataError, match="cannot be divided into 2,000 parts"):
        assign_parts(whole, 2000)
