"""Fill gaps of sensors, with error bars and a map."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sensor_table import make_tables

from gpukit import GraphImputer, graph_from_coordinates

full, gaps, places = make_tables()
graph = graph_from_coordinates(places.set_index("station"), neighbors=5)
model = GraphImputer(random_state=0).fit(graph, gaps)

filled, deviation, hidden = model.completed_, model.deviation_, gaps.isna()
error = (filled - full).abs().where(hidden)
inside = (error <= 1.645 * deviation).where(hidden).stack().mean()
print(f"method: {model.method_}; mean absolute error {np.nanmean(error):.2f} degrees")
print(f"linear in time alone: {np.nanmean((gaps.interpolate(limit_direction='both') - full).abs().where(hidden)):.2f}")
print(f"intervals of 90 % contain {100 * inside:.0f} % of the hidden readings")

# Five days of the station that misses most, and all stations on a map in the middle of its gap.
station = hidden.sum().idxmax()
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", width_ratios=[2, 1])
bad = hidden[station]
axes[0].plot(gaps.index, gaps[station], label="observed")
axes[0].plot(full.index, full[station].where(bad), ".", color="gray", label="truth, hidden")
axes[0].plot(filled.index, filled[station].where(bad), ".-", markersize=3, color="C1", label="filled in")
band = 1.645 * deviation[station].where(bad)
axes[0].fill_between(filled.index, filled[station] - band, filled[station] + band, color="C1", alpha=0.3, label="90 %")
axes[0].set(title=f"station {station}", ylabel="degrees")
start = bad.rolling(30).sum().idxmax()
axes[0].set_xlim(start - pd.Timedelta("3D"), start + pd.Timedelta("2D"))
axes[0].tick_params(axis="x", rotation=30)
axes[0].legend(fontsize=8)
moment = start - pd.Timedelta("12h")
lacking = hidden.loc[moment, places.station].to_numpy()
values, edges = filled.loc[moment, places.station], ["black" if missing else "none" for missing in lacking]
picture = axes[1].scatter(places.longitude, places.latitude, c=values, s=70, edgecolors=edges, linewidths=2)
axes[1].set(title=f"{moment:%d %B, %H:00}; ringed: filled in", xlabel="longitude", ylabel="latitude")
figure.colorbar(picture, label="degrees")
figure.savefig("sensors.png", dpi=80)
