"""Names of sensors in output and input: tables in every layout, lists of edges, coordinates, distances."""

import numpy as np
import pandas
import pytest
from odd_words import LOST, WORDS, drawn_words
from support import thinned

from gpukit.errors import DataError
from gpukit.graphs import read_graph
from gpukit.graphs.completed import write_completed
from gpukit.graphs.graph_builders import read_coordinates, read_distances, select
from gpukit.graphs.table import read_graph_text
from gpukit.io.records import csv_line

TIMES = [f"2020-01-01T{hour:02}:00:00" for hour in range(12)]
NAMES = list(dict.fromkeys([*WORDS, *drawn_words(0, 40)]))


def table(names, layout):
    """Return lines of readings with some missing ones."""
    cells = [[f"{20 + at + hour / 4}" if (at + hour) % 5 else "" for at in range(len(names))] for hour in range(12)]
    if layout == "columns":
        return [["time", *names], *([time, *row] for time, row in zip(TIMES, cells))]
    if layout == "rows":
        return [["sensor", *TIMES], *([name, *row] for name, row in zip(names, zip(*cells)))]
    lines = ([time, name, row[at]] for time, row in zip(TIMES, cells) for at, name in enumerate(names))
    return [["time", "sensor", "value"], *lines]


def write(path, lines, separator=","):
    path.write_text("".join(csv_line(line, separator) for line in lines), encoding="utf-8", newline="")
    return path


def fill_in(source, out, value=5.25):
    """write_completed of a file; return the names that it was read with."""
    data = read_graph(source)
    values = data.tensor.reshape(len(data.tensor), -1)
    mask = data.mask if data.mask.ndim == 3 else data.mask[:, None, None]
    seen = np.broadcast_to(mask, data.tensor.shape).reshape(values.shape)
    write_completed(out, source, np.where(seen, values, value), seen, data.vertices, alone=True)
    return list(map(str, data.vertices))


@pytest.mark.parametrize("layout, separator", thinned(["columns", "rows", "long"], [",", ";", "\t", " "]))
def test_names_in_texts(tmp_path, layout, separator):
    source = write(tmp_path / "in.csv", table(NAMES, layout), separator)
    assert fill_in(source, tmp_path / "out.csv") == NAMES
    again = read_graph(tmp_path / "out.csv")
    assert list(map(str, again.vertices)) == NAMES and again.mask.all()


@pytest.mark.parametrize("layout, name", thinned(["columns", "rows", "long"], WORDS, share=12))
def test_a_name_beside_a_plain_one(tmp_path, layout, name):
    source = write(tmp_path / "in.csv", table([name, "other"], layout))
    assert fill_in(source, tmp_path / "out.csv") == [name, "other"]
    assert list(map(str, read_graph(tmp_path / "out.csv").vertices)) == [name, "other"]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("layout", ["columns", "long"])
def test_names_in_parquet(tmp_path, layout, suffix):
    head, *lines = table(NAMES, layout)
    frame = pandas.DataFrame(lines, columns=head)
    for name in head[1:] if layout == "columns" else ["value"]:
        frame[name] = pandas.to_numeric(frame[name])
    frame.to_parquet(tmp_path / "in.parquet")
    assert fill_in(tmp_path / "in.parquet", tmp_path / f"out{suffix}") == NAMES
    assert list(map(str, read_graph(tmp_path / f"out{suffix}").vertices)) == NAMES


@pytest.mark.parametrize("names", [["1e5", "2.5"], ["1", "2"], ["-5", "+1"], ["007", "7"], ["nan", "-"]])
def test_names_that_are_numbers_below_a_header_of_times(tmp_path, names):
    for cells in (
        table(names, "columns"),
        [[word.partition(".")[0] for word in line] for line in table(names, "columns")],
    ):
        cells[0] = ["time", *names]
        source = write(tmp_path / "in.csv", cells)
        assert fill_in(source, tmp_path / "out.csv") == names
        assert list(map(str, read_graph(tmp_path / "out.csv").vertices)) == names


def test_one_column_below_a_name(tmp_path):
    source = write(tmp_path / "in.csv", [["a"], ["1"], ["NA"], ["3"]])
    assert fill_in(source, tmp_path / "out.csv", 2.0) == ["a"]
    assert (tmp_path / "out.csv").read_text() == "a\n1\n2\n3\n"


def test_what_texts_do_not_hold(tmp_path):
    frame = pandas.DataFrame([line[:3] for line in table(["3,5", "b"], "columns")[1:]], columns=["time", "3,5", "b"])
    frame = frame.assign(**{name: pandas.to_numeric(frame[name]).round().astype("Int64") for name in ("3,5", "b")})
    frame.to_parquet(tmp_path / "in.parquet")
    with pytest.raises(DataError, match="'3,5' would be read as a number with a decimal comma"):
        fill_in(tmp_path / "in.parquet", tmp_path / "out.csv", 5)
    for lost in LOST[1:3]:
        frame.rename(columns={"b": lost}).to_parquet(tmp_path / "in.parquet")
        with pytest.raises(DataError, match="has a byte of 0"):
            fill_in(tmp_path / "in.parquet", tmp_path / "out.csv")
    assert [one.name for one in tmp_path.iterdir()] == ["in.parquet"]


def test_a_sensor_called_as_the_index_is(tmp_path):
    times = pandas.Index(TIMES, name="time")
    pandas.DataFrame({"time": np.arange(12.0) ** 2, "b": np.arange(12) % 5 * 1.5}, times).to_parquet(
        tmp_path / "in.parquet"
    )
    assert fill_in(tmp_path / "in.parquet", tmp_path / "out.csv") == ["time", "b"]


@pytest.mark.parametrize("separator", [",", ";", "\t", " "])
@pytest.mark.parametrize("weighted", [False, True])
def test_names_in_lists_of_edges(tmp_path, weighted, separator):
    pairs = [[one, other, *(["0.5"] * weighted)] for one, other in zip(NAMES, NAMES[1:])]
    head = ["source", "target", *(["weight"] * weighted)]
    adjacency, ids = read_graph_text(write(tmp_path / "edges.csv", [head, *pairs], separator))
    assert ids.tolist() == NAMES and adjacency.nnz == 2 * len(pairs)


def test_names_of_places(tmp_path):
    lines = [[name, str(at / 10), str(-at / 10)] for at, name in enumerate(NAMES)]
    found = select(
        read_coordinates(write(tmp_path / "places.csv", [["sensor", "latitude", "longitude"], *lines])), NAMES
    )
    np.testing.assert_allclose(found.places[:, 0], np.arange(len(NAMES)) / 10)
    pairs = [[one, other, "1.5"] for one, other in zip(NAMES, NAMES[1:])]
    found = read_distances(write(tmp_path / "distances.csv", [["from", "to", "distance"], *pairs]))
    assert found.iloc[:, 0].tolist() == NAMES[:-1] and found.iloc[:, 1].tolist() == NAMES[1:]
