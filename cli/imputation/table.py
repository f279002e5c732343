"""Output of `gpukit impute`: lines and a table, or JSON. done: steps.Done; ask: options."""

import numpy as np

from gpukit.cli import report
from gpukit.cli.convert import describe_graph
from gpukit.cli.imputation import steps as impute_steps

METRICS = {"absolute": "mean |error|", "squared": "root mean square"}
SPECTRAL = "spectral"
COMPARISON = "On observed values hidden as values are missing, each method at its best setting"


def show(ask, done, stages):
    """Print the result: a JSON object, or the table and the seconds."""
    if ask.as_json:
        return report.print_result(result(ask, done), stages)
    for line in title(done):
        report.echo(line)
    if done.rows:
        columns = {"name": "", "setting": "setting", "error": METRICS[done.model.metric], "share": "weight"}
        report.print_table([row_of(row) for row in done.rows], columns, COMPARISON)
    notes = [f"Note: {note}" for note in done.model.notes_]
    for line in (*verdict(done), *intervals(done), *error_lines(done), *notes):
        report.echo(line)
    report.echo(stages.line())
    report.remark_all(remarks(ask, done), ask.quiet)


def title(done):
    """Yield the lines above the table."""
    model, data = done.model, done.data
    yield f"{type(model).__name__} on {model.device_}, {model.dtype}: {describe_graph(data)[1]}"
    if model._basis.is_made:
        yield f"Fourier basis: {basis(model.basis_)}"
    if data.mask.all():
        yield "Nothing is missing: the tensor is as it was."
        return
    if model.plan_ is not None and not len(model.history_.change):
        decided = ", as hidden values decided" if model.method == "auto" and model.report_ else ""
        yield f"Method: {', '.join(name for name, _ in model.plan_.members)}{decided}"
        return
    yield f"Weights {law(model.weights_, model.exponent_)}, center {model.center_}; {steps(model)}"
    ranks = f"{model.ranks_.mean():.1f} in the mean, {model.ranks_.max()} at most"
    yield f"Rank of the spectral slices: {ranks}{NO_RANKS.get(model.rank_phase_, '')}"


NO_RANKS = {"unclear": "; no ranks stood out, so none were fixed", "none": "; slices of one row have no ranks to fix"}


def basis(chosen):
    """Return a description of the Fourier basis."""
    N, K = chosen.vectors.shape
    what = f"all {N:,} eigenvectors" if chosen.exact else f"the {K:,} smoothest of {N:,} eigenvectors, an approximation"
    return f"{what}, {'from the cache' if chosen.source == 'cache' else f'computed on {chosen.source}'}"


def law(weights, exponent):
    """Return the weights, with the exponent if it is used."""
    return f"{weights}^{exponent:g}" if weights == "frequency" else weights


def steps(model):
    """Return a description of the iterations."""
    path = int((model.history_.phase == "path").sum())
    fixed, auto = len(model.history_.phase) - path, "auto" in (model.weights, model.center)
    words = f"{path} steps of falling thresholds" + (f", {fixed} of fixed ranks" if fixed else "")
    return f"{words}{', as hidden data decided' if auto and model.trials_ else ''}"


def intervals(done):
    """Yield a line about the standard deviations of imputed values."""
    coverage, filled = done.model.coverage_, ~done.data.mask
    if coverage:
        text = " and ".join(f"the {level:.0%} intervals hold {share:.0%}" for level, share in coverage.items())
        deviation = np.median(done.model.deviation_.reshape(done.data.tensor.shape)[filled])
        yield f"Standard deviation of a filled value {deviation:.3g} in the median; of hidden values {text}"


def row_of(row):
    """Return the table row of a judging.Row."""
    setting = dict(row.setting)
    if "exponent" in setting:
        setting["weights"] = law(setting["weights"], setting.pop("exponent"))
    return {
        "name": row.name,
        "setting": ", ".join(f"{key} {format_setting(value)}" for key, value in setting.items()),
        "error": report.Figure(f"{row.error:.4g}"),
        "share": f"{row.share:.0%}" if row.share else "",
    }


def format_setting(value):
    """Return a short text of a setting value."""
    most = 4  # numbers
    if isinstance(value, (list, tuple)):
        return " ".join(map(format_setting, value[:most])) + (" ..." if len(value) > most else "")
    return str(value) if value is None or isinstance(value, str) else f"{value:.3g}"


def winner(done):
    """Return the judging.Row of a better baseline, or None."""
    if done.model.plan_ is not None:
        return None
    return done.rows[0] if done.rows and done.rows[0].name != SPECTRAL else None


def verdict(done):
    """Yield a line that compares the selected method with others.

    It names a baseline with a lower error.
    """
    errors, best = {row.name: row.error for row in done.rows}, winner(done)
    if done.model.plan_ is not None and done.rows:
        name, line, least = done.model.method_, errors.get("interpolation"), done.rows[0]
        label = "the mean of methods" if name == "mix" else name
        ratio = f", {errors[name] / line:.3g} times interpolation's" if line and name != "interpolation" else ""
        better = f"; {least.name} has a lower error, {least.error:.4g}" if least.error < errors[name] else ""
        yield f"Chosen: {label}, error {errors[name]:.4g} on the hidden values{ratio}{better}"
    if best is not None:
        ours = f"the imputation {errors[SPECTRAL]:.4g}"
        yield f"A baseline is better: {best.name} has error {best.error:.4g} on the hidden values, {ours}."


def error_lines(done):
    """Yield lines about errors against the truth and about the confidence."""
    if done.truth is not None:
        relative = done.truth["relative"]
        text = "" if relative is None else f"relative error {relative:.4g}, "
        yield f"Against the truth: {text}mean |error| {done.truth['mean_absolute']:.4g} of the missing values"
    lacking = lacking_vertices(done)
    if not len(lacking) or done.confidence is None:
        return
    confidence = done.confidence[lacking]
    least = ", ".join(
        f"{vertex_name(done.data, vertex)} ({sure(done.confidence[vertex])})"
        for vertex in lacking[np.argsort(confidence, kind="stable")[:5]]
    )
    what = f"Confidence of the {len(lacking):,} vertices that miss something"
    yield f"{what}: {sure(confidence.mean())} in the mean; least of {least}"


def sure(confidence):
    """Return a short text of a confidence."""
    return ">0.999" if 0.9995 < confidence < 1.0 else f"{confidence:.3f}"


def lacking_vertices(done):
    """Return the vertices with missing values."""
    mask = done.data.mask
    return np.flatnonzero(~mask.reshape(len(mask), -1).all(axis=1))


def vertex_name(data, vertex):
    """Return a vertex's id, or its index."""
    return int(vertex) if data.vertices is None else data.vertices[vertex]


def remarks(ask, done):
    """Yield remarks about written files and next steps."""
    if ask.plot is not None:
        yield f"Picture drawn in {ask.plot}."
    unwritten = "Nothing was written; --output FILE keeps the completed tensor."
    yield unwritten if ask.output is None else f"The completed tensor is in {ask.output}."


def result(ask, done):
    """Return the --json output."""
    data, model = done.data, done.model
    sizes, _ = describe_graph(data)
    lacking, confidence = lacking_vertices(done), None
    if done.confidence is not None:
        names, values = [vertex_name(data, vertex) for vertex in lacking], done.confidence[lacking]
        confidence = {"mean": mean(values), "vertices": names, "values": values}
    rank = {"phase": model.rank_phase_, "mean": mean(model.ranks_), "largest": int(model.ranks_.max(initial=0))}
    trials = [describe_trial(trial) for trial in model.trials_]
    basis = report.pick(model.basis_, "exact source seconds") if model._basis.is_made else None
    facts = {"estimator": type(model).__name__, "parameters": model.get_params()}
    facts |= {"files": impute_steps.sources(ask), **report.pick(ask, "output plot")}
    facts |= {name: sizes[name] for name in ("vertices", "edges", "slice", "missing", "missing_kind")}
    facts |= {"complete": bool(data.mask.all()), "decided": impute_steps.describe_options(model)["decided"]}
    facts |= {"trials": trials, "basis": basis and basis | {"size": len(model.basis_.values)}}
    facts |= {"rank": {**rank, "slices": model.ranks_}, "history": model.history_._asdict()}
    facts |= {"comparison": [row._asdict() for row in done.rows], "confidence": confidence}
    facts |= {"baseline_wins": winner(done) is not None if done.rows else None}
    return facts | report.pick(done, "truth warnings") | report.pick(model, "device notes", "_")


def describe_trial(trial):
    """Return the setting and the error of a trial for JSON."""
    setting = report.pick(trial.setting, " ".join(impute_steps.DECIDED))
    return setting | {**trial.setting.options._asdict(), "error": trial.error}


def mean(values):
    """Return the mean of an array, None if it is empty."""
    return float(np.mean(values)) if len(values) else None
