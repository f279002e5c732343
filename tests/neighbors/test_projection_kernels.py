"""Codes by the kernels, launched by the host step, against the twins'."""

import numpy as np
import pytest
from support import thinned

from neighbors.inputs import case, columns_on_device, unpack
from neighbors.projection_inputs import oracle_codes

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore:overflow encountered")]

from gpukit.neighbors import gpu, run


@pytest.mark.parametrize(
    "name, block",
    thinned(["two items, one bit", "unused high bits", "negative and zero", "cut columns"], [32, 64], share=2),
)
def test_codes_are_signs_of_projections(name, block, monkeypatch):
    monkeypatch.setattr(gpu, "HASH_BLOCK", block)
    made, table, settings, chunk = case(name)
    codes = run.projection_codes(gpu, columns_on_device(table), settings, chunk).copy_to_host()
    np.testing.assert_array_equal(unpack(codes, settings.n_bits), oracle_codes(made, settings))
    assert not unpack(codes, 32 * settings.n_words)[:, settings.n_bits :].any(), "unused high bits must stay zero"
