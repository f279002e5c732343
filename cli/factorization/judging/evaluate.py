"""`gpukit evaluate`: evaluate a model's predictions and lists on a test, with baselines."""

from types import SimpleNamespace

import click

from gpukit.cli import models, options, report
from gpukit.cli.factorization.judging import lists, ratings
from gpukit.cli.options import option
from gpukit.cli.report import Stages
from gpukit.cli.sections import Sectioned
from gpukit.cli.teams import run_as_team
from gpukit.errors import ParameterError
from gpukit.factorization.lists.recommending import BY


@click.command(cls=Sectioned)
@click.argument("model")
@click.argument("test")
@option("--lists of_lists", "Judge lists; a model of clicks is judged so in any case.", bool)
@option("-k cuts", "Length of the lists; may be given several times.", click.IntRange(min=1), (10,), multiple=True)
@option(
    "--protocol",
    "Besides, rank each click of TEST among the items of its line in this file, as NCF's authors do.",
    click.Tuple([click.Choice(["ncf"]), str]),
    metavar="ncf NEGATIVES",
)
@option("--against MODEL", "Another model: is the difference more than chance?")
@option("--given FILE", "Judge these users, whom MODEL need not know, by lists made from FILE.")
@option(
    "--sequential", "Predict each rating from the user's earlier ones, new users included, and learn it then.", bool
)
@option("--positive-from RATING", "In lists, only what is rated so or better counts.", float)
@option("--by", "What ranks, as in recommend.", BY)
@option("--no-baselines", "Leave popularity, item kNN and EASE out.", bool)
@options.table_file
@options.duplicates
@options.shared_options
@options.ranks
@options.gpus
@click.pass_context
def evaluate(ctx, **values):
    """Judge MODEL by TEST: ratings, or clicks, that it was not trained on.

    Predicted ratings are judged by RMSE and MAE. Lists are judged by what their users clicked later, over all items,
    without those that they are known to have clicked.

    \b
    gpukit evaluate my.gpukit later.csv
    gpukit evaluate my.gpukit later.csv --lists -k 10 -k 50 --against other.gpukit
    gpukit evaluate my.gpukit later.csv --sequential
    gpukit evaluate my.gpukit later.csv --lists --gpus 2
    gpukit evaluate ncf.gpukit ml-1m.test.rating --protocol ncf ml-1m.test.negative
    """
    ask, stages = SimpleNamespace(**values), Stages()
    if ask.against == ask.model:
        raise ParameterError(f"--against {ask.against} is the model that is judged: name another one.")
    sources = (ask.model, ask.test, ask.against, ask.given, *(ask.protocol or ())[1:])
    with run_as_team(ctx, ask, [path for path in sources if path]) as team:
        run(ask, stages, team)


def run(ask, stages, team):
    """Run one rank of a Team: all evaluate, the first one prints."""
    fitted, chosen = models.open_model(ask.model, ask.device, stages)
    other = models.open_model(ask.against, ask.device, stages)[0] if ask.against else None
    ask.of_lists = bool(ask.of_lists or ask.protocol or fitted.feedback_ == "implicit")
    check(ask, other)
    kind = lists if ask.of_lists else ratings
    result = kind.judge(ask, fitted, other, stages, team)
    if team.rank:
        return
    if ask.as_json:
        facts = {"command": "evaluate", "model": ask.model, "test": ask.test, "device": str(chosen)}
        report.print_json({**facts, **kind.result(ask, result), "seconds": stages.seconds})
        return
    kind.show(ask, result)
    models.closing_remark(chosen, stages, ask.quiet)


def check(ask, other):
    """Raise for list options without --lists, for --sequential with it, and for a protocol with --given.

    other: the model of --against or None; without --lists it must predict ratings.
    """
    if ask.of_lists:
        if ask.sequential:
            raise ParameterError("--sequential is about predicted ratings, and lists are judged here: leave it out.")
        if ask.given and ask.protocol:
            raise ParameterError("--protocol ncf is for users of MODEL, not for those of --given: leave one out.")
        return
    options = {"--given": ask.given, "--positive-from": ask.positive_from, "--no-baselines": ask.no_baselines or None}
    for name, value in options.items():
        if value is not None:
            raise ParameterError(f"{name} is about lists, and predicted ratings are judged here: add --lists.")
    if other is not None and other.feedback_ == "implicit":
        raise ParameterError(
            f"--against {ask.against} is a model of clicks, which predicts no ratings: add --lists to compare lists."
        )
