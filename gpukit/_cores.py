"""Cores that this process may use: its affinity, and the share of processor time that its control group allows."""

import contextlib
import os
from pathlib import Path

GROUPS, MOUNTS = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")


def cores():
    """Return the smaller of the cores in the affinity mask and those in the quota of the control group, at least 1."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = core_quota()
    return count if quota is None else max(1, min(count, quota))


def core_quota(groups=GROUPS, mounts=MOUNTS):
    """Return the smallest quota of the process's control group and its parents, in cores rounded up; None without one.

    Both versions of control groups count.
    """
    try:
        lines = Path(groups).read_text(encoding="utf-8").splitlines()
    except OSError:  # not Linux
        return None
    result = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:
            result += [_unified_quota(folder) for folder in _folders(Path(mounts), path)]
        elif "cpu" in controllers.split(","):
            result += [
                _legacy_quota(folder) for name in ("cpu", controllers) for folder in _folders(mounts / name, path)
            ]
    return min((quota for quota in result if quota is not None), default=None)


def _folders(mount, path):
    """Return the folders of a group and of its parents. A container's mount may begin at the group itself."""
    parts = [part for part in path.split("/") if part and part != ".."]
    return [mount.joinpath(*parts[:depth]) for depth in range(len(parts) + 1)]


def _unified_quota(folder):
    """Return the cores of version 2's cpu.max: microseconds or "max", and the period."""
    with contextlib.suppress(OSError, ValueError):
        quota, period = (folder / "cpu.max").read_text(encoding="ascii").split()
        return _ceil_ratio(int(quota), int(period))
    return None


def _legacy_quota(folder):
    """Return the cores of version 1's quota, whose -1 means none."""
    with contextlib.suppress(OSError, ValueError):
        names = "cpu.cfs_quota_us", "cpu.cfs_period_us"
        return _ceil_ratio(*(int((folder / name).read_text(encoding="ascii")) for name in names))
    return None


def _ceil_ratio(quota, period):
    return -(-quota // period) if quota > 0 and period > 0 else None
