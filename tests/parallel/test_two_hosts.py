"""Two hosts: network namespaces with a link between them. Ranks meet over TCP; a lost link ends the job.

The tests need Linux with user namespaces, iproute2 and util-linux, and fail without them. GPUKIT_WITHOUT_NAMESPACES=1
leaves them out.
"""

import os
import subprocess
import sys
import time

import numpy as np
import pytest

from gpukit.factorization import MatrixFactorization
from gpukit.parallel.rendezvous import make_rendezvous
from parallel.test_commands import GPUKIT, run_here

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif("GPUKIT_WITHOUT_NAMESPACES" in os.environ, reason="GPUKIT_WITHOUT_NAMESPACES is set"),
]
ADDRESSES = {"first": "10.77.0.1", "second": "10.77.0.2"}
OWN = "unshare", "--user", "--map-root-user", "--net", "--mount"
SETUP = """
mount -t tmpfs none /run
for host in first second; do ip netns add $host; done
ip link add name here type veth peer name there
ip link set dev here netns first name eth0
ip link set dev there netns second name eth0
ip -n first address add 10.77.0.1/24 dev eth0
ip -n second address add 10.77.0.2/24 dev eth0
for host in first second; do ip -n $host link set dev eth0 up; ip -n $host link set dev lo up; done
echo ready
read line
"""
PIPES = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
NAMED = 'echo "$0" > /proc/sys/kernel/hostname; exec "$@"'
SUMS = """
import sys, time
import numpy as np
from gpukit.errors import GpukitError
from gpukit.parallel.current_team import join_team
try:
    with join_team(2) as team:
        print("joined", flush=True)
        for _ in range(9000):
            team.allreduce(np.ones(2))
            time.sleep(0.01)
except GpukitError as error:
    print(error)
    sys.exit(error.exit_code)
"""


class Hosts:
    """Two hosts in the namespaces of a process."""

    def __init__(self, process):
        self.prefix = "nsenter", "--target", str(process.pid), "--user", "--net", "--mount", "--preserve-credentials"

    def run(self, *words):
        """Run a command next to the hosts."""
        subprocess.run([*self.prefix, *words], check=True, capture_output=True, timeout=20)

    def start(self, words, **changes):
        """Start a rank on each host; return their processes."""
        meeting = make_rendezvous(2, f"{ADDRESSES['first']}:5000", **changes)
        return [
            subprocess.Popen(
                [*self.prefix, "ip", "netns", "exec", host, "unshare", "--uts", "sh", "-c", NAMED, host, *words],
                env={**os.environ, **meeting.environment(rank)},
                text=True,
                **PIPES,
            )
            for rank, host in enumerate(ADDRESSES)
        ]


@pytest.fixture
def hosts():
    """Two hosts; the test fails where they cannot be made."""
    try:
        process = subprocess.Popen([*OWN, "sh", "-e", "-c", SETUP], text=True, **PIPES, stdin=subprocess.PIPE)
        reason = "" if process.stdout.readline() == "ready\n" else process.communicate()[1].strip()
    except OSError as error:
        reason = str(error)
    if reason:
        pytest.fail(f"Network namespaces cannot be made ({reason}). GPUKIT_WITHOUT_NAMESPACES=1 leaves this test out.")
    yield Hosts(process)
    process.communicate("", timeout=20)


def finish(ranks, seconds):
    """Return [(exit code, output, errors)] of processes, which must end within `seconds`."""
    end = time.monotonic() + seconds
    try:
        printed = [rank.communicate(timeout=max(1.0, end - time.monotonic())) for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
    return [(rank.returncode, *texts) for rank, texts in zip(ranks, printed)]


def test_ranks_of_two_hosts_train_the_model_of_one(hosts, root, tmp_path):
    options = (
        "--factors 4 --no-neighbors --epochs 2 --learning-rate 0.1 --regularization 0.1 --deterministic --device cpu"
    )
    words = ["train-lshmf", str(root / "data/ratings-sample.csv"), *options.split(), "--quiet", "--model"]
    assert run_here(*words, tmp_path / "one")[0] == 0
    results = finish(hosts.start([*GPUKIT, *words, str(tmp_path / "two")]), 120)
    assert [code for code, *_ in results] == [0, 0], results
    models = [MatrixFactorization.load(tmp_path / name) for name in ("one", "two")]
    for name, array in models[0]._state._asdict().items():
        np.testing.assert_array_equal(getattr(models[1]._state, name), array, name)


def test_a_link_that_is_down_from_the_start(hosts):
    """Each host says what it does not reach."""
    hosts.run("ip", "-n", "second", "link", "set", "dev", "eth0", "down")
    (code, out, _), (other_code, other_out, _) = finish(hosts.start([sys.executable, "-c", SUMS], seconds=3), 60)
    assert code == other_code == 1
    assert out.startswith("Rank 1 has not joined rank 0 at 10.77.0.1:5000 for 3 s")
    assert other_out.startswith("Rank 1 on second does not reach 10.77.0.1:5000") and other_out.count("\n") == 1


@pytest.mark.nightly
@pytest.mark.parametrize("host, command", [("second", "down"), ("first", "drop")])
def test_a_lost_link_ends_the_job(hosts, host, command):
    """The interface goes down, or all packets are lost; each host says so once, within 30 s."""
    ranks = hosts.start([sys.executable, "-c", SUMS])
    assert [rank.stdout.readline() for rank in ranks] == ["joined\n"] * 2
    time.sleep(1.0)
    since = time.monotonic()
    if command == "down":
        hosts.run("ip", "-n", host, "link", "set", "dev", "eth0", "down")
    else:
        hosts.run("ip", "-n", host, "route", "add", "blackhole", "10.77.0.2/32")
    results = finish(ranks, 40)
    assert time.monotonic() - since < 30
    for (code, out, err), other, name in zip(results, (1, 0), ("second", "first")):
        seen = f"Rank {other} on {name} has been silent for 15 s"
        assert code == 1 and out.startswith(seen) and out.count("\n") == 1, (out, err)
        assert err.count("Error: ") == err.count(seen) == int(other == 0)  # which rank 0 cannot report
