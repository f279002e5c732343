"""Benchmarks of epochs on clicks.

iALS runs with each row solver on MovieLens 1M (real) and the shape of MovieLens 20M (generated).
"""

import functools

import numpy as np

from gpukit.bench import shape_name
from gpukit.bench.clicks import ncf_data
from gpukit.bench.measurement import Row, milliseconds, require_data
from gpukit.errors import DataError
from gpukit.factorization import MatrixFactorization
from gpukit.factorization.solvers.ials import formulas
from gpukit.factorization.solvers.squares.plan import MOST_FACTORS
from gpukit.ratings import read_ratings, synth

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
        return ncf_data.as_clicks(synth.generate(synth.resize_shape(shape, *sides), 0)[0]), "generated"
    table = read_ratings(require_data(conditions.data, "ncf/ml-1m.train.rating"))
    return ncf_data.as_clicks(table.take(table.users < conditions.scale * table.shape[0])), "real"


def prepare_ials(clicks, factors, row_solver, device):
    """Return the run.Run of iALS with a row solver."""
    parameters = {"n_factors": factors, "row_solver": row_solver, "device": device, **IALS}
    return MatrixFactorization(solver="ials", feedback="implicit", **parameters).prepare(clicks)


def row_solvers(factors):
    """Return the row solvers for a number of factors: a block must hold the matrix for elimination."""
    return [solver for solver in formulas.WAYS if solver != "cholesky" or factors <= MOST_FACTORS]


def ials(conditions):
    """Time an epoch of iALS, both sides, by each row solver; on real clicks, measure the quality."""
    for name in conditions.select((REAL, LARGE)):
        clicks, kind = make_clicks(name, conditions)
        data = shape_name(name, conditions.scale), kind
        ncf = ncf_data.read(conditions.data) if name == REAL and conditions.scale == 1 else None
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
