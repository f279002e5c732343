"""SimLSH: the most similar items of every item, with scikit-learn's conventions."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple, Self, get_args

import numpy as np

from gpukit import device as devices
from gpukit import persist
from gpukit.base import Estimator, check_choice, check_integer
from gpukit.device.engine import engine
from gpukit.errors import DataError
from gpukit.io import trust
from gpukit.neighbors import plan
from gpukit.neighbors.plan import HASHES, SEARCHES, Settings, columns_of
from gpukit.ratings.adopt import ratings_of
from gpukit.timing import COMPILING, Clock, compile_seconds

if TYPE_CHECKING:
    from gpukit.neighbors.plan import Hash, Search
    from gpukit.typing import ArrayLike, DeviceLike, Float32, Ids, Int32, RatingsLike

FACTS = {"random_share": float, "device": str, "timings": dict}  # facts in a model file
ARRAYS = ("neighbors", "scores", "item_ids")
Psi = Literal[1, 2, 4]
ADVICE = {  # against a large fraction of random slots
    "hamming": "most items have no ratings, or fewer items are rated than n_neighbors: use fewer neighbours",
    "buckets": "use search='hamming', p=1, fewer bits or a larger q",
    "exact": "few users rated the same items, or they do not agree: use search='hamming' or fewer neighbours",
}
MOST_NEIGHBORS = 1024
MOST_BITS = 1 << 20


@dataclass(eq=False, repr=False)
class SimLSH(Estimator):
    """The n_neighbors most similar items of every item, by simLSH or the alternatives of its paper.

    gpukit.neighbors has the methods and their sources.

    Parameters
    ----------
    n_neighbors : int, 1 to 1024
        Number K of neighbours, default 32.
    p, q, bits : int
        p coarse by q fine hashings of `bits` (G) bits, by default 3, 100 and 8.
    psi : {1, 2, 4}
        Exponent of simLSH's Psi(r) = r^psi, default 2.
    search : {'hamming', 'buckets', 'exact', 'random'}
        Agreement over all bits; the paper's collisions; the paper's GSM (Pearson's correlation over common users,
        shrunk; no hash); the paper's control group.
    hash : {'simlsh', 'minhash', 'projection'}
        Source of the bits. 'minhash': the set of raters (Jaccard similarity); 'projection': RP_cos, the angle between
        columns of ratings.
    device : {'auto', 'cpu', 'cuda', 'cuda:N'}
    random_state : int
        Seed. The result is the same on every device.

    Attributes
    ----------
    neighbors_ : (N, K) int32
        Item rows, best first.
    scores_ : (N, K) float32
        The fraction of equal bits (hamming) or fine hashings (buckets), or the shrunk correlation (exact); NaN in
        random slots.
    random_share_ : float
        Fraction of random slots.
    item_ids_, n_features_in_, device_, timings_
        Ids (N,); N; str; seconds of prepare, hashing, search.

    Examples
    --------
    >>> from gpukit import SimLSH, synth_ratings
    >>> model = SimLSH(n_neighbors=4).fit(synth_ratings("ml-10m", scale=0.01))
    >>> model.neighbors_.shape, model.scores_.dtype
    ((1068, 4), dtype('float32'))
    """

    n_neighbors: int = 32
    p: int = 3
    q: int = 100
    bits: int = 8
    psi: Psi = 2
    search: Search = "hamming"
    hash: Hash = "simlsh"
    device: DeviceLike = "auto"
    random_state: int | None = 0

    neighbors_: Int32 = field(init=False)
    scores_: Float32 = field(init=False)
    random_share_: float = field(init=False)
    item_ids_: Ids = field(init=False)
    n_features_in_: int = field(init=False)
    device_: str = field(init=False)
    timings_: dict[str, float] = field(init=False)

    _fitted_by = "neighbors_"
    _facts = ("neighbors_", "random_share_", "device_")

    def check(self, prefix=""):
        """Return the parameters as gpukit.neighbors.plan.Settings; raise ParameterError for an invalid one.

        prefix: of the hashing's parameters in messages, as another estimator names them.
        """
        p, q, bits = (check_integer(prefix + name, getattr(self, name), 1) for name in ("p", "q", "bits"))
        check_integer(f"{prefix}p * {prefix}q * {prefix}bits", p * q * bits, 1, MOST_BITS)
        seed = 0 if self.random_state is None else check_integer("random_state", self.random_state, 0, 2**63 - 1)
        k = check_integer("n_neighbors", self.n_neighbors, 1, MOST_NEIGHBORS)
        psi = check_choice(f"{prefix}psi", self.psi, get_args(Psi))
        search = check_choice("search", self.search, SEARCHES)
        return Settings(k, p, q, bits, psi, search, seed, check_choice("hash", self.hash, HASHES))

    def prepare(self, X, y=None):
        """Return the Run: the columns of the ratings on the device, before the hashing. Arguments and errors as fit."""
        from gpukit.ratings.orders.order import order_ratings

        settings, device = self.check(), devices.resolve(self.device)
        clock = Clock()
        with clock("prepare"), devices.translate_memory_errors(device, "The neighbour search"):
            ratings = ratings_of(X, y, repeats=False)
            plan.check_items(settings, ratings.shape[1])
            table = columns_of(order_ratings(ratings, device))
        return Run(table, settings, device, ratings.item_ids, clock.seconds)

    def fit(self, X: RatingsLike, y: ArrayLike | None = None) -> Self:
        """Find the neighbours of the items of X.

        Parameters
        ----------
        X : Ratings, matrix of users x items (sparse, or dense with NaN), DataFrame of triples, or array (n, 2)
            An array has the columns user and item.
        y : (n,) or None
            Ratings of the pairs.

        Returns
        -------
        self

        Raises
        ------
        ParameterError
            n_neighbors exceeds the number of other items.
        DataError
            X has no ratings.

        Warns
        -----
        UserWarning
            More than a fifth of the neighbours are random.

        Examples
        --------
        >>> from gpukit import SimLSH, synth_ratings
        >>> SimLSH(n_neighbors=4).fit(synth_ratings("ml-10m", scale=0.001)).neighbors_.shape[1]
        4
        """
        run = self.prepare(X, y)
        compiled = compile_seconds() - run.seconds[COMPILING]
        with devices.translate_memory_errors(run.device, "The neighbour search"):
            self.neighbors_, self.scores_, random_slots, seconds = run.find()
        self.random_share_ = random_slots / self.neighbors_.size
        self.device_, self.item_ids_, self.n_features_in_ = str(run.device), run.item_ids, len(run.item_ids)
        self.timings_ = {**run.seconds, **seconds, COMPILING: compile_seconds() - compiled}
        warn_if_random(self.random_share_, run.settings)
        return self

    def _packed(self):
        return persist.facts_of(self, FACTS), persist.facts_of(self, ARRAYS)

    def _unpack(self, facts, arrays):
        check_lists(*(arrays[name] for name in ARRAYS))
        persist.restore_facts(self, facts, FACTS)
        if not 0 <= self.random_share_ <= 1:
            raise DataError(f"random_share is {self.random_share_!r}; it is a share, 0 to 1.")
        for name in ARRAYS:
            setattr(self, f"{name}_", arrays[name])
        self.n_features_in_ = len(self.item_ids_)


def check_lists(neighbors, scores, item_ids):
    """Raise DataError unless neighbours (N, K) are item rows, scores are fractions or NaN, and each item has an id."""
    trust.check_ids("item_ids", item_ids)
    shape = (len(item_ids), neighbors.shape[-1] if neighbors.ndim == 2 else None)
    trust.check_array("neighbors", neighbors, np.int32, shape)
    trust.check_range("neighbors", neighbors, 0, len(item_ids))
    self_neighbors = np.flatnonzero((neighbors == np.arange(len(item_ids), dtype=np.int32)[:, None]).any(axis=1))
    if len(self_neighbors):
        raise DataError(f"item {self_neighbors[0]} is among its own neighbours.")
    trust.check_array("scores", scores, np.float32, shape)
    place = trust.first_wrong(lambda block: (block < 0) | (block > 1), scores)
    if place is not None:
        raise DataError(f"scores{list(place)} is {scores[place]}; they are shares, 0 to 1, or NaN.")


class Run(NamedTuple):
    """A search before its start.

    The Columns (on a GPU their users and levels), plan.Settings, Device, the items' ids (N,), seconds by stage.
    """

    columns: object
    settings: object
    device: object
    item_ids: np.ndarray
    seconds: dict

    def find(self):
        """Return the plan.Found with host arrays."""
        steps = engine(self.device, "gpukit.neighbors")
        result = steps.find(self.columns, self.settings)
        return result._replace(neighbors=steps.fetch(result.neighbors), scores=steps.fetch(result.scores))


def warn_if_random(share, settings):
    """Warn (UserWarning) with advice if more than a fifth of the slots are random; also for the factorization."""
    many = 0.2
    if share <= many or settings.search == "random":
        return
    advice = ADVICE[settings.search]
    warnings.warn(f"{share:.0%} of the neighbour slots are random: {advice}.", UserWarning, stacklevel=3)
