"""Fitted models as files: plain arrays and a JSON header (gpukit.persist), or text."""

import numpy as np

from gpukit import persist
from gpukit.errors import ModelError
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


def save_model(path, model):
    """Write a fitted RankSVM."""
    parameters = {name: plain(value) for name, value in model.get_params().items() if name != "device"}
    facts = {name: getattr(model, f"{name}_") for name in (*FACTS, *PATH) if hasattr(model, f"{name}_")}
    names = getattr(model, "feature_names_in_", None)
    header = {
        "class": type(model).__name__,
        "parameters": parameters,
        "facts": facts,
        "scale": model.scaling_.kind,
        "feature_names": None if names is None else names.tolist(),
    }
    ranges = {} if model.scaling_.low is None else {"low": model.scaling_.low, "factor": model.scaling_.factor}
    persist.save_arrays(path, header, {"coef": model.coef_, **ranges})


def plain(value):
    """A numpy number as Python's."""
    return value.item() if isinstance(value, np.generic) else value


def load_model(path, cls):
    """The fitted model of class cls in a file; device is 'auto' again, whatever it was trained on."""
    header, arrays = persist.load_arrays(path)
    if header.get("class") != cls.__name__:
        raise ModelError(f"{path} holds a {header.get('class')}, not a {cls.__name__}.")
    model = cls(**header["parameters"])
    for name in ("coef", "low", "factor") if header["scale"] == "minmax" else ("coef",):
        if name not in arrays:
            raise ModelError(f"{path} lacks {name!r}: it is damaged. Train again, or copy the file again.")
    model.coef_, model.n_features_in_ = arrays["coef"], len(arrays["coef"])
    model.scaling_ = Scaling(header["scale"], arrays.get("low"), arrays.get("factor"))
    for name, value in header["facts"].items():
        setattr(model, f"{name}_", value)
    if header["feature_names"] is not None:
        model.feature_names_in_ = np.array(header["feature_names"], object)
    return model


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
