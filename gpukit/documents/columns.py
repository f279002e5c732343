"""Column roles of tables of documents, and checks per query."""

from collections import Counter

import numpy as np

from gpukit.errors import DataError
from gpukit.io.arrays import plain
from gpukit.io.ids import factorize
from gpukit.io.words import shown

NAMES = {
    "label": {"label", "labels", "relevance", "rel", "y", "target", "grade"},
    "qid": {"qid", "qids", "query", "queryid", "queries"},
    "weight": {"weight", "queryweight"},
    "comment": {"comment", "comments", "docid", "documentid"},
}


SHOWN = 20  # maximum column names in a message, and letters of one


class Columns:
    """Roles of a table's columns by name: label, qid, weight, comment, features.

    Missing roles are None. Unnamed columns, such as an index that pandas wrote, are ignored. Raises DataError for a
    table without label, qid or features, and for several candidates of one role.
    """

    def __init__(self, names, file):
        """names: [str] of the columns; file: its name, for messages."""
        found = {role: _named(names, known) for role, known in NAMES.items()}
        self.features = [
            name for name in names if not is_index(name) and not any(name in some for some in found.values())
        ]
        if not found["label"] or not found["qid"] or not self.features:
            listing = ", ".join(name[:SHOWN] for name in names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
            raise DataError(
                f"{file} has the columns {listing}: documents need label (relevance), qid, and features in columns of "
                "their own or, in Parquet, as lists in one."
            )
        twice = next((name for name, count in Counter(self.features).items() if count > 1), None)
        if twice is not None:
            raise DataError(f"{file} has several columns named {shown(twice)}. Rename them, or leave all but one out.")
        for role, some in found.items():
            if len(some) > 1:
                two = " and ".join(map(shown, some[:2]))
                raise DataError(f"{file} has several columns that could be the {role}: {two}. Leave one.")
        self.label, self.qid, self.weight, self.comment = (some[0] if some else None for some in found.values())


def places_of(known, names, what):
    """Return the positions (n,) int64 of known feature names among names.

    None if both lists are equal. what: the documents' name, for the DataError that lists missing and unknown names.
    """
    known, names = np.asarray(known, object), np.asarray(names, object)
    if np.array_equal(known, names):
        return None
    place = {name: at for at, name in enumerate(names.tolist())}
    missing, unknown = [name for name in known if name not in place], sorted(place.keys() - set(known))
    wrong = [
        f"{kind}: {', '.join(map(shown, some[:SHOWN]))}{', ...' if len(some) > SHOWN else ''} ({len(some):,} of {n:,})"
        for kind, some, n in (("missing", missing, len(known)), ("unknown", unknown, len(names)))
        if some
    ]
    if wrong:
        raise DataError(
            f"{what}: the columns are not those of the training set; {'; '.join(wrong)}. Give the same "
            "columns, in any order."
        )
    return np.array([place[name] for name in known], np.int64)


def taken(X, places):
    """Return the columns of X (l, n), dense or CSR, at places (k,)."""
    return X[:, places] if hasattr(X, "indptr") else np.ascontiguousarray(X[:, places])


def is_index(name):
    """Return True for names of pandas index columns and empty names.

    An empty name results from a separator at the end of each line.
    """
    return name in ("", "__index_level_0__") or name.startswith("Unnamed: ")


def _named(names, known):
    """Return the names that are known ones."""
    return [name for name in names if plain(name) in known]


def are_documents(names):
    """Return True if column names include a label and a query id."""
    return all(_named(names, NAMES[role]) for role in ("label", "qid"))


def queries_of(qids, place):
    """Return (offsets (m+1,) int64, ids (m,)) of the query ids of rows (l,).

    Raises DataError for a query whose rows are not adjacent. place: function that describes a row.
    """
    rows, ids = factorize(qids, "query")
    starts = np.flatnonzero(np.concatenate(([True], rows[1:] != rows[:-1])))
    _, first = np.unique(rows[starts], return_index=True)
    if len(first) < len(starts):
        again = starts[np.setdiff1d(np.arange(len(starts)), first)[0]]
        raise DataError(
            f"{place(again)}: query {ids[rows[again]]} comes back after others. Sort the rows so that each query's "
            "documents are together."
        )
    return np.append(starts, len(rows)).astype(np.int64), ids[rows[starts]]


def weights_of(weights, offsets, qids, place):
    """Return the weight of each query, (m,), from weights of documents (l,).

    Raises DataError if a query's weights differ; place: function that describes a row.
    """
    each = weights[offsets[:-1]]
    differ = np.flatnonzero(weights != np.repeat(each, np.diff(offsets)))
    if len(differ):
        query = qids[np.searchsorted(offsets, differ[0], "right") - 1]
        raise DataError(
            f"{place(differ[0])}: the weight is not that of the other documents of query {query}. A weight is a "
            "query's, for a pair of documents has no other."
        )
    return each
