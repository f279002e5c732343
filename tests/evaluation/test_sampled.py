"""The protocol of 99 negatives: ties, rules, files."""

import numpy as np
import pytest

from evaluation import naive
from gpukit.errors import DataError
from gpukit.evaluation.lists import Clicks, candidates, judge_sampled
from gpukit.evaluation.negatives import read_negatives


def judged(scores, k=10, there=None):
    there = np.ones(np.shape(scores), bool) if there is None else there
    return judge_sampled("any", np.asarray(scores, np.float32), there, (k,))


@pytest.mark.parametrize("k", [1, 3, 10, 40])
def test_hits_and_ndcg_are_their_definitions(k):
    random = np.random.default_rng(1)
    scores, there = random.integers(0, 12, (60, 31)), random.random((60, 31)) < 0.8
    there[:, 0] = True
    found = judged(scores, k, there).values[k]
    for test in range(60):
        others = scores[test, 1:][there[test, 1:]].tolist()
        assert (found["hr"][test], found["ndcg"][test]) == pytest.approx(
            naive.sampled_metrics(scores[test, 0], others, k), abs=1e-13
        )


def test_constant_scores_are_worth_what_chance_is():
    for constant in (np.zeros((5, 100)), np.full((5, 100), np.nan)):
        row = judged(constant).row(10)
        assert row["hr"] == pytest.approx(0.1)
        assert row["ndcg"] == pytest.approx(sum(1 / np.log2(np.arange(2, 12))) / 100)


def test_nan_is_behind_all_that_is_known():
    assert judged([[np.nan, *range(9)]], 9).row(9)["hr"] == 0
    assert judged([[-5.0, *[np.nan] * 9]], 1).row(1)["hr"] == 1


def test_what_is_dropped_of_the_candidates():
    known = Clicks(np.array([0, 1, 1]), np.array([3], np.int32))
    there = np.array([[True] * 5, [True] * 4 + [False]])
    negatives = np.array([[7, 3, 2, 2, 9], [3, 12, 12, 13, 1]])  # user 0 knows 3; 10 and above: unknown items
    found = candidates(np.array([0, 1]), np.array([7, 12]), negatives, there, known, 10)
    assert found.items.tolist() == [[7, 7, 3, 2, 2, 9], [10, 3, 10, 10, 10, 1]]
    assert found.there.tolist() == [[True, False, False, True, False, True], [True, True, False, False, True, False]]


def test_a_file_of_negatives(tmp_path):
    path = tmp_path / "some.negative"
    path.write_bytes(b"\xef\xbb\xbf(0,25)\t1064\t174\r\n\n(u 1 , a,b)\tx y\t\xe9\t\n")
    found = read_negatives(path)
    assert found.users.tolist() == ["0", "u 1"] and found.clicks.tolist() == ["25", "a,b"]
    assert found.items.tolist() == [["1064", "174"], ["x y", "é"]] and found.there.all()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("\n\n", "holds no negatives"),
        ("(0,25)\t1\n0,25\t2\n", "line 2: '0,25' is no"),
        ("(025)\t1\n", "line 1: '.025.' is no"),
        ("(,5)\t1\n", "line 1: .* is no"),
        ("(0,25)\n", "line 1: the test click '.0,25.' has no negatives"),
        ("(0,25)\t1\t\t3\n", "line 1: the test click '.0,25.' has an empty one"),
        ("(0,25)\t1\t2\n\n(1,3)\t4\n", "line 3: there are 1 negatives, and 2 in the first line"),
        (f"(0,25)\t1\t{'x' * 201}", "line 1: 'xx.* is longer than 200 letters"),
        ("(0,25)\t1\0", "is not a text file"),
    ],
)
def test_files_that_are_no_negatives(tmp_path, text, message):
    path = tmp_path / "bad.negative"
    path.write_text(text)
    with pytest.raises(DataError, match=message) as error:
        read_negatives(path)
    assert "\n" not in str(error.value)


def test_no_file_of_negatives(tmp_path):
    with pytest.raises(DataError, match="does not exist"):
        read_negatives(tmp_path / "none")
