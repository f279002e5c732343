"""Models in parts: each rank writes the model of its users, and the index opens as the model of all."""

import shutil

import numpy as np
import pytest

from factorization.shared.test_divided import NAMED, folder, small_blocks, trained  # noqa: F401
from gpukit import load_model
from gpukit.errors import DataError, ModelError, ParameterError
from gpukit.factorization import LSHMF, MatrixFactorization
from gpukit.factorization.model import parts
from gpukit.ratings import read_ratings


def make():
    return MatrixFactorization(**NAMED, deterministic=True)


def save(folder, path, make=make, size=2):  # noqa: F811
    """Return what each rank gets: None, or an error."""

    def work(model, part, team):
        model.fit(part, team=team).save(path, team)

    return trained(folder, size, make, work=work)


def names(path):
    """Return the names of the files at path and next to it, sorted."""
    return sorted(file.name for file in path.parent.iterdir())


@pytest.mark.parametrize("size", [2, 3])
def test_the_index_opens_as_the_model_of_one_process(folder, tmp_path, size):  # noqa: F811
    expected, path = make().fit(read_ratings(folder / "ab" / "*.parquet")), tmp_path / "my.gpukit"
    assert save(folder, path, size=size) == [None] * size
    assert len(names(path)) == size + 1 and path.stat().st_size < 2000
    model = load_model(path)
    for part in ("_state", "_rated"):
        for name, array in getattr(expected, part)._asdict().items():
            np.testing.assert_array_equal(getattr(getattr(model, part), name), array, name)
    for name in ("user_ids_", "item_ids_", "scale_", "mean_", "chosen_", "feedback_", "device_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(expected, name), name)
    pieces = [load_model(path.with_name(name)) for name in names(path) if name != path.name]
    assert sum(len(piece.user_ids_) for piece in pieces) == len(model.user_ids_)
    path.with_name("my.gpukit.20261130-1").write_text("a copy of the user's")
    model.save(path)  # as one file, which replaces the parts
    assert names(path) == ["my.gpukit", "my.gpukit.20261130-1"]
    np.testing.assert_array_equal(load_model(path)._rated.items, expected._rated.items)


def test_predictions_of_lshmf_are_those_of_its_ranks(folder, tmp_path):  # noqa: F811
    """Neighbours' ratings are in the histories."""
    path = tmp_path / "my.gpukit"
    assert save(folder, path, lambda: LSHMF(**NAMED, n_neighbors=4, deterministic=True)) == [None] * 2
    model = load_model(path)
    for name in names(path)[1:]:
        part = load_model(path.with_name(name))
        users, items = np.repeat(part.user_ids_, 5), np.tile(part.item_ids_[:5], len(part.user_ids_))
        np.testing.assert_array_equal(part.predict(users, items), model.predict(users, items))


def test_a_second_model_replaces_the_first(folder, tmp_path):  # noqa: F811
    path = tmp_path / "my.gpukit"
    path.with_name("my.gpukit.20261130-1").write_text("a copy of the user's")
    for _ in range(2):
        save(folder, path)
    assert len(names(path)) == 4 and "my.gpukit.20261130-1" in names(path)
    assert load_model(path).item_ids_.size


def test_a_part_is_not_saved_as_the_whole(folder, tmp_path):  # noqa: F811
    def work(model, part, team):
        model.fit(part, team=team).save(tmp_path / "my.gpukit")

    for error in trained(folder, 2, make, work=work):
        assert isinstance(error, ParameterError) and "users, those of one rank. Call save(path, team=team)" in str(
            error
        )
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("fault", ["missing", "foreign", "damaged", "cut"])
def test_a_wrong_part_is_one_line(folder, tmp_path, fault):  # noqa: F811
    path, other = tmp_path / "my.gpukit", tmp_path / "other"
    save(folder, path)
    part = path.with_name(names(path)[2])
    if fault == "missing":
        part.unlink()
        message = f"lacks {part.name}, one of its 2 parts. Copy them all to the folder"
    elif fault == "foreign":
        other.mkdir()
        save(folder, other / "my.gpukit", lambda: MatrixFactorization(**{**NAMED, "regularization": 0.1}))
        shutil.copy(other / names(other / "my.gpukit")[2], part)
        message = "is a part of another model than"
    else:
        content = bytearray(part.read_bytes())
        content[-50] ^= 1
        part.write_bytes(content if fault == "damaged" else content[:-1])
        message = f"{part} is damaged or cut short"
    with pytest.raises(ModelError, match="^[^\n]*$") as error:
        load_model(path)
    assert message in str(error.value)


@pytest.mark.parametrize(
    "entries", [[], [[]], "words", [["my.gpukit", 1]], [["../my.gpukit.01234567-0", 1]], [[1, 1]], {"a": 1}], ids=str
)
def test_a_wrong_index_is_one_line(tmp_path, entries):
    path = tmp_path / "my.gpukit"
    parts.persist.save_model(path, MatrixFactorization(), {parts.PARTS: entries}, {})
    with pytest.raises(ModelError, match=r"^.*my\.gpukit is damaged: 'parts' in its header is [^\n]*$"):
        load_model(path)


@pytest.mark.parametrize("failing", ["a rank", "the index"])
def test_a_failure_keeps_the_model_of_before(folder, tmp_path, monkeypatch, failing):  # noqa: F811
    path, write = tmp_path / "my.gpukit", parts.persist.save_model
    save(folder, path)
    before = names(path)

    def fail(target, *given):
        if (target.name == path.name) == (failing == "the index") and not target.name.endswith("-0"):
            raise DataError("the disk is full.")
        write(target, *given)

    monkeypatch.setattr(parts.persist, "save_model", fail)
    assert all("the disk is full" in str(error) for error in save(folder, path))
    assert names(path) == before
    assert load_model(path).item_ids_.size


def test_a_part_that_rank_0_does_not_see(folder, tmp_path, monkeypatch):  # noqa: F811
    write = parts.persist.save_model
    monkeypatch.setattr(
        parts.persist,
        "save_model",
        lambda target, *given: None if target.name.endswith("-1") else write(target, *given),
    )
    for error in save(folder, tmp_path / "my.gpukit"):
        assert "Rank 0 does not see" in str(error) and "a folder that all ranks share" in str(error)
    assert not list(tmp_path.iterdir())
