"""Epochs with less GPU memory than a training needs, compared with epochs in enough memory."""

import time
import warnings
from typing import NamedTuple

from gpukit.bench.process import environment
from gpukit.bench.ratings import check_finite, generate_split, make_estimators, model_label
from gpukit.bench.record import Row
from gpukit.factorization import plan as plans
from gpukit.factorization import run as runs
from gpukit.factorization.model.layout import major_first
from gpukit.factorization.solvers.sgd import schedule

CASES = ("CUSGD++", 32), ("CUSGD++", 128), ("CULSH-MF", 32)
SHARES = {"a third": 3, "a seventh": 7}  # of the memory that a training needs
QUEUED = 4  # epochs of a sample: some blocks of an epoch are sent during the epoch before


class StreamedEpochs(NamedTuple):
    """Milliseconds of epochs, test RMSE after the last epoch, and bytes that the training needs on the GPU."""

    samples: list
    rmse: float
    needed: int
    training: object


def measure(estimator, train, test, device, limit=None, repeat=9):
    """Return the StreamedEpochs of a training with a limit of GPU memory in bytes; None: no limit."""
    with environment(GPUKIT_GPU_MEMORY=None if limit is None else str(limit)), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # ratings are streamed
        run = estimator.set_params(device=device).prepare(train)
        judge = runs.Judge(run.session, test, run.scale, 0)
        for epoch in range(run.settings.epochs):
            run.training.epoch(epoch)
        rmse, samples = judge.rmse(), []
        for _ in range(repeat):
            start = time.perf_counter()
            for epoch in range(QUEUED):
                run.training.start(run.settings.epoch_rates(epoch), schedule.turn_key(run.settings.seed, epoch))
            run.session.finish()
            samples.append(1e3 * (time.perf_counter() - start) / QUEUED)
        check_finite(run.session)
    sides = major_first(estimator.walk, *train.shape)
    return StreamedEpochs(samples, rmse, plans.memory_needed(len(train), sides, run.session.layout), run.training)


def out_of_core(conditions):
    """Time an epoch with a third and with a seventh of the GPU memory that the training needs."""
    if not conditions.device.is_cuda:
        return
    for _, shape, (train, test) in conditions.generate(generate_split, ("netflix",), ("ml-10m", "yahoo")):
        for model, factors in CASES:
            estimator, label = dict(make_estimators(factors))[model], model_label(model, factors)
            whole = measure(estimator, train, test, conditions.device)
            whole = whole._replace(training=None)  # frees its memory
            for name, share in SHARES.items():
                limit = whole.needed // share
                result = measure(estimator, train, test, conditions.device, limit)
                note = describe(result, whole, limit)
                yield Row(f"one epoch {label}, {name} of the memory", shape, "generated", result.samples, "ms", note)
                del result


def describe(result, whole, limit):
    """Return the note of a row: the resident epoch, what travels, and both errors."""
    middle, before = (sorted(one.samples)[len(one.samples) // 2] for one in (result, whole))
    blocks, sent = result.training.blocks, result.training.bytes_sent / 1e9
    kept = sum(block.kept for block in blocks)
    return (
        f"{limit / 2**20:.0f} MiB; {middle / before:.2f} times the {before:.2f} ms in enough memory; {sent:.2f} GB an "
        f"epoch at {1e3 * sent / middle:.1f} GB/s; {result.training.packing.packed} bytes a rating; {kept} of "
        f"{len(blocks)} blocks stay on the GPU; RMSE {result.rmse:.4f}, in enough memory {whole.rmse:.4f}"
    )
