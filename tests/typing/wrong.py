"""A user's script with mistakes: type checkers report exactly the lines marked `# error`. It is checked, not run."""

import gpukit
from gpukit import LSHMF, GraphImputer, MatrixFactorization, RankSVM, SimLSH, read_ratings
from gpukit import read_rating  # error
from gpukit.factorization import Filter  # error

ratings = read_ratings("ratings.dat")
read_ratings("ratings.dat", duplicates="first")  # error
train, validation, test = ratings.split(0.1)  # error
ratings.split(by="rand")  # error
print(gpukit.read_document)  # error

LSHMF(n_factors="eight")  # error
LSHMF(n_factor=8)  # error
LSHMF(solver="als")  # error
LSHMF(device=0)  # error
MatrixFactorization(solver="als")
MatrixFactorization(lsh_q=3)  # error
LSHMF().fit("ratings.dat")  # error
LSHMF().fit(ratings, validation_data=ratings)  # error
LSHMF().fit(ratings, progress="bar")  # error
model = LSHMF().fit(ratings)
print(model.user_factor_)  # error
print(model.history_["rmse"])  # error
print(model.mean_.lower())  # error
model.predict(1.5)  # error
model.predict([1], [2], "baseline")  # error
model.predict([1], [2], unknown="zero")  # error
model.recommend([1], n="ten")  # error
model.recommend([1], by="popularity")  # error
model.similar_items()  # error

RankSVM(C="best")  # error
RankSVM(1.0, "dcm")  # error
RankSVM().fit("Fold1/train.txt")  # error
print(RankSVM().coef_.shape, RankSVM().coefs_)  # error
GraphImputer("spectral")  # error
GraphImputer(method="kringing")  # error
GraphImputer().set_output(transform="polars")  # error
SimLSH(psi=3)  # error
gpukit.synth_ratings("netflicks")  # error
gpukit.set_num_threads("all")  # error
