"""Long tables, a line per reading: columns, imputed values, added lines and their order."""

import io

import numpy as np
import pandas
import pytest

from gpukit.errors import DataError, ParameterError
from gpukit.graphs import read_graph
from gpukit.graphs.completed import write_completed

TIMES = ["2014-03-01 00:00", "2014-03-01 01:00", "2014-03-01 02:00", "2014-03-01 03:00"]
IDS = ["s02", "s00", "s01"]  # in the order in which they appear
EDGES = "s00 s01\ns01 s02\ns02 s03\n"  # s03 has no reading


def readings(sep=",", header="time,station,temp"):
    """12 readings by time, one without a value; s00 has none at 01:00."""
    lines = [[t, s, f"{10 * j + i}.50"] for i, t in enumerate(TIMES) for j, s in enumerate(IDS)]
    lines[8][2] = "NA"
    del lines[4]
    text = [sep.join(line) for line in lines]
    return "\n".join(([sep.join(header.split(","))] if header else []) + text) + "\n"


WANTED = {("s01", 2): np.nan, ("s00", 1): np.nan} | {
    (s, i): 10 * j + i + 0.5 for i in range(4) for j, s in enumerate(IDS) if (s, i) not in {("s01", 2), ("s00", 1)}
}


def check(data):
    """Check that values are at the places of their labels and times."""
    ids = data.vertices.tolist()
    for (sensor, time), value in WANTED.items():
        row = ids.index(sensor)
        seen = data.mask[row, 0, time] if data.mask.ndim == 3 else data.mask[row]
        assert seen == (not np.isnan(value)), (sensor, time)
        assert np.isnan(value) or data.tensor[row, 0, time] == value
    assert np.diff(data.times).tolist() == [3600] * 3


@pytest.mark.parametrize("sep", [",", ";", "\t"])
@pytest.mark.parametrize("header", ["time,station,temp", "Timestamp,sensor_id,value", ""])
@pytest.mark.parametrize("order", ["time", "sensor", "none"])
def test_long_tables_are_found_out(tmp_path, sep, header, order):
    lines = readings(sep, header).splitlines(keepends=True)
    head, body = (lines[:1], lines[1:]) if header else ([], lines)
    if order == "sensor":
        body.sort(key=lambda line: line.split(sep)[1])
    if order == "none":
        body = body[::-3] + body[-2::-3] + body[-3::-3]
    (tmp_path / "l.csv").write_text("".join([*head, *body]))
    (tmp_path / "e.txt").write_text(EDGES)
    how = {} if header else {"columns": "time,sensor,value"}
    for graph in (
        () if header else ({"path": tmp_path / "l.csv"}, {"edges": tmp_path / "e.txt", "tensor": tmp_path / "l.csv"})
    ):
        with pytest.raises(DataError, match="--columns time,sensor,value if a line is a reading"):
            read_graph(**graph)
    check(read_graph(tmp_path / "l.csv", **how))
    data = read_graph(edges=tmp_path / "e.txt", tensor=tmp_path / "l.csv", **how)
    check(data)
    assert data.vertices.tolist() == ["s00", "s01", "s02", "s03"] and not data.mask[3].any()


def test_ids_that_are_numbers_need_a_name_or_a_graph(tmp_path):
    text = readings(header="").replace("s0", "77")
    (tmp_path / "l.csv").write_text(text)
    (tmp_path / "e.txt").write_text("770 771\n771 772\n")
    how = {"columns": "time,sensor,value"}
    data = read_graph(edges=tmp_path / "e.txt", tensor=tmp_path / "l.csv", **how)
    assert data.vertices.tolist() == [770, 771, 772] and data.tensor[2, 0].tolist() == [0.5, 1.5, 2.5, 3.5]
    (tmp_path / "h.csv").write_text("time,sensor,value\n" + text)
    assert read_graph(tmp_path / "h.csv").vertices.tolist() == [772, 770, 771]
    with pytest.raises(DataError, match="11 lines have 4 times.*--columns time,sensor,value if"):
        read_graph(tmp_path / "l.csv")
    assert read_graph(tmp_path / "l.csv", **how).vertices.tolist() == [772, 770, 771]
    assert read_graph(tmp_path / "l.csv", layout="columns").vertices is None  # a wide table of two sensors


def test_vertices_without_labels_are_numbers(tmp_path):
    np.save(tmp_path / "e.npy", np.array([[0, 1], [1, 2], [2, 3]]))
    (tmp_path / "l.csv").write_text(readings().replace("s0", ""))
    data = read_graph(edges=tmp_path / "e.npy", tensor=tmp_path / "l.csv")
    assert data.tensor[2, 0, 3] == 3.5 and not data.mask[3].any()
    (tmp_path / "l.csv").write_text(readings())
    with pytest.raises(DataError, match="names sensor 's02', and the graph's vertices have no labels"):
        read_graph(edges=tmp_path / "e.npy", tensor=tmp_path / "l.csv")


def filled(tmp_path, text, out="out.csv", edges=None, **how):
    """Return the lines of the written table; missing values become 7.25."""
    source = tmp_path / "l.csv"
    source.write_text(text)
    if edges:
        (tmp_path / "e.txt").write_text(edges)
        data = read_graph(edges=tmp_path / "e.txt", tensor=source, **how)
    else:
        data = read_graph(source, **how)
    N, T = len(data.tensor), data.tensor.shape[2]
    seen = np.broadcast_to(data.mask if data.mask.ndim == 3 else data.mask[:, None, None], (N, 1, T)).reshape(N, T)
    values = np.where(seen, data.tensor.reshape(N, T), 7.25).astype(np.float32)
    options = {"columns": how.get("columns"), "alone": not edges}
    write_completed(tmp_path / out, source, values, seen, data.vertices, how.get("layout"), **options)
    return tmp_path / out


def test_lines_are_added_at_their_time(tmp_path):
    got = filled(tmp_path, readings()).read_text().splitlines()
    wanted = readings().replace("s01,NA", "s01,7.25").splitlines()
    wanted.insert(5, "2014-03-01 01:00,s00,7.25")  # the order of sensors at other times
    assert got == wanted
    lines = readings().splitlines()
    lines[2:4] = lines[3:1:-1]  # another order at one time
    got = filled(tmp_path, "\n".join(lines) + "\n").read_text().splitlines()
    wanted = [line.replace("NA", "7.25") for line in lines]
    wanted.insert(6, "2014-03-01 01:00,s00,7.25")  # after the other lines of 01:00
    assert got == wanted


def test_lines_are_added_at_their_time_among_the_sensors(tmp_path):
    head, *lines = readings().splitlines()
    lines.sort(key=lambda line: (IDS.index(line.split(",")[1]), line))
    got = filled(tmp_path, "\n".join([head, *lines]) + "\n", edges=EDGES).read_text().splitlines()
    wanted = [head, *[line.replace("NA", "7.25") for line in lines]]
    wanted.insert(6, "2014-03-01 01:00,s00,7.25")
    assert got == wanted + [f"{time},s03,7.25" for time in TIMES]  # the graph alone has it


def test_lines_in_no_order_stay_and_others_come_last(tmp_path):
    head, *lines = readings().splitlines()
    lines = lines[::-1]
    got = filled(tmp_path, "\n".join([head, *lines]) + "\n").read_text().splitlines()
    assert got == [head, *[line.replace("NA", "7.25") for line in lines], "2014-03-01 01:00,s00,7.25"]


def test_other_columns_are_kept_and_said_again_where_they_say_one_thing(tmp_path):
    head, *lines = readings().splitlines()
    hours = [f"{line},x{line.split(',')[1]},day {line[9:16]},{n}" for n, line in enumerate(lines)]
    text = "\n".join([head + ",name,hour,count", *hours]) + "\n"
    got = filled(tmp_path, text, columns="time,sensor,value,-,-,-").read_text().splitlines()
    assert got[5] == "2014-03-01 01:00,s00,7.25,xs00,day 1 01:00,"
    assert [line for at, line in enumerate(got) if at not in (5, 9)] == [
        line for at, line in enumerate(text.splitlines()) if at != 8
    ]


@pytest.mark.parametrize("of_text", [True, False])
def test_parquet(tmp_path, of_text):
    frame = pandas.read_csv(io.StringIO(readings()), parse_dates=["time"])
    frame["count"] = np.arange(len(frame))
    if of_text:
        frame.to_csv(tmp_path / "l.csv", index=False)
    else:
        frame.to_parquet(tmp_path / "l.csv", index=False)
    data = read_graph(tmp_path / "l.csv", columns="time,sensor,value,-")
    check(data)
    seen = np.broadcast_to(data.mask, data.tensor.shape)[:, 0]
    options = {"ids": data.vertices, "columns": "time,sensor,value,-", "alone": True}
    write_completed(
        tmp_path / "o.parquet", tmp_path / "l.csv", np.where(seen, data.tensor[:, 0], 7.25), seen, **options
    )
    got = pandas.read_parquet(tmp_path / "o.parquet")
    assert got.columns.tolist() == ["time", "station", "temp", "count"] and len(got) == 12
    assert got["temp"].dtype == np.float64 and got["temp"][[4, 8]].tolist() == [7.25, 7.25]
    if not of_text:
        assert got["time"].dtype.kind == "M" and got["time"][4] == pandas.Timestamp(TIMES[1])
    kept = got.drop(index=4).reset_index(drop=True)
    assert kept["station"].tolist() == frame["station"].tolist()


def test_the_same_reading_twice_counts_once(tmp_path):
    line = f"{TIMES[0]},s02,0.5\n"
    (tmp_path / "l.csv").write_text(readings() + line)
    check(read_graph(tmp_path / "l.csv"))
    (tmp_path / "l.csv").write_text(readings() + f"{TIMES[2]},s01,\n")  # repeated without a value
    check(read_graph(tmp_path / "l.csv"))


@pytest.mark.parametrize(
    "line, error",
    [
        (
            f"{TIMES[0]},s02,0.75",
            "line 13: sensor 's02' at 2014-03-01 00:00 is 0.75, and 0.5 in line 2. Give each",
        ),
        (f",s02,{1}", "line 13: this reading has no time"),
        (f"{TIMES[0]},,1", "line 13: this reading has no sensor"),
        (f"{TIMES[0]},s07,warm", "line 13: 'warm' .column 3. is not a number"),
    ],
)
def test_bad_lines(tmp_path, line, error):
    (tmp_path / "l.csv").write_text(readings() + line + "\n")
    with pytest.raises(DataError, match=error):
        read_graph(tmp_path / "l.csv")


def test_several_columns_could_be_the_values(tmp_path):
    lines = [line + ",1" for line in readings().splitlines()]
    lines[0] = "time,station,temp,wind"
    (tmp_path / "l.csv").write_text("\n".join(lines))
    with pytest.raises(DataError, match=r"temp, wind could be the values.*--columns time,sensor,value,- if a line"):
        read_graph(tmp_path / "l.csv")
    check(read_graph(tmp_path / "l.csv", columns="time,sensor,value,-"))
    for wrong in ("time,sensor,-", "time,sensors,value", "time:ymd,value", "...", ""):
        with pytest.raises(ParameterError, match="columns are time .*got"):
            read_graph(tmp_path / "l.csv", columns=wrong)
    with pytest.raises(ParameterError, match="with time and sensor one value"):
        read_graph(tmp_path / "l.csv", columns="time,sensor,value,value")
    with pytest.raises(ParameterError, match="names 6 columns, and .* has 4"):
        read_graph(tmp_path / "l.csv", columns="time,sensor,-,-,-,value")
    (tmp_path / "w.csv").write_text("a,b,c\n1,2,3\n")
    with pytest.raises(DataError, match="does not say which of its columns are time"):
        read_graph(tmp_path / "w.csv", layout="long")


def test_times_of_other_spellings(tmp_path):
    text = readings()
    for time in TIMES:
        text = text.replace(time, pandas.Timestamp(time).strftime("%m/%d/%Y %H:%M"))
    (tmp_path / "l.csv").write_text(text)
    check(read_graph(tmp_path / "l.csv"))


@pytest.mark.parametrize("header", ["country,year,value", "State,Year,rate", "firm_id,year,capital"])
def test_a_line_a_unit_and_a_year(tmp_path, header):
    lines = [(unit, year, year - 1990) for unit in "abc" for year in range(1990, 1995)]
    rows = "".join(f"{unit},{year},{value}\n" for unit, year, value in lines).replace("b,1991,1", "b,1991,")
    (tmp_path / "panel.csv").write_text(f"{header}\n{rows}")
    data = read_graph(tmp_path / "panel.csv")
    assert data.vertices.tolist() == ["a", "b", "c"] and data.times.tolist() == list(range(1990, 1995))
    assert data.tensor[2, 0].tolist() == [0, 1, 2, 3, 4] and (~data.mask).sum() == 1 and not data.mask[1].all()


@pytest.mark.parametrize("missing", ["", "NA", "n/a"])
@pytest.mark.parametrize("values, dtype", [("true False TRUE", bool), ("1 2 3", np.float64), ("1 2.0 3", None)])
def test_types_of_values_next_to_missing_ones(tmp_path, values, dtype, missing):
    first, second, third = values.replace("False", "false").replace("TRUE", "true").split()
    lines = [f"1,a,{first}", f"1,b,{second}", f"2,a,{third}", f"2,b,{missing}"]
    (tmp_path / "t.csv").write_text("\n".join(["time,sensor,value", *lines]) + "\n")
    types = read_graph(tensor=tmp_path / "t.csv").types
    assert types is None if dtype is None else types.types[0].dtype == dtype and types.types[0].is_whole


@pytest.mark.parametrize("order", ["station,time,temp", "time,station,temp", "temp,station,time"])
def test_times_with_a_blank_in_any_column(order, tmp_path):
    """In `s0,2014-03-01 00:00,1.50` all commas are between digits, as in decimal numbers separated by a blank."""
    names = order.split(",")
    rows = [(t, s, f"{10 * j + i}.50") for i, t in enumerate(TIMES) for j, s in enumerate(IDS)]
    text = [order, *(",".join(dict(zip(("time", "station", "temp"), row))[name] for name in names) for row in rows)]
    (tmp_path / "t.csv").write_text("\n".join(text))
    data = read_graph(tmp_path / "t.csv")
    assert data.vertices.tolist() == IDS
    np.testing.assert_array_equal(data.tensor[:, 0], [[10 * j + i + 0.5 for i in range(4)] for j in range(3)])


@pytest.mark.parametrize("name", ["time", ""])
def test_a_line_below_the_times_is_named(name, tmp_path):
    (tmp_path / "t.csv").write_text(f"{name},a,b\n2014-03-01,1.5,2\n2014-03-02,,3\n2014-03-03,2,3\nMean,1.75,2.7\n")
    with pytest.raises(DataError, match="t.csv, line 5: 'Mean' is no time like the others. Correct or remove the line"):
        read_graph(tmp_path / "t.csv")
