"""Deterministic epochs in batches, see batch_training.py, whose ratings travel as those of stream_training.py.

A block is a batch, with its ratings in the order of their slots. The slots of the minor rows are computed for each
batch when it is processed, on the default stream, so that transfers wait for computation.
"""

import numpy as np

from gpukit import device as devices
from gpukit.device.upload import to_device
from gpukit.factorization.solvers.sgd import batch_plan, schedule
from gpukit.factorization.solvers.sgd import gpu as steps
from gpukit.factorization.solvers.sgd.batch_training import minor_segments, plan_batches
from gpukit.factorization.solvers.sgd.stream_plan import StreamPlan, buffer_bytes, is_kept, kept_blocks
from gpukit.factorization.solvers.sgd.stream_training import Block, StreamedTraining, stored


class StreamBatchTraining(StreamedTraining):
    """Deterministic epochs of a session on ratings that travel in batches; see StreamedTraining."""

    def __init__(self, session, task, order):
        super().__init__(session, task, order, 0)
        self.plan = plan = plan_batches(task, steps.seen_width(session.layout))
        largest, count = max(plan.sizes), len(plan.sizes)
        fixed = plan.chunks.nbytes + largest * (batch_plan.SORTED + 4 * steps.seen_width(session.layout))
        needed = fixed + buffer_bytes(self.packing, largest)
        devices.require_memory(task.device, needed, f"Streaming {self.n_ratings:,} ratings in batches")
        kept = kept_blocks(count, largest, self.packing, devices.spare_memory() - fixed)
        source = self.source(task, np.arange(self.rows + 1, dtype=np.int32))
        parts = [plan.chunks[first:last] for first, last in zip(plan.firsts, plan.firsts[1:])]
        stays = is_kept(StreamPlan(count, kept))
        self.hold([batch_block(part, source, one) for part, one in zip(parts, stays)], largest)
        self.ranks = steps.resident(np.argsort(plan.order), np.int32)
        arrays = (steps.resident(array, np.int32) for array in (plan.order, plan.at_once))
        self.minor_rows = [steps.cut(array, plan.long) for array in arrays]
        self.seen = steps.empty((largest, steps.seen_width(session.layout)), np.float32)

    def start(self, rates, turn):
        """Queue `step`."""
        parameters, layout, plan = self.session.parameters, self.session.layout, self.plan
        order = schedule.order_tables([number for number, size in enumerate(plan.sizes) if size], turn)
        self.queue.restart([number for number in order if not self.blocks[number].kept])
        for number, batch in self.unpacked(order):
            block = self.blocks[number]
            starts, slots = minor_segments(block.chunks, block.n, self.minor, self.ranks, steps)
            chunks = steps.cut(block.chunks, int(plan.longs[number]))
            steps.walk_major(layout, chunks, batch, parameters, rates, self.seen)
            starts = steps.cut(starts, plan.long, 1)
            steps.walk_minor(layout, starts, slots, *self.minor_rows, self.seen, parameters.Q, rates)

    def finish(self):
        """Wait for the queued epochs."""
        self.session.finish()


def batch_block(chunks, source, stays):
    """Return the Block of the chunks (n, 5) of a batch."""
    moved = chunks.copy()
    moved[:, 1] = chunks[:, 3]
    planes = stored(source, np.ascontiguousarray(chunks[:, :3]), chunks[:, 3].copy(), stays)
    return Block(int(chunks[:, 2].sum()), to_device(moved), planes, stays)
