"""Epochs with less GPU memory: what needs no GPU."""

from types import SimpleNamespace

from gpukit.bench import Conditions, ratings
from gpukit.device import cpu


def test_without_a_gpu_there_are_no_rows():
    assert list(ratings.out_of_core(Conditions(cpu()))) == []


def test_the_note_of_a_row():
    blocks = [SimpleNamespace(kept=kept) for kept in (True, False, False, False)]
    training = SimpleNamespace(blocks=blocks, bytes_sent=3 * 10**8, packing=SimpleNamespace(packed=3))
    result = ratings.StreamedEpochs([9.0, 6.0, 7.0], 0.91234, 9, training)
    whole = ratings.StreamedEpochs([5.0, 4.0, 9.0], 0.91111, 9, None)
    assert ratings.describe(result, whole, 500 << 20) == (
        "500 MiB; 1.40 times the 5.00 ms in enough memory; 0.30 GB an epoch at 42.9 GB/s; 3 bytes a rating; 1 of 4 "
        "blocks stay on the GPU; RMSE 0.9123, in enough memory 0.9111"
    )
