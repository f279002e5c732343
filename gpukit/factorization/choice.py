"""`Choice`: the settings of one training, the trials and the reason; its contents in files."""

from typing import NamedTuple

from gpukit import persist
from gpukit.base import check_choice, check_integer, check_real
from gpukit.errors import DataError, ParameterError
from gpukit.factorization.settings import MOST_FACTORS, MOST_NEGATIVES, Settings
from gpukit.factorization.solvers import LOSSES_OF
from gpukit.neighbors.estimator import MOST_NEIGHBORS

BIASES = "damped biases"  # name of the predictor in chosen_
# Fields of Settings in a checkpoint, and those for clicks.
KEPT = "n_factors n_neighbors epochs regularization damping trend held patience".split()
CLICKS = "solver loss n_negatives unobserved_weight exponent counted recency popular mixed ease ease_decay".split()
LATER = {"ease": 0.0, "ease_decay": 0.0}  # not in files of earlier versions
FORMER = {"blend", "share"}  # in files of earlier versions
FACTS = {  # of `Choice.facts`
    **dict.fromkeys(("predictor", "biases", "why"), str),
    **dict.fromkeys(("n_factors", "n_neighbors", "n_epochs"), int),
    **dict.fromkeys(("learning_rate", "regularization"), int | float | None),
    **{"damping": list, "trend": list},
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
        clicks = {"feedback": "implicit", **click_settings(settings)} if settings.feedback == "implicit" else {}
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
            "why": self.why,
        }

    def kept(self):
        """Return the entries for a checkpoint, as a dict."""
        entries = {name: getattr(self.settings, name) for name in KEPT}
        return {**entries, **click_settings(self.settings), "trials": self.trials, "why": self.why}


def click_settings(settings):
    """Return the settings.Settings for clicks alone, as a dict; empty for ratings."""
    if settings.feedback == "explicit":
        return {}
    return {name: getattr(settings, name) for name in CLICKS}


def restore_choice(entries, settings, n_epochs):
    """Return the Choice from the dict of `Choice.kept`.

    settings: settings.Settings of the same estimator; n_epochs: the estimator's own, or None. Raises DataError for
    entries that are not valid.
    """
    kinds = {**kinds_of(KEPT), **(kinds_of(CLICKS) if settings.feedback == "implicit" else {})}
    facts = {name: persist.entry_of({**LATER, **entries}, name, kind) for name, kind in kinds.items()}
    others = (persist.entry_of(entries, name, kind) for name, kind in (("trials", list), ("why", str)))
    try:
        check_integer("epochs", facts["epochs"], 0)
        check_real("a number of its settings", facts["regularization"], 0.0)
        check_numbers(facts, 1)
    except ParameterError as error:
        raise DataError(str(error)) from None
    facts |= {name: tuple(facts[name]) for name in ("damping", "trend")}
    if n_epochs is not None:
        facts["epochs"] = settings.epochs
    return Choice(settings._replace(**facts), *others)


def kinds_of(names):
    """Return {name: type in a file} of fields of settings.Settings."""
    kinds = {name: Settings.__annotations__[name] for name in names}
    return {name: list | tuple if kind is tuple else kind for name, kind in kinds.items()}


def check_facts(stored, feedback, n_factors):
    """Raise DataError unless a dict from a file is a valid `Choice.facts`.

    Updates depend on it. feedback: kind of feedback; n_factors: of the model.
    """
    most_epochs = 1 << 53
    kinds = {**FACTS, **({"feedback": str, **kinds_of(CLICKS)} if feedback == "implicit" else {})}
    if beyond := sorted(set(stored) - {*kinds, *FORMER}):
        raise DataError(f"{beyond[0]!r:.80} is nothing that is chosen for a training.")
    facts = {name: persist.entry_of({"trend": [], **LATER, **stored}, name, kind) for name, kind in kinds.items()}
    try:
        trained = check_integer("n_epochs", facts["n_epochs"], 0, most_epochs) > 0
        for name in ("regularization", "learning_rate"):
            if facts[name] is not None or (trained and name == "regularization"):
                check_real(name, facts[name], 0.0)
        check_choice("biases", facts["biases"], ("none", "held", "learned"))
        check_numbers(facts, 0)
        if feedback == "implicit":
            check_choice("feedback", facts["feedback"], ("implicit",))
            mixed = facts["mixed"] > 0
            check_integer("n_factors", facts["n_factors"], 1 if mixed else n_factors, n_factors - mixed)
    except ParameterError as error:
        raise DataError(f"what was chosen for it cannot be: {error}") from None


def check_numbers(facts, least_factors):
    """Raise ParameterError for invalid numbers in the entries of a file; those for clicks are checked if present."""
    check_integer("n_factors", facts["n_factors"], least_factors, MOST_FACTORS)
    check_integer("n_neighbors", facts["n_neighbors"], 0, MOST_NEIGHBORS)
    check_integer("numbers in damping", len(facts["damping"]), 2, 2)
    check_choice("numbers in trend", len(facts["trend"]), (0, 2))
    for number in (*facts["damping"], *facts["trend"]):
        check_real("a number of its settings", number, 0.0)
    if "solver" in facts:
        check_choice("solver", facts["solver"], tuple(LOSSES_OF))
        check_choice("loss", facts["loss"], LOSSES_OF[facts["solver"]])
        check_integer("n_negatives", facts["n_negatives"], 0, MOST_NEGATIVES)
        for name in ("unobserved_weight", "exponent", "recency", "mixed", "ease", "ease_decay"):
            check_real(name, facts[name], 0.0)
        check_real("popular", facts["popular"], 0.0, 1.0)
