"""Functions and tables of the public API on small data: readers, writers, generators, graphs, sorting, thresholds."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from golden.command import Case, errors_of

USERS, ITEMS = ["a", "b", "a", "c"], [10, 10, 11, 12]
VALUES = np.array([5, 4, 3, 1], np.float32)
TIMES = np.array([30, 20, 10, 5])
ROWS = "user,item,rating,timestamp\na,10,5,30\nb,10,4,20\na,11,3,10\nc,12,1,5\na,10,2,40\n"
LETOR = "2 qid:1 1:.5 2:1 # d1\n0 qid:1 1:.1\n1 qid:2 2:.7\n0 qid:2 1:3\n"
PLACES = np.array([[48.0, 2.0], [48.1, 2.1], [48.3, 2.2], [49.0, 2.0]])

FORMS = (  # of a graph with three vertices
    scipy.sparse.coo_array(([1.0, 2, 1, 2], ([0, 0, 1, 1], [1, 1, 0, 0])), shape=(3, 3)),
    np.array([[0, 1], [1, 2]]),
    np.array([[0, 1], [1, 0]]),
    (np.array([[0, 1], [1, 2]]), np.array([0.5, 2])),
    [[0, 1, 0], [1, 0, 1], [0, 1, 0]],
    scipy.sparse.eye_array(3),
    "edges.csv",
)


def shown(table):
    """The columns of Ratings, Documents or a GraphTensor, each with its dtype."""
    names = [name for name in dir(table) if not name.startswith("_")]
    values = {name: getattr(table, name) for name in names if not callable(getattr(table, name))}
    return {name: described(value) for name, value in values.items() if name not in ("given", "types", "nbytes")}


def described(value):
    """An array or a sparse matrix with its dtype and shape; other values as they are, or as text."""
    value = getattr(value, "adjacency", value)
    if hasattr(value, "toarray"):
        value = value.toarray()
    if isinstance(value, tuple):
        return [described(one) for one in value]
    if isinstance(value, np.ndarray):
        return ["text" if value.dtype.kind in "UO" else str(value.dtype), value.shape, value]
    return value if isinstance(value, (int, float, str, type(None))) else str(value)


def as_ratings():
    import gpukit

    frame = pd.DataFrame({"rating": VALUES, "item": ITEMS, "user": USERS})
    matrix = scipy.sparse.coo_array((VALUES, ([0, 1, 0, 2], [0, 0, 1, 2])), shape=(4, 3))
    dense = np.array([[5, np.nan, 3, 1, 2], [np.nan, 2.5, 1, 1, 1]])
    forms = {"columns": (USERS, ITEMS, VALUES), "frame": frame, "sparse": matrix, "dense": dense}
    return {
        **{n: shown(gpukit.as_ratings(f)) for n, f in forms.items()},
        "clicks": shown(gpukit.as_ratings((USERS, ITEMS))),
    }


def repeated_ratings():
    import gpukit

    frame = pd.DataFrame({"user": [1, 1, 2], "item": [7, 7, 7], "rating": [5, 3, 1], "time": [10, 5, 7]})
    clicks = gpukit.as_ratings((["a", "a", "b"], [1, 1, 1]))
    model = gpukit.MatrixFactorization(n_factors=1, n_epochs=1, deterministic=True, device="cpu")
    return {
        "frame with times": shown(gpukit.as_ratings(frame)),
        "with times, read": shown(gpukit.as_ratings(frame, times=True)),
        "clicks": shown(clicks),
        "kept": errors_of(lambda: len(gpukit.as_ratings(frame, times=True, repeats=False).values)),
        "made by hand": errors_of(lambda: shown(gpukit.as_ratings(by_hand(times=True)))),
        "clicks made by hand": errors_of(lambda: shown(gpukit.as_ratings(by_hand(values=np.ones(4, np.float32))))),
        "without times": errors_of(
            lambda: gpukit.as_ratings(by_hand()), lambda: gpukit.as_ratings(frame.drop(columns="time"))
        ),
        "fit": errors_of(
            lambda: model.fit(by_hand()), lambda: model.fit(by_hand(times=True)).predict([(1, 7), (2, 7)])
        ),
    }


def by_hand(values=None, times=False):
    """Ratings with a pair that comes twice, the later one first."""
    from gpukit.ratings import Ratings

    users, items = np.array([0, 0, 1, 1], np.int32), np.array([0, 0, 0, 1], np.int32)
    values = np.array([5, 3, 1, 4], np.float32) if values is None else values
    more = {"times": np.array([10, 5, 7, 8])} if times else {}
    return Ratings(users, items, values, np.array([1, 2]), np.array([7, 9]), **more)


def as_ratings_refused():
    import gpukit
    from gpukit.ratings import Ratings

    ids = np.array([1, 2])
    return errors_of(
        lambda: gpukit.as_ratings((USERS, ITEMS[:3], VALUES)),
        lambda: gpukit.as_ratings(pd.DataFrame({"user": [1, None], "item": [1, 2], "rating": [1, 2]})),
        lambda: gpukit.as_ratings(pd.DataFrame({"x": USERS, "y": ITEMS, "z": VALUES, "u": VALUES, "v": VALUES})),
        lambda: gpukit.as_ratings(np.array([[1, 2, 3], [1, 3, 4]])),
        lambda: gpukit.as_ratings(7),
        lambda: gpukit.as_ratings(Ratings(np.array([0, 5]), np.array([0, 1]), VALUES[:2], ids, ids)),
        lambda: gpukit.as_ratings((USERS, ITEMS, [5, 4, np.nan, 1])),
        lambda: gpukit.as_ratings((USERS, ITEMS, ["5", "4", "x", "1"])),
    )


def read_ratings():
    import gpukit

    Path("r.csv").write_text(ROWS)
    ways = ({}, {"times": True}, {"duplicates": "mean"}, {"columns": "user,item,-,timestamp"}, {"bounds": (1, 4)})
    answers = {str(way): errors_of(lambda way=way: shown(gpukit.read_ratings("r.csv", **way))) for way in ways}
    bad = ({"duplicates": "first"}, {"format": "xls"}, {"duplicates": "error"}, {"columns": "user,user,rating"})
    answers["refused"] = errors_of(*(lambda way=way: gpukit.read_ratings("r.csv", **way) for way in bad))
    return answers


def ratings_methods():
    import gpukit

    ratings = gpukit.as_ratings(
        pd.DataFrame({"user": USERS, "item": ITEMS, "rating": VALUES, "time": TIMES}), times=True
    )
    ways = ("random", "time", "user-time", "user-last", "user-one", "users")
    splits = {by: errors_of(lambda by=by: [len(part.values) for part in ratings.split(0.4, 1, by)]) for by in ways}
    return {
        "split": splits,
        "csr": described(ratings.csr()),
        "csc": described(ratings.csc()),
        "take": shown(ratings.take([3, 0])),
        "scale": ratings.scale if not callable(ratings.scale) else ratings.scale(),
        "refused": errors_of(
            lambda: ratings.split(1.5), lambda: ratings.split(0.5, by="day"), lambda: ratings.take([9])
        ),
    }


def write_ratings():
    import gpukit
    from gpukit.ratings import read_pairs, write_ratings

    ratings = gpukit.as_ratings((USERS, ITEMS, VALUES))
    answers = {}
    for suffix in (".gkr", ".npz", ".parquet", ".csv"):
        write_ratings(ratings, f"r{suffix}")
        answers[suffix] = shown(gpukit.read_ratings(f"r{suffix}"))
    answers["csv"] = Path("r.csv").read_text()
    Path("p.csv").write_text("user,item\na,10\nz,12\n")
    answers["pairs"] = read_pairs("p.csv")
    answers["refused"] = errors_of(lambda: write_ratings(ratings, "r.xlsx"), lambda: read_pairs("nothing.csv"))
    return answers


def read_titles():
    from gpukit.ratings import read_titles

    texts = {
        "movies.dat": b"1::Toy Story (1995)::Animation|Comedy\n2::Jumanji (1995)::Adventure\n",
        "latin.dat": "1::Caf\u00e9 (1995)::Drama\n2::B::X\n".encode("latin-1"),
        "movies.csv": b'movieId,title,genres\n1,"American President, The (1995)",Comedy\n2,Jumanji,Adventure\n',
        "movie_titles.txt": b"1,2003,Dinosaur Planet\n2,2004,Isle of Man TT 2004 Review, Part 2\n3,NULL,Who\n",
        "null.txt": b"3,NULL,Who\n1,2003,Dinosaur Planet\n",
        "comma.txt": b"2,2004,Isle of Man TT, Part 2\n1,2003,Dinosaur Planet\n",
        "u.item": b"1|Toy Story (1995)|01-Jan-1995||http://x|0|1\n2|GoldenEye (1995)|01-Jan-1995||y|1|0\n",
        "words.tsv": b"item\ttitle\n007\tBond\n1e5\tFloat\n nan\tNothing\n",
        "mark.csv": b"\xef\xbb\xbfitem,title\n1,One\n",
        "quote.csv": b'item,title\n1,"One\n2,Two\n',
        "no_title.csv": b"item,title\n\n1,One\n2,\n",
        "no_item.txt": b"1|One\n|Two\n",
        "header.csv": b"item,title\n",
        "empty.csv": b"",
    }
    for name, content in texts.items():
        Path(name).write_bytes(content)
    return {name: errors_of(lambda name=name: read_titles(name)) for name in texts}


def documents():
    import gpukit
    from gpukit.documents import as_documents, take_queries, write_folds, write_letor

    Path("train.txt").write_text(LETOR)
    data = gpukit.read_letor("train.txt")
    answers = {"read": shown(data), "wider": shown(gpukit.read_letor("train.txt", n_features=4, dtype="float64"))}
    answers["taken"] = shown(take_queries(data, [1]))
    for suffix in (".gkl", ".txt", ".parquet"):
        write_letor(data, f"d{suffix}")
        answers[suffix] = shown(gpukit.read_letor(f"d{suffix}"))
    many = as_documents(np.arange(20.0).reshape(10, 2), np.arange(10) % 3, np.repeat(np.arange(5), 2))
    write_folds(many, "folds")
    answers["folds"] = [(fold.name, fold.train.as_posix()) for fold in gpukit.find_folds("folds")]
    answers["group"] = shown(as_documents(np.eye(3), [1, 0, 2], group=[2, 1]))
    return answers


def documents_refused():
    import gpukit
    from gpukit.documents import as_documents, take_queries

    Path("train.txt").write_text(LETOR)
    data = gpukit.read_letor("train.txt")
    return errors_of(
        lambda: gpukit.read_letor("train.txt", n_features=1),
        lambda: gpukit.read_letor("train.txt", null="mean"),
        lambda: gpukit.read_letor("train.txt", dtype="int8"),
        lambda: gpukit.find_folds("."),
        lambda: take_queries(data, [0, 0]),
        lambda: as_documents(np.eye(3), [1, 0], [1, 1, 1]),
        lambda: as_documents(np.eye(3), [1, 0, 2], group=[2, 2]),
        lambda: as_documents(np.full((2, 2), np.nan), [1, 0], [1, 1]),
    )


def graphs():
    import gpukit

    distances = np.abs(np.subtract.outer(PLACES[:, 0], PLACES[:, 0]))
    waves = np.sin(np.add.outer(np.arange(4.0), np.arange(12) / 2))
    return {
        "coordinates": described(gpukit.graph_from_coordinates(PLACES, neighbors=2, degrees=True)),
        "plane": described(gpukit.graph_from_coordinates(PLACES, neighbors=1, degrees=False)),
        "distances": described(gpukit.graph_from_distances(distances, neighbors=2)),
        "series": described(gpukit.graph_from_series(waves, neighbors=2)),
        "refused": errors_of(
            lambda: gpukit.graph_from_coordinates(PLACES[:, :1]),
            lambda: gpukit.graph_from_coordinates(PLACES, neighbors=0),
            lambda: gpukit.graph_from_coordinates(np.full((3, 2), np.nan)),
            lambda: gpukit.graph_from_distances(distances[:2]),
            lambda: gpukit.graph_from_distances(-distances),
        ),
    }


def graph_files():
    import gpukit
    from gpukit.graphs import Graph, as_graph_tensor, write_graph

    ring = np.roll(np.eye(4), 1, 0) + np.roll(np.eye(4), -1, 0)
    data = as_graph_tensor(ring, np.where(np.eye(4)[:, :3] > 0, np.nan, 1.5), vertices=["a", "b", "c", "d"])
    write_graph("g.npz", data)
    Path("e.csv").write_text("a,b,2\nb,c,1\nc,d,1\n")
    Path("t.csv").write_text("time,a,b,c,d\n2024-01-01,1,2,,4\n2024-01-02,5,,7,8\n")
    np.save("a.npy", ring)
    return {
        "made": shown(data),
        "read": shown(gpukit.read_graph("g.npz")),
        "edges": shown(gpukit.read_graph(edges="e.csv", tensor="t.csv")),
        "alone": shown(gpukit.read_graph("t.csv", neighbors=1)),
        "matrix": shown(gpukit.read_graph(edges="a.npy", tensor="t.csv")),
        "graph": described(Graph(ring).adjacency),
        "forms": [errors_of(lambda form=form: described(as_graph_tensor(form, np.ones((3, 2))))) for form in FORMS],
        "refused": errors_of(
            lambda: gpukit.read_graph(),
            lambda: gpukit.read_graph("g.npz", edges="e.csv"),
            lambda: gpukit.read_graph("t.csv", layout="wide"),
            lambda: gpukit.read_graph("t.csv", slice_shape=(3, 3)),
            lambda: as_graph_tensor(ring, np.ones((3, 2))),
        ),
    }


def generated():
    import gpukit

    ratings = gpukit.synth_ratings("ml-10m", 0.00002, seed=3)
    documents = gpukit.synth_letor("mslr-web10k", 0.0001, seed=3)
    graph = gpukit.synth_graph("random", vertices=12, shape=(3, 4), rank=2, missing=0.3, seed=3)
    ratings, documents = getattr(ratings, "ratings", ratings), getattr(documents, "documents", documents)
    return {
        "ratings": [type(ratings).__name__, *(str(one)[:80] for one in ratings[:2])]
        if isinstance(ratings, tuple)
        else [ratings.shape, ratings.values[:20], ratings.users[:20], ratings.items[:20]],
        "documents": [documents.X.shape, documents.y[:20], documents.offsets[:5], np.asarray(documents.X[:2])[:, :8]],
        "graph": [graph.adjacency.toarray()[:3], graph.mask.reshape(12, -1)[:, 0], graph.missing_share],
        "refused": errors_of(
            lambda: gpukit.synth_ratings("imdb"),
            lambda: gpukit.synth_ratings("netflix", 0),
            lambda: gpukit.synth_letor("bing"),
            lambda: gpukit.synth_graph("torus"),
            lambda: gpukit.synth_graph("random", vertices=0),
        ),
    }


def sorting():
    import gpukit

    keys, offsets = np.array([3, 1, 2, 2, 1, 9], np.float32), np.array([0, 3, 3, 6])
    sort = gpukit.segmented_argsort
    return {
        "order": sort(keys, offsets, device="cpu"),
        "integers": sort(keys.astype(np.int32), offsets, device="cpu"),
        "nan": errors_of(lambda: sort(np.where(keys > 2, np.nan, keys), offsets, device="cpu")),
        "refused": errors_of(
            lambda: sort(keys, np.array([0, 9]), device="cpu"),
            lambda: sort(keys, np.array([0, 4, 3, 6]), device="cpu"),
            lambda: sort(keys.astype("U"), offsets, device="cpu"),
        ),
    }


def thresholds():
    import gpukit

    matrix = np.outer(np.arange(1.0, 5), [1, -2, 0.5]) + np.eye(4, 3)
    low, values = gpukit.singular_value_threshold(matrix, 1.0, device="cpu", return_values=True)
    return {
        "matrix": low,
        "values": values,
        "several": gpukit.singular_value_threshold(np.stack([matrix, -matrix]), np.array([1.0, 9.0]), device="cpu"),
        "refused": errors_of(
            lambda: gpukit.singular_value_threshold(matrix, -1.0, device="cpu"),
            lambda: gpukit.singular_value_threshold(np.full((2, 2), np.nan), 1.0, device="cpu"),
            lambda: gpukit.singular_value_threshold(np.ones(3), 1.0, device="cpu"),
        ),
    }


def metrics():
    from gpukit.evaluation import metrics, ranking

    truth, predicted = np.array([1.0, 2, 3, 5]), np.array([1.5, 2, 2, 4])
    ranked = np.array([2, 0, 1, 1]), np.array([0.5, 0.7, 0.1, 0.1]), np.array([0, 2, 4])
    return {
        "rmse": metrics.rmse(truth, predicted),
        "mae": metrics.mae(truth, predicted),
        "ndcg": [ranking.evaluate(*ranked, cuts=[2], ndcg=kind)["ndcg@2"] for kind in ranking.NDCG_KINDS[:3]],
        "map": ranking.evaluate(*ranked)["map"],
        "accuracy": ranking.evaluate(*ranked)["pa"],
        "refused": errors_of(
            lambda: metrics.rmse(truth, predicted[:2]),
            lambda: ranking.evaluate(*ranked, ndcg="web"),
        ),
    }


def threads():
    import gpukit

    count = gpukit.get_num_threads()
    gpukit.set_num_threads(1)
    one = gpukit.get_num_threads()
    gpukit.set_num_threads(count)
    return {"one": one, "refused": errors_of(lambda: gpukit.set_num_threads(0), lambda: gpukit.set_num_threads("two"))}


def names():
    import gpukit

    homes = ("documents", "factorization", "graphs", "imputation", "neighbors", "ranking", "ratings", "sorting", "svt")
    return {
        "gpukit": sorted(gpukit.__all__),
        **{home: sorted(getattr(gpukit, home).__all__) for home in homes},
        "errors": [name for name in dir(gpukit.errors) if name.endswith("Error")],
        "unknown": errors_of(lambda: gpukit.nothing, lambda: gpukit.ratings.nothing),
        "models": errors_of(lambda: gpukit.load_model("nothing.gpukit"), lambda: gpukit.load_model(".")),
    }


CASES = (
    *(Case("as_ratings", as_ratings), Case("as_ratings, repeated pairs", repeated_ratings)),
    *(Case("as_ratings, refused", as_ratings_refused), Case("read_ratings", read_ratings)),
    *(Case("Ratings", ratings_methods), Case("write_ratings, read_pairs", write_ratings)),
    *(Case("read_titles", read_titles), Case("documents", documents), Case("documents, refused", documents_refused)),
    *(Case("graph_from", graphs), Case("read_graph, write_graph", graph_files), Case("synth", generated)),
    *(Case("segmented_argsort", sorting), Case("singular_value_threshold", thresholds), Case("evaluation", metrics)),
    *(Case("set_num_threads", threads), Case("names", names)),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_public_data(check, case):
    check(case)
