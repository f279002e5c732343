"""Times of columns, in an archive or in a separate file."""

import numpy as np
import pytest

from gpukit.errors import DataError, ParameterError
from gpukit.graphs import read_graph, write_graph
from gpukit.graphs.time_parsing import read_times

VALUES = np.arange(12.0).reshape(3, 4)
RING = np.ones((3, 3)) - np.eye(3)
DAYS = ["2020-03-01", "2020-03-02", "2020-03-03", "2020-03-05"]
SECONDS = [1583020800, 1583107200, 1583193600, 1583366400]


@pytest.fixture
def save(tmp_path):
    """Save an archive with the given arrays, and return its path."""

    def to_file(**arrays):
        np.savez(tmp_path / "g.npz", tensor=VALUES, adjacency=RING, **arrays)
        return tmp_path / "g.npz"

    return to_file


@pytest.mark.parametrize("times", [SECONDS, DAYS, np.array(DAYS, "datetime64[D]"), np.array(SECONDS, float)], ids=repr)
def test_an_archive_carries_times(save, tmp_path, times):
    found = read_graph(save(times=times))
    assert found.times.tolist() == SECONDS
    write_graph(tmp_path / "again.npz", found)
    assert read_graph(tmp_path / "again.npz").times.tolist() == SECONDS


@pytest.mark.parametrize(
    "times, words",
    [
        ([1, 2, 3], "shape .3,.*needs one for each place"),
        ([1, 2, 3, 2], "g.npz: times: entries 2 and 4 are the same time, '2' and '2'"),
        ([0.1, 0.2, 1, 0.1], "g.npz: times: entries 1 and 4 are the same time, '0.1' and '0.1'"),
        ([1, 2, np.nan, 4], "row 3 has 'nan', which is no time"),
        ([1, 2, np.inf, 4], "row 3 has 'inf', which is no time"),
        (np.array([*DAYS[:3], "NaT"], "datetime64[D]"), "row 4 has 'NaT', which is no time"),
        (["a", "b", "c", "d"], "row 1 has 'a', which is no time"),
    ],
)
def test_times_that_are_none(save, times, words):
    with pytest.raises(DataError, match=words) as caught:
        read_graph(save(times=times))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("header", ["", "time\n"])
@pytest.mark.parametrize("lines", [DAYS, SECONDS, ["1.3.2020", "2.3.2020", "3.3.2020", "5.3.2020"]], ids=str)
def test_times_in_a_text(save, tmp_path, header, lines):
    (tmp_path / "times.txt").write_text(header + "\n".join(map(str, lines)) + "\n")
    assert read_graph(save(), times=tmp_path / "times.txt").times.tolist() == SECONDS


def test_times_in_an_array_for_a_table(tmp_path):
    np.save(tmp_path / "times.npy", np.array(DAYS, "datetime64[D]"))
    np.savetxt(tmp_path / "v.csv", VALUES.T, delimiter=",")
    found = read_graph(tensor=tmp_path / "v.csv", times=tmp_path / "times.npy", layout="columns")
    assert found.times.tolist() == SECONDS


@pytest.mark.parametrize(
    "text, words",
    [("", "empty"), ("2020-03-01\nnoon\n", "line 2 is 'noon'"), ("5\n5\n", "entries 1 and 2 are the same time")],
)
def test_a_file_without_times(tmp_path, text, words):
    (tmp_path / "times.txt").write_text(text)
    with pytest.raises(DataError, match=words):
        read_times(tmp_path / "times.txt")


def test_times_are_not_given_twice(save, tmp_path):
    (tmp_path / "times.txt").write_text("1\n2\n3\n4\n")
    with pytest.raises(ParameterError, match="g.npz has times of its own: leave times .--times. out"):
        read_graph(save(times=SECONDS), times=tmp_path / "times.txt")
    (tmp_path / "long.csv").write_text("time,sensor,value\n1,a,3\n1,b,4\n2,a,5\n2,b,6\n")
    with pytest.raises(ParameterError, match="long.csv has times of its own"):
        read_graph(tensor=tmp_path / "long.csv", layout="long", times=tmp_path / "times.txt")


def test_fractions_of_a_second_in_an_archive(save, tmp_path):
    found = read_graph(save(times=[0.25, 0.5, 7, 8.125]))
    assert found.times.tolist() == [0.25, 0.5, 7, 8.125]
    write_graph(tmp_path / "again.npz", found)
    assert read_graph(tmp_path / "again.npz").times.tolist() == [0.25, 0.5, 7, 8.125]


@pytest.mark.parametrize("name", ["seconds", "Time (s)", "time_s", "unix_time", "epoch", "elapsed", "timestamp_ms"])
def test_a_column_of_seconds_is_no_sensor(tmp_path, name):
    """Numbers under such a name became a sensor, in other units than the others."""
    (tmp_path / "t.csv").write_text(f"{name},a,b\n0,1,2\n3600,,3\n7200,3,\n10800,4,5\n")
    found = read_graph(tmp_path / "t.csv")
    assert found.vertices.tolist() == ["a", "b"] and found.times.tolist() == [0, 3600, 7200, 10800]
