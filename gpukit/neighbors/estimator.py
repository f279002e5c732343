"""SimLSH: neighbour lists by locality-sensitive hashing, with scikit-learn's conventions."""

import time
import warnings

from gpukit import device as devices
from gpukit.base import Estimator, check_choice, check_integer
from gpukit.neighbors.search import SEARCHES

MANY_RANDOM = 0.2
PSI = (1, 2, 4)
MOST_NEIGHBORS = 1024
MOST_BITS = 1 << 20


class SimLSH(Estimator):
    """The n_neighbors most alike items of every item, by simLSH (gpukit.neighbors has the method and its source).

    Parameters: n_neighbors K, 1 to 1024; p coarse by q fine hashings of `bits` (G) bits; psi, the exponent of Psi(r) =
    r**psi (1, 2 or 4); search 'hamming' (agreement over all bits) or 'buckets' (the paper's collisions); device 'auto',
    'cpu', 'cuda', 'cuda:N'; random_state, an integer seed, the same answer on every device.

    After fit: neighbors_ (N, K) int32 item rows, best first; scores_ (N, K) float32, the share of bits (hamming) or
    fine hashings (buckets) that agree, NaN in random slots; random_share_ of the slots; codes are not kept; device_
    (str); timings_ (seconds: prepare, hashing, search); n_features_in_ = N.
    """

    def __init__(self, n_neighbors=32, p=3, q=100, bits=8, psi=2, search="hamming", device="auto", random_state=0):
        self.n_neighbors = n_neighbors
        self.p = p
        self.q = q
        self.bits = bits
        self.psi = psi
        self.search = search
        self.device = device
        self.random_state = random_state

    def settings(self):
        """The checked parameters as gpukit.neighbors.plan.Settings; raises ParameterError for one out of bounds."""
        from gpukit.neighbors.plan import Settings

        p, q, bits = (check_integer(name, getattr(self, name), 1) for name in ("p", "q", "bits"))
        check_integer("p * q * bits", p * q * bits, 1, MOST_BITS)
        seed = 0 if self.random_state is None else check_integer("random_state", self.random_state, 0, 2**63 - 1)
        k = check_integer("n_neighbors", self.n_neighbors, 1, MOST_NEIGHBORS)
        psi, search = check_choice("psi", self.psi, PSI), check_choice("search", self.search, SEARCHES)
        return Settings(k, p, q, bits, psi, search, seed)

    def fit(self, X, y=None):
        """Find the neighbours of X's columns (users x items, anything gpukit.ratings.as_ratings takes); y is ignored.

        Raises ParameterError when n_neighbors exceeds the other items, DataError without ratings; warns (UserWarning)
        when more than a fifth of the slots had to be filled at random.
        """
        from gpukit.neighbors import plan
        from gpukit.neighbors.columns import columns
        from gpukit.ratings import as_ratings

        settings = self.settings()
        device = devices.resolve(self.device)
        begun = time.perf_counter()
        ratings = as_ratings(X)
        plan.check_items(settings, ratings.shape[1])
        table = columns(ratings)
        prepared = time.perf_counter() - begun
        with devices.reported(device, "The neighbour search"):
            neighbors, scores, random_slots, seconds = run(device, table, settings)
        self.neighbors_, self.scores_ = neighbors, scores
        self.random_share_ = random_slots / neighbors.size
        self.device_, self.n_features_in_ = str(device), ratings.shape[1]
        self.timings_ = {"prepare": prepared, **seconds}
        warn_if_random(self.random_share_, settings)
        return self


def run(device, table, settings):
    """find on the device, the answer on the host: (neighbors, scores, random slots, seconds by stage)."""
    if not device.is_cuda:
        from gpukit.neighbors import cpu

        return cpu.find(table, settings)
    from gpukit.neighbors import gpu

    begun = time.perf_counter()
    on_device = gpu.to_device(table)
    copied = time.perf_counter() - begun
    found = gpu.find(on_device, settings)
    neighbors, scores = found.neighbors.copy_to_host(), found.scores.copy_to_host()
    return neighbors, scores, found.random_slots, {"copy": copied, **found.seconds}


def warn_if_random(share, settings):
    """UserWarning with advice when more than MANY_RANDOM of the slots are random; used by the factorization as well."""
    if share <= MANY_RANDOM:
        return
    advice = "use search='hamming', p=1, fewer bits or a larger q"
    if settings.search == "hamming":
        advice = "most items have no ratings, or fewer items are rated than n_neighbors: use fewer neighbours"
    warnings.warn(f"{share:.0%} of the neighbour slots are random: {advice}.", UserWarning, stacklevel=3)


def random_neighbors(n_items, n_neighbors, seed=0):
    """(N, K) int32: K distinct random items for each item (the paper's control group), as the supplement draws them."""
    from gpukit.neighbors import plan
    from gpukit.neighbors.supplement import cpu

    plan.check_items(plan.Settings(n_neighbors=n_neighbors), n_items)
    return cpu.random_lists(n_items, n_neighbors, seed).neighbors
