"""Items and their categories, from files."""

import numpy as np

from gpukit.errors import DataError
from gpukit.io import records
from gpukit.io.arrays import normalize_name
from gpukit.io.delimited import short_rows
from gpukit.io.ids import rows_of
from gpukit.ratings.formats import ITEM, ROLES, TITLE

NEEDED_ITEMS = "a file with an item's id in each line"
NEEDED_CATEGORIES = "a file with a line item,category for each item"
HEADINGS = {"category", "categories", "genre", "genres", "tag", "tags", "label"}
OTHERS = HEADINGS.union(TITLE, *(known for role, known in ROLES.items() if role != "items"))  # names next to an item's
SEPARATORS = ("::", "\t", ";", ",")
BETWEEN = "|"  # separator of categories of one item


def read_items(path, item_ids=()):
    """Return the item ids in a file as text: the column that a heading names, otherwise the first one.

    A heading is skipped. Raises DataError for a missing or empty file, one without items, or one whose only line lists
    several of item_ids.
    """
    lines = lines_of(path, NEEDED_ITEMS)
    number, words = lines[0] if len(lines) == 1 else (0, [])
    if number == 1 and len(words) > 1 and (rows_of(np.array(words), item_ids, "item") >= 0).all():
        raise DataError(f"{path} has {len(words):,} items in its only line. Give {NEEDED_ITEMS}.")
    items = [words[0] for _, words in lines]
    if not any(items):
        raise DataError(f"{path} names no item. Give {NEEDED_ITEMS}.")
    if "" in items:
        number, words = lines[items.index("")]
        raise DataError(f"{path}, line {number:,} has no item: {' '.join(words)[:80]!r}.")
    return items


def read_categories(path):
    """Return {category: [item id as text]} of a file of items and categories.

    Lines are `item,category`, or as a heading names the columns, one for each category of an item; or the last field
    has several, separated by |, as in MovieLens's movies.dat and movies.csv. Raises DataError for a missing or empty
    file, and for a line without an item or category, which it names.
    """
    result = {}
    for number, words in lines_of(path, NEEDED_CATEGORIES):
        names = [name.strip(records.BLANKS) for name in words[-1].split(BETWEEN)]
        if len(words) < 2 or not words[0] or not all(names):
            raise DataError(f"{path}, line {number:,} lacks an item or a category: {' '.join(words)[:80]!r}.")
        for name in names:
            result.setdefault(name, []).append(words[0])
    if not result:
        raise DataError(f"{path} holds a header and nothing else: no categories. Give {NEEDED_CATEGORIES}.")
    return result


def lines_of(path, needed):
    """Return [(number, fields)] of the lines of a file or a Source.

    Blank lines and a heading are skipped. If it names the item and another column, such as user, category or title, the
    fields of a line are the item and the last column, or the category.
    """
    _, _, rows = short_rows(path, needed, SEPARATORS)
    lines = [(number, words) for number, _, words in rows]
    first = [normalize_name(word) for word in lines[0][1]]
    item = find_word(first, ITEM)
    if item is not None and find_word(first, OTHERS) is not None:
        category = find_word(first, HEADINGS)
        places = item, len(first) - 1 if category is None else category
        return [
            (number, [words[index] if index < len(words) else "" for index in places]) for number, words in lines[1:]
        ]
    headed = first[0] in ITEM | {"id"} or (len(first) > 1 and first[-1] in HEADINGS)
    return lines[1:] if headed else lines


def find_word(names, words):
    """Return the index of the first name in a set of words, or None."""
    return next((index for index, name in enumerate(names) if name in words), None)
