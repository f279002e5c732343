"""GPUs of ranks: one per rank, checked on all ranks; environment of a rank."""

from types import SimpleNamespace

import pytest

from gpukit.errors import DeviceError
from gpukit.parallel import current_team, launch
from gpukit.runtime import thread_count
from parallel.test_team import together


@pytest.mark.parametrize(
    "names, message",
    [
        (("GPU-a", "GPU-b", "GPU-c"), None),
        (("", "", ""), None),
        (("", "GPU-a", ""), None),
        (("GPU-a", "GPU-b", "GPU-a"), "Ranks 0 and 2 use the same GPU GPU-a"),
        (("GPU-a", "GPU-b", "GPU-b"), "Ranks 1 and 2 use the same GPU GPU-b"),
    ],
    ids=str,
)
def test_two_ranks_on_one_gpu(names, message, monkeypatch):
    """GPUs are compared by UUID, because their numbers differ between ranks; ranks on the CPU may share it."""
    monkeypatch.setattr(current_team, "gpu_uuid", lambda device: device.name)

    def work(team):
        name = names[team.rank]
        return current_team.check_distinct_gpus(team, SimpleNamespace(is_cuda=bool(name), name=name))

    for error in together(3, work):
        if message is None:
            assert error is None
        else:
            assert isinstance(error, DeviceError) and message in str(error) and error.exit_code == 2


def test_each_rank_sees_one_of_the_visible_gpus(monkeypatch):
    monkeypatch.setattr(launch, "gpu_count", lambda: 2)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5,3")
    settings = launch.make_rank_settings(2, True)
    assert [settings(rank)["CUDA_VISIBLE_DEVICES"] for rank in range(2)] == ["5", "3"]
    with pytest.raises(DeviceError, match="only 2 GPU"):
        launch.make_rank_settings(3, True)


def test_ranks_on_the_cpu_share_its_threads(monkeypatch):
    monkeypatch.setattr(thread_count._setting, "count", 7)
    assert launch.make_rank_settings(2, False)(1) == {"GPUKIT_NUM_THREADS": "3"}
    assert launch.make_rank_settings(9, False)(0) == {"GPUKIT_NUM_THREADS": "1"}
