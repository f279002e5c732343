"""Each rank its own GPU: who would share one is told so, on all ranks; what a rank sees of the machine."""

from types import SimpleNamespace

import pytest

from gpukit.errors import DeviceError
from gpukit.parallel import devices
from gpukit.runtime import thread_count
from parallel.test_team import together


@pytest.mark.parametrize(
    "names, told",
    [
        (("GPU-a", "GPU-b", "GPU-c"), None),
        (("", "", ""), None),
        (("", "GPU-a", ""), None),
        (("GPU-a", "GPU-b", "GPU-a"), "Ranks 0 and 2 would both work on the GPU GPU-a"),
        (("GPU-a", "GPU-b", "GPU-b"), "Ranks 1 and 2 would both work on the GPU GPU-b"),
    ],
    ids=str,
)
def test_two_ranks_on_one_gpu(names, told, monkeypatch):
    """By its name, whatever number each knows it by; ranks on the CPU (without one) share it."""
    monkeypatch.setattr(devices, "uuid", lambda device: device.name)

    def work(team):
        name = names[team.rank]
        return devices.check_apart(team, SimpleNamespace(is_cuda=bool(name), name=name))

    for found in together(3, work):
        if told is None:
            assert found is None
        else:
            assert isinstance(found, DeviceError) and told in str(found) and found.exit_code == 2


def test_each_rank_sees_one_of_the_gpus_that_can_be_seen(monkeypatch):
    monkeypatch.setattr(devices, "gpu_count", lambda: 2)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5,3")
    given = devices.settings_of_ranks(2, True)
    assert [given(rank)["CUDA_VISIBLE_DEVICES"] for rank in range(2)] == ["5", "3"]
    with pytest.raises(DeviceError, match="only 2 GPU"):
        devices.settings_of_ranks(3, True)


def test_ranks_on_the_cpu_share_its_threads(monkeypatch):
    monkeypatch.setattr(thread_count._setting, "count", 7)
    assert devices.settings_of_ranks(2, False)(1) == {"GPUKIT_NUM_THREADS": "3"}
    assert devices.settings_of_ranks(9, False)(0) == {"GPUKIT_NUM_THREADS": "1"}
