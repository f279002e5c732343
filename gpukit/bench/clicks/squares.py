"""Benchmarks of iALS, functions of Conditions that yield record.Rows: epochs by both ways of solving, on MovieLens 1M
(real) and the shape of MovieLens 20M (generated)."""

import functools
import itertools
from pathlib import Path

import numpy as np

from gpukit.bench.conditions import shape_name
from gpukit.bench.record import Row
from gpukit.bench.timing import milliseconds
from gpukit.errors import DataError
from gpukit.factorization.solvers.ials import plan
from gpukit.ratings.table import Ratings

REAL, LARGE = "ncf ml-1m", "ml-20m"
USERS, ITEMS, CLICKS = 138_493, 26_744, 20_000_263  # of MovieLens 20M
NAMED = {"n_epochs": 12, "regularization": 0.007, "unobserved_weight": 0.3}  # of Rendle et al. 2022: nothing is tried
FACTORS = {REAL: (64, 192), LARGE: (256,)}


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
    ones = np.ones(len(ratings), np.float32)
    clicks = Ratings(ratings.users, ratings.items, ones, ratings.user_ids, ratings.item_ids)
    return clicks, "generated" if like == LARGE else "real"


def begun(clicks, factors, way, device):
    """The run.Run of iALS whose rows are solved for in a way of solvers.ials.plan."""
    from gpukit.factorization import MatrixFactorization

    rule = plan.way_of
    try:
        plan.way_of = lambda *facts: way
        named = {"n_factors": factors, "device": device, **NAMED}
        return MatrixFactorization(solver="ials", feedback="implicit", **named).prepare(clicks)
    finally:
        plan.way_of = rule


def epochs(conditions):
    """An epoch of iALS, both sides, by each way."""
    for like in conditions.among(FACTORS):
        clicks, data = clicks_of(like, conditions)
        shape = like if like == REAL else shape_name(like, conditions.scale)
        for factors, way in itertools.product(FACTORS[like], plan.WAYS):
            run = begun(clicks, factors, way, conditions.device)
            samples = milliseconds(functools.partial(run.training.epoch, 0), 7 if conditions.device.is_cuda else 3)
            check_learned(run)
            yield Row(f"one epoch iALS F={factors} by {way}", shape, data, samples, "ms", f"{len(clicks):,} clicks")
            del run


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
