"""Show the ratings that put an item on a user's list."""

import matplotlib.pyplot as plt

from gpukit import LSHMF, read_ratings

model = LSHMF(random_state=0).fit(read_ratings("data/ratings-sample.csv"))
user = 12
items, scores = model.recommend([user], n=3)
explanations = [model.explain(user, int(item)) for item in items[0]]
for item, explanation in zip(items[0], explanations):
    print(f"item {item}: score {explanation.total:.4f}, from {len(explanation.rated)} ratings; most from")
    for term in explanation.rated[:3]:
        print(f"  item {term.item}, rated {term.rating:g}: {term.share:.4f}")

figure, axes = plt.subplots(1, 3, figsize=(9, 3), layout="constrained", sharex=True)
for axis, item, explanation in zip(axes, items[0], explanations):
    largest = explanation.rated[7::-1]
    axis.barh([f"item {term.item}" for term in largest], [term.share for term in largest])
    axis.set(title=f"why item {item}", xlabel="share of the score")
figure.savefig("explained.png", dpi=80)
