"""`gpukit impute`: impute the missing values of a tensor on a graph."""

import click
import numpy as np

from gpukit.cli import models, options, outputs, report
from gpukit.cli.convert import describe_graph
from gpukit.cli.imputation import plot, steps, table
from gpukit.cli.options import option, slices
from gpukit.cli.teams import run_as_team
from gpukit.device import capability_of, start_driver, start_warm_up
from gpukit.errors import ModelError, ParameterError
from gpukit.graphs.graph_builders import select
from gpukit.graphs.tensor import Graph
from gpukit.imputation.options import METHODS, METRICS
from gpukit.imputation.problem import CENTERS
from gpukit.imputation.spectral.path import WEIGHTS

SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)
AT_LEAST_1, LAYOUT = click.IntRange(min=1), click.Choice(["rows", "columns", "long"])
NAMING = options.Naming(
    {"basis_size": "--basis-size", "lambda_decay": "--lambda-decay"},
    {word: f"--{word}" for word in ("method", "iterations", "tolerance")},
)

TAKEN = {  # options of --model
    *("path", "tensor", "times", "layout", "columns", "missing_value", "slice_shape", "output", "force", "model"),
    *("save_model", "window", "device", "quiet", "as_json", "seed"),
}

SPECTRAL_ONLY = {  # options of the method spectral, which auto tries too
    *("weights", "center", "lambda_decay", "iterations", "tolerance", "no_acceleration", "no_rank_phase"),
}


@options.command()
@options.argument("path", metavar="[FILE]", required=False)
@option("--edges FILE", "Graph of the sensors: a list of edges or an adjacency (text, Parquet, .npz, .npy).")
@option("--tensor FILE", "The values, in place of FILE.")
@option("--coordinates FILE", "Positions, instead of --edges: label, latitude and longitude, or x and y.")
@option("--distances FILE", "Distances, instead of --edges: two labels and a distance, or a square table.")
@option("--nearest K", "Neighbours of a sensor without --edges.  [default: 8; of --distances by weight]", AT_LEAST_1)
@slices("Rows and columns of a vertex's matrix, if the file has its numbers in a row.")
@option("--layout", "Where a sensor is in the table, or long: a line per reading.  [default: detected]", LAYOUT)
@option("--columns NAMES", "Columns in order: time,sensor,-,value (-: kept) or time,value,... of sensors.")
@option("--times FILE", "Times of the columns: dates or numbers, one per line, or .npy. An .npz has its own, `times`.")
@option("--missing-value V", "A number that means missing, such as -999 or 0, besides empty fields and nan.", float)
@option("--output -o FILE", "Write the completed tensor (.npz) or table (.csv, .tsv, .txt, .parquet) here.")
@options.force
@option("--save-model FILE", "Save the fitted imputer here, for --model and gpukit.load_model.")
@option("--model FILE", "Use a saved imputer and its graph; with --save-model it is saved with the new readings.")
@option("--window T", "Number of times that a saved imputer keeps, the latest.  [default: all]", AT_LEAST_1)
@option("--method NAME", f"{', '.join(METHODS)}; auto: the best on hidden values, or a mean.", ("auto", *METHODS))
@option("--metric", "Metric of errors on hidden values.", METRICS, "absolute")
@option("--min minimum V", "Least imputed value.", float)
@option("--max maximum V", "Greatest imputed value.", float)
@option("--weights", "Relative thresholds of the spectral slices; auto: by hidden data.", ("auto", *WEIGHTS))
@option("--center", "Mean that is subtracted and added back; auto: by hidden data.", ("auto", *CENTERS))
@option("--lambda-decay C", "Factor of the thresholds per step.  [default: ends at 0.001, or by --weights]", SHARE)
@option("--iterations", "Steps of the falling thresholds.", AT_LEAST_1, 20)
@option("--tolerance", "Stop at this squared change of a step, relative to the estimate.", click.FloatRange(0), 1e-8)
@option("--no-acceleration", "Plain steps, as the paper's, without momentum.", bool)
@option("--no-rank-phase", "No steps of fixed ranks after the falling thresholds.", bool)
@option("--baselines", "Compare with simple methods on hidden values.", bool)
@option("--basis-size K", "Use only the K smoothest eigenvectors of the graph.  [default: all]", AT_LEAST_1)
@option("--confidence", "Report the confidence of each vertex even if the method needs no Fourier basis.", bool)
@option("--dtype", "Of the computation; the output has the tensor's.", ("float32", "float64"))
@option("--plot FILE", "Draw errors by method, and the largest gaps or slices: .png, .pdf or .svg.")
@options.shared_options
@options.on_ranks
@options.dask
def impute(ask, stages):
    """Fill in what is missing of the series of sensors, or of matrices on the vertices of a graph.

    FILE is a table as text or Parquet, times by sensors, sensors by times, or a line a reading (time, sensor, value).
    The graph is in --edges, or made: of --coordinates, of --distances, or of how alike the series are. With --output
    the same table comes back, what was observed as it was.

    Or FILE is an .npz with `tensor` (N, m, n) or (N, n), NaN for missing, and `adjacency` (N, N), or its CSR parts, or
    `edges` (E, 2) [`weights`]; optional `mask` (True = observed), `vertices` (ids), `truth`, `times` (numbers or dates,
    one for each place of the last axis). Written are the tensor, what is observed as it was, to the bit, `times`, and
    for each vertex how far the observed ones determine it (`confidence`, 0 to 1) where a method needed the graph's
    Fourier basis or --confidence is given.

    \b
    gpukit impute speed.csv --output filled.csv
    gpukit impute speed.csv --edges adjacency.csv --output filled.csv --plot speed.png
    gpukit impute readings.parquet --coordinates stations.csv --output filled.parquet
    gpukit impute speed.csv --edges adjacency.csv --save-model speed.gpukit
    gpukit impute hour.csv --model speed.gpukit --output filled.csv
    gpukit impute graph.npz --output full.npz
    gpukit impute graph.npz --output full.npz --gpus 2
    gpukit impute graph.npz --weights slice --center none --no-acceleration --no-rank-phase    the paper's algorithm
    """
    start_driver(ask.device)
    check(ask)
    check_resumed(ask)
    check_method_options(ask)
    with NAMING.named():
        steps.build(ask).check()  # raises for invalid parameters before anything is read
    start_warm_up(ask.device, products=True)  # raises if the device does not exist
    with (
        run_as_team(ask, (), lambda: steps.seconds_on_one_gpu(ask)) as team,
        NAMING.named(),
    ):  # only the first rank reads
        if ask.model is not None:
            return None if team.rank else resume(ask, stages)
        if team.rank:  # the first rank reads, reports and writes
            from gpukit.imputation.distributed.completion import help_fit

            return help_fit(steps.build(ask), team, keep=False)
        job = "graphs" if str(steps.values_file(ask)).endswith(".npz") else "tables"
        report.compile_ahead(ask, team, job, capability=capability_of(ask.device), reads=steps.sources(ask))
        stages.done("start")
        done = steps.run(ask, stages, team)
    if ask.plot is not None:
        ids = np.arange(len(done.data.tensor)) if done.data.vertices is None else done.data.vertices
        plot.draw(ask.plot, done, None if ask.places is None else select(ask.places, ids))
        stages.done("writing")
    table.show(ask, done, stages)


def check(ask):
    """Raise for contradictory options and unwritable files, before the computation."""
    reads = steps.sources(ask)
    for name in ("output", "plot", "save_model"):
        outputs.check_output(getattr(ask, name), f"--{name.replace('_', '-')}", reads, ask.force)
    if ask.output is not None:
        steps.check_form(ask)
    outputs.check_plot(ask.plot)


def check_method_options(ask):
    """Reject options of the method spectral with another method, which would ignore them."""
    unused = "" if ask.method in ("auto", "spectral") else options.given_options(SPECTRAL_ONLY.__contains__)
    if unused:
        raise ParameterError(
            f"--method {ask.method} does not use {unused}, of the method spectral: leave {unused} out, or give "
            "--method spectral."
        )


def check_resumed(ask):
    """Reject options that apply only to a fit, and --window without a model."""
    if ask.model is None:
        if ask.window is not None:
            raise ParameterError("--window is how much a fitted imputer keeps: give it with --model and --save-model.")
        return
    unused = options.given_options(lambda name: name not in TAKEN)
    if unused:
        raise ParameterError(f"--model fills in as it was fitted, on its graph: leave out {unused}.")
    if ask.window is not None and ask.save_model is None:
        raise ParameterError("--window is how much the imputer of --save-model keeps: give that too.")


def resume(ask, stages):
    """Impute new readings with a fitted imputer: read, fill in, write and report."""
    model, _ = models.open_model(ask.model, ask.device, stages, ("GraphImputer",))
    adjacency = getattr(model, "adjacency_", None)
    if adjacency is None:
        raise ModelError(
            f"{ask.model} was fitted by the paper's algorithm by itself and keeps no graph: transform(), in Python, "
            "takes arrays; or fit with --method auto and keep that."
        )
    data = steps.load(ask, edges=Graph(adjacency, model.vertices_))
    stages.done("reading")
    if ask.save_model is None:
        completed = model.transform(data)
    else:
        completed = model.extend(data, window=ask.window)
        model.save(ask.save_model)
    stages.done("filling")
    if ask.output is not None:
        steps.write(ask, data, model, completed, {})
        stages.done("writing")
    show_resumed(ask, data, model, stages)


def show_resumed(ask, data, model, stages):
    """Print the result of `resume`."""
    if ask.as_json:
        facts = {"estimator": type(model).__name__, "model": ask.model, "method": model.method_}
        facts |= {"missing": data.missing_share, **report.pick(ask, "output save_model")}
        return report.print_result({**facts, "files": [steps.values_file(ask)]}, stages)
    _, line = describe_graph(data)
    report.echo(f"{type(model).__name__} of {ask.model}: {line}; method {model.method_}, as it was fitted")
    report.echo(stages.line())
    if ask.output is not None:
        report.remark(f"The completed tensor is in {ask.output}.", ask.quiet)
    if ask.save_model is not None:
        report.remark(f"The imputer with the new readings is in {ask.save_model}.", ask.quiet)
