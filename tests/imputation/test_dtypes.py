"""Tensors keep their dtype: whole numbers and booleans, within bounds and ranges."""

import re

import numpy as np
import pandas
import pytest
from support import thinned

from gpukit import GraphImputer, read_graph
from gpukit.errors import DataError, ParameterError
from gpukit.graphs import as_graph_tensor
from gpukit.graphs.column_types import WHOLE, ColumnType

T, NAMES = 40, list("abcd")
TIMES = pandas.date_range("2020", periods=T, freq="h", name="time")
RNG = np.random.default_rng(0)
BASE = 50 + 5 * np.cumsum(RNG.normal(size=(T, 4)), axis=0)
HOLES = RNG.random(BASE.shape) < 0.2
A = np.ones((4, 4)) - np.eye(4)


def imputer(method="smoothness", **more):
    return GraphImputer(method=method, device="cpu", **more)


def whole_frame():
    """Times by sensors of whole numbers, NaN where missing."""
    return pandas.DataFrame(np.where(HOLES, np.nan, BASE.round()), TIMES, NAMES)


def frame_of(dtype):
    """Return whole_frame as a dtype; as booleans, True for a reading above 50."""
    frame = whole_frame()
    if "bool" in dtype:
        return (frame > 50).astype("boolean").mask(frame.isna()).astype(dtype)
    if dtype == "object":
        cells = {name: [None if one != one else int(one) for one in frame[name]] for name in NAMES}
        return pandas.DataFrame(cells, TIMES, dtype=object)
    return frame.astype(dtype)


NULLABLE = ("Int64", "Int8", "UInt16", "Float32", "Float64", "boolean")
OTHERS = ("int64[pyarrow]", "uint8[pyarrow]", "float[pyarrow]", "bool[pyarrow]", "object", "float16", "float32")


@pytest.mark.parametrize("turned, dtype", thinned([False, True], [*NULLABLE, *OTHERS], share=4))
def test_a_frame_keeps_its_dtypes(dtype, turned):
    frame = frame_of(dtype)
    frame = frame.T if turned else frame
    got = imputer("interpolation").fit(frame).completed_
    assert got.dtypes.equals(frame.dtypes) and not got.isna().any(axis=None)
    for place in range(frame.shape[1]):
        seen = frame.iloc[:, place].notna()
        assert got.iloc[:, place][seen].tolist() == frame.iloc[:, place][seen].tolist()
    if dtype == "object":
        assert all(type(one) is int for one in got.to_numpy().ravel())


def test_each_column_has_its_own():
    frame = whole_frame().astype({"a": "Int16", "b": "float32", "c": "float64"})
    frame["d"] = [None if hole else bool(one > 50) for hole, one in zip(HOLES[:, 3], BASE[:, 3])]
    model = imputer().fit(frame)
    assert model.completed_.dtypes.equals(frame.dtypes)
    assert {type(one) for one in model.completed_["d"]} == {bool}
    assert (model.completed_["c"][HOLES[:, 2]] % 1 != 0).any()  # floats are not rounded
    assert (model.deviation_.dtypes == np.float64).all()
    again = model.transform(frame)
    assert again.dtypes.equals(frame.dtypes)
    pandas.testing.assert_frame_equal(
        model.extend(frame.set_axis(TIMES + pandas.Timedelta("40h"))).head(0), again.head(0)
    )


def test_a_mask_leaves_whole_columns_whole():
    frame = pandas.DataFrame(BASE.round().astype(np.uint8), TIMES, NAMES)
    got = imputer().fit(None, frame, ~HOLES).completed_
    assert (got.dtypes == np.uint8).all()
    assert (got.to_numpy() == frame.to_numpy())[~HOLES].all() and (got.to_numpy() != frame.to_numpy())[HOLES].any()


def test_objects_with_pandas_na():
    frame = whole_frame().astype("Int64").astype(object)
    got = imputer("interpolation").fit(frame).completed_
    assert set(map(str, got.dtypes)) == {"object"} and all(isinstance(one, int) for one in got.to_numpy().ravel())


@pytest.mark.parametrize(
    "kind, dtype",
    thinned(
        ["masked", "mask", "graph tensor", "archive"], [np.int64, np.int8, np.uint16, bool, np.float16, np.float32]
    ),
)
def test_an_array_keeps_its_dtype(dtype, kind, tmp_path):
    values = BASE.T > 50 if dtype is bool else BASE.T.astype(dtype)
    if kind == "masked":
        model = imputer("interpolation").fit(A, np.ma.MaskedArray(values, HOLES.T), times=TIMES.to_numpy())
    elif kind == "mask":
        model = imputer("interpolation").fit(A, values, ~HOLES.T, times=TIMES.to_numpy())
    elif kind == "graph tensor":
        model = imputer("interpolation").fit(as_graph_tensor(A, values, ~HOLES.T, times=TIMES.to_numpy()))
    else:
        np.savez(tmp_path / "in.npz", adjacency=A, tensor=values, mask=~HOLES.T, times=TIMES.to_numpy())
        model = imputer("interpolation").fit(read_graph(tmp_path / "in.npz"))
    assert model.completed_.dtype == dtype and model.deviation_.dtype == np.float64
    assert (model.completed_ == values)[~HOLES.T].all()


def test_integers_that_float64_does_not_hold_come_back():
    values = np.full((4, T), 2**53 + 1)
    with pytest.warns(UserWarning, match="nothing is missing"):
        assert (imputer().fit(A, values).completed_ == values).all()


def test_a_column_of_numbers_by_vertex():
    values = pandas.Series([1, 2, None, 4, 9, 7, 5], dtype="Int8")
    got = imputer("vertex-mean").fit(np.ones((7, 7)) - np.eye(7), values).completed_
    assert got.dtype == "Int8" and got[values.notna()].tolist() == [1, 2, 4, 9, 7, 5]


@pytest.mark.parametrize(
    "bounds, dtype",
    thinned(
        [(44.3, 53.8), (None, 50.1), (49.9, None)],
        ["Int64", "UInt8", "Float32", "float16", "float32", "float64"],
        share=6,
    ),
)
def test_bounds_hold_in_every_dtype(dtype, bounds):
    low, high = bounds
    got = imputer(minimum=low, maximum=high).fit(frame_of(dtype)).completed_
    filled = got.to_numpy(dtype=np.float64)[HOLES]
    assert (low is None or filled.min() >= low) and (high is None or filled.max() <= high)
    assert filled.min() in (45, 50) or filled.max() in (53, 50) or "loat" in dtype


@pytest.mark.parametrize("low, high", [(0.2, 0.8), (300, 400), (-9, -1)])
def test_bounds_that_leave_no_value_are_refused(low, high):
    with pytest.raises(ParameterError, match="no value of uint8 is between the bounds"):
        imputer("interpolation", minimum=low, maximum=high).fit(frame_of("UInt8"))
    model = imputer("interpolation", minimum=low, maximum=high).fit(frame_of("Float64") * 0.001 + (low + high) / 2)
    with pytest.raises(ParameterError, match="no value of uint8 is between the bounds"):
        model.transform(frame_of("UInt8"))


@pytest.mark.parametrize(
    "bound, said",
    [
        ({"minimum": 500}, "minimum=500: all {n} observed values, {low:g} to {high:g}, are below it"),
        ({"maximum": -0.5}, "maximum=-0.5: all {n} observed values, {low:g} to {high:g}, are above it"),
    ],
)
def test_bounds_that_no_observed_value_keeps_are_refused(bound, said):
    frame = frame_of("Float64")
    facts = {"n": int(frame.notna().sum().sum()), "low": frame.min().min(), "high": frame.max().max()}
    with pytest.raises(ParameterError, match=re.escape(said.format(**facts))):
        imputer(**bound).fit(frame)


@pytest.mark.parametrize("name, where", [("minimum", "below"), ("maximum", "above")])
def test_observed_values_beyond_a_bound_are_counted(name, where):
    frame = frame_of("Float64")
    values = frame.to_numpy(dtype=np.float64, na_value=np.nan)
    bound, end = np.nanmedian(values), np.nanmin(values) if name == "minimum" else np.nanmax(values)
    count = (values < bound).sum() if name == "minimum" else (values > bound).sum()
    seen = np.isfinite(values).sum()
    said = f"{name}={bound:g}: {count} of {seen} observed values are {where} it, the farthest {end:g}"
    with pytest.warns(UserWarning, match=re.escape(said)):
        model = imputer("interpolation", **{name: bound}).fit(frame)
    with pytest.warns(UserWarning, match=f"observed values are {where} it"):
        model.transform(frame)


def test_a_rise_ends_at_the_range_of_the_dtype():
    rise = np.linspace(200, 255, T - 6).round()
    frame = pandas.DataFrame({"a": np.append(rise, [np.nan] * 6), "b": np.arange(T) * 1.0}, TIMES).astype("UInt8")
    got = imputer("interpolation").fit(frame).completed_
    assert got["a"].dtype == "UInt8" and (got["a"].iloc[-6:] >= 250).all()


@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.int8, np.uint8])
def test_numbers_beyond_the_range_are_its_ends(dtype):
    one, range_ = ColumnType(np.dtype(dtype), True), np.iinfo(dtype)
    got = one.cast(one.fit(np.array([-1e300, -0.4, 2.6, 1e300])))
    assert got.dtype == dtype and got.tolist() == [range_.min, 0, 3, range_.max]
    assert not np.signbit(WHOLE.fit(np.array([-0.4])))[0]
    floats = ColumnType(np.dtype(np.float16)).fit(np.array([1e300, -1e300]))
    assert np.isfinite(floats).all()


def test_a_loaded_model_has_the_same_numbers(tmp_path):
    model = imputer("interpolation").fit(frame_of("Int64"))
    model.save(tmp_path / "model.gpukit")
    loaded = GraphImputer.load(tmp_path / "model.gpukit")
    np.testing.assert_array_equal(loaded.completed_, model.completed_.T.to_numpy(dtype=float))


def test_integers_of_a_bare_table_stay_integers():
    table = np.ma.masked_array(np.arange(120, dtype=np.int16).reshape(30, 4), np.arange(120).reshape(30, 4) % 7 == 0)
    got = imputer("interpolation").fit_transform(table)
    assert got.dtype == np.int16 and (np.asarray(got)[~table.mask] == table.data[~table.mask]).all()
    large = np.full((30, 4), 2**53 + 1)
    large[0, 0] = 5
    with pytest.warns(UserWarning, match="nothing is missing"):
        assert (imputer("interpolation").fit_transform(large) == large).all()


@pytest.mark.parametrize("library", ["pyarrow", "polars"])
def test_tables_of_other_libraries_keep_whole_numbers_and_booleans(library):
    """In pandas' own conversion a missing value makes integers floats and booleans objects."""
    module, pyarrow = pytest.importorskip(library), pytest.importorskip("pyarrow")
    table = pyarrow.table(
        {
            "a": pyarrow.array([1, None, 4, 8, 5, 7, None, 3, 9], pyarrow.int16()),
            "b": [True, None, True, False, True, True, None, False, False],
            "c": [1.5, 2.0, None, 0.25, 7.5, 1.0, 2.5, None, 1.0],
        }
    )
    given = module.from_arrow(table) if library == "polars" else table
    result = imputer("two-way-mean").fit_transform(given)
    assert [str(dtype) for dtype in result.dtypes] == ["Int16", "boolean", "float64"]
    assert result["a"].drop([1, 6]).tolist() == [1, 4, 8, 5, 7, 3, 9] and result.notna().all(axis=None)
    series = imputer("two-way-mean").fit_transform(given["a"])
    assert isinstance(series, pandas.Series) and str(series.dtype) == "Int16"
    timed = table.append_column("time", pyarrow.array(TIMES[:9]))
    with pytest.raises(DataError, match=r"make them the index, frame.to_pandas\(\).set_index\('time'\)"):
        imputer().fit(module.from_arrow(timed) if library == "polars" else timed)
