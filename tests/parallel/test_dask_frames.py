"""`fit(frame, client=client)`: the model of one process; rows stay on their workers."""

import os
import signal
import sys
import threading
import time
from pathlib import Path

import dask.dataframe
import distributed
import numpy as np
import pandas
import pytest
from ratings.test_read_parts import frame, pieces

from gpukit.errors import DataError, ParameterError
from gpukit.factorization import LSHMF, MatrixFactorization
from gpukit.factorization.shared.training import names_of_columns
from gpukit.parallel import TeamError, dask_cluster
from parallel.test_commands import wait_for_work

SETTINGS = {"n_factors": 6, "learning_rate": 0.2, "regularization": 0.05, "device": "cpu", "deterministic": True}


@pytest.fixture(scope="module")
def client():
    """A client of three workers."""
    with distributed.LocalCluster(3, threads_per_worker=1, dashboard_address=None) as cluster:
        with distributed.Client(cluster, set_as_default=False) as client:
            yield client


def received(dask_worker):
    """Return how often a worker has received data of another one."""
    return dask_worker.state.transfer_incoming_count_total


def place(client, table, order):
    """Return (Dask DataFrame, futures): the k-th part of a table is on worker order[k]."""
    workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
    parts = zip(pieces(table, len(order)), order)
    futures = [client.scatter(part, workers=[workers[k % len(workers)]], hash=False) for part, k in parts]
    return dask.dataframe.from_delayed(futures, meta=table.iloc[:0], verify_meta=False), futures


@pytest.mark.slow
def test_the_model_of_one_process(client):
    """To the bit, from text ids; a column more stays on the workers, and no row goes from one to another by Dask."""
    table = frame(30_000, 2000, 300).astype({"user": str}).assign(more="x")
    rows, futures = place(client, table, [1, 0, 0, 1, 0])
    before = client.run(received)
    model = MatrixFactorization(n_epochs=3, **SETTINGS).fit(rows, client=client)
    assert client.run(received) == before and all(future.status == "finished" for future in futures)
    expected = MatrixFactorization(n_epochs=3, **SETTINGS).fit(table)
    for part in ("_state", "_rated"):
        for name, array in getattr(expected, part)._asdict().items():
            np.testing.assert_array_equal(getattr(getattr(model, part), name), array, name)
    np.testing.assert_array_equal(model.user_ids_, expected.user_ids_)
    assert model.get_params() == expected.get_params() and len(model.history_) == 3


@pytest.mark.slow
def test_repeated_pairs_and_their_warning(client):
    table = frame(20_000, 500, 300).sample(frac=1.5, replace=True, random_state=0).reset_index(drop=True)
    table["rating"] = np.random.default_rng(0).integers(1, 6, len(table))
    table["timestamp"] = np.random.default_rng(1).integers(0, 9, len(table))
    settings, warned = {**SETTINGS, "n_neighbors": 4, "n_epochs": 1}, []
    models = []
    for data, more in ((table, {}), (place(client, table, [1, 0, 2, 3])[0], {"client": client})):
        with pytest.warns(UserWarning, match="repeat a pair and were merged") as caught:
            models.append(LSHMF(**settings).fit(data, **more))
        warned.append([str(one.message) for one in caught])
    assert warned[0] == warned[1]
    for name in ("neighbors_", "user_ids_", "user_baseline_"):
        np.testing.assert_array_equal(*(getattr(model, name) for model in models), name)


@pytest.mark.slow
def test_errors_of_ranks_and_of_partitions(client):
    """One line each; the workers go on."""
    table = frame(600).astype({"rating": float})
    table.iloc[350, 2] = np.nan
    with pytest.raises(DataError, match=r"^Partition 2 of the Dask DataFrame: Row 111 has no rating\."):
        MatrixFactorization(**SETTINGS).fit(place(client, table, range(5))[0], client=client)
    bad = dask.dataframe.from_pandas(frame(60), npartitions=2).map_partitions(lambda part: part / 0, meta=frame(60)[:0])
    bad = bad.map_partitions(lambda part: part.astype("no such type"), meta=frame(60)[:0])
    with pytest.raises(DataError, match="^Partition 0 of the Dask DataFrame cannot be computed: TypeError: "):
        MatrixFactorization(**SETTINGS).fit(bad, client=client)
    workers = client.scheduler_info(n_workers=-1)["workers"]
    assert client.gather([client.submit(pow, 2, 3, workers=[worker], pure=False) for worker in workers])


@pytest.mark.slow
def test_a_killed_rank_ends_the_fit(client):
    outcome, workers = [], list(client.run(os.getpid).values())
    rows = dask.dataframe.from_pandas(frame(600), npartitions=2)

    def fit():
        try:
            MatrixFactorization(n_epochs=10**6, **SETTINGS).fit(rows, client=client)
        except TeamError as error:
            outcome.append(str(error))

    thread, ranks, since = threading.Thread(target=fit), [], time.monotonic()
    thread.start()
    while len(ranks) < len(workers):
        assert time.monotonic() - since < 120 and thread.is_alive(), outcome
        time.sleep(0.1)
        files = [file for worker in workers for file in Path(f"/proc/{worker}/task").glob("*/children")]
        ranks = [int(number) for file in files for number in file.read_text().split()]
    wait_for_work(ranks, 1.5)
    os.kill(ranks[-1], signal.SIGKILL)
    thread.join(60)
    assert not thread.is_alive() and len(outcome) == 1 and "\n" not in outcome[0]
    assert list(client.run(os.getpid).values()) == workers


class Started:
    """A client of a cluster that still starts some of its workers."""

    def __init__(self, started, requested):
        self.cluster = type("Cluster", (), {"plan": set(range(requested))})
        self.started = started

    def scheduler_info(self, n_workers):
        return {"workers": {f"w{number}": {} for number in range(self.started)}}


@pytest.mark.parametrize(
    "started, requested, message",
    [(0, 0, "has no workers"), (1, 4, r"has 1 of the 4 workers that were requested.*wait_for_workers\(4\)")],
)
def test_too_few_workers(started, requested, message):
    with pytest.raises(ParameterError, match=message):
        dask_cluster.list_workers(Started(started, requested))
    assert dask_cluster.list_workers(Started(2, 2)) == ["w0", "w1"]


def test_columns_by_name():
    table = pandas.DataFrame({"x": [1], "time": [2], "user_id": [3], "stars": [4], "movie_id": [5]})
    rows = dask.dataframe.from_pandas(table, npartitions=1)
    assert names_of_columns(rows) == ["user_id", "movie_id", "stars", "time"]
    with pytest.raises(DataError, match="The Dask DataFrame has several columns named 'stars' or 'rating'. Keep one"):
        names_of_columns(rows.assign(rating=6))
    with pytest.raises(DataError, match="has the columns x, movie_id, but no user and no rating. Rename"):
        names_of_columns(rows[["x", "movie_id"]])


@pytest.mark.parametrize(
    "data, arguments, error, message",
    [
        ("dask", {}, DataError, r"is for fit\(frame, client=client\)"),
        ("pandas", {"client": 1}, ParameterError, "X is a DataFrame. Leave client out"),
        ("dask", {"client": 1, "y": [1]}, ParameterError, "^y= does not work with client="),
        ("dask", {"client": 1, "checkpoint": "ck"}, ParameterError, "^checkpoint= does not work with client="),
    ],
)
def test_bad_requests(data, arguments, error, message):
    rows = frame(20) if data == "pandas" else dask.dataframe.from_pandas(frame(20), npartitions=1)
    with pytest.raises(error, match=message):
        MatrixFactorization().fit(rows, **arguments)
    with pytest.raises(ParameterError, match="^solver='hogwild' does not work over ranks"):
        MatrixFactorization(solver="hogwild").fit(dask.dataframe.from_pandas(frame(20), npartitions=1), client=1)


def test_without_dask(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ParameterError, match=r"^client= needs dask and distributed .*Install gpukit\[dask\]"):
        MatrixFactorization().fit(frame(20), client=1)
