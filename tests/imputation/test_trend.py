"""Trends beyond the ends of series."""

import numpy as np
import pytest

from gpukit import GraphImputer
from gpukit.imputation import simple
from imputation.auto.test_auto import asked

ENDLESS = {"level": None, "slope": None}


def lines(noise=0.0, columns=60):
    """(3, T) lines, and a mask that lacks the end of one, the start of another and a gap of the third."""
    values = np.array([[2.0], [-1.0], [0.5]]) + np.array([[0.3], [-2.0], [0.0]]) * np.arange(columns)
    seen = np.ones(values.shape, bool)
    seen[0, -15:] = seen[1, :9] = seen[2, 20:24] = False
    return values + noise * np.random.default_rng(0).normal(size=values.shape), seen


@pytest.mark.parametrize("memory", [0.0, None, 4.0])
def test_lines_continue(memory):
    values, seen = lines()
    for slope in (None, 4.0):
        filled = simple.trend(asked(values, seen), {"level": memory, "slope": slope})
        np.testing.assert_allclose(filled, values, atol=1e-9)


def test_an_endless_memory_is_the_line_of_least_squares():
    values, seen = lines(noise=1.0)
    filled, columns = simple.trend(asked(values, seen), ENDLESS), np.arange(60)
    for row in (0, 1):
        line = np.polyval(np.polyfit(columns[seen[row]], values[row, seen[row]], 1), columns)
        np.testing.assert_allclose(filled[row, ~seen[row]], line[~seen[row]], rtol=1e-9)


def test_weights_halve_with_the_memory():
    values, seen = lines(noise=1.0)
    filled = simple.trend(asked(values, seen), {"level": 5.0, "slope": 5.0})
    ages = 44 - np.arange(45)
    line = np.polyfit(np.arange(45), values[0, :45], 1, w=2.0 ** (-ages / 10.0))  # polyfit squares its weights
    np.testing.assert_allclose(filled[0, 45:], np.polyval(line, np.arange(45, 60)), rtol=1e-9)


def test_it_needs_an_end_and_an_order():
    values, seen = lines()
    assert simple.has_values_beyond_ends(asked(values, seen)) and not simple.has_values_beyond_ends(
        asked(values, seen, False)
    )
    assert not simple.has_values_beyond_ends(asked(values[2:], seen[2:]))
    assert np.isfinite(simple.trend(asked(values[:, :50], seen[:, :50] & (np.arange(50) == 30)), ENDLESS)).all()


def test_a_line_is_continued_by_default():
    values, seen = lines(noise=0.3)
    truth = lines()[0]
    completed = GraphImputer(device="cpu").fit_transform(None, np.where(seen, values, np.nan), times=np.arange(60))
    assert np.abs(completed - truth)[0, 45:].mean() < 0.1 * np.abs(values[0, 44] - truth[0, 45:]).mean()
