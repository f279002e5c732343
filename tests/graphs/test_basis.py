"""The graph Fourier basis: correct, signed, cached by content, truncated or by Lanczos for a part of it."""

import contextlib
import types

import numpy as np
import pytest

from gpukit import _cache, arrayfile
from gpukit.device import Device
from gpukit.errors import ParameterError
from gpukit.graphs import basis
from gpukit.graphs import basis as room
from gpukit.graphs.adjacency import as_adjacency, normalized_laplacian
from gpukit.graphs.basis import fourier_basis
from gpukit.runtime import private
from graphs import naive

GPU = Device("cuda", 0, "a GPU", (9, 0))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A separate folder of bases for this test."""
    monkeypatch.setenv("GPUKIT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "bases"


def copies(A, count, isolated=0):
    """Return the adjacency of `count` disconnected copies of a graph and some isolated vertices."""
    N = len(A) * count
    B = np.zeros((N + isolated, N + isolated))
    B[:N, :N] = np.kron(np.eye(count), A)
    return as_adjacency(B)


GRAPHS = {
    "random": as_adjacency(naive.random_graph(60, 0.2, 1)),
    "path": as_adjacency(naive.path_graph(50)),
    "complete": as_adjacency(np.ones((20, 20))),
    "star": as_adjacency([(0, i) for i in range(1, 20)]),
    "copies": copies(naive.random_graph(9, 0.5, 2), 5, isolated=3),
    "pair": as_adjacency([[0, 1], [1, 0]]),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_all_eigenvectors(name):
    adjacency = GRAPHS[name]
    L = naive.normalized_laplacian(adjacency.toarray())
    found = fourier_basis(adjacency)
    U, mu = found.vectors, found.values
    assert found.exact and U.flags.c_contiguous and U.dtype == mu.dtype == np.float64 and found.source == "cpu"
    assert np.allclose(mu, np.linalg.eigvalsh(L), rtol=0, atol=1e-13)
    assert mu.min() >= 0 and mu.max() <= 2 and (np.diff(mu) >= 0).all() and found.seconds > 0
    assert np.abs(L @ U - U * mu).max() < 1e-13 and np.abs(U.T @ U - np.eye(len(L))).max() < 1e-13


@pytest.mark.parametrize("name", GRAPHS)
def test_signs(name):
    for size in (None, 2):
        U = fourier_basis(GRAPHS[name], size).vectors
        largest = np.abs(U) >= (1 - 1e-9) * np.abs(U).max(axis=0)
        assert (U[np.argmax(largest, axis=0), np.arange(U.shape[1])] > 0).all()


def test_signs_ties_go_to_the_first():
    vectors = np.array([[-0.5, 0.5], [0.5 + 1e-12, -0.5]])
    assert np.array_equal(room._fix_signs(np, vectors), vectors * [-1, 1])


def test_kept_on_disk(folder):
    first, second = (fourier_basis(GRAPHS["random"]) for _ in range(2))
    assert (first.source, second.source) == ("cpu", "cache") and second.exact
    assert np.array_equal(first.values, second.values) and np.array_equal(first.vectors, second.vectors)
    assert second.vectors.flags.c_contiguous and len(list(folder.iterdir())) == 1


def test_every_graph_and_size_has_its_own(folder):
    A = naive.random_graph(30, 0.3, 5)
    heavier, other = A.copy(), A[::-1, ::-1]
    heavier[tuple(np.argwhere(A)[0])] = heavier[tuple(np.argwhere(A)[0][::-1])] = 9.0
    for adjacency in map(as_adjacency, (A, heavier, other, A > 0)):
        assert fourier_basis(adjacency).source == "cpu"
    assert fourier_basis(as_adjacency(A), 4).source == fourier_basis(as_adjacency(A), 5).source == "cpu"
    assert len(list(folder.iterdir())) == 6 and fourier_basis(as_adjacency(A), 4).source == "cache"
    for edges in ([(0, 1), (2, 3), (4, 0)], [(0, 2), (1, 3), (4, 0)]):  # the same number of neighbours, different ones
        assert fourier_basis(as_adjacency(edges)).source == "cpu"
    longer = as_adjacency((np.argwhere(np.triu(A)), None), vertices=31)
    assert fourier_basis(longer).source == "cpu"


def test_without_the_cache(folder):
    assert [fourier_basis(GRAPHS["pair"], cache=False).source for _ in range(2)] == ["cpu", "cpu"]
    assert not folder.exists()


def test_it_outlives_a_change_of_the_compilers(monkeypatch):
    fourier_basis(GRAPHS["path"])
    monkeypatch.setattr(_cache, "compilers", lambda: "others")
    assert fourier_basis(GRAPHS["path"]).source == "cache"


def test_another_version_is_another_basis(monkeypatch):
    fourier_basis(GRAPHS["path"])
    monkeypatch.setattr(room, "VERSION", room.VERSION + 1)
    assert fourier_basis(GRAPHS["path"]).source == "cpu"


@pytest.mark.parametrize("change", [lambda a: a[:-1], lambda a: a.astype(np.float32), lambda a: a[:, None]])
@pytest.mark.parametrize("name", ["values", "vectors"])
def test_arrays_that_are_no_basis_are_computed_again(folder, name, change):
    found = fourier_basis(GRAPHS["path"])
    (file,) = folder.iterdir()
    with open(file, "wb") as stream:
        arrays = {"values": found.values, "vectors": found.vectors}
        arrayfile.write(stream, room.KIND.magic, {}, {**arrays, name: change(arrays[name])})
    assert fourier_basis(GRAPHS["path"]).source == "cpu" and fourier_basis(GRAPHS["path"]).source == "cache"


DAMAGE = {
    "cut short": lambda raw: raw[: len(raw) // 2],
    "empty": lambda raw: b"",
    "noise": lambda raw: bytes(range(256)) * 10,
    "header": lambda raw: raw[:16] + b"{" * 20 + raw[36:],
    "longer": lambda raw: raw + b"more",
}


@pytest.mark.parametrize("how", DAMAGE)
def test_a_damaged_file_is_computed_again(folder, how):
    first = fourier_basis(GRAPHS["path"])
    (file,) = folder.iterdir()
    file.write_bytes(DAMAGE[how](file.read_bytes()))
    again = fourier_basis(GRAPHS["path"])
    assert again.source == "cpu" and np.array_equal(first.vectors, again.vectors)
    assert fourier_basis(GRAPHS["path"]).source == "cache"


def test_the_file_of_another_graph_is_not_taken(folder):
    fourier_basis(GRAPHS["path"])
    (file,) = folder.iterdir()
    file.rename(room._file(GRAPHS["star"], 20))
    assert fourier_basis(GRAPHS["star"]).source == "cpu"


def test_a_folder_that_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("GPUKIT_CACHE", str(tmp_path / "file"))
    assert fourier_basis(GRAPHS["path"]).vectors.shape == (50, 50)


def test_too_large_for_a_dense_basis(monkeypatch):
    monkeypatch.setattr(room, "available_memory", lambda: 3 * 8 * 60**2 - 1)
    with pytest.raises(ParameterError, match=r"60 vertices needs 0.0 GiB.*--basis-size K") as caught:
        fourier_basis(GRAPHS["random"])
    assert "\n" not in str(caught.value)
    monkeypatch.setattr(room, "available_memory", lambda: 3 * 8 * 60**2)
    monkeypatch.setattr(room, "LARGEST_DENSE", 59)
    with pytest.raises(ParameterError, match="goes up to 59 vertices"):
        fourier_basis(GRAPHS["random"])
    monkeypatch.setattr(room, "SMALL", 10)
    assert fourier_basis(GRAPHS["random"], 5).vectors.shape == (60, 5)


def test_memory_is_known():
    assert 2**27 < room.available_memory() < 2**45


@pytest.mark.parametrize("size", [0, 61, -1, 2.5, True])
def test_refused_sizes(size):
    with pytest.raises(ParameterError, match="basis_size must be an integer, between 1 and 60"):
        fourier_basis(GRAPHS["random"], size)


PARTS = [
    ("random", 1),
    ("random", 7),
    ("path", 10),
    ("complete", 5),
    ("star", 4),
    ("copies", 3),
    ("copies", 8),
    ("copies", 11),
    ("copies", 25),
]


@pytest.mark.parametrize("name, size", PARTS)
@pytest.mark.parametrize("way", ["cut", "inverse", "complement"])
def test_the_smoothest(monkeypatch, name, size, way):
    """Lanczos gives LAPACK's eigenvalues with the same multiplicities."""
    monkeypatch.setattr(room, "SMALL", 10**6 if way == "cut" else 0)
    monkeypatch.setattr(basis, "BAND", 1.0 if way == "inverse" else 0.0)
    monkeypatch.setattr(room, "CUT", 1)
    asked = []
    monkeypatch.setattr(
        basis, "smoothest_eigenpairs", lambda *a, run=basis.smoothest_eigenpairs: asked.append(a) or run(*a)
    )
    adjacency = GRAPHS[name]
    L = normalized_laplacian(adjacency).toarray()
    found = fourier_basis(adjacency, size)
    U, mu = found.vectors, found.values
    assert len(asked) == (way != "cut") and not found.exact and U.shape == (len(L), size) and U.flags.c_contiguous
    assert np.allclose(mu, np.linalg.eigvalsh(L)[:size], rtol=0, atol=1e-10) and (np.diff(mu) >= 0).all()
    assert np.abs(L @ U - U * mu).max() < 1e-8 and np.abs(U.T @ U - np.eye(size)).max() < 1e-10
    assert fourier_basis(adjacency, size).source == "cache" and not fourier_basis(adjacency, size).exact


def test_a_whole_size_is_exact():
    assert fourier_basis(GRAPHS["path"], 50).exact and fourier_basis(GRAPHS["path"]).source == "cache"


def test_large_sizes_are_cut_from_the_whole(monkeypatch):
    monkeypatch.setattr(room, "SMALL", 10)
    monkeypatch.setattr(basis, "smoothest_eigenpairs", None)
    assert np.array_equal(fourier_basis(GRAPHS["path"], 13).vectors, fourier_basis(GRAPHS["path"]).vectors[:, :13])
    with pytest.raises(TypeError):
        fourier_basis(GRAPHS["path"], 12)


@pytest.mark.parametrize("missed", [1, 12])
def test_what_lanczos_misses_is_found_when_it_runs_again(monkeypatch, missed):
    """The first run omits some of the smoothest vectors, as Lanczos may for copies of a repeated eigenvalue."""
    calls, run = [], basis._largest_eigenpairs

    def forgetful(apply, known, count, rng, cupy):
        calls.append(count)
        values, vectors = run(apply, known, count + missed * (len(calls) == 1), rng, cupy)
        kept = np.argsort(-values)[-count:]
        return values[kept], vectors[:, kept]

    monkeypatch.setattr(basis, "_largest_eigenpairs", forgetful)
    values, vectors = basis.smoothest_eigenpairs(GRAPHS["random"], 15)
    L = naive.normalized_laplacian(GRAPHS["random"].toarray())
    assert calls[0] == 14 and np.allclose(values, np.linalg.eigvalsh(L)[:15], rtol=0, atol=1e-10)
    assert np.abs(L @ vectors - vectors * values).max() < 1e-8


def test_lanczos_repeats_itself():
    first, second = (basis.smoothest_eigenpairs(GRAPHS["copies"], 12) for _ in range(2))
    assert np.array_equal(first[1], second[1])


def test_constants_largest_components_first():
    V = basis.constants(copies(naive.path_graph(3), 2, isolated=1), 2)
    expected = np.zeros((7, 2))
    expected[:3, 0] = expected[3:6, 1] = np.sqrt([0.25, 0.5, 0.25])
    assert np.allclose(V, expected, atol=1e-15)


class FakeCupy(types.SimpleNamespace):
    """numpy under cupy's names."""

    def __init__(self):
        names = ("abs", "argmax", "where", "arange", "ascontiguousarray", "linalg", "zeros")
        super().__init__(
            **{name: getattr(np, name) for name in names},
            asarray=np.asarray,
            asnumpy=np.asarray,
            cuda=types.SimpleNamespace(Device=lambda index: contextlib.nullcontext()),
        )


@pytest.mark.parametrize(
    "free, installed, source", [(10**9, True, "cuda:0"), (1000, True, "cpu"), (10**9, False, "cpu")]
)
def test_on_a_gpu_when_cupy_and_memory_are_there(monkeypatch, free, installed, source):
    monkeypatch.setitem(__import__("sys").modules, "cupy", FakeCupy() if installed else None)
    monkeypatch.setattr("gpukit.graphs.basis.free_memory", lambda device: free)
    found = fourier_basis(GRAPHS["random"], device=GPU)
    assert found.source == source and fourier_basis(GRAPHS["random"]).source == "cache"
    assert np.allclose(found.vectors, fourier_basis(GRAPHS["random"], cache=False).vectors, atol=1e-9)


@pytest.mark.gpu
def test_a_gpu_computes_the_same_basis():
    from gpukit.device import resolve

    on_gpu, on_cpu = (fourier_basis(GRAPHS["random"], device=resolve(one), cache=False) for one in ("cuda", "cpu"))
    assert np.allclose(on_gpu.vectors, on_cpu.vectors, atol=1e-9) and np.allclose(on_gpu.values, on_cpu.values)


def test_what_is_no_eigenvector_is_seen():
    values, vectors = basis.smoothest_eigenpairs(GRAPHS["random"], 5)
    assert basis.are_eigenvectors(GRAPHS["random"], values, vectors)
    for wrong in (vectors[:, ::-1], np.full(vectors.shape, np.nan), vectors[:, [0, 1, 2, 3, 3]]):
        assert not basis.are_eigenvectors(GRAPHS["random"], values, wrong)


@pytest.mark.gpu
@pytest.mark.parametrize("name, size", PARTS)
def test_the_smoothest_on_a_gpu(monkeypatch, name, size):
    from gpukit.device import resolve

    monkeypatch.setattr(room, "SMALL", 0)
    monkeypatch.setattr(room, "CUT", 1)
    found = fourier_basis(GRAPHS[name], size, resolve("cuda"), cache=False)
    L = normalized_laplacian(GRAPHS[name]).toarray()
    U, mu = found.vectors, found.values
    assert found.source == "cuda:0" or name in ("star", "copies")  # cupy's iteration may break down here
    assert np.allclose(mu, np.linalg.eigvalsh(L)[:size], rtol=0, atol=1e-10) and (np.diff(mu) >= 0).all()
    assert np.abs(L @ U - U * mu).max() < 1e-8 and np.abs(U.T @ U - np.eye(size)).max() < 1e-10


# --- trusted files


def of_another(monkeypatch, path):
    """Make a file, folder or link appear to belong to another user; also for root."""
    inode, owner_of = path.lstat().st_ino, private.owner_of
    monkeypatch.setattr(private, "owner_of", lambda status: 12345 if status.st_ino == inode else owner_of(status))


OPENED = {
    "a file": lambda monkeypatch, file: file.chmod(0o666),
    "a file of the group": lambda monkeypatch, file: file.chmod(0o660),
    "its folder": lambda monkeypatch, file: file.parent.chmod(0o777),
    "its folder, sticky": lambda monkeypatch, file: file.parent.chmod(0o1777),
    "the cache": lambda monkeypatch, file: file.parent.parent.chmod(0o770),
    "above": lambda monkeypatch, file: file.parent.parent.parent.chmod(0o777),
    "another's file": lambda monkeypatch, file: of_another(monkeypatch, file),
    "another's folder": lambda monkeypatch, file: of_another(monkeypatch, file.parent),
    "another's above": lambda monkeypatch, file: of_another(monkeypatch, file.parent.parent),
}


@pytest.mark.parametrize("case", OPENED)
def test_a_basis_that_others_may_change_is_computed_anew(folder, monkeypatch, case):
    private.warn_once.cache_clear()
    fourier_basis(GRAPHS["path"])
    (file,) = folder.iterdir()
    assert fourier_basis(GRAPHS["path"]).source == "cache"
    OPENED[case](monkeypatch, file)
    with pytest.warns(UserWarning, match="is not used: .*(may be changed by|belongs to another user)"):
        assert fourier_basis(GRAPHS["path"]).source == "cpu"


def test_a_basis_does_not_overwrite_what_a_link_in_its_place_leads_to(folder, tmp_path):
    fourier_basis(GRAPHS["path"])
    (file,) = folder.iterdir()
    file.unlink()
    (tmp_path / "precious").write_text("mine")
    file.symlink_to(tmp_path / "precious")
    assert fourier_basis(GRAPHS["path"]).source == "cpu"
    assert (tmp_path / "precious").read_text() == "mine" and not file.is_symlink()
    assert file.stat().st_mode & 0o777 == 0o600


# --- equal eigenvalues


def weighted_parts(seed=0):
    """Return the matrix of a weighted graph of several components, two of them equal, and of isolated vertices."""
    A = np.triu(np.random.default_rng(seed).random((9, 9)) * naive.random_graph(9, 0.5, 2), 1)
    parts = [A, A, A[:4, :4], np.zeros((3, 3))]
    B, last = np.zeros((25, 25)), 0
    for part in parts:
        B[last : last + len(part), last : last + len(part)] = part
        last += len(part)
    return B + B.T


@pytest.mark.parametrize("size", [None, 20])
def test_components_are_not_mixed(size):
    """Each eigenvector is that of one component, also where components share eigenvalues."""
    A = weighted_parts()
    _, labels = __import__("scipy").sparse.csgraph.connected_components(A)
    found = fourier_basis(as_adjacency(A), size, cache=False)
    owners = [set(labels[np.abs(vector) > 0]) for vector in found.vectors.T]
    assert all(len(owner) == 1 for owner in owners) and set.union(*owners) == set(labels)


@pytest.mark.parametrize("seed", range(3))
def test_the_basis_does_not_depend_on_the_order_of_the_vertices(seed):
    A, order = weighted_parts(seed), np.random.default_rng(seed).permutation(25)
    first = fourier_basis(as_adjacency(A), cache=False)
    other = fourier_basis(as_adjacency(A[np.ix_(order, order)]), cache=False)
    np.testing.assert_array_equal(other.values, first.values)
    rows, columns = (np.abs(part[:, np.lexsort(np.abs(part))]) for part in (first.vectors[order], other.vectors))
    np.testing.assert_array_equal(columns, rows)


def test_vertices_are_ordered_by_their_edges():
    A = naive.path_graph(11)
    order = np.random.default_rng(0).permutation(11)
    distances = [np.abs(np.arange(11) - 5)[rows] for rows in (np.arange(11), order)]
    sorted_distances = [
        distance[room.order_by_edges(as_adjacency(matrix))]
        for distance, matrix in zip(distances, (A, A[np.ix_(order, order)]))
    ]
    np.testing.assert_array_equal(*sorted_distances)
    assert room.order_by_edges(as_adjacency(np.ones((5, 5)))).tolist() == list(range(5))
