"""What the library says of its parameters, in the words of the command line."""

import contextlib
import re

from gpukit.errors import GpukitError

OPTIONS = {
    "n_factors": "--factors",
    "n_neighbors": "--neighbors",
    "n_epochs": "--epochs",
    "learning_rate": "--learning-rate",
    "regularization": "--regularization",
    "early_stopping": "--early-stop",
    "random_state": "--seed",
    "feedback": "--feedback",
    "positive_from": "--positive-from",
    "loss": "--loss",
    "solver": "--solver",
    "n_negatives": "--negatives",
    "unobserved_weight": "--unobserved-weight",
    "row_solver": "--row-solver",
    "min_support": "--min-support",
    "lsh_p": "--lsh-p",
    "lsh_q": "--lsh-q",
    "lsh_bits": "--lsh-bits",
    "deterministic=True": "--deterministic",
}
OPTIONS_TOO = {"hash": "--hash", "search": "--search"}  # words of their own, but as hash='minhash'
NAMED = re.compile(rf"\b({'|'.join(OPTIONS)}|(?<![\w/.-])(?:{'|'.join(OPTIONS_TOO)})(?=='))(?:\b|(?<=True))(=?)")


def spoken(text):
    """A message with options in place of parameters: `n_factors=40` is `--factors 40`."""
    return NAMED.sub(lambda found: (OPTIONS | OPTIONS_TOO)[found[1]] + (" " if found[2] else ""), text)


@contextlib.contextmanager
def options_named():
    """Errors of the library raised within speak of options."""
    try:
        yield
    except GpukitError as error:
        told = type(error)(spoken(str(error)))
        told.exit_code = error.exit_code  # of another rank's error
        raise told from None


def chosen_line(chosen):
    """The settings of a training and why they were taken, as a line."""
    users, items = chosen["damping"]
    biases = f"biases damped by {users:g} ratings a user, {items:g} an item"
    if any(chosen["trend"]):
        biases += ", to a line in their numbers"
    if chosen["n_epochs"]:
        biases = (
            f"F={chosen['n_factors']}, K={chosen['n_neighbors']}, {chosen['n_epochs']} epochs, lambda "
            f"{chosen['regularization']:.3g}, {biases if chosen['biases'] == 'held' else 'biases learned'}"
        )
    return f"Settings: {biases} ({chosen['why']})."
