"""Codes by the kernel, launched by the host step, against the twin's."""

import numpy as np
import pytest

from neighbors.inputs import case, columns_on_device

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore:overflow encountered")]

from gpukit.neighbors import cpu, gpu, run
from gpukit.neighbors.plan import Settings

LONG = Settings(1, 1, 3, 45)


@pytest.mark.slow
@pytest.mark.parametrize("name, settings", [("two items, one bit", None), ("full words", None), ("full words", LONG)])
@pytest.mark.parametrize("block", [32, 64])
def test_codes_are_the_twins(name, settings, block, monkeypatch):
    monkeypatch.setattr(gpu, "HASH_BLOCK", block)
    _, table, own, _ = case(name)
    settings = settings or own
    codes = run.hash_codes(gpu, columns_on_device(table), settings._replace(hash="minhash")).copy_to_host()
    np.testing.assert_array_equal(codes, run.minhash_codes(cpu, table, settings))
