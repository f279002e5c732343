"""Neighbours (Li et al. 2022, section 5.3): Table 7 and Figs. 7 to 10.

They run on MovieLens 1M (real) and the shape of MovieLens 10M (generated).
"""

import functools
import itertools

import numpy as np

from gpukit.bench.measurement import Row, milliseconds
from gpukit.bench.ratings import printed_column, read_inputs, synchronize, time_convergence
from gpukit.bench.reproduce.solvers import SIZES
from gpukit.device.engine import engine
from gpukit.factorization import LSHMF, MatrixFactorization
from gpukit.neighbors import plan, search
from gpukit.neighbors.plan import columns_of
from gpukit.ratings.orders.order import order_ratings

SEARCHES = {  # parameters of SimLSH, by the names of Table 7
    "random": {"search": "random"},
    "GSM": {"search": "exact"},
    "simLSH hamming p=3 q=100": {},
    "simLSH hamming p=3 q=200": {"q": 200},
    "simLSH buckets p=3 q=100": {"search": "buckets"},
    "simLSH buckets p=3 q=200": {"search": "buckets", "q": 200},
    "simLSH buckets p=1 q=300": {"search": "buckets", "p": 1, "q": 300},
    "RP_cos hamming p=3 q=200": {"hash": "projection", "q": 200},
    "RP_cos buckets p=3 q=200": {"hash": "projection", "search": "buckets", "q": 200},
    "minHash hamming p=3 q=200": {"hash": "minhash", "q": 200},
    "minHash buckets p=3 q=200": {"hash": "minhash", "search": "buckets", "q": 200},
}
PRINTED = {  # Table 7: RMSE, seconds on a P100, MB, by column of inputs.PAPER_DATA
    "random": ((0.9157, 0, 0), (0.7947, 0, 0), (21.99, 0, 0)),
    "GSM": ((0.9136, 422.996, 1204.578), (0.7890, 27.150, 434.869), (21.81, 295.417, 611.209)),
    "simLSH buckets p=3 q=100": ((0.9137, 15.414, 20.336), (0.7893, 2.777, 12.219), (21.83, 25.994, 14.486)),
    "simLSH buckets p=3 q=200": ((0.9135, 31.017, 40.672), (0.7888, 5.602, 24.438), (21.81, 52.012, 28.972)),
    "RP_cos buckets p=3 q=200": ((0.9139, 47.262, 40.672), (0.7896, 8.184, 24.438), (21.87, 78.953, 28.972)),
    "minHash buckets p=3 q=200": ((0.9138, 270.003, 40.672), (0.7892, 38.224, 24.438), (21.82, 319.831, 28.972)),
}


def printed_notes(name, shape):
    """Return the values of Table 7 for a search, as notes of RMSE, time and space."""
    column, title = printed_column(shape)
    if name not in PRINTED:
        return "", "", ""
    return [f"the paper: {value:g}{unit}, {title}" for value, unit in zip(PRINTED[name][column], ("", " s", " MB"))]


def make_model(parameters, device, **options):
    """Return an unfitted LSHMF with the neighbours of a SimLSH of these parameters."""
    renamed = {"p": "lsh_p", "q": "lsh_q", "bits": "lsh_bits", "psi": "lsh_psi"}
    parameters = {renamed.get(name, name): value for name, value in parameters.items()}
    return LSHMF(**{**SIZES, "device": device, **parameters, **options})


def search_bytes(settings, n_items, device):
    """Return the bytes of codes, bucket tables, keys of a stripe of rows and lists of a search."""
    card, steps = search.CARDS[settings.search], engine(device, "gpukit.neighbors.search")
    total = 8 * n_items * settings.n_neighbors
    if card.reads_codes:
        total += 4 * n_items * settings.n_words
    if settings.search == "buckets":
        total += 8 * settings.q * n_items
    if card.worst(settings):
        total += 4 * n_items * plan.stripe_rows(n_items, steps.stripe_bytes(n_items))
    return total


def overlap(result, exact):
    """Return the fraction of the exact neighbours that a plan.Found has, without slots filled at random."""
    pairs = zip(*(np.where(np.isnan(lists.scores), -1, lists.neighbors) for lists in (result, exact)), strict=True)
    shared = sum(len(set(row) & set(exact_row) - {-1}) for row, exact_row in pairs)
    return shared / max(1, exact.neighbors.size - exact.random_slots)


def make_search(train, device):
    """Return a function of parameters: (plan.Found on the host, plan.Settings, milliseconds of warm searches)."""
    from gpukit.neighbors import SimLSH

    steps, columns = engine(device, "gpukit.neighbors"), columns_of(order_ratings(train, device))

    def find(parameters):
        settings = SimLSH(n_neighbors=SIZES["n_neighbors"], **parameters).check()
        result = steps.find(columns, settings)
        result = result._replace(neighbors=steps.fetch(result.neighbors), scores=steps.fetch(result.scores))
        return result, settings, milliseconds(functools.partial(steps.find, columns, settings), 5)

    return find


def table7(conditions):
    """Measure RMSE, time and space of each search, and its fraction of the exact neighbours."""
    for train, test, *data in read_inputs(conditions):
        find = make_search(train, conditions.device)
        exact, *_ = find(SEARCHES["GSM"])
        for name, parameters in SEARCHES.items():
            result, settings, times = find(parameters)
            rmse = make_model(parameters, conditions.device).fit(train).evaluate(test)["rmse"]
            space = search_bytes(settings, train.shape[1], conditions.device) / 2**20
            slots = f"{result.random_slots / result.neighbors.size:.1%} of the slots random"
            rmse_note, time_note, space_note = printed_notes(name, data[0])
            yield Row(f"Table 7 RMSE {name}", *data, [rmse], "RMSE", rmse_note)
            yield Row(f"Table 7 time {name}", *data, times, "ms", time_note)
            yield Row(f"Table 7 space {name}", *data, [space], "MiB", space_note)
            yield Row(f"Table 7 found of GSM's {name}", *data, [100 * overlap(result, exact)], "%", slots)


def curve_row(what, estimator, data, device):
    """Return the row of a training's lowest RMSE on a warm device, with the curve from the neighbour search on."""
    train, test, shape, kind = data
    for _ in range(2):
        curve = time_convergence(estimator, train, test, device)
    synchronize(device)
    return Row(what, shape, kind, [min(curve.errors)], "RMSE", curve.text())


def fig7(conditions):
    """Measure RMSE by second for each search."""
    for data in read_inputs(conditions):
        for name, parameters in SEARCHES.items():
            yield curve_row(f"Fig. 7 {name}", make_model(parameters, conditions.device), data, conditions.device)


def fig8(conditions):
    """Measure RMSE for p and q by both searches."""
    for train, test, shape, kind in read_inputs(conditions):
        for name, p, q in itertools.product(("hamming", "buckets"), (1, 2, 3), (50, 100, 200)):
            model = make_model({"search": name, "p": p, "q": q}, conditions.device).fit(train)
            rmse, note = model.evaluate(test)["rmse"], f"{model.random_share_:.1%} of the slots random"
            yield Row(f"Fig. 8 simLSH {name} p={p} q={q}", shape, kind, [rmse], "RMSE", note)


def fig9(conditions):
    """Measure RMSE for F and K; K = 0 is CUSGD++."""
    for data in read_inputs(conditions):
        for factors in (32, 64, 96, 128):
            plain = MatrixFactorization(factors, device=conditions.device)
            yield curve_row(f"Fig. 9 F={factors} K=0", plain, data, conditions.device)
            for k in (32, 64, 96, 128):
                model = make_model({"n_neighbors": k}, conditions.device, n_factors=factors)
                yield curve_row(f"Fig. 9 F={factors} K={k}", model, data, conditions.device)


def table_5(shape):
    """Return the parameters of CULSH-MF that Table 5 and its text give for a shape; ours are per deviation."""
    names = "learning_rate", "influence_rate", "regularization", "influence_regularization", "lsh_psi"
    table = (0.02, 0.001, 0.01, 0.05, 2), (0.035, 0.002, 0.02, 0.002, 2), (0.02, 0.001, 0.02, 0.05, 4)
    return {"rates": "paper", "beta": 0.3, **dict(zip(names, table[printed_column(shape)[0]]))}


def fig10(conditions):
    """Measure RMSE by second of CULSH-MF with K = 32 and CUSGD++, both with F = 128; CULSH-MF with Table 5 too."""
    for data in read_inputs(conditions):
        models = {
            "CULSH-MF F=128 K=32": make_model({}, conditions.device, n_factors=128),
            "CULSH-MF F=128 K=32, Table 5": make_model(table_5(data[2]), conditions.device, n_factors=128),
            "CUSGD++ F=128": MatrixFactorization(128, device=conditions.device),
        }
        for name, model in models.items():
            yield curve_row(f"Fig. 10 {name}", model, data, conditions.device)
