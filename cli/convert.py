"""`gpukit convert`: convert ratings or documents to a binary copy or another format."""

import contextlib
from pathlib import Path

from gpukit.cli import options, outputs, report
from gpukit.cli.options import option
from gpukit.runtime.start import import_reader


@options.command()
@options.argument("source", metavar="IN")
@options.argument("output", metavar="OUT")
@options.ratings_file
@option("--times", "Keep the times of ratings (timestamp, time, date).", bool)
@options.null
@options.force
@options.printing
def convert(ask, stages):
    """Read the ratings in IN (a file or a folder, compressed or not; - is stdin) and write them to OUT.

    OUT's suffix says how: .gkr is a binary copy that loads at disk speed, .npz a scipy sparse matrix with the ids,
    .parquet and .csv have the columns user, item, rating; - writes csv on stdout. --times, and --columns
    user,item,rating,weight,count, keep more than the ratings; of a .gkr and an .npz all is kept. A line on stderr names
    columns of times, weights and counts that are not converted.

    Documents of queries (svmlight with qid:, or with FILE.query or FILE.group next to it, csv or Parquet with columns
    label and qid) become a .gkl, a binary copy that loads at disk speed, .parquet, or .txt, svmlight text (- too),
    which has no place for names of features; --null is for them, --format, --columns, --sep, --duplicates and --times
    for ratings.

    \b
    gpukit convert netflix/ netflix.gkr
    gpukit convert ratings.csv.gz ratings.gkr --columns item,user,-,rating
    gpukit convert ml-1m/ratings.dat ratings.parquet --times
    gpukit convert MQ2008/Fold1/train.txt train.gkl
    zcat ratings.csv.gz | gpukit convert - - --times | sort -t, -k4 | head
    """
    from gpukit.io import sources

    source, output = ask.source, ask.output
    outputs.takes_stdout(output, ask.as_json)
    outputs.check_output(output, "OUT", [source], ask.force, text=True)
    import_reader(source)
    with contextlib.nullcontext(source) if Path(source).is_dir() else sources.open_source(source) as source:
        if _are_documents(source, output, ask.file_format):
            unused = "file_format columns sep duplicates times"
            options.refuse_unused(unused, f"is for ratings, and {ask.source} has documents of queries. Leave it out.")
            kind, described = "documents", describe_documents(_convert_documents(source, output, stages, ask))
        else:
            options.refuse_unused("null", f"is for documents of queries, and {ask.source} has ratings. Leave it out.")
            kind, described = "ratings", describe_ratings(_convert_ratings(source, output, stages, ask))
    show(output, described, stages, ask, rate=("reading", kind))


def _are_documents(source, output, file_format):
    """Return True if the output's name or the source's content indicates documents."""
    from gpukit.documents.copies import SUFFIXES
    from gpukit.documents.read import is_letor
    from gpukit.io.sources import Source
    from gpukit.ratings.copies import SUFFIXES as OF_RATINGS

    suffix = Path(output).suffix.lower()
    is_named = suffix in SUFFIXES and suffix not in OF_RATINGS
    return is_named or (file_format == "auto" and isinstance(source, Source) and is_letor(source))


def _convert_documents(source, output, stages, ask):
    """Read Documents from the source and write them to the output."""
    from gpukit.documents import read_letor, write_letor
    from gpukit.documents.copies import check_copy

    check_copy(output)
    stages.done("starting")
    with report.collect_warnings(ask.quiet):
        documents = read_letor(source, null=ask.null)
        stages.done("reading")
        write_letor(documents, output)
        stages.done("writing")
    return documents


def _convert_ratings(source, output, stages, ask):
    """Read Ratings with the options of read_ratings and write them to the output."""
    from gpukit.ratings import read_ratings, write_ratings
    from gpukit.ratings.copies import check_copy

    check_copy(output)
    stages.done("starting")
    times = ask.times or ("auto" if getattr(source, "format", "") in ("gkr", "npz") else False)
    data = read_ratings(source, ask.file_format, **report.pick(ask, "columns duplicates sep"), times=times)
    stages.done("reading")
    for name, facts in report.read_notes().items():
        if "left_out" in facts:
            columns = ", ".join(facts["left_out"])
            text = f"{name}: not converted: {columns}. --times keeps times, --columns weights and counts."
            report.remark(text, ask.silent)
    write_ratings(data, output)
    stages.done("writing")
    return data


def describe_ratings(data):
    """Return (facts, line of text) of ratings."""
    from gpukit.ratings.check import are_pairs

    (low, high), (users, items) = data.scale, data.shape
    facts = {"ratings": len(data), "users": users, "items": items, "lowest": low, "highest": high}
    if not are_pairs(data):
        return facts, f"{len(data):,} ratings, {users:,} users, {items:,} items, {low:g} to {high:g}"
    least, most = data.counts.min(), data.counts.max()
    counted = "once" if most == 1 else f"{least:g} to {most:g} times"
    line = f"{len(data):,} pairs without ratings (clicks), {users:,} users, {items:,} items, counted {counted}"
    return {**facts, "clicks": int(data.counts.sum())}, line


def describe_documents(documents):
    """Return (facts, line of text) of documents."""
    (l, n), queries = documents.X.shape, len(documents.qids)
    low, high, longest = documents.y.min(), documents.y.max(), (documents.offsets[1:] - documents.offsets[:-1]).max()
    facts = {"documents": l, "queries": queries, "features": n, "lowest": float(low), "highest": float(high)}
    line = f"{l:,} documents, {queries:,} queries, {n} features, relevance {low:g} to {high:g}"
    return {**facts, "longest_query": int(longest)}, line


def describe_graph(data):
    """Return (facts, line of text) of a graph tensor."""
    (N, m, n), edges, share = data.tensor.shape, data.adjacency.nnz // 2, data.missing_share
    kind = "slices" if data.mask.ndim == 1 else "entries"
    facts = {"vertices": N, "edges": edges, "slice": [m, n], "values": data.tensor.size, "missing": share}
    line = f"{N:,} vertices, {edges:,} edges, slices of {m} x {n}, {share:.1%} of the {kind} missing"
    return {**facts, "missing_kind": kind}, line


def show(output, described, stages, ask, rate):
    """Print what was written as JSON or as lines.

    described: (facts, line of text). rate: (stage, name of the items counted per second of the stage).
    """
    (facts, line), (stage, kind) = described, rate
    speed, size = facts[kind] / max(stages.seconds[stage], 1e-9), outputs.size_of(output)
    if ask.as_json:
        facts = {"output": str(output), **facts, "bytes": size, "seconds": stages.seconds}
        report.print_json({**facts, f"{kind}_per_second": speed})
    elif not ask.quiet:
        aside = outputs.takes_stdout(output)
        text = f"{speed / 1e6:,.2f} million" if speed >= 1e5 else f"{speed:,.0f}"
        report.echo(f"{output}: {line}{'' if aside else f'; {outputs.format_size(size)}'}.", err=aside)
        report.echo(f"{stage.capitalize()}: {text} {kind} a second.", err=aside)
        report.echo(stages.line(), err=aside)
