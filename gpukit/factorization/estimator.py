"""MatrixFactorization (CUSGD++) and LSHMF (CULSH-MF), with scikit-learn's conventions."""

import numpy as np

from gpukit import device as devices
from gpukit.errors import DataError, ParameterError
from gpukit.factorization import settings
from gpukit.factorization.answers.answering import Answering
from gpukit.factorization.implicit.feedback import judges_of, resolved, warn_of_counts
from gpukit.factorization.serve import in_rows_of
from gpukit.factorization.update.updating import Updating
from gpukit.neighbors.columns import columns_of
from gpukit.neighbors.estimator import warn_if_random
from gpukit.parallel import ALONE
from gpukit.persist import check_writable, save_arrays
from gpukit.ratings.orders.resident import ratings_where


class Factorization(Answering, Updating):
    """What both models share; not for use by itself."""

    walk = "users"
    _transient = (*Answering._transient, "_ended")

    def fit(
        self, X, y=None, *, sample_weight=None, validation=None, progress=None, checkpoint=None, resume=False, team=None
    ):
        """Learn from ratings.

        X: Ratings, users x items (sparse, or dense with NaN), a DataFrame of triples; or, with y (n,) their ratings, X
        of user and item ids: an (n, 2) array, a DataFrame, a tuple (users, items). With a matrix y is ignored. Pandas'
        X and y are matched by their labels. Arrays on a GPU, of integer ids and of ratings, are read there if it is the
        GPU that trains, and copied to the host where something needs them there: more than 254 different ratings,
        clicks, sample_weight, validation_fraction, what is left open and has to be chosen, checkpoints, several ranks.
        sample_weight (n,): how much each rating counts (of a matrix, each user's), in place of the weights that Ratings
        may have; 0: as if it were not there (weights.py). validation: ratings to judge every epoch by (instead of
        validation_fraction), as X without y. progress: called as progress(stage, done, total, info). checkpoint: a file
        that the state of training is written to every minute and on Ctrl-C; resume: go on from it. team: a
        parallel.Team, whose ranks all call this with the same arguments and all get the model
        (gpukit.factorization.shared says what works so). Raises ParameterError, DataError, DeviceError,
        DeviceMemoryError, ModelError (a checkpoint that does not fit).
        """
        check_checkpoint(checkpoint, resume)
        given = {"sample_weight": sample_weight, "validation": validation, "progress": progress, "team": team}
        run = self.prepare(X, y, **given, resume_from=checkpoint if resume else None)
        return self._train(run, progress, checkpoint, team)

    def refit(self, X, y=None, *, sample_weight=None, progress=None, checkpoint=None, resume=False, team=None):
        """Return a new estimator, trained on X with the settings that the last fit of this one found.

        Nothing is chosen or held out again. Use it to train on all ratings after a model of a part was evaluated.

        Parameters
        ----------
        X, y, sample_weight, progress, team : as in fit
        checkpoint : str or path, default None; the file that fit wrote, or a new one. Until the training ends it keeps
            the checkpoint of fit next to its own, so that both can be resumed.
        resume : bool, default False; continue where the checkpoint has a state of this training, otherwise start.

        Raises ParameterError for a model that was not fitted in this process, otherwise the errors of fit.
        """
        from gpukit.factorization.model import saving

        self._check_fitted()
        if not hasattr(self, "_choice"):
            raise ParameterError("refit needs the settings that fit found, and a model file has none: call fit first.")
        check_checkpoint(checkpoint, resume)
        vars(self).pop("_serving", None)  # free the device memory that evaluation used
        devices.release(devices.resolve(self.device))
        fitted = type(self)(**self.get_params())
        before, again = vars(self).pop("_ended", None), False
        if checkpoint is not None and before is None:
            before, again = saving.load_reported(checkpoint), resume and saving.has_refit(checkpoint)
        elif checkpoint is not None and (team or ALONE).rank == 0:
            save_arrays(checkpoint, *before)
        given = {"sample_weight": sample_weight, "progress": progress, "team": team, "choice": self._choice}
        run = fitted.prepare(X, y, **given, resume_from=checkpoint if again else None)
        return fitted._train(run, progress, checkpoint, team, before)

    def _train(self, run, progress, checkpoint, team, before=None):
        """Train a run.Run to its end and keep the result; before: see run.Checkpoints."""
        from gpukit.factorization import run as runs
        from gpukit.factorization.model import saving

        progress = progress or (lambda *news: None)
        self.history_, ratings = run.history, run.ratings
        data = saving.fingerprint(ratings) if checkpoint is not None else None
        with devices.reported(run.device, "Training"), run.clock("training"):
            judge = runs.Judge(run.session, run.held_out, run.scale, run.settings.patience, run.history, run.best)
            checkpoints = runs.Checkpoints(checkpoint, self, data, run.choice, team or ALONE, before)
            work = run.session, run.training, run.settings
            state = runs.run(*work, judge, checkpoints, run.history, run.start, progress)
            state = run.complete(state, checkpoints)
        self.timings_, self.device_, self.feedback_ = run.clock.seconds, str(run.device), run.settings.feedback
        self.chosen_, self.trials_ = run.choice.facts(type(self).__name__), run.choice.trials
        self.set_fitted(state, run.session.history, run.scale, ratings.user_ids, ratings.item_ids)
        for name in ("updates_", "_seen"):
            vars(self).pop(name, None)
        self._choice, self._ended = run.choice, checkpoints.ended
        if run.seen is not None:
            self.mark_seen(run.seen)
        device = run.device
        del run, judge  # and what they keep on the device
        devices.release(device)
        return self

    def check(self, n_ratings=0, feedback=None):
        """The parameters as settings.Settings for so many ratings of a kind of feedback (None: what they speak of);
        raises ParameterError for one out of bounds."""
        return settings.check(self, n_ratings, feedback)

    def prepare(
        self,
        X,
        y=None,
        *,
        sample_weight=None,
        validation=None,
        progress=None,
        resume_from=None,
        team=None,
        choice=None,
    ):
        """run.Run: everything that training needs, before the first epoch; arguments and errors as fit.

        resume_from: a checkpoint to start from instead of the beginning. choice: the choose.chosen.Choice of another
        training to repeat; None: choose what is open.
        """
        from gpukit.factorization import weights
        from gpukit.ratings.pairs import merge_repeats, ratings_of, table_of

        self.check()
        spec = self.device if team is None or team.size == 1 else "cpu"  # ranks hand parts of the host's on
        ratings = ratings_where(X, y, spec, lambda: table_of(X, y))
        ratings = weights.counted(weights.weighted(ratings, sample_weight, X, y))
        ratings = merge_repeats(ratings, X, stacklevel=3)
        feedback, ratings = resolved(self, ratings)
        if feedback == "explicit" and choice is None:
            warn_of_counts(self, ratings)
        checked, device = self.check(len(ratings), feedback), devices.resolve(self.device)
        weights.check_solver(checked.solver, self.deterministic and device.is_cuda, ratings)
        check_shape(ratings)
        checked, seen = choice.settings if choice else settings.clamped(self, checked, ratings.shape), None
        if validation is not None:
            judges = judges_of(self, ratings_of(validation), feedback)
            held_out = in_rows_of(judges, ratings.user_ids, ratings.item_ids)
        elif choice is None and self.validation_fraction and not checked.patience:  # stopping holds out for itself
            ratings, held_out = ratings.split(self.validation_fraction, checked.seed)
            seen = held_out
            check_shape(ratings)
        else:
            held_out = None
        if feedback == "implicit":
            from gpukit.factorization.implicit import begin
        else:
            from gpukit.factorization import begin
        progress = progress or (lambda *news: None)
        given = self, ratings, held_out, device, checked, progress, resume_from
        with devices.reported(device, "Training"):
            if team is not None and team.size > 1:
                from gpukit.factorization.shared import begin
            return begin.prepare(*given, team or ALONE, choice)._replace(seen=seen)

    def find_neighbors(self, orders, steps, n_neighbors):
        """(N, n_neighbors) int32 on the host: the neighbours of items in orders, best first."""
        return np.zeros((orders.shape[1], 0), np.int32)

    def searched(self, orders, steps, n_neighbors, progress):
        """The function that waits for the neighbors (N, K) int32, whose search has begun."""
        return lambda: np.zeros((orders.shape[1], 0), np.int32)


class MatrixFactorization(Factorization):
    """CUSGD++ (Algorithm 2): r ~ mean + b_i + b_j + u_i v_j, by stochastic gradient descent over the users' rows.

    Parameters: n_factors F, 1 to 1024; n_epochs; biases: whether b_i, b_j are there; solver 'sgd' (CUSGD++, what 'auto'
    takes for ratings), 'hogwild' (cuMF_SGD's batch-Hogwild) or 'als' (alternating least squares, the same on every
    run), n_epochs, learning_rate and regularization by default the solver's own; rates (of sgd) 'adaptive' (AdaGrad,
    one sum a row) or 'paper' (Eq. 7); learning_rate, None for the rates' own (rates.defaults); regularization, in units
    of the ratings' deviation.

    n_factors, n_epochs, regularization: what is None is chosen from the data. Where there are more than 200,000
    ratings, 100 or more a user and item, and a sample of them tells of tastes, these are 32, 13 and more with the
    ratings (rates.default_epochs), and the rates' own. Else some candidates, damped biases alone among them, are tried
    on parts of the ratings held out, and the best is trained on all of them (gpukit.factorization.choose). What is
    named is obeyed; with any of them named the model has factors. More factors than users or items are as many as these
    (UserWarning).

    Clicks: feedback 'explicit' (ratings), 'implicit' (clicks: who chose what), 'auto': clicks where all ratings are
    alike, as those of pairs are; positive_from: ratings, or counts, from here on are clicks, the others nothing. Clicks
    are learned by loss 'squared' (solver 'ials', over all pairs), or by 'cross-entropy' (the paper's) and 'bpr' (solver
    'sampled', n_negatives items drawn for each click); unobserved_weight (of ials): of a pair without a click, where a
    click weighs 1; row_solver (of ials): how a row is solved for, 'cholesky' (exactly), 'gradients' (a few steps of
    conjugate gradients), 'blocks' (some factors at a time, iALS++) or 'auto' (what is fastest for F). What is None, and
    solver and loss where both are 'auto', is chosen on a click held out of each user (gpukit.factorization.implicit). A
    prediction is then a score that ranks items for a user, with no bounds.

    validation_fraction of the ratings held out to judge every epoch; early_stopping (0: never): hold
    validation_fraction (0.05, if that is 0) out, stop there after so many epochs without a better one, then train on
    all ratings for as many epochs as were best; where fit gets a validation, stop by that and keep the best;
    deterministic: the same result on every run, with any number of threads, by a schedule
    without conflicts, on a GPU in batches and single precision (hogwild: by one worker alone); precision of the items'
    factors while training: 'half' (float16, of sgd on a GPU), 'single' or 'auto' (half on a GPU from five million
    ratings on: faster, and as accurate); device 'auto', 'cpu', 'cuda', 'cuda:N'; random_state, an integer seed.

    After fit: user_ids_ (M,), item_ids_ (N,); mean_, of all ratings or, with a trend, what is predicted where nothing
    is known; user_bias_ (M,), item_bias_ (N,); user_factors_ (M, F), item_factors_ (N, F): a prediction is mean_ +
    user_bias_[i] + item_bias_[j] + user_factors_[i] @ item_factors_[j], not below or above scale_ (the lowest and
    highest rating). These are float32, in units of the ratings (factors of the root of that), and made anew at each
    use. user_baseline_ (M,), item_baseline_ (N,): the biases of the bias-only predictor, where training began. chosen_:
    a dict of what the training went by (predictor: the class, or 'damped biases', whose factors are zero; n_factors,
    n_neighbors, n_epochs, learning_rate, regularization; biases 'learned', 'held' at the baseline or 'none'; damping of
    users and items; trend, how much of a line in their numbers of ratings users and items are damped to, empty for the
    mean; share of the factors' part that is kept) and why; trials_: what was tried, a dict a candidate with its RMSE on
    ratings held out and its curve by epoch. neighbors_ (N, 0); history_ (a dict an epoch: epoch, seconds, rmse or
    None); timings_ (seconds: choosing, prepare, neighbours, training); device_; feedback_ ('explicit' or 'implicit');
    n_features_in_ = N.
    """

    def __init__(
        self,
        n_factors=None,
        n_epochs=None,
        biases=True,
        feedback="auto",
        positive_from=None,
        loss="auto",
        solver="auto",
        n_negatives=None,
        unobserved_weight=None,
        row_solver="auto",
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
        self.feedback = feedback
        self.positive_from = positive_from
        self.loss = loss
        self.solver = solver
        self.n_negatives = n_negatives
        self.unobserved_weight = unobserved_weight
        self.row_solver = row_solver
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
    """CULSH-MF (Algorithm 3): matrix factorization with nonlinear neighbourhoods, found by simLSH or else, Eq. (1).

    Parameters: n_factors F; n_neighbors K, 1 to 1024, None for 32 or, where ratings are few, what predicts best (none
    at all may; more than the other items are as many as these, with a UserWarning); n_epochs; lsh_p coarse by
    lsh_q fine hashings of lsh_bits bits; lsh_psi, the exponent of Psi(r) = r**psi (1, 2 or 4); search 'hamming',
    'buckets' (the paper's), 'exact' (its GSM) or 'random' (its control group); hash 'simlsh', 'minhash' or 'projection'
    (RP_cos): see gpukit.neighbors.SimLSH; feedback, positive_from, loss, n_negatives, unobserved_weight, row_solver;
    solver 'auto', 'sgd', for clicks also 'ials' or 'sampled'; rates, learning_rate, regularization,
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
        n_factors=None,
        n_neighbors=None,
        n_epochs=None,
        lsh_p=3,
        lsh_q=100,
        lsh_bits=8,
        lsh_psi=2,
        search="hamming",
        hash="simlsh",
        feedback="auto",
        positive_from=None,
        loss="auto",
        solver="auto",
        n_negatives=None,
        unobserved_weight=None,
        row_solver="auto",
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
        self.hash = hash
        self.feedback = feedback
        self.positive_from = positive_from
        self.loss = loss
        self.solver = solver
        self.n_negatives = n_negatives
        self.unobserved_weight = unobserved_weight
        self.row_solver = row_solver
        self.rates = rates
        self.learning_rate = learning_rate
        self.regularization = regularization
        self.validation_fraction = validation_fraction
        self.early_stopping = early_stopping
        self.deterministic = deterministic
        self.precision = precision
        self.device = device
        self.random_state = random_state

    def check(self, n_ratings=0, feedback=None):
        """The parameters as settings.Settings for so many ratings of a kind of feedback (None: what they speak of);
        raises ParameterError for one out of bounds."""
        n_neighbors = settings.known(self.n_neighbors, settings.USUAL_NEIGHBORS)
        return super().check(n_ratings, feedback)._replace(n_neighbors=self._hashing(n_neighbors).n_neighbors)

    def _hashing(self, n_neighbors):
        """The settings of the search for so many neighbours."""
        from gpukit.neighbors import SimLSH

        lsh = self.lsh_p, self.lsh_q, self.lsh_bits, self.lsh_psi
        return SimLSH(n_neighbors, *lsh, self.search, self.hash, self.device, self.random_state).check()

    def find_neighbors(self, orders, steps, n_neighbors):
        """(N, n_neighbors) int32 on the host: the neighbours of items in orders, best first."""
        found, _ = self._found(orders, steps, n_neighbors)()
        return found if isinstance(found, np.ndarray) else found.copy_to_host()

    def _found(self, orders, steps, n_neighbors):
        """The function that waits for (neighbors (N, K) int32, random slots), whose search has begun."""

        if not n_neighbors:
            return lambda: (np.zeros((orders.shape[1], 0), np.int32), 0)
        return steps.find_neighbors(columns_of(orders), self._hashing(n_neighbors))

    def searched(self, orders, steps, n_neighbors, progress):
        progress("neighbours", 0, 1, {})
        wait = self._found(orders, steps, n_neighbors)

        def found():
            neighbors, random_slots = wait()
            self.random_share_ = random_slots / max(1, neighbors.size)
            if n_neighbors:
                warn_if_random(self.random_share_, self._hashing(n_neighbors))
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
