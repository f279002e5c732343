"""The local regression's steps on a GPU, or in the simulator, against the CPU."""

import numpy as np
import pytest

pytestmark = pytest.mark.kernel

from gpukit.imputation.local import cpu, gpu, regression
from imputation.local import inputs


def test_sessions_agree(monkeypatch):
    monkeypatch.setattr(gpu, "BLOCKS", 2)
    features, targets, first, start, pull, group = inputs.groups([9, 0, 4], 3)
    answers = []
    for session in (cpu.Session(), gpu.Session()):
        order = np.arange(len(targets))[::-1]
        there = session.joined([session.sent(features[:5]), session.sent(features[5:])], order)
        values = regression.Sorted(there, targets[order], first)
        found = regression.regress(session, values, start, [pull, 2 * pull], group, 2)
        which = np.zeros(len(targets), np.int32)
        answers.append([*found, session.answer(there, session.sent(targets), which, found[0])])
    for mine, other in zip(*answers):
        np.testing.assert_allclose(mine, other, rtol=1e-4, atol=1e-6)
