"""Values as a table with a file of edges: the side of the vertices, headers, ids, and their matching."""

import numpy as np
import pytest

from gpukit.errors import DataError, ParameterError
from gpukit.graphs import read_graph
from gpukit.io import sheet

N, TIMES = 5, 8
VALUES = np.round(np.random.default_rng(0).uniform(-9, 9, (N, TIMES)), 3)
VALUES[2, 3] = np.nan
RING = ["0 1", "1 2", "2 3", "3 4", "0 4"]
NAMED = ["a b", "b c", "c d", "d e", "a e"]
IDS = list("abcde")
SQUARE = [" ".join(str(int(abs(i - j) in (1, 4))) for j in range(N)) for i in range(N)]


def rows(table, blank=""):
    return [[blank if np.isnan(value) else repr(float(value)) for value in row] for row in table]


def write(folder, name, lines, sep=","):
    (folder / name).write_text("\n".join(line if isinstance(line, str) else sep.join(line) for line in lines) + "\n")
    return folder / name


@pytest.fixture
def read(tmp_path):
    """read(lines of the table, lines of the edges) -> GraphTensor."""

    def run(lines, edges=RING, sep=",", **options):
        return read_graph(edges=write(tmp_path, "e.txt", edges), tensor=write(tmp_path, "t.csv", lines, sep), **options)

    return run


def check(found, values=VALUES):
    mask = ~np.isnan(values)
    assert np.array_equal(found.tensor[:, 0], np.where(mask, values, 0)) and np.array_equal(found.mask[:, 0], mask)


NUMBERS = [str(7 * i + 3) for i in range(TIMES)]
PLAIN, TURNED = rows(VALUES), rows(VALUES.T)
TABLES = {
    "a row a vertex": PLAIN,
    "a column a vertex": TURNED,
    "nan": rows(VALUES, "nan"),
    "header of times": [[f"t{i}" for i in range(TIMES)], *PLAIN],
    "header of numbers": [NUMBERS, *PLAIN],
    "times in the first column": [[f"2012-03-{i}", *row] for i, row in enumerate(TURNED)],
    "times and ids": [["time", *"01234"], *([f"2012-03-{i}", *row] for i, row in enumerate(TURNED))],
    "times of numbers and ids": [["", *"01234"], *([str(i), *row] for i, row in enumerate(TURNED))],
    "ids in the first column": [[str(i), *row] for i, row in enumerate(PLAIN)],
    "ids and header": [["sensor", *NUMBERS], *([str(i), *row] for i, row in enumerate(PLAIN))],
    "comments": ["# speeds", *PLAIN[:2], "# more", *PLAIN[2:]],
}


@pytest.mark.parametrize("table", TABLES)
def test_tables(read, table):
    check(read(TABLES[table]))


@pytest.mark.parametrize("sep", [" ", "\t", ";"])
def test_separators(read, sep):
    check(read(rows(VALUES, "nan"), sep=sep))


def test_slices(read):
    found = read(TURNED, slice_shape=(2, 4))
    assert found.tensor.shape == (N, 2, 4) and np.array_equal(found.tensor[0].ravel(), VALUES[0])
    whole = [[str(int(9 * value)) for value in row] for row in np.nan_to_num(VALUES)]
    lines = [[str(i + 70), *row] for i, row in enumerate(whole)]
    ids = read(lines, slice_shape=(2, 4), edges=[*SQUARE], columns="sensor,value,...")
    assert np.array_equal(ids.tensor.reshape(N, -1), np.array(whole, dtype=float))
    assert ids.vertices.tolist() == [70, 71, 72, 73, 74]


WHOLE = np.round(np.nan_to_num(VALUES))
W, W_TURNED = ([[str(int(value)) for value in row] for row in table] for table in (WHOLE, WHOLE.T))
RULES = {
    "the graph's ids": (["3 1", "1 4", "4 5", "5 9", "9 3"], [["1", "3", "4", "5", "9"], *W_TURNED], {}),
    "a word above numbers": (RING, [["id", *(["0.5"] * TIMES)], *([str(i), *row] for i, row in enumerate(W))], {}),
    "whole numbers above fractions": (SQUARE, [["70", "8", "9", "1", "2"], *rows(WHOLE.T)], {}),
    "a column of times": (
        SQUARE,
        [[str(i), *row] for i, row in enumerate(W_TURNED)],
        {"columns": "time,value,value,..."},
    ),
    "neither": (SQUARE, W, {}),
}


@pytest.mark.parametrize("rule", RULES)
def test_each_sign_of_names_alone(read, rule):
    edges, lines, options = RULES[rule]
    found = read(lines, edges, **options)
    assert np.array_equal(found.tensor.reshape(N, -1), WHOLE)
    ids = {"neither": None, "a column of times": None, "the graph's ids": [1, 3, 4, 5, 9]}
    numbered = [0, 1, 2, 3, 4] if "word" in rule else [70, 8, 9, 1, 2]
    expected = ids.get(rule, numbered)
    assert found.vertices is None if expected is None else found.vertices.tolist() == expected


@pytest.mark.parametrize(
    "lines, columns",
    [
        ([[str(i), *row] for i, row in enumerate(W_TURNED)], "time,value,value,..."),
        ([[str(60 * i) for i in range(TIMES)], *W], None),
        ([["", *map(str, range(TIMES))], *([str(i), *row] for i, row in enumerate(W))], None),
    ],
)
def test_numbers_that_may_be_labels_are_refused(read, lines, columns):
    with pytest.raises(
        DataError, match="could be names or values" if lines[0][0] == "" else "neither is its vertices"
    ) as caught:
        read(lines, SQUARE)
    assert columns is None or f"--columns {columns} or" in str(caught.value)


def test_ids_of_the_table_are_those_of_an_adjacency_without_any(read):
    found = read([IDS, *TURNED], edges=SQUARE)
    check(found)
    assert found.vertices.tolist() == IDS and read(TURNED, edges=SQUARE).vertices is None


def test_rows_find_their_vertex_by_id(read):
    """The order is the table's; edges are matched by ids."""
    expected = read(PLAIN, NAMED)
    assert expected.vertices.tolist() == ["a", "b", "c", "d", "e"]
    order = np.array([3, 0, 4, 2, 1])
    header = [IDS[i] for i in order]
    by_row = [[IDS[i], *PLAIN[i]] for i in order]
    by_column = [header, *rows(VALUES[order].T)]
    for lines in (by_row, by_column):
        found = read(lines, NAMED)
        check(found, VALUES[order])
        assert found.vertices.tolist() == header
        assert np.array_equal(found.adjacency.toarray(), expected.adjacency.toarray()[np.ix_(order, order)])


def test_vertices_that_only_the_table_has_are_isolated(read):
    found = read([[one, *row] for one, row in zip("xabcde", [PLAIN[0], *PLAIN])], NAMED)
    assert found.vertices.tolist() == list("xabcde") and found.adjacency.sum(axis=1)[0] == 0
    assert found.adjacency.nnz == 10


def test_arrays_without_ids(read, tmp_path):
    for name, edges, values in (("t.npy", RING, VALUES), ("t.npy", NAMED, VALUES)):
        np.save(tmp_path / name, values)
        check(read_graph(edges=write(tmp_path, "e.txt", edges), tensor=tmp_path / name))
    np.save(tmp_path / "t.npy", np.vstack((VALUES, VALUES[:1])))
    found = read_graph(edges=write(tmp_path, "e.txt", RING), tensor=tmp_path / "t.npy")  # vertex 5 has no edge
    assert found.vertices.tolist() == [0, 1, 2, 3, 4, 5] and found.adjacency.sum(axis=1)[5] == 0
    for edges in (NAMED, ["1 2", "2 3", "3 4"]):
        with pytest.raises(DataError, match="6 vertices and no ids, and the edges name .: which is whose is not clear"):
            read_graph(edges=write(tmp_path, "e.txt", edges), tensor=tmp_path / "t.npy")


def test_arrays_with_a_column_a_vertex(tmp_path):
    np.save(tmp_path / "t.npy", VALUES.T)
    files = dict(edges=write(tmp_path, "e.txt", RING), tensor=tmp_path / "t.npy")
    check(read_graph(**files, layout="columns"))
    np.savez(tmp_path / "t.npz", tensor=VALUES, mask=~np.isnan(VALUES))
    check(read_graph(edges=files["edges"], tensor=tmp_path / "t.npz"))
    np.savez(tmp_path / "t.npz", values=VALUES)
    with pytest.raises(DataError, match="no array named tensor. Found: values"):
        read_graph(edges=files["edges"], tensor=tmp_path / "t.npz")


def test_both_sides_could_be_the_vertices(read):
    table = VALUES[:, :N]
    with pytest.raises(DataError, match="5 rows of 5 values, and the graph has 5 vertices: both could .*--layout rows"):
        read(rows(table))
    check(read(rows(table), layout="rows"), table)
    check(read(rows(table), layout="columns"), table.T)
    check(read([IDS, *rows(table.T)], NAMED), table)  # ids decide


def test_refused(read):
    for lines, options, error, words in (
        (PLAIN[:4], {}, DataError, "4 rows of 8 values, and the graph has 5 vertices: neither"),
        ([*PLAIN[:4], ["1", "x", *PLAIN[4][2:]]], {}, DataError, r"line 5: 'x' \(column 2\) is not a number"),
        ([*PLAIN[:4], ["1.5", '"3,5"', *PLAIN[4][2:]]], {}, DataError, r"'3,5' \(column 2\) has a decimal comma"),
        ([*PLAIN[:4], ["1", '"1.234,5"', *PLAIN[4][2:]]], {}, DataError, r"'1.234,5' .* has marks of thousands"),
        ([*PLAIN[:4], ["1", '"1,234"', *PLAIN[4][2:]]], {}, DataError, r"has a comma, of thousands or a decimal one"),
        ([*PLAIN[:4], [*PLAIN[4], "1"]], {}, DataError, r"line 5 has 9 field\(s\) where 8 are expected: .*; or, if"),
        ([*PLAIN[:4], ["inf", *PLAIN[4][1:]]], {}, DataError, "the tensor is inf at vertex 4, row 0, column 0"),
        (PLAIN, {"layout": "sides"}, ParameterError, "layout must be one of"),
        (PLAIN, {"slice_shape": (3, 3)}, ParameterError, "slices of 3 x 3 have 9 numbers, but the tensor's have 8"),
        (PLAIN, {"layout": "columns", "edges": SQUARE}, DataError, "has 8 slices"),
    ):
        with pytest.raises(error, match=words) as caught:
            read(lines, **options)
        assert "\n" not in str(caught.value)
    with pytest.raises(DataError, match="has no values for vertex 'e' of the edges' 5"):
        read([[one, *row] for one, row in zip("abcdx", PLAIN)], NAMED)


def test_more_columns_than_memory_has_room_for(tmp_path, monkeypatch):
    def full(*args):
        raise MemoryError

    edges, values = write(tmp_path, "e.txt", RING), write(tmp_path, "v.csv", rows(VALUES))
    monkeypatch.setattr(sheet, "columns_of", full)
    with pytest.raises(DataError, match=r"e\.txt: 2 columns take more memory than there is\. Turn the table"):
        read_graph(edges=edges, tensor=values)


EXACT = [-2.4659999999995454, 1.2940006221234799, -1.8891592636108399, -9.223372036854777e19, 1.1805916207174112e21]


def test_numbers_are_read_to_the_last_bit(read):
    values = np.array(EXACT * 2 + EXACT[::-1] * 2).reshape(4, 5).T
    assert np.array_equal(read(rows(values)).tensor[:, 0], values)
