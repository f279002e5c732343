"""Evaluation of lists for `gpukit evaluate`, and of a training on clicks."""

import itertools

import numpy as np

from gpukit.cli import report
from gpukit.cli.factorization.table import options_named, read_table
from gpukit.errors import DataError
from gpukit.ratings import read_pairs
from gpukit.ratings.check import are_pairs, clicks_after

COLUMNS = {"predictor": "", "hr": "HR", "recall": "recall", "precision": "precision", "ndcg": "NDCG", "map": "MAP"}
COLUMNS |= {"mrr": "MRR", "coverage": "coverage", "gini": "Gini", "popularity": "clicks", "few": "few"}
KEPT = {"predictor": "", "hr": "HR", "recall": "recall", "ndcg": "NDCG", "coverage": "coverage"}
DIFFERENCE = {"metric": "", "difference": "difference", "interval": "95 % interval", "p": "p", "users": "users"}
METRICS = {"hr": "HR", "recall": "recall", "ndcg": "NDCG"}  # whose differences are shown
WINNER = "ndcg"  # the metric that selects the best


def evaluate_lists(ask, fitted, other, stages, team):
    """Return (judging.Report of a test file, rows of differences), computed by all ranks."""
    from gpukit.factorization.answers import judging

    pairs = read_clicks(ask, least_of(ask, fitted))
    stages.done("reading")
    models = {ask.model: fitted} | ({ask.against: other} if other is not None else {})
    given_ratings = None if ask.given is None else read_table(ask, ask.given)
    baselines = () if ask.no_baselines else judging.listers_of({"": fitted}, given_ratings)[0].baselines()
    full = judging.judge_lists(models, pairs, ask.cuts, baselines, given_ratings, ask.by, team)
    compared = []
    for k, (name, label) in itertools.product(full.cuts, METRICS.items()) if other is not None else ():
        compared.append(difference_row(f"{label}@{k}", full.difference(name, k, seed=ask.seed)))
    stages.done("evaluating")
    return full, compared


def least_of(ask, fitted):
    """Return the least rating that is a click of the test.

    None if all are. Given by --positive-from; otherwise that of the model's training.
    """
    if ask.positive_from is not None or fitted.feedback_ != "implicit":
        return ask.positive_from
    return fitted.positive_from


def read_clicks(ask, least):
    """Return (user ids, item ids) of the clicks of ask.test, in file order.

    Of ratings, those of at least `least` are clicks.
    """
    if least is None:
        users, items = read_pairs(ask.test, ask.file_format, ask.columns, ask.sep)
        if not len(users):
            raise DataError(f"{ask.test} holds no clicks to evaluate lists with.")
        return users, items
    test = read_table(ask, ask.test)
    if ask.positive_from is None and not are_pairs(test):
        remark = f"Of the test, ratings from {least:g} on are clicks, as in training; --positive-from says otherwise."
        report.remark(remark, ask.silent)
    with options_named():
        test = clicks_after(test, least)
    return test.user_ids[test.users], test.item_ids[test.items]


def show(ask, results):
    """Print the tables and the remarks."""
    full, differences = results
    for k in full.cuts:
        rows = [{**row, "popularity": report.Figure(f"{row['popularity']:.0f}")} for row in full.rows(k)]
        title = f"Lists of {ask.model}, {len(full.users):,} users, all items ranked, k = {k}"
        report.print_table(rows, COLUMNS, title)
    show_differences(differences, ask)
    report.remark_all(remarks(full), ask.quiet)


def remarks(full):
    """Yield the best predictor of a judging.Report, and the clicks left out; nothing for None."""
    if full is None:
        return
    k = full.cuts[0]
    if len(full.judged) > 1:
        yield best_line(full, k)
    left, n_clicks = full.left_out, full.left_out.pairs
    counts = {
        "of users that the model does not know": left.unknown_users,
        "of items that it does not know": left.unknown_items,
        "that it was trained on": left.known,
        "repeated": left.repeated,
        "that the other model cannot evaluate": full.strange,
    }
    reasons = [f"{count:,} {what}" for what, count in counts.items() if count]
    if reasons:
        yield f"Of {n_clicks:,} clicks some are left out: {', '.join(reasons)}."


def best_line(full, k):
    """Describe the best predictor by WINNER and its difference from the model."""
    place = full.best(WINNER, k)
    rival = place or max(range(1, len(full.judged)), key=lambda number: full.judged[number].values[k][WINNER].mean())
    difference, name = full.difference(WINNER, k, 0, rival), full.judged[place].predictor
    if not any(number.values[k][WINNER].any() for number in full.judged):
        return f"None of them has a hit in its {k} first: NDCG@{k} says nothing of who is best here."
    return (
        f"Best by NDCG@{k}: {name}. {full.judged[0].predictor} less {full.judged[rival].predictor}: "
        f"{difference.mean:+.4f} ({format_interval(*difference[1:3])}, p {format_p(difference.p)})."
    )


def facts_of(results):
    """Return the --json output."""
    full, differences = results
    lists = {
        "users": len(full.users),
        "results": {k: full.rows(k) for k in full.cuts},
        "best": {k: full.judged[full.best(WINNER, k)].predictor for k in full.cuts},
        "left_out": {**full.left_out._asdict(), "other_model": full.strange},
    }
    return {"judged": "lists", "lists": lists, "differences": differences}


def difference_row(metric, difference):
    """Return the row of a significance.Difference for tables and JSON."""
    return {"metric": metric, **difference._asdict()}


def show_differences(rows, ask):
    """Print the differences of two models, if any."""
    if not rows:
        return
    texts = []
    for row in rows:
        shown = f"{row['mean']:+.4f}", format_interval(row["low"], row["high"]), format_p(row["p"])
        texts.append({**row, **dict(zip(("difference", "interval", "p"), map(report.Figure, shown)))})
    report.print_table(texts, DIFFERENCE, f"{ask.model} less {ask.against}, paired over users")


def format_interval(low, high):
    """Format an interval; one user has none."""
    return "-" if low != low else f"{low:+.4f} to {high:+.4f}"


def format_p(p):
    """Format p; very small values as an upper bound."""
    return "< 0.0002" if p < 0.0002 else f"{p:.4f}"


def describe_clicks(path, clicks, ratings):
    """Describe the input and that it is taken as clicks.

    ratings: the Ratings whose clicks these are.
    """
    users, items = clicks.shape
    counts = clicks.counts if clicks.counts is not None else np.ones(1, np.int32)
    often = f", counted up to {counts.max():g} times" if counts.max() > 1 else ""
    of = f" of {len(ratings):,} ratings" if len(clicks) < len(ratings) else ""
    return f"{path}: {len(clicks):,} clicks (implicit feedback){of}{often}, {users:,} users, {items:,} items"


def closing_table(model, test, ask):
    """Return the judging.Report of a trained model's lists on the clicks of a test, next to the baselines.

    None without a test, or if the test cannot be evaluated. If the test's users are new to the model (--split users),
    the first four fifths of their clicks are given.
    """
    from gpukit.factorization.answers.judging import split_new_users

    if test is None:
        return None
    try:
        given_clicks, later = None, clicks_after(test, ask.positive_from)
        if ask.split == "users":
            given_clicks, later = split_new_users(later, seed=ask.seed)
        return model.evaluate_lists(later, min(10, len(model.item_ids_)), given=given_clicks)
    except DataError as error:
        report.remark(f"The lists were not evaluated: {error}", False)
        return None


def show_training(run):
    """Print the closing table of a run of train-lshmf."""
    model = run.model
    epochs = f"{len(model.history_)} epochs, " if model.history_ else ""
    learned = f"{epochs}{model.rating_counts()[0].sum():,} clicks"
    title = f"{type(model).__name__} on {model.device_}, {learned}"
    if run.table is None:
        report.echo(f"{title}.")
    else:
        k = run.table.cuts[0]
        title += f"; lists of {k} out of all items, {len(run.table.users):,} users"
        report.print_table(run.table.rows(k), KEPT, title)


def chosen_line(chosen):
    """Describe the settings of a training on clicks and their reason in a line."""
    facts = [f"{chosen['solver']} ({chosen['loss']})"]
    if chosen["solver"] != "ease":
        facts += [f"F={chosen['n_factors']}", f"{chosen['n_epochs']} epochs"]
    facts.append(f"lambda {chosen['regularization']:.3g}")
    if chosen["solver"] == "ials":
        facts.append(f"unobserved weight {chosen['unobserved_weight']:.3g}")
    elif chosen["solver"] == "sampled":
        facts.append(f"{chosen['n_negatives']} negatives, K={chosen['n_neighbors']}")
    facts += ["weighed by counts"] * chosen["counted"]
    if chosen["mixed"]:
        facts.append(f"{chosen['mixed']:g} of cross-entropy with K={chosen['n_neighbors']} mixed in")
    if chosen.get("ease_decay"):
        facts.append(f"{chosen['ease']:g} of ease with lambda {chosen['ease_decay']:.3g} added")
    if chosen["popular"]:
        facts.append(f"{chosen['popular']:.0%} of popularity")
    return f"Settings: {', '.join(facts)} ({chosen['why']})."
