"""What a model prepares for its answers: shared by threads, dropped when the model changes, the same as without."""

import pickle
import threading

import numpy as np
import pytest

from factorization.inputs import make, planted
from gpukit.factorization import LSHMF, Filters, MatrixFactorization
from gpukit.io.ids import ascending_order, rows_of

BOTH = pytest.mark.parametrize("kind", [MatrixFactorization, LSHMF])
THREADS, NEW = 8, (np.repeat([5, 1001], 8), np.tile([1, 4, 7, 10, 13, 16, 19, 2], 2), np.full(16, 4.0))


def answers(model):
    """Return the answers of a model to single questions about its first, middle and last users and items."""
    found = []
    for user, item in zip(model.user_ids_[[0, 31, -1]].tolist(), model.item_ids_[[0, 12, -1]].tolist()):
        found += [*model.recommend([user], 4), *model.recommend([user], 4, by="rating")]
        found += model.recommend([user], 4, filters=Filters(without=[item], diversity=0.3))
        found += [*model.recommend_for({item: 4.0, 10: 3.0}, n=3), *model.recommend_for({item: 2.0}, n=3, by="rating")]
        found += [model.predict([user], [item]), *model.similar_items(item, 5, by="factors")]
        found += [*model.similar_items(item, 5, with_evidence=True), *model.similar_users(user, 5)]
        found += [repr(model.explain(user, item, by)) for by in ("lists", "rating")]
        found += model.evidence([user], [item])
    return found


def assert_same(mine, its):
    assert len(mine) == len(its)
    for one, other in zip(mine, its):
        np.testing.assert_array_equal(one, other)


def fresh(model):
    """Return a copy that has prepared nothing."""
    return pickle.loads(pickle.dumps(model))


@BOTH
def test_threads_answer_as_one(kind):
    model = make(kind).fit(planted()).fit_lists()
    expected, found, start = answers(fresh(model)), [None] * THREADS, threading.Barrier(THREADS)

    def ask(number):
        start.wait()
        found[number] = answers(model)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one in found:
        assert_same(one, expected)
    assert_same(answers(model), expected)


@BOTH
def test_new_ratings_drop_what_was_prepared(kind):
    model = make(kind).fit(planted())
    before = answers(model)
    model.partial_fit(NEW, rows="frozen")
    assert model.user_ids_[-1] == 1001 and model.user_ids_[0] < 1001
    assert_same(answers(model), answers(fresh(model)))
    assert not all(np.array_equal(one, other) for one, other in zip(before, answers(model)))
    model.fit(planted(seed=1))
    assert_same(answers(model), answers(fresh(model)))


def test_marked_pairs_drop_only_what_was_prepared_of_pairs():
    model = make(MatrixFactorization).fit(planted())
    (first,), _ = model.recommend([7], 3)
    order = model._prepared["user order"]
    model.mark_seen(([7], first[:1]))
    assert model._prepared["user order"] is order
    assert model.recommend([7], 2)[0].tolist() == [first[1:].tolist()]


def test_answers_prepare_once(monkeypatch):
    model = make(MatrixFactorization).fit(planted()).fit_lists()
    answers(model)
    prepared = {name: id(value) for name, value in model._prepared.items()}
    again = answers(model)
    assert prepared == {name: id(value) for name, value in model._prepared.items()}
    assert_same(again, answers(fresh(model)))


IDS = {
    "ascending": np.arange(3, 90, 3),
    "appended": np.append(np.arange(50, 99), [7, 3, 49]),
    "text": np.array(["ann", "bob", "çelik"]),
    "text in no order": np.array(["bob", "ann", "z", "annabel"]),
}


@pytest.mark.parametrize("name", IDS)
def test_rows_with_and_without_a_prepared_order(name):
    known = IDS[name]
    order = ascending_order(known)
    assert (len(order) == 0) == (name in ("ascending", "text"))
    asked = [*known.tolist(), *(["an", "annabelle", "bobby", ""] if known.dtype.kind == "U" else [0, 4, 1000])]
    expected = [*range(len(known)), *[-1] * (len(asked) - len(known))]
    for each in (rows_of(asked, known), rows_of(asked, known, order=order)):
        assert each.tolist() == expected
    for row, one in zip(expected, asked):  # text of another width
        assert rows_of([one], known, order=order).tolist() == [row]
