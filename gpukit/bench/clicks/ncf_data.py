"""NCF's MovieLens 1M: clicks of 6,040 users; the last of each is tested among 99 negatives.

Trainings of gpukit's estimators and of implicit's ALS record HR and NDCG after each epoch.
"""

import functools
import itertools
import time
from typing import NamedTuple

import numpy as np

from gpukit import factorization
from gpukit.bench import shape_name
from gpukit.bench.measurement import Row, milliseconds, record_epochs, require_data
from gpukit.errors import DataError
from gpukit.evaluation.lists import sampled
from gpukit.evaluation.lists.clicks import clicks_of
from gpukit.evaluation.lists.negatives import Negatives, read_negatives
from gpukit.factorization.answers import judging
from gpukit.factorization.answers.judging import Asked
from gpukit.factorization.solvers.ials import formulas
from gpukit.factorization.solvers.squares.plan import MOST_FACTORS
from gpukit.io.ids import rows_of
from gpukit.ratings import Ratings, read_ratings, synth

NAME, K = "MovieLens 1M, NCF's split", 10
METRICS = {"hr": "HR@10", "ndcg": "NDCG@10"}


class Ncf(NamedTuple):
    """Clicks and tests.

    clicks : Ratings with values of 1
    tests : Negatives (ids)
    candidates : sampled.Candidates in the rows of clicks
    name : shape of the benchmark's rows
    """

    clicks: Ratings
    tests: Negatives
    candidates: sampled.Candidates
    name: str = NAME

    def evaluate(self, scores):
        """Return (HR@10, NDCG@10) of scores (T, 1 + C) of the candidates; unknown items rank last."""
        row = sampled.judge_sampled("", np.where(self.unknown, np.nan, scores), self.candidates.there, (K,)).row(K)
        return row["hr"], row["ndcg"]

    @property
    def unknown(self):
        """(T, 1 + C) bool: candidates without clicks."""
        return self.candidates.items >= self.clicks.shape[1]

    @property
    def pairs(self):
        """(user rows, item rows) (n,) int32 of all candidates, the last item for unknown ones."""
        items = np.minimum(self.candidates.items, self.clicks.shape[1] - 1)
        return np.repeat(self.candidates.users, items.shape[1]).astype(np.int32), items.ravel().astype(np.int32)


def read(folder, share=1.0):
    """Read the Ncf of a fraction of the users; raise DataError without the files."""
    rated, tests = read_split(folder, share)
    return make_ncf(as_clicks(rated), tests)._replace(name=shape_name(NAME, share))


def read_split(folder, share=1.0):
    """Read (Ratings to learn from, Negatives) of a fraction of the users; raise DataError without the files."""
    train = read_ratings(require_data(folder, "ncf/ml-1m.train.rating"))
    users = max(1, round(share * train.shape[0]))
    train = train.take(train.users < users)
    ids = train.user_ids[:users]
    tests = read_negatives(require_data(folder, "ncf/ml-1m.test.negative"))
    is_chosen = rows_of(tests.users, ids) >= 0
    rated = Ratings(train.users, train.items, train.values, ids, train.item_ids)
    return rated, Negatives(*(part[is_chosen] for part in tests))


def as_clicks(ratings):
    """Return the ratings with values of 1."""
    ones = np.ones(len(ratings), np.float32)
    return ratings.with_columns(users=ratings.users, items=ratings.items, values=ones)


def make_ncf(clicks, tests):
    """Return the Ncf of Ratings and Negatives of known users."""
    candidates, n_items = Asked(tests, np.ones(len(tests.users), np.bool_)), clicks.shape[1]
    rows = rows_of(candidates.ids, clicks.item_ids)[candidates.codes]
    items = np.where(rows >= 0, rows, n_items + candidates.codes)
    known = clicks_of(clicks.users, clicks.items, clicks.shape)
    users = rows_of(tests.users, clicks.user_ids)
    return Ncf(clicks, tests, sampled.candidates(users, items[:, 0], items[:, 1:], tests.there, known, n_items)[0])


def hold_out(ncf, seed=0):
    """Return the Ncf without a random click of each user, which is tested among 99 random items."""
    clicks, random = ncf.clicks, np.random.default_rng(seed)
    order = random.permutation(len(clicks))
    users, first = np.unique(clicks.users[order], return_index=True)
    places, known = order[first], np.zeros(clicks.shape, np.bool_)
    known[clicks.users, clicks.items] = True
    is_training = np.ones(len(clicks), np.bool_)
    is_training[places] = False
    negatives = random.integers(0, clicks.shape[1], (len(users), 99))
    while (wrong := known[users[:, None], negatives]).any():
        negatives[wrong] = random.integers(0, clicks.shape[1], np.count_nonzero(wrong))
    ids = clicks.user_ids[users], clicks.item_ids[clicks.items[places]], clicks.item_ids[negatives]
    return make_ncf(clicks.take(is_training), Negatives(*ids, np.ones(negatives.shape, np.bool_)))


IMPLICIT_FACTORS = 64
MODELS = {  # class, parameters
    "CULSH-MF": ("LSHMF", {"loss": "cross-entropy"}),
    "CUSGD++": ("MatrixFactorization", {"loss": "cross-entropy"}),
    "iALS": ("MatrixFactorization", {"solver": "ials"}),
}


def list_grid(grid):
    """Return [dict] of all combinations of {name: values}."""
    return [dict(zip(grid, values)) for values in itertools.product(*grid.values())]


class LearningCurve(NamedTuple):
    """Quality by epoch.

    quality : [(HR, NDCG)] after each epoch
    times : seconds of training up to it
    parts : {name: seconds} before the training
    final : (HR, NDCG, HR and NDCG over the full ranking or None, None) of the resulting model
    """

    quality: list
    times: list
    parts: dict
    final: tuple

    def epoch_to(self, target):
        """Return the number, from 0, of the first epoch with HR of at least a target, or None."""
        return next((epoch for epoch, (hit_rate, _) in enumerate(self.quality) if hit_rate >= target), None)


def best_epoch(quality):
    """Return the number of the epoch with the highest HR."""
    return int(np.argmax([hit_rate for hit_rate, _ in quality]))


def make_models(device, seed=0):
    """Return {name: unfitted estimator} of MODELS."""
    return {
        name: getattr(factorization, kind)(feedback="implicit", device=device, random_state=seed, **parameters)
        for name, (kind, parameters) in MODELS.items()
    }


def train_model(model, ncf, seconds):
    """Fit an estimator and return its LearningCurve."""
    run = model.prepare(ncf.clicks)
    quality, times = train_run(run, ncf, seconds)
    ids = ncf.clicks.user_ids, ncf.clicks.item_ids
    model.device_, model.feedback_ = str(run.device), run.settings.feedback
    model.set_fitted(run.complete(run.session.state()), run.session.history, run.scale, *ids)
    return LearningCurve(quality, times, dict(run.clock.seconds), final_quality(model, ncf))


def make_ials(device, seed=0, **parameters):
    """Return the unfitted estimator of iALS."""
    common = {"solver": "ials", "feedback": "implicit", "device": device, "random_state": seed}
    return factorization.MatrixFactorization(**common, **parameters)


def train_ials(parameters, ncf, seed, clock):
    """Return the LearningCurve of iALS on the CPU with all hyperparameters fixed."""
    run = make_ials("cpu", seed, **parameters).prepare(ncf.clicks)
    quality, times = train_run(run, ncf, float("inf"), clock)
    return LearningCurve(quality, times, {}, (*quality[-1], None, None))


def train_run(run, ncf, seconds, clock=time.perf_counter):
    """Return `record_epochs` of a factorization's run.Run."""
    session, start = run.session, run.session.state()
    run.training.epoch(0)  # compiles, warms up
    session.finish()
    session.restart(start)
    query, shape = session.ask(*ncf.pairs), ncf.candidates.items.shape

    def train_epoch(number):
        run.training.epoch(number)
        session.finish()

    def evaluate():
        return ncf.evaluate(session.predict(query).reshape(shape))

    epochs = map(train_epoch, range(run.settings.epochs))
    return record_epochs(epochs, evaluate, clock, lambda quality, total: total >= seconds)


def final_quality(fitted, ncf):
    """Return (HR@10, NDCG@10) among the negatives, and the same over the full ranking, of a fitted model."""
    sampled = judging.judge_sampled({"": fitted}, ncf.tests, baselines=False).rows(10)[0]
    full = fitted.evaluate_lists((ncf.tests.users, ncf.tests.clicks), baselines=False).rows(10)[0]
    return sampled["hr"], sampled["ndcg"], full["hr"], full["ndcg"]


def train_implicit(ncf, seed=0, clock=time.perf_counter, **parameters):
    """Return the LearningCurve of implicit's ALS on the CPU; evaluations between its iterations are not timed."""
    from implicit.cpu.als import AlternatingLeastSquares
    from scipy import sparse
    from threadpoolctl import threadpool_limits

    clicks, times, quality = ncf.clicks, [], []
    matrix = sparse.csr_matrix((clicks.values, (clicks.users, clicks.items)), clicks.shape)
    users, items = ncf.pairs

    class Timed(AlternatingLeastSquares):
        start = 0.0

        @property
        def solver(self):
            """Start the clock: the package reads this property just before its first iteration."""
            self.start = clock()
            return super().solver

        def record(self, number, seconds, loss):
            times.append(clock() - self.start + (times[-1] if times else 0.0))
            scores = np.einsum("nf,nf->n", self.user_factors[users], self.item_factors[items])
            quality.append(ncf.evaluate(scores.reshape(ncf.candidates.items.shape)))
            self.start = clock()

    with threadpool_limits(1, "blas"):  # the package recommends it
        model = Timed(factors=IMPLICIT_FACTORS, iterations=15, random_state=seed, **parameters)
        model.fit(matrix, show_progress=False, callback=model.record)
    return LearningCurve(quality, times, {}, (*quality[-1], None, None))


REAL, LARGE = "ncf ml-1m", "ml-20m"
IALS = {"n_epochs": 12, "regularization": 0.007, "unobserved_weight": 0.3}  # of Rendle et al. 2022
FACTORS = 64, 128, 256, 512, 1024
SAMPLES = {True: 5, False: 3}  # epochs, on a GPU or not


def make_clicks(name, conditions):
    """Return (Ratings with values of 1, 'real' or 'generated')."""
    users, items, clicks = 138_493, 26_744, 20_000_263  # of MovieLens 20M
    if name == LARGE:
        scale, shape = conditions.scale, synth.SHAPES["ml-10m"]
        sides = round(users * scale**0.5), round(items * scale**0.5), round(clicks * scale)
        return as_clicks(synth.generate(synth.resize_shape(shape, *sides), 0)[0]), "generated"
    table = read_ratings(require_data(conditions.data, "ncf/ml-1m.train.rating"))
    return as_clicks(table.take(table.users < conditions.scale * table.shape[0])), "real"


def prepare_ials(clicks, factors, row_solver, device):
    """Return the run.Run of iALS with a row solver."""
    return make_ials(device, n_factors=factors, row_solver=row_solver, **IALS).prepare(clicks)


def row_solvers(factors):
    """Return the row solvers for a number of factors: a block must hold the matrix for elimination."""
    return [solver for solver in formulas.WAYS if solver != "cholesky" or factors <= MOST_FACTORS]


def ials(conditions):
    """Time an epoch of iALS, both sides, by each row solver; on real clicks, measure the quality."""
    for name in conditions.select((REAL, LARGE)):
        clicks, kind = make_clicks(name, conditions)
        data = shape_name(name, conditions.scale), kind
        ncf = read(conditions.data) if name == REAL and conditions.scale == 1 else None
        for factors in FACTORS:
            solvers = row_solvers(factors)
            results = {solver: measure_ials(clicks, factors, solver, conditions.device, ncf) for solver in solvers}
            fastest = min(solvers, key=lambda solver: np.median(results[solver][0]))
            for solver, (samples, quality) in results.items():
                parts = f"{len(clicks):,} clicks", quality, "the fastest way" * (solver == fastest)
                note = "; ".join(filter(None, parts))
                yield Row(f"one epoch iALS F={factors} by {solver}", *data, samples, "ms", note)


def measure_ials(clicks, factors, row_solver, device, ncf):
    """Return (milliseconds of epochs, the quality after all epochs as text, '' if ncf is None)."""
    run = prepare_ials(clicks, factors, row_solver, device)
    start = run.session.state()
    samples = milliseconds(functools.partial(run.training.epoch, 0), SAMPLES[device.is_cuda])
    check_scores(run)
    if ncf is None:
        return samples, ""
    run.session.restart(start)
    for number in range(IALS["n_epochs"]):
        run.training.epoch(number)
    scores = run.session.predict(run.session.ask(*ncf.pairs))
    hit_rate, ndcg = ncf.evaluate(scores.reshape(ncf.candidates.items.shape))
    return samples, f"HR@10 {hit_rate:.4f} NDCG@10 {ndcg:.4f} after {IALS['n_epochs']} epochs"


def check_scores(run):
    """Raise DataError unless clicked items have higher scores than random ones."""
    state, first = run.session.state(), slice(0, 10_000)
    users, items = run.ratings.users[first], run.ratings.items[first]
    random_items = np.random.default_rng(0).integers(0, run.ratings.shape[1], len(items))
    U, V = state.user_factors[users], state.item_factors
    clicked, others = ((U * V[rows]).sum(axis=1).mean() for rows in (items, random_items))
    if not clicked > 2 * others + 0.01:
        raise DataError(f"the benchmark's clicks score {clicked:.3f}, others {others:.3f}.")
