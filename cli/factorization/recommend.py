"""`gpukit recommend`: the items that users have not rated and would take."""

from functools import partial

import click
import numpy as np

from gpukit._pool import read_ahead
from gpukit.cli import models, options, outputs, report
from gpukit.cli.factorization import listing
from gpukit.cli.factorization.listing import read_lists
from gpukit.cli.factorization.table import check_known, options_named
from gpukit.cli.options import option
from gpukit.cli.teams import run_as_team
from gpukit.errors import ParameterError
from gpukit.factorization.lists.recommending import BY
from gpukit.factorization.online.inputs import bounds_of
from gpukit.io.ids import rows_of
from gpukit.io.records import check_ids

NAMES = ("user", "rank", "item", "score")  # columns


@options.command()
@options.argument("model")
@option("--user users ID", "For this user; may be given several times.", multiple=True)
@option("--all everyone", "For every user of the model.", bool)
@option("--ratings FILE", "For users of a file: item,rating of one, or user,item,rating; clicks without ratings.")
@option("--by", "Ranking: of lists (learned once and saved in MODEL), or by predicted rating.", BY)
@option("-n count", "Number of items per user.", click.IntRange(min=1), 10)
@listing.options
@models.titles
@option("--output FILE", "Write user,rank,item,score[,title] here as csv; - is stdout.")
@options.force
@options.ratings_file
@options.device
@options.printing
@options.on_ranks
def recommend(ask, stages):
    """List the items that users have not rated and would take.

    The score is about 1 for what is surely taken and 0 for what is not; --by rating it is the predicted rating, not cut
    off at the highest rating there is, so that it ranks the best ones too. With --ratings the users need not be in
    MODEL.

    \b
    gpukit recommend my.gpukit --user 42 -n 10 --titles movies.dat
    gpukit recommend my.gpukit --all --output recommendations.csv
    gpukit recommend my.gpukit --all --output recommendations.csv --gpus 2
    gpukit recommend my.gpukit --ratings mine.csv
    gpukit recommend my.gpukit --user 42 --categories movies.dat --only-category Comedy --min-support 20
    """
    check(ask)
    sources = [ask.model, *listing.files_of(ask)]
    read = [*sources, *filter(None, (ask.titles, ask.ratings))]
    outputs.check_output(ask.output, "--output", read, ask.force, text="plain")
    with run_as_team(ask, sources if ask.everyone else ()) as team, options_named():
        run(ask, stages, team)


def run(ask, stages, team):
    """Run one rank: the first one prints and writes.

    The others compute lists of all users.
    """
    if team.rank and not ask.everyone:
        return
    stamp = models.stamp(ask.model)
    fitted, chosen = models.open_model(ask.model, ask.device, stages)
    title_of = {} if team.rank else models.read_title_of(ask.titles)
    total, tiles = answers(ask, fitted, team)  # a wrong input ends the command before lists are learned
    with listing.lists_learned(fitted, ask, stamp, stages, team):
        if team.rank:
            return list(tiles)
        if chosen.is_cuda and team.size == 1:  # the GPU ranks while rows are written
            tiles = read_ahead(tiles)
        names = [*NAMES, *["title"] * bool(title_of)]
        terminal = ask.output is None or outputs.takes_stdout(ask.output)
        with report.Progress(ask.quiet or terminal) as progress:  # a bar would mix with rows on the terminal
            tiles = rank_tiles(tiles, total, stages, progress, partial(report.remark, quiet=ask.quiet))
            if ask.output is not None or (ask.everyone and not ask.as_json):
                check_ids(fitted.user_ids_, "The user id")
                check_ids(fitted.item_ids_, "The item id")
                outputs.write_csv(ask.output, names, blocks_of(tiles, title_of))
            else:
                rows = table_rows(tiles, title_of)
        stages.done("writing")
    if ask.as_json:
        report.print_result({"recommendations": rows, "device": str(chosen)}, stages)
    elif ask.output is None and not ask.everyone:
        report.print_table(rows, {name: name for name in names})
    models.closing_remark(chosen, stages, ask.silent)


def check(ask):
    """Raise ParameterError if the users or the output are ambiguous."""
    if bool(ask.users) + ask.everyone + (ask.ratings is not None) != 1:
        raise ParameterError("Give the users by one of --user ID (several times if needed), --ratings FILE and --all.")
    if (ask.ranks or ask.gpus not in (None, options.AUTO)) and not ask.everyone:
        raise ParameterError("--ranks and --gpus share the lists of all users out: add --all, or leave them out.")
    if (ask.only_category or ask.without_category) and ask.categories is None:
        raise ParameterError("--only-category and --without-category need --categories FILE, a file of item,category.")
    if ask.categories is not None and not (ask.only_category or ask.without_category):
        raise ParameterError("--categories needs --only-category or --without-category, which name some of them.")
    is_described = ask.file_format != "auto" or ask.duplicates != "last" or ask.columns or ask.sep
    if ask.ratings is None and is_described:
        flags = "--columns, --sep, --format and --duplicates"
        raise ParameterError(f"{flags} describe the file of --ratings: add it, or leave them out.")
    if ask.as_json and ask.output:
        raise ParameterError("--json prints on stdout and --output writes csv: leave one out.")


def answers(ask, fitted, team):
    """Return (number of users, generator of tiles as recommend_batches yields them)."""
    shown = listing.filters_of(ask, fitted.item_ids_)
    if ask.ratings is not None:
        how = ask.file_format, ask.columns, ask.duplicates, ask.sep
        lists = read_lists(ask.ratings, *how, fitted.feedback_ == "implicit", bounds_of(fitted))
        remark_unknown(fitted, lists, ask.silent)
        if fitted.feedback_ == "implicit":
            remark_without_clicks(fitted, lists, ask.silent)
        tiles = fitted.recommend_for_batches(lists, ask.count, by=ask.by, filters=shown, unknown="skip")
        return len(np.unique(lists.users)), tiles
    arguments = {"n": ask.count, "by": ask.by, "filters": shown}
    if team.size > 1 and ask.everyone:
        return len(fitted.user_ids_), listing.tiles_of(fitted, team, **arguments)
    wanted = None if ask.everyone else check_known(ask.users, fitted.user_ids_, "user")
    total = len(fitted.user_ids_ if wanted is None else wanted)
    if ask.by == BY[0]:
        remark_strangers(fitted, wanted, ask.silent)
    return total, fitted.recommend_batches(wanted, **arguments)


def remark_unknown(fitted, lists, quiet):
    """Report the number of ratings of unknown items."""
    lost = int((rows_of(lists.item_ids, fitted.item_ids_)[lists.items] < 0).sum())
    if lost:
        what = "clicks" if fitted.feedback_ == "implicit" else "ratings"
        report.remark(f"The model does not know the items of {lost:,} of {len(lists):,} {what}.", quiet)


def remark_without_clicks(fitted, lists, quiet):
    """Report how many users of a file have no click."""
    total, clicking = len(np.unique(lists.users)), len(np.unique(fitted._as_learned(lists).users))
    if clicking < total:
        text = f"Without a click: {total - clicking:,} of {total:,} users; their lists are what is popular."
        report.remark(text, quiet)


def remark_strangers(fitted, wanted, quiet):
    """Report how many wanted users (None: all) have no training rating."""
    counts = np.diff(fitted._rated.indptr)[: len(fitted.user_ids_)]
    counts = counts if wanted is None else counts[rows_of(wanted, fitted.user_ids_)]
    if not counts.all():
        none = np.count_nonzero(counts == 0)
        text = f"Nothing was learned of {none:,} of {len(counts):,} users: their lists are what is popular."
        report.remark(text, quiet)


def rank_tiles(tiles, total, stages, progress, remark):
    """Yield [users, ranks, items, scores] (n,) of each tile's recommendations.

    tiles: (user ids, item ids, scores) as recommend_batches yields them. At the end remark(text) is called if some of
    `total` users have none.
    """
    done = filled = 0
    for users, items, scores in tiles:
        stages.done("recommending")
        shown = np.logical_and.accumulate(~np.isnan(scores), axis=1)  # fewer are left for some users
        row, rank = np.nonzero(shown)
        if len(row):
            chosen = items[shown]
            chosen = np.array(chosen.tolist()) if chosen.dtype == object else chosen
            yield [users[row], rank + 1, chosen, scores[shown]]
        done, filled = done + len(users), filled + np.count_nonzero(shown.any(axis=1))
        progress("recommending", done, total)
        stages.done("writing")
    if filled < total:
        none = "no item is both new to them and may be shown to them"
        remark(f"Of {total:,} users, {total - filled:,} have an empty list: {none}.")


def table_rows(tiles, title_of):
    """Return [dict] of the recommendations for JSON and the table."""
    rows = [dict(zip(NAMES, row)) for tile in tiles for row in zip(*(column.tolist() for column in tile))]
    models.add_titles(rows, title_of)
    return rows


def blocks_of(tiles, title_of):
    """Yield blocks of csv rows of the recommendations, with any titles; see io/tables.py."""
    from gpukit.io import tables

    def title(item):
        return title_of.get(str(item), "")

    for users, ranks, items, scores in tiles:
        takes = [column.__getitem__ for column in (users, ranks, items)]
        takes += [lambda part, scores=scores: tables.spell_rounded(scores[part], 4)]
        if title_of:
            takes.append(lambda part, items=items: tables.spell_each(items[part], title))
        yield from tables.row_blocks(takes, len(users))
