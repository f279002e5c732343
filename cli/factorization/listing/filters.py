"""Options that filter lists, and their Filters."""

import os
from pathlib import Path

import click
import numpy as np

from gpukit.cli import report
from gpukit.cli.options import option
from gpukit.errors import DataError, ParameterError
from gpukit.factorization.lists import Filters
from gpukit.factorization.lists.files import read_categories, read_items
from gpukit.io.ids import rows_of

SHOWN = 5  # categories in a message
OPTIONS = (
    option("--only IDS", "Of these items alone: a file, an id a line, or 1,2,3.", multiple=True),
    option("--without IDS", "Leave these items out: a file, or 1,2,3.", multiple=True),
    option("--categories FILE", "Categories of items: a file of item,category."),
    option("--only-category NAME", "Of items in this category, or another named.", multiple=True),
    option("--without-category NAME", "Leave items of this category out.", multiple=True),
    option("--min-support N", "Of items with at least N ratings.", click.IntRange(min=0), 0),
    option(
        "--popularity W",
        "Add W log(1 + ratings) of the item to each score; below 0 for what is less known.",
        float,
        0.0,
    ),
    option(
        "--diversity D", "0 to 1: hold items back that are like those listed before them.", click.FloatRange(0, 1), 0.0
    ),
)


def options(command):
    """Add the options that filter lists to a command.

    --only --without --categories --only-category --without-category --min-support --popularity --diversity, with
    parameters of these names.
    """
    for add in reversed(OPTIONS):
        command = add(command)
    return command


def check(ask):
    """Raise ParameterError for categories without their file."""
    if (ask.only_category or ask.without_category) and ask.categories is None:
        raise ParameterError("--only-category and --without-category need --categories FILE, a file of item,category.")


def files_of(ask):
    """Return the files that the options read."""
    return [ask.categories, *(one for one in (*ask.only, *ask.without) if is_file(one))]


def is_file(one):
    """Return True if IDS of an option is a file or pipe."""
    path = Path(one)
    return one == "-" or path.is_file() or path.is_fifo() or path.is_char_device() or (os.sep in one and "," not in one)


def filters_of(ask, item_ids):
    """Return the gpukit.factorization.Filters of the options.

    Reports on stderr how many named items are not among item_ids. DataError for a category that is not in the file.
    """
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
    """Return the ids of item_ids that an option names; None without the option.

    They are named in files or directly.
    """
    if not asked:
        return None
    parts = [read_items(one) if is_file(one) else [item.strip() for item in one.split(",")] for one in asked]
    return known(np.array(sum(parts, [])), item_ids, option, quiet)


def known(texts, item_ids, source, quiet):
    """Return the texts that are ids of item_ids; report the number of others."""
    texts = np.unique(texts)
    rows = rows_of(texts, item_ids, "item")
    lost = int((rows < 0).sum())
    if lost:
        report.remark(f"The model does not know {lost:,} of {len(texts):,} items in {source}.", quiet)
    return item_ids[rows[rows >= 0]]


def known_categories(ask, item_ids, quiet):
    """Return {category: ids among item_ids} of the requested categories."""
    items_of = read_categories(ask.categories)
    for name in (*ask.only_category, *ask.without_category):
        if name not in items_of:
            some = ", ".join(f"{one:.40}" for one in sorted(items_of)[:SHOWN])
            raise DataError(f"{ask.categories} has no category {name!r}, but {len(items_of):,} others, such as {some}.")
    known(np.array(sum(items_of.values(), [])), item_ids, ask.categories, quiet)
    wanted = {*ask.only_category, *ask.without_category}
    return {name: known(np.array(items_of[name]), item_ids, name, True) for name in wanted}


def union(items_of, names):
    """Return the ids in any of the categories; None for no categories."""
    return np.unique(np.concatenate([items_of[name] for name in names])) if names else None
