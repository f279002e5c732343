"""TREC's files: runs (query, document, rank, score) and qrels (query, document, label).

The name of a document is the docid of its comment, as in LETOR's `#docid = GX000-00-0000000 inc = 1`, or a comment of
one word. A document without one is named by its number in the file, from 1.
"""

import re
import warnings
from collections import Counter

import numpy as np

from gpukit.errors import DataError
from gpukit.io import sources
from gpukit.io.words import decode, is_number, quote

LINE = "a line `query 0 document label` for each pair"


def document_names(documents):
    """Return the names [str] of Documents; DataError for one that is twice in a query."""
    comments = [""] * len(documents.y) if documents.comments is None else documents.comments.tolist()
    match = (re.search(r"docid\s*=\s*(\S+)", text) or re.fullmatch(r"\s*(\S+)\s*", text) for text in comments)
    names = [str(number) if name is None else name[1] for number, name in enumerate(match, 1)]
    for query, first, last in zip(documents.qids.tolist(), documents.offsets.tolist(), documents.offsets[1:].tolist()):
        if len(set(names[first:last])) < last - first:
            name = Counter(names[first:last]).most_common(1)[0][0]
            raise DataError(
                f"Several documents of query {quote(str(query))} are named {quote(name)} by their comments, and TREC's "
                "files name each document once. Give each a docid of its own, or none a comment."
            )
    return names


def run_lines(documents, scores, ranks, spell=repr):
    """Yield the lines of a run: the documents of each query by rank. ranks (l,) from 1; spell: formats a score.

    Raises DataError for a query id with blanks.
    """
    names, offsets = document_names(documents), documents.offsets.tolist()
    for query, first, last in zip(documents.qids.tolist(), offsets[:-1], offsets[1:]):
        if len(str(query).split()) != 1:
            raise DataError(f"Query {query!r} is not one word, as a TREC run needs. Rename it, or write plain scores.")
        for row in (first + np.argsort(ranks[first:last])).tolist():
            yield f"{query} Q0 {names[row]} {ranks[row]} {spell(float(scores[row]))} gpukit\n"


def read_qrels(path):
    """Return {(query, document): label} of a qrels file; DataError with the line for anything else."""
    lines = decode(sources.read_whole(path, LINE)[1]).split("\n")
    labels = {}
    for number, line in enumerate(lines, 1):
        words = line.split()
        if not words:
            continue
        if len(words) != 4 or not is_number(words[3]):
            raise DataError(f"{path}, line {number:,}: {quote(line.strip())} is not `query 0 document label`.")
        pair, label = (words[0], words[2]), float(words[3])
        if labels.setdefault(pair, label) != label:
            raise DataError(
                f"{path}, line {number:,}: document {quote(pair[1])} of query {quote(pair[0])} has the labels "
                f"{labels[pair]:g} and {label:g}. Keep one of them."
            )
    if not labels:
        raise DataError(f"{path} has no labels. Expected {LINE}.")
    return labels


def relabel(documents, path):
    """Return Documents with the labels of a qrels file, 0 for pairs that it lacks.

    Raises DataError if it has none of them. Relevant documents that are not among them are a UserWarning.
    """
    labels, names = read_qrels(path), document_names(documents)
    queries = np.repeat(documents.qids, np.diff(documents.offsets)).tolist()
    pairs = [(str(query), name) for query, name in zip(queries, names)]
    if labels.keys().isdisjoint(pairs):
        raise DataError(
            f"{path} has none of the {len(pairs):,} documents: the first is {quote(pairs[0][1])} of query "
            f"{quote(pairs[0][0])}. Name documents by the docid of their comments, or by their number in the file."
        )
    lost = sorted({pair for pair, label in labels.items() if label > 0} - set(pairs))
    if lost:
        queries = len({query for query, _ in lost} - set(map(str, documents.qids.tolist())))
        warnings.warn(
            f"{path} has {len(lost):,} relevant documents that are not among the {len(pairs):,}, such as "
            f"{quote(lost[0][1])} of query {quote(lost[0][0])}; {queries:,} of their queries are not either. Metrics "
            "leave them out, where trec_eval counts them as missed.",
            stacklevel=2,
        )
    return documents._replace(y=np.array([labels.get(pair, 0.0) for pair in pairs]))
