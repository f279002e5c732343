"""`gpukit impute --model`: impute new readings with a fitted imputer."""

import click

from gpukit.cli import models, report
from gpukit.cli.convert import describe_graph
from gpukit.cli.imputation import steps
from gpukit.errors import ModelError, ParameterError
from gpukit.graphs.tensor import Graph

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
    given = [one for one in ctx.command.params if ctx.get_parameter_source(one.name) != default]
    unused = ", ".join(one.opts[0] for one in given if one.name not in TAKEN)
    if unused:
        raise ParameterError(f"--model fills in as it was fitted, on its graph: leave out {unused}.")
    if ask.window is not None and ask.save_model is None:
        raise ParameterError("--window is how much the imputer of --save-model keeps: give that too.")


def run(ctx, ask, stages):
    """Read the data, fill them in, write and report."""
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
    show(ask, data, model, stages)


def show(ask, data, model, stages):
    """Print the result."""
    if ask.as_json:
        header = {"command": "impute", "estimator": type(model).__name__, "model": ask.model, "method": model.method_}
        more = {"missing": data.missing_share, "output": ask.output, "save_model": ask.save_model}
        return report.print_json({**header, **more, "files": [steps.values_file(ask)], "seconds": stages.seconds})
    _, line = describe_graph(data)
    report.echo(f"{type(model).__name__} of {ask.model}: {line}; method {model.method_}, as it was fitted")
    report.echo(stages.line())
    if ask.output is not None:
        report.remark(f"The completed tensor is in {ask.output}.", ask.quiet)
    if ask.save_model is not None:
        report.remark(f"The imputer with the new readings is in {ask.save_model}.", ask.quiet)
