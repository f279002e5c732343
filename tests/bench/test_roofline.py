"""The share of the peak: each kernel is checked before it is timed."""

import numpy as np
import pytest

from gpukit import bench, device
from gpukit.bench import Conditions, roofline
from gpukit.errors import DataError

CPU = Conditions(device.resolve("cpu"), scale=0.001)
FAST = ("Hamming distances", "segmented_argsort float32")


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(roofline, "KERNELS", [one for one in roofline.KERNELS if one[0] in FAST])
    monkeypatch.setattr(roofline, "PEAK_SIDES", {False: (64, 1 << 12)})


def test_shares_follow_from_bytes_operations_and_the_measured_peaks(few, monkeypatch):
    monkeypatch.setattr(roofline, "time_step", lambda *_: [2.0, 4.0, 8.0])  # ms
    copy, product, *rows = bench.find("roofline")(CPU)
    assert copy.samples == pytest.approx([8e-6 * (1 << 12) / ms for ms in (2, 4, 8)]) and copy.unit == "GB/s"
    assert product.samples[1] == pytest.approx(2e-6 * 64**3 / 4) and product.unit == "Gflop/s"
    assert [row.what.removeprefix("roofline: ") for row in rows] == list(FAST)
    keys = int(roofline.web30k_offsets(4 * CPU.scale)[-1])
    assert rows[1].samples[1] == pytest.approx(100 * 8 * keys / (1e9 * copy.samples[1]) / 4e-3)
    assert rows[1].unit == "% of the copy bandwidth" and rows[0].unit == "% of the float32 rate"
    assert rows[1].note == f"4 ms; {8e-9 * keys:.3g} GB; 0 Gflop"


def test_a_kernel_whose_answer_differs_is_not_timed(few, monkeypatch):
    monkeypatch.setattr(roofline, "time_step", lambda *_: [1.0])
    builds = {name: build for name, build, _ in roofline.KERNELS}

    def wrong(scale, device, calls=[]):  # noqa: B006
        calls.append(scale)
        work = builds[FAST[1]](scale, device)
        return work._replace(answer=lambda: work.answer()[:: 1 if len(calls) == 1 else -1])

    monkeypatch.setattr(roofline, "KERNELS", [("a sort", wrong, "keys")])
    with pytest.raises(DataError, match="a sort has a relative error"):
        list(roofline.roofline(CPU))


@pytest.mark.slow
@pytest.mark.parametrize("name, build, shape", roofline.KERNELS, ids=[kernel[0] for kernel in roofline.KERNELS])
def test_every_kernel_runs_and_answers_the_same_again(name, build, shape):
    work = build(roofline.SMALL / 2, CPU.device)
    first, again = roofline.first_answer(work), roofline.first_answer(build(roofline.SMALL / 2, CPU.device))
    assert first.size and np.isfinite(first).all() and work.bytes > 0
    np.testing.assert_allclose(first, again, rtol=0.02 if "epoch" in name else 1e-6)
