"""Rank documents whose relevance is not linear in their features."""

import matplotlib.pyplot as plt
import numpy as np

from gpukit import RankSVM
from gpukit.evaluation.ranking import evaluate

# 200 queries of 20 documents. A middle value of feature 0 is best, and features 1 and 2 act together.
random = np.random.default_rng(0)
X = random.normal(size=(4000, 6))
qid = np.repeat(np.arange(200), 20)
quality = -(X[:, 0] ** 2) + X[:, 1] * X[:, 2]
y = np.digitize(quality, np.quantile(quality, [0.5, 0.75, 0.9]))  # relevance 0 to 3
train, test = qid < 150, qid >= 150

models = {}
for features in ("linear", "thresholds", "fourier"):
    model = models[features] = RankSVM(features=features).fit(X[train], y[train], qid=qid[train])
    ndcg = evaluate(y[test], model.predict(X[test]), np.arange(0, test.sum() + 1, 20), ndcg="standard")["ndcg@10"]
    print(f"{features}: pairs in order {model.score(X[test], y[test], qid[test]):.3f}, NDCG@10 {ndcg:.3f}")

# The score along feature 0, and over features 1 and 2, with all others at 0.
figure, axes = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
line = np.zeros((101, 6))
line[:, 0] = np.linspace(-2.5, 2.5, 101)
for name, model in models.items():
    scores = model.predict(line)
    axes[0].plot(line[:, 0], (scores - scores.mean()) / (np.ptp(scores) + 1e-12), label=name)
axes[0].set(xlabel="feature 0", ylabel="score, scaled")
axes[0].legend()
side = np.linspace(-2, 2, 41)
grid = np.zeros((41 * 41, 6))
grid[:, 1], grid[:, 2] = (part.ravel() for part in np.meshgrid(side, side))
picture = axes[1].pcolormesh(side, side, models["fourier"].predict(grid).reshape(41, 41), cmap="viridis")
axes[1].set(xlabel="feature 1", ylabel="feature 2", title="fourier")
figure.colorbar(picture, label="score")
figure.savefig("ranking.png", dpi=80)
