"""Cores available to a process: its affinity, and the quota of both versions of control groups."""

import os

import pytest

from gpukit import _cores


@pytest.mark.parametrize(
    "groups, files, quota",
    [
        ("0::/\n", {}, None),
        ("0::/\n", {"cpu.max": "max 100000"}, None),
        ("0::/\n", {"cpu.max": "200000 100000"}, 2),
        ("0::/a/b\n", {"a/b/cpu.max": "max 100000", "a/cpu.max": "150000 100000"}, 2),
        ("0::/a/b\n", {"a/b/cpu.max": "300000 100000", "a/cpu.max": "400000 100000"}, 3),
        ("0::/gone\n", {"cpu.max": "10000 100000"}, 1),
        ("4:memory:/x\n1:cpu:/x\n", {"cpu/x/cpu.cfs_quota_us": "250000", "cpu/x/cpu.cfs_period_us": "100000"}, 3),
        ("1:cpu,cpuacct:/x\n", {"cpu,cpuacct/cpu.cfs_quota_us": "-1", "cpu,cpuacct/cpu.cfs_period_us": "100000"}, None),
        ("1:cpu,cpuacct:/x\n", {"cpu,cpuacct/cpu.cfs_quota_us": "5", "cpu,cpuacct/cpu.cfs_period_us": "10"}, 1),
        ("1:cpuset:/x\n", {"cpu/cpu.cfs_quota_us": "5", "cpu/cpu.cfs_period_us": "10"}, None),
        ("0::/\n", {"cpu.max": "nonsense"}, None),
    ],
)
def test_the_quota_of_a_control_group(tmp_path, groups, files, quota):
    (tmp_path / "cgroup").write_text(groups)
    for name, text in files.items():
        file = tmp_path / "mounts" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")
    assert _cores.core_quota(tmp_path / "cgroup", tmp_path / "mounts") == quota


def test_without_control_groups_there_is_no_quota(tmp_path):
    assert _cores.core_quota(tmp_path / "nothing", tmp_path) is None


@pytest.mark.parametrize("quota, count", [(None, 3), (2, 2), (9, 3)])
@pytest.mark.parametrize("knows_affinity", [True, False])
def test_cores_are_the_smaller_number(monkeypatch, quota, count, knows_affinity):
    if knows_affinity:
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 5}, raising=False)
    else:
        monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 99 if knows_affinity else 3)
    monkeypatch.setattr(_cores, "core_quota", lambda: quota)
    assert _cores.cores() == count
