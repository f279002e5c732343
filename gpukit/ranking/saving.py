"""The model file of a RankSVM (written by gpukit.persist), its weights as text, and its ONNX graph.

The graph takes features (l, n) in float64 to scores (l,), by operators of opset 17, which onnxruntime computes in
float64 on the CPU:

    columns    Gather: those with entries, if the model has columns_
    scaling    Sub, Mul
    linear     Gemm: the weights of the scaled features
    thresholds Gather, Greater, Cast, Gemm: heights times weights
    fourier    Gemm, Cos, Gemm
"""

import numpy as np

from gpukit import persist
from gpukit.base import check_choice
from gpukit.errors import DataError, ParameterError
from gpukit.io import trust
from gpukit.io.records import check_letters
from gpukit.ranking.feature_map import KINDS as MAPS
from gpukit.ranking.feature_map import width
from gpukit.ranking.scaling import FITTED, KINDS, Scaling

FACTS = dict.fromkeys(("objective", "gradient_norm", "C"), int | float)
FACTS |= dict.fromkeys(("n_pairs", "n_queries", "n_iter", "n_cg"), int)
FACTS |= {"converged": bool, "solver": str, "device": str, "history": list, "timings": dict}
OPTIONAL = {"path": list, "metric": str}  # of fit_path
OPTIONAL |= {"chosen": dict, "trials": list}  # if C was "auto"
OPTIONAL |= {"evals_result": dict, "stop_reason": str}  # if fit had an eval_set; missing in files of earlier versions


def pack_model(model):
    """Return (facts, arrays) of a fitted RankSVM."""
    names, entries = getattr(model, "feature_names_in_", None), persist.facts_of(model, FACTS | OPTIONAL)
    facts = {"kept": entries, "scale": model.scaling_.kind, "feature_names": None if names is None else names.tolist()}
    ranges = {} if model.scaling_.low is None else {"low": model.scaling_.low, "factor": model.scaling_.factor}
    if model.feature_map_ is not None:
        facts["features"], facts["n_features"] = model.feature_map_.kind, model.n_features_in_
        ranges |= {f"map_{name}": array for name, array in model.feature_map_._asdict().items()}
    if hasattr(model, "columns_"):
        facts["n_features"], ranges["columns"] = model.n_features_in_, model.columns_
    return facts, {"coef": model.coef_, **ranges}


def unpack(model, facts, arrays):
    """Restore a RankSVM from the results of `pack_model`; DataError for invalid ones."""
    weights = arrays["coef"].size
    model.feature_map_, size = _map(facts, arrays, weights)
    kind = check_choice("scale in its header", facts.get("scale"), KINDS)
    names = ("coef", "low", "factor") if kind in FITTED else ("coef",)
    for name in names:
        trust.check_array(name, arrays[name], np.float64, (weights if name == "coef" else size,))
        trust.check_finite(name, arrays[name])
    persist.restore_facts(model, persist.entry_of(facts, "kept", dict), FACTS | OPTIONAL, OPTIONAL)
    for name in ("history", "path", "trials"):
        for step in getattr(model, f"{name}_", ()):
            persist.entry_of({f"a step of {name}": step}, f"a step of {name}", dict)
    columns = _names(persist.entry_of(facts, "feature_names", list | None), size)
    model.coef_, model.n_features_in_ = arrays["coef"], size
    if "columns" in arrays:
        model.n_features_in_ = persist.entry_of(facts, "n_features", int)
        model.columns_ = _columns(arrays["columns"], size, model.n_features_in_)
    model.scaling_ = Scaling(kind, *(arrays[name] for name in names[1:]))
    if columns is not None:
        model.feature_names_in_ = columns


def _map(facts, arrays, weights):
    """Return (the validated map of a model with this number of weights or None, its number of features)."""
    if "features" not in facts:
        return None, weights
    kind, size = (
        check_choice("features in its header", facts["features"], MAPS),
        persist.entry_of(facts, "n_features", int),
    )
    feature_map = MAPS[kind](*(arrays[f"map_{name}"] for name in MAPS[kind]._fields))
    feature_map.check(size)
    if size < 1 or width(feature_map, size) != weights:
        raise DataError(f"it has {weights:,} weights for {size:,} features and {feature_map.extra:,} of their {kind}.")
    return feature_map, size


def _columns(columns, size, n_features):
    """Return columns (k,) int64, validated: ascending and below n_features."""
    trust.check_array("columns", columns, np.int64, (size,))
    if (np.diff(columns, prepend=-1) <= 0).any() or columns[-1] >= n_features:
        raise DataError(f"its columns do not ascend below {n_features:,}.")
    return columns


def _names(names, size):
    """Return a list of feature names as (n,) object, or None."""
    if names is None:
        return None
    if len(names) != size or not all(isinstance(name, str) for name in names):
        raise DataError(f"its feature names are no {size:,} texts.")
    return np.array(names, object)


def save_text(path, model):
    """Write the weights as text, see RankSVM.save_text. Numbers are read back exactly."""
    if model.feature_map_ is not None:
        raise DataError(
            f"A model with features={model.feature_map_.kind!r} has no text of one weight per feature. Use save() or "
            "save_onnx() (gpukit export MODEL model.onnx), or train with features='linear'."
        )
    names = names_of_lines(model, path)
    lines = [f"# linear RankSVM of gpukit; C={model.C_!r}; score = sum of weight * feature, higher is better\n"]
    if model.scaling_.kind in FITTED:
        lines.append("# index:weight:low:factor, where (feature - low) * factor is what the weight is for\n")
    numbers = getattr(model, "columns_", np.arange(len(model.coef_))) + 1
    columns = [numbers.tolist(), model.coef_.tolist()]
    if model.scaling_.low is not None:
        columns += [model.scaling_.low.tolist(), model.scaling_.factor.tolist()]
    for k, line in enumerate(zip(*columns)):
        suffix = "" if names is None else f" # {names[k]}"
        lines.append(":".join(map(repr, line)) + suffix + "\n")
    with persist.atomic_write(path) as aside, open(aside, "w", encoding="utf-8") as file:
        file.writelines(lines)


def names_of_lines(model, path):
    """Return the names (n,) of a model's features or None; DataError for a name of several lines."""
    names = getattr(model, "feature_names_in_", None)
    for name in map(str, () if names is None else names):
        check_letters(name, f"{path}: the feature name")
        if name.splitlines() not in ([name], []):
            raise DataError(
                f"{path}: the feature name {name!r} has a line end, and the file has a name per line. Rename it."
            )
    return names


class Graph:
    """Nodes and constants of an ONNX graph under construction; values are referred to by name."""

    def __init__(self, onnx):
        self.onnx, self.nodes, self.constants = onnx, [], []

    def constant(self, array):
        """Add an array; return its name."""
        name = f"constant_{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def add(self, operator, *inputs, output=None, **attributes):
        """Add a node of names and arrays; return the name of its output."""
        names = [value if isinstance(value, str) else self.constant(value) for value in inputs]
        output = output or f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, names, [output], **attributes))
        return output


def save_onnx(path, model):
    """Write a fitted RankSVM as an ONNX model, see RankSVM.save_onnx."""
    onnx, names = import_onnx(), names_of_lines(model, path)
    graph, opset, ir = Graph(onnx), 17, 8  # versions of 2022, which current runtimes read
    add_scores(graph, model)
    shapes = {"features": ["documents", int(model.n_features_in_)], "scores": ["documents"]}
    ends = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.DOUBLE, shape) for name, shape in shapes.items()]
    onnx_graph = onnx.helper.make_graph(graph.nodes, "RankSVM", ends[:1], ends[1:], graph.constants)
    opsets = [onnx.helper.make_opsetid("", opset)]
    onnx_graph = onnx.helper.make_model(onnx_graph, opset_imports=opsets, ir_version=ir, producer_name="gpukit")
    if names is not None:
        onnx.helper.set_model_props(onnx_graph, {"feature_names": "\n".join(map(str, names))})
    onnx.checker.check_model(onnx_graph)
    with persist.atomic_open(path) as file:
        file.write(onnx_graph.SerializeToString())


def import_onnx():
    """Return onnx; raise ParameterError if it is not installed."""
    try:
        import onnx
    except ImportError:
        raise ParameterError("ONNX export needs onnx, which is not installed: pip install 'gpukit[onnx]'.") from None
    return onnx


def add_scores(graph, model):
    """Add the nodes from "features" to "scores" to a Graph."""
    X, scaling, features = "features", model.scaling_, model.feature_map_
    if hasattr(model, "columns_"):
        X = graph.add("Gather", X, model.columns_, axis=1)
    if scaling.kind in FITTED:
        X = graph.add("Mul", graph.add("Sub", X, scaling.low), scaling.factor)
    n = len(model.coef_) - (features.extra if features else 0)
    scores, weights = graph.add("Gemm", X, model.coef_[:n, None]), model.coef_[n:]
    if features and features.extra:
        if features.kind == "thresholds":
            above = graph.add("Greater", graph.add("Gather", X, features.columns, axis=1), features.values)
            extra, weights = graph.add("Cast", above, to=graph.onnx.TensorProto.DOUBLE), weights * features.heights
        else:
            extra = graph.add("Cos", graph.add("Gemm", X, features.directions, features.phases))
        scores = graph.add("Gemm", extra, weights[:, None], scores)
    graph.add("Reshape", scores, np.array([-1], np.int64), output="scores")
