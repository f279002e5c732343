"""The picture of series: gaps, lines, bands, errors and map.

Slices have no empty third panel.
"""

import contextlib

import numpy as np
import pytest
from cli_support import CPU

from gpukit import GraphImputer
from gpukit.cli.imputation import plot, steps
from gpukit.graphs import as_graph_tensor
from gpukit.graphs.graph_builders import Coordinates

N, T = 8, 72
TIMES = 1_583_000_000 + 3600 * np.arange(T)


@pytest.fixture
def figure(monkeypatch):
    """The next figure, not written."""
    from matplotlib.figure import Figure

    made = Figure(figsize=(11, 8), layout="constrained")

    @contextlib.contextmanager
    def kept(path, width, height):
        yield made

    monkeypatch.setattr(plot, "canvas", kept)
    return made


def done(truth=False, order=None, **how):
    """A steps.Done of a small week.

    Sensor 2 has no values, 5 and 3 have long gaps.
    """
    rng = np.random.default_rng(0)
    values = np.sin(np.arange(T) / 4) + rng.normal(size=(N, 1)) + 0.1 * rng.normal(size=(N, T))
    given = values.copy()
    given[rng.random((N, T)) < 0.05] = np.nan
    given[2] = given[5, 20:45] = given[3, 50:62] = np.nan
    order = np.arange(T) if order is None else order
    A = np.eye(N, k=1) + np.eye(N, k=2)
    also = {"truth": values[:, order] if truth else None, "times": TIMES[order]}
    data = as_graph_tensor(A + A.T, given[:, order], vertices=np.array([f"s{i}" for i in range(N)]), **also)
    model = GraphImputer(method="interpolation", **how, device="cpu").fit(data)
    return steps.Done(data, model, model.report_, None, [])


def titles(figure):
    return [axis.get_title() for axis in figure.axes]


@pytest.mark.slow
@pytest.mark.parametrize("mixed", [False, True])
def test_the_longest_gaps_one_of_a_sensor_without_readings(mixed):
    order = np.random.default_rng(1).permutation(T) if mixed else None
    found = plot.longest_gaps(done(order=order))
    assert [gap[0] for gap in found] == [2, 5, 3] and found[0][1:] == (0, T)
    assert found[1][1] <= 20 and found[1][2] >= 45 and found[2][1] <= 50 and found[2][2] >= 62


def test_longest_runs():
    rows = ["0110111", "0000000", "1111111", "1101100"]
    lengths, firsts = plot.longest_runs(np.array([[letter == "1" for letter in row] for row in rows]))
    assert lengths.tolist() == [3, 0, 7, 2] and firsts.tolist()[0] == 4 and firsts.tolist()[2:] == [0, 0]


@pytest.mark.slow
@pytest.mark.parametrize("truth", [False, True])
def test_lines_bands_errors_and_the_map(figure, truth):
    one, places = done(truth), Coordinates(np.random.default_rng(0).random((N, 2)), None, True)
    plot.draw("p.png", one, places)
    assert titles(figure)[:2] == ["error on hidden values", "standard deviation of imputed values"]
    drawn = [axis for axis in figure.axes if "missing in a row" in axis.get_title()]
    assert len(drawn) == 3 and drawn[1].get_title().startswith("s5: ")
    named = {line.get_label(): line.get_ydata() for line in drawn[0].lines}
    assert set(named) == {"filled in", "observed", *(["true"] if truth else [])}
    np.testing.assert_array_equal(named["filled in"], one.model.completed_[2])
    assert np.isnan(named["observed"]).all()
    band = drawn[0].collections[0].get_datalim(drawn[0].transData)
    top = (one.model.completed_[2] + 1.645 * one.model.deviation_[2]).max()
    assert band.y1 == pytest.approx(top)
    bars = {text.get_text() for text in figure.axes[0].get_yticklabels()}
    assert bars == {row.name for row in one.rows}


def test_slices_have_no_empty_third(figure):
    rng = np.random.default_rng(0)
    tensor = rng.normal(size=(N, 4, 5))
    tensor[3] = np.nan
    data = as_graph_tensor(np.ones((N, N)) - np.eye(N), tensor)
    how = {"weights": "common", "center": "none", "iterations": 3}
    model = GraphImputer(**how, device="cpu").fit(data)
    plot.draw("p.png", steps.Done(data, model, [], None, []))
    names = [title for title in titles(figure) if title.startswith("vertex")]
    assert len(names) == 2 and all(axis.axison for axis in figure.axes)


@pytest.mark.slow
def test_a_picture_of_a_table(verb, tmp_path):
    rng = np.random.default_rng(0)
    values = np.sin(np.arange(T) / 4)[:, None] + 0.1 * rng.normal(size=(T, 4))
    rows = [",".join(["" if rng.random() < 0.1 else f"{x:.3f}" for x in row]) for row in values]
    (tmp_path / "t.csv").write_text("time,a,b,c,d\n" + "\n".join(f"{at},{row}" for at, row in zip(TIMES, rows)) + "\n")
    (tmp_path / "c.csv").write_text("id,x,y\na,0,0\nb,1,0\nc,0,1\nd,1,1\n")
    more = ("--coordinates", tmp_path / "c.csv", "--method", "interpolation", "--plot", tmp_path / "p.png", *CPU)
    result = verb("impute", tmp_path / "t.csv", *more)
    assert result.code == 0 and (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG"), result.err


@pytest.mark.slow
def test_a_picture_of_a_table_that_misses_nothing(verb, tmp_path):
    rows = [f"{at},{np.sin(number)},{np.cos(number)}" for number, at in enumerate(TIMES)]
    (tmp_path / "t.csv").write_text("time,a,b\n" + "\n".join(rows) + "\n")
    result = verb("impute", tmp_path / "t.csv", "--plot", tmp_path / "p.png", *CPU)
    assert result.code == 0 and (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG"), result.err


@pytest.mark.parametrize("noise", [0.0, 1e-16, 1e-9])
def test_no_colour_bar_over_rounding(figure, noise):
    """Differences within rounding give one colour and a label, not a scale."""
    rng = np.random.default_rng(0)
    tensor = 5 * (1 + noise * rng.normal(size=(N, 3, 4)))
    A = np.eye(N, k=1) + np.eye(N, k=2)
    data = as_graph_tensor(A + A.T, tensor, np.arange(N) != 2)
    model = GraphImputer(weights="slice", center="global", device="cpu").fit(data)
    one = steps.Done(data, model, [], None, [])
    plot.draw_slices(figure, one, 2)
    assert len(figure.axes) == 2 and figure.axes[1].get_xlabel() == "all 5"
    assert all(low < 4.6 and high > 5.4 for low, high in (axis.images[0].get_clim() for axis in figure.axes))
    figure.clear()
    model.deviation_ = np.where(data.mask[:, None, None], 0.0, 0.5 * (1 + noise * rng.normal(size=(N, 3, 4))))
    plot.draw_map(figure.subplots(), one, Coordinates(rng.random((N, 2)), None, True))
    assert titles(figure) == ["standard deviation of imputed values: 0.5"]


@pytest.mark.slow
def test_a_colour_bar_over_what_differs(figure):
    one = done()
    plot.draw_map(figure.subplots(), one, Coordinates(np.random.default_rng(0).random((N, 2)), None, True))
    assert len(figure.axes) == 2


@pytest.mark.slow
def test_a_bar_of_each_imputed_value(figure):
    one = done()
    vertex = next(vertex for vertex in (0, 1, 4, 6, 7) if not one.data.mask[vertex].all())
    lacking = np.flatnonzero(~one.data.mask[vertex, 0])
    plot.draw_series(figure, one, (vertex, 0, T))
    (bars,) = figure.axes[0].collections
    value, deviation = one.model.completed_[vertex, lacking], 1.645 * one.model.deviation_[vertex, lacking]
    assert bars.get_capstyle() in (None, "butt"), "bars without length would be drawn as squares or dots"
    ends = np.array([path.vertices[:, 1] for path in bars.get_paths()])
    np.testing.assert_allclose(ends, np.stack([value - deviation, value + deviation], axis=1))
