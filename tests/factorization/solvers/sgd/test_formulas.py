"""Scalar formulas, and rates of an epoch."""

import math
from typing import get_args

import numpy as np
import pytest

from gpukit.factorization.settings import Rates, Settings
from gpukit.factorization.solvers import rates
from gpukit.factorization.solvers.sgd import formulas


def test_changes_are_equation_5():
    own, other, error, rate, decay = map(np.float32, (0.4, -0.7, 1.5, 0.1, 0.02))
    assert formulas.factor_change(own, other, error, rate, decay) == pytest.approx(0.1 * (1.5 * -0.7 - 0.02 * 0.4))
    assert formulas.bias_change(own, error, rate, decay) == pytest.approx(0.1 * (1.5 - 0.02 * 0.4))
    assert formulas.influence_change(own, error, rate, decay) == pytest.approx(0.1 * (1.5 - 0.02 * 0.4))


@pytest.mark.parametrize("count, expected", [(0, 0.0), (1, 1.0), (4, 0.5), (1024, 1 / 32)])
def test_set_scale(count, expected):
    assert formulas.set_scale(np.int32(count)) == expected


def test_row_rate():
    assert formulas.row_rate(np.float32(0.1), np.float32(0), np.float32(1e9)) == np.float32(0.1)
    assert formulas.row_rate(np.float32(0.1), np.float32(0.5), np.float32(6)) == pytest.approx(0.05)


def settings(kind, learning_rate, regularization, biases, annealing):
    """Return the Settings of sgd with these rates."""
    return Settings(3, "sgd", kind, learning_rate, regularization, annealing, biases, 0, 0, 8)


def test_papers_rates_are_equation_7():
    for epoch in range(20):
        made = settings("paper", 0.035, 0.02, True, 1.0).epoch_rates(epoch)
        gamma = 0.035 / (1 + 0.3 * math.pow(epoch, 1.5))
        assert made.factor == made.bias == pytest.approx(gamma) and made.influence == pytest.approx(
            gamma * 0.002 / 0.035
        )
        assert made.factor_gain == made.bias_gain == 0 and made.factor_decay == made.bias_decay == np.float32(0.02)


def test_parameters_of_table_5_replace_the_defaults():
    plan = settings("paper", 0.035, 0.02, True, 1.0)._replace(beta=0.1, influence_rate=0.004, influence_decay=0.05)
    made, fall = plan.epoch_rates(4), 1 + 0.1 * 8
    assert made.factor == pytest.approx(0.035 / fall) and made.influence == pytest.approx(0.004 / fall)
    assert made.influence_decay == np.float32(0.05) and made.factor_decay == np.float32(0.02)
    adaptive = settings("adaptive", 0.2, 0.04, True, 0.8)._replace(influence_rate=0.004, influence_decay=0.0)
    assert adaptive.epoch_rates(4).influence == np.float32(0.004) and adaptive.epoch_rates(4).influence_decay == 0


@pytest.mark.parametrize("kind", get_args(Rates))
def test_rates_of_hogwild_are_equation_7(kind):
    """Of every kind of rates; a beta of the user replaces 0.05."""
    plan = settings(kind, 0.06, 0.05, True, 1.0)._replace(solver="hogwild")
    for given, beta in ((None, 0.05), (0.2, 0.2)):
        made = plan._replace(beta=given).epoch_rates(4)
        assert made.factor == made.bias == np.float32(0.06 / (1 + beta * 8))
        assert made.factor_gain == made.bias_gain == 0 and made.factor_decay == made.bias_decay == np.float32(0.05)
    assert plan._replace(biases=False).epoch_rates(0).bias == 0


def test_adaptive_rates_fall():
    made = [settings("adaptive", 0.2, 0.04, True, 0.8).epoch_rates(epoch) for epoch in range(3)]
    assert [float(r.factor) for r in made] == pytest.approx([0.2, 0.16, 0.128])
    assert len({r.bias for r in made}) == 1 and made[0].factor_gain > 0 and made[0].bias_gain > 0
    assert all(type(value) is np.float32 for value in made[0])


@pytest.mark.parametrize("kind", get_args(Rates))
def test_without_biases(kind):
    assert settings(kind, 0.2, 0.04, False, 0.8).epoch_rates(0).bias == 0


def test_defaults_move_with_the_number_of_ratings():
    """More ratings: larger steps that fall faster, less regularization, more epochs."""
    sizes = [0, 10**4, 10**6, 10**7, 10**12]
    made = [rates.defaults("adaptive", n) for n in sizes]
    for name, sign in (("learning_rate", 1), ("regularization", -1), ("annealing", -1)):
        values = [sign * defaults[name] for defaults in made]
        assert values == sorted(values) and values[0] < values[-1]
    found = [rates.defaults("adaptive", n)["annealing"] for n in (1, 10**6, 10**7, 10**8, 10**12)]
    assert found == pytest.approx([0.87, 0.87, 0.8, 0.7, 0.7])
    assert 0.7 < rates.defaults("adaptive", 5 * 10**7)["annealing"] < 0.8
    assert rates.defaults("paper", 1) == rates.defaults("paper", 10**9)
    epochs = [rates.default_epochs(n) for n in sizes]
    assert epochs == sorted(epochs) and epochs[0] >= 1
