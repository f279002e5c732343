"""Noise (Li et al. 2022, section 5.3, Table 8): the rise of the test RMSE if training ratings are replaced.

It runs on MovieLens 1M (real), and on generated ratings if they are named. The paper does not define noise. Here a
random fraction of the training ratings is replaced by values that occur, all with the same probability, perhaps the old
one. Trainings are deterministic, and the clean and noisy ones of a seed differ in these ratings alone.
"""

import numpy as np

from gpukit.bench.record import Row
from gpukit.bench.reproduce.inputs import PAPER_DATA, printed_column, read_inputs

RATES = (0.01, 0.005, 0.001, 0.0005, 0.0001)
PRINTED = {  # by column of inputs.PAPER_DATA, for each rate
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
FACTORS, NEIGHBORS = {"CUSGD++": 128, "CULSH-MF": 32}, 32
SEEDS = 5


def add_noise(ratings, rate, seed):
    """Return the ratings with round(rate n) values replaced by random values that occur."""
    random, values = np.random.default_rng(seed), ratings.values.copy()
    places = random.choice(len(values), round(rate * len(values)), replace=False)
    values[places] = random.choice(np.unique(ratings.values), len(places))
    return ratings.with_columns(**{**ratings.columns(), "values": values})


def make_model(name, device, seed):
    """Return the unfitted estimator of a row of Table 8."""
    from gpukit.factorization import LSHMF, MatrixFactorization

    common = {"n_factors": FACTORS[name], "deterministic": True, "device": device, "random_state": seed}
    return MatrixFactorization(**common) if name == "CUSGD++" else LSHMF(n_neighbors=NEIGHBORS, **common)


def measure_rises(name, train, test, device):
    """Return (clean RMSE (SEEDS,), {rate: rise of RMSE (SEEDS,)}) of a model."""
    clean, rises = [], {rate: [] for rate in RATES}
    for seed in range(SEEDS):
        clean.append(make_model(name, device, seed).fit(train).evaluate(test)["rmse"])
        for rate in RATES:
            noisy = make_model(name, device, seed).fit(add_noise(train, rate, seed)).evaluate(test)["rmse"]
            rises[rate].append(noisy - clean[-1])
    return clean, rises


def table8(conditions):
    """Measure the rise of the test RMSE of CUSGD++ (F = 128) and CULSH-MF (F = K = 32) by noise."""
    for train, test, shape, data in read_inputs(conditions, (), tuple(PAPER_DATA)):
        column, title = printed_column(shape)
        for name, printed in PRINTED.items():
            clean, rises = measure_rises(name, train, test, conditions.device)
            for (rate, samples), value in zip(rises.items(), printed[column]):
                error = np.std(samples, ddof=1) / len(samples) ** 0.5
                note = f"mean {np.mean(samples):.5f}, standard error {error:.5f}, {len(samples)} seeds; "
                note += f"clean {np.mean(clean):.4f}; the paper: {value:.5f}, {title}"
                yield Row(f"Table 8 rise of RMSE by {100 * rate:g} % noise {name}", shape, data, samples, "RMSE", note)
