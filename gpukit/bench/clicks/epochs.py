"""Benchmarks of iALS, functions of Conditions that yield record.Rows: epochs by each way of solving, on MovieLens 1M
(real) and the shape of MovieLens 20M (generated)."""

import functools
from pathlib import Path

import numpy as np

from gpukit.bench.conditions import shape_name
from gpukit.bench.record import Row
from gpukit.bench.timing import milliseconds
from gpukit.errors import DataError
from gpukit.factorization.solvers.ials import plan
from gpukit.factorization.solvers.squares.plan import is_direct
from gpukit.ratings.table import Ratings

REAL, LARGE = "ncf ml-1m", "ml-20m"
USERS, ITEMS, CLICKS = 138_493, 26_744, 20_000_263  # of MovieLens 20M
NAMED = {"n_epochs": 12, "regularization": 0.007, "unobserved_weight": 0.3}  # of Rendle et al. 2022: nothing is tried
FACTORS = 64, 128, 256, 512, 1024
SAMPLES = {True: 5, False: 3}  # epochs, on a GPU or not


def clicks_of(like, conditions):
    """(Ratings whose values are 1, 'real' or 'generated') of a name of FACTORS."""
    from gpukit.ratings import read_ratings
    from gpukit.ratings.generated import synth

    if like == LARGE:
        share, shape = conditions.scale, synth.SHAPES["ml-10m"]
        sides = round(USERS * share**0.5), round(ITEMS * share**0.5), round(CLICKS * share)
        ratings = synth.generate(synth.resized(shape, *sides), 0)[0]
    elif conditions.data is None:
        raise DataError(
            "NCF's MovieLens 1M is needed: set GPUKIT_DATA to the folder that holds ncf/ml-1m.train.rating."
        )
    else:
        ratings = read_ratings(Path(conditions.data) / "ncf" / "ml-1m.train.rating")
        ratings = ratings.take(ratings.users < conditions.scale * ratings.shape[0])
    ones = np.ones(len(ratings), np.float32)
    clicks = Ratings(ratings.users, ratings.items, ones, ratings.user_ids, ratings.item_ids)
    return clicks, "generated" if like == LARGE else "real"


def begun(clicks, factors, way, device):
    """The run.Run of iALS whose rows are solved for in a way of solvers.ials.plan."""
    from gpukit.factorization import MatrixFactorization

    named = {"n_factors": factors, "row_solver": way, "device": device, **NAMED}
    return MatrixFactorization(solver="ials", feedback="implicit", **named).prepare(clicks)


def ways_for(factors):
    """The ways that can be had with so many factors: elimination as far as a block holds a matrix."""
    return [way for way in plan.WAYS if way != "cholesky" or is_direct(factors)]


def epochs(conditions):
    """An epoch of iALS, both sides, by each way, and which is the fastest; on real clicks, what it comes to."""
    from gpukit.bench.clicks import ncf_data

    for like in conditions.among((REAL, LARGE)):
        clicks, data = clicks_of(like, conditions)
        where = shape_name(like, conditions.scale), data
        judge = ncf_data.read(conditions.data) if like == REAL and conditions.scale == 1 else None
        for factors in FACTORS:
            ways = ways_for(factors)
            measured = [measure(clicks, factors, way, conditions.device, judge) for way in ways]
            best = min(range(len(ways)), key=lambda at: np.median(measured[at][0]))
            for at, (way, (samples, quality)) in enumerate(zip(ways, measured)):
                note = "; ".join(filter(None, (f"{len(clicks):,} clicks", quality, "the fastest way" * (at == best))))
                yield Row(f"one epoch iALS F={factors} by {way}", *where, samples, "ms", note)


def measure(clicks, factors, way, device, ncf):
    """(milliseconds of epochs, what the epochs of NAMED come to as text): by a ncf_data.Ncf, '' for None."""
    run = begun(clicks, factors, way, device)
    start = run.session.state()
    samples = milliseconds(functools.partial(run.training.epoch, 0), SAMPLES[device.is_cuda])
    check_learned(run)
    if ncf is None:
        return samples, ""
    run.session.restart(start)
    for number in range(NAMED["n_epochs"]):
        run.training.epoch(number)
    scores = run.session.predict(run.session.ask(*ncf.pairs))
    hits, gain = ncf.judged(scores.reshape(ncf.found.items.shape))
    return samples, f"HR@10 {hits:.4f} NDCG@10 {gain:.4f} after {NAMED['n_epochs']} epochs"


def check_learned(run):
    """DataError unless what users clicked has a higher score than what is drawn at random."""
    state, some = run.session.state(), slice(0, 10_000)
    users, items = run.ratings.users[some], run.ratings.items[some]
    others = np.random.default_rng(0).integers(0, run.ratings.shape[1], len(items))
    U, V = state.user_factors[users], state.item_factors
    clicked, drawn = ((U * V[rows]).sum(axis=1).mean() for rows in (items, others))
    if not clicked > 2 * drawn + 0.01:
        raise DataError(f"the benchmark's clicks score {clicked:.3f}, others {drawn:.3f}.")


BENCHES = {"ials": epochs}
