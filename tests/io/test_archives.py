"""External numpy archives: nothing in their headers is trusted before it is checked."""

import contextlib
import io
import os
import tracemalloc
import zipfile

import numpy as np
import pytest
import scipy.sparse

from gpukit.errors import DataError, DeviceMemoryError
from gpukit.graphs import read_graph
from gpukit.graphs.read import read_edges
from gpukit.io import archives
from gpukit.ratings import Ratings, read_ratings, write_ratings

ARRAYS = {
    "tensor": np.arange(6.0).reshape(3, 1, 2),
    "words": np.array(["ä", "bc"]),
    "edges": np.array([[0, 1], [1, 2]]),
}
COLUMNS = ("users", "items", "values", "user_ids", "item_ids")


def npy(array, **changes):
    """Return the bytes of a .npy file with another header."""
    header = {"descr": array.dtype.str, "fortran_order": False, "shape": array.shape, **changes}
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, header)
    return out.getvalue() + array.tobytes()


def packed(path, members, how=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", how) as archive:
        for name, content in members:
            archive.writestr(f"{name}.npy", content)
    return path


@contextlib.contextmanager
def little_memory():
    """Assert that less than 64 MiB is allocated."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()


def refused(work, *arguments, match):
    """Assert an error of one line, with little memory."""
    with little_memory(), pytest.raises(DataError, match=match) as caught:
        work(*arguments)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_what_numpy_saves_comes_back(tmp_path, save):
    save(tmp_path / "a.npz", **ARRAYS, turned=np.asfortranarray(ARRAYS["tensor"][0]), none=np.zeros((0, 3)), one=4)
    found, names = archives.read_npz(tmp_path / "a.npz", {*ARRAYS, "turned", "none"})
    assert names == [*ARRAYS, "turned", "none", "one"] and set(found) == {*ARRAYS, "turned", "none"}
    for name, array in ARRAYS.items():
        assert found[name].dtype == array.dtype and np.array_equal(found[name], array)
    assert np.array_equal(found["turned"], ARRAYS["tensor"][0]) and found["none"].shape == (0, 3)
    np.save(tmp_path / "a.npy", ARRAYS["tensor"])
    assert np.array_equal(archives.read_npy(tmp_path / "a.npy"), ARRAYS["tensor"])


SMALL = np.arange(4.0)
FORGED = {
    "a huge shape": ([("tensor", npy(SMALL, shape=(10**10,)))], "has 80,000,000,000 bytes, not 32"),
    "an overflowing shape": ([("tensor", npy(SMALL, shape=(2**40, 2**40)))], "bytes, not 32"),
    "a negative shape": ([("tensor", npy(SMALL, shape=(-4,)))], "not numbers|damaged"),
    "a short shape": ([("tensor", npy(SMALL, shape=(3,)))], "has 24 bytes, not 32"),
    "objects": ([("tensor", npy(SMALL, descr="|O"))], "unpickled"),
    "records": ([("tensor", npy(SMALL, descr=[("a", "<f8")]))], "not numbers"),
    "no header": ([("tensor", b"")], "damaged|is empty"),
    "noise": ([("tensor", b"\x93NUMPY\x01\x00\x10\x00{'descr': '<f8(((")], "damaged"),
    "no token": ([("tensor", b"\x93NUMPY\x01\x00\x08\x00'''\\\n\n\n\n")], "damaged"),
    "another version": ([("tensor", b"\x93NUMPY\x03\x00\x10\x00\x00\x00" + b" " * 16)], "version"),
    "twice": ([("tensor", npy(SMALL)), ("tensor", npy(SMALL))], "two arrays named 'tensor'"),
    "no text": ([("tensor", npy(np.array([2**31], np.uint32), descr="<U1", shape=(1,)))], "holds no text"),
    "no booleans": ([("tensor", npy(np.array([2], np.uint8), descr="|b1"))], "holds no booleans"),
}


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("case", FORGED)
def test_forged_members(tmp_path, case):
    members, message = FORGED[case]
    refused(archives.read_npz, packed(tmp_path / "a.npz", members), {"tensor"}, match=message)
    if case != "twice":
        (tmp_path / "a.npy").write_bytes(members[0][1])
        refused(archives.read_npy, tmp_path / "a.npy", match=message)


def bomb(path, megabytes, name, others=None):
    """An archive with a member that unpacks to many megabytes of zeros; others: {name: array} in it."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for one, array in ({"tensor": SMALL} if others is None else others).items():
            archive.writestr(f"{one}.npy", npy(array))
        with archive.open(f"{name}.npy", "w") as member:
            member.write(npy(np.zeros(0), shape=(megabytes << 17,)))
            for _ in range(megabytes):
                member.write(bytes(1 << 20))
    return path


@pytest.mark.slow
def test_a_bomb_under_another_name_is_not_unpacked(tmp_path):
    path = bomb(tmp_path / "a.npz", 100, "more")
    tracemalloc.start()
    assert list(archives.read_npz(path, {"tensor"})[0]) == ["tensor"]
    assert tracemalloc.get_traced_memory()[1] < 20 << 20
    tracemalloc.stop()


@pytest.mark.slow
def test_values_of_an_archive_are_not_unpacked_for_its_graph(tmp_path):
    path = bomb(tmp_path / "a.npz", 100, "tensor", {"edges": np.array([[0, 1], [1, 2], [0, 2]])})
    with little_memory():
        assert read_edges(path)[1] is None


@pytest.mark.slow
def test_a_bomb_larger_than_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("gpukit.device.memory.available_memory", lambda: 50 << 20)
    with pytest.raises(DeviceMemoryError, match=r"Reading .*more\) needs 0\.10 GiB of main memory; 0\.05 GiB are free"):
        archives.read_npz(bomb(tmp_path / "a.npz", 100, "more"), {"more"})


STEP = int(os.environ.get("GPUKIT_FLIPS", "0"))  # 1: every bit


def survivors(path, read, same, step):
    """Return the number of single-bit flips of a file that are read; each must give the content of the whole file."""
    raw, whole, count = path.read_bytes(), read(path), 0
    for bit in range(0, 8 * len(raw), STEP or step):
        flipped = bytearray(raw)
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        try:
            found = read(path)
        except DataError as error:
            assert "\n" not in str(error)
        else:
            count += 1
            assert same(found, whole), f"bit {bit}"
    return count


@pytest.mark.slow
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_no_bit_flip_of_a_graph_goes_unnoticed(tmp_path, save):
    path = tmp_path / "a.npz"
    save(path, edges=np.array([[0, 1], [1, 2]]), tensor=np.array([1.0, np.nan, 3.0]), vertices=np.array([5, 6, 9]))

    def same(one, other):
        arrays = ((one.adjacency.toarray(), other.adjacency.toarray()), *zip(one[1:4], other[1:4], strict=True))
        return all(np.array_equal(left, right) for left, right in arrays)

    assert survivors(path, read_graph, same, step=11) > 0  # of dates, for example


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["gpukit", "scipy"])
def test_no_bit_flip_of_ratings_goes_unnoticed(tmp_path, kind):
    path = tmp_path / "a.npz"
    made = Ratings(
        *(np.array([0, 1, 1], np.int32), np.array([1, 0, 1], np.int32), np.array([1, 2, 3], np.float32)),
        np.array([4, 7]),
        np.array(["a", "b"]),
    )
    if kind == "gpukit":
        write_ratings(made, path)
    else:
        scipy.sparse.save_npz(path, scipy.sparse.csr_matrix(np.array([[1, 0.5], [0, 2]])))

    def same(one, other):
        return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in COLUMNS)

    assert survivors(path, read_ratings, same, step=61) > 0


@pytest.mark.parametrize("suffix", [".gkr", ".npz"])
def test_no_cut_of_ratings_goes_unnoticed(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    made = Ratings(*(np.zeros(1, np.int32),) * 2, np.ones(1, np.float32), np.array([4]), np.array([1]))
    write_ratings(made, path)
    raw = path.read_bytes()
    for length in range(0, len(raw), 7):
        path.write_bytes(raw[:length])
        with pytest.raises(DataError):
            read_ratings(path)


SPARSE = {
    "format": np.array(b"csr"),
    "shape": np.array([2, 2]),
    "data": np.ones(2),
    "indices": np.array([0, 1], np.int32),
}
SPARSE["indptr"] = np.array([0, 1, 2], np.int32)
WRONG = {
    "a column beyond": (dict(indices=np.array([0, 2], np.int32)), "indices.*beyond|not a scipy"),
    "a column below": (dict(indices=np.array([0, -1], np.int32)), "not a scipy|beyond"),
    "pointers that fall": (dict(indptr=np.array([0, 3, 2], np.int32)), "less than|not a scipy"),
    "pointers beyond": (dict(indptr=np.array([0, 1, 2**30], np.int32)), "not a scipy|must go from"),
    "a huge shape": (dict(shape=np.array([2, 2**31 - 1])), "declares 2,147,483,647 items and holds 2 ratings"),
    "a shape beyond": (dict(shape=np.array([2, 2**40])), "its shape is"),
    "a shape of fractions": (dict(shape=np.array([2.0, 2])), "its shape is"),
    "one axis": (dict(shape=np.array([2])), "its shape is"),
    "another format": (dict(format=np.array(b"xyz")), "its format is 'xyz', none of coo"),
    "no format": (dict(format=None), "not a scipy sparse matrix"),
    "no data": (dict(data=None), "not a scipy sparse matrix"),
    "data of text": (dict(data=np.array(["a", "b"])), "not"),
    "ids too few": (dict(user_ids=np.array([1]), item_ids=np.array([1, 2])), "user row 1"),
    "ids twice": (dict(user_ids=np.array([1, 1]), item_ids=np.array([1, 2])), "user 1 twice"),
    "ids of a table": (dict(user_ids=np.ones((2, 1)), item_ids=np.array([1, 2])), "user_ids must be"),
}


@pytest.mark.parametrize("case", WRONG)
def test_sparse_matrices_that_do_not_fit(tmp_path, case):
    changes, message = WRONG[case]
    np.savez(tmp_path / "a.npz", **{name: one for name, one in {**SPARSE, **changes}.items() if one is not None})
    refused(read_ratings, tmp_path / "a.npz", match=message)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_sparse_matrices_of_every_kind(tmp_path, kind):
    matrix = scipy.sparse.csr_matrix(np.array([[1.0, 0, 2, 0], [0, 3, 0, 4]]))
    scipy.sparse.save_npz(tmp_path / "a.npz", matrix.asformat(kind))
    found = read_ratings(tmp_path / "a.npz")
    triples = zip(found.users.tolist(), found.items.tolist(), found.values.tolist(), strict=True)
    assert sorted(triples) == [
        (0, 0, 1.0),
        (0, 2, 2.0),
        (1, 1, 3.0),
        (1, 3, 4.0),
    ]


def test_a_matrix_market_header_alone_takes_no_memory(tmp_path):
    path = tmp_path / "a.mtx"
    path.write_text("%%MatrixMarket matrix coordinate real general\n2000000000 9 1\n1 1 3\n")
    refused(read_ratings, path, match="declares 2,000,000,000 users and holds 1 ratings")
    path.write_text("%\n5000 9 1\n1 1 3\n")
    assert read_ratings(path).shape == (5000, 9)
