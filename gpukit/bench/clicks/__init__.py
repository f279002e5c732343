"""Clicks: how fast; how soon, and how good, on NCF's MovieLens 1M (real).

table10.py    the paper's Table 10 (Li et al. 2022, section 5.4): seconds to HR 0.65, final HR and NDCG beside
implicit_als.py  iALS beside implicit's alternating least squares, CPU time at equal quality
quality.py    what iALS and the model that held-out clicks choose come to, and the significance of the difference
held.py       settings of iALS, chosen by where held-out clicks stand among all items
head.py       lists of a model of ratings: what their head costs and comes to
epochs.py     an epoch of iALS by each way of solving, MovieLens 1M (real) and the shape of MovieLens 20M
negatives.py  an epoch with sampled negatives, generated clicks of the papers' shapes
ncf_data.py   NCF's files: clicks, tests, negatives
course.py     how a training goes: HR by epoch and second
training.py   the estimators that learn clicks
networks.py   GMF, MLP and NeuMF in torch, as their authors train them
packages.py   implicit's alternating least squares, on the CPU
"""
