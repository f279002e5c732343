"""A training set on its device: everything that is computed once for all C."""

import contextlib
import warnings

import numpy as np

from gpukit import device as devices
from gpukit.device.engine import engine
from gpukit.errors import DataError
from gpukit.parallel import ALONE
from gpukit.parallel.current_team import check_distinct_gpus
from gpukit.ranking import feature_map, scaling
from gpukit.ranking.pair_sums import make_pair_sums
from gpukit.ranking.problem import check_gains, make_problem
from gpukit.ranking.shared import SharedPairSums, part_of_rank
from gpukit.ranking.solvers.choose import choose_device, choose_solver, stored_values
from gpukit.ranking.solvers.hard_margins import find_minimum
from gpukit.ranking.solvers.objective import Objective, Preconditioner, Size
from gpukit.timing import Clock


class Run:
    """Problem, session and preconditioner of one training set; `train` trains for one C after the other.

    settings (estimator.Settings), solver, device, scaling (scaling.Scaling), names of the columns or None; constant
    (k,): the columns with one value within each query; clock: timing.Clock; team: the
    parallel.Team whose ranks divide the queries, each having all of the inputs.
    """

    def __init__(self, inputs, settings, team=ALONE):
        vectors = 10  # bytes of features that conjugate gradients have at once
        count = inputs.X.shape[1]
        devices.require_host(vectors * 8 * count, f"Training on {inputs.X.shape[0]:,} documents x {count:,} features")
        self.settings, self.unit_norm, self.team = settings, None, team
        self.clock = Clock({"choose": settings.chosen.seconds} if settings.chosen else {})
        self.names, self.n_features = inputs.names, count
        stored = stored_values(inputs.X)
        is_mapped = settings.features != "linear"
        self.device = choose_device(settings.solver, settings.device, stored, settings.features)
        check_distinct_gpus(team, self.device)
        with self.stage("prepare"):
            queries = inputs.queries
            X = feature_map.to_dense(inputs.X, settings.features, self.names) if is_mapped else inputs.X
            self.constant, span = scaling.constant_features(X, queries.offsets), scaling.ranges(X)
            self.scaling = scaling.fit(settings.scale, X, queries.offsets, span)
            # a GPU scales its copy of X itself, so that the host needs none
            later = self.device.is_cuda and settings.features == "fourier" and self.scaling.kind in scaling.FITTED
            self.later = self.scaling if later else scaling.UNSCALED
            if is_mapped and self.later is scaling.UNSCALED:
                X = self.scaling.apply(X)
            self.map = feature_map.fit(settings.features, X, queries.offsets, self.later)
            n = feature_map.width(self.map, count)
            widest = 4096 if is_mapped else 1024  # features of a full matrix; passes over mapped ones cost more
            preconditioned = settings.precondition and n <= widest
            gains = check_gains(inputs.y) if settings.pair_weights == "gain" else None
            whole = make_problem(X, inputs.y, queries.offsets, inputs.query_weights, inputs.weights, gains)
            self.n_pairs, self.n_queries = whole.n_pairs, len(whole.weights)
            planes = whole.tree.planes
            self.solver = choose_solver(settings.solver, self.device, planes, preconditioned, whole.is_weighted)
            self.problem = self._scaled(part_of_rank(whole, inputs.y, team))
            pairs, largest = whole.weighted_pairs, self._largest(span)
            if not pairs:
                raise DataError("The weights of all pairs are 0, so there is nothing to learn from. Check the weights.")
            del whole, X  # the unscaled data are not kept
            self.session = self._session(n)
        with self.stage("precondition"):
            if not team.rank:
                self.preconditioner = Preconditioner(self.session.gram(diagonal=not preconditioned))
                self.size = self._size(pairs, largest)

    def _scaled(self, problem):
        """A Problem with its features scaled, or, if they are, mapped; None stays None."""
        if problem is None:
            return None
        if self.map is None:
            return problem._replace(X=self.scaling.apply(problem.X))
        return problem._replace(X=feature_map.Expanded(problem.X, self.map, problem.tree.offsets, self.later))

    def _size(self, pairs, largest):
        """Return the Size of all documents. Only solver scan takes sums of scores that are centred in their query."""
        spread = np.sqrt(self.preconditioner.variances)
        if self.solver != "scan":
            spread = np.maximum(spread, np.sqrt(2.0 * pairs) * largest)
        return Size(pairs, largest, spread, self.constant)

    def _largest(self, span):
        """Return the largest magnitude of each scaled feature, and of the mapped ones, (n,); span: of `ranges`."""
        low, high = span
        shift, factor = (0.0, 1.0) if self.scaling.kind == "none" else (self.scaling.low, self.scaling.factor)
        largest = np.maximum(np.abs(low - shift), np.abs(high - shift)) * factor
        return largest if self.map is None else np.append(largest, self.map.largest)

    def _session(self, n):
        """Return the session of the problem on this device; for a team, of the rank's part, with n features."""
        session = None
        if self.problem is not None:
            self.problem = fit_memory(self.device, self.problem)
            session = make_pair_sums(self.problem, self.solver, engine(self.device, "gpukit.ranking"))
        return session if self.team.size == 1 else SharedPairSums(session, n, self.team)

    @contextlib.contextmanager
    def stage(self, name):
        """Measure the time of a stage."""
        with self.clock(name), devices.translate_memory_errors(self.device, "Training"):
            yield

    def train(self, C, w=None, progress=None):
        """Return the tron.Result for one C from w (None: 0); all ranks of a team get that of rank 0.

        It stops at eps times the gradient norm at w = 0, regardless of the start.
        """
        if self.team.rank:
            with self.stage("training"):
                result = self.session.serve()
            self.unit_norm = result.start_norm / C
            return result
        objective = Objective(self.session, C, self.preconditioner, self.size)
        w = np.zeros(self.session.n) if w is None else w
        start_norm = None if self.unit_norm is None else C * self.unit_norm
        with self.stage("training"):
            settings, news = self.settings, progress or (lambda *news: None)
            result = find_minimum(objective, w, settings.eps, settings.max_iter, start_norm, news, settings.loose)
        self.unit_norm = result.start_norm / C
        return result if self.team.size == 1 else self.session.finish(result)

    def converged(self, result):
        """Return True if w is certified to be a minimum, and max_iter did not end the training before eps."""
        reached = result.stopped != "max_iter" or result.gradient <= self.settings.eps * result.start_norm
        return result.is_minimum and reached

    def stop_reason(self, result):
        """Return 'converged', 'eps', 'rounding' or 'max_iter'; see RankSVM.stop_reason_."""
        if self.converged(result):
            return "converged"
        return {"converged": "eps", "settled": "rounding"}.get(result.stopped, result.stopped)

    def warnings(self, C, result):
        """Return the warnings of a training that did not converge or has zero weights, a list of texts."""
        reason, texts = self.stop_reason(result), []
        if reason == "max_iter":
            share = result.gradient / (result.start_norm or 1.0)
            texts.append(
                f"RankSVM stopped after max_iter={self.settings.max_iter} Newton steps with C={C:g}: the gradient is "
                f"{share:.2g} of the one at w = 0 (eps={self.settings.eps:g}), and the minimum is not certified. Raise "
                "max_iter, scale the features, or choose a smaller C."
            )
        elif reason == "rounding":
            share = result.gap / abs(result.objective)
            known = f"the objective may be {share:.2g} of itself above" if np.isfinite(share) else "nothing certifies"
            texts.append(
                f"RankSVM stopped with C={C:g} because rounding hides further progress: {known} the minimum. Scale the "
                "features (scale='deviation'), or choose a smaller C."
            )
        if len(self.constant) == len(result.w) or not result.w.any():
            why = f"C={C:g} or the features are too small to move them"
            if reason == "eps":
                why = f"eps={self.settings.eps:g} ends the training where it starts"
            if len(self.constant) == len(result.w):
                why = f"no feature differs within a query ({named_columns(self.constant, self.names)})"
            texts.append(f"All weights are 0: {why}. The model gives all documents of a query the same score.")
        return texts

    def steps(self, result):
        """Return the steps of a training: {"newton", "cg"}."""
        return {"newton": len(result.history), "cg": sum(step["cg_steps"] for step in result.history)}


def named_columns(columns, names, most=10):
    """Return a list of columns as text: their names, or their numbers from 1; at most `most` of them."""
    if hasattr(names, "columns"):  # inputs.Occurring
        columns, names = names.columns[columns], None
    known = [f"feature {k + 1}" if names is None else str(names[k]) for k in columns[:most].tolist()]
    return ", ".join(known) + (f" and {len(columns) - most:,} more" if len(columns) > most else "")


def fit_memory(device, problem):
    """Return a Problem that fits in a GPU's memory: if it is too large, its features stay on the host, with a warning.

    Raises DeviceMemoryError if tables and a block exceed the memory, or features that are on the GPU.
    """
    if not device.is_cuda:
        return problem
    (l, n), steps, streamed = problem.X.shape, engine(device, "gpukit.ranking"), ""
    what = f"Training on {l:,} documents x {n:,} features"
    if not devices.has_memory(steps.memory_needed(problem)):
        problem, streamed = steps.streamed(problem, devices.spare_memory()), ", streamed from main memory,"
    devices.require_memory(device, steps.memory_needed(problem), what + streamed)
    if streamed:
        warnings.warn(
            f"The features do not fit in GPU memory: {problem.X.travelling / 1e9:.3g} GB stream from main memory in "
            "each pass.",
            UserWarning,
            stacklevel=2,
        )
    return problem
