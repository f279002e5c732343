"""RankSVM: linear ranking with the squared hinge loss of all preference pairs, with scikit-learn's conventions."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, get_args

import numpy as np

from gpukit.base import Estimator, check_boolean, check_choice, check_integer, check_real
from gpukit.errors import DataError
from gpukit.parallel import ALONE
from gpukit.ranking import inputs
from gpukit.ranking.solvers import choose

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gpukit.evaluation.ranking import NdcgKind, Ties
    from gpukit.parallel import Team
    from gpukit.ranking.feature_map import Fourier, Thresholds
    from gpukit.ranking.path import RankingMetric
    from gpukit.ranking.scaling import Scaling
    from gpukit.ranking.solvers.choose import Solver
    from gpukit.typing import ArrayLike, DeviceLike, DocumentsLike, Float64, Ids, Int32, Int64, Path, Progress

Scale = Literal["auto", "none", "minmax", "deviation"]
Features = Literal["auto", "linear", "thresholds", "fourier"]
PairWeights = Literal["equal", "gain"]


class Settings(NamedTuple):
    """Validated parameters of a RankSVM."""

    C: float | str
    solver: str
    eps: float
    max_iter: int
    scale: str
    device: object
    precondition: bool
    features: str
    pair_weights: str = "equal"
    chosen: object = None  # selection.Choice if C was "auto"
    loose: bool = False  # for trials, whose minimum is not certified


@dataclass(eq=False, repr=False, kw_only=True)
class RankSVM(Estimator):
    """Linear RankSVM with L2 loss (Eq. 1): f(w) = w'w / 2 + C sum over pairs of max(0, 1 - w'(x_i - x_j))^2.

    The pairs are all (i, j) of one query with relevance y_i > y_j. C is per pair and is not divided by anything:
    SVMrank divides by the number of queries, its -l 2 by the pairs of each query too; dlib divides by the number of
    pairs. The weight of a query multiplies C for its pairs. There is no intercept, because it would cancel.

    Parameters
    ----------
    C : float > 0, or 'auto'
        'auto': 1, or a value that is better on held-out queries (ranking.selection).
    solver : {'auto', 'scan', 'p-swx', 'dcm', 'ost'}
        'p-swx' is the paper's; 'dcm' and 'ost' run on the CPU.
    eps : float > 0
        Stop at ||gradient|| <= eps ||gradient at w = 0|| with f certified to be within eps / 10 of the minimum,
        relatively. Default 1e-5.
    max_iter : int
        Maximum number of Newton steps, default 200.
    scale : {'auto', 'none', 'minmax', 'deviation'}
        Scaling of the features (gpukit.ranking.scaling). 'auto': chosen with C, and 'none' with an explicit C.
    device : {'auto', 'cpu', 'cuda', 'cuda:N'}
        'auto' uses the CPU for small problems.
    precondition : bool
        True: conjugate gradients with the covariance within queries (up to 1024 features). False, or more features:
        with its diagonal. Default True.
    features : {'linear', 'thresholds', 'fourier', 'auto'}
        'thresholds': also steps at up to eight values of each feature. 'fourier': also random Fourier features
        (gpukit.ranking.feature_map). On a GPU both need cupy, and compute features in X's type; a sparse X has at most
        4096 columns. 'auto': chosen with C, and 'linear' with an explicit C or a requested GPU without cupy.
    pair_weights : {'equal', 'gain'}
        'gain': the loss of a pair is multiplied by 2^y_i - 2^y_j, the difference of NDCG's gains; its discounts are not
        used, because they depend on the ranks of all documents.

    Attributes
    ----------
    coef_ : (n,) float64
        Weights of the scaled features, then those of the map. A sparse X of more than 2^20 columns is trained on the
        columns with entries: coef_ and columns_ (k,) int64 are of these.
    C_, solver_, device_, scaling_
        The values in use.
    feature_map_ : feature_map.Thresholds, feature_map.Fourier or None
        None if features is 'linear'.
    objective_, gradient_norm_
        f and ||gradient||.
    n_pairs_, n_queries_, n_features_in_, feature_names_in_
        The last one if X has names.
    n_iter_, n_cg_
        Numbers of Newton steps and of conjugate gradient steps.
    stop_reason_ : str
        'converged' (f is certified to be within 1e-6 of the minimum, relatively), 'eps' (within eps / 10, which is
        more), 'rounding' (float64 cannot certify more) or 'max_iter'.
    converged_ : bool
        True for 'converged'.
    history_ : list of dict
        A dict per Newton step: f, gradient, cg_steps, radius, and C for steps with a smaller C (docs/ranking.md).
    timings_ : dict
        Seconds: choose, prepare, precondition, training, compiling.
    chosen_, trials_
        If C was 'auto' and could be chosen: features, scale, C, the metric's name, its held-out value for them and for
        C = 1, the gain of the best trial and its standard error (None for one query); and a dict per trial.
    evals_result_ : dict
        {"validation_0": {metric: value}, ...} of eval_set.
    path_, metric_
        After fit_path.

    Notes
    -----
    With scikit-learn's metadata routing (sklearn.set_config(enable_metadata_routing=True)), fit requests qid,
    query_weight and sample_weight, score qid and sample_weight, and predict qid, so GridSearchCV and cross_val_score
    pass them. GroupKFold with groups=qid keeps a query together.

    Examples
    --------
    >>> import numpy as np
    >>> from gpukit import RankSVM
    >>> X, y, qid = np.array([[1.0, 0.0], [0.2, 1.0], [0.9, 0.3], [0.1, 0.1]]), [2, 0, 1, 0], [7, 7, 8, 8]
    >>> model = RankSVM(C=1.0).fit(X, y, qid)
    >>> int(model.predict(X).argmax()), model.C_
    (0, 1.0)
    """

    C: float | Literal["auto"] = field(default="auto", kw_only=False)
    solver: Solver = "auto"
    eps: float = 1e-5
    max_iter: int = 200
    scale: Scale = "auto"
    device: DeviceLike = "auto"
    precondition: bool = True
    features: Features = "linear"
    pair_weights: PairWeights = "equal"

    coef_: Float64 = field(init=False)
    columns_: Int64 = field(init=False)
    C_: float = field(init=False)
    solver_: str = field(init=False)
    device_: str = field(init=False)
    scaling_: Scaling = field(init=False)
    feature_map_: Thresholds | Fourier | None = field(init=False)
    objective_: float = field(init=False)
    gradient_norm_: float = field(init=False)
    n_pairs_: int = field(init=False)
    n_queries_: int = field(init=False)
    n_features_in_: int = field(init=False)
    feature_names_in_: Ids = field(init=False)
    n_iter_: int = field(init=False)
    n_cg_: int = field(init=False)
    stop_reason_: Literal["converged", "eps", "rounding", "max_iter"] = field(init=False)
    converged_: bool = field(init=False)
    history_: list[dict[str, Any]] = field(init=False)
    timings_: dict[str, float] = field(init=False)
    chosen_: dict[str, Any] = field(init=False)
    trials_: list[dict[str, Any]] = field(init=False)
    evals_result_: dict[str, dict[str, float]] = field(init=False)
    path_: list[dict[str, Any]] = field(init=False)
    metric_: str = field(init=False)

    _fitted_by = "coef_"
    _facts = ("C_", "n_features_in_", "n_queries_", "n_pairs_", "stop_reason_", "solver_", "device_")
    __metadata_request__fit = {"qid": True, "query_weight": True, "sample_weight": True}
    __metadata_request__predict = {"qid": True}
    __metadata_request__score = {"qid": True, "sample_weight": True}

    def check(self):
        """Return the parameters as Settings; raise ParameterError for an invalid one, before reading data."""
        choose.check(self.solver, self.device)
        return Settings(
            self.C if isinstance(self.C, str) and self.C == "auto" else check_real("C", self.C, 0.0, strict=True),
            self.solver,
            check_real("eps", self.eps, 0.0, strict=True),
            check_integer("max_iter", self.max_iter, 1),
            check_choice("scale", self.scale, get_args(Scale)),
            self.device,
            check_boolean("precondition", self.precondition),
            choose.check_features(self.features, self.device, get_args(Features)),
            check_choice("pair_weights", self.pair_weights, get_args(PairWeights)),
        )

    def fit(
        self,
        X: DocumentsLike,
        y: ArrayLike | None = None,
        qid: ArrayLike | None = None,
        *,
        group: ArrayLike | None = None,
        query_weight: ArrayLike | Mapping[Any, float] | None = None,
        sample_weight: ArrayLike | None = None,
        eval_set: Sequence[DocumentsLike] | None = None,
        eval_group: Sequence[ArrayLike] | None = None,
        eval_qid: Sequence[ArrayLike] | None = None,
        feature_names: Sequence[str] | None = None,
        metric: str | RankingMetric = "pa",
        progress: Progress | None = None,
        team: Team | None = None,
    ) -> Self:
        """Learn to rank the documents of each query.

        Pandas X, y, qid and a query_weight per document are matched by their labels (index), arrays by position.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix (l, n), or Documents
            float32 is kept, all else becomes float64. Documents contain y, queries and optional weights. Arrays on
            a GPU are copied to the host.
        y : (l,)
            Relevance: any real numbers, higher is better.
        qid : (l,) or None
            Query ids in any order.
        group : (m,) or None
            Number of documents of each query, instead of qid.
        query_weight : (m,), (l,) or dict
            In the order of the queries' first documents; one per document, equal within a query; or {qid: weight},
            which may have further queries.
        sample_weight : (l,)
            Weights of the documents. The loss of a pair is multiplied by both: a document of weight 2 counts as twice
            the same document. Where C is chosen, a query counts by the mean weight of its documents, as in LightGBM.
            Other metrics and scales do not use them.
        eval_set : list of Documents or (X, y)
            Sets that are not trained on; their metrics are in evals_result_. C 'auto' is chosen on the last one.
        eval_group, eval_qid : list
            group or qid of each (X, y) of eval_set.
        feature_names : list of str
            Names of the columns, for arrays.
        metric : str or path.RankingMetric
            A name of evaluation.evaluate, by which C 'auto' is chosen; evals_result_ has it too.
        progress : callable
            Called as progress("training", Newton step, None, {"f", "gradient"}).
        team : parallel.Team
            All ranks pass the same data, compute their share of the queries, and get the same model.

        Returns
        -------
        self

        Raises
        ------
        ParameterError, DeviceError
        DataError
            No pairs, values that are not finite, labels that differ, ...

        Warns
        -----
        UserWarning
            max_iter or rounding ended the training, all weights are 0, or the last eval set does not define the metric.

        Examples
        --------
        >>> import numpy as np
        >>> from gpukit import RankSVM
        >>> X, y = np.array([[1.0, 0.0], [0.2, 1.0], [0.9, 0.3], [0.1, 0.1]]), [2, 0, 1, 0]
        >>> model = RankSVM(C=1.0).fit(X, y, qid=[7, 7, 8, 8])
        >>> model.score(X, y, [7, 7, 8, 8])
        1.0
        """
        from gpukit.ranking import path, serve

        metric = path.as_metric(metric)
        sets = [inputs.read(*pair) for pair in inputs.eval_sets(eval_set, eval_group, eval_qid)]
        given = X, y, qid, group, query_weight, sample_weight, feature_names
        run = self.prepare(*given, team=team, metric=metric, eval_sets=sets)
        self.set_trained(run, run.settings.C, run.train(run.settings.C, progress=progress))
        if eval_set is not None:
            values = [metric.evaluate(*serve.score_inputs(self, pair)) for pair in sets]
            self.evals_result_ = {f"validation_{number}": value for number, value in enumerate(values)}
        return self

    def prepare(self, X, y=None, qid=None, *more, team=None, choose=True, metric="pa", eval_sets=(), **named):
        """Return run.Run: all that does not depend on C, with complete settings.

        more, named: further arguments of inputs.read. choose: choose C "auto" from the data. eval_sets:
        [inputs.Inputs]. Other arguments and errors as fit.
        """
        from gpukit.ranking import path, run, selection

        settings, team = self.check(), team or ALONE
        metric = path.as_metric(metric)
        is_open = choose and settings.C == "auto"
        held_out = selection.choose_validation(eval_sets, metric) if is_open else None
        read = inputs.narrow_inputs(inputs.read(X, y, qid, *more, **named))
        settings = selection.choose_settings(read, settings, team, choose, held_out, metric)
        return run.Run(read, settings, team)

    def fit_path(
        self,
        train: DocumentsLike,
        validation: DocumentsLike,
        *,
        grid: str | Sequence[float] = "2^-15:2^8",
        metric: str = "ndcg@10",
        ndcg: NdcgKind = "letor",
        relevant: float = 1,
        ties: Ties = "average",
        query_weight: ArrayLike | Mapping[Any, float] | None = None,
        progress: Progress | None = None,
        team: Team | None = None,
    ) -> Self:
        """Train for every C of a grid in ascending order; keep the best on a validation set.

        Each training starts from the previous w. The parameter C is ignored, and scale 'auto' is 'none'.

        Parameters
        ----------
        train, validation : Documents or (X, y, qid)
        grid : str or list of float
            "2^-15:2^8", "0.1,1,10" (path.parse_grid) or numbers.
        metric : str
            A metric of evaluation.evaluate, default 'ndcg@10'. The smaller C of equal values is chosen.
        ndcg, relevant, ties : str, float, str
            Options of evaluation.evaluate, by default 'letor', 1 and 'average'.
        query_weight : (m,), (l,), dict or None
            As in fit.
        progress : callable or None
            As in fit.
        team : parallel.Team or None
            As in fit.

        Returns
        -------
        self
            C_ is the chosen C, and coef_, objective_, history_ and n_iter_ belong to it. path_ is a dict per C: C,
            objective, gradient_norm, newton, cg, seconds, converged, validation ({metric: value}). metric_ is the name.

        Raises
        ------
        DataError
            The validation set does not define the metric; and the errors of fit.

        Examples
        --------
        >>> import numpy as np
        >>> from gpukit import RankSVM
        >>> X, y, qid = np.array([[1.0, 0.0], [0.2, 1.0], [0.9, 0.3], [0.1, 0.1]]), [2, 0, 1, 0], [7, 7, 8, 8]
        >>> model = RankSVM().fit_path((X, y, qid), (X, y, qid), grid=[0.1, 1.0], metric="pa")
        >>> model.C_, len(model.path_)
        (0.1, 2)
        """
        from gpukit.ranking import path

        metric = path.RankingMetric(metric, ndcg, relevant, ties)
        return path.regularization_path(self, train, validation, grid, metric, query_weight, progress, team)

    def set_trained(self, run, C, result):
        """Store the result of run.train(C) of a run.Run; warn if it did not converge."""
        self.coef_, self.objective_, self.gradient_norm_ = result.w, float(result.objective), float(result.gradient)
        self.C_, self.history_, self.converged_ = float(C), result.history, run.converged(result)
        self.stop_reason_ = run.stop_reason(result)
        self.n_iter_, self.n_cg_ = run.steps(result).values()
        self.n_pairs_, self.n_queries_ = run.n_pairs, run.n_queries
        self.solver_, self.device_, self.scaling_ = run.solver, str(run.device), run.scaling
        self.feature_map_ = run.map
        self.n_features_in_, self.timings_ = run.n_features, dict(run.clock.seconds)
        for name in ("feature_names_in_", "columns_", "path_", "metric_", "chosen_", "trials_", "evals_result_"):
            vars(self).pop(name, None)
        if run.settings.chosen is not None:
            self.chosen_, self.trials_ = run.settings.chosen.facts, run.settings.chosen.trials
        if hasattr(run.names, "columns"):
            self.columns_, self.n_features_in_ = run.names
        elif run.names is not None:
            self.feature_names_in_ = np.array(run.names, object)
        for text in run.warnings(C, result):
            warnings.warn(text, stacklevel=3)

    def predict(self, X: DocumentsLike, qid: ArrayLike | None = None, *, group: ArrayLike | None = None) -> Float64:
        """Return scores, which compare documents of one query; higher is better.

        Parameters
        ----------
        X : as in fit
            With the same number of columns. If X and the model have names, columns are matched by name in any order.
            For a model with columns_, other columns are ignored, with a UserWarning if they have values.
        qid, group
            Not used; scikit-learn's routing may pass it.

        Returns
        -------
        (l,) float64

        Raises
        ------
        DataError
            Names are missing or unknown, or the number of columns is another one.

        Examples
        --------
        >>> import numpy as np
        >>> from gpukit import RankSVM
        >>> X, y, qid = np.array([[1.0, 0.0], [0.2, 1.0], [0.9, 0.3], [0.1, 0.1]]), [2, 0, 1, 0], [7, 7, 8, 8]
        >>> model = RankSVM(C=1.0).fit(X, y, qid)
        >>> model.predict(X).shape
        (4,)
        """
        self._check_fitted()
        from gpukit.ranking import serve

        return serve.predict(self, X)

    decision_function = predict

    def rank(self, X: DocumentsLike, qid: ArrayLike | None = None, *, group: ArrayLike | None = None) -> Int32:
        """Return the rank of each document within its query; 1 is the best.

        Parameters
        ----------
        X, qid, group
            As in fit.

        Returns
        -------
        (l,) int32
            Equal scores are ranked by position.

        Raises
        ------
        DataError
            As in predict; or there are no queries.

        Examples
        --------
        >>> import numpy as np
        >>> from gpukit import RankSVM
        >>> X, y, qid = np.array([[1.0, 0.0], [0.2, 1.0], [0.9, 0.3], [0.1, 0.1]]), [2, 0, 1, 0], [7, 7, 8, 8]
        >>> model = RankSVM(C=1.0).fit(X, y, qid)
        >>> model.rank(X, qid)
        array([1, 2, 1, 2], dtype=int32)
        """
        self._check_fitted()
        from gpukit.ranking import serve

        return serve.rank(self, X, qid, group)

    def explain(self, X: DocumentsLike, qid: ArrayLike | None = None, *, group: ArrayLike | None = None) -> Float64:
        """Return the parts of the scores: one per feature, whose sum is the score of predict.

        The difference of two rows explains the difference of two documents.

        Parameters
        ----------
        X, qid, group
            As in predict.

        Returns
        -------
        (l, n + 1) float64
            The last column is what no feature has alone: all Fourier features, else 0. Thresholds are added to their
            feature. Columns are those of columns_ if the model has it.

        Raises
        ------
        DataError
            As in predict.

        Examples
        --------
        >>> import numpy as np
        >>> from gpukit import RankSVM
        >>> X, y, qid = np.array([[1.0, 0.0], [0.2, 1.0], [0.9, 0.3], [0.1, 0.1]]), [2, 0, 1, 0], [7, 7, 8, 8]
        >>> model = RankSVM(C=1.0).fit(X, y, qid)
        >>> np.allclose(model.explain(X).sum(axis=1), model.predict(X))
        True
        """
        self._check_fitted()
        from gpukit.ranking import serve

        return serve.explain(self, X)

    def score(
        self,
        X: DocumentsLike,
        y: ArrayLike | None = None,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | Mapping[Any, float] | None = None,
        *,
        group: ArrayLike | None = None,
    ) -> float:
        """Return the pairwise accuracy (Eq. 16): the fraction of correctly ordered pairs.

        Parameters
        ----------
        X, y, qid, group
            As in fit.
        sample_weight : (m,), (l,) or dict
            The weights of queries, as query_weight of fit; or of documents, whose mean is the weight of their query.

        Returns
        -------
        float
            Equal scores count as wrong.

        Raises
        ------
        DataError
            There are no pairs.

        Examples
        --------
        >>> import numpy as np
        >>> from gpukit import RankSVM
        >>> X, y, qid = np.array([[1.0, 0.0], [0.2, 1.0], [0.9, 0.3], [0.1, 0.1]]), [2, 0, 1, 0], [7, 7, 8, 8]
        >>> model = RankSVM(C=1.0).fit(X, y, qid)
        >>> model.score(X, y, qid)
        1.0
        """
        self._check_fitted()
        from gpukit.ranking import serve

        accuracy = serve.accuracy(self, X, y, qid, group, sample_weight)
        if np.isnan(accuracy):
            raise DataError("Pairwise accuracy needs a query with two different relevance labels and a weight above 0.")
        return accuracy

    def save_text(self, path: Path) -> None:
        """Write the weights as text: comments, then a line `index:weight # name` per feature.

        With a scale it is `index:weight:low:factor # name`, and the weight is for (feature - low) * factor.

        Parameters
        ----------
        path : str or Path

        Raises
        ------
        DataError
            The file cannot be written.

        Examples
        --------
        >>> import numpy as np
        >>> from gpukit import RankSVM
        >>> X, y, qid = np.array([[1.0, 0.0], [0.2, 1.0], [0.9, 0.3], [0.1, 0.1]]), [2, 0, 1, 0], [7, 7, 8, 8]
        >>> model = RankSVM(C=1.0).fit(X, y, qid)
        >>> model.save_text("weights.txt")
        """
        from gpukit.ranking import saving

        self._check_fitted()
        saving.save_text(path, self)

    def save_onnx(self, path: Path) -> None:
        """Write the model as an ONNX graph; needs onnx (pip install 'gpukit[onnx]').

        Its input "features" (documents, n) and its output "scores" (documents,) are float64. Feature names are in the
        property feature_names, one per line.

        Parameters
        ----------
        path : str or Path

        Raises
        ------
        DataError
            The file cannot be written.
        ParameterError
            onnx is not installed.

        Examples
        --------
        >>> import numpy as np
        >>> from gpukit import RankSVM
        >>> X, y, qid = np.array([[1.0, 0.0], [0.2, 1.0], [0.9, 0.3], [0.1, 0.1]]), [2, 0, 1, 0], [7, 7, 8, 8]
        >>> model = RankSVM(C=1.0).fit(X, y, qid)
        >>> model.save_onnx("model.onnx")
        """
        from gpukit.ranking import saving

        self._check_fitted()
        saving.save_onnx(path, self)

    def _packed(self):
        from gpukit.ranking import saving

        return saving.pack_model(self)

    def _unpack(self, facts, arrays):
        from gpukit.ranking import saving

        saving.unpack(self, facts, arrays)

    def __sklearn_tags__(self):
        """Return scikit-learn's tags: y is required, a sparse X is allowed, NaN is not."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required, tags.input_tags.allow_nan = True, False
        return tags
