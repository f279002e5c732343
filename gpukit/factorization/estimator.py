"""MatrixFactorization (CUSGD++) and LSHMF (CULSH-MF), with scikit-learn's conventions."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from gpukit import device as devices
from gpukit.errors import ParameterError
from gpukit.factorization import settings
from gpukit.factorization.answers.answering import Answering
from gpukit.factorization.constants import RULES
from gpukit.factorization.implicit.feedback import judges_of, resolve_feedback, warn_of_columns
from gpukit.factorization.model import parts
from gpukit.factorization.serve import in_rows_of
from gpukit.neighbors.estimator import SimLSH, warn_if_random
from gpukit.neighbors.plan import columns_of
from gpukit.parallel import ALONE
from gpukit.persist import check_writable, save_arrays
from gpukit.ratings.adopt import adopt, merge_repeats, normalize_weights, ratings_of, replace_weights
from gpukit.ratings.check import check_shape, ratings_below
from gpukit.ratings.orders.resident import ratings_where
from gpukit.ratings.parts import RatingsPart, check_same_part

if TYPE_CHECKING:
    from gpukit.factorization.model.layout import Precision
    from gpukit.factorization.settings import Feedback, Loss, NeighborSolver, Rates, RowSolver, Solver
    from gpukit.neighbors.estimator import Psi
    from gpukit.neighbors.plan import Hash, Search
    from gpukit.parallel import Team
    from gpukit.typing import ArrayLike, DaskClient, DaskFrame, DeviceLike, Float32, Path, Progress, RatingsLike

PASSING = ("updates_", "_seen", "_low", "_is_part")  # attributes of a model that the next fit drops


@dataclass(eq=False, repr=False, kw_only=True)
class Factorization(Answering):
    """Base class of both models, with their common parameters; not for direct use."""

    feedback: Feedback = "auto"
    positive_from: float | None = None
    loss: Loss = "auto"
    solver: Solver = "auto"
    n_negatives: int | None = None
    unobserved_weight: float | None = None
    row_solver: RowSolver = "auto"
    rates: Rates = "adaptive"
    learning_rate: float | None = None
    regularization: float | None = None
    validation_fraction: float = 0.0
    early_stopping: int = 0
    deterministic: bool = False
    precision: Precision = "auto"
    device: DeviceLike = "auto"
    random_state: int | None = 0
    beta: float | None = None

    history_: list[dict[str, Any]] = field(init=False)
    timings_: dict[str, float] = field(init=False)
    device_: str = field(init=False)
    feedback_: Literal["explicit", "implicit"] = field(init=False)
    chosen_: dict[str, Any] = field(init=False)
    trials_: list[dict[str, Any]] = field(init=False)
    updates_: list[dict[str, Any]] = field(init=False)

    walk = "users"
    _transient = (*Answering._transient, "_ended")

    def fit(
        self,
        X: RatingsLike | RatingsPart | DaskFrame,
        y: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        validation: RatingsLike | RatingsPart | None = None,
        progress: Progress | None = None,
        checkpoint: Path | None = None,
        resume: bool = False,
        team: Team | None = None,
        client: DaskClient | None = None,
    ) -> Self:
        """Learn from ratings.

        Parameters
        ----------
        X : Ratings, matrix of users x items (sparse, or dense with NaN), DataFrame of triples, pairs, or RatingsPart
            With client, a Dask DataFrame of triples.
            With y, X are user and item ids: an (n, 2) array, a DataFrame, a tuple (users, items). Pandas' X and y are
            matched by their labels. Arrays on a GPU, of integer ids and of ratings, are read there if that GPU trains.
            They are copied to the host for more than 254 different ratings, clicks, sample_weight, validation_fraction,
            model selection, checkpoints and several ranks.
        y : (n,) or None
            Ratings of the pairs X; ignored with a matrix.
        sample_weight : (n,) or None
            Weight of each rating (of a matrix: (M,), of each user), in place of the weights of Ratings; ratings of
            weight 0 are excluded (inputs.py).
        validation : as X without y, or None
            Ratings to judge every epoch by, in place of validation_fraction.
        progress : callable or None
            Called as progress(stage, done, total, info).
        checkpoint : str, Path or None
            File to which the state of training is written every minute and on Ctrl-C.
        resume : bool
            Continue from the checkpoint, default False.
        team : parallel.Team or None
            All ranks call this with the same arguments and all get the model; of a RatingsPart each gets that of its
            users (gpukit.factorization.shared lists what is supported).
        client : distributed.Client or None
            Train on all workers of its cluster, each with the partitions of X that it holds. Only X and y=None are
            supported with it.

        Returns
        -------
        self

        Raises
        ------
        ParameterError, DataError, DeviceError, DeviceMemoryError
        ModelError
            The checkpoint does not fit.
        TeamError
            A rank on a worker has failed or is lost.

        Examples
        --------
        >>> from gpukit import MatrixFactorization
        >>> users, items = [1, 1, 2, 3, 3], [5, 6, 5, 6, 7]
        >>> MatrixFactorization(n_factors=1, n_epochs=3).fit((users, items), [4, 3, 5, 2.5, 4.5]).user_ids_
        array([1, 2, 3])
        """
        arguments = {"sample_weight": sample_weight, "validation": validation, "progress": progress, "team": team}
        if client is not None:
            from gpukit.factorization.shared.training import fit_frame

            others = {"y": y, **arguments, "checkpoint": checkpoint, "resume": resume}
            models = fit_frame(self, X, client, others)
            for name in (*PASSING, "_choice", "_ended"):
                vars(self).pop(name, None)
            parts.join_models(self, models)
            return self
        check_checkpoint(checkpoint, resume)
        run = self.prepare(X, y, **arguments, resume_from=checkpoint if resume else None)
        return self._train(run, progress, checkpoint, team)

    def refit(
        self,
        X: RatingsLike | RatingsPart,
        y: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        progress: Progress | None = None,
        checkpoint: Path | None = None,
        resume: bool = False,
        team: Team | None = None,
    ) -> Self:
        """Return a new estimator, trained on X with the last fit's settings.

        Nothing is chosen or held out again. Use it to train on all ratings after a model of a part was evaluated.

        Parameters
        ----------
        X, y, sample_weight, progress, team
            As in fit.
        checkpoint : str, Path or None
            The file that fit wrote, or a new one. Until the training ends it keeps the checkpoint of fit next to its
            own, so that both can be resumed.
        resume : bool
            Continue where the checkpoint has a state of this training, otherwise start. Default False.

        Returns
        -------
        MatrixFactorization or LSHMF
            Of the same class.

        Raises
        ------
        ParameterError
            The model was not fitted in this process; otherwise the errors of fit.

        Examples
        --------
        >>> from gpukit import MatrixFactorization, synth_ratings
        >>> ratings = synth_ratings("ml-10m", scale=0.001)
        >>> model = MatrixFactorization(n_factors=4, n_epochs=3).fit(ratings.split(0.1, seed=0)[0])
        >>> len(model.refit(ratings).history_)
        3
        """
        from gpukit.factorization.model import saving

        self._check_fitted()
        if not hasattr(self, "_choice"):
            raise ParameterError("refit needs the settings that fit found, and a model file has none: call fit first.")
        check_checkpoint(checkpoint, resume)
        vars(self).pop("_sessions", None)  # free the device memory that evaluation used
        devices.release(devices.resolve(self.device))
        fitted = type(self)(**self.get_params())
        before, again = vars(self).pop("_ended", None), False
        if checkpoint is not None and before is None:
            parts = saving.parts_of(checkpoint) if os.path.isfile(checkpoint) else [None]
            before, again = parts[-1], resume and len(parts) > 1
        elif checkpoint is not None and (team or ALONE).rank == 0:
            save_arrays(checkpoint, *before)
        arguments = {"sample_weight": sample_weight, "progress": progress, "team": team, "choice": self._choice}
        run = fitted.prepare(X, y, **arguments, resume_from=checkpoint if again else None)
        return fitted._train(run, progress, checkpoint, team, before)

    def save(self, path: Path, team: Team | None = None) -> None:
        """Write the fitted model to a file, atomically and without pickle.

        Parameters
        ----------
        path : str or Path
            gpukit.persist describes the format.
        team : parallel.Team or None
            All ranks call this. Rank 0 writes a model of all users to one file. Of ratings in parts each writes
            the model of its users to a file of its own, next to the index at path. load reads both.

        Raises
        ------
        NotFittedError
        DataError
            The file cannot be written.
        ParameterError
            The model has the users of one rank, and there is no team.

        Examples
        --------
        >>> from gpukit import MatrixFactorization, synth_ratings
        >>> model = MatrixFactorization(n_factors=4, n_epochs=3).fit(synth_ratings("ml-10m", scale=0.001))
        >>> model.save("my.gpukit")
        """
        self._check_fitted()
        team, is_part = team or ALONE, hasattr(self, "_is_part")
        in_parts = all(team.allgather_json(is_part))  # rank 0 alone may have a model of all users
        if in_parts and team.size == 1:
            raise ParameterError(
                f"This model has {len(self.user_ids_):,} users, those of one rank. Call save(path, team=team) on all "
                "ranks."
            )
        if in_parts:
            parts.save_parts(self, path, team)
        elif team.rank == 0:
            former = parts.names_at(path)
            super().save(path)
            parts.remove_parts(path, former)
        team.barrier()

    def _train(self, run, progress, checkpoint, team, before=None):
        """Train a run.Run to its end and keep the result; before: see run.Checkpoints."""
        from gpukit.factorization import run as runs
        from gpukit.factorization.model import saving

        progress = progress or (lambda *news: None)
        self.history_, ratings = run.history, run.ratings
        data = saving.fingerprint(ratings) if checkpoint is not None else None
        with devices.translate_memory_errors(run.device, "Training"), run.clock("training"):
            judge = runs.Judge(run.session, run.held_out, run.scale, run.settings.patience, run.history, run.best)
            checkpoints = runs.Checkpoints(checkpoint, self, data, run.choice, team or ALONE, before)
            work = run.session, run.training, run.settings
            state = runs.run(*work, judge, checkpoints, run.history, run.start, progress)
            state = run.complete(state, checkpoints)
        self.timings_, self.device_, self.feedback_ = run.clock.seconds, str(run.device), run.settings.feedback
        self.chosen_, self.trials_ = run.choice.facts(type(self).__name__), run.choice.trials
        self.chosen_ |= {} if getattr(ratings, "weights", None) is None else {settings.WEIGHTED: True}
        users = ratings.user_ids if run.own_users is None else ratings.user_ids[run.own_users]
        self.set_fitted(state, run.session.history, run.scale, users, ratings.item_ids)
        for name in PASSING:
            vars(self).pop(name, None)
        if run.own_users is not None:
            self._is_part = True
        self._choice, self._ended = run.choice, checkpoints.ended
        for pairs in run.seen:
            self.mark_seen(pairs)
        if run.low is not None:
            self._mark_low(run.low)
        device = run.device
        del run, judge  # frees their device memory
        devices.release(device)
        return self

    def check(self, n_ratings=0, feedback=None):
        """Return the parameters as settings.Settings for n_ratings of a kind of feedback.

        feedback None: the kind that the parameters imply. Raises ParameterError for a parameter out of bounds.
        """
        return settings.check(self, n_ratings, feedback)

    def prepare(
        self, X, y=None, *, sample_weight=None, validation=None, progress=None, resume_from=None, team=None, choice=None
    ):
        """Return the run.Run of a training before its first epoch.

        Arguments and errors as fit. resume_from: a checkpoint to resume. choice: the settings.Choice of another
        training to repeat; None: choose what is open.
        """
        from gpukit.factorization.run import FitRequest

        self.check()
        spec = self.device if team is None or team.size == 1 else "cpu"  # ranks exchange parts of arrays on the host
        ratings = ratings_where(X, y, spec, lambda: adopt(X, y))
        if sample_weight is not None:
            ratings = replace_weights(ratings, sample_weight, X, y)
        seen = [] if ratings.weights is None or ratings.weights.all() else [ratings.take(ratings.weights == 0)]
        ratings = merge_repeats(normalize_weights(ratings), X, stacklevel=3)
        feedback, learned = resolve_feedback(self, ratings)
        low = ratings_below(ratings, self.positive_from) if feedback == "implicit" else None
        ratings = learned
        if feedback == "explicit" and choice is None:
            warn_of_columns(self, ratings)
        check_same_part(ratings, validation, team)
        checked, device = self.check(len(ratings), feedback), devices.resolve(self.device)
        settings.check_weights(checked.solver, ratings)
        check_shape(ratings)
        checked = choice.settings if choice else settings.clamp_settings(self, checked, ratings.shape)
        if validation is not None:
            of_ranks = isinstance(validation, RatingsPart)
            judges = judges_of(self, validation if of_ranks else ratings_of(validation), feedback)
            held_out = in_rows_of(judges, ratings.user_ids, ratings.item_ids)
        elif choice is None and self.validation_fraction and not checked.patience:  # patience has its own hold-out
            ratings, held_out = ratings.split(self.validation_fraction, checked.seed)
            seen.append(held_out)
            check_shape(ratings)
        else:
            held_out = None
        if team is not None and team.size > 1:
            from gpukit.factorization.shared.training import prepare
        elif feedback == "implicit":
            from gpukit.factorization.implicit.choosing import prepare
        else:
            from gpukit.factorization.run import prepare
        progress = progress or (lambda *news: None)
        arguments = self, ratings, held_out, device, checked, progress, team or ALONE, choice, resume_from
        with devices.translate_memory_errors(device, "Training"):
            return prepare(FitRequest(*arguments))._replace(seen=seen, low=low)

    def find_neighbors(self, orders, steps, n_neighbors):
        """Return the neighbours (N, n_neighbors) int32 of ratings.orders.Orders on the host, best first."""
        return np.zeros((orders.shape[1], 0), np.int32)

    def searched(self, orders, steps, n_neighbors, progress):
        """Start the search for neighbours; return the function that waits for them, (N, K) int32."""
        neighbors = np.zeros((orders.shape[1], 0), np.int32)
        return lambda: neighbors


@dataclass(eq=False, repr=False)
class MatrixFactorization(Factorization):
    """CUSGD++ (Algorithm 2): r ~ mean + b_i + b_j + u_i v_j.

    Training is stochastic gradient descent over the users' rows.

    n_factors, n_epochs and regularization that are None are chosen from the data. They are 32, 13 and more with the
    ratings (rates.default_epochs), and the default of the rates, if there are more than 200,000 ratings, 100 or more a
    user and item, and factors improve the predictions on a sample. Otherwise some candidates, damped biases among them,
    are tried on held-out parts of the ratings, and the best is trained on all of them (gpukit.factorization.choose). A
    parameter that is set is kept; if any of them is set, the model has factors. n_factors is limited by the number of
    users and of items (UserWarning).

    For clicks, open parameters, and solver and loss if both are 'auto', are chosen on held-out clicks of each user
    (gpukit.factorization.implicit). A prediction is then a score that ranks items for a user, without bounds.

    Parameters
    ----------
    n_factors : int or None
        F, 1 to 1024; None: chosen from the data.
    n_epochs : int or None
        Number of epochs; None: chosen from the data.
    biases : bool
        Include b_i and b_j, default True.
    feedback : {'auto', 'explicit', 'implicit'}
        'explicit': ratings; 'implicit': clicks; 'auto': clicks if all ratings are equal, as those of pairs are.
    positive_from : float or None
        Ratings, or counts, from here on are clicks; the others only exclude items from lists.
    loss : {'auto', 'squared', 'cross-entropy', 'bpr'}
        For clicks: 'squared' (solvers 'ials', over all pairs, and 'ease'), 'cross-entropy' (the paper's) or 'bpr' (both
        of solver 'sampled').
    solver : {'auto', 'sgd', 'hogwild', 'als', 'ials', 'ease', 'sampled'}
        For ratings: 'sgd' (CUSGD++, the choice of 'auto'), 'hogwild' (cuMF_SGD's batch-Hogwild) or 'als' (alternating
        least squares, the same on every run). For clicks: 'ials', 'ease' (weights between items) or 'sampled'.
        n_epochs, learning_rate and regularization are the solver's own by default.
    n_negatives : int or None
        Of 'sampled': items drawn for each click.
    unobserved_weight : float or None
        Of 'ials': weight of a pair without a click; a click has weight 1.
    row_solver : {'auto', 'cholesky', 'gradients'}
        Of 'ials': exact (on a GPU up to 260 factors), a few steps of conjugate gradients, or the faster for F.
    rates : {'adaptive', 'paper'}
        Of 'sgd' and 'sampled': AdaGrad with one sum per row, or Eq. 7, alpha / (1 + beta epoch^1.5).
    beta : float or None
        Of rates='paper' (None: 0.3 with 'sgd', 0.05 with 'sampled') and of 'hogwild' (None: 0.05).
    learning_rate : float or None
        None: the default of the rates (rates.defaults).
    regularization : float or None
        In units of the ratings' deviation; None: chosen from the data.
    validation_fraction : float
        Fraction of the ratings held out to judge every epoch, default 0.
    early_stopping : int
        0 (off), or the number of epochs without a better one after which training stops. It holds out
        validation_fraction (0.05, if that is 0), then trains on all ratings for the best number of epochs. If fit gets
        a validation, that is used, and the best state is kept.
    deterministic : bool
        The same result on every run, with any number of threads, by a schedule without conflicts; on a GPU in single
        precision, and many times slower ('hogwild': by a single worker). Default False.
    precision : {'auto', 'single', 'half'}
        Of one side's factors in training: 'half' (float16, 'sgd' on a GPU), 'single' or 'auto' (half on a GPU from five
        million ratings on: faster, with the same accuracy).
    device : str
        'auto', 'cpu', 'cuda', 'cuda:N'.
    random_state : int or None
        Seed; None is 0.

    Attributes
    ----------
    user_ids_ : (M,)
    item_ids_ : (N,)
    mean_ : float
        Mean of all ratings or, with a trend, the prediction for an unknown user and item.
    user_bias_ : (M,) float32
    item_bias_ : (N,) float32
    user_factors_ : (M, F) float32
    item_factors_ : (N, F) float32
        A prediction is mean_ + user_bias_[i] + item_bias_[j] + user_factors_[i] @ item_factors_[j], clipped to scale_.
        They are in units of the ratings (factors in the root of that), and computed at each access.
    scale_ : (float, float)
        The lowest and highest rating.
    user_baseline_ : (M,) float32
    item_baseline_ : (N,) float32
        Biases of the bias-only predictor, the start of training.
    chosen_ : dict
        The settings of the training and why: predictor (the class, or 'damped biases', whose factors are zero);
        n_factors, n_neighbors, n_epochs, learning_rate, regularization; biases 'learned', 'held' at the baseline or
        'none'; damping of users and items; trend, the fraction of a line in their numbers of ratings towards which
        users and items are damped, empty for the mean; share of the factors' part that is kept.
    trials_ : list of dict
        A dict for each candidate, with its RMSE on held-out ratings and its curve by epoch.
    neighbors_ : (N, 0)
    history_ : list of dict
        For each epoch: epoch, seconds, rmse or None.
    timings_ : dict
        Seconds of choosing, prepare, neighbours, training.
    device_ : str
    feedback_ : str
        'explicit' or 'implicit'.
    n_features_in_ : int
        N.

    Examples
    --------
    >>> from gpukit import MatrixFactorization, synth_ratings
    >>> train, test = synth_ratings("ml-10m", scale=0.001).split(0.1, seed=0)
    >>> model = MatrixFactorization(n_factors=4, n_epochs=3).fit(train)
    >>> sorted(model.evaluate(test))
    ['mae', 'rmse']
    """

    n_factors: int | None = None
    n_epochs: int | None = None
    biases: bool = True


@dataclass(eq=False, repr=False)
class LSHMF(Factorization):
    """CULSH-MF (Algorithm 3): matrix factorization with nonlinear neighbourhoods, Eq. (1).

    Parameters
    ----------
    n_factors : int or None
        F, 1 to 1024; None: chosen from the data, as in MatrixFactorization.
    n_neighbors : int or None
        K, 1 to 1024; None for 32 or, if ratings are few, the number that predicts best (possibly 0). It is limited by
        the number of other items (UserWarning).
    n_epochs : int or None
        Number of epochs; None: chosen from the data.
    lsh_p, lsh_q, lsh_bits : int
        lsh_p coarse by lsh_q fine hashings of lsh_bits bits, by default 3, 100 and 8.
    lsh_psi : {1, 2, 4}
        Exponent of Psi(r) = r^psi, default 2.
    search : {'hamming', 'buckets', 'exact', 'random'}
        'buckets' is the paper's, 'exact' its GSM, 'random' its control group.
    hash : {'simlsh', 'minhash', 'projection'}
        'projection' is RP_cos; see gpukit.neighbors.SimLSH.
    feedback, positive_from, loss, n_negatives, unobserved_weight, row_solver, device, random_state
        As in MatrixFactorization.
    solver : {'auto', 'sgd', 'ials', 'ease', 'sampled'}
        'sgd' for ratings, the others for clicks.
    rates, beta, learning_rate, regularization, validation_fraction, early_stopping, deterministic, precision
        As in MatrixFactorization.
    influence_rate : float or None
        alpha_w = alpha_c of Table 5; None: 0.02 (clicks: 0.05), with rates='paper' 0.057 times learning_rate.
    influence_regularization : float or None
        lambda_w = lambda_c of Table 5; None: 0.002, for clicks with rates='paper' regularization.

    Attributes
    ----------
    neighbors_ : (N, K) int32
        Item rows.
    random_share_ : float
        Fraction of the neighbour slots that are random.
    explicit_influences_, implicit_influences_ : (N, K) float32
        w and c of Eq. (1). A prediction has two more terms. The first is the sum of (r_ik - baseline_ik) w_jk over the
        k of neighbors_[j] that user i has rated; the second is the sum of c_jk over those that i has not rated. Each is
        divided by the root of its number of neighbours. baseline_ik = mean_ + user_baseline_[i] + item_baseline_[k]. w
        has no unit, c is in units of the ratings.

    All others are those of MatrixFactorization.

    Examples
    --------
    >>> from gpukit import LSHMF, synth_ratings
    >>> model = LSHMF(n_factors=4, n_neighbors=5, n_epochs=3).fit(synth_ratings("ml-10m", scale=0.001))
    >>> model.neighbors_.shape[1]
    5
    """

    n_factors: int | None = None
    n_neighbors: int | None = None
    n_epochs: int | None = None
    lsh_p: int = 3
    lsh_q: int = 100
    lsh_bits: int = 8
    lsh_psi: Psi = 2
    search: Search = "hamming"
    hash: Hash = "simlsh"

    solver: NeighborSolver = field(default="auto", kw_only=True)
    influence_rate: float | None = field(default=None, kw_only=True)
    influence_regularization: float | None = field(default=None, kw_only=True)

    random_share_: float = field(init=False)

    walk = "items"

    @property
    def explicit_influences_(self) -> Float32:
        """(N, K) float32, w of Eq. (1)."""
        return self._of_state("influence")[:, 0].copy()

    @property
    def implicit_influences_(self) -> Float32:
        """(N, K) float32, c of Eq. (1), in units of the ratings."""
        return self._of_state("influence")[:, 1] * np.float32(self._scale.deviation)

    def check(self, n_ratings=0, feedback=None):
        """Return the parameters as settings.Settings; arguments and errors as in MatrixFactorization."""
        n_neighbors = settings.value_or_default(self.n_neighbors, RULES.usual_neighbors)
        return super().check(n_ratings, feedback)._replace(n_neighbors=self._hashing(n_neighbors).n_neighbors)

    def _hashing(self, n_neighbors):
        """Return the settings of the search for n_neighbors."""
        lsh = self.lsh_p, self.lsh_q, self.lsh_bits, self.lsh_psi
        return SimLSH(n_neighbors, *lsh, self.search, self.hash, self.device, self.random_state).check("lsh_")

    def find_neighbors(self, orders, steps, n_neighbors):
        """Return the neighbours (N, n_neighbors) int32 of ratings.orders.Orders on the host, best first."""
        result, _ = self._found(orders, steps, n_neighbors)()
        return result if isinstance(result, np.ndarray) else result.copy_to_host()

    def _found(self, orders, steps, n_neighbors):
        """Start the search; return the function that waits for (neighbors (N, K) int32, number of random slots)."""
        if not n_neighbors:
            none = np.zeros((orders.shape[1], 0), np.int32), 0
            return lambda: none
        return steps.find_neighbors(columns_of(orders), self._hashing(n_neighbors))

    def searched(self, orders, steps, n_neighbors, progress):
        progress("neighbours", 0, 1, {})
        wait = self._found(orders, steps, n_neighbors)

        def wait_for_neighbors():
            neighbors, random_slots = wait()
            self.random_share_ = random_slots / max(1, neighbors.size)
            if n_neighbors:
                warn_if_random(self.random_share_, self._hashing(n_neighbors))
            progress("neighbours", 1, 1, {})
            return neighbors

        return wait_for_neighbors


def check_checkpoint(path, resume):
    """Raise ParameterError for resume without a file, DataError for a file that cannot be written."""
    if path is not None:
        check_writable(path)
    elif resume:
        raise ParameterError("resume=True needs checkpoint=, the file to go on from.")
