"""`gpukit impute --model`: impute new readings with a fitted imputer."""

import click
import numpy as np

from gpukit.cli import models, outputs, report
from gpukit.cli.convert import describe_graph
from gpukit.cli.imputation import steps
from gpukit.errors import ModelError, ParameterError
from gpukit.graphs.completed import is_table
from gpukit.graphs.tensor import Graph
from gpukit.persist import atomic_write

TAKEN = {  # options for input and output
    *("path", "tensor", "times", "layout", "columns", "missing_value", "slice_shape", "output", "force", "model"),
    *("save_model", "window", "device", "quiet", "as_json", "seed"),
}


def check(ctx, ask):
    """Reject options that apply only to a fit, and --window without a model."""
    if ask.model is None:
        if ask.window is not None:
            raise ParameterError("--window is how much a fitted imputer keeps: give it with --model and --save-model.")
        return
    default = click.core.ParameterSource.DEFAULT
    unused = [name for name in ctx.params if name not in TAKEN and ctx.get_parameter_source(name) != default]
    if unused:
        options = ", ".join(
            parameter.opts[0] for name in unused for parameter in ctx.command.params if parameter.name == name
        )
        raise ParameterError(f"--model fills in as it was fitted, on its graph: leave out {options}.")
    if ask.window is not None and ask.save_model is None:
        raise ParameterError("--window is how much the imputer of --save-model keeps: give that too.")


def run(ctx, ask, stages):
    """Read the data, fill them in, write and report."""
    model, _ = models.open_model(ask.model, ask.device, stages, ("GraphImputer",))
    graph = graph_of(model, ask.model)
    data = steps.load(ask, edges=graph)
    stages.done("reading")
    if ask.save_model is None:
        completed = model.transform(data)
    else:
        completed = model.extend(data, window=ask.window)
        model.save(ask.save_model)
    stages.done("filling")
    if ask.output is not None:
        write(ask, data, completed, model)
        stages.done("writing")
    show(ask, data, model, stages)


def graph_of(model, path):
    """Return the Graph of a fitted imputer."""
    adjacency = getattr(model, "adjacency_", None)
    if adjacency is None:
        raise ModelError(
            f"{path} was fitted by the paper's algorithm by itself and keeps no graph: transform(), in Python, takes "
            "arrays; or fit with --method auto and keep that."
        )
    return Graph(adjacency, model.vertices_)


def write(ask, data, completed, model):
    """Write a completed table, or an .npz with tensor and observed."""
    if is_table(ask.output):
        return steps.write_table(ask, data, model, completed)
    shape = completed.shape
    mask = data.mask if data.mask.ndim == 1 else data.mask.reshape(shape)
    arrays = {"tensor": completed, "observed": mask, **steps.labels(data)}
    with atomic_write(ask.output) as aside, open(aside, "wb") as file:
        np.savez(file, **arrays)


def show(ask, data, model, stages):
    """Print the result."""
    if ask.as_json:
        header = {"command": "impute", "estimator": type(model).__name__, "model": ask.model, "method": model.method_}
        more = {"missing": data.missing_share, "output": ask.output, "save_model": ask.save_model}
        report.print_json({**header, **more, "files": [steps.values_file(ask)], "seconds": stages.seconds})
        return
    _, line = describe_graph(data)
    report.echo(f"{type(model).__name__} of {ask.model}: {line}; method {model.method_}, as it was fitted")
    report.echo(stages.line())
    if ask.output is not None:
        report.remark(f"The completed tensor is in {ask.output}.", ask.quiet)
    if ask.save_model is not None:
        report.remark(f"The imputer with the new readings is in {ask.save_model}.", ask.quiet)


def check_files(ask, reads):
    """Raise DataError if the model file cannot be written."""
    outputs.check_output(ask.save_model, "--save-model", reads, ask.force)
