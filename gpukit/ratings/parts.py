"""Ratings in parts: each rank of a parallel.Team has the ratings of some users, and no rank has all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gpukit._pool import parallel_map
from gpukit.device.memory import empty
from gpukit.errors import ParameterError
from gpukit.evaluation.splits import random_mask
from gpukit.io.ids import take_values
from gpukit.model_selection.splits import hash_numbers
from gpukit.parallel import ALONE
from gpukit.ratings.table import DISTINCT, Ratings, set_state

if TYPE_CHECKING:
    from gpukit.parallel import Team

PIECE = 1 << 16  # ratings that a thread processes at a time
ROUNDS, ROUND = 16, (1 << 16, 1 << 22)  # in which a rank sends its ratings, and bounds of the ratings of one


class MappedRows(NamedTuple):
    """Ratings that all ranks have mapped from one file.

    table: Ratings; half: None for all of them, or (fraction, seed, True for training) of a split as Ratings.split.
    """

    table: Ratings
    half: tuple | None = None

    def in_half(self, first, last):
        """Return a mask of the rows from first to last - 1."""
        if self.half is None:
            return np.ones(last - first, np.bool_)
        fraction, seed, is_kept = self.half
        return random_mask(last - first, fraction, seed, first) == is_kept

    def range_of(self, rank, size):
        """Return the Ratings in one of `size` ranges of rows."""
        first, last = (len(self.table) * number // size for number in (rank, rank + 1))
        rows = self.table.take(slice(first, last))
        return rows if self.half is None else rows.take(self.in_half(first, last))

    def of_users(self, chosen):
        """Return the Ratings of the chosen users (M,) bool."""
        mask = take_values(chosen, self.table.users)
        mask &= self.in_half(0, len(mask))
        return self.table.take(mask)


@dataclass(eq=False)
class RatingsPart:
    """Ratings of all ranks without repeated pairs; `local` are those of this rank.

    len, shape, scale, user_ids and item_ids are those of all ratings; users, items and values are the columns of
    `local`, whose row numbers are those of all. Make it by `part_of` on all ranks together.

    local : Ratings
    team : parallel.Team
    count : int, ratings of all ranks
    scale : (float, float), the lowest and highest of all
    merged : int, repeated pairs that reading has removed on all ranks
    source : MappedRows or None; with it `local` is a range of rows, whose users may be on several ranks until `move`
    """

    local: Ratings
    team: Team
    count: int
    scale: tuple
    merged: int = 0
    source: MappedRows | None = None
    times = weights = counts = None
    _state = DISTINCT
    _ids = _packed = None

    def __getattr__(self, name):
        """Return users, items and values of `local`, the ids and shape of all, or `local` from the Orders of `pack`."""
        if name in ("users", "items", "values"):
            return getattr(self.local, name)
        if name in ("user_ids", "item_ids", "shape"):
            return getattr(self.local if self._ids is None else self._ids, name)
        if name != "local" or self._packed is None:
            raise AttributeError(f"RatingsPart has no {name}.")
        (starts, items, codes, levels), users = self._packed
        users = np.repeat(users.astype(np.int32), np.diff(starts[: len(users) + 1]))
        columns = {"users": users, "items": items, "values": take_values(levels, codes)}
        self.local = set_state(self._ids.with_columns(**columns), DISTINCT)
        self._packed = None
        return self.local

    def release(self, users):
        """Free the ratings of this rank; return Ratings of some of its users without rows. `pack` must follow."""
        empty = {name: np.empty(0, column.dtype) for name, column in self.local.columns().items()}
        self._ids = set_state(self.local.with_columns(**empty), DISTINCT)
        del self.local
        return Ratings(**empty, user_ids=self.user_ids[users], item_ids=self.item_ids)

    def pack(self, orders, users):
        """Keep the ratings that `release` has freed as the Orders on the host that were made of them.

        users (rows,): user of each row of the Orders, as in `release`.
        """
        by_user = orders.by_user
        self._packed = (by_user.indptr, by_user.others, by_user.codes, orders.levels.values), users

    def __len__(self):
        return self.count

    def first_values(self, count):
        """Return two values, which differ if any of all ratings do."""
        return np.array(self.scale, np.float32)

    def take(self, which):
        """Return Ratings of this rank, see Ratings.take."""
        return self.local.take(which)

    def split(self, fraction=0.1, seed=0, by="random"):
        """Return two RatingsParts: of mapped rows those of Ratings.split, otherwise those of `split_by_pair`.

        Another `by` raises ParameterError.
        """
        if by != "random":
            raise ParameterError(f"Ratings in parts are split at random; got by={by!r}. Read them on one rank.")
        if self.source is None or self.source.half is not None:
            return split_by_pair(self, fraction, seed)
        halves = (MappedRows(self.source.table, (fraction, seed, is_kept)) for is_kept in (True, False))
        return tuple(mapped_part(half, self.team) for half in halves)

    def together(self, other):
        """Return the RatingsPart of this one's ratings and those of another, which are the two parts of a split."""
        if self.source is not None:
            return mapped_part(MappedRows(self.source.table), self.team)
        theirs = other.local.columns()
        columns = {name: np.concatenate([column, theirs[name]]) for name, column in self.local.columns().items()}
        return part_of(set_state(self.local.with_columns(**columns), DISTINCT), self.team)

    def move(self, owner):
        """Give each rating to the rank owner[user]; owner (M,) int32."""
        if self.source is None:
            self.local, _ = redistribute(self.local, owner, self.team)
        else:
            del self.local  # to free a range of rows
            self.local = self.source.of_users(owner == self.team.rank)

    def sample(self, chosen):
        """Return, on rank 0, a RatingsPart with all ratings of the chosen users (M,) bool; None on other ranks."""
        own = self.local.take(chosen[self.users]).columns()
        parts = {name: self.team.gather(column) for name, column in own.items()}
        if self.team.rank:
            return None
        columns = {name: np.concatenate(part) for name, part in parts.items()}
        return RatingsPart(set_state(self.local.with_columns(**columns), DISTINCT), ALONE, self.count, self.scale)


def part_of(local, team, merged=0):
    """Return the RatingsPart of all ranks' Ratings; call it on all ranks. merged: pairs that this rank has removed."""
    count, merged = map(int, team.allreduce(np.array([len(local), merged])))
    low = team.allreduce(local.values.min(initial=np.inf), "min")
    high = team.allreduce(local.values.max(initial=-np.inf), "max")
    return RatingsPart(local, team, count, (float(low), float(high)), merged)


def mapped_part(source, team):
    """Return the RatingsPart of MappedRows; call it on all ranks."""
    part = part_of(source.range_of(team.rank, team.size), team)
    part.source = source
    return part


def check_same_part(ratings, validation, team):
    """Raise ParameterError for a RatingsPart of another team, or with another one's ids for validation."""
    for part in (ratings, validation):
        if not isinstance(part, RatingsPart):
            continue
        if team is not part.team:
            raise ParameterError("Ratings in parts are learned by the ranks that read them: pass their team= to fit.")
        if part.user_ids is not ratings.user_ids or part.item_ids is not ratings.item_ids:
            raise ParameterError("validation in parts must be a split of X. Read it with read_ratings on every rank.")


def rows_here(ratings):
    """Return the Ratings that this rank has, of Ratings or a RatingsPart."""
    return ratings.local if isinstance(ratings, RatingsPart) else ratings


def reduce_over_ranks(ratings, array, operation="sum"):
    """Return the sum ('max', 'min') of an array over the ranks of a RatingsPart; of Ratings the array itself."""
    return ratings.team.allreduce(array, operation) if isinstance(ratings, RatingsPart) else array


def count_rows(ratings):
    """Return the numbers of ratings ((M,), (N,)) of the users and of the items of all ranks."""
    from gpukit.ratings.orders.compressed import count_each

    sides = zip((ratings.users, ratings.items), ratings.shape)
    return tuple(reduce_over_ranks(ratings, count_each(rows, size)) for rows, size in sides)


def split_by_pair(ratings, fraction, seed=0):
    """Return two parts of Ratings or of a RatingsPart, the second with about a fraction of them.

    A hash of the rows of user and item decides, so neither the order of the ratings nor the rank does.
    """
    if isinstance(ratings, RatingsPart):
        return tuple(part_of(part, ratings.team) for part in split_by_pair(ratings.local, fraction, seed))
    is_kept, start = np.empty(len(ratings), np.bool_), hash_numbers(np.array([seed], np.uint64))

    def decide(first):
        piece = slice(first, first + PIECE)
        pairs = (ratings.users[piece].astype(np.uint64) << np.uint64(32)) | ratings.items[piece].astype(np.uint64)
        is_kept[piece] = hash_numbers(pairs ^ start) >= np.uint64(int(fraction * 2.0**64))

    parallel_map(decide, range(0, len(is_kept), PIECE))
    return ratings.parted(is_kept)


def redistribute(ratings, group, team, each=1):
    """Return (Ratings, sizes (each,)): this rank's groups of ratings, one after the other, and their lengths.

    group (M,) int32: of each user; rank r gets the groups from each * r to each * (r + 1) - 1. The ratings of a group
    are in the order of the ranks that had them. They are sent in ROUNDS, so a rank needs little more memory than the
    ratings that it has and gets.
    """
    from gpukit.primitives.group.cpu import sort_by_bits

    columns, groups = ratings.columns(), each * team.size
    longest = int(team.allreduce(np.array(len(ratings)), "max"))
    rounds = range(0, longest, int(np.clip(longest // ROUNDS, *ROUND)))
    parts = [slice(first, first + rounds.step) for first in rounds]
    counts = [np.bincount(take_values(group, ratings.users[part]), minlength=groups) for part in parts]
    counts = np.array(counts, np.int64).reshape(-1, groups)
    table = [part.reshape(len(rounds), each) for part in team.alltoall(np.split(counts, team.size, axis=1))]
    sizes = np.array([part.sum(axis=0) for part in table]).T  # (each, ranks)
    places = (np.cumsum(sizes) - sizes.ravel()).reshape(sizes.shape)
    out = {name: empty(int(sizes.sum()), column.dtype) for name, column in columns.items()}
    for number, part in enumerate(parts):
        keys = take_values(group, ratings.users[part]).astype(np.uint64)
        order = sort_by_bits(keys, 0, max(1, (groups - 1).bit_length()), np.arange(len(keys), dtype=np.uint32))[1]
        cuts = np.cumsum(counts[number].reshape(team.size, each).sum(axis=1))[:-1]
        lengths = np.array([counts_of_rank[number] for counts_of_rank in table])  # (ranks, each)
        for name, column in columns.items():
            sent = np.split(take_values(column[part], order), cuts)
            for rank, runs in enumerate(team.alltoall(sent)):
                put_runs(out[name], runs, places[:, rank], lengths[rank])
        places += lengths.T
    return set_state(ratings.with_columns(**out), ratings._state), sizes.sum(axis=1)


def put_runs(out, runs, places, lengths):
    """Copy runs of these lengths, which follow each other, to out[place], ... each."""
    for place, run in zip(places, np.split(runs, np.cumsum(lengths)[:-1])):
        out[place : place + len(run)] = run


def in_ranges(counts, size):
    """Return the number of each user's range (M,) int32: ranges of users with about equal numbers of ratings."""
    before = np.cumsum(counts) - counts
    return np.minimum(before * size // max(1, int(counts.sum())), size - 1).astype(np.int32)
