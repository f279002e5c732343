"""Times in the spellings of tables, alone and as the labels of tables without a graph."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from gpukit import GraphImputer
from gpukit.errors import DataError
from gpukit.graphs import as_graph_tensor, read_graph
from gpukit.graphs.time_parsing import seconds

MONTHS = [datetime(2005 + at // 12, 1 + at % 12, 1, tzinfo=UTC) for at in range(30)]
DAYS = [datetime(1999, 12, 20, tzinfo=UTC) + timedelta(days=7 * at) for at in range(30)]
QUARTERS = [f"{1970 + at // 4}{mark}Q{at % 4 + 1}" for at, mark in zip(range(9), [" "] * 9)]
OF_MONTHS = ("%Y%m", "%Y-%m", "%Y/%m", "%m/%Y", "%b %Y", "%B %Y", "%b-%Y", "%b-%y")
OF_DAYS = ("%Y%m%d", "%Y%m%d%H%M", "%d %B %Y", "%d-%b-%y", "%b %d %Y", "%B %d, %Y", "%d %b %Y %H:%M")


def table(labels, first, lack=(3,)):
    """Return two sensors with those labels; the first has missing values."""
    lines = [f"{label},{'' if at in lack else at + 0.5},{10 - at}" for at, label in enumerate(labels)]
    return "\n".join([f"{first},a,b", *lines]) + "\n"


@pytest.mark.parametrize("form", [*OF_MONTHS, *OF_DAYS])
def test_dates_in_words_and_without_signs(form, tmp_path):
    moments = MONTHS if form in OF_MONTHS else DAYS
    labels, wanted = [one.strftime(form) for one in moments], [int(one.timestamp()) for one in moments]
    assert seconds(labels).tolist() == wanted
    if "," not in form:
        (tmp_path / "t.csv").write_text(table(labels, "month"))
        data = read_graph(tmp_path / "t.csv")
        assert data.vertices.tolist() == ["a", "b"] and data.times.tolist() == wanted


def test_days_without_signs_need_no_name(tmp_path):
    labels = [one.strftime("%Y%m%d") for one in DAYS]
    (tmp_path / "t.csv").write_text(table(labels, "obs"))
    assert read_graph(tmp_path / "t.csv").times.tolist() == [int(one.timestamp()) for one in DAYS]


def test_dates_in_a_header_are_times(tmp_path):
    labels = [one.strftime("%b-%y") for one in MONTHS]
    lines = [",".join([name, *(f"{at}.5" for at in range(30))]) for name in "abc"]
    (tmp_path / "t.csv").write_text("\n".join([",".join(["site", *labels]), *lines]) + "\n")
    data = read_graph(tmp_path / "t.csv")
    assert data.vertices.tolist() == ["a", "b", "c"] and data.times[1] - data.times[0] == 31 * 86400


def test_quarters():
    wanted = [int(datetime(1970 + at // 4, 1 + 3 * (at % 4), 1, tzinfo=UTC).timestamp()) for at in range(9)]
    for mark in (" ", "", "-"):
        assert seconds([one.replace(" ", mark) for one in QUARTERS]).tolist() == wanted


@pytest.mark.parametrize(
    "words",
    [
        ["20060230", "20060301"],  # no 30th of February
        ["773869", "767541"],  # sensors of METR-LA
        ["1500000000", "1500000300"],
        ["1950", "1951"],
        ["20060228", "2006030"],
    ],
)
def test_other_numbers_are_seconds(words):
    assert seconds(words).tolist() == list(map(int, words))


def test_numbers_of_small_steps_are_different():
    numbers = np.arange(20) ** 2 * 1e-7
    assert seconds([*map(repr, numbers.tolist())]).tolist() == numbers.tolist()


def test_one_time_of_many_lines_is_refused(tmp_path):
    """doy would be a sensor."""
    lines = [f"2024,{day},{'' if day == 5 else day}" for day in range(1, 9)]
    (tmp_path / "t.csv").write_text("\n".join(["year,doy,a", *lines]) + "\n")
    with pytest.raises(DataError, match="8 lines have 1 times. Its header is 'year,doy,a'"):
        read_graph(tmp_path / "t.csv")


def test_a_long_table_runs_by_time_though_its_first_sensor_begins_late(tmp_path):
    late = [f"G,{one:%b %d %Y},{at}" for at, one in enumerate(MONTHS) if at > 9]
    whole = [f"A,{one:%b %d %Y},{at}" for at, one in enumerate(MONTHS)]
    (tmp_path / "t.csv").write_text("\n".join(["symbol,date,price", *late, *whole]) + "\n")
    data = read_graph(tmp_path / "t.csv")
    assert (np.diff(data.times) > 0).all() and data.tensor[data.vertices.tolist().index("A")].ravel().tolist() == [
        *range(30)
    ]


def test_columns_that_are_not_numbers_are_rejected_with_advice(tmp_path):
    (tmp_path / "t.csv").write_text("t,a,b\n2010-01-01,4.5,sun\n2010-01-02,5.5,1\n")
    with pytest.raises(DataError, match=r"'sun' \(column 3\) is not a number\. Correct it"):
        read_graph(tmp_path / "t.csv")
    (tmp_path / "t.csv").write_text("t,a,b\n2010-01-01,4.5,sun\n2010-01-02,5.5,rain\n")
    with pytest.warns(UserWarning, match="t.csv: not read as sensors, and kept as they are: b"):
        assert read_graph(tmp_path / "t.csv").vertices.tolist() == ["a"]


def test_two_columns_of_one_name_are_named(tmp_path):
    (tmp_path / "t.csv").write_text(table([f"{one:%Y-%m-%d}" for one in DAYS], "date").replace("a,b", "ISE,ISE"))
    with pytest.raises(DataError, match=r"t\.csv names the column 'ISE' twice"):
        read_graph(tmp_path / "t.csv")


def test_words_beside_times_that_repeat_are_refused_with_the_columns_to_type(tmp_path):
    lines = [f"{DAYS[at // 3]:%Y-%m-%d},{('coal', 'gas', 'sun')[at % 3]},{at}.5" for at in range(9)]
    (tmp_path / "t.csv").write_text("\n".join(["year,source,generation", *lines]) + "\n")
    with pytest.raises(
        DataError, match="9 lines have 3 times. Its header is 'year,source.*--columns time,sensor,value if"
    ):
        read_graph(tmp_path / "t.csv")
    data = read_graph(tmp_path / "t.csv", columns="time,sensor,value")
    assert data.vertices.tolist() == ["coal", "gas", "sun"]
    assert data.tensor.ravel().tolist() == [0.5, 3.5, 6.5, 1.5, 4.5, 7.5, 2.5, 5.5, 8.5]


@pytest.mark.parametrize("order, days", [("dmy", 1), ("mdy", 31)])
def test_months_or_days_first_where_both_could_be(tmp_path, order, days):
    """If all readings of them have the same steps, the choice has no effect."""
    (tmp_path / "t.csv").write_text("date,a,b\n01/03/2004,1,2\n02/03/2004,,3\n")
    with pytest.raises(DataError, match="'01/03/2004' may have the month first or the day.*time:mdy or time:dmy"):
        read_graph(tmp_path / "t.csv")
    data = read_graph(tmp_path / "t.csv", columns=f"time:{order},value,...")
    assert np.diff(data.times).tolist() == [days * 86400] and data.vertices.tolist() == ["a", "b"]
    (tmp_path / "t.csv").write_text("x,a,b\n01/03/2004,1,2\n02/03/2004,,3\n")
    assert np.diff(read_graph(tmp_path / "t.csv", columns=f"time:{order},value,...").times).tolist() == [days * 86400]
    assert np.diff(seconds(["03/04/2004 10:00", "03/04/2004 11:30"])).tolist() == [5400]
    assert seconds(["03/04/2004", "13/04/2004"])[0] == seconds(["2004-04-03"])[0]


@pytest.mark.parametrize("words", [["now"], ["a"], ["May"], ["sensor 1"], ["s2006Q5"], ["24:00"]])
def test_words_that_are_no_times(words):
    assert seconds(words) is None


CLOCKS_OF = {
    "2003-01-01 13:00:00 UTC": "2003-01-01T13:00",
    "2003-01-01T13:00 GMT": "2003-01-01T13:00",
    "13-Feb-2003 10:00 UTC": "2003-02-13T10:00",
    "2003-01-01 1:00 PM": "2003-01-01T13:00",
    "2003-01-01 12:05:30 am": "2003-01-01T00:05:30",
    "2003-01-01 6 PM": "2003-01-01T18:00",
    "2003-01-01  10:00": "2003-01-01T10:00",
    "2003-1-2 3:04": "2003-01-02T03:04",
    "1.2.2003 13.30": "2003-02-01T13:30",  # ISO 8601 in Python: 13:00:00.30
    "2003-02-01T13.30": "2003-02-01T13:30",
    "13-02-2003 24:00": "2003-02-14T00:00",
}


@pytest.mark.parametrize("word", CLOCKS_OF)
def test_clocks_of_other_programs(word):
    assert seconds([word]).tolist() == [int(datetime.fromisoformat(CLOCKS_OF[word] + "+00:00").timestamp())]


@pytest.mark.parametrize("word", ["2003-02-01 10:30.5", "2003-02-01 10:30,50", "2003-01-01 10:00 CET"])
def test_a_clock_that_may_mean_two_times_is_none(word):
    assert seconds([word]) is None


@pytest.mark.parametrize(
    "words, line",
    [
        (["2003-01-01 10:00+01:00", "2003-01-01 10:00", "2003-01-01 11:00"], 3),
        (["2003-01-01 10:00", "2003-01-01 11:00 UTC", "2003-01-01 12:00"], 3),
        (["2003-01-01", "2003-01-02", "37624"], 4),  # a day as a spreadsheet counts it
    ],
)
def test_times_of_two_kinds_are_refused(words, line, tmp_path):
    assert seconds(words) is None
    (tmp_path / "t.csv").write_text(table(words, "time", lack=(1,)))
    with pytest.raises(DataError, match=f"t.csv, line {line}: '.*' is no time like the others"):
        read_graph(tmp_path / "t.csv")


@pytest.mark.parametrize("odd", ["20030132", "2003013", "200302"])
def test_a_number_among_dates_without_signs_is_refused(odd, tmp_path):
    days = ["20030129", "20030130", odd, "20030201"]
    (tmp_path / "t.csv").write_text(table(days, "date", lack=(1,)))
    with pytest.raises(DataError, match=f"'{odd}' is no date like '20030129'. Correct or remove it"):
        read_graph(tmp_path / "t.csv")


@pytest.mark.parametrize("name", ["2003-01-01T01:00", "2003-01-01 02:00+01:00"])
def test_a_time_in_two_spellings_is_one_time(name, tmp_path):
    other = name[:-5] + "04:00" if name.count(":") == 1 else "2003-01-01 05:00+01:00"
    zone = "" if name.count(":") == 1 else "+00:00"
    lines = [f"2003-01-01 0{hour}:00{zone},a,{hour}.5" for hour in (1, 2, 3)]
    (tmp_path / "t.csv").write_text("\n".join(["time,sensor,value", *lines, f"{name},b,7", f"{other},b,8"]) + "\n")
    data = read_graph(tmp_path / "t.csv")
    assert np.diff(data.times).tolist() == [3600.0] * 3
    assert data.tensor[:, 0].tolist() == [[1.5, 2.5, 3.5, 0.0], [7.0, 0.0, 0.0, 8.0]]


def test_times_that_float64_cannot_tell_apart_stay_two(tmp_path):
    lines = [f"1700000000000000{digits},a,{digits}" for digits in ("001", "002", "900")]
    (tmp_path / "t.csv").write_text("\n".join(["time,sensor,value", *lines]) + "\n")
    assert read_graph(tmp_path / "t.csv").tensor.ravel().tolist() == [1.0, 2.0, 900.0]


def test_texts_of_times_of_arrays_are_those_of_tables(tmp_path):
    clocks = [f"2003-01-01 {hour}.30" for hour in (10, 11, 14)]
    graph, values = np.ones((2, 2)), np.array([[1.0, np.nan, 3.0], [4.0, 5.0, 6.0]])
    np.savez(tmp_path / "t.npz", tensor=values, adjacency=graph, times=clocks)
    wanted = [0, 3600, 4 * 3600]
    model = GraphImputer(method="interpolation", device="cpu").fit(graph, values, times=clocks)
    for times in (
        as_graph_tensor(graph, values, times=clocks).times,
        read_graph(tmp_path / "t.npz").times,
        model._held.at,
    ):
        assert (times - times[0]).tolist() == wanted
    assert model.completed_[0, 1] == pytest.approx(1.5)
    with pytest.raises(DataError, match="times: row 2 has 'noon', which is no time"):
        GraphImputer().fit(graph, values, times=["2003-01-01 10:00 AM", "noon", "x"])


@pytest.mark.parametrize("form", ["%b %d", "%b-%d", "%y.%m.%d", "%y-%b-%d"])
def test_days_at_the_end_are_not_years(form, tmp_path):
    """January 29 to February 2 were the years 2029 to 2031, then 2001."""
    days = [f"{datetime(2003, 1, 29, tzinfo=UTC) + timedelta(days=day):{form}}" for day in range(6)]
    (tmp_path / "t.csv").write_text(table(days, "date"))
    for words in (days, days[::-1]):
        with pytest.raises(DataError, match="may end in a year of two digits or in a day: write dates as 2005-09-06"):
            seconds(words)
    with pytest.raises(DataError, match="may end in a year"):
        read_graph(tmp_path / "t.csv")


@pytest.mark.parametrize("form", ["%b-%y", "%d.%m.%y", "%d-%b-%y"])
def test_years_of_two_digits_in_any_order(form):
    moments = [datetime(2003 + at // 12, 1 + at % 12, 5 + at, tzinfo=UTC) for at in (5, 1, 20, 13, 2)]
    starts = [one.replace(day=1) if "%d" not in form else one for one in moments]
    assert seconds([f"{one:{form}}" for one in moments]).tolist() == [int(one.timestamp()) for one in starts]
