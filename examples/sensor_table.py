"""Write the generated tables temperature.csv (hours by stations, with gaps) and stations.csv (coordinates)."""

import numpy as np
import pandas as pd

STATIONS, DAYS = 24, 10


def make_tables():
    """Return (complete readings, readings with gaps, coordinates) as DataFrames."""
    random = np.random.default_rng(0)
    names = [f"S{number:02d}" for number in range(STATIONS)]
    places = pd.DataFrame(
        {"station": names, "latitude": random.uniform(47, 49, STATIONS), "longitude": random.uniform(1, 4, STATIONS)}
    )
    hours = pd.date_range("2026-03-01", periods=24 * DAYS, freq="h")
    weather = np.cumsum(random.normal(0, 0.4, len(hours)))  # common to all stations
    level = 12 - 2 * (places.latitude.to_numpy() - 47) + random.normal(0, 0.3, STATIONS)
    swing = 4 + places.longitude.to_numpy()  # of day and night, larger inland
    wave = np.sin(2 * np.pi * (hours.hour.to_numpy() - 9) / 24)
    values = level + weather[:, None] + wave[:, None] * swing + random.normal(0, 0.2, (len(hours), STATIONS))
    full = pd.DataFrame(values.round(1), columns=names, index=hours.rename("time"))
    gaps = full.mask(random.random(full.shape) < 0.05)
    for station, start in zip(random.choice(names, 8, replace=False), random.integers(0, 24 * (DAYS - 2), 8)):
        gaps.iloc[start : start + 30, gaps.columns.get_loc(station)] = np.nan  # a sensor fails for 30 hours
    return full, gaps, places


if __name__ == "__main__":
    full, gaps, places = make_tables()
    gaps.to_csv("temperature.csv")
    places.to_csv("stations.csv", index=False, float_format="%.4f")
    print(f"temperature.csv: {gaps.shape[0]} hours, {STATIONS} stations, {gaps.isna().mean().mean():.1%} missing")
