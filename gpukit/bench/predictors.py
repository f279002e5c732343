"""Predictors beside ours: each takes (train, test), Ratings of the same rows, and yields predictions (n,) of test, one
for each of its settings. The best is picked on the test set, which flatters all but ours."""

import contextlib
import importlib.util
import io

import numpy as np

from gpukit import factorization

DAMPINGS, SWEEPS = (1.0, 3.0, 5.0, 10.0, 25.0), 10
LIBMF_DECAYS, LIBMF_ITERATIONS = (0.03, 0.06, 0.1, 0.15), 20
SURPRISE = {  # the package's own settings, and others that suit sparser ratings, or denser ones
    "SVD": (
        {},
        {"n_epochs": 30, "reg_all": 0.1},
        {"n_factors": 32, "n_epochs": 40, "reg_all": 0.08},
        {"n_epochs": 60, "lr_all": 0.01, "reg_all": 0.1},
    ),
    "SVDpp": ({}, {"n_epochs": 25, "lr_all": 0.005, "reg_all": 0.1}),
}


def global_mean(train, test):
    """The mean rating."""
    yield np.full(len(test), train.values.mean(dtype=np.float64))


def damped_biases(train, test):
    """mean + b_user + b_item, damped by so many ratings on both sides."""
    mean = train.values.mean(dtype=np.float64)
    for damping in DAMPINGS:
        user_bias, item_bias = np.zeros(train.shape[0]), np.zeros(train.shape[1])
        for _ in range(SWEEPS):
            item_bias = _damped(train.items, train.values - mean - user_bias[train.users], train.shape[1], damping)
            user_bias = _damped(train.users, train.values - mean - item_bias[train.items], train.shape[0], damping)
        yield mean + user_bias[test.users] + item_bias[test.items]


def _damped(rows, residuals, count, damping):
    return np.bincount(rows, residuals, count) / (np.bincount(rows, minlength=count) + damping)


def libmf(n_factors):
    """LIBMF's matrix factorization, by one thread."""

    def predictions(train, test):
        with contextlib.redirect_stdout(io.StringIO()):  # it greets whoever imports it
            from libmf import mf

        triples = np.stack([train.users, train.items, train.values], axis=1)
        for decay in LIBMF_DECAYS:
            decays = {"lambda_p1": 0.0, "lambda_q1": 0.0, "lambda_p2": decay, "lambda_q2": decay}  # 1: of L1 norms
            model = mf.MF(k=n_factors, nr_threads=1, nr_iters=LIBMF_ITERATIONS, quiet=True, **decays)
            model.fit(triples)
            users, items = model.p_factors(), model.q_factors()  # its own predict mixes up its rows
            known = (test.users < len(users)) & (test.items < len(items))
            found = np.full(len(test), np.nan)
            found[known] = (users[test.users[known]] * items[test.items[known]]).sum(axis=1)
            yield np.where(np.isnan(found), train.values.mean(dtype=np.float64), found)  # NaN: never rated

    return predictions


def surprise(name):
    """An algorithm of Surprise."""

    def predictions(train, test):
        import pandas
        import surprise as package

        frame = pandas.DataFrame({"user": train.users, "item": train.items, "rating": train.values})
        reader = package.Reader(rating_scale=train.scale)
        ratings = package.Dataset.load_from_df(frame, reader).build_full_trainset()
        for setting in SURPRISE[name]:
            model = getattr(package, name)(random_state=0, **setting).fit(ratings)
            yield np.array([model.predict(*pair).est for pair in zip(test.users.tolist(), test.items.tolist())])

    return predictions


def ours(name, device):
    """The estimator of that name, all defaults."""

    def predictions(train, test):
        yield getattr(factorization, name)(device=device).fit(train).predict(test, unknown="baseline")

    return predictions


def predictors(device):
    """{name: predictor} of all that can be had here; packages that are not installed are left out."""
    found = {"global mean": global_mean, "damped biases (1 to 25)": damped_biases}
    if importlib.util.find_spec("libmf"):
        found |= {f"LIBMF k={count}": libmf(count) for count in (32, 128)}
    if importlib.util.find_spec("surprise"):
        found |= {"Surprise SVD": surprise("SVD"), "Surprise SVD++": surprise("SVDpp")}
    return found | {f"{name}, defaults": ours(name, device) for name in ("MatrixFactorization", "LSHMF")}
