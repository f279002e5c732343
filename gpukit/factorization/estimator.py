"""MatrixFactorization (CUSGD++) and LSHMF (CULSH-MF), with scikit-learn's conventions."""

import numpy as np

from gpukit import device as devices
from gpukit.base import check_choice, check_integer, check_real
from gpukit.errors import DataError, ParameterError
from gpukit.factorization.model.layout import PRECISIONS, is_half, major_first
from gpukit.factorization.serve import Serving, in_rows_of
from gpukit.neighbors.search import SEARCHES

MOST_FACTORS = 1024
RATES = ("adaptive", "paper")


class Factorization(Serving):
    """What both models share; not for use by itself."""

    walk = "users"

    def fit(self, X, y=None, *, validation=None, progress=None, checkpoint=None, resume=False):
        """Learn from X: whatever gpukit.ratings.as_ratings takes (Ratings, sparse or dense users x items, triples).

        y is ignored. validation: ratings to judge every epoch by (instead of validation_fraction). progress: called as
        progress(stage, done, total, info). checkpoint: a file that the state of training is written to every minute
        and on Ctrl-C; resume: go on from it. Raises ParameterError, DataError, DeviceError, ModelError (a checkpoint
        that does not fit).
        """
        from gpukit.ratings import as_ratings

        check_checkpoint(checkpoint, resume)
        ratings = as_ratings(X)
        plan, device = self.plan(len(ratings)), devices.resolve(self.device)
        check_shape(ratings)
        self._check_items(ratings.shape[1])
        held_out = (
            None if validation is None else in_rows_of(as_ratings(validation), ratings.user_ids, ratings.item_ids)
        )
        if held_out is None and self.validation_fraction:
            ratings, held_out = ratings.split(self.validation_fraction, plan.seed)
            check_shape(ratings)
        with devices.reported(device, "Training"):
            self._fit(ratings, held_out, plan, device, progress or (lambda *news: None), checkpoint, resume)
        return self

    def plan(self, n_ratings=0):
        """The checked parameters as fitting.Plan for so many ratings; raises ParameterError for one out of bounds."""
        from gpukit.factorization.run import Plan
        from gpukit.factorization.solvers.sgd.rates import default_epochs, defaults

        check_integer("n_factors", self.n_factors, 1, MOST_FACTORS)
        kind = check_choice("rates", self.rates, RATES)
        check_choice("precision", self.precision, PRECISIONS)
        usual = defaults(kind, n_ratings)
        rate = usual["learning_rate"] if self.learning_rate is None else self.learning_rate
        decay = usual["regularization"] if self.regularization is None else self.regularization
        seed = 0 if self.random_state is None else check_integer("random_state", self.random_state, 0, 2**63 - 1)
        patience = check_integer("early_stopping", self.early_stopping, 0)
        check_real("validation_fraction", self.validation_fraction, 0.0, 0.9)
        epochs = default_epochs(n_ratings) if self.n_epochs is None else check_integer("n_epochs", self.n_epochs, 1)
        return Plan(
            epochs,
            kind,
            check_real("learning_rate", rate, 0.0, strict=True),
            check_real("regularization", decay, 0.0),
            usual["annealing"],
            self._biases(),
            patience,
            seed,
        )

    def _biases(self):
        return True

    def _slots(self):
        return 0

    def _check_items(self, n_items):
        """Raise for a parameter that does not fit so many items."""

    def _fit(self, ratings, held_out, plan, device, progress, checkpoint, resume):
        from gpukit.factorization import run as runs
        from gpukit.factorization.model import saving

        run = self.prepare(ratings, device, plan, progress, checkpoint if resume else None)
        self.history_ = run.history
        data = saving.fingerprint(ratings) if checkpoint is not None else None
        with run.clock("training"):
            judge = runs.Judge(run.session, held_out, run.scale, plan.patience, run.history, run.best)
            checkpoints = runs.Checkpoints(checkpoint, self, data)
            state = runs.run(run.session, plan, judge, checkpoints, run.history, run.start, progress)
        self.timings_, self.device_ = run.clock.seconds, str(device)
        self.set_fitted(state, run.session.history, run.scale, ratings.user_ids, ratings.item_ids)

    def prepare(self, ratings, device, plan=None, progress=lambda *news: None, resume_from=None):
        """fitting.Run of a Ratings on a device: everything that training needs, before the first epoch.

        resume_from: a checkpoint to start from instead of the beginning. Raises DeviceMemoryError when a GPU is too
        small.
        """
        from gpukit.factorization import prepare as preparation
        from gpukit.factorization import run as runs
        from gpukit.factorization.model import saving
        from gpukit.factorization.model.state import start_state
        from gpukit.factorization.solvers.sgd import schedule

        plan = plan or self.plan(len(ratings))
        clock, steps = runs.Clock(), runs.engine(device)
        half = is_half(self.precision, device.is_cuda, len(ratings))
        layout = steps.layout(self.n_factors, self._slots(), half)
        runs.check_memory(device, len(ratings), major_first(self.walk, *ratings.shape), layout)
        progress("preparing", 0, 1, {})
        with clock("prepare"):
            scale, z = preparation.standardized(ratings)
            rated, place = preparation.history_of(ratings, scale)
            side = preparation.group_by(self.walk, ratings, z, plan.seed, self.deterministic)
            baseline = preparation.z_baseline(ratings, z)
        with clock("neighbours"):
            neighbors = self._find_neighbors(ratings, steps, progress)
        if resume_from is not None:
            state, start, history, best = saving.load_checkpoint(resume_from, self, saving.fingerprint(ratings))
        else:
            state = start_state(ratings.shape, self.n_factors, neighbors, baseline, plan.biases, plan.seed)
            start, history, best = 0, [], None
        with clock("prepare"):
            session = steps.Session(state, layout, self.walk, rated)
            workers = schedule.worker_count(len(ratings), steps.most_workers(layout))
            tables, workers = runs.chunk_tables(side, workers, plan)
            query = preparation.training_query(rated, place, side) if layout.slots else None
            session.train_on(side, query, tables, workers)
        return runs.Run(session, plan, clock, scale, start, history, best)

    def _find_neighbors(self, ratings, steps, progress):
        return np.zeros((ratings.shape[1], 0), np.int32)


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

    After fit: user_ids_, item_ids_; history_ (a dict an epoch: epoch, seconds, rmse or None); timings_ (seconds:
    prepare, neighbours, training); device_; mean_; scale_ (lowest, highest rating); neighbors_ (N, 0); state_
    (state.State); rated_ (training.History); z_scale_ (training.Scale); n_features_in_ = N.
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

    def _biases(self):
        return bool(self.biases)


class LSHMF(Factorization):
    """CULSH-MF (Algorithm 3): matrix factorization with nonlinear neighbourhoods found by simLSH, Eq. (1).

    Parameters: n_factors F, 1 to 1024; n_neighbors K, 1 to 1024 and less than the items; n_epochs; lsh_p coarse by
    lsh_q fine hashings of lsh_bits bits; lsh_psi, the exponent of Psi(r) = r**psi (1, 2 or 4); search 'hamming',
    'buckets' (the paper's) or 'random' (its control group); rates, learning_rate, regularization, validation_fraction,
    early_stopping, deterministic, precision (of the users' factors), device, random_state as in MatrixFactorization.

    After fit: as MatrixFactorization, with neighbors_ (N, K) int32 item rows and random_share_ of the neighbour slots.
    """

    walk = "items"

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
        from gpukit.neighbors.plan import check_items

        check_items(self._hashing().settings(), n_items)

    def plan(self, n_ratings=0):
        """The checked parameters as fitting.Plan for so many ratings; raises ParameterError for one out of bounds."""
        check_choice("search", self.search, (*SEARCHES, "random"))
        self._hashing().settings()
        return super().plan(n_ratings)

    def _hashing(self):
        from gpukit.neighbors import SimLSH

        search = "hamming" if self.search == "random" else self.search
        return SimLSH(
            self.n_neighbors,
            self.lsh_p,
            self.lsh_q,
            self.lsh_bits,
            self.lsh_psi,
            search,
            self.device,
            self.random_state,
        )

    def _find_neighbors(self, ratings, steps, progress):
        from gpukit.neighbors.columns import columns
        from gpukit.neighbors.estimator import random_neighbors, warn_if_random

        progress("neighbours", 0, 1, {})
        settings = self._hashing().settings()
        if self.search == "random":
            self.random_share_ = 1.0
            return random_neighbors(ratings.shape[1], self.n_neighbors, settings.seed)
        neighbors, random_slots = steps.find_neighbors(columns(ratings), settings)
        self.random_share_ = random_slots / neighbors.size
        warn_if_random(self.random_share_, settings)
        progress("neighbours", 1, 1, {})
        return neighbors


def check_checkpoint(path, resume):
    """ParameterError for resume without a file, DataError when the file could not be written later on."""
    from gpukit.persist import check_writable

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
