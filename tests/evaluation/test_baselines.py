"""Popularity: lists omit known items, ties are resolved by the lower row."""

import numpy as np
import pytest

from gpukit.evaluation import lists as baselines
from gpukit.evaluation.lists import clicks_of

USERS, ITEMS = 33, 17


@pytest.fixture
def clicked():
    random = np.random.default_rng(2)
    mask = random.random((USERS, ITEMS)) < random.random(ITEMS)
    mask[0], mask[1], mask[:, 16] = False, True, False
    mask[1, 16] = True
    return mask


@pytest.fixture
def known(clicked):
    return clicks_of(*np.nonzero(clicked), clicked.shape)


def expected_lists(scores, clicked, n):
    return [
        ([item for item in np.argsort(-row, kind="stable") if not mask[item]] + [-1] * n)[:n]
        for row, mask in zip(scores, clicked)
    ]


def listed(made, n):
    return [line for _, items in made.lists(np.arange(USERS), n) for line in items.tolist()]


@pytest.mark.parametrize("n", [1, 6, ITEMS])
def test_popularity(clicked, known, n, monkeypatch):
    monkeypatch.setattr(baselines, "TILE", 5 * n)
    made = baselines.Popularity(known, ITEMS)
    counts = np.broadcast_to(clicked.sum(axis=0), clicked.shape)
    assert listed(made, n) == expected_lists(counts, clicked, n)


def test_lists_for_others_than_were_learned_from(clicked, known):
    given = clicked[::-1][:, ::-1]
    made = baselines.Popularity(known, ITEMS, clicks_of(*np.nonzero(given), given.shape))
    assert listed(made, 5) == expected_lists(np.broadcast_to(clicked.sum(axis=0), given.shape), given, 5)


def test_lists_are_completed_behind_what_they_have(known, clicked):
    lists = np.full((USERS, 4), -1, np.int32)
    lists[2, :2] = np.flatnonzero(~clicked[2])[[1, 0]]
    baselines.complete(known.indptr, known.items, np.arange(USERS), np.arange(ITEMS, dtype=np.int32), lists)
    rest = np.flatnonzero(~clicked[2])
    assert lists[2].tolist() == [rest[1], rest[0], *rest[2:4]]
    assert lists[1].tolist() == [-1] * 4 and lists[0].tolist() == [0, 1, 2, 3]
