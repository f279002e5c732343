"""Export of a RankSVM as an ONNX graph: features (l, n) in float64 to scores (l,).

    columns    Gather: those with entries, if the model has columns_
    scaling    Sub, Mul
    linear     Gemm: the weights of the scaled features
    thresholds Gather, Greater, Cast, Gemm: heights times weights
    fourier    Gemm, Cos, Gemm

Operators of opset 17, which onnxruntime computes in float64 on the CPU.
"""

import numpy as np

from gpukit import persist
from gpukit.errors import DataError, ParameterError
from gpukit.ranking.scaling import FITTED


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
    onnx = import_onnx()
    if model.scaling_.kind == "query":
        raise DataError(
            "A model with scale='query' has no ONNX graph, because its scores depend on the other documents of the "
            "query. Train with another scale (--scale deviation)."
        )
    graph, opset, ir = Graph(onnx), 17, 8  # versions of 2022, which current runtimes read
    add_scores(graph, model)
    shapes = {"features": ["documents", int(model.n_features_in_)], "scores": ["documents"]}
    ends = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.DOUBLE, shape) for name, shape in shapes.items()]
    onnx_graph = onnx.helper.make_graph(graph.nodes, "RankSVM", ends[:1], ends[1:], graph.constants)
    opsets = [onnx.helper.make_opsetid("", opset)]
    onnx_graph = onnx.helper.make_model(onnx_graph, opset_imports=opsets, ir_version=ir, producer_name="gpukit")
    names = getattr(model, "feature_names_in_", None)
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
    scores = graph.add("Gemm", X, model.coef_[:n, None])
    if features and features.extra:
        extra, weights = ADD[features.kind](graph, X, features, model.coef_[n:])
        scores = graph.add("Gemm", extra, weights[:, None], scores)
    graph.add("Reshape", scores, np.array([-1], np.int64), output="scores")


def add_thresholds(graph, X, thresholds, weights):
    """Add the steps of feature_map.Thresholds; return (their name, weights of steps of height 1)."""
    above = graph.add("Greater", graph.add("Gather", X, thresholds.columns, axis=1), thresholds.values)
    return graph.add("Cast", above, to=graph.onnx.TensorProto.DOUBLE), weights * thresholds.heights


def add_fourier(graph, X, fourier, weights):
    """Add the waves of feature_map.Fourier; return (their name, their weights)."""
    return graph.add("Cos", graph.add("Gemm", X, fourier.directions, fourier.phases)), weights


ADD = {"thresholds": add_thresholds, "fourier": add_fourier}
