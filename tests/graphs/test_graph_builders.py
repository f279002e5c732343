"""Graphs from coordinates, from distances, and from the similarity of series."""

import numpy as np
import pandas
import pytest

from gpukit.errors import DataError, ParameterError
from gpukit.graphs import (
    as_graph_tensor,
    graph_builders,
    graph_from_coordinates,
    graph_from_distances,
    graph_from_series,
    read_graph,
)

CITIES = {"Oslo": (59.91, 10.75), "Bergen": (60.39, 5.32), "Rome": (41.9, 12.5), "Naples": (40.85, 14.27)}
FLIGHT = {("Oslo", "Bergen"): 304.2, ("Rome", "Naples"): 189.6}  # km, great circles


def frame(index=True):
    table = pandas.DataFrame(list(CITIES.values()), columns=["latitude", "longitude"], index=list(CITIES))
    return table if index else table.rename_axis("city").reset_index()


def weights(graph):
    """{(a, b): weight} with labels."""
    A, ids = graph.adjacency.tocoo(), graph.vertices
    names = ids.tolist() if ids is not None else list(range(A.shape[0]))
    return {(names[i], names[j]): float(w) for i, j, w in zip(A.row, A.col, A.data)}


@pytest.mark.parametrize("index", [True, False])
def test_the_nearest_by_great_circles(index):
    found = weights(graph_from_coordinates(frame(index), neighbors=1))
    assert set(found) == {(a, b) for pair in FLIGHT for a, b in (pair, pair[::-1])}
    scale = np.median([*FLIGHT.values()] * 2)  # each is the other's nearest
    for pair, distance in FLIGHT.items():
        assert found[pair] == found[pair[::-1]] == pytest.approx(np.exp(-((distance / scale) ** 2)), rel=0.03)


def test_a_column_called_label_has_the_labels(tmp_path):
    (tmp_path / "c.csv").write_text("city,label,latitude,longitude\nUlm,a,1,2\nUlm,b,2,2\n")
    assert graph_builders.read_coordinates(tmp_path / "c.csv").ids.tolist() == ["a", "b"]


def test_the_date_line_is_no_wall():
    found = graph_from_coordinates(np.array([[0, 179.9], [0, -179.9], [0, 170.0], [0, -160.0]]), 1, degrees=True)
    assert {(0, 1), (1, 0)} <= set(weights(found))


def test_x_and_y_are_as_far_as_pythagoras_says():
    rng = np.random.default_rng(0)
    places = rng.normal(size=(40, 2))
    found = graph_from_coordinates(places, neighbors=3).adjacency.toarray()
    apart = np.linalg.norm(places[:, None] - places, axis=2)
    near = np.argsort(apart, axis=1)[:, 1:4]
    scale = np.median(np.take_along_axis(apart, near, axis=1))
    wanted = np.zeros((40, 40))
    for i, row in enumerate(near):
        wanted[i, row] = wanted[row, i] = np.maximum(np.exp(-((apart[i, row] / scale) ** 2)), 1e-3)
    np.testing.assert_allclose(found, wanted)


@pytest.mark.parametrize("places", [np.zeros((5, 2)), [[0, 0], [0, 0], [0, 0], [1, 1], [5, 5]]])
def test_vertices_in_one_place(places):
    A = graph_from_coordinates(np.array(places, float), neighbors=2).adjacency
    assert A.diagonal().sum() == 0 and (A.sum(axis=1) > 0).all() and np.isfinite(A.data).all()


def test_one_vertex_has_no_neighbour():
    assert graph_from_coordinates(np.zeros((1, 2))).adjacency.nnz == 0


@pytest.mark.parametrize(
    "coordinates, error",
    [
        (frame().assign(latitude=95.0), "latitude .* of Oslo are 95, 10.75"),
        (frame().assign(longitude=np.nan), "of Oslo are 59.91, nan"),
        (frame().set_axis(["Oslo"] * 4), "label 'Oslo' twice"),
        (frame().rename(columns={"latitude": "height"}), "height, longitude; latitude and longitude, or x and y"),
        (np.zeros((3, 3)), r"\(N, 2\) numbers"),
        (np.array([[0.0, 1.0], [1e300, 2.0], [3.0, 4.0]]), "coordinates, y and x, of vertex 1 are 2, 1e.300"),
        (frame().iloc[:0], "are empty"),
    ],
)
def test_bad_coordinates(coordinates, error):
    with pytest.raises(DataError, match=error):
        graph_from_coordinates(coordinates)


def test_a_third_coordinate_is_refused():
    """It was left out silently: stations above each other had the same place."""
    places = pandas.DataFrame({"sensor": ["a", "b", "c"], "x": [1, 1, 1], "y": [2, 2, 2], "z": [0, 10, 90]})
    with pytest.raises(DataError, match="columns are x, y, z, and distances are of two coordinates"):
        graph_from_coordinates(places.set_index("sensor"))


def test_a_table_that_lacks_vertices_of_the_graph(tmp_path):
    (tmp_path / "edges.csv").write_text("from,to\na,b\nb,c\nc,d\n")
    (tmp_path / "values.csv").write_text("time,a,b\n2024-01-01,1,2\n2024-01-02,,3\n2024-01-03,1,3\n")
    with pytest.raises(DataError, match="values.csv lacks 'c', 'd' of the graph's 4 vertices. Give each a column"):
        read_graph(tmp_path / "values.csv", edges=tmp_path / "edges.csv")


def test_distances_as_in_the_paper():
    D = np.array([[0, 1, 4, 90], [1, 0, 2, 90], [4, 2, 0, 90], [90, 90, 90, 0.0]])
    found = graph_from_distances(D).adjacency.toarray()
    scale = np.std(D)
    wanted = np.exp(-((D / scale) ** 2))
    wanted[wanted < 0.1] = 0
    np.fill_diagonal(wanted, 0)
    assert (wanted[3] == 0).all() and found[3].max() > 0  # the remote one keeps its nearest
    np.testing.assert_allclose(found[:3, :3], wanted[:3, :3])
    pairs = [(f"v{i}", f"v{j}", D[i, j]) for i in range(4) for j in range(4)]
    named = graph_from_distances(pandas.DataFrame(pairs), ids=np.array(["v3", "v1", "v0", "v2"]))
    np.testing.assert_allclose(named.adjacency.toarray(), found[np.ix_([3, 1, 0, 2], [3, 1, 0, 2])])


def test_of_two_directions_the_shorter_counts():
    with pytest.warns(UserWarning, match=r"1 pairs have another distance .* 5 from a to b and 1 back. The shorter"):
        one = graph_from_distances(pandas.DataFrame([("a", "b", 5.0), ("b", "a", 1.0), ("b", "c", 3.0)]))
    scale = np.std([5, 1, 3, 0, 0, 0])
    assert weights(one)["a", "b"] == pytest.approx(np.exp(-1 / scale**2))


def test_a_pair_that_is_listed_twice_counts_once():
    pairs = [("a", "b", 5.0), ("b", "c", 3.0), ("c", "d", 4.0)]
    once, twice = graph_from_distances(pairs), graph_from_distances([*pairs, *pairs])
    assert (once.adjacency != twice.adjacency).nnz == 0
    with pytest.raises(DataError, match="pair of vertices a and b has the distance 5 and, later in the list, 9"):
        graph_from_distances([*pairs, ("a", "b", 9.0)])


def test_a_distance_to_itself():
    """Three lines of numbers look like a square, and similarities like distances."""
    with pytest.raises(DataError, match="distance from 0 to itself is 1, not 0"):
        graph_from_distances([[1, 0.2, 0.5], [0.2, 1, 0.1], [0.5, 0.1, 1]])
    with pytest.raises(DataError, match="distance from 1 to itself is 2, not 0"):
        graph_from_distances([(0, 1, 5), (1, 2, 3), (2, 0, 4)])


@pytest.mark.parametrize(("name", "option"), [("distance", "edges"), ("cost", "edges"), ("weight", "distances")])
def test_a_header_that_names_the_other_number(name, option, tmp_path):
    """A distance as a weight would join the farthest vertices most."""
    (tmp_path / "pairs.csv").write_text(f"from,to,{name}\na,b,5\nb,c,3\n")
    (tmp_path / "values.csv").write_text("time,a,b,c\n2024-01-01,1,2,\n2024-01-02,2,,3\n")
    with pytest.raises(DataError, match=f"pairs.csv: the column '{name}' seems to hold .* as --{option}"):
        read_graph(tmp_path / "values.csv", **{option: tmp_path / "pairs.csv"})


def test_neighbors_of_distances():
    apart = np.abs(np.subtract.outer(np.arange(9.0) ** 1.5, np.arange(9.0) ** 1.5))
    assert (np.diff(graph_from_distances(apart, neighbors=2).adjacency.indptr) >= 2).all()
    assert graph_from_distances(apart, neighbors=2).adjacency.nnz < graph_from_distances(apart).adjacency.nnz
    with pytest.raises(ParameterError):
        graph_from_distances(apart, neighbors=0)
    with pytest.raises(DataError, match="distance is -1"):
        graph_from_distances(np.array([[0, -1], [-1, 0.0]]))
    with pytest.raises(DataError, match="no two of the vertices"):
        graph_from_distances(np.full((3, 3), np.inf))


def two_groups(missing=0.3):
    rng = np.random.default_rng(1)
    values = np.repeat(rng.normal(size=(2, 300)), 4, axis=0) + 0.2 * rng.normal(size=(8, 300)) + 100
    values[rng.random(values.shape) < missing] = np.nan
    return values


def test_series_that_are_alike_are_joined():
    found = graph_from_series(two_groups(), neighbors=3).adjacency.toarray()
    assert found[:4, :4].sum() == pytest.approx(found.sum() / 2, rel=0.05) and found[:4, 4:].max() <= 0.2
    assert np.array_equal(found, found.T)
    values = two_groups(0)
    wanted = np.corrcoef(values)[0, 1:4] * 300 / 310
    np.testing.assert_allclose(graph_from_series(values, neighbors=3).adjacency.toarray()[0, 1:4], wanted)


def test_series_that_say_nothing():
    values = two_groups()
    values[0] = np.nan
    A = graph_from_series(values, neighbors=3).adjacency
    assert A[[0]].nnz == 0 and (np.diff(A.indptr)[1:] >= 3).all()
    for values in (np.ones((4, 9)), np.full((4, 9), np.nan), np.ones((1, 9)), np.ones((4, 1))):
        A = graph_from_series(values).adjacency
        assert A.shape == (len(values),) * 2 and (len(values) == 1 or A.nnz) and np.isfinite(A.data).all()


def write(path, lines):
    path.write_text("\n".join(lines) + "\n")
    return path


ROWS = [f"2020-01-01 0{t}:00,{t},{t + 1}," + ("" if t == 2 else f"{t + 2}") for t in range(5)]


@pytest.fixture
def table(tmp_path):
    return write(tmp_path / "t.csv", ["time,Rome,Oslo,Bergen", *ROWS])


PLACE_NAMES = "city,latitude,longitude"
PLACES = [f"{name},{lat},{lon}" for name, (lat, lon) in CITIES.items()]


@pytest.mark.parametrize(
    "lines",
    [
        [PLACE_NAMES, *PLACES],
        ["index,sensor_id,lat,lng", *[f"{at},{line}" for at, line in enumerate(PLACES)]],
    ],
)
def test_files_of_coordinates(table, tmp_path, lines):
    data = read_graph(table, coordinates=write(tmp_path / "c.csv", lines), neighbors=1)
    wanted = graph_from_coordinates(frame().loc[["Rome", "Oslo", "Bergen"]], neighbors=1)
    assert data.vertices.tolist() == ["Rome", "Oslo", "Bergen"] and data.times is not None
    np.testing.assert_array_equal(data.adjacency.toarray(), wanted.adjacency.toarray())
    turned = [",".join(row) for row in zip(*(line.split(",") for line in table.read_text().splitlines()))]
    again = read_graph(write(tmp_path / "u.csv", turned), coordinates=tmp_path / "c.csv", neighbors=1)
    np.testing.assert_array_equal(again.tensor, data.tensor)


def test_files_of_distances(table, tmp_path):
    lines = ["from,to,cost", "Oslo,Bergen,304", "Bergen,Oslo,310", "Rome,Oslo,2000", "Rome,Naples,190"]
    data = read_graph(table, distances=write(tmp_path / "d.csv", lines))
    pairs = pandas.DataFrame([line.split(",") for line in lines[1:]]).astype({2: float})
    wanted = graph_from_distances(pairs, ids=np.array(["Rome", "Oslo", "Bergen"]))
    np.testing.assert_array_equal(data.adjacency.toarray(), wanted.adjacency.toarray())
    square = [",Rome,Oslo,Bergen", "Rome,0,2000,2100", "Oslo,2000,0,304", "Bergen,2100,310,0"]
    again = read_graph(table, distances=write(tmp_path / "d.csv", square))
    assert again.adjacency[1, 2] > 0.5 > again.adjacency[0, 1]


@pytest.mark.parametrize(
    "name, lines, error",
    [
        ("coordinates", PLACES, "the columns are Oslo, 59.91, 10.75; .* in the first line of a text: sensor,latitude"),
        ("coordinates", [PLACE_NAMES, *PLACES[1:]], "no coordinates of 'Oslo'"),
        ("coordinates", [PLACE_NAMES, "Oslo,59,10", *PLACES], "label 'Oslo' twice"),
        ("coordinates", [PLACE_NAMES, "Oslo,59,warm", *PLACES[1:]], "line 2: 'warm' .column 3. is not a number"),
        ("coordinates", ["a,b,c,d", "Oslo,1,2,3"], "latitude and longitude, or x and y"),
        ("coordinates", ["x,y", "1,2", "3,4"], "has 2 lines without labels, and there are 3"),
        (
            "distances",
            ["Oslo,Bergen,", "Rome,Oslo,3"],
            "line 1: pair 1 is incomplete; each needs two vertices and a distance",
        ),
        ("distances", ["Paris,London,3"], "no two of the vertices"),
        ("distances", ["1,2,3,4", "5,6,7,8"], "as many rows as columns"),
    ],
)
def test_bad_files(table, tmp_path, name, lines, error):
    with pytest.raises(DataError, match=error) as caught:
        read_graph(table, **{name: write(tmp_path / "c.csv", lines)})
    assert "\n" not in str(caught.value)


def test_a_graph_keeps_its_labels():
    graph = graph_from_coordinates(frame())
    data = as_graph_tensor(graph, [[2.0], [np.nan], [1.0], [3.0]])
    assert data.vertices.tolist() == list(CITIES) and data.tensor[:, 0, 0].tolist() == [2, 0, 1, 3]


def test_the_most_alike_take_memory_by_the_series_not_by_pairs(monkeypatch):
    rng, sizes = np.random.default_rng(0), []
    values = np.where(rng.random((300, 7)) < 0.1, np.nan, rng.normal(size=(300, 7)))
    whole = graph_from_series(values).adjacency
    of_rows = graph_builders.likeness

    def noted(*arrays):
        found = of_rows(*arrays)
        sizes.append(found.size)
        return found

    monkeypatch.setattr(graph_builders, "likeness", noted)
    monkeypatch.setattr(graph_builders, "BLOCK", 1000)
    assert abs(graph_from_series(values).adjacency - whole).max() < 1e-12
    assert len(sizes) == 100 and max(sizes) <= 1000


NO_DISTANCES = (
    3.0,
    None,
    "abc",
    {"a": 1},
    [[1], [2, 3]],
    np.zeros((3, 3, 1)),
    np.zeros((3, 3), "V4"),
    [("a", "b", "x")],
)


@pytest.mark.parametrize("made", NO_DISTANCES, ids=str)
def test_what_are_no_distances(made):
    with pytest.raises(DataError, match="distances"):
        graph_from_distances(made)


def test_pairs_keep_the_spelling_of_their_ids():
    assert graph_from_distances([(1, 2, 0.5), (2, 7, 0.25)]).vertices.tolist() == [1, 2, 7]


@pytest.mark.parametrize("made", [*NO_DISTANCES[:5], NO_DISTANCES[6], [], np.zeros((0, 4)), np.zeros((4, 0))], ids=str)
def test_what_are_no_series(made):
    with pytest.raises(DataError, match="series"):
        graph_from_series(made)


@pytest.mark.parametrize(
    "columns", [["distance", "from", "to"], ["to", "distance", "from"], ["id", "to", "from", "distance"]]
)
def test_columns_of_distances_in_another_order(tmp_path, columns):
    pairs = pandas.DataFrame({"id": [7, 8, 9], "from": [1, 2, 3], "to": [2, 3, 4], "distance": [1.0, 2.0, 3.0]})
    expected = weights(graph_from_distances(pairs[["from", "to", "distance"]]))
    assert weights(graph_from_distances(pairs[columns])) == expected
    pairs[columns].to_csv(tmp_path / "d.csv", index=False)
    assert weights(graph_from_distances(graph_builders.read_distances(tmp_path / "d.csv"))) == expected
    square = pandas.DataFrame([[0.0, 1, 3], [1, 0, 2], [3, 2, 0]], list("abc"), list("abc"))
    square[list("bca")].to_csv(tmp_path / "s.csv")
    found = graph_from_distances(graph_builders.read_distances(tmp_path / "s.csv"))
    assert weights(found) == pytest.approx(weights(graph_from_distances(square)))


def test_series_of_a_frame_are_refused():
    """Its rows may be times, and its labels would be lost."""
    with pytest.raises(DataError, match=r"frame\.T\.to_numpy\(\), and ids=frame\.columns"):
        graph_from_series(pandas.DataFrame(two_groups().T))
