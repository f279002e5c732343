"""RankSVM: linear ranking with the squared hinge loss of all preference pairs, with scikit-learn's conventions."""

import warnings
from typing import NamedTuple

import numpy as np

from gpukit.base import Estimator, check_choice, check_integer, check_real
from gpukit.errors import DataError
from gpukit.parallel import ALONE
from gpukit.ranking.solvers import choose

SCALES = ("auto", "none", "minmax", "deviation", "query")


class Settings(NamedTuple):
    """The parameters of a RankSVM, checked."""

    C: float | str
    solver: str
    eps: float
    max_iter: int
    scale: str
    device: object
    precondition: bool
    chosen: object = None  # held_out.Chosen, where C was "auto"
    loose: bool = False  # for trials, whose minimum need not be certified


class RankSVM(Estimator):
    """Linear RankSVM with L2 loss (Eq. 1): f(w) = w'w / 2 + C sum over pairs of max(0, 1 - w'(x_i - x_j))^2.

    The pairs are all (i, j) of one query with relevance y_i > y_j. C is per pair and is not divided by anything:
    SVMrank divides by the number of queries, its -l 2 by the pairs of each query too; dlib divides by the number of
    pairs. A weight of a query multiplies C for its pairs. There is no intercept: it would cancel.

    Parameters: C > 0, or 'auto': 1, or what is better on queries that are held out (solvers.held_out); solver
    'scan', 'p-swx' (the paper's), 'dcm', 'ost' (on the CPU) or 'auto'; eps > 0: stop at ||gradient|| <= eps ||gradient
    at w = 0|| with f certified to be within eps / 10 of the minimum, relatively; max_iter Newton steps at most; scale
    'none', 'minmax', 'deviation' or 'query' (see gpukit.ranking.scaling), or 'auto': chosen with C, 'none' where C is
    named; device 'auto' (small problems go to the CPU), 'cpu', 'cuda', 'cuda:N'; precondition: conjugate gradients with
    the covariance within queries (up to 1024 features), or with its diagonal alone, as for more features.

    After fit: coef_ (n,) float64, for the scaled features; objective_ f, gradient_norm_; C_, the C of coef_; n_pairs_,
    n_queries_, n_features_in_, feature_names_in_ (where X has names); n_iter_ Newton steps, n_cg_ conjugate gradient
    steps; stop_reason_: 'converged' (f is certified to be within 1e-6 of the minimum, relatively), 'eps' (within eps /
    10, which is more), 'rounding' (float64 cannot certify more) or 'max_iter'; converged_: whether it is 'converged';
    history_ (a dict a Newton step: f, gradient, cg_steps, radius, and C where it is
    a softer one's, see docs/ranking.md); solver_, device_; scaling_;
    timings_ (seconds: choose, prepare, precondition, training, compiling). Where C was chosen, chosen_ (C, scale, the
    metric's name, its value with them and with C = 1 on what was held out, the gain of the best trial, its standard
    error) and trials_, a dict a trial. A sparse X of more than 2^20 columns is trained on those that have entries:
    coef_ and columns_ (k,) int64 are of these. evals_result_: {"validation_0": {metric: value}, ...} of eval_set. After
    fit_path also path_ and metric_.

    With scikit-learn's metadata routing (sklearn.set_config(enable_metadata_routing=True)) qid and query_weight are
    asked for by fit, qid by predict and score too, so that GridSearchCV and cross_val_score pass them on; GroupKFold
    with groups=qid keeps a query together.
    """

    _fitted_by = "coef_"
    __metadata_request__fit = {"qid": True, "query_weight": True}
    __metadata_request__predict = {"qid": True}
    __metadata_request__score = {"qid": True}

    def __init__(
        self, C="auto", *, solver="auto", eps=1e-5, max_iter=200, scale="auto", device="auto", precondition=True
    ):
        self.C = C
        self.solver = solver
        self.eps = eps
        self.max_iter = max_iter
        self.scale = scale
        self.device = device
        self.precondition = precondition

    def check(self):
        """The parameters as Settings; raises ParameterError for one out of bounds, before any data is read."""
        choose.check(self.solver, self.device)
        return Settings(
            self.C if isinstance(self.C, str) and self.C == "auto" else check_real("C", self.C, 0.0, strict=True),
            self.solver,
            check_real("eps", self.eps, 0.0, strict=True),
            check_integer("max_iter", self.max_iter, 1),
            check_choice("scale", self.scale, SCALES),
            self.device,
            bool(self.precondition),
        )

    def fit(
        self,
        X,
        y=None,
        qid=None,
        *,
        group=None,
        query_weight=None,
        eval_set=None,
        eval_group=None,
        eval_qid=None,
        feature_names=None,
        validation=None,
        metric="pa",
        progress=None,
        team=None,
    ):
        """Learn to rank the documents of each query.

        X (l, n): array, DataFrame or sparse matrix; float32 stays so, all else becomes float64. Or Documents, which
        bring y and queries, and weights if they have any. y (l,): relevance, any real numbers, higher is better. qid
        (l,): query ids, in any order; or group: the number of documents of each query, one after the other.
        query_weight: (m,) in the order of the queries' first documents, (l,) with one weight a document, the same in
        all of a query, or {qid: weight}; more queries in the dict do not matter. Pandas objects among X, y, qid and a
        query_weight a document are matched by their labels (index), arrays by position. An X on the GPU
        that is worked on is read where it lies if it is float32 or float64 in C order, the documents of a query stand
        side by side and scale is 'none'; else it is copied to the host, as y and qid are. eval_set: [Documents or
        (X, y)], which are not trained on; eval_group or eval_qid: a list with the group or qid of each (X, y). Their
        metrics are in evals_result_. C 'auto' is chosen on the last of them instead of on parts of X; with C named,
        they are reported alone. metric: a name of evaluation.evaluate, by which C 'auto' is chosen, or a
        solvers.path.Question. validation: deprecated, Documents or (X, y, qid); eval_set=[...]. progress: called as
        progress("training", Newton step, None, {"f", "gradient"}). team: a parallel.Team; every rank hands in the same
        data, works on its share of the queries, and has the same model at the end.

        Raises ParameterError, DataError (no pairs, not finite, labels that differ, ...), DeviceError; warns when
        max_iter or rounding ended it, when all weights are 0, and when the last eval set does not define the metric.
        """
        from gpukit.ranking import inputs, serve

        sets = [inputs.read(*one) for one in inputs.eval_sets(eval_set, eval_group, eval_qid)]
        given = {"group": group, "query_weight": query_weight, "feature_names": feature_names, "metric": metric}
        if validation is not None:
            warnings.warn("validation= is deprecated: write eval_set=[...] instead.", FutureWarning, stacklevel=2)
        run = self.prepare(X, y, qid, **given, team=team, validation=validation, eval_sets=sets)
        self.set_trained(run, run.settings.C, run.train(run.settings.C, progress=progress))
        if eval_set is not None:
            self.evals_result_ = {f"validation_{at}": serve.measured(self, one) for at, one in enumerate(sets)}
        return self

    def prepare(
        self,
        X,
        y=None,
        qid=None,
        *,
        group=None,
        query_weight=None,
        feature_names=None,
        team=None,
        choose=True,
        validation=None,
        metric="pa",
        eval_sets=(),
    ):
        """run.Run: all that does not depend on C, ready to train, with settings that leave nothing open.

        choose: whether C "auto" is chosen from the data. eval_sets: [inputs.Inputs]. Other arguments and errors as fit.
        """
        from gpukit.ranking import inputs, run
        from gpukit.ranking.solvers import held_out, path

        settings, team = self.check(), team or ALONE
        question = path.Question(metric) if isinstance(metric, str) else metric
        judge = held_out.judge_of(validation, eval_sets, question) if choose and settings.C == "auto" else None
        weights = inputs.weights_given(query_weight, X)
        read = inputs.narrowed(inputs.read(X, y, qid, group, feature_names, may_stay=team.size == 1))
        settings = held_out.settled(read, settings, weights, group, team, choose, judge, question)
        return run.Run(read, settings, weights, group, team)

    def fit_path(
        self,
        train,
        validation,
        *,
        grid="2^-15:2^8",
        metric="ndcg@10",
        ndcg="letor",
        relevant=1,
        ties="average",
        query_weight=None,
        progress=None,
        team=None,
    ):
        """Train for every C of a grid, ascending, each from the last one's w; keep the best on a validation set.

        train, validation: Documents, or (X, y, qid). grid: "2^-15:2^8", "0.1,1,10" (path.parse_grid) or numbers.
        metric: a name of evaluation.evaluate, in its dialect ndcg and with its `relevant`, `ties`; of equal ones the
        smaller C is taken. The parameter C is not used, and scale 'auto' is 'none'; C_ is the one chosen, and coef_,
        objective_, history_, n_iter_ are its own. path_: a dict a C: C, objective, gradient_norm, newton, cg, seconds,
        converged, validation ({metric: value}). metric_: the name.
        Raises as fit, and DataError for a metric that the validation set does not have.
        """
        from gpukit.ranking.solvers import path

        question = path.Question(metric, ndcg, relevant, ties)
        return path.regularization_path(self, train, validation, grid, question, query_weight, progress, team)

    def set_trained(self, run, C, result):
        """Keep the outcome of run.train(C); run: run.Run. Warns when it did not converge."""
        self.coef_, self.objective_, self.gradient_norm_ = result.w, float(result.objective), float(result.gradient)
        self.C_, self.history_, self.converged_ = float(C), result.history, run.converged(result)
        self.stop_reason_ = run.stop_reason(result)
        self.n_iter_, self.n_cg_ = run.steps(result).values()
        self.n_pairs_, self.n_queries_ = run.n_pairs, run.n_queries
        self.solver_, self.device_, self.scaling_ = run.solver, str(run.device), run.scaling
        self.n_features_in_, self.timings_ = len(result.w), dict(run.clock.seconds)
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

    def predict(self, X, qid=None, *, group=None):
        """(l,) float64 scores, higher is better; they compare documents of one query.

        X as in fit, with as many columns; columns with names are matched by name where the model has names, in any
        order. Missing and unknown names raise DataError. Of a model with columns_, other columns are ignored, with a
        UserWarning where they hold values. qid or group: needed with scale='query' alone.
        """
        self._check_fitted()
        from gpukit.ranking import serve

        return serve.predict(self, X, qid, group)

    decision_function = predict

    def rank(self, X, qid=None, *, group=None):
        """(l,) int32 rank of each document within its query, 1 the best; equal scores by position.

        X, qid, group as in fit.
        """
        self._check_fitted()
        from gpukit.ranking import serve

        return serve.rank(self, X, qid, group)

    def score(self, X, y=None, qid=None, sample_weight=None, *, group=None):
        """Pairwise accuracy (Eq. 16): the share of pairs whose scores stand in order; equal scores do not.

        sample_weight: what a query's pairs count, given as query_weight of fit: one a query, or one a document, the
        same in all of a query. Other arguments as fit. Raises DataError when there are no pairs.
        """
        self._check_fitted()
        from gpukit.ranking import serve

        accuracy = serve.accuracy(self, X, y, qid, group, sample_weight)
        if np.isnan(accuracy):
            raise DataError("Pairwise accuracy needs a query with two different relevance labels.")
        return accuracy

    def save_text(self, path):
        """Write the weights as text: comments, then a line index:weight:name a feature (name where there is one)."""
        from gpukit.ranking import saving

        self._check_fitted()
        saving.save_text(path, self)

    def _packed(self):
        from gpukit.ranking import saving

        return saving.packed(self)

    def _unpack(self, facts, arrays):
        from gpukit.ranking import saving

        saving.unpack(self, facts, arrays)

    def __sklearn_tags__(self):
        """What scikit-learn asks: y is needed, sparse X welcome, NaN not."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required, tags.input_tags.allow_nan = True, False
        return tags
