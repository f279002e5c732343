"""The level tree's tables, the assignment of queries to blocks and the grouping of documents, against plain loops."""

import itertools

import numpy as np
import pytest

from gpukit.documents.adopt import group_offsets, group_rows
from gpukit.errors import DataError
from gpukit.ranking import cpu, problem
from gpukit.ranking.pair_sums import LevelTreeSums
from ranking import inputs, naive, sessions

ARITIES = [None, 2, 3, 8]


def queries_of(at):
    """Return (query, begin, end) of every query."""
    return [(t, int(b), int(e)) for t, (b, e) in enumerate(zip(at.offsets[:-1], at.offsets[1:]))]


def height(levels, arity):
    found = 0
    while arity**found < levels:
        found += 1
    return found


@pytest.mark.parametrize("arity", ARITIES)
@pytest.mark.parametrize("name", inputs.CASES)
def test_tables(name, arity):
    at = inputs.case(name)
    made = problem.build_tree(at.y, at.offsets, arity)
    groups, starts = [0], [0]
    for t, begin, end in queries_of(at):
        ranked = sorted(range(begin, end), key=lambda i: (at.y[i], i))
        levels = sorted(set(at.y[begin:end]))
        assert [made.documents[begin + r] + begin for r in range(end - begin)] == ranked
        assert [made.place[i] for i in ranked] == list(range(begin, end))
        assert [levels.index(at.y[i]) for i in range(begin, end)] == list(made.level[begin:end])
        assert list(made.rank_level[begin:end]) == sorted(made.level[begin:end])
        assert set(made.query[begin:end]) <= {t}
        assert made.heights[t] == height(len(levels), made.arity)
        for level in levels:
            starts.append(starts[-1] + int(np.sum(at.y[begin:end] == level)))
        groups.append(groups[-1] + len(levels))
    np.testing.assert_array_equal(made.first_group, groups)
    np.testing.assert_array_equal(made.group_starts, starts)
    np.testing.assert_array_equal(made.offsets, at.offsets)
    assert made.longest == max((e - b for _, b, e in queries_of(at)), default=0)
    assert made.planes == max(made.heights, default=0)
    assert all(array.dtype == np.int32 for array in made[:-1])


def test_read_only_labels_compile_nothing():
    """A column of a data frame is read-only."""
    at = inputs.queries([3, 5], 2)
    expected, labels = problem.build_tree(at.y, at.offsets), at.y.copy()
    labels.flags.writeable = False
    compiled = len(problem._number_levels.addresses)
    np.testing.assert_array_equal(problem.build_tree(labels, at.offsets).documents, expected.documents)
    assert len(problem._number_levels.addresses) == compiled


def test_labels_of_neighbouring_queries_are_kept_apart():
    """The last label of a query equals the first of the next one; -0 is 0."""
    made = problem.build_tree(np.array([2.0, 1, 2, 2, 5, -0.0, 0.0]), np.array([0, 2, 5, 7]))
    np.testing.assert_array_equal(made.level, [1, 0, 0, 0, 1, 0, 0])
    np.testing.assert_array_equal(made.first_group, [0, 2, 4, 5])
    np.testing.assert_array_equal(made.heights, [1, 1, 0])


@pytest.mark.parametrize("levels, arity", [(0, 2), (1, 2), (2, 2), (3, 3), (8, 8), (9, 2), (10**6, 2)])
def test_choose_arity(levels, arity):
    assert problem.choose_arity(levels) == arity


@pytest.mark.parametrize("arity", [2, 3, 8])
def test_heights(arity):
    levels = np.arange(70)
    np.testing.assert_array_equal(problem.heights(levels, arity), [height(k, arity) for k in levels])


@pytest.mark.parametrize("longest, dtype", [(1, np.uint16), (65535, np.uint16), (65536, np.int32)])
def test_index_dtype(longest, dtype):
    assert problem.index_dtype(longest) == dtype


@pytest.mark.parametrize("name", sessions.WITH_PAIRS)
def test_pairs_of_documents(name):
    at = inputs.case(name)
    made = problem.make_problem(None, at.y, at.offsets)
    expected = [np.sum(at.y[b:e] != at.y[i]) for _, b, e in queries_of(at) for i in range(b, e)]
    np.testing.assert_array_equal(made.pulls(), expected)
    assert made.n_pairs == naive.pair_count(at.y, at.offsets)
    np.testing.assert_array_equal(made.weights, np.ones(len(at.offsets) - 1))


def meetings(session, begin, end):
    """Return [(i, j)] of a query: document i, and j in one of its ranges of any plane."""
    tables = session.partners.tables.astype(int)
    for plane in tables:
        for i in range(begin, end):
            for slot in range(1, len(plane), 2):
                for r in range(*sorted(plane[slot : slot + 2, i])):
                    yield i, begin + plane[0, begin + r]


@pytest.mark.parametrize("arity", ARITIES)
@pytest.mark.parametrize("lengths, levels", [([9, 1, 5], 3), ([40, 7], 0), ([30, 2], 11), ([1, 2], 2)])
def test_documents_of_two_levels_meet_once(lengths, levels, arity):
    """With equal scores all pairs are active: all documents of other levels, each in one plane and slot."""
    at = inputs.queries(lengths, levels, seed=3)
    made = problem.Problem(np.zeros((len(at.y), 1)), problem.build_tree(at.y, at.offsets, arity), np.ones(len(lengths)))
    session = LevelTreeSums(made, cpu)
    session.move(np.zeros(1))
    for _, begin, end in queries_of(at):
        pairs = itertools.permutations(range(begin, end), 2)
        assert sorted(meetings(session, begin, end)) == [(i, j) for i, j in pairs if at.y[i] != at.y[j]]


@pytest.mark.parametrize("blocks", [1, 2, 7, 64])
def test_share_out(blocks):
    rng = np.random.default_rng(1)
    at = inputs.queries([1, *rng.integers(0, 300, 40), 0, 1], 2)
    made = problem.build_tree(at.y, at.offsets)
    walk, sizes = problem.share_out(problem.Problem(None, made, np.ones(43)), blocks), np.diff(at.offsets)
    parts = np.split(walk.queries, walk.firsts[1:-1])
    assert len(walk.firsts) == blocks + 1 and walk.firsts[0] == 0 and walk.firsts[-1] == len(walk.queries)
    assert sorted(walk.queries) == [t for t in range(43) if len(set(at.y[at.offsets[t] : at.offsets[t + 1]])) > 1]
    assert all(np.all(np.diff(part) > 0) for part in parts)
    costs = [sizes[part] + problem.QUERY_COST for part in parts]
    fullest = max(costs, key=np.sum)  # without its last and shortest query, it had no more than any other
    assert sum(fullest) - min(fullest) <= min(map(np.sum, costs))
    assert walk.queries.dtype == walk.firsts.dtype == np.int32


def test_labels_without_pairs():
    with pytest.raises(DataError, match=r"3 documents, 2 queries"):
        problem.make_problem(None, np.array([1.0, 2, 2]), np.array([0, 1, 3]))


@pytest.mark.parametrize(
    "qid",
    [[4, 4, 1, 1], [4, 1, 4, 1, 4], [7], ["b", "a", "a", "b", "c"], ["b", "b", "a"], [2.5, 1.5, 2.5], [3, 1, 2, 1, 3]],
)
def test_group_rows(qid):
    rows, offsets, ids = group_rows(qid, len(qid))
    found = dict.fromkeys(qid)
    expected = [i for key in found for i in range(len(qid)) if qid[i] == key]
    assert list(ids) == list(found)
    assert list(range(len(qid)) if rows is None else rows) == expected
    assert (rows is None) == (expected == list(range(len(qid))))
    assert list(offsets) == [0, *itertools.accumulate(qid.count(key) for key in found)]
    assert offsets.dtype == np.int64


@pytest.mark.parametrize("qid", [[1, 2], [[1], [2], [3]], 1, []])
def test_group_rows_refuses_other_shapes(qid):
    with pytest.raises(DataError, match="one query id a document, 3"):
        group_rows(qid, 3)


def test_group_offsets():
    """Queries without documents are omitted."""
    offsets = group_offsets([3, 0, 1, 2, 0], 6)
    np.testing.assert_array_equal(offsets, [0, 3, 4, 6])
    assert offsets.dtype == np.int64


@pytest.mark.parametrize(
    "group, found",
    [
        ([3, 2], "they add up to 5"),
        ([7, -1], r"group\[1\] is -1"),
        ([3.0, 3.0], r"dtype float64"),
        ([[3, 3]], r"its shape is \(1, 2\)"),
        (6, r"its shape is \(\)"),
        (["3", "3"], "dtype <U1"),
        ([], r"its shape is \(0,\)"),
    ],
)
def test_group_offsets_refuses(group, found):
    with pytest.raises(DataError, match=rf"add up to 6; .*{found}"):
        group_offsets(group, 6)


def test_more_documents_than_the_tables_count_are_refused():
    count = problem.MOST + 1  # none of them in memory
    with pytest.raises(DataError, match=f"up to {count - 1:,} documents; there are {count:,}"):
        problem.build_tree(np.broadcast_to(1.0, count), np.array([0, count]))
