"""A user's script without errors: all kinds of arguments, and the types of results. It is checked, not run."""

# mypy: disallow-untyped-calls, disallow-untyped-defs

from pathlib import Path
from typing import assert_type

import dask.dataframe
import distributed
import networkx
import numpy as np
import pandas as pd
import scipy.sparse

import gpukit
from gpukit import LSHMF, GraphImputer, GraphTensor, MatrixFactorization, RankSVM, Ratings, SimLSH
from gpukit.factorization import Filters
from gpukit.factorization.tuning import tune
from gpukit.typing import Float32, Float64, Int32

ratings = gpukit.read_ratings(Path("ratings.dat"), times=True)
train, test = ratings.split(0.1, seed=0, by="user-time")
assert_type(train, Ratings)
model = LSHMF(n_factors=8, regularization=1, search="exact", device="cuda:1").fit(train, validation=test)
assert_type(model, LSHMF)
assert_type(model.set_params(n_factors=3).fit(train), LSHMF)
assert_type(LSHMF.load("model.gpukit"), LSHMF)
assert_type(model.user_factors_, Float32)
assert_type(model.neighbors_, Int32)
assert_type(model.scale_, tuple[float, float])
model.fit(scipy.sparse.csr_array(np.eye(3)))
model.fit(np.eye(3), progress=lambda *news: None)
model.fit(pd.DataFrame({"user": [1], "item": [2]}), pd.Series([3.0]), sample_weight=[1.0])
model.fit((np.ones(3), ["a", "b", "c"]), [1, 2, 3], checkpoint="training.ck", resume=True)
model.partial_fit(test, rows="frozen").save(Path("model.gpukit"))
model.live("cuda").add(test)


def report(stage: str, done: int, total: int | None, info: dict[str, object]) -> None:
    print(stage, done, total, info)


def fit_frame(frame: dask.dataframe.DataFrame, client: distributed.Client) -> LSHMF:
    return LSHMF().fit(frame, client=client)


model.fit(train, progress=report)
assert_type(model.predict(([1, 2], ["a", "b"])), Float32)
assert_type(model.predict(pd.Series([1, 2]), np.array([3, 4]), unknown="baseline"), Float32)
model.predict(1, "m17")
model.predict(np.array([[1, 2]]))
items, scores = model.recommend([1], n=5, by="rating", filters=Filters(only=[1, 2], min_support=20))
assert_type(scores, Float32)
items, scores = model.similar_items(260)
model.recommend_for({"m17": 5, "m4": 2.5})
model.recommend_for(["this one", "that one"])
model.evaluate_lists(test, k=[5, 10]).rows(10)
assert_type(model.explain(42, "m17").total, float)
assert_type(model.evaluate(test), dict[str, float])
tuned = tune(ratings, {"n_factors": [8, 16]})
assert_type(tuned.estimator().fit(ratings), LSHMF | MatrixFactorization)

train_documents, validation_documents, _ = (gpukit.read_letor(path) for path in gpukit.find_folds("MQ2008")[0][1:])
ranker = RankSVM(C=1).fit(train_documents, eval_set=[validation_documents, (np.eye(3), [1, 2, 3])], eval_group=[[3]])
ranker.fit(pd.DataFrame(np.eye(3)), pd.Series([1, 2, 3]), qid=["a", "b", "c"], query_weight={"a": 1.0})
ranker.fit(scipy.sparse.csr_matrix(np.eye(3)), np.arange(3), group=[3]).set_predict_request(qid=True)
assert_type(ranker.fit_path(train_documents, validation_documents, grid="2^-15:2^8").C_, float)
assert_type(ranker.predict(np.eye(3)), Float64)

data = gpukit.read_graph("graph.npz")
assert_type(data, GraphTensor)
imputer = GraphImputer(method="kriging").fit(data.adjacency, data.tensor, data.mask)
print(imputer.completed_.shape, imputer.report_[0].error)
GraphImputer().set_output(transform="pandas").fit_transform(pd.DataFrame(np.eye(3)))
GraphImputer().fit(networkx.Graph(), np.ones((3, 4)), times=pd.date_range("2024", periods=4))

assert_type(SimLSH(n_neighbors=32, psi=4).fit(ratings).neighbors_, Int32)
assert_type(gpukit.singular_value_threshold(np.eye(3)[None], 0.5), np.ndarray)
values, singular, ranks = gpukit.singular_value_threshold(np.eye(3)[None], [0.5], return_values=True)
print(gpukit.segmented_argsort([3.0, 1.0], [0, 2]), gpukit.__version__, gpukit.errors.DataError, gpukit.svt)
print(gpukit.load_model("model.gpukit").predict(([1], [1])))
