"""Forged models with valid checksums: rejected in one line, or equivalent to a model."""

import copy

import numpy as np
import pytest

import gpukit
from base.test_contract import CASES, EACH, fitted  # noqa: F401  (a fixture)
from gpukit import persist
from gpukit.errors import GpukitError, ModelError

# Permitted content of an array: values that a training could have stored.
LEGAL = {
    "user_ids": {"negative", "beyond"},
    "item_ids": {"negative", "beyond"},
    "scores": {"nan"},
    "completed": {"another width"},
    "deviation": {"nan"},
    "history": {"negative", "beyond", "nan", "infinite", "another letter"},
}
WIDTHS = {"f4": "f8", "f8": "f4", "i4": "i8", "i8": "i4", "u1": "i8", "u2": "i8"}
JUNK = (None, "x", [], {}, [1], {"x": 1}, 1e9, -1, 0, True, float("nan"), float("inf"), 2**70, "cuda:7")


def last(array, value):
    """Return the array with another last value."""
    forged = array.copy()
    forged.reshape(-1)[-1] = value
    return forged


def forgeries(array):
    """Return {name: a forged array}."""
    shapes = {"short": array[:-1], "longer": np.concatenate((array, array[-1:])), "another axis": array[None]}
    if not array.size:
        return shapes
    shapes["a single value"] = array.reshape(-1)[0].reshape(())
    if array.dtype.kind == "b":
        return {**shapes, "text": np.full(array.shape, "x"), "numbers": array.astype(np.int64)}
    if array.dtype.kind == "U":
        return {**shapes, "numbers": np.arange(array.size).reshape(array.shape), "another letter": last(array, "?")}
    forged = {**shapes, "text": np.full(array.shape, "x"), "another width": array.astype(WIDTHS[array.dtype.str[1:]])}
    if array.dtype.kind == "f":
        return {**forged, "nan": last(array, np.nan), "infinite": last(array, np.inf)}
    if array.dtype == np.uint8:
        return {**forged, "none": last(array, 0), "most": last(array, 255)}
    forged["beyond"] = last(array, np.iinfo(array.dtype).max)
    return forged if array.dtype.kind == "u" else {**forged, "negative": last(array, -1)}


def judged(path, case):
    """Return the error message for a model; None if it loads and gives results."""
    try:
        model = gpukit.load_model(path).set_params(device="cpu")
    except ModelError as error:
        assert "\n" not in str(error) and str(path) in str(error)
        return str(error)
    try:
        answers = case.answer(model)
    except GpukitError as error:
        assert "\n" not in str(error)
    else:
        assert isinstance(model, gpukit.SimLSH) or all(
            np.isfinite(one).all() for one in answers if one.dtype.kind == "f"
        )
    return None


@pytest.mark.slow
@EACH
def test_forged_arrays(name, fitted, tmp_path):  # noqa: F811
    fitted[name].save(tmp_path / "m")
    header, arrays = persist.load_arrays(tmp_path / "m")
    for which, array in arrays.items():
        for what, forged in forgeries(array).items():
            persist.save_arrays(tmp_path / "forged", header, {**arrays, which: forged})
            message_text = judged(tmp_path / "forged", CASES[name])
            legal = what in LEGAL.get(which.partition(".")[0], ())
            assert message_text or legal, f"{which}, {what}: was taken"
            assert not (message_text and legal and what != "another letter"), f"{which}, {what}: {message_text}"


def places(value, at=()):
    """Return the paths to all values in a header."""
    inside = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    for key, one in inside:
        yield (*at, key)
        yield from places(one, (*at, key))


def changed(header, at, value):
    """Return the header with another value at a path; `...` deletes it."""
    header = copy.deepcopy(header)
    inner = header
    for key in at[:-1]:
        inner = inner[key]
    if value is ...:
        del inner[at[-1]]
    else:
        inner[at[-1]] = value
    return header


@pytest.mark.nightly
@EACH
def test_forged_headers(name, fitted, tmp_path):  # noqa: F811
    fitted[name].save(tmp_path / "m")
    header, arrays = persist.load_arrays(tmp_path / "m")
    rng = np.random.default_rng(0)
    for at in places(header):
        for value in (..., *rng.permutation(np.array(JUNK, dtype=object))[:5]):
            persist.save_arrays(tmp_path / "forged", changed(header, at, value), arrays)
            message_text = judged(tmp_path / "forged", CASES[name])
            assert message_text or at != ("facts",), f"{at} = {value!r} was taken"
    for at in (("class",), ("parameters",), ("facts",), ("format",)):
        persist.save_arrays(tmp_path / "forged", {k: v for k, v in header.items() if k != at[0]}, arrays)
        assert at == ("format",) or judged(tmp_path / "forged", CASES[name])


@EACH
def test_an_unknown_parameter_is_named(name, fitted, tmp_path):  # noqa: F811
    fitted[name].save(tmp_path / "m")
    header, arrays = persist.load_arrays(tmp_path / "m")
    header["parameters"]["of_tomorrow"] = 1
    persist.save_arrays(tmp_path / "forged", header, arrays)
    with pytest.raises(ModelError, match=f"forged is damaged: {name} has no parameter 'of_tomorrow'; it has "):
        gpukit.load_model(tmp_path / "forged")


def test_a_header_that_asks_for_a_huge_model(fitted, tmp_path):  # noqa: F811
    fitted["MatrixFactorization"].save(tmp_path / "m")
    header, arrays = persist.load_arrays(tmp_path / "m")
    header["parameters"]["n_factors"] = 10**9
    persist.save_arrays(tmp_path / "forged", header, arrays)
    with pytest.raises(ModelError, match="n_factors must be an integer, between 1 and 1024; got 1000000000"):
        gpukit.load_model(tmp_path / "forged")
