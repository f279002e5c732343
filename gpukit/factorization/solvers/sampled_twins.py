"""CPU twin of kernels.py, with threads instead of groups of lanes.

With one worker a run is repeatable to the bit. Several workers update the items' rows without locks (Hogwild). As in
sgd/twins.py, tuples of arrays are unpacked before the loop over examples, and indices are unsigned.
"""

import numpy as np

from gpukit._jit import njit
from gpukit.factorization.model.layout import BIAS, EXTRA, SQUARES
from gpukit.factorization.solvers.sampled_formulas import NOBODY, TRIES, draw_item, error_of, examples_of
from gpukit.factorization.solvers.sgd import formulas
from gpukit.factorization.solvers.sgd.formulas import ONE, ZERO
from gpukit.factorization.solvers.sgd.twins import learn, learn_influence
from gpukit.factorization.twins import dot, terms, total
from gpukit.random import integer_below
from gpukit.scheduler import by_block

U8, U32, U64 = np.uint8, np.uint32, np.uint64
NONE = U8(2)  # mark of slots without a neighbour in a table of clicks


@njit
def _mark(items, table, mark):
    """table[item] = mark for the items that a user clicked."""
    for t in range(items.size):
        table[items[t]] = mark


@njit
def _negative(table, key, number, last):
    """Return an item that is neither clicked nor `last`; NOBODY if none was sampled."""
    for attempt in range(TRIES):
        item = draw_item(key, number, attempt, table.size - 1)
        if table[item] == 0 and item != last:
            return item
    return NOBODY


@njit
def _look_up(near, table, clicked, others):
    """Set clicked[k] = 1 for clicked neighbours, others[k] = 1 for the rest; return |R|^-1/2, |N|^-1/2.

    A slot without neighbour has near[k] = -1, which as uint32 is clipped to the table's last position.
    """
    nobody = U32(table.size - 1)
    for k in range(near.size):
        mark = table[min(U32(near[k]), nobody)]
        clicked[k] = ONE if mark == 1 else ZERO
        others[k] = ONE if mark == 0 else ZERO
    return formulas.set_scale(total(clicked)), formulas.set_scale(total(others))


@njit(inline="always")
def _walk(chunk, shift, items, near, parameters, rates, draw, table, scratch):
    """Process one chunk: consecutive clicks of one user, from `shift` on, cyclically; scratch (2, K)."""
    row, first, length, (P, Q, influence, _) = chunk[0], chunk[1], chunk[2], parameters
    n, size = Q.shape[1] - EXTRA, scratch.shape[1]
    key, negatives, pairwise = draw
    p, p_extra, clicked, others = P[row], P[row, n:], scratch[0], scratch[1]
    last, click, owed = NOBODY, ZERO, ZERO
    for number in range(length * examples_of(negatives, pairwise)):
        step, place = divmod(number, examples_of(negatives, pairwise))
        t = first + (step + shift if step + shift < length else step + shift - length)
        if 0 < place <= negatives:
            item = _negative(table, key, t * negatives + place - 1, last)
        else:
            item = np.int64(items[U64(t)])
        last = item
        if item == NOBODY:
            continue
        j = U64(item)
        q, q_extra = Q[j], Q[j, n:]
        explicit, implicit, around = ZERO, ZERO, ZERO
        index = j if size else U64(0)
        w, c = influence[index, :size], influence[index, size:]
        if size:
            explicit, implicit = _look_up(near[j], table, clicked, others)
            around = terms(clicked, others, w, c, explicit, implicit)
        score = dot(p, q, n) + p_extra[BIAS] + q_extra[BIAS] + around
        error = error_of(place, score, negatives, pairwise, click, owed)
        if pairwise and place == 0:
            click, owed = score, ZERO
            continue
        if pairwise:
            owed -= error
        if size:
            rate = formulas.row_rate(rates.influence, rates.factor_gain, q_extra[SQUARES])
            learn_influence(w, clicked, clicked, explicit * error, rate, rates.influence_decay)
            learn_influence(c, others, others, implicit * error, rate, rates.influence_decay)
        learn(p, p_extra, q, q_extra, n, error, ONE, rates)


@njit
def _work(worker, workers, chunks, clicks, near, parameters, rates, turn, draw):
    """Process all chunks of a worker."""
    (starts, items), table = clicks, np.zeros(parameters.Q.shape[0], np.uint8)
    table[-1] = NONE
    scratch = np.empty((2, parameters.influence.shape[1] // 2), np.float32)
    for c in range(worker, chunks.shape[0], workers):
        row, length = chunks[c, 0], chunks[c, 2]
        if length > 0:
            clicked = items[starts[row] : starts[row + 1]]
            _mark(clicked, table, U8(1))
            _walk(chunks[c], integer_below(turn, c, length), items, near, parameters, rates, draw, table, scratch)
            _mark(clicked, table, U8(0))


@by_block(lambda workers: workers, heavy=True)
def sampled_epoch(start, stop, chunks, clicks, neighbors, parameters, rates, turn, draw, workers):
    """Twin of kernels.sampled_epoch."""
    for worker in range(start, stop):
        _work(worker, workers, chunks, clicks, neighbors, parameters, rates, turn, draw)
