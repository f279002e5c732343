"""`Choice`: the settings of one training, the trials and the reason."""

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
    "popular": float,
    "mixed": float,
    "ease": float,
    "ease_decay": float,
}
LATER = {"ease": 0.0, "ease_decay": 0.0}  # not in files of earlier versions
FORMER = {"blend"}  # in files of earlier versions
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


REPORTED = {
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


class Choice(NamedTuple):
    """Settings for all ratings, with the trials and the reason.

    settings: settings.Settings; trials: candidates as dicts, empty if nothing was tried; why: the reason in a sentence.
    """

    settings: object
    trials: list
    why: str

    def facts(self, estimator):
        """Return the choice as a dict for chosen_.

        estimator: name of its class.
        """
        settings = self.settings
        trained = settings.epochs > 0 or settings.solver == "ease"
        clicks = {"feedback": "implicit", **of_clicks(settings)} if settings.feedback == "implicit" else {}
        return {
            "predictor": estimator if trained else BIASES,
            "n_factors": settings.n_factors if trained else 0,
            "n_neighbors": settings.n_neighbors,
            "n_epochs": settings.epochs,
            "learning_rate": settings.learning_rate if trained else None,
            "regularization": settings.regularization if trained else None,
            "biases": settings.kind_of_biases,
            "damping": list(settings.damping),
            "trend": list(settings.trend),
            **clicks,
            "share": settings.share if trained else 0.0,
            "why": self.why,
        }

    def kept(self):
        """Return the entries for a checkpoint, as a dict."""
        kept = {**{name: getattr(self.settings, name) for name in KEPT}, **of_clicks(self.settings)}
        return {**kept, "trials": self.trials, "why": self.why}


def of_clicks(settings):
    """Return the settings.Settings for clicks alone, as a dict; empty for ratings."""
    if settings.feedback == "explicit":
        return {}
    return {name: getattr(settings, name) for name in OF_CLICKS}


def kept_choice(kept, settings, n_epochs):
    """Return the Choice from the dict of `Choice.kept`.

    settings: settings.Settings of the same estimator; n_epochs: the estimator's own, or None. Raises DataError for
    entries that are not valid.
    """
    kinds = {**KEPT, **(OF_CLICKS if settings.feedback == "implicit" else {}), "trials": list, "why": str}
    facts = {name: persist.entry_of({**LATER, **kept}, name, kind) for name, kind in kinds.items()}
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


def check_facts(stored, feedback, n_factors):
    """Raise DataError unless a dict from a file is a valid `Choice.facts`.

    Updates depend on it. feedback: kind of feedback; n_factors: of the model.
    """
    most_epochs = 1 << 53
    implicit = feedback == "implicit"
    kinds = {**REPORTED, **({"feedback": str, **OF_CLICKS} if implicit else {})}
    if beyond := sorted(set(stored) - {*kinds, *FORMER, "trend"}):
        raise DataError(f"{beyond[0]!r:.80} is nothing that is chosen for a training.")
    trend = persist.entry_of({"trend": [], **stored}, "trend", list)
    facts = {name: persist.entry_of({**LATER, **stored}, name, kind) for name, kind in kinds.items()}
    try:
        for name, limits in {"n_factors": (0, MOST_FACTORS), "n_neighbors": (0, MOST_NEIGHBORS)}.items():
            check_integer(name, facts[name], *limits)
        trained = check_integer("n_epochs", facts["n_epochs"], 0, most_epochs) > 0
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
    """Raise ParameterError for an invalid baseline in `Choice.facts`."""
    check_choice("biases", facts["biases"], ("none", "held", "learned"))
    check_integer("numbers in damping", len(facts["damping"]), 2, 2)
    check_choice("numbers in trend", len(trend), (0, 2))
    for number in (facts["share"], *facts["damping"], *trend):
        check_real("a number of its settings", number, 0.0)


def check_clicks(facts):
    """Raise ParameterError for invalid settings for clicks."""
    if "solver" in facts:
        check_choice("solver", facts["solver"], tuple(LOSSES_OF))
        check_choice("loss", facts["loss"], LOSSES_OF[facts["solver"]])
        check_integer("n_negatives", facts["n_negatives"], 0, MOST_NEGATIVES)
        for name in ("unobserved_weight", "exponent", "recency", "mixed", "ease", "ease_decay"):
            check_real(name, facts[name], 0.0)
        check_real("popular", facts["popular"], 0.0, 1.0)
