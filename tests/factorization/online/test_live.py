"""A live model on the CPU against partial_fit with frozen rows."""

import copy

import numpy as np
import pytest

from factorization.inputs import make, planted, same_state
from gpukit.device import cpu
from gpukit.errors import DataError, DeviceMemoryError, GpukitError, ParameterError
from gpukit.factorization import LSHMF, MatrixFactorization
from gpukit.factorization.constants import RULES
from gpukit.factorization.online import device_state
from gpukit.neighbors import cpu as simlsh
from gpukit.neighbors import run
from gpukit.neighbors.plan import columns_of
from gpukit.ratings import Ratings
from gpukit.ratings.orders.order import order_ratings

BOTH = pytest.mark.parametrize("model", [MatrixFactorization, LSHMF])
KNOWN = 60, 25


def whole_and_parts(n_parts=3):
    """Return (all ratings, those of the first rows, the others in parts).

    The parts have new users, new items and new pairs of known ones.
    """
    whole = planted(80, 30, 0.4, seed=3)
    draw = np.random.default_rng(0)
    late = (whole.users >= KNOWN[0]) | (whole.items >= KNOWN[1]) | (draw.random(len(whole)) < 0.1)
    late &= (whole.users != 7) | (whole.items != 3)
    old = whole.take(~late)
    old = Ratings(old.users, old.items, old.values, whole.user_ids[: KNOWN[0]], whole.item_ids[: KNOWN[1]])
    part, rest = draw.integers(0, n_parts, len(whole)), draw.permutation(len(whole))
    return whole, old, [whole.take(rest[(late & (part == number))[rest]]) for number in range(n_parts)]


def fitted(model, **more):
    """A model of the first rows."""
    return make(model, n_epochs=3, n_factors=5, **more).fit(whole_and_parts()[1])


def same_model(one, other):
    """Return True if two models are bit-identical, including history and ids."""
    return (
        same_state(one, other)
        and all(np.array_equal(mine, theirs) for mine, theirs in zip(one._rated, other._rated))
        and np.array_equal(one.neighbors_, other.neighbors_)
        and one.user_ids_.tolist() == other.user_ids_.tolist()
        and one.item_ids_.tolist() == other.item_ids_.tolist()
        and one._scale == other._scale
    )


def test_too_little_memory_is_reported_before_the_upload(monkeypatch):
    model, asked = fitted(LSHMF), []

    def refuse(device, n_ratings, rows, layout):
        asked.append((n_ratings, rows))
        raise DeviceMemoryError("too large")

    monkeypatch.setattr(device_state.runs, "check_memory", refuse)
    with pytest.raises(DeviceMemoryError, match="too large"):
        device_state.DeviceState(model, cpu())
    assert asked == [(len(whole_and_parts()[1]), KNOWN[:: 1 if model.walk == "users" else -1])]


def counts(entry):
    """An entry of updates_ without its seconds."""
    return {name: value for name, value in entry.items() if name != "seconds"}


@BOTH
def test_parts_give_what_partial_fit_gives(model):
    before, (_, _, parts) = fitted(model), whole_and_parts()
    expected, live = copy.copy(before), before.live("cpu")
    for part in parts:
        entry = live.add(part)
        expected.partial_fit(part, rows="frozen")
        assert counts(entry) == counts(expected.updates_[-1]) and same_model(live.model(), expected)
    assert sum(entry["users"] for entry in live.updates_) == 20 and len(live) == len(expected._rated.items)
    assert not hasattr(before, "updates_") and len(before.user_ids_) == KNOWN[0]
    np.testing.assert_array_equal(live.predict(parts[0]), expected.predict(parts[0]))
    ids = parts[0].user_ids[parts[0].users], parts[0].item_ids[parts[0].items]
    np.testing.assert_array_equal(live.predict(*ids, unknown="error"), expected.predict(parts[0]))
    assert live.evaluate(parts[0]) == expected.evaluate(parts[0])
    for mine, theirs in zip(
        live.recommend(live.user_ids_[[0, 70]], 4), expected.recommend(live.user_ids_[[0, 70]], 4, by="rating")
    ):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("shift", [0, 10**12])
def test_ids_in_an_order_of_their_own(shift):
    """Parts with ids in their own order: the same as partial_fit.

    Some ids are repeated.
    """
    whole, old, parts = whole_and_parts()
    old = Ratings(old.users, old.items, old.values, old.user_ids * 3 + shift, old.item_ids * 7)
    before = make(LSHMF, n_epochs=1, n_factors=5).fit(old)
    expected, live = copy.copy(before), before.live("cpu")
    for part in parts:
        there = np.unique(part.users)[::-1], np.unique(part.items)[::-1]
        rows = (np.argmax(one[:, None] == own, axis=1) for own, one in zip(there, (part.users, part.items)))
        ids = whole.user_ids[there[0]] * 3 + shift, whole.item_ids[there[1]] * 7
        part = Ratings(*(own.astype(np.int32) for own in rows), part.values, *ids)
        live.add(part)
        assert same_model(live.model(), expected.partial_fit(part, rows="frozen"))
    assert len(live.user_ids_) == 80


def test_codes_are_those_of_all_ratings():
    """Sums with additions and subtractions give the codes of hashing all ratings."""
    model, (whole, _, parts) = fitted(LSHMF), whole_and_parts()
    live = model.live("cpu")
    for part in parts:
        live.add(part)
    corrected = whole.take(np.arange(0, len(whole), 5))
    corrected = corrected.with_columns(
        users=corrected.users, items=corrected.items, values=corrected.values[::-1].copy()
    )
    assert live.add(corrected)["corrected"] > 50
    now = live._state.ratings.to_ratings(live.user_ids_, live.item_ids_)
    columns = columns_of(order_ratings(now, live._device))
    expected = run.simlsh_codes(simlsh, columns, model._hashing(model.neighbors_.shape[1]))
    np.testing.assert_array_equal(live._state.hashes.tables[2].all, expected)


def test_sums_widen():
    """Many corrections need more bits than the first history."""
    model, (_, _, parts) = fitted(LSHMF), whole_and_parts()
    live = model.live("cpu")
    slices = live._state.hashes.tables[0].all.shape[1]
    live._state.hashes._most += 1 << slices
    live.add(parts[0])
    assert live._state.hashes.tables[0].all.shape[1] == slices + 8
    assert same_model(live.model(), copy.copy(model).partial_fit(parts[0], rows="frozen"))


@BOTH
def test_rows_of_the_first_fit_stay(model):
    before, (_, _, parts) = fitted(model), whole_and_parts()
    live = before.live("cpu")
    for part in parts:
        live.add(part)
    now = live.model()
    for name, array in before._state._asdict().items():
        np.testing.assert_array_equal(getattr(now._state, name)[: len(array)], array, name)


def test_ratings_outside_the_scale_are_refused():
    live = fitted(LSHMF).live("cpu")
    low, high = live.model().scale_
    pair = live.user_ids_[:2], live.item_ids_[:2], np.array([high, high + 45], np.float32)
    with pytest.raises(DataError, match="Row 2 .*is outside the model's range"):
        live.add(pair)
    assert live.model().scale_ == (low, high) and not live.updates_
    live.add(pair, widen_scale=True)
    assert live.model().scale_ == (low, high + 45)
    live.add((live.user_ids_[3:4], live.item_ids_[4:5], np.array([high + 20.5], np.float32)))  # within the new scale
    with pytest.raises(DataError, match="is outside the model's range"):
        live.add((live.user_ids_[3:4], live.item_ids_[5:6], np.array([high + 46], np.float32)))
    assert live.model().scale_ == (low, high + 45)


@pytest.mark.parametrize("rule", ["last", "mean", "error"])
@BOTH
def test_corrections_and_repeats(model, rule):
    """By the rule for repeats, as in partial_fit."""
    before, (_, old, parts) = fitted(model), whole_and_parts()
    again = old.take(np.array([3, 9, 3]))
    again = again.with_columns(users=again.users, items=again.items, values=np.array([1, 2, 4], np.float32))
    live = before.live("cpu")
    if rule == "error":
        with pytest.raises(DataError, match="already"):
            live.add(again, duplicates=rule)
        with pytest.raises(DataError, match=f"User {old.user_ids[old.users[3]]} has rated item .* already, in the"):
            live.add(again.take(np.array([2])), duplicates=rule)
        assert same_model(live.model(), before)
        return
    live.add(again, duplicates=rule)
    expected = copy.copy(before).partial_fit(again, rows="frozen", duplicates=rule)
    assert same_model(live.model(), expected) and counts(live.updates_[-1]) == counts(expected.updates_[-1])
    live.add(parts[1])
    assert same_model(live.model(), expected.partial_fit(parts[1], rows="frozen"))


@BOTH
def test_a_rating_of_a_new_value(model):
    before, (_, _, parts) = fitted(model), whole_and_parts()
    odd = parts[0].with_columns(
        users=parts[0].users,
        items=parts[0].items,
        values=np.minimum(parts[0].values + np.float32(0.25), np.float32(4.75)),
    )
    live = before.live("cpu")
    live.add(odd)
    expected = copy.copy(before).partial_fit(odd, rows="frozen")
    assert same_model(live.model(), expected)
    live.add(parts[1])
    assert same_model(live.model(), expected.partial_fit(parts[1], rows="frozen"))


@BOTH
def test_new_values_between_parts(model, monkeypatch):
    """In arrays with reserved memory, which are used again."""
    monkeypatch.setattr(RULES, "reserved_growth", 3.0)
    before, (_, old, parts) = fitted(model), whole_and_parts(4)
    odd = old.take(np.arange(0, 90, 3))
    odd = odd.with_columns(users=odd.users, items=odd.items, values=np.linspace(1, 4.9, 30).astype(np.float32))
    live, expected = before.live("cpu"), copy.copy(before)
    for part in (parts[0], odd, *parts[1:]):
        live.add(part)
        expected.partial_fit(part, rows="frozen")
        assert same_model(live.model(), expected)
    assert len(live._state.ratings.history.codes) == len(live) == len(old) + sum(map(len, parts))


def test_ids_of_their_own():
    """Known and new ids in any order; text for whole numbers."""
    before = fitted(MatrixFactorization)
    new = np.array([999, before.user_ids_[4], 5000, 999]), np.array([7777, 8888, before.item_ids_[2], 8888])
    values = np.array([1, 2, 3, 4], np.float32)
    live = before.live("cpu")
    live.add(new, values)
    expected = copy.copy(before).partial_fit(new, values, rows="frozen")
    assert same_model(live.model(), expected) and live.user_ids_[-2:].tolist() == [999, 5000]
    with pytest.raises(DataError, match="new user 'x' is text"):
        live.add((np.array(["x"]), np.array(["1"])), values[:1])
    assert same_model(live.model(), expected)


def test_nothing_new():
    before, (_, old, _) = fitted(LSHMF), whole_and_parts()
    live = before.live("cpu")
    assert live.add(old.take(slice(0))) is None and same_model(live.model(), before)


def test_corrections_before_any_row_is_new():
    """Corrections before the first growth are kept."""
    before, (_, old, parts) = fitted(LSHMF), whole_and_parts()
    mine = parts[0].take((parts[0].users < KNOWN[0]) & (parts[0].items < KNOWN[1]))
    again = old.with_columns(users=old.users, items=old.items, values=old.values[::-1].copy())
    live, expected = before.live("cpu"), copy.copy(before)
    for part in (mine, again, parts[1]):
        live.add(part)
        expected.partial_fit(part, rows="frozen")
        assert same_model(live.model(), expected)


def test_known_pairs_enter_the_history_alone():
    before, (_, old, parts) = fitted(LSHMF), whole_and_parts()
    part = parts[0].take((parts[0].users < KNOWN[0]) & (parts[0].items < KNOWN[1]))
    live = before.live("cpu")
    entry = live.add(part)
    assert entry["walked"] == entry["users"] == entry["items"] == 0 and entry["ratings"] == len(part)
    now = live.model()
    assert same_state(now, before) and len(now._rated.items) == len(old) + len(part)


@pytest.mark.parametrize("room", [1.0, 3.0])
def test_room_for_more_changes_nothing(monkeypatch, room):
    """Rows that are moved at every part, and rows that never are."""
    before, (_, _, parts) = fitted(LSHMF), whole_and_parts(6)
    monkeypatch.setattr(RULES, "reserved_growth", room)
    monkeypatch.setattr(RULES, "reserved_growth", room)
    live, expected = before.live("cpu"), copy.copy(before)
    for part in parts:
        live.add(part)
        expected.partial_fit(part, rows="frozen")
    assert same_model(live.model(), expected)


def test_a_deterministic_model():
    before, (_, _, parts) = fitted(LSHMF, deterministic=True), whole_and_parts()
    live = before.live("cpu")
    live.add(parts[0])
    assert same_model(live.model(), copy.copy(before).partial_fit(parts[0], rows="frozen"))


@pytest.mark.parametrize("search", ["hamming", "buckets"])
def test_both_searches_of_codes(search):
    before, (_, _, parts) = fitted(LSHMF, search=search), whole_and_parts()
    live = before.live("cpu")
    live.add(parts[0])
    assert same_model(live.model(), copy.copy(before).partial_fit(parts[0], rows="frozen"))


def test_what_is_live_can_be_saved_and_opened_again(tmp_path):
    from gpukit.persist import load_model

    before, (_, _, parts) = fitted(LSHMF), whole_and_parts()
    live = before.live("cpu")
    live.add(parts[0])
    live.model().save(tmp_path / "m.gpukit")
    again = load_model(tmp_path / "m.gpukit").live("cpu")
    again.add(parts[1])
    live.add(parts[1])
    assert same_model(again.model(), live.model()) and len(again.updates_) == 2


@pytest.mark.parametrize("more", [{"search": "exact"}, {"hash": "minhash"}, {"search": "random"}])
def test_neighbours_that_add_nothing_up(more):
    with pytest.raises(ParameterError, match="cannot be kept live: .* update the model with partial_fit"):
        fitted(LSHMF, **more).live("cpu")


def test_models_that_cannot_be_kept_live():
    with pytest.raises(GpukitError, match="not fitted"):
        MatrixFactorization().live("cpu")
    users, items = np.arange(40) % 8, np.arange(40) % 5
    clicks = MatrixFactorization(n_factors=2, n_epochs=1, device="cpu").fit((users, items, np.ones(40, np.float32)))
    with pytest.raises(ParameterError, match="model of clicks cannot be kept live"):
        clicks.live("cpu")


@pytest.mark.parametrize("value, line", [(np.nan, "finite|NaN"), (1e7, "outside the model's range")])
def test_bad_ratings_leave_it_as_it_was(value, line):
    before = fitted(MatrixFactorization)
    live = before.live("cpu")
    with pytest.raises(DataError, match=line):
        live.add((np.array([7]), np.array([1]), np.array([value], np.float32)))
    with pytest.raises(ParameterError, match="duplicates must be one of"):
        live.add((np.array([7]), np.array([1]), np.ones(1, np.float32)), duplicates="first")
    assert same_model(live.model(), before)


def test_weights_and_clicks_are_refused():
    before, (_, _, parts) = fitted(MatrixFactorization), whole_and_parts()
    live, part = before.live("cpu"), parts[0]
    weights = np.arange(1, 1 + len(part), dtype=np.float32)
    with pytest.raises(ParameterError, match="takes no weights"):
        live.add(part.with_columns(**part.columns(), weights=weights))
    with pytest.raises(DataError, match="There are pairs without ratings"):
        live.add((part.user_ids[part.users], part.item_ids[part.items]))
    assert same_model(live.model(), before) and not live.updates_


def test_a_part_that_fails_midway(monkeypatch):
    """An incomplete update is not used."""
    from gpukit.factorization.online import run as learning

    live, (_, _, parts) = fitted(MatrixFactorization).live("cpu"), whole_and_parts()
    monkeypatch.setattr(learning, "learn", lambda *arguments: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        live.add(parts[0])
    for question in (live.model, lambda: live.predict(parts[0]), lambda: live.add(parts[1])):
        with pytest.raises(GpukitError, match="failed before its end. Create the live model again"):
            question()
