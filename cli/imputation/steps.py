"""Steps of `gpukit impute`. ask: options by name; data: graphs.GraphTensor."""

import json
from typing import NamedTuple

import numpy as np

from gpukit._pool import map_row_blocks
from gpukit._version import __version__
from gpukit.cli import report, teams
from gpukit.cli.convert import describe_graph
from gpukit.cli.main import set_interrupt_message
from gpukit.errors import DataError, ParameterError
from gpukit.graphs import read_graph
from gpukit.graphs.adopt import reduce_mask, validate_tensor
from gpukit.graphs.completed import SUFFIXES, Spelling, is_table, write_completed
from gpukit.graphs.graph_builders import read_coordinates
from gpukit.graphs.read import check_copy
from gpukit.imputation.problem import spread
from gpukit.imputation.serve import setting_of
from gpukit.io import sinks
from gpukit.persist import atomic_open
from gpukit.timing import COMPILING

DECIDED = ("weights", "exponent", "center")


class Done(NamedTuple):
    """Result of an imputation.

    rows: [judging.Row], best first, or []. truth: dict of errors or None. warnings: texts.
    """

    data: object
    model: object
    rows: list
    truth: dict | None
    warnings: list

    @property
    def confidence(self):
        """Confidence of the vertices, (N,); None if neither requested nor computed by the method."""
        return self.model.confidence_ if self.model._basis.is_made else None


def sources(ask):
    """Return the input files; ParameterError if they are ambiguous."""
    if (ask.path is None) == (ask.tensor is None):
        raise ParameterError("give one file FILE, a table or an .npz, or --tensor FILE.")
    graphs = [path for path in (ask.edges, ask.coordinates, ask.distances) if path is not None]
    if len(graphs) > 1:
        raise ParameterError("the graph is in --edges, --coordinates or --distances: give one of the three.")
    if ask.nearest is not None and ask.edges is not None:
        raise ParameterError(f"--nearest {ask.nearest} makes a graph, and --edges passes one: leave one of them out.")
    graphs += [] if ask.times is None else [ask.times]
    return [*graphs, values_file(ask), *([] if ask.model is None else [ask.model])]


def values_file(ask):
    return ask.path if ask.tensor is None else ask.tensor


def seconds_on_one_gpu(ask):
    """Return the estimated seconds of an imputation that GPUs can share, or None."""
    return None if ask.model else teams.seconds_of_tensor(values_file(ask), ask.method, ask.iterations)


def check_form(ask):
    """Raise ParameterError if --output cannot be written in the form of its suffix."""
    source = values_file(ask)
    arrays = source.lower().endswith((".npz", ".npy")) or sinks.is_stream(source)
    if not is_table(ask.output):
        if not arrays and not ask.output.lower().endswith(".npz"):
            raise ParameterError(f"--output {ask.output} must end in {', '.join(SUFFIXES)} (table) or .npz (arrays).")
        check_copy(ask.output)
    elif arrays:
        raise ParameterError(f"--output {ask.output} must end in .npz: tables are written for input that is a table.")


def build(ask):
    """Return the unfitted estimator of the options."""
    from gpukit.imputation import GraphImputer

    names = "method metric minimum maximum weights center iterations tolerance basis_size dtype device"
    more = {"accelerate": not ask.no_acceleration, "rank_phase": not ask.no_rank_phase, "random_state": ask.seed}
    return GraphImputer(decay=ask.lambda_decay, **report.pick(ask, names), **more)


def run(ask, stages, team):
    """Read, impute, write and evaluate; return Done.

    team: ranks that share the computation.
    """
    data = load(ask)
    stages.done("reading")
    model, warnings = fit(ask, data, stages, team)
    if ask.confidence:
        model._basis.get()
        stages.done("basis")
    if ask.save_model is not None:
        model.save(ask.save_model)
    if ask.output is not None:
        shape = data.tensor.shape if data.given is None else data.given
        write(ask, data, model, model.completed_, {} if is_table(ask.output) else details(model, shape))
        set_interrupt_message(f"{ask.output} is whole.")
        stages.done("writing")
    done = evaluate(ask, Done(data, model, [], None, warnings))
    stages.done("evaluating")
    return done


def load(ask, edges=None):
    """Return the GraphTensor of the options; edges: a Graph that replaces the file."""
    edges = ask.edges if edges is None else edges
    with report.collect_warnings(ask.silent):
        ask.places = None if ask.coordinates is None else read_coordinates(ask.coordinates)
        arguments = report.pick(ask, "tensor slice_shape layout columns distances times")
        data = read_graph(ask.path, edges=edges, neighbors=ask.nearest, coordinates=ask.places, **arguments)
    if ask.missing_value is not None:
        data = mask_value(data, ask.missing_value)
    report.remark(f"{values_file(ask)}: {describe_graph(data)[1]}.", ask.silent)
    is_graph_given = (ask.model, ask.edges, ask.coordinates, ask.distances) != (None, None, None, None)
    if not is_graph_given and not str(ask.path).lower().endswith(".npz"):
        text = "No graph was given: vertices are joined to those with the most similar series."
        report.remark(f"{text} --edges, --coordinates or --distances say more.", ask.silent)
    return data


def mask_value(data, value):
    """Return a GraphTensor with all entries of a value missing.

    DataError if no value is left.
    """
    mask = np.broadcast_to(spread(data.mask), data.tensor.shape)
    with np.errstate(over="ignore"):  # values beyond the range of float32 do not occur
        mask = mask & (data.tensor != data.tensor.dtype.type(value))
    if not mask.any():
        raise DataError(f"Nothing is observed: all values are missing, or {value:g} (--missing-value).")
    return validate_tensor(data._replace(tensor=np.where(mask, data.tensor, 0), mask=reduce_mask(mask)))


def fit(ask, data, stages, team):
    """Return (fitted GraphImputer, warning texts)."""
    model = build(ask)
    with report.collect_warnings(ask.silent) as warnings, report.Progress(ask.quiet) as progress:
        model.fit(data, progress=progress, team=team)
    stages.done("choosing" if model.trials_ else "preparing", stretches(model.stages_))
    return model, warnings


def stretches(seconds):
    """Return seconds by part that add up: `iterations` excludes parts measured inside."""
    inside = {name: spent for name, spent in seconds.items() if name not in ("basis", "iterations", COMPILING)}
    rest = {"iterations": max(seconds["iterations"] - sum(inside.values()), 0.0)} if "iterations" in seconds else {}
    return {**{name: seconds[name] for name in ("basis",) if name in seconds}, **inside, **rest}


def write(ask, data, model, completed, more):
    """Write the completed tensor as the input table, filled in, or as an .npz with {name: array} more."""
    if is_table(ask.output):
        mask = np.broadcast_to(spread(data.mask), data.tensor.shape).reshape(len(data.mask), -1)
        fitted = model._fitted_options
        spelling = Spelling(np.dtype(model.dtype), fitted.minimum, fitted.maximum)
        options = {"ids": data.vertices, "spelling": spelling, **report.pick(ask, "layout columns")}
        options["alone"] = ask.edges is None and ask.model is None
        return write_completed(ask.output, values_file(ask), completed.reshape(mask.shape), mask, **options)
    shape = data.tensor.shape if data.given is None else data.given
    mask = data.mask if data.mask.ndim == 1 else data.mask.reshape(shape)
    with atomic_open(ask.output) as file:
        np.savez(file, tensor=completed.reshape(shape), observed=mask, **more, **labels(data))


def details(model, shape):
    """Return {name: array} of a fitted model for an .npz with tensors of a shape."""
    basis = {"confidence": model.confidence_, "frequencies": model.basis_.values} if model._basis.is_made else {}
    arrays = {f"history_{name}": array for name, array in model.history_._asdict().items()}
    options = np.array(json.dumps(report.to_json_value(describe_options(model))))
    return {"deviation": model.deviation_.reshape(shape), "ranks": model.ranks_, **basis, **arrays, "options": options}


def labels(data):
    """Return {vertices, times} of a GraphTensor, as far as known."""
    arrays = {} if data.vertices is None else {"vertices": data.vertices}
    if data.times is None:
        return arrays
    flat = data.given is not None and len(data.given) < 3
    return arrays | {"times": data.times.ravel() if flat else data.times}


def describe_options(model):
    """Return the options as requested and as decided."""
    decided = {name: getattr(model, f"{name}_") for name in DECIDED}
    decided |= model.options_._asdict()
    return {"gpukit": __version__, "asked": model.get_params(), "decided": decided, "device": model.device_}


def evaluate(ask, done):
    """Return Done with the comparison on hidden values and errors against any truth."""
    data, model = done.data, done.model
    if data.mask.all():
        return done
    if model.plan_ is not None:
        done = done._replace(rows=model.report_)
    elif ask.baselines:
        with report.collect_warnings(ask.silent) as warnings:
            done = done._replace(rows=model.prepare(data).compare(setting_of(model)))
        done.warnings.extend(warnings)
    return done if data.truth is None else done._replace(truth=errors_of(model.completed_, data.truth, ~data.mask))


def errors_of(estimate, truth, where):
    """Return {relative, mean_absolute} errors of an estimate, in any shape of N m n numbers, against a truth (N, m, n).

    relative: ||estimate - truth|| / ||truth|| over the whole tensor, which differs from the truth under the mask alone.
    mean_absolute: under the mask `where`.
    """

    def sums_of(rows):
        true = truth[rows].astype(np.float64)
        errors = (estimate[rows].reshape(true.shape) - true)[where[rows]]
        return errors.size, np.abs(errors).sum(), np.square(errors).sum(), np.square(true).sum()

    count, absolute, squares, size = np.sum(map_row_blocks(sums_of, (len(truth), truth[0].size)), axis=0).tolist()
    return {"relative": np.sqrt(squares / size).item() if size else None, "mean_absolute": absolute / count}
