"""Ranks on the workers of a Dask cluster (extra `dask`): one task per worker, which starts a rank as its child process.

A child has its GPU and threads in its environment before numba is imported, and a failing rank leaves the worker as it
is. Only words, numbers and names travel; functions are named by their module. Partitions of data frames stay on their
workers, which write them to the standard input of their ranks.
"""

import contextlib
import importlib
import os
import pickle
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from urllib.parse import urlparse

from gpukit.errors import DataError, GpukitError, ParameterError
from gpukit.parallel.current_team import join_team
from gpukit.parallel.launch import COMMAND, end_ranks, start_rank
from gpukit.parallel.rendezvous import make_rendezvous, unused_address
from gpukit.parallel.team import TeamError

END_SECONDS = 12.0  # for ranks to end by themselves after one has failed
PAUSE = 0.1
PRIORITY = 100  # of the tasks, so that they begin at nearly the same time
LOST = "The Dask cluster has lost {}. All ranks end. Start again; --resume continues from a checkpoint."


def run_command(address, arguments):
    """Run `gpukit arguments` on all workers of a cluster; return (exit code, output, errors).

    address: of a scheduler, or "local" for a cluster of this machine.
    """
    check_dask("--dask")
    from distributed import Client, LocalCluster

    with contextlib.ExitStack() as stack:
        if address == "local":
            cluster = LocalCluster(n_workers=len(find_gpus()) or None, dashboard_address=None)
            address = stack.enter_context(cluster).scheduler_address
        try:
            client = stack.enter_context(Client(address, timeout=20, set_as_default=False))
        except (OSError, ValueError) as error:
            raise ParameterError(f"--dask {address}: no scheduler answers there ({error}).") from None
        return launch(client, arguments)


def check_dask(option):
    """Raise ParameterError unless dask and distributed are installed."""
    try:
        import distributed  # noqa: F401
    except ImportError as error:
        raise ParameterError(f"{option} needs dask and distributed ({error}). Install gpukit[dask].") from None


def list_workers(client):
    """Return the sorted addresses of a client's workers; ParameterError if some of its cluster have not started."""
    workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
    requested = len(getattr(getattr(client, "cluster", None), "plan", ()))
    if not workers:
        raise ParameterError("The Dask cluster has no workers.")
    if len(workers) < requested:
        raise ParameterError(
            f"The Dask cluster has {len(workers)} of the {requested} workers that were requested. Wait for them "
            f"(client.wait_for_workers({requested})), or request fewer (cluster.scale({len(workers)}))."
        )
    return workers


def launch(client, arguments, command=COMMAND, partitions=None):
    """Run a command on a rank for each worker of a client's cluster; return (exit code, output, errors) of rank 0.

    partitions: {worker: list of futures of objects that its rank reads by `read_objects`}, see `find_holders`.
    """
    partitions = partitions or {worker: [] for worker in list_workers(client)}
    workers = list(partitions)
    with hold_cluster(client):
        tasks = [submit(client, describe_worker, worker) for worker in workers]
        places = client.gather(tasks)
        gpus, job = assign_gpus(places), secrets.token_hex(4)
        wait_seconds = 600.0  # for all tasks to begin: workers may be busy with tasks of others
        meeting = make_rendezvous(len(workers), places[0]["address"], job=job, seconds=wait_seconds)
        tasks = []
        for rank, (worker, place) in enumerate(zip(workers, places)):
            settings = {"GPUKIT_NUM_THREADS": str(place["threads"]), "CUDA_VISIBLE_DEVICES": gpus[rank]}
            settings |= meeting.environment(rank)
            request = settings, list(arguments), command, os.getcwd(), partitions[worker]
            tasks.append(submit(client, run_rank, worker, *request))
        try:
            results = wait_for_tasks(client, tasks)
        finally:
            if client.status == "running":  # a lost scheduler takes the tasks along
                client.cancel(tasks)
    return combine_results(results, workers)


def run(client, function, *arguments, partitions=None):
    """Call a function on a rank for each worker of a client's cluster; return (exit code, output, errors) of rank 0.

    Parameters
    ----------
    client : distributed.Client
        Its workers import the function, so its module is installed there or in the current folder.
    function : str
        Its name as "module:name". It is called as name(team, *arguments), with the Team of the rank.
    *arguments
        Words and numbers, such as names of files.
    partitions
        See `launch`.
    """
    command = f"from gpukit.parallel.dask_cluster import call; call({function!r}, {arguments!r})"
    return launch(client, [], command, partitions)


def call(function, arguments):
    """Call "module:name" with the Team of this process."""
    sys.path.insert(0, os.getcwd())
    module, _, name = function.partition(":")
    try:
        with join_team() as team:
            getattr(importlib.import_module(module), name)(team, *arguments)
    except GpukitError as error:
        sys.stderr.write(f"Error: {error}\n")
        sys.exit(error.exit_code)


def submit(client, function, worker, *arguments):
    """Start a task on one worker, where it runs at most once."""
    options = {"workers": [worker], "allow_other_workers": False, "retries": 0, "pure": False, "priority": PRIORITY}
    return client.submit(function, *arguments, **options)


@contextlib.contextmanager
def hold_cluster(client):
    """Hold the lock of a cluster: two jobs that wait for each other's workers would not end."""
    from distributed import Lock

    lock = Lock("gpukit", scheduler_rpc=client.scheduler, loop=client.loop)
    lock.acquire()
    try:
        yield
    finally:
        if client.status == "running":
            lock.release()


def describe_worker():
    """Return what a rank needs to know of the worker of this task: its host, threads and GPUs, and a free address."""
    from distributed import get_worker

    worker = get_worker()
    host = urlparse(worker.address).hostname
    return {"host": host, "threads": worker.state.nthreads, "gpus": find_gpus(), "address": unused_address(host)}


def find_gpus():
    """Return the UUIDs of the GPUs that this process may use, without CUDA."""
    words = ["nvidia-smi", "--query-gpu=uuid", "--format=csv,noheader"]
    try:
        names = subprocess.run(words, capture_output=True, text=True, timeout=20, check=True).stdout.split()
    except (OSError, subprocess.SubprocessError):
        return []
    if (visible := os.environ.get("CUDA_VISIBLE_DEVICES")) is None:
        return names
    chosen = [word.strip() for word in visible.split(",")]
    return [names[int(word)] if word.isdigit() else word for word in chosen if word and word != "-1"]


def assign_gpus(places):
    """Return the UUID of a GPU for each place, each on a host once; "" for all if there are too few."""
    n_assigned, gpus = Counter(), []
    for place in places:
        free = [name for name in place["gpus"] if not n_assigned[place["host"], name]]
        gpus.append(free[0] if free else "")
        n_assigned[place["host"], gpus[-1]] += 1
    return gpus if all(gpus) else [""] * len(gpus)


def run_rank(settings, arguments, command, folder, objects=()):
    """Run a rank as a child process of a worker; return (exit code, output, errors). The task's end is the child's.

    objects: what the rank reads by `read_objects`.
    """
    from distributed import get_worker
    from distributed.worker import thread_state

    worker, key = get_worker(), thread_state.key
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        streams = {"stdout": out, "stderr": err, "cwd": folder if os.path.isdir(folder) else None}
        if objects:
            streams["stdin"] = subprocess.PIPE
        child = start_rank(arguments, settings, command=command, **streams)
        if objects:
            threading.Thread(target=write_objects, args=(child.stdin, objects), daemon=True).start()
        while child.poll() is None:
            if not is_wanted(worker, key):
                end_ranks([child], 15)
            time.sleep(PAUSE)
        out.seek(0)
        err.seek(0)
        return child.returncode, out.read().decode(errors="replace"), err.read().decode(errors="replace")


def write_objects(stream, objects):
    """Write objects to a rank's standard input until it has read them or has ended."""
    with contextlib.suppress(BrokenPipeError), stream:
        for item in objects:
            pickle.dump(item, stream, pickle.HIGHEST_PROTOCOL)


def read_objects():
    """Yield the objects that the worker of this rank writes to its standard input."""
    with contextlib.suppress(EOFError):
        while True:
            yield pickle.load(sys.stdin.buffer)


def find_holders(client, futures):
    """Return {worker: [[number, future], ...]}: for each future, once it has ended, the first worker that holds it.

    The dictionary has all workers. Raises DataError for a partition that cannot be computed.
    """
    from distributed import wait

    holders = {worker: [] for worker in list_workers(client)}
    with client.as_current():
        wait(futures)
    places = client.who_has(futures)
    for number, future in enumerate(futures):
        if future.status != "finished":
            error = future.exception() if future.status == "error" else None
            reason = future.status if error is None else f"{type(error).__name__}: {error}"
            raise DataError(f"Partition {number:,} of the Dask DataFrame cannot be computed: {reason}.")
        owner = next((worker for worker in holders if worker in places.get(future.key, ())), min(holders))
        holders[owner].append([number, future])
    return holders


def fetch_file(client, worker, path, target):
    """Write a file of a worker's machine to an open one, in pieces, and remove it there."""
    while piece := submit(client, read_piece, worker, path, target.tell()).result():
        target.write(piece)
    submit(client, os.remove, worker, path).result()


def read_piece(path, offset):
    """Return a piece of a file; empty at its end."""
    with open(path, "rb") as file:
        file.seek(offset)
        return file.read(1 << 24)


def is_wanted(worker, key):
    """Return False once the task is cancelled, or the worker has lost its scheduler."""
    task = worker.state.tasks.get(key)
    return task is not None and task.state == "executing" and worker.status.name == "running"


def wait_for_tasks(client, tasks):
    """Return the result of each task, None for a lost one; END_SECONDS after the first failure others count as lost."""
    failed, connected = None, time.monotonic()
    while True:
        if client.status == "running":
            connected = time.monotonic()
        elif time.monotonic() - connected > END_SECONDS:
            return [None] * len(tasks)
        states = [task.status for task in tasks]
        results = [task.result() if state == "finished" else None for task, state in zip(tasks, states)]
        is_lost = any(state not in ("pending", "finished") for state in states)
        if failed is None and (is_lost or any(result and result[0] for result in results)):
            failed = time.monotonic()
        if "pending" not in states or (failed is not None and time.monotonic() - failed > END_SECONDS):
            return results
        time.sleep(PAUSE)


def combine_results(results, workers):
    """Return (exit code, output, errors) of rank 0; if it has not failed by itself, with the error of another rank."""
    lost = [worker for worker, result in zip(workers, results) if result is None]
    failures = [result for result in results if result is not None and result[0]]
    if not (lost or failures):
        return results[0]
    for code, _, errors in sorted(failures, key=lambda failure: "Error: " not in failure[2]):
        if errors:
            return abs(code), "", errors
    if failures and not lost:
        code = failures[0][0]
        raise TeamError(f"A rank on a Dask worker has ended with code {code} and no message: killed, or out of memory.")
    raise TeamError(LOST.format(f"the worker {lost[0]}" if len(lost) < len(workers) else "its scheduler"))
