"""The library's description of a training in terms of the command line."""

from gpukit.cli.options import Naming

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
OPTIONS_TOO = {
    "hash": "--hash",
    "precision": "--precision",
    "search": "--search",
    "columns": "--columns",
}  # options of their own, except hash='minhash'
NAMING = Naming(OPTIONS, OPTIONS_TOO)
spoken, options_named = NAMING.spoken, NAMING.named


def chosen_line(chosen):
    """Describe the settings of a training and their reason in a line."""
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
