"""Steps of `gpukit ranksvm`, some shared with `gpukit rank`. ask: options by name."""

import math
from typing import NamedTuple

from gpukit.base import check_real
from gpukit.cli import report
from gpukit.cli.main import set_interrupt_message
from gpukit.cli.ranking.table import METRICS, format_C
from gpukit.documents import read_letor
from gpukit.documents.folds import assign_parts
from gpukit.documents.read import read_like
from gpukit.documents.table import take_queries
from gpukit.errors import ParameterError
from gpukit.io import sinks
from gpukit.ranking.inputs import is_wide
from gpukit.ranking.solvers.choose import choose_device, stored_values
from gpukit.timing import COMPILING


class Trained(NamedTuple):
    """Result of a Job.

    The fitted RankSVM; (documents, queries, short queries) and metrics of each part; warnings as texts; constant:
    features
    that are constant within every query, as text.
    """

    job: object
    model: object
    sizes: dict
    metrics: dict
    warnings: list
    constant: str

    @property
    def path(self):
        """Return a dict per value of C, or None if C was given."""
        return getattr(self.model, "path_", None)

    @property
    def steps(self):
        """Return {newton, cg}: steps of training, summed over all values of C."""
        trainings = self.path or [{"newton": self.model.n_iter_, "cg": self.model.n_cg_}]
        return {kind: sum(trained[kind] for trained in trainings) for kind in ("newton", "cg")}

    @property
    def seconds(self):
        """Return the seconds of training, without reading, choosing and validation."""
        return sum(seconds for stage, seconds in self.model.timings_.items() if stage not in (COMPILING, "choose"))


def build(ask):
    """Return the unfitted estimator of the options."""
    from gpukit.ranking import RankSVM

    return RankSVM(C=ask.c, **report.pick(ask, "solver eps scale device features pair_weights"))


def run(ask, job, stages, team, whole=None):
    """Read, train, evaluate and write one job; return Trained.

    The first rank of a parallel.Team writes; all ranks train. whole: the Documents that --folds divides, or None.
    """
    silent = ask.silent
    with report.collect_warnings(silent) as of_reading:
        parts = load(ask, job) if whole is None else divide(ask, job, whole)
    stages.done("reading")
    capability = choose_device(ask.solver, ask.device, stored_values(parts["train"].X), ask.features).capability
    report.compile_ahead(ask, team, "documents", capability=capability)
    model, messages = fit(ask, job, parts, stages, team)
    parts = {} if team.rank else parts
    constant = "" if team.rank else constant_features(parts["train"], model)
    with report.collect_warnings(silent) as of_scores:
        scores = {part: model.predict(documents) for part, documents in parts.items()}
    messages = list(dict.fromkeys([*of_reading, *messages, *of_scores]))
    metrics = {part: evaluate(ask, documents, scores[part]) for part, documents in parts.items()}
    stages.done("evaluating")
    if job.model is not None and not team.rank:
        model.save(job.model)
    if job.scores is not None and not team.rank:
        write_scores(scores["test"], job.scores)
    stages.done("writing")
    sizes = {part: size_of(documents) for part, documents in parts.items()}
    return Trained(job, model, sizes, metrics, messages, constant)


def constant_features(documents, model):
    """Return the features that are constant within every training query, as text."""
    from gpukit.ranking import serve
    from gpukit.ranking.run import named_columns
    from gpukit.ranking.scaling import constant_features as constant

    X = serve.in_model_order(model, documents.X, documents.names)
    return named_columns(constant(X, documents.offsets), serve.known_features(model))


def fit(ask, job, parts, stages, team):
    """Return (fitted RankSVM, warning texts); C given or chosen on validation data."""
    model = build(ask)
    with report.collect_warnings(ask.silent) as messages, report.Progress(ask.quiet) as progress:
        show_progress = follow(progress, job.name, ask.metric)
        if ask.grid is None:
            chosen_on = validation_of(ask, job, parts) if ask.c == "auto" else None
            sets = None if chosen_on is None else [chosen_on]
            model.fit(parts["train"], eval_set=sets, metric=make_metric(ask), progress=show_progress, team=team)
        else:
            rules = report.pick(ask, "grid metric ndcg relevant ties")
            model.fit_path(parts["train"], parts["validation"], **rules, progress=show_progress, team=team)
    titles = {"choose": "choosing", "prepare": "preparing", "precondition": "preconditioning", "training": "training"}
    rest = "preparing" if ask.grid is None else "validating"
    stages.done(rest, {name: model.timings_[stage] for stage, name in titles.items() if stage in model.timings_})
    return model, messages


def validation_of(ask, job, parts):
    """Return the validation set, or None if missing or without a defined metric."""
    documents = parts.get("validation")
    if documents is None:
        return None
    reason = evaluate(ask, documents, documents.y).reasons.get(ask.metric)
    if reason:
        why = f"{job.validation} has no {ask.metric} ({reason})"
        report.remark(f"{why}: C is chosen on queries held out of the training set.", ask.silent)
    return None if reason else documents


def make_metric(ask):
    """Return the metric for the choice of C, with its rules."""
    from gpukit.ranking.path import RankingMetric

    return RankingMetric(ask.metric, ask.ndcg, ask.relevant, ask.ties)


def follow(progress, name, metric):
    """Return the progress callback of one job, with the metric at each C."""

    def show_progress(stage, done, total, info=None):
        if stage == "path":
            info = {"C": format_C(info["C"]), metric: info["validation"][metric]}
        progress(f"{name} {stage}", done, total, info)

    return show_progress


def load(ask, job):
    """Return {part: Documents} of a job with the features of the training set."""
    train = read_letor(job.train, null=ask.null, position_bias=ask.position_bias)
    width = None if is_wide(train.X, train.names) else train.X.shape[1]
    others = list(job.sources.items())[1:]
    parts = {"train": train} | {part: read_like(path, ask.null, train.names, width) for part, path in others}
    l, m, features = len(train.y), len(train.qids), f"{train.X.shape[1]:,} features"
    if width is None:
        features = f"{len(set(train.X.indices.tolist())):,} features, numbered up to {train.X.shape[1]:,}"
    report.remark(f"{job.train}: {l:,} documents, {m:,} queries, {features}.", ask.silent)
    return parts


def read_for(fitted, ask):
    """Return the Documents of FILE with the features of a model."""
    return read_like(ask.file, ask.null, *features_of(fitted))


def features_of(fitted):
    """Return the names of a model's features or None, and their number or None if it knows some columns only."""
    names = getattr(fitted, "feature_names_in_", None)
    width = None if hasattr(fitted, "columns_") else fitted.n_features_in_
    return None if names is None else names.tolist(), width


def divide(ask, job, whole):
    """Return {part: Documents} of a part of --folds: it is the test set, and with a grid the part before validates."""
    assigned, parts = assign_parts(whole, ask.folds), {"test": job.part}
    if ask.grid is not None:
        parts = {"validation": (job.part - 1) % ask.folds, **parts}
    parts_by_name = {name: take_queries(whole, (assigned == part).nonzero()[0]) for name, part in parts.items()}
    rest = [part not in parts.values() for part in assigned.tolist()]
    return {"train": take_queries(whole, [query for query, is_rest in enumerate(rest) if is_rest]), **parts_by_name}


def evaluate(ask, documents, scores):
    """Return the evaluation.ranking.Metrics of scores (l,) for Documents."""
    from gpukit.evaluation.ranking import evaluate as measure

    return measure(documents.y, scores, documents.offsets, **report.pick(ask, "ndcg relevant ties"), more=ask.show)


def check_metrics(ask, metric=None):
    """Replace ask.show by the metrics that --show and --metric name beyond the usual ones.

    Raises ParameterError for unknown ones and for an invalid --relevant.
    """
    from gpukit.evaluation.ranking import parse_metric

    check_real("--relevant", ask.relevant, -math.inf)
    requests = {metric: "--metric"} if metric is not None else {}
    requests |= {name.strip(): "--show" for name in ask.show.split(",")} if ask.show is not None else {}
    for name, option in requests.items():
        try:
            parse_metric(name)
        except ParameterError as error:
            raise ParameterError(f"{option}: {error}") from None
    ask.show = [name for name in requests if name not in METRICS]


def size_of(documents):
    """Return the numbers of documents, of queries, and of queries with fewer documents than the last NDCG@k needs."""
    from gpukit.evaluation.ranking import CUTS

    few = (documents.offsets[1:] - documents.offsets[:-1] < CUTS[-1]).sum()
    return len(documents.y), len(documents.qids), int(few)


def write_scores(scores, path):
    """Write scores (l,), one per line, to a file or stdout.

    path None: standard output.
    """
    with sinks.open_text_sink(path or "-") as file:
        file.writelines(f"{plain_decimal(score)}\n" for score in scores.tolist())


def plain_decimal(number):
    """Format a float exactly in the fewest digits, without an exponent."""
    import numpy as np

    text = repr(number)
    return np.format_float_positional(number, trim="0") if "e" in text else text


def keep_in_mind(done, total):
    """Set the message after Ctrl-C: the jobs whose files are complete."""
    names = [trained.job.name for trained in done if trained.job.model or trained.job.scores]
    if names and total > 1:
        set_interrupt_message(f"The files of {', '.join(names)} are whole; there are none of the others.")
