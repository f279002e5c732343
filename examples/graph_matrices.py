"""Fill in whole matrices that are missing on the vertices of a graph."""

import matplotlib.pyplot as plt
import numpy as np

from gpukit import GraphImputer, synth_graph

# 300 vertices with a 20 x 16 matrix each, of rank 3 in the graph's spectrum; a fifth of the matrices is missing.
data = synth_graph("ego-facebook", 300, (20, 16), rank=3, missing=0.2, noise=0.1, seed=0)
model = GraphImputer(method="spectral", random_state=0).fit(data)

missing = np.isnan(data.tensor).all((1, 2)) if data.mask is None else ~data.mask.reshape(300, -1).any(1)
mean = np.nanmean(data.tensor[~missing], axis=0)
error = np.linalg.norm((model.completed_ - data.truth)[missing], axis=(1, 2))
size = np.linalg.norm(data.truth[missing], axis=(1, 2))
print(f"{missing.sum()} of 300 matrices missing")
print(f"relative error: {np.sqrt((error**2).sum() / (size**2).sum()):.4f}")
print(f"of the mean matrix: {np.sqrt(((mean - data.truth[missing]) ** 2).sum() / (size**2).sum()):.4f}")

vertex = np.flatnonzero(missing)[0]
figure, axes = plt.subplots(1, 4, figsize=(10, 2.8), layout="constrained")
limit = np.abs(data.truth[vertex]).max()
for axis, title, matrix in zip(
    axes, ("truth", "filled in", "mean matrix"), (data.truth[vertex], model.completed_[vertex], mean)
):
    picture = axis.imshow(matrix, cmap="RdBu", vmin=-limit, vmax=limit)
    axis.set(title=title, xticks=[], yticks=[])
figure.colorbar(picture, ax=axes[2])
axes[3].plot(model.confidence_[missing], error / size, ".")
axes[3].set(xlabel="confidence of a vertex", ylabel="relative error", yscale="log")
figure.savefig("graph_matrices.png", dpi=80)
