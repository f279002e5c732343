"""A service in a separate process: python service.py ROUNDS FOLDER.

Prints one JSON object: the number of wrong results among ROUNDS results of each of eight threads, failed fits and reads
of eight concurrent threads, and the results of forked and spawned children.
"""

import json
import multiprocessing
import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numba.core.compiler_lock import global_compiler_lock

import gpukit
from gpukit.errors import GpukitError

THREADS = 8
PATIENCE = 60  # seconds


class Service:
    """Two models, a completed tensor, and the correct results of each request."""

    def __init__(self, folder):
        self.folder = folder
        self.ratings, self.documents = gpukit.read_ratings(folder / "r.csv"), gpukit.read_letor(folder / "d.txt")
        self.pairs = self.ratings.user_ids[self.ratings.users], self.ratings.item_ids[self.ratings.items]
        self.model, self.ranker = self.recommender(), self.ranking()
        self.completed = self.imputed()
        self.expected = [np.copy(answer) for answer in self.answers()]

    def recommender(self):
        """Return a small LSHMF, the same for each fit."""
        model = gpukit.LSHMF(4, 5, n_epochs=2, lsh_q=8, deterministic=True, device="cpu")
        return model.fit(self.ratings)

    def imputed(self):
        """Return a small completed tensor."""
        graph = gpukit.read_graph(self.folder / "g.npz")
        return gpukit.GraphImputer(iterations=5, weights="common", center="none", device="cpu").fit_transform(graph)

    def ranking(self):
        """Return a small RankSVM."""
        return gpukit.RankSVM(1.0, device="cpu").fit(self.documents)

    def answers(self):
        """Return one result of each kind, as arrays."""
        items, scores = self.model.recommend(n=5)
        return items, scores, self.model.predict(self.pairs), self.ranker.rank(self.documents)

    def wrong(self, rounds):
        """Return the number of wrong results in a number of rounds."""
        count = 0
        for _ in range(rounds):
            count += not all(map(np.array_equal, self.answers(), self.expected))
        return count

    def refitted(self, number):
        """Return True if a new fit gives the results of the first."""
        if number % 3 == 1:
            return np.array_equal(self.ranking().coef_, self.ranker.coef_)
        if number % 3 == 2:
            return np.array_equal(self.imputed(), self.completed)
        return np.array_equal(self.recommender().predict(self.pairs), self.expected[2])

    def reread(self, number):
        """Return True if a file read again has the same content."""
        if number % 2:
            return np.array_equal(gpukit.read_letor(self.folder / "d.txt").X, self.documents.X)
        again, fields = gpukit.read_ratings(self.folder / "r.csv"), ("users", "items", "values", "user_ids", "item_ids")
        return all(np.array_equal(getattr(again, name), getattr(self.ratings, name)) for name in fields)


def at_once(work):
    """Return [work(number)] of eight threads that start together."""
    ready = threading.Barrier(THREADS)

    def begin(number):
        ready.wait()
        return work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(begin, range(THREADS)))


def asked(service):
    """Return a child's result: right, wrong, or the one line of an error."""
    try:
        return "wrong" if service.wrong(1) else "right"
    except GpukitError as error:
        return f"{type(error).__name__}: {error}"


def send_result(connection, make):
    """Send the result of asked() for the service of make(), in a child."""
    connection.send(asked(make()))


class Spawned:
    """Makes a Service in a process that has none."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self):
        return Service(self.folder)


def child(method, make):
    """Return the result of a child process, or its exit code if it has none."""
    context = multiprocessing.get_context(method)
    ours, theirs = context.Pipe()
    process = context.Process(target=send_result, args=(theirs, make))
    process.start()
    theirs.close()
    try:
        return ours.recv() if ours.poll(PATIENCE) else "silent"
    except EOFError:
        process.join(PATIENCE)
        return f"exit code {process.exitcode}"
    finally:
        process.kill()


def child_of_a_thread(service):
    """Return the result of a child forked by another thread than the main one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(child, "fork", lambda: service).result()


def killed(service):
    """Loop in a child that is killed while it computes."""
    threading.Thread(target=lambda: os.kill(os.getpid(), signal.SIGKILL)).start()
    service.wrong(100_000)


def child_beside_a_busy_thread(service):
    """Return the result of a child forked while another thread compiles."""
    taken, done = threading.Event(), threading.Event()

    def hold():
        with global_compiler_lock:
            taken.set()
            done.wait(0.3)

    with ThreadPoolExecutor(1) as pool:
        pool.submit(hold)
        taken.wait()
        return child("fork", lambda: service)


def main(rounds, folder):
    """Run all checks."""
    early = child("fork", Spawned(folder))  # before this process has computed anything
    service = Service(folder)
    report = {
        "early": early,
        "wrong": sum(at_once(lambda number: service.wrong(rounds))),
        "fits": at_once(service.refitted),
        "readings": at_once(service.reread),
        "forked": child("fork", lambda: service),
        "beside_a_busy_thread": child_beside_a_busy_thread(service),
        "killed": child("fork", lambda: killed(service)),
        "forked_by_a_thread": child_of_a_thread(service),
        "spawned": child("spawn", Spawned(folder)),
        "after": asked(service),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
