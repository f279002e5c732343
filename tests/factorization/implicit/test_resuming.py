"""Resumed training of an ensemble of two models, stopped in either: bit-identical."""

import os
import signal

import numpy as np
import pytest

from factorization.implicit.planted import clicks
from gpukit import persist
from gpukit.errors import ModelError
from gpukit.factorization import LSHMF
from gpukit.factorization.constants import RULES
from gpukit.factorization.implicit import choosing
from gpukit.factorization.settings import Choice
from gpukit.runtime.thread_count import limit_threads

FIRST = 3  # epochs of the first model; the second has those of its solver
NAMED = {"n_neighbors": 4, "lsh_q": 8, "deterministic": True, "device": "cpu"}


@pytest.fixture(autouse=True)
def mixed(monkeypatch):
    """Choose an ensemble, write checkpoints after every epoch and use one thread."""

    def chosen(estimator, train, checked, device, progress):
        plan = checked._replace(solver="ials", loss="squared", epochs=FIRST, n_factors=6, mixed=0.2, n_neighbors=4)
        plan = plan._replace(regularization=0.01, unobserved_weight=0.3, exponent=1.0, biases=False)
        return Choice(plan, [], "named")

    monkeypatch.setattr(choosing, "choose", chosen)
    monkeypatch.setattr(RULES, "checkpoint_seconds", 0.0)
    with limit_threads(1):
        yield


def stopping(seen, stop=None):
    """Return a progress callback that records (part, epoch) and sends SIGINT after `stop`."""

    def progress(stage, done, total, info):
        if stage == "training":
            seen.append((1 + (total != FIRST), done))
            if seen[-1] == stop:
                os.kill(os.getpid(), signal.SIGINT)

    return progress


def fit(path=None, stop=None, resume=False):
    """Return (estimator, processed epochs); stop: (part, epoch) of the stop request."""
    seen, model = [], LSHMF(**NAMED)
    try:
        model.fit(clicks()[0], checkpoint=path, resume=resume, progress=stopping(seen, stop))
    except KeyboardInterrupt:
        assert stop is not None
    return model, seen


@pytest.mark.parametrize("stop", [(1, 2), (1, FIRST), (2, 1), (2, 4)])
def test_it_goes_on(stop, tmp_path):
    whole, all_seen = fit()
    assert (2, 1) in all_seen and not np.array_equal(whole.item_factors_[:, :6], whole.item_factors_[:, 6:12])
    _, before = fit(tmp_path / "point", stop)
    assert before[-1] == stop
    resumed, after = fit(tmp_path / "point", resume=True)
    assert before + after == all_seen
    for one, two in zip(resumed._state, whole._state):
        np.testing.assert_array_equal(one, two)


@pytest.mark.slow
@pytest.mark.parametrize(("stop", "following"), [((1, 2), (1, FIRST)), ((1, FIRST), (2, 1)), ((2, 1), (2, 2))])
def test_a_training_on_all_clicks_goes_on(stop, following, tmp_path):
    """Stopped in the training on all clicks, after one on a part."""
    everything, path = clicks()[0], tmp_path / "point"
    part, _ = everything.split(0.2, 0)
    whole = LSHMF(**NAMED).fit(part).refit(everything)
    with pytest.raises(KeyboardInterrupt):
        LSHMF(**NAMED).fit(part, checkpoint=path).refit(everything, checkpoint=path, progress=stopping([], stop))
    seen = [[], []]
    first = LSHMF(**NAMED).fit(part, checkpoint=path, resume=True, progress=stopping(seen[0]))
    resumed = first.refit(everything, checkpoint=path, resume=True, progress=stopping(seen[1]))
    assert seen[0] == [] and seen[1][0] == following
    for one, two in zip(resumed._state, whole._state):
        np.testing.assert_array_equal(one, two)


def test_a_second_model_that_does_not_fit(tmp_path):
    path = tmp_path / "point"
    fit(path, (2, 2))
    header, arrays = persist.load_arrays(path)
    assert header["beside_done"] == 2 and header["epochs_done"] == FIRST
    for changed, what in (({"beside_done": 10**6}, "1000000 epochs"), ({"beside_done": -1}, "second model after -1")):
        persist.save_arrays(path, {**header, **changed}, arrays)
        with pytest.raises(ModelError, match=what):
            fit(path, resume=True)
    for name in ("user_factors", "item_factors"):
        arrays[f"beside.{name}"] = np.ascontiguousarray(arrays[f"beside.{name}"][:, :-1])
    persist.save_arrays(path, header, arrays)
    with pytest.raises(ModelError, match="second model has"):
        fit(path, resume=True)
    del header["beside_done"]
    persist.save_arrays(path, header, arrays)
    with pytest.raises(ModelError, match="beside_done"):
        fit(path, resume=True)
