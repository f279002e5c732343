"""What lists may show, from the command line: options and the Filters that they mean."""

import os
from pathlib import Path

import click
import numpy as np

from gpukit.cli import report
from gpukit.errors import DataError, ParameterError
from gpukit.factorization.lists import Filters
from gpukit.factorization.lists.files import read_categories, read_items

SHOWN = 5  # categories in a message
OPTIONS = (
    click.option("--only", multiple=True, metavar="IDS", help="Of these items alone: a file, an id a line, or 1,2,3."),
    click.option("--without", multiple=True, metavar="IDS", help="Leave these items out: a file, or 1,2,3."),
    click.option("--categories", metavar="FILE", help="Categories of items: a file of item,category."),
    click.option("--only-category", multiple=True, metavar="NAME", help="Of items in this category, or another named."),
    click.option("--without-category", multiple=True, metavar="NAME", help="Leave items of this category out."),
    click.option(
        "--min-support", type=click.IntRange(min=0), default=0, metavar="N", help="Of items with at least N ratings."
    ),
    click.option(
        "--popularity",
        type=float,
        default=0.0,
        metavar="W",
        help="Add W log(1 + ratings) of the item to each score; below 0 for what is less known.",
    ),
    click.option(
        "--diversity",
        type=click.FloatRange(0, 1),
        default=0.0,
        metavar="D",
        help="0 to 1: hold items back that are like those listed before them.",
    ),
)


def options(command):
    """--only --without --categories --only-category --without-category --min-support --popularity --diversity:
    parameters of these names."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def check(ask):
    """Raise for categories without their file."""
    if (ask.only_category or ask.without_category) and ask.categories is None:
        raise ParameterError("--only-category and --without-category need --categories FILE, a file of item,category.")


def files_of(ask):
    """The files that the options read."""
    return [ask.categories, *(one for one in (*ask.only, *ask.without) if is_file(one))]


def is_file(one):
    """Whether IDS of an option is a file, a pipe, or the name of one in some folder."""
    path = Path(one)
    return one == "-" or path.is_file() or path.is_fifo() or path.is_char_device() or (os.sep in one and "," not in one)


def filters_of(ask, item_ids):
    """The gpukit.factorization.Filters of the options; says on stderr how many of the items named are not among
    item_ids. DataError for a category that the file does not have."""
    quiet = ask.quiet or ask.as_json
    only, without = named(ask.only, "--only", item_ids, quiet), named(ask.without, "--without", item_ids, quiet)
    if ask.categories is not None:
        items_of = known_categories(ask, item_ids, quiet)
        within = union(items_of, ask.only_category)
        only = within if only is None else only if within is None else np.intersect1d(only, within)
        left_out = [part for part in (without, union(items_of, ask.without_category)) if part is not None]
        without = np.concatenate(left_out) if left_out else None
    return Filters(only, () if without is None else without, ask.min_support, ask.popularity, ask.diversity)


def named(asked, option, item_ids, quiet):
    """The ids among item_ids that an option names, in files or by themselves; None where it is not given."""
    if not asked:
        return None
    parts = [read_items(one) if is_file(one) else [item.strip() for item in one.split(",")] for one in asked]
    return known(np.array(sum(parts, [])), item_ids, option, quiet)


def known(texts, item_ids, source, quiet):
    """Those of some texts that are ids among item_ids; says how many are not."""
    from gpukit.io.ids import rows_of

    texts = np.unique(texts)
    rows = rows_of(texts, item_ids, "item")
    lost = int((rows < 0).sum())
    if lost:
        report.remark(f"The model does not know {lost:,} of {len(texts):,} items in {source}.", quiet)
    return item_ids[rows[rows >= 0]]


def known_categories(ask, item_ids, quiet):
    """{category: ids among item_ids} for the categories that are asked for."""
    items_of = read_categories(ask.categories)
    for name in (*ask.only_category, *ask.without_category):
        if name not in items_of:
            some = ", ".join(f"{one:.40}" for one in sorted(items_of)[:SHOWN])
            raise DataError(f"{ask.categories} has no category {name!r}, but {len(items_of):,} others, such as {some}.")
    known(np.array(sum(items_of.values(), [])), item_ids, ask.categories, quiet)
    wanted = {*ask.only_category, *ask.without_category}
    return {name: known(np.array(items_of[name]), item_ids, name, True) for name in wanted}


def union(items_of, names):
    """The ids in any of some categories; None for no categories."""
    return np.unique(np.concatenate([items_of[name] for name in names])) if names else None
