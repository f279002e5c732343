"""Predict ratings and recommend items, with an error by the number of ratings that a user has."""

import matplotlib.pyplot as plt
import numpy as np

from gpukit import LSHMF, synth_ratings

# 300,000 generated ratings of 12,103 users; your own: gpukit.read_ratings("ratings.csv").
train, test = synth_ratings("ml-10m", scale=0.03, seed=0).split(0.1, seed=0)
model = LSHMF(random_state=0).fit(train)

# Rows of the model in the table have the order of its ids; biases alone are where training started.
pairs = test.user_ids[test.users], test.item_ids[test.items]
biases = model.mean_ + model.user_baseline_[test.users] + model.item_baseline_[test.items]
predictions = {"biases": biases, "LSHMF": model.predict(pairs)}
for name, values in predictions.items():
    print(f"{name}: test RMSE {np.sqrt(np.mean((values - test.values) ** 2)):.3f}")

user = int(train.user_ids[7])
items, scores = model.recommend([user], n=5)
print(f"user {user}: items {items[0].tolist()}")

# The error of a user decreases with the number of ratings that the model knows of the user.
known, _ = model.evidence(*pairs, unknown="zero")
edges = [0, 5, 10, 20, 40, 80, 1000]
figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
bins = np.digitize(known, edges[1:-1])
for name, values in predictions.items():
    squared = (values - test.values) ** 2
    axes.plot([np.sqrt(squared[bins == b].mean()) for b in range(len(edges) - 1)], marker="o", label=name)
axes.set_xticks(range(len(edges) - 1), [f"{a} to {b - 1}" for a, b in zip(edges, edges[1:])])
axes.set(xlabel="ratings that the model knows of the user", ylabel="test RMSE")
axes.legend()
figure.savefig("recommendations.png", dpi=80)
