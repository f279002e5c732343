"""Learn lists from clicks and compare them with popularity, item kNN and EASE."""

import matplotlib.pyplot as plt

from gpukit import LSHMF, read_ratings

# The sample's ratings of 4 and more are clicks; a file of two columns (user, item) needs no threshold.
train, test = read_ratings("data/ratings-sample.csv").split(0.2, seed=0)
model = LSHMF(positive_from=4, random_state=0).fit(train)
print(model.chosen_["why"])

lengths = [1, 2, 3, 5, 10, 15, 20]
liked = test.take(test.values >= 4)
report = model.evaluate_lists(liked, k=lengths)
curves = {}
for k in lengths:
    for row in report.rows(k):
        curves.setdefault(row["predictor"], []).append(row)
for name, rows in curves.items():
    print(
        f"{name}: NDCG@10 {rows[4]['ndcg']:.3f}, recall@10 {rows[4]['recall']:.3f}, coverage {rows[4]['coverage']:.2f}"
    )

figure, axes = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
for name, rows in curves.items():
    axes[0].plot(lengths, [row["recall"] for row in rows], marker="o", label=name)
    axes[1].plot(lengths, [row["ndcg"] for row in rows], marker="o")
axes[0].set(xlabel="length of the list", ylabel="recall")
axes[1].set(xlabel="length of the list", ylabel="NDCG")
axes[0].legend()
figure.savefig("clicks.png", dpi=80)
