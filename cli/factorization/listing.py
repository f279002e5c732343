"""Inputs of `gpukit recommend`: filters, and ratings of users unknown to the model, from a file.

Lines of the file are item,rating of one user, or user,item,rating of several. The ranking of lists is learned on first
use and stored in the model's file. Ranks compute the lists of some users at a time.
"""

import contextlib
import os
import tempfile

import click
import numpy as np

from gpukit.cli import models, report
from gpukit.cli.options import option, together
from gpukit.device import capability_of
from gpukit.errors import DataError, GpukitError, ParameterError
from gpukit.factorization.lists import Filters
from gpukit.factorization.lists.files import read_categories, read_items
from gpukit.io import sources
from gpukit.io.ids import rows_of
from gpukit.io.records import BLANKS, hidden, lines_of
from gpukit.io.words import cut_blank_end, decode
from gpukit.parallel import ALONE
from gpukit.ratings.formats import IDS, filled_lines, find_columns, split
from gpukit.ratings.read import SPELLED, rating_files, read_ratings
from gpukit.timing import in_background

SHOWN = 5  # categories in a message
options = together(
    option("--only IDS", "Recommend only these items: a file with an id per line, or 1,2,3.", multiple=True),
    option("--without IDS", "Leave these items out: a file, or 1,2,3.", multiple=True),
    option("--categories FILE", "Categories of items: a file of item,category.", multiple=False),
    option("--only-category NAME", "Recommend only items in the named categories.", multiple=True),
    option("--without-category NAME", "Leave items of this category out.", multiple=True),
    option("--min-support N", "Recommend only items with at least N ratings.", click.IntRange(min=0), 0),
    option("--popularity W", "Add W log(1 + ratings) of the item to each score.", float, 0.0),
    option("--diversity D", "Penalty of items similar to earlier ones of the list.", click.FloatRange(0, 1), 0.0),
)


def files_of(ask):
    """Return the files that the options read."""
    categories = [] if ask.categories is None else [ask.categories]
    return [*categories, *(value for value in (*ask.only, *ask.without) if is_file(value))]


def is_file(value):
    """Return True if IDS of an option is a file or pipe."""
    is_there = os.path.exists(value) and not os.path.isdir(value)
    return value == "-" or is_there or (os.sep in value and "," not in value)


def filters_of(ask, item_ids):
    """Return the gpukit.factorization.Filters of the options.

    Reports on stderr how many named items are not among item_ids. DataError for a category that is not in the file.
    """
    quiet = ask.silent
    named = {"--only": ask.only, "--without": ask.without}
    only, without = (ids_of_option(values, name, item_ids, quiet) for name, values in named.items())
    if ask.categories is not None:
        items_of = known_categories(ask, item_ids, quiet)
        within = union(items_of, ask.only_category)
        only = within if only is None else only if within is None else np.intersect1d(only, within)
        left_out = [part for part in (without, union(items_of, ask.without_category)) if part is not None]
        without = np.concatenate(left_out) if left_out else None
    return Filters(only, () if without is None else without, ask.min_support, ask.popularity, ask.diversity)


def ids_of_option(values, option, item_ids, quiet):
    """Return the ids of item_ids that an option names; None without the option.

    They are named in files or directly. ParameterError for a value that is not a file and names no known id.
    """
    if not values:
        return None
    parts = [read_items(value, item_ids) if is_file(value) else ids_in(value, option, item_ids) for value in values]
    return known_ids(np.array([item.strip(BLANKS) for part in parts for item in part]), item_ids, option, quiet)


def ids_in(value, option, item_ids):
    """Return the texts between the commas of a value; ParameterError if none is an id."""
    texts = value.split(",")
    if (rows_of(np.array([text.strip(BLANKS) for text in texts]), item_ids, "item") < 0).all():
        raise ParameterError(f"{option} {value}: there is no such file, and the model knows no such item.")
    return texts


def known_ids(texts, item_ids, source, quiet):
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
            names = ", ".join(f"{category:.40}" for category in sorted(items_of)[:SHOWN])
            others = f"{len(items_of):,} others, such as {names}"
            raise DataError(f"{ask.categories} has no category {name!r}, but {others}.")
    known_ids(np.array(sum(items_of.values(), [])), item_ids, ask.categories, quiet)
    wanted = {*ask.only_category, *ask.without_category}
    return {name: known_ids(np.array(items_of[name]), item_ids, name, True) for name in wanted}


def union(items_of, names):
    """Return the ids in any of the categories; None for no categories."""
    return np.unique(np.concatenate([items_of[name] for name in names])) if names else None


NEEDED = "a file with a line item,rating, or user,item,rating, for each rating"
ONE = "new"  # the user of a file without users
SEPARATORS = ("::", "\t", ";", ",", " ")


def read_lists(path, file_format, columns, duplicates, sep, of_clicks=False, bounds=None):
    """Return the Ratings of a file; the user of a file without users has id 'new'.

    of_clicks: pairs user,item, or the items of one user, with ratings or counts if a header names them. bounds: (low,
    high) of the ratings.
    """
    with sources.open_source(path, NEEDED) as source:
        if file_format not in ("auto", "csv") or source.format != "text":
            return read_ratings(source, file_format, columns, duplicates, sep, bounds=bounds)
        stream = next(source.streams(rating_files))
        first = next(iter(filled_lines(hidden(stream.text_head()))), None)
        text = "" if first is None else first.text
        between = SPELLED.get(sep, sep) or next((separator for separator in SEPARATORS if separator in text), ",")
        user, columns = user_of_list(split(text, between), columns, of_clicks, source.name)
        if user is None:
            return read_ratings(source, file_format, columns, duplicates, sep, bounds=bounds)
        with tempfile.NamedTemporaryFile(suffix=".csv") as file:
            whole = decode(cut_blank_end(stream.whole(), between, source.name))
            for number, line in lines_of(whole.removesuffix("\n"), between):
                name = user if number == first.number else ONE
                file.write((f"{name}{between}{line}\n" if line.strip() else "\n").encode())
            file.flush()
            with sources.open_source(file.name, NEEDED) as completed:
                completed.name = source.name
                return read_ratings(completed, "csv", columns, duplicates, between, bounds=bounds)


def user_of_list(words, columns, of_clicks, name):
    """Return (user of the first line, names of the columns or None for those of the header) of a list of one user.

    The user is 'user' for a header, and None for a file with users, or if the columns are not clear. words: fields of
    the first line; columns: those that the caller named, or None.
    """
    header, named = find_columns(words), find_columns(columns.split(",")) if columns else {}
    user = "user" if "items" in header else ONE
    if columns is not None:
        is_list = "items" in named and "users" not in named
        return (user, f"user,{columns}") if is_list else (None, columns)
    if {*IDS} <= header.keys():
        if len(words) == 2 and not of_clicks:
            raise DataError(f"{name} has users and items without ratings. Give {NEEDED}.")
        return None, None
    if "items" in header and (of_clicks or header.keys() & {"values", "counts"}):
        return user, None
    fields = ("item",) if of_clicks else ("item", "rating")
    return (ONE, ",".join(("user", *fields))) if len(words) == len(fields) else (None, None)


@contextlib.contextmanager
def lists_learned(fitted, ask, stamp_before, stages, team=ALONE):
    """Learn the ranking of a fitted model's lists if ask.by needs it, unless present; store it while the context runs.

    It is stored in ask.model if that is writable and its stamp is still `stamp_before`; the context ends when it is.
    All ranks of a Team learn the same ranking, and the first one stores it.
    """
    stages.done("reading")
    is_new = ask.by == "lists" and not fitted.has_lists
    if is_new:
        report.compile_ahead(ask, team, "lists", capability=capability_of(fitted.device))
        fitted.fit_lists()
        stages.done("learning lists")
    if team.rank or not is_new:
        yield
        return
    storing = in_background(lambda: write_model(fitted, ask.model, stamp_before))
    try:
        yield
    finally:
        report.remark(f"Learned what ranks lists{storing()}.", ask.silent)
        stages.done("writing")


def write_model(fitted, path, stamp_before):
    """Write the model; return the end of the remark, with any error."""
    if models.stamp(path) != stamp_before:
        return f"; {path} is another by now, and stays as it is"
    if not os.access(path, os.W_OK):
        return f"; {path} may not be written, so it is learned again each time"
    try:
        fitted.save(path)
    except (GpukitError, OSError) as error:
        return f", but could not keep it: {error}"
    return f" and kept it in {path}"


SPAN = 1 << 13  # users


def tiles_of(fitted, team, **arguments):
    """Yield the tiles of fitted.recommend_batches for all users, in order, on the first rank.

    The other ranks send theirs and yield none. arguments: arguments of recommend_batches.
    """
    users = fitted.user_ids_
    for number, first in enumerate(range(0, len(users), SPAN)):
        its, rank = users[first : first + SPAN], number % team.size
        if rank == team.rank:
            answer = fitted.recommend(its, **arguments)
            if rank == 0:
                yield its, *answer
            else:
                hand_over(*answer, fitted, team)
        elif team.rank == 0:
            items, scores = team.receive(rank), team.receive(rank)
            yield its, fitted.item_ids_[items], scores


def hand_over(items, scores, fitted, team):
    """Send lists to the first rank as item numbers, shorter than ids; -1: none."""
    is_listed = ~np.isnan(scores)
    rows = np.full(items.shape, -1, np.int32)
    rows[is_listed] = rows_of(items[is_listed], fitted.item_ids_)
    team.send(0, rows)
    team.send(0, scores)
