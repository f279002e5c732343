"""Trainings on clicks with HR and NDCG after each epoch: gpukit's estimators and implicit's ALS."""

import time
from typing import NamedTuple

import numpy as np

from gpukit import factorization
from gpukit.factorization.answers import judging

IMPLICIT_FACTORS, IMPLICIT_ITERATIONS = 64, 15
MODELS = {  # class, parameters
    "CULSH-MF": ("LSHMF", {"loss": "cross-entropy"}),
    "CUSGD++": ("MatrixFactorization", {"loss": "cross-entropy"}),
    "iALS": ("MatrixFactorization", {"solver": "ials"}),
}


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


def record_epochs(epochs, evaluate, seconds, clock, patience=float("inf")):
    """Return ([(HR, NDCG)], [seconds up to it]) of an iterable that runs an epoch when it is advanced.

    It ends with the epochs, after a number of seconds, or if HR has not risen for `patience` epochs. evaluate() is not
    timed; clock() waits for the end of all work.
    """
    quality, times, total, start = [], [], 0.0, clock()
    for _ in epochs:
        total += clock() - start
        times.append(total)
        quality.append(evaluate())
        if total >= seconds or len(quality) - 1 - best_epoch(quality) >= patience:
            break
        start = clock()
    return quality, times


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


def train_ials(parameters, ncf, seed, clock):
    """Return the LearningCurve of iALS on the CPU with all hyperparameters fixed."""
    model = factorization.MatrixFactorization(solver="ials", feedback="implicit", device="cpu", random_state=seed)
    quality, times = train_run(model.set_params(**parameters).prepare(ncf.clicks), ncf, float("inf"), clock)
    return LearningCurve(quality, times, {}, (*quality[-1], None, None))


def train_run(run, ncf, seconds, clock=time.perf_counter):
    """Return `record_epochs` of a factorization's run.Run."""
    session, start = run.session, run.session.state()
    run.training.epoch(0)  # compiles, warms up
    session.finish()
    session.restart(start)
    query, shape = session.ask(*ncf.pairs), ncf.candidates.items.shape

    def epochs():
        for number in range(run.settings.epochs):
            run.training.epoch(number)
            session.finish()
            yield number

    return record_epochs(epochs(), lambda: ncf.evaluate(session.predict(query).reshape(shape)), seconds, clock)


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
        model = Timed(factors=IMPLICIT_FACTORS, iterations=IMPLICIT_ITERATIONS, random_state=seed, **parameters)
        model.fit(matrix, show_progress=False, callback=model.record)
    return LearningCurve(quality, times, {}, (*quality[-1], None, None))
