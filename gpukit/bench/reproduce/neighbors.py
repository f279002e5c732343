"""What the paper says of neighbours (Li et al. 2022, section 5.3): Table 7 and Figs. 7 to 10, on MovieLens 1M (real)
and the shape of MovieLens 10M (generated). Each is a function of Conditions that yields record.Rows."""

import functools
import itertools

import numpy as np

from gpukit.bench.conditions import shape_name
from gpukit.bench.ratings import converging, finished, generated, movielens
from gpukit.bench.record import Row
from gpukit.bench.timing import milliseconds
from gpukit.device.engine import engine
from gpukit.neighbors import plan, search
from gpukit.neighbors.columns import columns_of

F = K = 32
SHAPES, MORE = ("ml-10m",), ("netflix", "yahoo")
REAL = "MovieLens 1M"


WAYS = {  # parameters of SimLSH, as Table 7 names them
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
PRINTED = {  # Table 7: RMSE, seconds on a P100, MB; Netflix, MovieLens 10M, Yahoo! Music
    "random": ((0.9157, 0, 0), (0.7947, 0, 0), (21.99, 0, 0)),
    "GSM": ((0.9136, 422.996, 1204.578), (0.7890, 27.150, 434.869), (21.81, 295.417, 611.209)),
    "simLSH buckets p=3 q=100": ((0.9137, 15.414, 20.336), (0.7893, 2.777, 12.219), (21.83, 25.994, 14.486)),
    "simLSH buckets p=3 q=200": ((0.9135, 31.017, 40.672), (0.7888, 5.602, 24.438), (21.81, 52.012, 28.972)),
    "RP_cos buckets p=3 q=200": ((0.9139, 47.262, 40.672), (0.7896, 8.184, 24.438), (21.87, 78.953, 28.972)),
    "minHash buckets p=3 q=200": ((0.9138, 270.003, 40.672), (0.7892, 38.224, 24.438), (21.82, 319.831, 28.972)),
}
PAPERS = {"netflix": (0, "Netflix"), "ml-10m": (1, "MovieLens 10M"), "yahoo": (2, "Yahoo! Music")}


def printed(name, shape):
    """What Table 7 has for a way, as notes of RMSE, time and space; MovieLens 10M's where the shape is not its own."""
    place, data = PAPERS.get(shape.split()[0], PAPERS["ml-10m"])
    if name not in PRINTED:
        return "", "", ""
    return [f"the paper: {value:g}{unit}, {data}" for value, unit in zip(PRINTED[name][place], ("", " s", " MB"))]


def inputs(conditions, shapes=SHAPES, more=MORE):
    """(train, test, name, 'real' or 'generated') of the ratings to measure on; shapes: the usual ones, and more."""
    if conditions.data is not None and not conditions.shapes:
        yield *movielens(conditions.data), REAL, "real"
    for like in conditions.among(shapes, more):
        yield *generated(like, conditions.scale), shape_name(like, conditions.scale), "generated"


def model_of(parameters, device, **more):
    """An LSHMF, not fitted, with the neighbours that a SimLSH of these parameters finds."""
    from gpukit.factorization import LSHMF

    renamed = {"p": "lsh_p", "q": "lsh_q", "bits": "lsh_bits", "psi": "lsh_psi"}
    given = {renamed.get(name, name): value for name, value in parameters.items()}
    return LSHMF(**{"n_factors": F, "n_neighbors": K, "device": device, **given, **more})


def search_bytes(settings, n_items, device):
    """Bytes that a search keeps beside the ratings: codes, tables of the buckets, keys of a stripe of rows, lists."""
    card, steps = search.card(settings.search), engine(device, "gpukit.neighbors")
    kept = 8 * n_items * settings.n_neighbors
    if card.READS_CODES:
        kept += 4 * n_items * settings.n_words
    if settings.search == "buckets":
        kept += 8 * settings.q * n_items
    if card.worst(settings):
        kept += 4 * n_items * plan.stripe_rows(n_items, steps.STRIPE_BYTES)
    return kept


def overlap(found, exact):
    """The share of the neighbours of one plan.Found that another has, slots filled at random left out of both."""
    pairs = zip(*(np.where(np.isnan(lists.scores), -1, lists.neighbors) for lists in (found, exact)), strict=True)
    shared = sum(len(set(mine) & set(right) - {-1}) for mine, right in pairs)
    return shared / max(1, exact.neighbors.size - exact.random_slots)


def searched(train, device):
    """A function of parameters: (plan.Found on the host, plan.Settings, seconds of warm searches) on these ratings."""
    from gpukit.neighbors import SimLSH
    from gpukit.ratings.orders.order import order_ratings

    steps, table = engine(device, "gpukit.neighbors"), columns_of(order_ratings(train, device))

    def find(parameters):
        settings = SimLSH(n_neighbors=K, **parameters).check()
        found = steps.find(table, settings)
        found = found._replace(neighbors=steps.fetch(found.neighbors), scores=steps.fetch(found.scores))
        return found, settings, milliseconds(functools.partial(steps.find, table, settings), 5, 1)

    return find


def table7(conditions):
    """RMSE, time and space of the ways to find neighbours, and how many of the exact ones they find."""
    for train, test, *data in inputs(conditions):
        find = searched(train, conditions.device)
        exact, *_ = find(WAYS["GSM"])
        for name, parameters in WAYS.items():
            found, settings, times = find(parameters)
            rmse = model_of(parameters, conditions.device).fit(train).evaluate(test)["rmse"]
            space = search_bytes(settings, train.shape[1], conditions.device) / 2**20
            slots = f"{found.random_slots / found.neighbors.size:.1%} of the slots random"
            of_rmse, of_time, of_space = printed(name, data[0])
            yield Row(f"Table 7 RMSE {name}", *data, [rmse], "RMSE", of_rmse)
            yield Row(f"Table 7 time {name}", *data, times, "ms", of_time)
            yield Row(f"Table 7 space {name}", *data, [space], "MiB", of_space)
            yield Row(f"Table 7 found of GSM's {name}", *data, [100 * overlap(found, exact)], "%", slots)


def curve(estimator, train, test, device):
    """(RMSE after each epoch, its points as text 'second RMSE', neighbours and preparation included) when warm."""
    for _ in range(2):
        errors, times, parts = converging(estimator, train, test, device)
    finished(device)
    return errors, points(times, errors, parts["neighbours"] + parts["prepare"])


def points(times, errors, before):
    """A curve as text 'second RMSE; ...', each second with those before training."""
    return "; ".join(f"{before + second:.3f} s {error:.4f}" for second, error in zip(times, errors, strict=True))


def best_row(what, estimator, data, device):
    """The Row of a training: its lowest RMSE, the whole curve as a note."""
    train, test, shape, kind = data
    errors, text = curve(estimator, train, test, device)
    return Row(what, shape, kind, [min(errors)], "RMSE", text)


def fig7(conditions):
    """RMSE by second for each way to find neighbours."""
    for data in inputs(conditions):
        for name, parameters in WAYS.items():
            yield best_row(f"Fig. 7 {name}", model_of(parameters, conditions.device), data, conditions.device)


def fig8(conditions):
    """RMSE for p and q, by both searches."""
    for train, test, shape, kind in inputs(conditions):
        for way, p, q in itertools.product(("hamming", "buckets"), (1, 2, 3), (50, 100, 200)):
            model = model_of({"search": way, "p": p, "q": q}, conditions.device).fit(train)
            rmse, note = model.evaluate(test)["rmse"], f"{model.random_share_:.1%} of the slots random"
            yield Row(f"Fig. 8 simLSH {way} p={p} q={q}", shape, kind, [rmse], "RMSE", note)


def fig9(conditions):
    """RMSE for F and K; K = 0 is CUSGD++."""
    from gpukit.factorization import MatrixFactorization

    for data in inputs(conditions):
        for factors in (32, 64, 96, 128):
            plain = MatrixFactorization(factors, device=conditions.device)
            yield best_row(f"Fig. 9 F={factors} K=0", plain, data, conditions.device)
            for k in (32, 64, 96, 128):
                near = model_of({"n_neighbors": k}, conditions.device, n_factors=factors)
                yield best_row(f"Fig. 9 F={factors} K={k}", near, data, conditions.device)


def fig10(conditions):
    """RMSE by second of CULSH-MF at K = 32 and CUSGD++, both at F = 128."""
    from gpukit.factorization import MatrixFactorization

    for data in inputs(conditions):
        models = {
            "CULSH-MF F=128 K=32": model_of({}, conditions.device, n_factors=128),
            "CUSGD++ F=128": MatrixFactorization(128, device=conditions.device),
        }
        for name, model in models.items():
            yield best_row(f"Fig. 10 {name}", model, data, conditions.device)


BENCHES = {"table7": table7, "fig7": fig7, "fig8": fig8, "fig9": fig9, "fig10": fig10}
