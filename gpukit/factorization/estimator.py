"""MatrixFactorization (CUSGD++) and LSHMF (CULSH-MF), with scikit-learn's conventions."""

import numpy as np

from gpukit import device as devices
from gpukit.device.engine import engine
from gpukit.errors import DataError, ParameterError
from gpukit.factorization import settings
from gpukit.factorization.model.layout import is_half, major_first
from gpukit.factorization.serve import Serving, in_rows_of
from gpukit.neighbors.estimator import warn_if_random
from gpukit.neighbors.plan import check_items
from gpukit.persist import check_writable


class Factorization(Serving):
    """What both models share; not for use by itself."""

    walk = "users"

    def fit(self, X, y=None, *, validation=None, progress=None, checkpoint=None, resume=False):
        """Learn from ratings.

        X: Ratings, users x items (sparse, or dense with NaN), a DataFrame of triples; or, with y (n,) their ratings, X
        of user and item ids: an (n, 2) array, a DataFrame, a tuple (users, items). With a matrix y is ignored. Pandas'
        X and y are matched by their labels; arrays on a GPU are copied to the host. validation: ratings to judge every
        epoch by (instead of validation_fraction), as X without y. progress: called as progress(stage, done, total,
        info). checkpoint: a file that the state of training is written to every minute and on Ctrl-C; resume: go on
        from it. Raises ParameterError, DataError, DeviceError, DeviceMemoryError, ModelError (a checkpoint that does
        not fit).
        """
        from gpukit.factorization import run as runs
        from gpukit.factorization.model import saving

        check_checkpoint(checkpoint, resume)
        progress = progress or (lambda *news: None)
        run = self.prepare(X, y, validation=validation, progress=progress, resume_from=checkpoint if resume else None)
        self.history_, ratings = run.history, run.ratings
        data = saving.fingerprint(ratings) if checkpoint is not None else None
        with devices.reported(run.device, "Training"), run.clock("training"):
            judge = runs.Judge(run.session, run.held_out, run.scale, run.settings.patience, run.history, run.best)
            checkpoints = runs.Checkpoints(checkpoint, self, data)
            state = runs.run(run.session, run.settings, judge, checkpoints, run.history, run.start, progress)
        self.timings_, self.device_ = run.clock.seconds, str(run.device)
        self.set_fitted(state, run.session.history, run.scale, ratings.user_ids, ratings.item_ids)
        device = run.device
        del run, judge  # and what they keep on the device
        devices.release(device)
        return self

    def check(self, n_ratings=0):
        """The parameters as settings.Settings for so many ratings; raises ParameterError for one out of bounds."""
        return settings.check(self, n_ratings)

    def prepare(self, X, y=None, *, validation=None, progress=None, resume_from=None):
        """run.Run: everything that training needs, before the first epoch; arguments and errors as fit.

        resume_from: a checkpoint to start from instead of the beginning.
        """
        from gpukit.ratings.pairs import ratings_of

        ratings = ratings_of(X, y, repeats=False)
        checked, device = self.check(len(ratings)), devices.resolve(self.device)
        check_shape(ratings)
        self._check_items(ratings.shape[1])
        if validation is not None:
            held_out = in_rows_of(ratings_of(validation), ratings.user_ids, ratings.item_ids)
        elif self.validation_fraction:
            ratings, held_out = ratings.split(self.validation_fraction, checked.seed)
            check_shape(ratings)
        else:
            held_out = None
        with devices.reported(device, "Training"):
            return self._prepare(ratings, held_out, device, checked, progress or (lambda *news: None), resume_from)

    def _slots(self):
        return 0

    def _check_items(self, n_items):
        """Raise for a parameter that does not fit so many items."""

    def _walked(self, device):
        """The side whose rows are walked: of strata a GPU walks the items' rows, which are long, if any may be."""
        return "items" if self.deterministic and device.is_cuda else self.walk

    def _prepare(self, ratings, held_out, device, plan, progress, resume_from):
        from gpukit.factorization import run as runs
        from gpukit.factorization.model import saving
        from gpukit.factorization.model.state import Beginning
        from gpukit.factorization.prepare import ready
        from gpukit.factorization.solvers.sgd import schedule
        from gpukit.ratings.orders.order import order_ratings

        clock, steps = runs.Clock(), engine(device, "gpukit.factorization")
        walk = self._walked(device)
        half = is_half(self.precision, device.is_cuda, len(ratings))
        layout = steps.layout(self.n_factors, self._slots(), half)
        runs.check_memory(device, len(ratings), major_first(walk, *ratings.shape), layout)
        progress("preparing", 0, 1, {})
        with clock("prepare"):
            orders = order_ratings(ratings, device)
            scale = ready.scale_of(orders, ratings.values)
            way = ready.Way(walk, plan.seed, self.deterministic, self._slots() > 0)
            made = ready.make_ready(orders, scale, way, steps.preparing)
        with clock("neighbours"):
            neighbors = self._search(orders, steps, progress) if resume_from is None else None
        with clock("prepare"):  # while a GPU is still searching
            workers = schedule.worker_count(len(ratings), steps.most_workers(layout))
            tables, workers = runs.chunk_tables(made.side, workers, plan, steps)
        if resume_from is not None:
            data = saving.fingerprint(ratings)
            state, start, history, best = saving.load_checkpoint(resume_from, self, data, ratings.shape)
            session = steps.Session(state, layout, walk, made.history)
        else:
            with clock("neighbours"):
                neighbors = neighbors()
            with clock("prepare"):
                facts = ratings.shape, self.n_factors, neighbors, made.baseline, plan.biases, plan.seed
                session = steps.begin(Beginning(*facts), layout, walk, made.history)
            start, history, best = 0, [], None
        orders = None
        with clock("prepare"):
            session.train_on(made.side, made.query, tables, workers)
        return runs.Run(session, plan, clock, scale, start, history, best, ratings, held_out, device)

    def _search(self, orders, steps, progress):
        """The function that waits for the neighbors (N, K) int32, whose search has begun."""
        return lambda: np.zeros((orders.shape[1], 0), np.int32)


class MatrixFactorization(Factorization):
    """CUSGD++ (Algorithm 2): r ~ mean + b_i + b_j + u_i v_j, by stochastic gradient descent over the users' rows.

    Parameters: n_factors F, 1 to 1024; n_epochs, None for 12 and more with the ratings (rates.default_epochs); biases:
    whether b_i, b_j are learned; rates 'adaptive' (AdaGrad, one sum a row) or 'paper' (Eq. 7); learning_rate and
    regularization, None for the rates' own (rates.defaults), in units of the ratings' deviation; validation_fraction
    of the ratings held out to judge every epoch; early_stopping: stop after so many epochs without a better one and
    keep the best (0: never); deterministic: the same result on every run, with any number of threads, by a schedule
    without conflicts; precision of the items' factors while training: 'half' (float16, on a GPU alone), 'single' or
    'auto' (half on a GPU from five million ratings on: faster, and as accurate); device 'auto', 'cpu', 'cuda',
    'cuda:N'; random_state, an integer seed.

    After fit: user_ids_ (M,), item_ids_ (N,); mean_; user_bias_ (M,), item_bias_ (N,); user_factors_ (M, F),
    item_factors_ (N, F): a prediction is mean_ + user_bias_[i] + item_bias_[j] + user_factors_[i] @ item_factors_[j],
    not below or above scale_ (the lowest and highest rating). These are float32, in units of the ratings (factors of
    the root of that), and made anew at each use. user_baseline_ (M,), item_baseline_ (N,): the biases of the bias-only
    predictor, where training began. neighbors_ (N, 0); history_ (a dict an epoch: epoch, seconds, rmse or
    None); timings_ (seconds: prepare, neighbours, training); device_; n_features_in_ = N.
    """

    def __init__(
        self,
        n_factors=32,
        n_epochs=None,
        biases=True,
        rates="adaptive",
        learning_rate=None,
        regularization=None,
        validation_fraction=0.0,
        early_stopping=0,
        deterministic=False,
        precision="auto",
        device="auto",
        random_state=0,
    ):
        self.n_factors = n_factors
        self.n_epochs = n_epochs
        self.biases = biases
        self.rates = rates
        self.learning_rate = learning_rate
        self.regularization = regularization
        self.validation_fraction = validation_fraction
        self.early_stopping = early_stopping
        self.deterministic = deterministic
        self.precision = precision
        self.device = device
        self.random_state = random_state


class LSHMF(Factorization):
    """CULSH-MF (Algorithm 3): matrix factorization with nonlinear neighbourhoods found by simLSH, Eq. (1).

    Parameters: n_factors F, 1 to 1024; n_neighbors K, 1 to 1024 and less than the items; n_epochs; lsh_p coarse by
    lsh_q fine hashings of lsh_bits bits; lsh_psi, the exponent of Psi(r) = r**psi (1, 2 or 4); search 'hamming',
    'buckets' (the paper's), 'exact' (its GSM) or 'random' (its control group); rates, learning_rate, regularization,
    validation_fraction, early_stopping, deterministic, precision (of the users' factors), device, random_state as in
    MatrixFactorization.

    After fit: as MatrixFactorization, with neighbors_ (N, K) int32 item rows, random_share_ of the neighbour slots, and
    Eq. (1)'s influences, explicit_influences_ w and implicit_influences_ c (N, K) float32: a prediction has besides,
    over the k of neighbors_[j] that user i has rated, the sum of (r_ik - baseline_ik) w_jk, and over those that i has
    not rated the sum of c_jk, each divided by the root of how many they are. baseline_ik = mean_ + user_baseline_[i] +
    item_baseline_[k]. w is a pure number, c in units of the ratings.
    """

    walk = "items"

    @property
    def explicit_influences_(self):
        """(N, K) float32, w of Eq. (1)."""
        return self._of_state("influence")[:, 0].copy()

    @property
    def implicit_influences_(self):
        """(N, K) float32, c of Eq. (1), in units of the ratings."""
        return self._of_state("influence")[:, 1] * np.float32(self._scale.deviation)

    def __init__(
        self,
        n_factors=32,
        n_neighbors=32,
        n_epochs=None,
        lsh_p=3,
        lsh_q=100,
        lsh_bits=8,
        lsh_psi=2,
        search="hamming",
        rates="adaptive",
        learning_rate=None,
        regularization=None,
        validation_fraction=0.0,
        early_stopping=0,
        deterministic=False,
        precision="auto",
        device="auto",
        random_state=0,
    ):
        self.n_factors = n_factors
        self.n_neighbors = n_neighbors
        self.n_epochs = n_epochs
        self.lsh_p = lsh_p
        self.lsh_q = lsh_q
        self.lsh_bits = lsh_bits
        self.lsh_psi = lsh_psi
        self.search = search
        self.rates = rates
        self.learning_rate = learning_rate
        self.regularization = regularization
        self.validation_fraction = validation_fraction
        self.early_stopping = early_stopping
        self.deterministic = deterministic
        self.precision = precision
        self.device = device
        self.random_state = random_state

    def _slots(self):
        return self.n_neighbors

    def _check_items(self, n_items):
        check_items(self._hashing().check(), n_items)

    def check(self, n_ratings=0):
        """The parameters as settings.Settings for so many ratings; raises ParameterError for one out of bounds."""
        self._hashing().check()
        return super().check(n_ratings)

    def _hashing(self):
        from gpukit.neighbors import SimLSH

        return SimLSH(
            self.n_neighbors,
            self.lsh_p,
            self.lsh_q,
            self.lsh_bits,
            self.lsh_psi,
            self.search,
            self.device,
            self.random_state,
        )

    def _search(self, orders, steps, progress):
        from gpukit.neighbors.columns import columns_of

        progress("neighbours", 0, 1, {})
        hashing = self._hashing().check()
        wait = steps.find_neighbors(columns_of(orders), hashing)

        def found():
            neighbors, random_slots = wait()
            self.random_share_ = random_slots / neighbors.size
            warn_if_random(self.random_share_, hashing)
            progress("neighbours", 1, 1, {})
            return neighbors

        return found


def check_checkpoint(path, resume):
    """ParameterError for resume without a file, DataError when the file could not be written later on."""
    if path is not None:
        check_writable(path)
    elif resume:
        raise ParameterError("resume=True needs checkpoint=, the file to go on from.")


def check_shape(ratings):
    """DataError unless there are ratings of at least two users and two items."""
    if not len(ratings):
        raise DataError(
            "There are no ratings to learn from: 0 rows. Give at least two users and two items with ratings."
        )
    if min(ratings.shape) < 2:
        users, items = ratings.shape
        raise DataError(
            f"Learning from {users} user(s) and {items} item(s) is not possible: give at least two of each."
        )
