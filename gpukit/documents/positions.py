"""Weights against position bias: documents that are shown at the top are clicked more often."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpukit.base import check_real
from gpukit.base.arrays import as_numbers
from gpukit.documents.tables import take_columns
from gpukit.errors import DataError
from gpukit.io.arrays import normalize_name

if TYPE_CHECKING:
    from gpukit.typing import ArrayLike, Float64

COLUMN = "position"  # of a table


def position_weights(y: ArrayLike, position: ArrayLike, eta: float = 1.0) -> Float64:
    """Return weights of documents that correct clicks for position bias.

    Position k is examined with propensity k^-eta. A clicked document has the inverse of its propensity, any other 1, so
    each pair of a click and a document without one has the weight of the click (Joachims, Swaminathan and Schnabel
    2017, "Unbiased learning-to-rank with biased feedback"). A pair of two clicks of different labels has the product.

    Parameters
    ----------
    y : (l,)
        Relevance; above 0 for a clicked document.
    position : (l,)
        Where the document was shown, from 1.
    eta : float >= 0
        Strength of the bias; 0: none.

    Returns
    -------
    (l,) float64
        sample_weight of RankSVM.fit.

    Raises
    ------
    DataError
        Positions below 1, or another number of them than of y.
    ParameterError
        An eta below 0.

    Examples
    --------
    >>> position_weights([1, 0, 1], [1, 2, 3])
    array([1., 1., 3.])
    """
    eta = check_real("eta", eta, 0.0)
    y, position = as_numbers("y", y), as_numbers("position", position).astype(np.float64)
    if position.shape != y.shape:
        raise DataError(f"There are {position.size:,} positions and {y.size:,} documents. Give a position for each.")
    with np.errstate(over="ignore", invalid="ignore"):
        weights = np.where(y > 0, position**eta, 1.0)
    wrong = np.flatnonzero(~((position >= 1) & np.isfinite(position + weights)))
    if len(wrong):
        value = position[wrong[0]]
        raise DataError(
            f"position[{wrong[0]}] is {value:g}. Positions count from 1, and position^{eta:g} must be finite."
        )
    return weights


def take_positions(documents, known=()):
    """Return (Documents without the column of positions, the positions (l,) or None); known: names of features."""
    names = [] if documents.names is None else documents.names.tolist()
    places = [place for place, name in enumerate(names) if normalize_name(name) == COLUMN and name not in known]
    if len(places) != 1 or len(names) == 1:
        return documents, None
    column = documents.X[:, places]
    position = (column.toarray() if hasattr(column, "indptr") else column)[:, 0]
    others = np.delete(np.arange(len(names)), places)
    return documents._replace(X=take_columns(documents.X, others), names=documents.names[others]), position
