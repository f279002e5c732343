"""read_graph and write_graph: archives, two files, text; errors."""

import gzip
import lzma
import zipfile

import numpy as np
import pandas
import pytest
from scipy import sparse

from gpukit.errors import DataError, ParameterError
from gpukit.graphs import as_graph_tensor, read_graph, write_graph
from gpukit.graphs.read import read_edges

N = 5
RING = np.roll(np.eye(N), 1, axis=0) + np.roll(np.eye(N), -1, axis=0)
CSR = sparse.csr_array(RING)
PARTS = {"data": CSR.data, "indices": CSR.indices, "indptr": CSR.indptr, "shape": np.array(CSR.shape)}
EDGES = np.argwhere(np.triu(RING))
T = np.arange(30.0).reshape(N, 2, 3) / 4
HOLES = np.where(np.arange(N)[:, None, None] == 3, np.nan, T)


def archive(folder, name="g.npz", **arrays):
    np.savez(folder / name, **arrays)
    return folder / name


def text(folder, name, lines):
    (folder / name).write_text("\n".join(lines) + "\n")
    return folder / name


def same(one, other):
    """Compare all but the shape of the input and whether its times have an offset, which an archive lacks."""
    assert (one.adjacency != other.adjacency).nnz == 0
    for left, right in zip(one[1:-2], other[1:-2], strict=True):
        assert (left is None and right is None) or (left.dtype == right.dtype and np.array_equal(left, right))


GRAPHS = {
    "dense": {"adjacency": RING},
    "parts": {f"adjacency_{name}": part for name, part in PARTS.items()},
    "as scipy names them": {**PARTS, "format": np.array(b"csr")},
    "edges": {"edges": EDGES},
    "edges and weights": {"edges": EDGES, "weights": np.ones(N)},
}


@pytest.mark.parametrize("graph", GRAPHS)
def test_an_archive(tmp_path, graph):
    found = read_graph(archive(tmp_path, **GRAPHS[graph], tensor=HOLES, truth=T, vertices=np.array(list("abcde"))))
    same(found, as_graph_tensor(RING, HOLES, None, list("abcde"), T))


def test_numbers_of_an_adjacency_without_labels_name_its_vertices(tmp_path):
    np.save(tmp_path / "graph.npy", np.diag(np.arange(1.0, N), 1) + np.diag(np.arange(1.0, N), -1))
    table = text(tmp_path, "mixed.csv", ["time,3,0,4,1,2", "1,30,0,40,10,20", "2,31,1,41,11,21"])
    found = read_graph(edges=tmp_path / "graph.npy", tensor=table)
    vertices, adjacency = found.vertices.tolist(), found.adjacency.toarray()
    assert found.tensor[:, 0, 0].tolist() == [10.0 * vertex for vertex in vertices]
    assert (
        adjacency[vertices.index(3), vertices.index(4)] == 4.0 and adjacency[vertices.index(3), vertices.index(0)] == 0
    )


def test_an_archive_with_a_mask_and_slices(tmp_path):
    mask = np.arange(N) != 2
    found = read_graph(archive(tmp_path, adjacency=RING, tensor=T.reshape(N, 6), mask=mask), slice_shape=(3, 2))
    same(found, as_graph_tensor(RING, T.reshape(N, 3, 2), mask))


def test_scipys_own_file_with_a_tensor_beside_it(tmp_path):
    sparse.save_npz(tmp_path / "a.npz", CSR)
    np.save(tmp_path / "t.npy", HOLES)
    same(read_graph(edges=tmp_path / "a.npz", tensor=tmp_path / "t.npy"), as_graph_tensor(RING, HOLES))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("entries", [True, False])
def test_what_is_written_is_read(tmp_path, dtype, entries):
    mask = np.random.default_rng(0).random(T.shape) > 0.3 if entries else np.arange(N) > 0
    data = as_graph_tensor(RING * 0.3, T.astype(dtype), mask, np.arange(10, 15), T)
    write_graph(tmp_path / "g.npz", data)
    same(read_graph(tmp_path / "g.npz"), data)
    plain = as_graph_tensor(RING, T.astype(dtype))
    write_graph(tmp_path / "g.npz", plain)
    same(read_graph(tmp_path / "g.npz"), plain)


def test_where_it_cannot_write(tmp_path):
    data = as_graph_tensor(RING, T)
    for path, error in ((tmp_path / "g.csv", ParameterError), (tmp_path / "none" / "g.npz", DataError)):
        with pytest.raises(error):
            write_graph(path, data)
    with pytest.raises(DataError, match="vertices. has a surrogate"):
        write_graph(tmp_path / "g.npz", as_graph_tensor(RING, T, vertices=list("abcd") + ["\ud800"]))
    assert not list(tmp_path.iterdir())


RING_LINES = ["0 1", "1 2", "2 3", "3 4", "0 4"]
LISTS = {
    "spaces": RING_LINES,
    "tabs": [line.replace(" ", "\t") for line in RING_LINES],
    "commas and spaces": [line.replace(" ", ", ") for line in RING_LINES],
    "comments": ["# a ring", "% of five", "", *RING_LINES[:2], "# in between", "% here too", *RING_LINES[2:], ""],
    "header": ["source target", *RING_LINES],
    "header of unknown words": ["x_id y_id", *RING_LINES],
    "header and weights": ["u,v,w", *(line.replace(" ", ",") + ",1.0" for line in RING_LINES)],
    "both directions": [*RING_LINES, *(line[::-1] for line in RING_LINES)],
    "byte order mark": ["\ufeff0 1", *RING_LINES[1:]],
}


@pytest.mark.parametrize("kind", LISTS)
def test_lists_of_edges(tmp_path, kind):
    graph, ids = read_edges(text(tmp_path, "e.txt", LISTS[kind]))
    assert np.array_equal(graph.toarray(), RING) and ids.tolist() == [0, 1, 2, 3, 4] and ids.dtype == np.int64


def test_windows_line_ends(tmp_path):
    (tmp_path / "e.csv").write_bytes("\r\n".join(LISTS["header and weights"]).encode())
    assert np.array_equal(read_edges(tmp_path / "e.csv")[0].toarray(), RING)


@pytest.mark.parametrize("suffix", ["gz", "xz", "zip"])
def test_compressed(tmp_path, suffix):
    raw, path = "\n".join(RING_LINES).encode(), tmp_path / f"e.txt.{suffix}"
    if suffix == "zip":
        with zipfile.ZipFile(path, "w") as packed:
            packed.writestr("e.txt", raw)
    else:
        path.write_bytes({"gz": gzip, "xz": lzma}[suffix].compress(raw))
    assert np.array_equal(read_edges(path)[0].toarray(), RING)


def test_ids_of_lists(tmp_path):
    graph, ids = read_edges(text(tmp_path, "e.txt", ["70 8 0.5", "8 9 2", "9 70 1"]))
    assert ids.tolist() == [8, 9, 70] and np.array_equal(graph.toarray(), [[0, 2, 0.5], [2, 0, 1], [0.5, 1, 0]])
    graph, ids = read_edges(text(tmp_path, "e.txt", ["zed amy 0.5", "amy 9 2"]))
    assert ids.tolist() == ["zed", "amy", "9"]
    assert np.array_equal(graph.toarray(), [[0, 0.5, 0], [0.5, 0, 2], [0, 2, 0]])


def test_a_header_above_ids_of_text(tmp_path):
    for head in ("From To", "source,target"):
        sep = "," if "," in head else " "
        _, ids = read_edges(text(tmp_path, "e.txt", [head, sep.join("ab"), sep.join("bc")]))
        assert ids.tolist() == ["a", "b", "c"]


SQUARE = [",".join(f"{value:g}" for value in row) for row in RING]
ADJACENCIES = {
    "plain": (SQUARE, None),
    "spaces": ([line.replace(",", " ") for line in SQUARE], None),
    "byte order mark": (["\ufeff" + SQUARE[0], *SQUARE[1:]], None),
    "header of words": (["a,b,c,d,e", *SQUARE], list("abcde")),
    "header of numbers": (["70,8,9,1,2", *SQUARE], [70, 8, 9, 1, 2]),
    "ids on both sides": ([",a,b,c,d,e", *(f"{one},{row}" for one, row in zip("abcde", SQUARE))], list("abcde")),
    "numbers on both sides": ([",7,8,9,1,2", *(f"{one},{row}" for one, row in zip("78912", SQUARE))], [7, 8, 9, 1, 2]),
}


@pytest.mark.parametrize("kind", ADJACENCIES)
def test_adjacencies_as_text(tmp_path, kind):
    lines, expected = ADJACENCIES[kind]
    graph, ids = read_edges(text(tmp_path, "a.csv", lines))
    assert np.array_equal(graph.toarray(), RING) and (ids is None if expected is None else ids.tolist() == expected)


def test_metr_la(data):
    found = read_graph(edges=data("metr-la/adjacency.csv"), tensor=data("metr-la/speed.csv"), slice_shape=(7, 288))
    assert found.tensor.shape == (207, 7, 288) and found.mask.shape == (207,) and found.mask.all()
    assert found.adjacency.nnz == 2 * 1313 and found.vertices[:2].tolist() == [773869, 767541]
    assert found.tensor[0, 0, 0] == 64.375 and found.tensor[1, 0, 0] == 67.625
    assert np.count_nonzero(found.adjacency.sum(axis=1) == 0) == 1


def test_ego_facebook(data):
    graph, ids = read_edges(data("ego-Facebook/facebook_combined.txt"))
    assert graph.shape == (4039, 4039) and graph.nnz == 2 * 88234 and np.array_equal(ids, np.arange(4039))
    assert graph.sum(axis=1).max() == 1045


NO_GRAPH = "has no graph. Found: tensor. Needed: tensor .* and adjacency .* or edges"
BAD = {
    "no tensor": (dict(adjacency=RING, values=T), "no array named tensor. Found: adjacency, values. Needed: tensor"),
    "no graph": (dict(tensor=T), NO_GRAPH),
    "a part is missing": (dict(tensor=T, adjacency_data=CSR.data, adjacency_indices=CSR.indices), "has no graph"),
    "two graphs": (dict(tensor=T, adjacency=RING, edges=EDGES), "more than one graph"),
    "parts that do not fit": (dict(tensor=T, **{**PARTS, "indptr": CSR.indptr[:-1]}), "do not make a CSR matrix"),
    "indices out of range": (dict(tensor=T, **{**PARTS, "indices": CSR.indices + 1}), "do not make a CSR matrix"),
    "shape of one number": (dict(tensor=T, **{**PARTS, "shape": np.array(5)}), "do not make a CSR matrix"),
    "objects": (dict(tensor=np.array([T, None], dtype=object), adjacency=RING), "Python objects, .* unpickled"),
    "another N": (dict(tensor=T[:4], adjacency=RING), "has 4 slices .* the graph has 5 vertices"),
    "asymmetric": (dict(tensor=T, adjacency=np.triu(RING)), "not symmetric"),
}


@pytest.mark.parametrize("case", BAD)
def test_refused_archives(tmp_path, case):
    arrays, words = BAD[case]
    with pytest.raises(DataError, match=words) as caught:
        read_graph(archive(tmp_path, **arrays))
    assert "\n" not in str(caught.value)


def test_refused_files(tmp_path):
    whole = archive(tmp_path, adjacency=RING, tensor=T).read_bytes()
    np.save(tmp_path / "t.npy", T)
    cases = {
        "none.npz": "does not exist",
        ".": "is a folder; name a file in it",
        "t.npy": "is no .npz archive.*--edges FILE --tensor FILE",
    }
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    flipped = bytearray(whole)
    flipped[300] ^= 255
    (tmp_path / "flipped.npz").write_bytes(flipped)
    (tmp_path / "empty.npz").write_bytes(b"")
    with zipfile.ZipFile(tmp_path / "text.npz", "w") as packed:
        packed.writestr("a.txt", "a")
    cases |= {
        "cut.npz": "damaged or cut short|is no .npz",
        "flipped.npz": "damaged or cut short",
        "empty.npz": "is empty",
        "text.npz": "is no .npz",
    }
    for name, words in cases.items():
        with pytest.raises(DataError, match=words) as caught:
            read_graph(tmp_path / name)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("edges", ["0 1\n1 2\n", "a b\nb c\n"])
def test_a_single_number_is_no_tensor(tmp_path, edges):
    np.save(tmp_path / "t.npy", 3.0)
    (tmp_path / "e.txt").write_text(edges)
    with pytest.raises(DataError, match=r"its shape is \(\)|has values for 1 vertices"):
        read_graph(edges=tmp_path / "e.txt", tensor=tmp_path / "t.npy")


TEXTS = {
    "empty": ([], "is empty|no lines"),
    "comments": (["# nothing", "# here"], "no lines but comments"),
    "one column": (["1", "2"], "has 1 rows of 1 columns"),
    "not square": (["1,2,3,4", "1,2,3,4"], "has 2 rows of 4 columns: a square table has as many rows as"),
    "ragged": (["0 1", "1 2 3", "4 5"], r"line 2 has 3 field\(s\) where 2 are expected"),
    "an end is missing": (["0,1", "1,", "4,5"], "edge 2 is incomplete; each needs two vertices."),
    "a weight is missing": (["0,1,1", "1,2,", "4,5,2"], "edge 2 is incomplete; each needs two vertices and a weight"),
    "a weight of text": (["0 1 1", "1 2 heavy", "4 5 2"], "line 2: 'heavy' .column 3. is not a number"),
    "negative": (["7 8 1", "9 7 -2"], "between vertices 7 and 9 is -2"),
    "asymmetric": (["7 8 1", "8 7 2"], "between vertices 7 and 8 has the weight 1 and, later"),
    "asymmetric table": ([SQUARE[0].replace("1", "2"), *SQUARE[1:]], "not symmetric"),
    "text in a table": ([SQUARE[0], SQUARE[1].replace("1", "x", 1), *SQUARE[2:]], "line 2: 'x' .column 1. is"),
    "a hole in a table": ([SQUARE[0], SQUARE[1].replace("1", "", 1), *SQUARE[2:]], "between vertices 1 and 0 is nan"),
    "self-loops": (["1 1", "2 2"], "no edges but self-loops"),
    "one vertex": (["a a", "a a"], "joins no two vertices: all its edges are from 'a' to itself"),
    "bytes": (["0 1\0"], "not a text file"),
}


@pytest.mark.parametrize("case", TEXTS)
def test_refused_texts(tmp_path, case):
    lines, words = TEXTS[case]
    path = text(tmp_path, "e.txt", lines)
    with pytest.raises(DataError, match=words) as caught:
        read_edges(path)
    assert "\n" not in str(caught.value)


def test_refused_requests(tmp_path):
    path = archive(tmp_path, adjacency=RING, tensor=T)
    for request in (
        dict(),
        dict(edges=path),
        dict(edges=path, coordinates=path, tensor=path),
        dict(path=path, edges=path),
        dict(path=path, tensor=path),
        dict(path=path, layout="rows"),
        dict(path=path, slice_shape=(4, 4)),
        dict(path=path, slice_shape=3),
    ):
        with pytest.raises(ParameterError):
            read_graph(**request)


def test_times_go_along(tmp_path):
    for data in (
        as_graph_tensor(RING, HOLES, times=[7, 8, 9]),
        as_graph_tensor(RING, T.reshape(N, 6), slice_shape=(3, 2), times=np.arange(6)),
    ):
        write_graph(tmp_path / "a.npz", data)
        same(read_graph(tmp_path / "a.npz"), data)
    edges = archive(tmp_path, "e.npz", edges=EDGES)
    tensor = archive(tmp_path, "t.npz", tensor=T, times=np.array([7, 8, 9]))
    assert read_graph(edges=edges, tensor=tensor).times.tolist() == [7, 8, 9]


@pytest.mark.parametrize("layout", ["rows", "columns"])
def test_parquet(tmp_path, layout):
    ends = pandas.DataFrame({"source": [f"s{at}" for at in EDGES[:, 0]], "target": [f"s{at}" for at in EDGES[:, 1]]})
    days = pandas.date_range("2012-03-01", periods=3)
    values = pandas.DataFrame(HOLES[:, 0], index=[f"s{at}" for at in range(N)], columns=days.astype(str))
    ends.assign(weight=2.0).to_parquet(tmp_path / "edges.parquet")
    (values if layout == "rows" else values.T.set_axis(days)).to_parquet(tmp_path / "values.parquet")
    found = read_graph(edges=tmp_path / "edges.parquet", tensor=tmp_path / "values.parquet")
    order = [int(name[1:]) for name in found.vertices]
    assert np.array_equal(found.adjacency.toarray(), 2 * RING[np.ix_(order, order)])
    assert np.array_equal(found.tensor[:, 0], np.nan_to_num(HOLES[order, 0])) and found.mask.sum() == N - 1
    assert found.times.tolist() == [1330560000, 1330646400, 1330732800]


def test_parquet_of_an_adjacency(tmp_path):
    names = list("vwxyz")
    pandas.DataFrame(RING, index=names, columns=names).to_parquet(tmp_path / "a.parquet")
    graph, ids = read_edges(tmp_path / "a.parquet")
    assert ids.tolist() == names and np.array_equal(graph.toarray(), RING)
    pandas.DataFrame(RING, columns=names)[:0].to_parquet(tmp_path / "a.parquet")
    with pytest.raises(DataError, match="has no rows"):
        read_edges(tmp_path / "a.parquet")


def test_dates_above_a_table_are_times(tmp_path):
    edges = text(tmp_path, "edges.txt", ["0 1", "1 2", "2 3"])
    rows = text(tmp_path, "a.csv", ["id,2012-03-01,2012-03-02", *(f"{at},{at}.5,3" for at in range(4))])
    assert read_graph(edges=edges, tensor=rows).times.tolist() == [1330560000, 1330646400]
    columns = text(tmp_path, "b.csv", ["when,0,1,2,3", *(f"2012-03-01 00:0{at}:00,1,2,3,4.5" for at in range(2))])
    assert read_graph(edges=edges, tensor=columns).times.tolist() == [1330560000, 1330560060]
    plain = text(tmp_path, "c.csv", ["id,10,20", *(f"{at},{at}.5,3" for at in range(4))])
    assert read_graph(edges=edges, tensor=plain).times is None


def test_an_index_without_a_name_is_ids(tmp_path):
    edges, values = archive(tmp_path, "e.npz", edges=EDGES), pandas.DataFrame(T[:, 0], columns=list("abc"))
    values.set_axis([10, 20, 30, 40, 50]).to_parquet(tmp_path / "values.parquet")
    found = read_graph(edges=edges, tensor=tmp_path / "values.parquet")
    assert found.vertices.tolist() == [10, 20, 30, 40, 50] and np.array_equal(found.tensor[:, 0], T[:, 0])


def test_ids_with_zeros_in_front_stay_text(tmp_path):
    lines = ["v,007,7,08", "007,0,1,0", "7,1,0,2", "08,0,2,0"]
    assert read_edges(text(tmp_path, "a.csv", lines))[1].tolist() == ["007", "7", "08"]


def test_a_line_of_many_columns_is_no_adjacency_before_it_is_parsed(tmp_path, monkeypatch):
    (tmp_path / "e.txt").write_text("1,2," * 20_000 + "1\n2,1\n")
    monkeypatch.setattr("gpukit.io.sheet.Table.frame", None)
    with pytest.raises(DataError, match="40,001 columns and fewer rows: a square table has as many rows as columns"):
        read_edges(tmp_path / "e.txt")


def test_lists_in_parquet_are_no_vertices(tmp_path):
    pandas.DataFrame({"from": [[1], [2]], "to": [2, 3]}).to_parquet(tmp_path / "e.parquet")
    with pytest.raises(DataError, match="the column 'from' holds list<.*>, not numbers or text"):
        read_edges(tmp_path / "e.parquet")


NAMED_LISTS = {  # of the edges 1-2 of weight 3, 2-3 of weight 2 and 3-4 of weight 5
    "in order": "source,target,weight\n1,2,3\n2,3,2\n3,4,5\n",
    "the weight first": "weight,source,target\n3,1,2\n2,2,3\n5,3,4\n",
    "the weight between": "from;weight;to\n1;3;2\n2;2;3\n3;5;4\n",
    "the index of pandas": ",source,target,weight\n0,1,2,3\n1,2,3,2\n2,3,4,5\n",
    "other columns": "name,dst,src,weight,distance\nx,2,1,3,9\ny,3,2,2,8\nz,4,3,5,7\n",
    "a square": ",3,1,4,2\n1,0,0,0,3\n2,2,3,0,0\n3,0,0,5,2\n4,5,0,0,0\n",
}


@pytest.mark.parametrize("name", NAMED_LISTS)
def test_columns_of_a_graph_in_another_order(tmp_path, name):
    """They went by position, so an edge list named weight,source,target joined weights to sources."""
    adjacency, ids = read_edges(text(tmp_path, "edges.csv", NAMED_LISTS[name].splitlines()))
    order = np.argsort(ids)
    assert ids[order].tolist() == [1, 2, 3, 4]
    assert np.diag(adjacency.toarray()[np.ix_(order, order)], 1).tolist() == [3.0, 2.0, 5.0] and adjacency.nnz == 6


def test_a_number_of_edges_is_no_weight(tmp_path):
    adjacency, ids = read_edges(text(tmp_path, "edges.csv", ["id,source,target", "5,1,2", "6,2,3"]))
    assert ids.tolist() == [1, 2, 3] and adjacency.toarray().tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]


def test_rows_and_columns_of_a_square_have_the_same_labels(tmp_path):
    numbered = text(tmp_path, "n.csv", [",a,b,c", "0,0,1,0", "1,1,0,2", "2,0,2,0"])
    assert read_edges(numbered)[0].toarray()[1].tolist() == [1, 0, 2]
    with pytest.raises(DataError, match="d.csv: a row is of 'd', and no column is"):
        read_edges(text(tmp_path, "d.csv", [",a,b,c", "a,0,1,0", "b,1,0,2", "d,0,2,0"]))
