"""Algorithm 1 over the ranks of a parallel.Team, each with a part of the users' ratings of every item.

simLSH's sums are added over ranks and equal those of one process to the bit; then each rank searches for a part of the
items. The sums stay bit-sliced (formulas.py). For a stripe of items, every rank's units get their own slots in
one array, which is zero elsewhere, so that the sum of the ranks' arrays contains all units.
"""

import numpy as np

from gpukit.device.engine import engine
from gpukit.neighbors import plan, run
from gpukit.neighbors.plan import CARDS
from gpukit.neighbors.run import cut_columns, sum_slices
from gpukit.parallel.current_team import make_transport

SUM_BYTES = 256 << 20  # bytes of the sums of a stripe of items


def find_shared(columns, settings, team, device):
    """Return (neighbors (N, K) int32, random slots) of all items on the host; see neighbors.cpu.find.

    The columns.Columns are of the rank's users; every item has the users' rows, and values the levels, of all ranks.
    """
    n_items = len(columns.indptr) - 1
    plan.check_items(settings, n_items)
    steps, codes = engine(device, "gpukit.neighbors"), None
    lengths = np.stack(team.allgather(np.diff(columns.indptr)))
    if CARDS[settings.search].reads_codes:
        codes = shared_codes(columns, settings, lengths, team, device)
    rated = steps.resident(lengths.sum(axis=0) > 0, np.uint8)
    first, last = (n_items * rank // team.size for rank in (team.rank, team.rank + 1))
    lists = steps.search(plan.Items(columns, codes, rated), settings, (first, last))
    parts = (steps.fetch(array)[first:last] for array in (lists.neighbors, lists.random_slots))
    neighbors, random_slots = (np.concatenate(team.allgather(np.ascontiguousarray(array))) for array in parts)
    return neighbors, int(random_slots.sum())


def shared_codes(columns, settings, lengths, team, device, chunk=run.CHUNK):
    """Return the codes of all ranks' ratings, (N, n_words) uint32 on the device; lengths (ranks, N): of the items."""
    steps = engine(device, "gpukit.neighbors")
    lines = make_transport(team, device)
    weights = run.level_weights(columns.values, settings.psi)
    whole, pieces = np.append(0, np.cumsum(lengths.sum(axis=0))), np.maximum(-(-lengths // chunk), 1)
    adder = run.Adder(steps, columns, weights, sum_slices(whole, weights), settings)
    for first, last in stripes(pieces.sum(axis=0), adder.unit_bytes):
        units, joins = units_of(columns.indptr, pieces, team.rank, first, last)
        partials, totals = adder.add_up(units, int(joins[-1, 2]))
        lines.allreduce(partials)
        lines.allreduce(totals)
        adder.join(joins, partials, totals)
    return adder.codes


def stripes(units, unit_bytes):
    """Return ranges of items [(first, last)] whose units' sums take about SUM_BYTES; units (N,)."""
    most, before = max(1, SUM_BYTES // unit_bytes), np.append(0, np.cumsum(units))
    edges = np.searchsorted(before, np.arange(0, before[-1] + most, most))
    edges = np.unique(np.minimum(edges, len(units)))
    return list(zip(edges[:-1].tolist(), edges[1:].tolist()))


def units_of(indptr, pieces, rank, first, last):
    """Return the units of a rank's ratings of the items first to last, and their joins.

    units (U, 4) int64: item, begin, end, slot; joins (last - first, 3) int64: item, first slot, last slot + 1. Slots:
    by item, then rank, then piece, from 0.
    """
    here = pieces[:, first:last]
    ends = np.cumsum(here.T.reshape(-1)).reshape(last - first, len(pieces))
    starts = ends - here.T
    joins = np.stack([np.arange(first, last), starts[:, 0], ends[:, -1]], axis=1).astype(np.int64)
    units, _, first_unit = cut_columns(np.asarray(indptr)[first : last + 1], here[rank])
    item = units[:, 0].copy()
    units[:, 0], units[:, 3] = item + first, starts[item, rank] + np.arange(len(item)) - first_unit[item]
    return units, joins
