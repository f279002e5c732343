"""What a file keeps of a fitted RankSVM (gpukit.persist writes it); the weights as text."""

import numpy as np

from gpukit import persist
from gpukit.ranking.scaling import Scaling

FACTS = (
    "objective",
    "gradient_norm",
    "C",
    "n_pairs",
    "n_queries",
    "n_iter",
    "n_cg",
    "converged",
    "solver",
    "device",
    "history",
    "timings",
)
PATH = ("path", "metric")  # of fit_path


def packed(model):
    """(facts, arrays) of a fitted RankSVM."""
    kept = {name: getattr(model, f"{name}_") for name in (*FACTS, *PATH) if hasattr(model, f"{name}_")}
    names = getattr(model, "feature_names_in_", None)
    facts = {"kept": kept, "scale": model.scaling_.kind, "feature_names": None if names is None else names.tolist()}
    ranges = {} if model.scaling_.low is None else {"low": model.scaling_.low, "factor": model.scaling_.factor}
    return facts, {"coef": model.coef_, **ranges}


def unpack(model, facts, arrays):
    """Give a RankSVM what `packed` took from one."""
    model.coef_, model.n_features_in_ = arrays["coef"], len(arrays["coef"])
    ranges = (arrays["low"], arrays["factor"]) if facts["scale"] == "minmax" else ()
    model.scaling_ = Scaling(facts["scale"], *ranges)
    for name, value in facts["kept"].items():
        setattr(model, f"{name}_", value)
    if facts["feature_names"] is not None:
        model.feature_names_in_ = np.array(facts["feature_names"], object)


def save_text(path, model):
    """Write the weights as text, see RankSVM.save_text. Numbers are read back exactly."""
    names = getattr(model, "feature_names_in_", None)
    lines = [f"# linear RankSVM of gpukit; C={model.C_!r}; score = sum of weight * feature, higher is better\n"]
    if model.scaling_.kind == "query":
        lines.append("# features are brought to 0..1 within each query first\n")
    if model.scaling_.kind == "minmax":
        lines.append("# index:weight:low:factor, where (feature - low) * factor is what the weight is for\n")
    columns = [model.coef_.tolist()]
    if model.scaling_.low is not None:
        columns += [model.scaling_.low.tolist(), model.scaling_.factor.tolist()]
    for k, numbers in enumerate(zip(*columns)):
        named = "" if names is None else f" # {names[k]}"
        lines.append(":".join([str(k + 1), *map(repr, numbers)]) + named + "\n")
    with persist.atomic_write(path) as aside, open(aside, "w", encoding="utf-8") as file:
        file.writelines(lines)
