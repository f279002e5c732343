import sys

import pytest

from factorization.implicit import stand_in
from gpukit.factorization import solvers


@pytest.fixture
def least_squares(monkeypatch):
    """The stand-in in place of `ials`."""
    for part in ("training", "rates"):
        monkeypatch.setitem(sys.modules, f"{solvers.__name__}.ials.{part}", stand_in)
