"""The estimators that learn clicks, by name."""

import time

from gpukit import factorization
from gpukit.bench.clicks import course
from gpukit.factorization.answers import judging

MODELS = {  # class, parameters
    "CULSH-MF": ("LSHMF", {"loss": "cross-entropy"}),
    "CUSGD++": ("MatrixFactorization", {"loss": "cross-entropy"}),
    "iALS": ("MatrixFactorization", {"solver": "ials"}),
}


def models(device, seed=0):
    """{name: estimator, not fitted} of MODELS."""
    found = {}
    for name, (kind, parameters) in MODELS.items():
        found[name] = getattr(factorization, kind)(feedback="implicit", device=device, random_state=seed, **parameters)
    return found


def trained(model, ncf, seconds):
    """The course.Course of an estimator, which is fitted then: each epoch is judged, its time alone counted."""
    run = model.prepare(ncf.clicks)
    found, times = epochs_of(run, ncf, seconds)
    ids = ncf.clicks.user_ids, ncf.clicks.item_ids
    model.device_, model.feedback_ = str(run.device), run.settings.feedback
    model.set_fitted(run.complete(run.session.state()), run.session.history, run.scale, *ids)
    return course.Course(found, times, dict(run.clock.seconds), final(model, ncf))


def least_squares(named, ncf, seed, clock):
    """The course.Course of iALS on the CPU with named settings, none of which is left to choose, by a clock."""
    model = factorization.MatrixFactorization(solver="ials", feedback="implicit", device="cpu", random_state=seed)
    found, times = epochs_of(model.set_params(**named).prepare(ncf.clicks), ncf, float("inf"), clock)
    return course.Course(found, times, {}, (*found[-1], None, None))


def epochs_of(run, ncf, seconds, clock=time.perf_counter):
    """course.run of a factorization's run.Run."""
    session, start = run.session, run.session.state()
    run.training.epoch(0)  # compiles, warms up
    session.finish()
    session.restart(start)
    asked, shape = session.ask(*ncf.pairs), ncf.found.items.shape

    def epochs():
        for number in range(run.settings.epochs):
            run.training.epoch(number)
            session.finish()
            yield number

    return course.run(epochs(), lambda: ncf.judged(session.predict(asked).reshape(shape)), seconds, clock)


def final(fitted, ncf):
    """(HR@10, NDCG@10 among the negatives, HR@10 and NDCG@10 over the full ranking) of a fitted model."""
    some = judging.judge_sampled({"": fitted}, ncf.tests, baselines=False).rows(10)[0]
    full = fitted.evaluate_lists((ncf.tests.users, ncf.tests.clicks), baselines=False).rows(10)[0]
    return some["hr"], some["ndcg"], full["hr"], full["ndcg"]
