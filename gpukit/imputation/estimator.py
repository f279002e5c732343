"""GraphImputer: missing matrices on the vertices of a graph, with scikit-learn's conventions."""

import warnings
from typing import NamedTuple

import numpy as np

from gpukit import device as devices
from gpukit.base import Estimator, check_choice, check_integer, check_real
from gpukit.errors import ParameterError
from gpukit.imputation import inputs, serve
from gpukit.imputation.centering import CENTERS
from gpukit.imputation.fitted_options import bounds
from gpukit.imputation.names import METHODS, METRICS
from gpukit.imputation.spectral.confidence import vertex_confidence
from gpukit.imputation.spectral.path import Options
from gpukit.imputation.spectral.run import Place
from gpukit.imputation.spectral.thresholds import WEIGHTS
from gpukit.parallel import ALONE
from gpukit.timing import COMPILING, compile_seconds

MOST_STEPS = 100_000  # hundreds do; more is a slip, or a file's that would keep transform busy for days


class GraphImputer(Estimator):
    """What is missing on the vertices of a graph, filled in by the method that fills in hidden values best.

    method: 'auto', or a name of names.METHODS. 'auto' hides part of what is observed as values are missing (whole
    vertices, runs of columns, single entries), has every method fill it in, the simple ones too, and takes the one that
    errs least, or a mean of several where that errs less. Where weights or center is named, 'auto' means 'spectral'.
    metric: what errors are judged by, 'absolute' (mean |error|) or 'squared' (root of the mean square).
    minimum, maximum: bounds of what is filled in (None: none, but 0 where what is observed ends there).
    The entries of a slice, row after row, are taken for a series in time where neighbouring ones are alike, or times
    are handed to fit; methods that know time serve then.

    After fit, for every method: completed_, the tensor with what was missing filled in, in its shape and dtype (of
    integers and booleans rounded, within bounds and range; each column of a frame has its own), a frame
    or an array on a GPU where fit was given one; deviation_, float64 of that shape (after load both are arrays of the
    host with a row a vertex): the
    standard deviation of the error of each filled value, 0 where observed, NaN where nothing was hidden to tell it from
    (weights named and no values hidden); an interval of 1.645 of them on
    either side has 90 % of the hidden values; coverage_ {0.5: share, 0.9: share} of hidden values within the intervals
    of that probability, {} where none were hidden; method_: the name of the method that served, or 'mix'; report_:
    [auto.judging.Row], every method's error on hidden values (name, setting, error, absolute, rms, spread over the
    folds, folds, share of the mean that serves), the least first, with a row 'mix' where a mean serves; [] where
    nothing was hidden; notes_: [text], what a user should know about the data; plan_ (auto.plan.Plan, what transform
    does; None for 'spectral' by itself); confidence_ (N,) float64, 0 to 1, how far each vertex's share of the graph's
    spectrum is determined by what is observed: no probability; vertices_ (N,), the labels in the order of confidence_
    and adjacency_, or None; basis_, place_, stages_, device_. confidence_ and basis_ are computed when they are first
    read, unless 'spectral' was tried: of all methods it alone needs the graph's Fourier basis. 'auto' tries it on
    graphs of 8,000 vertices at most, on larger ones with a basis_size.

    The method 'spectral' is convolutional imputation: the spectral slices of a tensor on a graph are taken to be of low
    rank. What is missing is estimated by thresholding the singular values of each slice of the graph Fourier transform,
    with thresholds that fall from step to step (Algorithm 1 of the graph-tensor imputation paper), accelerated; then,
    where the slices show their ranks, by projection to these, which takes the thresholds' bias away.

    Its parameters: weights, how the thresholds of slices relate: 'slice' (the paper's: each begins at the slice's
    largest singular value), 'common' (one for all), 'frequency' (in proportion to (0.05 + mu / mu_max)^exponent, mu the
    Laplacian's eigenvalue) or 'auto'; center, a mean taken off and put back: 'none', 'global', 'entry' (one for each
    of the m n entries) or 'auto'. Either 'auto' is decided on hidden data.
    decay: the factor of the thresholds from step to step (None: they end at a thousandth); iterations: steps of this
    path. tolerance: a path ends early when ||change||^2 <= tolerance ||estimate||^2. accelerate: Nesterov's momentum,
    and thresholds that wait, within the same number of steps, while the estimate still moves faster than they fall.
    rank_phase: whether ranks are fixed after the path, for rank_iterations more steps at most.
    The paper's own algorithm: weights='slice', center='none', accelerate=False, rank_phase=False.
    holdout: a share of what is observed (0.1), hidden first to find where to stop; then all is fitted, to that point.
    basis_size: how many of the smoothest eigenvectors serve as basis, an approximation (None: all). dtype: 'float32'
    or 'float64', of the computation. device: 'auto', 'cpu', 'cuda', 'cuda:N'. random_state: seed of what is hidden.

    It leaves behind, where it serves by itself: history_ (path.History: an array a quantity), holdout_history_ (the
    same of the run on hidden data, or None); ranks_ (K,) int32 of the spectral slices; rank_phase_ (see path.Fit);
    weights_, exponent_, center_, options_ (path.Options) as decided, trials_ what was tried for it (choose.Trial);
    empty ones otherwise. basis_ is a graphs.basis.Basis; place_ (spectral.run.Place: basis_, the device, fit's dtype)
    where transform works; stages_ {stage: seconds}.
    """

    _fitted_by = "completed_"

    def __init__(
        self,
        *,
        method="auto",
        metric="absolute",
        minimum=None,
        maximum=None,
        weights="auto",
        exponent=1.0,
        center="auto",
        decay=None,
        iterations=20,
        tolerance=1e-8,
        accelerate=True,
        rank_phase=True,
        rank_iterations=100,
        holdout=None,
        basis_size=None,
        dtype="float32",
        device="auto",
        random_state=0,
    ):
        self.method = method
        self.metric = metric
        self.minimum = minimum
        self.maximum = maximum
        self.weights = weights
        self.exponent = exponent
        self.center = center
        self.decay = decay
        self.iterations = iterations
        self.tolerance = tolerance
        self.accelerate = accelerate
        self.rank_phase = rank_phase
        self.rank_iterations = rank_iterations
        self.holdout = holdout
        self.basis_size = basis_size
        self.dtype = dtype
        self.device = device
        self.random_state = random_state

    def check(self):
        """The parameters as Settings; raises ParameterError for one out of bounds, before any data is read."""
        return Settings(
            self.check_method(),
            check_choice("metric", self.metric, METRICS),
            *bounds(self.minimum, self.maximum),
            self.check_weights(),
            check_real("exponent", self.exponent, 0.0),
            self.check_center(),
            self.check_options(),
            None if self.holdout is None else below_one("holdout", self.holdout),
            None if self.basis_size is None else check_integer("basis_size", self.basis_size, 1),
            np.dtype(check_choice("dtype", self.dtype, ("float32", "float64"))),
            check_integer("random_state", self.random_state, 0),
        )

    def check_method(self):
        """The method: 'spectral' for 'auto' where a parameter of that model alone is named."""
        method = check_choice("method", self.method, ("auto", *METHODS))
        named = (self.check_weights(), self.check_center()) != ("auto", "auto") or self.holdout is not None
        return "spectral" if method == "auto" and named else method

    def check_weights(self):
        """The weights, or ParameterError."""
        return check_choice("weights", self.weights, ("auto", *WEIGHTS))

    def check_center(self):
        """The centring, or ParameterError."""
        return check_choice("center", self.center, ("auto", *CENTERS))

    def check_options(self):
        """The parameters of the iterations as path.Options."""
        return Options(
            check_integer("iterations", self.iterations, 1, MOST_STEPS),
            None if self.decay is None else below_one("decay", self.decay),
            check_real("tolerance", self.tolerance, 0.0),
            bool(self.accelerate),
            bool(self.rank_phase),
            check_integer("rank_iterations", self.rank_iterations, 0, MOST_STEPS),
        )

    def fit(self, graph, tensor=None, mask=None, progress=None, times=None, team=None):
        """Estimate what is missing.

        graph: anything gpukit.graphs.adjacency.as_adjacency takes (an array, a scipy sparse matrix, networkx, edges), a
        square DataFrame, what graph_from_coordinates gives, or a GraphTensor, which brings tensor and mask; None: one
        of how alike the series are. tensor (N, m, n), (N, n) or (N,), vertex axis
        first, NaN (masked, pandas' NA) where missing; it is not changed. Or a DataFrame, or xarray's DataArray, of
        times by vertices or vertices by times, or with a line a reading (time, sensor, value): labels are matched with
        the graph's, in any order; fit(frame) alone is fit(None, frame). An array or a list alone, fit(X), is a table of
        times by sensors (T, N), or a series (T,); a Series is a table of one column. mask: (N,) or of the tensor's
        shape, bool, True = observed; with NaN too, what either of them misses is missing; pandas' are matched by label.
        An array on a GPU: completed_, deviation_ and what transform gives lie on its GPU too, as arrays of its library
        (cupy, torch, numba; of others they are numpy's). On the GPU that `device` names, method 'spectral' works on it
        where it lies (no copy on the host but of the mask and, where weights or center is 'auto', of a sample of two
        million numbers); the other methods, which the host judges, take a copy there. times: seconds or dates of the
        entries of a slice, row after row (a GraphTensor and a frame bring their own), in any order; columns are as far
        apart as they say.
        progress: called as progress(stage, done, total, info), stages "judging" (total None, info {"method", "error"}),
        "choosing" (total None, info {"weights", "error"}), "path" and "rank" (info {"change", "rank"}).
        team: a parallel.Team, whose ranks share the work of the method 'spectral' out. The data are rank 0's; what the
        others hand in is not looked at. All have the model in the end, the others as after load.
        Raises ParameterError, DataError (nothing observed, sizes or labels that do not agree, infinities, ...),
        DeviceError, DeviceMemoryError. Warns when nothing is missing: the tensor then stays as it is.
        """
        from gpukit.imputation.shared import helping

        team = team or ALONE
        if team.rank:
            return helping.help_fit(self, team)
        compiled = compile_seconds()
        run = self.prepare(graph, tensor, mask, times, team)
        if run.data.complete:
            warnings.warn("nothing is missing: the tensor is returned as it is.", stacklevel=2)
        for name, value in run.fitted(helping.heard(run.place.crew, progress)).items():
            setattr(self, name, value)
        helping.finish(run.place.crew, self)
        self.stages_[COMPILING] = compile_seconds() - compiled
        return self

    def prepare(self, graph, tensor=None, mask=None, times=None, team=ALONE):
        """run.Run: the tensor checked, for method 'spectral' the graph's basis computed or loaded; arguments and
        errors as fit."""
        from gpukit.imputation import run

        return run.prepare(self.check(), self.device, graph, tensor, mask, times, team)

    @property
    def place_(self):
        """spectral.run.Place: basis_, the device that the parameter `device` stands for, the dtype of fit."""
        self._check_fitted()
        return Place(self._basis, devices.resolve(self.device), self._dtype)

    @property
    def basis_(self):
        """graphs.basis.Basis of the graph, computed or loaded where fit did not need it.

        Raises ParameterError for a graph that is too large.
        """
        self._check_fitted()
        return self._basis.get()

    @property
    def confidence_(self):
        """(N,) float64, 0 to 1; computed with basis_."""
        self._check_fitted()
        if self._confidence is None:
            some = self._lacking.any()
            self._confidence = vertex_confidence(self._basis.get(), self._lacking) if some else 1.0 - self._lacking
        return self._confidence

    def transform(self, tensor, mask=None, times=None):
        """Another tensor on the same graph completed with what fit decided: of its form, shape and dtype.

        tensor, mask, times as fit, or a GraphTensor; slices may have another size than fit's. Vertices go by label
        where both have some, else by position. Series (N, T) whose times go on from those of fit are filled in beside
        what fit has seen: the next hour as if it had been there. Raises as fit, and NotFittedError.
        """
        self._check_fitted()
        device = self.place_.device if self.plan_ is None else None
        taken = inputs.taken_again(self, tensor, mask, times, device)
        taken.check_bounds(self._asked)
        return taken.back(taken.fit_types(serve.transform(self, taken), self._asked))

    def extend(self, tensor, mask=None, times=None, window=None):
        """The next columns of series (N, T) filled in, as transform does it, and kept beside those that are known.

        Without times they follow the last one. window: how many columns are kept, the oldest go (None: all); memory and
        time are in proportion. completed_ and deviation_ are those of all that is kept then, arrays in the order of
        vertices_ and of time. Nothing is fitted anew. Raises as transform, and DataError for matrices.
        """
        self._check_fitted()
        taken = inputs.taken_again(self, tensor, mask, times)
        taken.check_bounds(self._asked)
        new, self._held = serve.extend(self, taken, window)
        self.completed_, self.deviation_ = self._held.filled, self._held.spread
        return taken.back(taken.fit_types(new, self._asked))

    def fit_transform(self, graph, tensor=None, mask=None, progress=None, times=None):
        """completed_ after fit; arguments as fit."""
        return self.fit(graph, tensor, mask, progress, times).completed_

    def _packed(self):
        from gpukit.imputation import saving

        return saving.packed(self)

    def _unpack(self, facts, arrays):
        from gpukit.imputation import saving

        saving.unpack(self, facts, arrays)


class Settings(NamedTuple):
    """The parameters of a GraphImputer, checked."""

    method: str
    metric: str
    minimum: float | None
    maximum: float | None
    weights: str
    exponent: float
    center: str
    options: Options
    holdout: float | None
    basis_size: int | None
    dtype: np.dtype
    seed: int


def below_one(name, value):
    """value as a float, more than 0 and less than 1."""
    value = check_real(name, value, 0.0, strict=True)
    if value >= 1.0:
        raise ParameterError(f"{name} must be less than 1; got {value!r}.")
    return value
