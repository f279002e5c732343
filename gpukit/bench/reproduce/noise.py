"""What the paper says of noise (Li et al. 2022, section 5.3, Table 8): some training ratings are replaced, and the test
RMSE rises; on MovieLens 1M (real), and generated ratings where they are asked for. A function of Conditions that yields
record.Rows.

The paper does not say what noise is. Here a share of the training ratings, drawn by a seed, take another's place on the
scale: one of the values that occur, all as likely, perhaps the old one. Trainings are deterministic, and a seed's clean
and noisy ones differ in these ratings alone.
"""

import numpy as np

from gpukit.bench.record import Row
from gpukit.bench.reproduce.neighbors import inputs

RATES = (0.01, 0.005, 0.001, 0.0005, 0.0001)
PRINTED = {  # Netflix, MovieLens 10M, Yahoo! Music, for each rate
    "CUSGD++": (
        (0.00116, 0.00055, 0.00032, 0.00018, 0.00011),
        (0.00157, 0.00092, 0.00040, 0.00028, 0.00016),
        (0.13840, 0.06012, 0.01404, 0.00814, 0.00412),
    ),
    "CULSH-MF": (
        (0.00096, 0.00045, 0.00011, 0.00002, 0.00001),
        (0.00166, 0.00076, 0.00006, 0.00004, 0.00002),
        (0.09770, 0.04792, 0.00954, 0.00424, 0.00194),
    ),
}
DATA = ("netflix", "ml-10m", "yahoo")
FACTORS, NEIGHBORS = {"CUSGD++": 128, "CULSH-MF": 32}, 32
SEEDS = 5


def noisy(ratings, rate, seed):
    """Ratings of which round(rate n) are replaced by values that occur, drawn from default_rng(seed)."""
    draw, values = np.random.default_rng(seed), ratings.values.copy()
    where = draw.choice(len(values), round(rate * len(values)), replace=False)
    values[where] = draw.choice(np.unique(ratings.values), len(where))
    return ratings.with_columns(**{**ratings.columns(), "values": values})


def model(name, device, seed):
    """The estimator of a row of Table 8, not fitted."""
    from gpukit.factorization import LSHMF, MatrixFactorization

    common = {"n_factors": FACTORS[name], "deterministic": True, "device": device, "random_state": seed}
    return MatrixFactorization(**common) if name == "CUSGD++" else LSHMF(n_neighbors=NEIGHBORS, **common)


def rises(name, train, test, device):
    """(clean RMSE (SEEDS,), {rate: rise of RMSE (SEEDS,)}) of a model."""
    clean, found = [], {rate: [] for rate in RATES}
    for seed in range(SEEDS):
        clean.append(model(name, device, seed).fit(train).evaluate(test)["rmse"])
        for rate in RATES:
            worse = model(name, device, seed).fit(noisy(train, rate, seed)).evaluate(test)["rmse"]
            found[rate].append(worse - clean[-1])
    return clean, found


def printed(name, place, shape):
    """What Table 8 has for a model and the rate at a place, as text; MovieLens 10M's where the shape is not its own."""
    data = DATA.index(shape.split()[0]) if shape.split()[0] in DATA else 1
    return f"the paper: {PRINTED[name][data][place]:.5f}, {('Netflix', 'MovieLens 10M', 'Yahoo! Music')[data]}"


def table8(conditions):
    """How much the test RMSE of CUSGD++ (F = 128) and CULSH-MF (F = K = 32) rises by noise in the training ratings."""
    for train, test, shape, data in inputs(conditions, (), DATA):
        for name in PRINTED:
            clean, found = rises(name, train, test, conditions.device)
            for place, (rate, samples) in enumerate(found.items()):
                error = np.std(samples, ddof=1) / len(samples) ** 0.5
                note = f"mean {np.mean(samples):.5f}, standard error {error:.5f}, {len(samples)} seeds; "
                note += f"clean {np.mean(clean):.4f}; {printed(name, place, shape)}"
                yield Row(f"Table 8 rise of RMSE by {100 * rate:g} % noise {name}", shape, data, samples, "RMSE", note)


BENCHES = {"table8": table8}
