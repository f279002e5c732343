"""Few functions lead from the data that fit takes to its table, which is validated and converted once.

Lower a number when there are fewer functions.
"""

import os
import sys

import numpy as np
import pandas
import pytest
import scipy.sparse

import gpukit
from gpukit.graphs import read_graph
from gpukit.imputation.inputs import take_fit_inputs
from gpukit.ranking.inputs import read
from gpukit.ratings.adopt import adopt

FOLDER = os.path.dirname(gpukit.__file__)
USERS, ITEMS, RATINGS = np.array([1, 1, 2, 3]), np.array([5, 6, 5, 6]), np.array([4.0, 3.0, 5.0, 2.5])
FRAME = pandas.DataFrame({"user": USERS, "item": ITEMS, "rating": RATINGS})
SENSORS = pandas.DataFrame(np.eye(9)[:, :3], pandas.date_range("2026-01-01", periods=9, freq="h"), ["a", "b", "c"])
FEATURES, RELEVANCE, QUERIES = np.eye(4), np.array([1.0, 0.0, 1.0, 0.0]), np.array([1, 1, 2, 2])


def functions_between(call, *data):
    """Return the names of gpukit's functions that run in call(*data), blocks of loops and threads aside."""
    names = set()

    def profile(frame, event, _):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(FOLDER) and "<" not in code.co_qualname:
            names.add(f"{os.path.relpath(code.co_filename, FOLDER)}: {code.co_qualname}")

    call(*data)  # imports what is imported on demand
    sys.setprofile(profile)
    try:
        call(*data)
    finally:
        sys.setprofile(None)
    return sorted(name for name in names if not name.startswith(("_pool", "runtime", "_cores")))


@pytest.mark.parametrize(
    ("call", "data", "most"),
    [
        (adopt, [FRAME], 25),
        (adopt, [(USERS, ITEMS, RATINGS)], 23),
        (adopt, [scipy.sparse.csr_array((RATINGS, (USERS, ITEMS)))], 18),
        (read, [FEATURES, RELEVANCE, QUERIES], 26),
        (take_fit_inputs, [SENSORS], 56),
        (take_fit_inputs, [SENSORS.to_numpy()], 36),
    ],
    ids=["frame", "columns", "sparse", "documents", "sensors", "array of sensors"],
)
def test_few_functions_make_a_table(call, data, most):
    names = functions_between(call, *data)
    assert len(names) <= most, names


def test_few_functions_read_a_table_of_sensors(tmp_path):
    SENSORS.to_csv(tmp_path / "sensors.csv", index_label="time")
    names = functions_between(lambda path: take_fit_inputs(read_graph(path)), tmp_path / "sensors.csv")
    assert len([name for name in names if not name.startswith("io")]) <= 84, names
