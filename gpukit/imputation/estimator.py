"""GraphImputer: imputation of matrices on the vertices of a graph, with scikit-learn's conventions."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np

from gpukit import device as devices
from gpukit.base import Estimator, check_boolean, check_choice, check_integer, check_real
from gpukit.errors import ParameterError
from gpukit.imputation import inputs, saving, serve
from gpukit.imputation.forms import check_output, feature_names, in_container
from gpukit.imputation.options import METRICS, bounds, check_method
from gpukit.imputation.problem import CENTERS
from gpukit.imputation.spectral.path import WEIGHTS, Options
from gpukit.imputation.spectral.run import Place, missing_shares, vertex_confidence
from gpukit.parallel import ALONE
from gpukit.timing import COMPILING, compile_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpukit.graphs import GraphTensor
    from gpukit.graphs.basis import Basis
    from gpukit.imputation.auto.judging import Row
    from gpukit.imputation.auto.plan import Plan
    from gpukit.imputation.forms import Output
    from gpukit.imputation.options import Method, Metric
    from gpukit.imputation.problem import Center
    from gpukit.imputation.spectral.choose import Trial
    from gpukit.imputation.spectral.path import History, Weights
    from gpukit.parallel import Team
    from gpukit.typing import ArrayLike, DeviceLike, Float64, GraphLike, Ids, Int32, Progress, Table

MOST_STEPS = 100_000  # hundreds suffice; larger values in a model file would block transform


@dataclass(eq=False, repr=False, kw_only=True)
class GraphImputer(Estimator):
    """Impute missing values on the vertices of a graph.

    The method 'auto' hides observed values in the pattern of the missing ones (whole vertices, runs of columns, single
    entries) and compares candidates on them (auto.plan.CANDIDATES). It uses the mean of the candidates with the
    least error, corrected for skewed values. The entries of a slice, row by row, are a series in time if adjacent ones
    are similar or if times are passed to fit; methods for time series are then applicable.

    The method 'spectral' is convolutional imputation: the spectral slices of a tensor on a graph are assumed to have
    low rank. Missing values are estimated by thresholding the singular values of each slice of the graph Fourier
    transform, with thresholds that fall from step to step (Algorithm 1 of the graph-tensor imputation paper),
    accelerated. If the slices have clear ranks, projection to these ranks then removes the bias of the thresholds. The
    paper's own algorithm: weights='slice', center='none', accelerate=False, rank_phase=False.

    Parameters
    ----------
    method : str
        'auto', or a name of options.METHODS. If weights or center is set, 'auto' means 'spectral'.
    metric : {'absolute', 'squared'}
        The error to minimize: mean |error| or the root of the mean square.
    minimum, maximum : float or None
        Bounds of imputed values. None: no bound, but 0 if the observed values are bounded by 0.
    weights : {'auto', 'slice', 'common', 'frequency'}
        Of 'spectral': the relation of the slices' thresholds. 'slice' (the paper's): each starts at the slice's largest
        singular value; 'common': one for all; 'frequency': in proportion to (0.05 + mu / mu_max)^exponent, mu the
        Laplacian's eigenvalue; 'auto': selected on hidden data.
    exponent : float
        Of weights='frequency', default 1.
    center : {'auto', 'none', 'global', 'entry'}
        Of 'spectral': a mean to subtract before and add after; 'entry': one for each of the m n entries.
    decay : float or None
        Factor of the thresholds per step. None: they end at a thousandth.
    iterations : int
        Steps of the path of thresholds, default 20.
    tolerance : float
        A path ends early when ||change||^2 <= tolerance ||estimate||^2, default 1e-8.
    accelerate : bool
        Nesterov's momentum, with thresholds that wait, within the same number of steps, while the estimate still
        changes faster than they fall; default True.
    rank_phase : bool
        Fix the ranks after the path, default True.
    rank_iterations : int
        Largest number of steps with fixed ranks, default 100.
    basis_size : int or None
        Number of the smoothest eigenvectors in the basis, an approximation. None: all.
    dtype : {'float32', 'float64'}
        Of the computation.
    device : str
        'auto', 'cpu', 'cuda', 'cuda:N'.
    random_state : int or None
        Seed of hidden values. None: 0.

    Attributes
    ----------
    completed_ : array or frame
        The tensor with missing values filled in, in its shape and dtype (integers and booleans are rounded, within
        bounds and range; each column of a frame has its own dtype), a frame or GPU array if fit got one. After load a
        host array with a row per vertex.
    deviation_ : float64
        Of that shape: the standard deviation of each filled value's error, 0 where observed, NaN if no values were
        hidden to estimate it (weights set, nothing hidden). An interval of 1.645 deviations on either side contains 90
        % of hidden values.
    coverage_ : dict
        {0.5: share, 0.9: share} of hidden values within the intervals of that probability, {} without hidden values.
    method_ : str
        Name of the method used, or 'mix'.
    report_ : list of auto.judging.Row
        Each candidate's error on hidden values (name, setting, error, absolute, rms, spread over the folds, folds,
        share of the mean), least first, with a row 'mix' for a mean; [] without hidden values.
    notes_ : list of str
        Messages about the data.
    plan_ : auto.plan.Plan or None
        Plan of transform; None for 'spectral' alone.
    confidence_ : (N,) float64
        0 to 1, how well the observed values determine each vertex's share of the graph's spectrum; not a probability.
        It and basis_ are computed on first access unless 'spectral' was tried, the only method that needs the graph's
        Fourier basis. 'auto' tries it on graphs of at most 8,000 vertices, on larger ones with a basis_size.
    vertices_ : (N,) or None
        The labels in the order of confidence_ and adjacency_.
    basis_ : graphs.basis.Basis
    place_ : spectral.run.Place
        basis_, the device, fit's dtype, for transform.
    stages_ : dict
        Seconds by stage.
    device_ : str
    history_ : path.History
        Of 'spectral': an array per quantity.
    ranks_ : (K,) int32
        Of 'spectral': ranks of the spectral slices.
    rank_phase_, weights_, exponent_, center_, options_, trials_
        Of 'spectral': as selected (path.Fit, path.Options), and the trials of the selection (choose.Trial). Trials,
        ranks_ and histories are empty if another method was used, and after load.

    Examples
    --------
    >>> from gpukit import GraphImputer, synth_graph
    >>> data = synth_graph("random", vertices=40, shape=(6, 5), rank=1, missing=0.2, seed=0)
    >>> model = GraphImputer(method="spectral").fit(data)
    >>> model.completed_.shape
    (40, 6, 5)
    """

    method: Literal["auto"] | Method = "auto"
    metric: Metric = "absolute"
    minimum: float | None = None
    maximum: float | None = None
    weights: Literal["auto"] | Weights = "auto"
    exponent: float = 1.0
    center: Literal["auto"] | Center = "auto"
    decay: float | None = None
    iterations: int = 20
    tolerance: float = 1e-8
    accelerate: bool = True
    rank_phase: bool = True
    rank_iterations: int = 100
    basis_size: int | None = None
    dtype: Literal["float32", "float64"] = "float32"
    device: DeviceLike = "auto"
    random_state: int | None = 0

    completed_: Any = field(init=False)
    deviation_: Any = field(init=False)
    coverage_: dict[float, float] = field(init=False)
    method_: str = field(init=False)
    report_: list[Row] = field(init=False)
    notes_: list[str] = field(init=False)
    plan_: Plan | None = field(init=False)
    vertices_: Ids | None = field(init=False)
    adjacency_: Any = field(init=False)
    stages_: dict[str, float] = field(init=False)
    device_: str = field(init=False)
    history_: History = field(init=False)
    ranks_: Int32 = field(init=False)
    rank_phase_: str = field(init=False)
    weights_: str = field(init=False)
    exponent_: float = field(init=False)
    center_: str = field(init=False)
    options_: Options = field(init=False)
    trials_: list[Trial] = field(init=False)

    _fitted_by = "completed_"
    _removed_parameters = ("holdout",)
    _facts = ("completed_", "method_", "coverage_", "device_")

    def check(self):
        """Return the parameters as Settings; raise ParameterError for an invalid one, before reading data."""
        method = check_method(self.method)
        weights = check_choice("weights", self.weights, ("auto", *WEIGHTS))
        center = check_choice("center", self.center, ("auto", *CENTERS))
        is_spectral = (weights, center) != ("auto", "auto")
        return Settings(
            "spectral" if method == "auto" and is_spectral else method,
            check_choice("metric", self.metric, METRICS),
            *bounds(self.minimum, self.maximum),
            weights,
            check_real("exponent", self.exponent, 0.0),
            center,
            self.check_options(),
            None if self.basis_size is None else check_integer("basis_size", self.basis_size, 1),
            np.dtype(check_choice("dtype", self.dtype, ("float32", "float64"))),
            check_integer("random_state", 0 if self.random_state is None else self.random_state, 0),
        )

    def check_options(self):
        """Return the parameters of the iterations as path.Options."""
        return Options(
            check_integer("iterations", self.iterations, 1, MOST_STEPS),
            None if self.decay is None else check_below_one("decay", self.decay),
            check_real("tolerance", self.tolerance, 0.0),
            check_boolean("accelerate", self.accelerate),
            check_boolean("rank_phase", self.rank_phase),
            check_integer("rank_iterations", self.rank_iterations, 0, MOST_STEPS),
        )

    def fit(
        self,
        graph: GraphLike | None,
        tensor: Table | None = None,
        mask: ArrayLike | None = None,
        progress: Progress | None = None,
        times: ArrayLike | None = None,
        team: Team | None = None,
    ) -> Self:
        """Estimate the missing values.

        Parameters
        ----------
        graph : graph, GraphTensor, table or None
            Anything gpukit.graphs.adjacency.as_adjacency takes (an array, a scipy sparse matrix, networkx, edges), a
            square DataFrame, the result of graph_from_coordinates, or a GraphTensor, which contains tensor and mask.
            None: a graph of similar series. fit(frame) is fit(None, frame); an array or a list alone, fit(X), is a
            table of times by sensors (T, N), or a series (T,). The y of fit(X, y), as in a Pipeline, is not used.
        tensor : (N, m, n), (N, n), (N,) or frame
            Vertex axis first, NaN (masked, pandas' NA) where missing; it is not changed. Or a DataFrame, or xarray's
            DataArray, of times by vertices or vertices by times: labels are matched with the graph's, in any order. A
            Series is a table of one column.
        mask : (N,) or the tensor's shape, bool, or None
            True = observed; values that are NaN or masked are missing; pandas' masks are matched by label.
        progress : callable or None
            Called as progress(stage, done, total, info), stages "judging" (total None, info {"method", "error"}),
            "choosing" (total None, info {"weights", "error"}), "path" and "rank" (info {"change", "rank"}).
        times : array or None
            Seconds or dates of the entries of a slice, row by row (a GraphTensor and a frame contain their own), in any
            order; they determine the distances of columns.
        team : parallel.Team or None
            Ranks that share the computation of the method 'spectral'. Rank 0's data are used; arguments of other ranks
            are ignored. All ranks have the model in the end, the others as after load.

        Returns
        -------
        self
            For an array on a GPU, which is copied to the host, completed_, deviation_ and results of transform are on
            its GPU too, as arrays of its library (cupy, torch, numba; numpy's for others).

        Raises
        ------
        ParameterError, DeviceError, DeviceMemoryError
        DataError
            No observed value, sizes or labels that do not match, infinities, ...

        Warns
        -----
        UserWarning
            Nothing is missing: the tensor is returned unchanged.

        Examples
        --------
        >>> from gpukit import GraphImputer, synth_graph
        >>> data = synth_graph("random", vertices=40, shape=(6, 5), rank=1, missing=0.2, seed=0)
        >>> GraphImputer(method="spectral").fit(data).method_
        'spectral'
        """
        from gpukit.imputation.distributed import completion

        team = team or ALONE
        if team.rank:
            return completion.help_fit(self, team)
        compiled = compile_seconds()
        run = self.prepare(graph, tensor, mask, times, team)
        if run.data.complete:
            warnings.warn("nothing is missing: the tensor is returned as it is.", stacklevel=2)
        for name, value in run.fitted(completion.wrap_progress(run.place.worker, progress)).items():
            setattr(self, name, value)
        completion.finish(run.place.worker, self)
        self.stages_[COMPILING] = compile_seconds() - compiled
        return self

    def prepare(self, graph, tensor=None, mask=None, times=None, team=ALONE):
        """Return run.Run: the validated tensor and, for method 'spectral', the graph's basis.

        Arguments and errors as fit.
        """
        from gpukit.imputation import run

        settings = self.check()
        for name in ("weights", "center"):
            if getattr(settings, name) != "auto" and settings.method != "spectral":
                raise ParameterError(
                    f"{name}={getattr(settings, name)!r} is a parameter of the method 'spectral', and "
                    f"method={settings.method!r} does not use it: leave one of them out."
                )
        return run.prepare(settings, self.device, graph, tensor, mask, times, team)

    @property
    def place_(self) -> Place:
        """spectral.run.Place: basis_, the device of the parameter `device`, the dtype of fit."""
        self._check_fitted()
        return Place(self._basis, devices.resolve(self.device), self._dtype)

    @property
    def basis_(self) -> Basis:
        """graphs.basis.Basis of the graph.

        It is computed or loaded if fit did not need it.

        Raises ParameterError for a graph that is too large.
        """
        self._check_fitted()
        return self._basis.get()

    @property
    def confidence_(self) -> Float64:
        """(N,) float64, 0 to 1; computed with basis_."""
        self._check_fitted()
        if self._confidence is None:
            lacking = missing_shares(self._held.mask)
            self._confidence = vertex_confidence(self._basis.get(), lacking) if lacking.any() else 1.0 - lacking
        return self._confidence

    def transform(
        self, tensor: GraphTensor | Table, mask: ArrayLike | None = None, times: ArrayLike | None = None
    ) -> Any:
        """Complete another tensor on the same graph with the fitted plan.

        Series (N, T) whose times continue those of fit are completed together with fit's data.

        Parameters
        ----------
        tensor : GraphTensor, array or frame
            As in fit; slices may have another size than fit's. Vertices are matched by label if both have labels, else
            by position.
        mask, times
            As in fit.

        Returns
        -------
        array or frame
            Of the form, shape and dtype of tensor.

        Raises
        ------
        NotFittedError
            And the errors of fit.

        Examples
        --------
        >>> from gpukit import GraphImputer, synth_graph
        >>> data = synth_graph("random", vertices=40, shape=(6, 5), rank=1, missing=0.2, seed=0)
        >>> model = GraphImputer(method="spectral").fit(data)
        >>> model.transform(data.tensor, data.mask).shape
        (40, 6, 5)
        """
        self._check_fitted()
        taken = inputs.take_transform_inputs(self, tensor, mask, times)
        taken.check_bounds(self._fitted_options)
        return in_container(self, taken.back(taken.fit_types(serve.transform(self, taken), self._fitted_options)))

    def extend(
        self,
        tensor: GraphTensor | Table,
        mask: ArrayLike | None = None,
        times: ArrayLike | None = None,
        window: int | None = None,
    ) -> Any:
        """Complete the next columns of series and store them; the model is not refitted.

        completed_ and deviation_ are then those of all stored columns, arrays in the order of vertices_ and of time.

        Parameters
        ----------
        tensor : GraphTensor, array (N, T) or frame
            As in transform. Without times the columns follow the last stored one; those of stored times replace them.
        mask, times
            As in fit.
        window : int or None
            Number of stored columns, the oldest are dropped (None: all); memory and time are proportional to it.

        Returns
        -------
        array or frame
            The new columns, completed.

        Raises
        ------
        DataError
            The slices are matrices, or stored times after the first new one are not among the new ones; and the errors
            of transform.

        Examples
        --------
        >>> import pandas as pd
        >>> from gpukit import GraphImputer
        >>> hours = pd.date_range("2026-01-01", periods=6, freq="h")
        >>> table = pd.DataFrame({"a": [1, 2, None, 4, 5, 6], "b": [2, 3, 4, 5, None, 7.0]}, hours)
        >>> model = GraphImputer(method="interpolation").fit(None, table[:4])
        >>> model.extend(table[4:])["a"].tolist()
        [5.0, 6.0]
        """
        self._check_fitted()
        taken = inputs.take_transform_inputs(self, tensor, mask, times)
        taken.check_bounds(self._fitted_options)
        new, self._held = serve.extend(self, taken, window)
        self.completed_, self.deviation_, self._confidence = self._held.filled, self._held.spread, None
        return taken.back(taken.fit_types(new, self._fitted_options))

    def fit_transform(
        self,
        graph: GraphLike | None,
        tensor: Table | None = None,
        mask: ArrayLike | None = None,
        progress: Progress | None = None,
        times: ArrayLike | None = None,
    ) -> Any:
        """Fit and return completed_, in the container of set_output.

        Parameters
        ----------
        graph, tensor, mask, progress, times
            As in fit.

        Returns
        -------
        array or frame

        Raises
        ------
        ParameterError, DataError, DeviceError
            As in fit.

        Examples
        --------
        >>> from gpukit import GraphImputer, synth_graph
        >>> data = synth_graph("random", vertices=40, shape=(6, 5), rank=1, missing=0.2, seed=0)
        >>> GraphImputer(method="spectral").fit_transform(data).shape
        (40, 6, 5)
        """
        return in_container(self, self.fit(graph, tensor, mask, progress, times).completed_)

    def set_output(self, *, transform: Output | None = None) -> Self:
        """Set the container of the results of transform and fit_transform.

        Until it is called, scikit-learn's set_config(transform_output=...) applies, if scikit-learn is loaded.

        Parameters
        ----------
        transform : {'pandas', 'default'} or None
            'pandas': a DataFrame for arrays of times by sensors too; 'default': the container of the input; None: no
            change.

        Returns
        -------
        self

        Raises
        ------
        ParameterError
            transform has another value.

        Examples
        --------
        >>> import numpy as np
        >>> from gpukit import GraphImputer
        >>> table = np.sin(np.arange(60.0).reshape(20, 3))
        >>> table[5, 1] = np.nan
        >>> model = GraphImputer(method="vertex-mean").set_output(transform="pandas")
        >>> type(model.fit_transform(table)).__name__
        'DataFrame'
        """
        if transform is not None:
            self._sklearn_output_config = {"transform": check_output(transform)}
        return self

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> Ids:
        """Return the names of the columns of a completed table.

        Parameters
        ----------
        input_features : list of str or None
            Names to return. None: the columns of fit's frame, or x0, x1, ...

        Returns
        -------
        (N,) str

        Raises
        ------
        DataError
            The number of names is another one.

        Examples
        --------
        >>> import pandas as pd
        >>> from gpukit import GraphImputer
        >>> hours = pd.date_range("2026-01-01", periods=6, freq="h")
        >>> table = pd.DataFrame({"a": [1, 2, None, 4, 5, 6], "b": [2, 3, 4, 5, None, 7.0]}, hours)
        >>> GraphImputer(method="interpolation").fit(None, table).get_feature_names_out().tolist()
        ['a', 'b']
        """
        self._check_fitted()
        return feature_names(self, input_features)

    def _packed(self):
        return saving.pack_model(self)

    def _unpack(self, facts, arrays):
        saving.unpack(self, facts, arrays)


class Settings(NamedTuple):
    """Validated parameters of a GraphImputer."""

    method: str
    metric: str
    minimum: float | None
    maximum: float | None
    weights: str
    exponent: float
    center: str
    options: Options
    basis_size: int | None
    dtype: np.dtype
    seed: int


def check_below_one(name, value):
    """Return value as a float, more than 0 and less than 1."""
    value = check_real(name, value, 0.0, strict=True)
    if value >= 1.0:
        raise ParameterError(f"{name} must be less than 1; got {value!r}.")
    return value
