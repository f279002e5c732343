"""`Choice`: the settings of one training, with what was tried for them and why they won."""

from typing import NamedTuple

from gpukit import persist
from gpukit.base import check_choice, check_integer, check_real
from gpukit.errors import DataError, ParameterError
from gpukit.factorization.choose.rule import BIASES
from gpukit.factorization.settings import MOST_FACTORS, MOST_NEGATIVES
from gpukit.factorization.solvers import LOSSES_OF
from gpukit.neighbors.estimator import MOST_NEIGHBORS

OF_CLICKS = {
    "solver": str,
    "loss": str,
    "n_negatives": int,
    "unobserved_weight": float,
    "exponent": float,
    "counted": bool,
    "recency": float,
    "blend": float,
    "popular": float,
    "mixed": float,
}
KEPT = {
    "n_factors": int,
    "n_neighbors": int,
    "epochs": int,
    "regularization": float,
    "damping": list | tuple,
    "trend": list | tuple,
    "held": bool,
    "share": float,
    "patience": int,
}


TOLD = {
    "predictor": str,
    "n_factors": int,
    "n_neighbors": int,
    "n_epochs": int,
    "learning_rate": int | float | None,
    "regularization": int | float | None,
    "biases": str,
    "damping": list,
    "share": int | float,
    "why": str,
}
MOST_EPOCHS = 1 << 53


class Choice(NamedTuple):
    """settings.Settings for all ratings, the candidates as dicts (none: nothing was tried), and why in a sentence."""

    settings: object
    trials: list
    why: str

    def facts(self, estimator):
        """What was chosen, as a dict for people; estimator: its class's name."""
        settings = self.settings
        trained = settings.epochs > 0
        clicks = {"feedback": "implicit", **of_clicks(settings)} if settings.feedback == "implicit" else {}
        return {
            "predictor": estimator if trained else BIASES,
            "n_factors": settings.n_factors if trained else 0,
            "n_neighbors": settings.n_neighbors,
            "n_epochs": settings.epochs,
            "learning_rate": settings.learning_rate if trained else None,
            "regularization": settings.regularization if trained else None,
            "biases": "none" if not settings.biases else "held" if settings.held or not trained else "learned",
            "damping": list(settings.damping),
            "trend": list(settings.trend),
            **clicks,
            "share": settings.share if trained else 0.0,
            "why": self.why,
        }

    def kept(self):
        """What a checkpoint keeps, as a dict."""
        kept = {**{name: getattr(self.settings, name) for name in KEPT}, **of_clicks(self.settings)}
        return {**kept, "trials": self.trials, "why": self.why}


def of_clicks(settings):
    """What settings.Settings have for clicks alone, as a dict; empty for ratings."""
    if settings.feedback == "explicit":
        return {}
    return {name: getattr(settings, name) for name in OF_CLICKS}


def kept_choice(kept, settings, n_epochs):
    """The Choice that `Choice.kept` gave, for the settings.Settings of the same estimator; n_epochs: where it is named.

    Raises DataError for what no training has.
    """
    kinds = {**KEPT, **(OF_CLICKS if settings.feedback == "implicit" else {}), "trials": list, "why": str}
    facts = {name: persist.entry_of(kept, name, kind) for name, kind in kinds.items()}
    trials, why = facts.pop("trials"), facts.pop("why")
    damping, trend = facts["damping"], facts["trend"] = tuple(facts["damping"]), tuple(facts["trend"])
    bounds = {"n_factors": (1, MOST_FACTORS), "n_neighbors": (0, MOST_NEIGHBORS), "epochs": (0, None)}
    try:
        for name, limits in bounds.items():
            check_integer(name, facts[name], *limits)
        for number in (facts["regularization"], facts["share"], *damping, *trend):
            check_real("a number of its settings", number, 0.0)
        check_integer("numbers in damping", len(damping), 2, 2)
        check_choice("numbers in trend", len(trend), (0, 2))
        check_clicks(facts)
    except ParameterError as error:
        raise DataError(str(error)) from None
    if n_epochs is not None:
        facts["epochs"] = settings.epochs
    return Choice(settings._replace(**facts), trials, why)


def check_told(told, feedback, n_factors):
    """DataError for what no fitted model says was chosen for it, which updates rely on: of `Choice.facts`, for a kind
    of feedback and n_factors in the model."""
    implicit = feedback == "implicit"
    kinds = {**TOLD, **({"feedback": str, **OF_CLICKS} if implicit else {})}
    if beyond := sorted(set(told) - {*kinds, "trend"}):
        raise DataError(f"{beyond[0]!r:.80} is nothing that is chosen for a training.")
    trend = persist.entry_of({"trend": [], **told}, "trend", list)
    facts = {name: persist.entry_of(told, name, kind) for name, kind in kinds.items()}
    try:
        for name, limits in {"n_factors": (0, MOST_FACTORS), "n_neighbors": (0, MOST_NEIGHBORS)}.items():
            check_integer(name, facts[name], *limits)
        trained = check_integer("n_epochs", facts["n_epochs"], 0, MOST_EPOCHS) > 0
        for name in ("regularization", "learning_rate"):
            if facts[name] is not None or (trained and name == "regularization"):
                check_real(name, facts[name], 0.0)
        _check_baseline(facts, trend)
        if implicit:
            check_clicks(facts)
            check_choice("feedback", facts["feedback"], ("implicit",))
            mixed = facts["mixed"] > 0
            check_integer("n_factors", facts["n_factors"], 1 if mixed else n_factors, n_factors - mixed)
    except ParameterError as error:
        raise DataError(f"what was chosen for it cannot be: {error}") from None


def _check_baseline(facts, trend):
    """ParameterError for no baseline among the facts that people are told."""
    check_choice("biases", facts["biases"], ("none", "held", "learned"))
    check_integer("numbers in damping", len(facts["damping"]), 2, 2)
    check_choice("numbers in trend", len(trend), (0, 2))
    for number in (facts["share"], *facts["damping"], *trend):
        check_real("a number of its settings", number, 0.0)


def check_clicks(facts):
    """ParameterError for what no training on clicks has among its facts."""
    if "solver" in facts:
        check_choice("solver", facts["solver"], tuple(LOSSES_OF))
        check_choice("loss", facts["loss"], LOSSES_OF[facts["solver"]])
        check_integer("n_negatives", facts["n_negatives"], 0, MOST_NEGATIVES)
        for name in ("unobserved_weight", "exponent", "recency", "mixed"):
            check_real(name, facts[name], 0.0)
        for name in ("blend", "popular"):
            check_real(name, facts[name], 0.0, 1.0)
