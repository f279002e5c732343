"""Predictors beside ours: each takes (train, test), Ratings of the same rows, and yields predictions (n,) of test, one
for each of its settings. The best is picked on the test set, which flatters all but ours."""

import importlib.util

import numpy as np

from gpukit import factorization

DAMPING, SWEEPS = 3.0, 3
SURPRISE = {  # the package's own settings, and two that suit sparser ratings
    "SVD": ({}, {"n_epochs": 30, "reg_all": 0.1}, {"n_factors": 32, "n_epochs": 40, "reg_all": 0.08}),
    "SVDpp": ({}, {"n_epochs": 25, "lr_all": 0.005, "reg_all": 0.1}),
}


def global_mean(train, test):
    """The mean rating."""
    yield np.full(len(test), train.values.mean(dtype=np.float64))


def damped_biases(train, test):
    """mean + b_user + b_item, damped by DAMPING ratings on both sides."""
    mean, user_bias = train.values.mean(dtype=np.float64), np.zeros(train.shape[0])
    item_bias = np.zeros(train.shape[1])
    for _ in range(SWEEPS):
        item_bias = _damped(train.items, train.values - mean - user_bias[train.users], train.shape[1])
        user_bias = _damped(train.users, train.values - mean - item_bias[train.items], train.shape[0])
    yield mean + user_bias[test.users] + item_bias[test.items]


def _damped(rows, residuals, count):
    return np.bincount(rows, residuals, count) / (np.bincount(rows, minlength=count) + DAMPING)


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
        yield getattr(factorization, name)(device=device).fit(train).predict(test)

    return predictions


def predictors(device):
    """{name: predictor} of all that can be had here; packages that are not installed are left out."""
    found = {"global mean": global_mean, "damped biases (3)": damped_biases}
    if importlib.util.find_spec("surprise"):
        found |= {"Surprise SVD": surprise("SVD"), "Surprise SVD++": surprise("SVDpp")}
    return found | {f"{name}, defaults": ours(name, device) for name in ("MatrixFactorization", "LSHMF")}
