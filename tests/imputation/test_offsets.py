"""Times with and without an offset from UTC: a fitted imputer takes those of its fit only."""

import numpy as np
import pandas
import pytest

from gpukit import GraphImputer, load_model, read_graph
from gpukit.errors import DataError, ModelError
from gpukit.imputation import saving
from gpukit.imputation.forms import have_offset

HOURS = pandas.date_range("2026-01-25", periods=60, freq="h")
WAYS = {
    "none": HOURS,
    "zone": HOURS.tz_localize("Europe/Berlin"),
    "texts": [f"{hour}" for hour in HOURS],
    "texts with offset": [f"{hour}+01:00" for hour in HOURS],
    "UTC": [f"{hour} UTC" for hour in HOURS],
    "objects with zone": pandas.Index([*HOURS.tz_localize("Europe/Berlin")], dtype=object),
}
WITH = {"zone", "texts with offset", "UTC", "objects with zone"}


def table(way):
    wave = np.sin(np.arange(60) / 4)
    values = np.column_stack([wave, 2 * wave + 1, wave - 3])
    values[20:23, 1] = np.nan
    return pandas.DataFrame(values, index=WAYS[way], columns=["a", "b", "c"])


def fitted(way):
    return GraphImputer(method="interpolation").fit(None, table(way))


def from_file(way, folder, layout):
    """Return the GraphTensor of a table written as text or Parquet, or as text with times in a file of their own."""
    frame = table(way).rename_axis("time")
    if layout == "times":
        frame.to_csv(folder / "table.csv", index=False)
        (folder / "times.txt").write_text("".join(f"{time}\n" for time in frame.index))
        return read_graph(tensor=folder / "table.csv", layout="columns", times=folder / "times.txt")
    path = folder / ("table.parquet" if layout == "parquet" else "table.csv")
    if layout == "long":
        frame.reset_index().melt("time", var_name="sensor", value_name="speed").to_csv(path, index=False)
    elif layout == "rows":
        frame.T.rename_axis("sensor").to_csv(path)
    elif layout == "parquet":
        frame.reset_index().to_parquet(path, index=False)
    else:
        frame.to_csv(path)
    return read_graph(tensor=path)


@pytest.mark.parametrize("given", WAYS)
@pytest.mark.parametrize("fit", ["none", "zone", "texts with offset"])
def test_only_times_like_those_of_the_fit_are_taken(fit, given):
    model = fitted(fit)
    if (fit in WITH) == (given in WITH):
        assert not np.isnan(model.transform(table(given)).to_numpy()).any()
        return
    for call in (model.transform, model.extend):
        with pytest.raises(DataError, match="offset from UTC.*hours apart") as error:
            call(table(given))
        assert "\n" not in str(error.value)
        assert ("leave it out" if given in WITH else "write it") in str(error.value)


@pytest.mark.parametrize("layout", ["columns", "long", "rows", "parquet", "times"])
@pytest.mark.parametrize("way", ["none", "zone"])
def test_tables_in_files_keep_whether_they_have_an_offset(tmp_path, way, layout):
    data = from_file(way, tmp_path, layout)
    assert data.has_offset is (way in WITH)
    model = GraphImputer(method="interpolation").fit(data)
    model.save(tmp_path / "model.gpukit")
    again = load_model(tmp_path / "model.gpukit")
    assert np.array_equal(again.transform(table(way)), model.transform(table(way)))
    with pytest.raises(DataError, match="offset from UTC"):
        again.transform(table("zone" if way == "none" else "none"))
    other = from_file("zone" if way == "none" else "none", tmp_path, layout)
    with pytest.raises(DataError, match="offset from UTC"):
        again.extend(other)


def test_a_model_of_an_earlier_version_takes_both(tmp_path, monkeypatch):
    pack = saving.pack_held

    def without_offset(model):
        facts, arrays = pack(model)
        return {name: value for name, value in facts.items() if name != "offset"}, arrays

    monkeypatch.setattr(saving, "pack_held", without_offset)
    fitted("none").save(tmp_path / "model.gpukit")
    model = load_model(tmp_path / "model.gpukit")
    for way in ("none", "zone"):
        assert model.transform(table(way)).shape == (60, 3)
    model.extend(table("zone").shift(freq="60h"))
    with pytest.raises(DataError, match="offset from UTC"):
        model.transform(table("none"))


@pytest.mark.parametrize("value", [1, "yes", [True]])
def test_a_file_with_another_offset_is_refused(tmp_path, monkeypatch, value):
    pack = saving.pack_held
    monkeypatch.setattr(saving, "pack_held", lambda model: (pack(model)[0] | {"offset": value}, pack(model)[1]))
    fitted("none").save(tmp_path / "model.gpukit")
    with pytest.raises(ModelError, match="'offset' in its header"):
        load_model(tmp_path / "model.gpukit")


def test_numbers_and_durations_tell_nothing():
    """They are accepted by any imputer, as are numpy's dates, which have no zones."""
    numbers = HOURS.astype("datetime64[s]").astype(np.int64)
    for times in (numbers, [*numbers], HOURS - HOURS[0], HOURS.to_numpy(), [*map(str, numbers)], []):
        assert have_offset(times) is None
    model, values = fitted("zone"), table("none").to_numpy().T
    assert model.transform(values, times=HOURS.to_numpy()).shape == values.shape
    with pytest.raises(DataError, match="offset from UTC"):
        model.transform(values, times=HOURS)
    with pytest.raises(DataError, match="offset from UTC"):
        model.transform(values, times=WAYS["texts"])
