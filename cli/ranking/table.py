"""Output of `gpukit ranksvm`: tables, JSON, pictures.

done: [ranking.Trained]; ask: options by name.
"""

import math
from itertools import accumulate

from gpukit.cli import outputs, report

HEADINGS = "PA +ties NDCG@1 @3 @5 @10 mean MAP"
METRICS = dict(zip("pa pa_ties ndcg@1 ndcg@3 ndcg@5 ndcg@10 mean_ndcg map".split(), HEADINGS.split()))
SCALED = {
    "none": "features as they are",
    "minmax": "features to 0..1",
    "deviation": "features to deviation 1",
}
WHERE = {
    "queries": "{} held-out queries",
    "documents": "held-out documents of {} queries",
    "validation": "the validation set of {} queries",
}
OF_FOLD = {"fold": "fold", "C": "C"}
OF_PART = {"part": "", "queries": "queries", "documents": "documents"}
SIZES = ("documents", "queries")
OF_TRAINING = {"newton": "Newton", "cg": "CG", "seconds": "sec"}
BY_C = {"C": "C", "folds": "chosen by"}
BY_C_TITLE = "By C on the validation set; chosen by: number of folds"
LEGEND = "PA: share of pairs in the right order, +ties: equal scores count as right; mean: NDCG over all ranks."


def show(ask, done, stages):
    """Print the result: a JSON object, or the table and the seconds."""
    if ask.as_json:
        return report.print_result(result(ask, done), stages)
    aside = outputs.takes_stdout(ask.scores)
    metrics = columns(ask)
    if len(done) > 1:
        report.print_table(rows_by_fold(done, "test"), OF_FOLD | metrics | OF_TRAINING, title(ask, done), aside)
        report.print_table(rows_by_fold(done, "train"), OF_FOLD | metrics, "The same on the training sets", aside)
    else:
        report.print_table(rows_by_part(done[0]), OF_PART | metrics, title(ask, done), aside)
    if ask.grid is not None:
        report.print_table(rows_by_c(ask, done), BY_C | {"value": ask.metric}, BY_C_TITLE, aside)
    sizes = [size for trained in done for size in trained.sizes.values()]
    show_notes(ask, [trained.metrics for trained in done], sizes, aside, LEGEND)
    report.echo(stages.line(), err=aside)
    report.remark_all(remarks(ask, done), ask.quiet)


def show_notes(ask, metrics, sizes, err, legend=None):
    """Print why metrics are undefined, and the effect of tied scores and of short queries.

    metrics: {part: evaluation.ranking.Metrics} of each job; sizes: see zeros.
    """
    for text in undefined_lines(each for parts in metrics for each in parts.values()):
        report.echo(text, err=err)
    tested = {part: [parts[part] for parts in metrics if part in parts] for part in ("given", "test", "train")}
    ties = [tie_remark(ask.ties, part, values) for part, values in tested.items()]
    report.remark_all([legend, *ties, zeros(ask.ndcg, sizes)], ask.quiet)


def columns(ask):
    """Return {metric: heading} of the tables."""
    return METRICS | {name: name for name in ask.show}


def rows_by_c(ask, done):
    """Return a row per C of the grid: the mean of the metric over the folds, and how many of them chose C."""
    rows = []
    for place, C in enumerate(ask.grid):
        value = sum(trained.path[place]["validation"][ask.metric] for trained in done) / len(done)
        folds = sum(trained.model.C_ == C for trained in done)
        rows.append({"C": report.Figure(format_C(C)), "value": value, "folds": folds or None})
    return rows


def edge_remark(ask, trained):
    """Return a remark if the chosen C is the first or the last of a grid, else None."""
    C = trained.model.C_
    if ask.grid is None or len(ask.grid) < 2 or C not in (ask.grid[0], ask.grid[-1]):
        return None
    end, more = ("smallest", "smaller") if C == ask.grid[0] else ("largest", "larger")
    chosen = f"{trained.job.name}: the chosen C = {format_C(C)}"
    return f"{chosen} is the {end} of the grid. Extend --c-grid to {more} values."


def undefined_lines(all_metrics):
    """Yield a line per reason why a metric of evaluation.ranking.Metrics is "-"."""
    reasons = {}
    for metrics in all_metrics:
        for name, reason in metrics.reasons.items():
            reasons.setdefault(reason, {})[METRICS.get(name, name)] = None
    for reason, names in reasons.items():
        yield f"- under {', '.join(names)}: {reason}."


def tie_remark(ties, part, values):
    """Describe the number of tied pairs of a part and the effect; "" if none."""
    pairs, queries = (sum(metrics.ties[key] for metrics in values) for key in ("pairs", "queries"))
    if not pairs:
        return ""
    rule = {
        "average": "NDCG and MAP are means over all their orders (--ties file: the file's order)",
        "file": "NDCG and MAP take them in the file's order (--ties average: the mean over all orders)",
    }
    return f"Equal scores on the {part} set: {pairs:,} pairs of different labels in {queries:,} queries; {rule[ties]}."


def zeros(ndcg, sizes):
    """Describe the effect of LETOR's rules if most queries are short, else "".

    sizes: [(documents, queries, short queries)].
    """
    queries, few = (sum(size[place] for size in sizes) for place in (1, 2))
    if ndcg != "letor" or 2 * few <= queries:
        return ""
    counts = f"{few:,} of {queries:,} queries have fewer than 10"
    return f"NDCG@k of letor is 0 for a query of fewer than k documents; {counts}. --ndcg standard takes what there is."


def title(ask, done):
    """Yield the lines above the table: data, device and the choice of C."""
    devices, solvers = (
        ", ".join(dict.fromkeys(getattr(trained.model, name) for trained in done)) for name in ("device_", "solver_")
    )
    C = (
        f"C = {describe_C(ask, done)}"
        if ask.grid is None
        else f"C of {len(ask.grid)} by {ask.metric} on the validation set"
    )
    kinds = dict.fromkeys(map_of(trained.model) for trained in done if map_of(trained.model) != "linear")
    maps = "".join(f", {kind} features" for kind in kinds)
    yield f"RankSVM on {devices}, solver {solvers}, eps {ask.eps:g}, {C}{maps}"
    if len(done) > 1:
        whole = "" if ask.grid is None else "; Newton, CG, sec: for all C together"
        yield f"Test sets of {len(done)} folds, NDCG: {ask.ndcg}{whole}"
        return
    steps, chosen = done[0].steps, "" if ask.grid is None else f"C = {format_C(done[0].model.C_)}; for all C together "
    work = f"{steps['newton']} Newton and {steps['cg']} CG steps, {done[0].seconds:.3f} s of training"
    yield f"{chosen}{work}, NDCG: {ask.ndcg}"


def map_of(model):
    """Return the name of the feature map of a model."""
    return getattr(model.feature_map_, "kind", "linear")


def describe_C(ask, done):
    """Describe C without a grid: the common value, or auto."""
    values = {trained.model.C_ for trained in done}
    return format_C(values.pop()) if len(values) == 1 else ask.c


def settings(ask, trained):
    """Describe the chosen settings of one job and the reason.

    None if all were given.
    """
    chosen = getattr(trained.model, "chosen_", None)
    if chosen is None and ask.grid is None and ask.c == "auto":
        why = "held-out documents have no pairs, or no feature differs within a query"
        default = {"C": trained.model.C_, "scale": trained.model.scaling_.kind, "features": map_of(trained.model)}
        return f"Settings of {trained.job.name}: {label_of(default)}, which nothing could choose: {why}."
    if chosen is None:
        return None
    usual, many, metric = trained.model.trials_[0], f"{chosen['queries']:,}", chosen.get("metric", "pa")
    where = WHERE[chosen["held_out"]].format(many)
    other = f", {chosen[f'usual_{metric}']:.4f} with {label_of(usual)}" if label_of(usual) != label_of(chosen) else ""
    gain = f"the best of {len(trained.model.trials_)} trials adds {chosen['gain']:.4f}"
    if chosen["held_out"] != "validation" and chosen["error"] is not None:
        gain += f", standard error {chosen['error']:.4f}"
    value = "of pairs in order" if metric == "pa" else metric
    chosen_on = f"on {where} {chosen[metric]:.4f} {value}{other}"
    return f"Settings of {trained.job.name}: {label_of(chosen)} ({chosen_on}; {gain})."


def label_of(trial):
    """Describe C and scale of a trial."""
    kind = trial.get("features", "linear")  # missing in files of earlier versions
    return f"C = {format_C(trial['C'])}, {SCALED[trial['scale']]}{'' if kind == 'linear' else f', {kind} features'}"


def rows_by_part(trained):
    """Return a row for each of train, validation and test."""
    sizes = {part: dict(zip(SIZES, counts)) for part, counts in trained.sizes.items()}
    return [{"part": part, **sizes[part], **each} for part, each in trained.metrics.items()]


def rows_by_fold(done, part):
    """Return a row per fold with metrics of a part, and the row of means."""
    rows = []
    for trained in done:
        row = {"fold": trained.job.name, "C": report.Figure(format_C(trained.model.C_)), **trained.metrics[part]}
        rows.append({**row, **trained.steps, "seconds": trained.seconds})
    mean = means(rows)
    steps = {key: format_figure(mean[key], 1) for key in ("newton", "cg")}
    return [{**row, "seconds": format_figure(row["seconds"], 3)} for row in [*rows, {**mean, "fold": "mean", **steps}]]


def means(rows):
    """Return {key: mean} over rows; NaN if a value is NaN."""
    numbers = [key for key, value in rows[0].items() if not isinstance(value, str)]
    return {key: sum(row[key] for row in rows) / len(rows) for key in numbers}


def format_C(C):
    """Format C briefly: 0.5, 10, 2^-10."""
    plain, exponent = f"{C:.4g}", math.frexp(C)[1] - 1
    power = f"2^{exponent}"
    return power if C == 2.0**exponent and len(power) < len(plain) else plain


def format_figure(number, decimals):
    """Format a number with several decimals below 10, one below 1,000, none above."""
    return report.Figure(f"{number:.{decimals if number < 10 else int(number < 1000)}f}")


def remarks(ask, done):
    """Yield the written files and the next command."""
    if ask.plot is not None:
        yield f"Curve drawn in {ask.plot}."
    yield from filter(None, (settings(ask, trained) for trained in done))
    yield from filter(None, (edge_remark(ask, trained) for trained in done))
    for trained in done:
        if trained.constant:
            yield f"{trained.job.name}: no score depends on {trained.constant} (constant within every query)."
        outputs = report.pick(trained.job, "model scores").items()
        if written := [f"{what} in {path}" for what, path in outputs if path]:
            yield f"{trained.job.name}: {', '.join(written)}."
    if ask.folds is not None:
        yield f"Each part of {ask.path} was the test set once. Next: gpukit ranksvm {ask.path} --model FILE"
    last = done[-1].job
    if last.model is not None:
        yield f"Next: gpukit rank {last.model} {last.test or 'FILE'}"


def result(ask, done):
    """Return the --json output."""
    model = done[0].model
    facts = {"estimator": type(model).__name__, "parameters": model.get_params()}
    facts |= report.pick(ask, "metric ndcg relevant ties null grid plot folds position_bias")
    facts |= {"folds": [fold_result(trained) for trained in done]}
    return facts | {"mean": {part: means([trained.metrics[part] for trained in done]) for part in done[0].metrics}}


def fold_result(trained):
    """Return the --json output of one fold or file."""
    model, metrics = trained.model, trained.metrics
    facts = report.pick(trained.job, "name model scores") | {"files": trained.job.sources}
    facts |= report.pick(model, "device solver C objective converged stop_reason history", "_") | trained.steps
    facts |= {"scale": model.scaling_.kind, "feature_map": map_of(model), "training_seconds": trained.seconds}
    facts |= {name: getattr(model, f"{name}_", None) for name in ("chosen", "trials")}
    facts |= {"pairs": model.n_pairs_, "features": model.n_features_in_, "constant_features": trained.constant}
    facts |= {"sizes": {part: dict(zip(SIZES, size)) for part, size in trained.sizes.items()}, "metrics": metrics}
    facts |= {name: {part: getattr(each, name) for part, each in metrics.items()} for name in ("reasons", "ties")}
    return facts | report.pick(trained, "path warnings")


def draw(ask, done):
    """Draw the --plot picture: the metric by C, or for a single C the gradient by CG step."""
    with outputs.picture(ask.plot, 6) as axis:
        for trained in done:
            axis.plot(*zip(*points(ask, trained)), marker="o", markersize=3, label=trained.job.name)
        if ask.grid is None:
            axis.set(xlabel="CG steps", ylabel="gradient", yscale="log")
        else:
            axis.set_xscale("log", base=2)
            axis.set(xlabel="C", ylabel=f"{ask.metric} on the validation set")
        axis.grid(alpha=0.3)
        axis.legend()


def points(ask, trained):
    """Return [(C, metric)] of a grid, else [(cumulative CG steps, gradient norm)] after each Newton step."""
    if ask.grid is not None:
        return [(point["C"], point["validation"][ask.metric]) for point in trained.path]
    history = trained.model.history_
    return list(zip(accumulate(row["cg_steps"] for row in history), (row["gradient"] for row in history)))
