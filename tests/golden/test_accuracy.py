"""How accurate models are on real data, by five seeds: a rewrite must not change it.

The rule: the mean of five new values is at most a spread away from the recorded mean, on either side. The spread is the
standard deviation of the five recorded values, or FLOOR of their mean if that is more or if nothing is random. After an
intended change, record them as all answers (GPUKIT_GOLDEN=write, -m nightly), and give the reason in the commit.
"""

import functools
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from golden.record import WRITES

DATA = Path(os.environ.get("GPUKIT_DATA", "data"))
FLOOR = 0.001
SEEDS = range(5)

pytestmark = pytest.mark.nightly


@dataclass(frozen=True)
class Measured:
    """needs: a path below $GPUKIT_DATA, or None; value: function of a seed; is_exact: nothing is random."""

    name: str
    needs: str | None
    value: object
    is_exact: bool = False


@functools.cache
def movielens():
    """(training, test) ratings of MovieLens 1M, split as everywhere in the documents."""
    import gpukit

    return gpukit.read_ratings(DATA / "ml-1m/ratings.dat").split(0.1, seed=0)


def rated(seed, **settings):
    """Test RMSE on MovieLens 1M."""
    import gpukit

    train, test = movielens()
    model = gpukit.LSHMF if settings else gpukit.MatrixFactorization
    return model(n_factors=32, random_state=seed, device="cpu", **settings).fit(train).evaluate(test)["rmse"]


def thinned(seed):
    """Test RMSE with a tenth of the training ratings, other ones for each seed."""
    import gpukit

    train, test = movielens()
    kept = np.flatnonzero(np.random.default_rng(seed).random(len(train.values)) < 0.1)
    model = gpukit.LSHMF(random_state=seed, device="cpu").fit(train.take(kept))
    return model.evaluate(test)["rmse"]


def filmtrust(seed):
    """Test RMSE on FilmTrust, split anew for each seed."""
    import gpukit

    train, test = gpukit.read_ratings(DATA / "filmtrust/ratings.txt").split(0.2, seed=seed)
    return gpukit.LSHMF(random_state=seed, device="cpu").fit(train).evaluate(test)["rmse"]


def lists(seed):
    """NDCG@10 among all items on the split of MovieLens 1M of the NCF paper."""
    import gpukit

    train, test = (gpukit.read_ratings(DATA / f"ncf/ml-1m.{part}.rating") for part in ("train", "test"))
    settings = {"n_factors": 32, "n_epochs": 8, "solver": "ials", "regularization": 0.003, "unobserved_weight": 0.1}
    model = gpukit.MatrixFactorization(positive_from=0, random_state=seed, device="cpu", **settings).fit(train)
    return model.score(test)


def sensors(seed, file, columns, method="auto"):
    """Mean absolute error on a fifth of the readings, which are hidden."""
    import gpukit

    data = gpukit.read_graph(edges=DATA / Path(file).parent / "adjacency.csv", tensor=DATA / file)
    tensor = np.array(data.tensor[..., :columns], np.float64)
    known = data.mask if data.mask.ndim == tensor.ndim else np.broadcast_to(data.mask[:, None, None], tensor.shape)
    known = known[..., :columns]
    hidden = known & (np.random.default_rng(seed).random(tensor.shape) < 0.2)
    model = gpukit.GraphImputer(method=method, device="cpu", random_state=seed)
    completed = model.fit_transform(data.adjacency, tensor, mask=known & ~hidden)
    return float(np.abs(completed - tensor)[hidden].mean())


def generated(seed):
    """Relative error of the paper's method on tensors as the paper generates them."""
    import gpukit

    data = gpukit.synth_graph("random", vertices=100, shape=(24, 24), rank=3, missing=0.3, noise=0.05, seed=seed)
    completed = gpukit.GraphImputer(method="spectral", device="cpu", random_state=seed).fit(data).completed_
    return float(np.linalg.norm(completed - data.truth) / np.linalg.norm(data.truth))


def ranked(seed):
    """Pairwise accuracy on the test set of one fold of MQ2008; the seed is the number of the fold."""
    import gpukit

    fold = gpukit.find_folds(DATA / "MQ2008")[seed]
    train, valid, test = (gpukit.read_letor(path) for path in (fold.train, fold.vali, fold.test))
    return gpukit.RankSVM(device="cpu").fit(train, eval_set=[valid]).score(test)


CASES = (
    Measured("FilmTrust, LSHMF", "filmtrust", filmtrust),
    Measured("MQ2008, RankSVM", "MQ2008", ranked, is_exact=True),
    Measured("generated, spectral", None, generated),
    Measured(
        "Molene, 200 hours, GraphImputer",
        "molene",
        functools.partial(sensors, file="molene/temperature.csv", columns=200),
    ),
    Measured(
        "METR-LA, six hours, smoothness",
        "metr-la",
        functools.partial(sensors, file="metr-la/speed.csv", columns=72, method="smoothness"),
    ),
    Measured("MovieLens 1M, LSHMF", "ml-1m", functools.partial(rated, n_neighbors=32)),
    Measured("MovieLens 1M, no neighbours", "ml-1m", rated),
    Measured("MovieLens 1M thinned, LSHMF", "ml-1m", thinned),
    Measured("MovieLens 1M, NCF's lists", "ncf", lists),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_accuracy(golden, case):
    if case.needs and not (DATA / case.needs).exists():
        assert os.environ.get("GPUKIT_REQUIRE_DATA") != "1", f"no {DATA / case.needs}"
        pytest.skip(f"no {DATA / case.needs}")
    values = [float(case.value(seed)) for seed in SEEDS]
    if WRITES:
        golden.check(case.name, {"mean": np.mean(values), "spread": spread_of(values, case.is_exact), "values": values})
        return
    known = golden.known[case.name]
    mean, spread = float(known["mean"]), float(known["spread"])
    assert abs(np.mean(values) - mean) <= spread, f"{case.name}: {np.mean(values):.6g} ({values}), recorded {known}"


def spread_of(values, is_exact):
    """How far a mean may be from the mean of these values: see the rule above."""
    floor = FLOOR * abs(float(np.mean(values)))
    return floor if is_exact else max(float(np.std(values, ddof=1)), floor)
