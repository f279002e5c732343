"""The fuzzer itself: reproducible cases, valid checksums, detected faults, judges that fail on faults."""

import subprocess
import sys
from zlib import crc32

import numpy as np
import pytest

import gpukit
from fuzz import campaign, cases, found, verdicts
from fuzz.judges import models, tables
from fuzz.kinds import planted
from fuzz.mutate import container
from fuzz.registry import kinds
from fuzz.workers import TESTS, Worker

NAMES = ("ratings-text", "ratings-npz")
SOME = [cases.Case(name, mode, 3, index) for name in NAMES for mode in cases.MODES for index in range(20)]
FILES = ("ratings-gkr", "letor-gkl", "model-SimLSH", "model-RankSVM", "model-LSHMF")


def digest(chosen):
    """Return a checksum of cases."""
    total = 0
    for case in chosen:
        made = cases.made(cases.Case(*case))
        total = crc32(repr((sorted(made.sample.files.items()), made.use)).encode(), total)
    return total


@pytest.mark.slow
def test_a_case_is_the_same_bytes_everywhere():
    code = f"from fuzz.test_harness import digest; print(digest({[tuple(case) for case in SOME]!r}))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(TESTS)},
        cwd="/",
    )
    assert int(done.stdout) == digest(SOME)
    assert digest(SOME) != digest([case._replace(seed=4) for case in SOME])


def test_twelve_kinds_and_more_and_each_mutator_changes_something():
    assert len(kinds()) >= 12
    for name in ("ratings-text", "letor-text", "ratings-npz", "ratings-gkr"):
        made = [cases.made(cases.Case(name, "mutate", 1, index)) for index in range(100)]
        assert sum(one.sample.files != one.whole.files for one in made) > 80


def test_what_gpukit_writes_and_reads_is_a_kind():
    """A new format or a new estimator needs an entry in kinds/."""
    from gpukit.documents import copies as documents
    from gpukit.ratings import copies as ratings

    for prefix, suffixes in (("ratings", ratings.SUFFIXES), ("letor", documents.SUFFIXES)):
        paths = [sample.path for name in kinds() if name.startswith(prefix) for sample in cases.samples(name)]
        assert all(any(path.endswith(suffix) for path in paths) for suffix in suffixes), prefix
    assert {f"model-{name}" for name in gpukit.ESTIMATORS} <= set(kinds())


@pytest.mark.parametrize("name", FILES)
def test_a_file_taken_apart_and_put_together_is_the_same(name):
    for sample in cases.samples(name):
        data = sample.files[sample.path]
        assert container.encode(*container.decode(data)) == data


@pytest.fixture(scope="module")
def planted_run():
    """A campaign over planted faults."""
    running = campaign.Campaign([campaign.Unit("planted-faults", "mutate", 1, 0, 24)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fuzz.workers.PATIENCE", 1)
        patch.setattr("fuzz.campaign.Worker", lambda: Worker(seconds=2))
        assert running.run(processes=1)
    return running


@pytest.mark.slow
def test_each_fault_is_seen_as_what_it_is(planted_run):
    named = list(planted.FAULTS)
    wanted = [named[cases.made(cases.Case("planted-faults", "mutate", 1, k)).sample.files["a"][0]] for k in range(24)]
    assert set(wanted) == set(named)
    (counts,) = planted_run.done.values()
    assert counts == {name: wanted.count(name) for name in set(wanted)}
    seen = {case.index: verdict for case, verdict, _ in planted_run.findings}
    assert seen == {index: name for index, name in enumerate(wanted) if name not in verdicts.GOOD}


@pytest.mark.slow
def test_the_table_counts_them(planted_run):
    lines = list(campaign.table(planted_run.done))
    (counts,) = planted_run.done.values()
    assert lines[0].split("|")[3:-1] == [f" {name} " for name in verdicts.VERDICTS]
    numbers = " | ".join(str(counts.get(name, 0)) for name in verdicts.VERDICTS)
    assert lines[2] == f"| planted-faults | 24 | {numbers} |" and lines[3] == lines[2].replace("planted-faults", "all")


def planted_findings():
    """Yield (case, verdict, detail) of the planted run, without its processes."""
    for index in range(24):
        case = cases.Case("planted-faults", "mutate", 1, index)
        fault = list(planted.FAULTS)[cases.made(case).sample.files["a"][0]]
        if fault in ("crash", "hang"):
            yield case, fault, f"a {fault}"
        elif fault not in verdicts.GOOD:
            judged = verdicts.judged(case)
            yield case, judged.verdict, judged.detail


def test_a_finding_is_kept_once_a_cause_and_can_be_replayed(tmp_path):
    for case, verdict, detail in planted_findings():
        found.keep(case, verdict, detail, tmp_path)
    kept = sorted(tmp_path.iterdir())
    assert len(kept) == 2 * (len(planted.FAULTS) - 1)  # all except gpukit errors
    safe = [folder for folder in kept if "crash" not in folder.name and "hang" not in folder.name]
    assert {found.replayed(folder).verdict for folder in safe} == {"inconsistent", "other exception", "MemoryError"}


def test_a_flip_that_nobody_notices_is_inconsistent():
    flips = [verdicts.judged(cases.Case("planted-same", "flip", 1, index)) for index in range(40)]
    unnoticed = [one for one in flips if "a flip went unnoticed" in one.detail]
    assert len(unnoticed) > 30 and {one.verdict for one in unnoticed} == {verdicts.INCONSISTENT}


@pytest.mark.parametrize("how", ["fd", "fifo"])
def test_a_pipe_gives_the_answer_of_the_file(how, monkeypatch):
    kind, sample = cases.kind_of("planted-pipe"), cases.samples("planted-pipe")[0]
    whole = cases.Input(sample, {"pipe": how}, sample)
    assert verdicts.verdict_on("planted-pipe", whole, "mutate").verdict == verdicts.RESULT
    lossy = lambda path, use: {"bytes": len(path.read_bytes()) - ("fd" in str(path) or "pipe" in path.name)}  # noqa: E731
    monkeypatch.setattr(
        cases, "kind_of", lambda name: kind.__class__(**{**vars(kind), "answer": lossy, "judge": lambda *_: None})
    )
    found_now = verdicts.verdict_on("planted-pipe", whole, "mutate")
    assert found_now.verdict == verdicts.INCONSISTENT and "from a pipe" in found_now.detail


@pytest.mark.slow
def test_a_campaign_goes_on_where_it_stopped(tmp_path):
    planned = [campaign.Unit("planted-pipe", "mutate", 1, first, 5) for first in (0, 5, 10)]
    first = campaign.Campaign(planned[:2], tmp_path / "progress")
    assert first.run(1)
    with open(tmp_path / "progress", "a") as file:
        file.write('[["planted-pipe", "mut')  # a power failure
    again, done = campaign.Campaign(planned, tmp_path / "progress"), []
    again.echo = done.append
    assert again.run(1) and len(done) == 1 and list(again.done) == planned


def test_progress_of_other_code_is_not_gone_on_from(tmp_path):
    progress = tmp_path / "progress"
    assert not campaign.is_of(progress, "code 1")
    progress.write_text('"code 1"\n[["planted-pipe", "mutate", 1, 0, 5], {"result": 5}]\n')
    assert campaign.is_of(progress, "code 1") and not campaign.is_of(progress, "code 2")
    assert list(campaign.Campaign([], progress).done.values()) == [{"result": 5}]


RATINGS = {
    **{"users": np.array([0, 1, 1], "i4"), "items": np.array([1, 0, 1], "i4"), "values": np.array([1, 2, 3], "f4")},
    **{"user_ids": np.array([5, 9]), "item_ids": np.array(["a", "b"]), "times": None, "weights": None, "counts": None},
    **{"csr_indptr": np.array([0, 1, 3]), "csr_indices": np.array([1, 0, 1]), "csr_values": np.array([1, 2, 3.0])},
    **{"csc_indptr": np.array([0, 1, 3]), "csc_indices": np.array([1, 0, 1]), "csc_values": np.array([2, 1, 3.0])},
}
DOCUMENTS = {
    **{
        "X": np.ones((3, 2)),
        "shape": (3, 2),
        "y": np.zeros(3),
        "offsets": np.array([0, 1, 3]),
        "qids": np.array([4, 2]),
    },
    **{"comments": None, "weights": None},
}
GRAPH = {
    **{"adjacency": np.array([[0, 1.0], [1, 0]]), "tensor": np.ones((2, 1, 1)), "mask": np.ones(2, bool)},
    **{"vertices": np.array([1, 2]), "truth": None, "times": None},
}
SIMILAR = {
    **{
        "neighbors": np.array([[1], [0]], "i4"),
        "scores": np.ones((2, 1), "f4"),
        "items": np.array([3, 4]),
        "share": 0.5,
    },
    "facts": {},
}
BROKEN = [
    (tables.ratings, RATINGS, {"users": np.array([0, 1, 2], "i4")}, "not rows of 0 to 2"),
    (tables.ratings, RATINGS, {"values": np.array([1, np.nan, 3], "f4")}, "not finite"),
    (tables.ratings, RATINGS, {"user_ids": np.array([5, 5])}, "not each once"),
    (tables.distinct, RATINGS, {"items": np.array([1, 1, 1], "i4")}, "twice"),
    (tables.ratings, RATINGS, {"weights": np.array([1, -1, 3], "f4")}, "0 or more"),
    (tables.ratings, RATINGS, {"csr_indices": np.array([1, 1, 0])}, "csr"),
    (tables.documents, DOCUMENTS, {"offsets": np.array([0, 2, 2])}, "offsets"),
    (tables.documents, DOCUMENTS, {"qids": np.array([4, 4])}, "query id comes twice"),
    (tables.documents, DOCUMENTS, {"X": np.full((3, 2), np.inf)}, "not finite"),
    (tables.graph, GRAPH, {"adjacency": np.array([[0, 1.0], [2, 0]])}, "symmetric"),
    (tables.graph, GRAPH, {"tensor": np.full((2, 1, 1), np.nan)}, "not finite"),
    (tables.graph, GRAPH, {"vertices": np.array([1, 1])}, "vertices"),
    (models.neighbors, SIMILAR, {"neighbors": np.array([[2], [0]], "i4")}, "neighbours of item 0"),
    (models.neighbors, SIMILAR, {"scores": np.full((2, 1), np.inf, "f4")}, "no share"),
    (models.neighbors, SIMILAR, {"share": -1.0}, "random_share_"),
]


@pytest.mark.parametrize("judge, answer, broken, message", BROKEN, ids=lambda value: getattr(value, "__name__", None))
def test_judges_bite(judge, answer, broken, message):
    assert judge(answer, {}) is None
    assert message in judge({**answer, **broken}, {})


def test_nothing_is_invented():
    files = {"a.csv": b"5,a,1\n9,a,2\n9,b,3\n"}
    assert tables.spelled(RATINGS, files) is None
    assert "not in the file" in tables.spelled({**RATINGS, "user_ids": np.array([5, 8])}, files)
    assert "not in the file" in tables.spelled({**RATINGS, "values": np.array([1, 2, 4], "f4")}, files)
