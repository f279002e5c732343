"""`gpukit synth`: generated data with the shapes of well-known data sets."""

from pathlib import Path

import click

from gpukit.cli import options, outputs, report
from gpukit.cli.convert import describe_documents, describe_graph, describe_ratings, show
from gpukit.cli.options import option
from gpukit.errors import ParameterError
from gpukit.io import sinks

COUNT = click.IntRange(1)
common = options.together(options.force, options.seed, options.printing)
LETOR = "mslr-web30k mslr-web10k mq2007-list mq2008-list mq2007 mq2008".split()


@click.group()
def synth():
    """Generate data with the shapes of well-known data sets."""


@options.command("ratings", synth)
@options.argument("output", metavar="OUT")
@option("--like", "Shape, skew and scale of ratings.", ("netflix", "ml-10m", "yahoo"))
@option("--scale", "Fraction of its ratings, at most 1; the sides shrink with its square root.", float, 0.01)
@option("--users", "Number of users, instead of --scale.", COUNT)
@option("--items", "Number of items, instead of --scale.", COUNT)
@option("--ratings", "Number of ratings, instead of --scale.", COUNT)
@option("--titles FILE", "Also write item,title with invented titles (csv).")
@common
def synth_ratings(ask, stages):
    """Generate ratings: heavy-tailed users and items, a planted low rank, tastes for groups of like items, and noise.

    OUT ends in .gkr (binary), .npz (scipy sparse) or .csv; - is csv on stdout. The planted RMSE (what is left when
    everything but the noise is known) is printed with the result.

    \b
    gpukit synth ratings --like ml-10m --scale 0.1 sample.csv
    """
    outputs.takes_stdout(ask.output, ask.as_json)
    from gpukit.ratings import synth as generator
    from gpukit.ratings import write_ratings
    from gpukit.ratings.copies import check_copy

    check_copy(ask.output)
    outputs.check_output(ask.output, "OUT", force=ask.force, text=True)
    outputs.check_output(ask.titles, "--titles", force=ask.force)
    stages.done("starting")
    shape = generator.resize_shape(generator.scale_shape(ask.like, ask.scale), ask.users, ask.items, ask.ratings)
    data, floors = generator.generate(shape, ask.seed)
    stages.done("generating")
    write_ratings(data, ask.output)
    if ask.titles:
        with sinks.open_text_sink(ask.titles) as file:
            file.writelines(["item,title\n", *(f"{item},Item {item}\n" for item in data.item_ids.tolist())])
    stages.done("writing")
    facts, line = describe_ratings(data)
    show(ask.output, ({**facts, **floors}, line), stages, ask, rate=("generating", "ratings"))
    if not ask.as_json:
        left = "biases {bias_floor:.4f}, with factors {factor_floor:.4f}, with everything {noise_floor:.4f}"
        report.remark(f"RMSE left by the planted {left.format(**floors)}.", ask.quiet)


@options.command("letor", synth)
@options.argument("output", metavar="OUT")
@option("--like", "Shape: the training set of a fold.", tuple(LETOR), "mslr-web10k")
@option("--scale", "Fraction of its queries, at most 1; their lengths do not change.", float, 0.01)
@option("--folds", "Folds of the folder OUT.  [default: 5]", click.IntRange(1, 5))
@common
def synth_letor(ask, stages):
    """Generate documents of queries: correlated, heavy-tailed features, and a relevance that partly depends on them.

    OUT ends in .txt (svmlight with query ids) or .gkl (binary), is - (text on stdout), or is a folder to be made: Fold1
    to Fold5, each with train, vali and test, three fifths of the queries and a fifth each, as LETOR has them.

    \b
    gpukit synth letor --like mq2008 --scale 1 train.txt
    gpukit synth letor --like mslr-web10k --scale 0.05 folder
    """
    from gpukit.documents import copies, synth_letor, write_folds, write_letor
    from gpukit.documents import folds as letor_folds

    outputs.takes_stdout(ask.output, ask.as_json)
    whole = sinks.is_stream(ask.output) or Path(ask.output).suffix.lower() in copies.SUFFIXES
    if whole and ask.folds:
        raise ParameterError(f"--folds is for a folder, and {ask.output} is a file. Leave it out, or name a folder.")
    (copies.check_copy if whole else letor_folds.check_folder)(ask.output)
    outputs.check_output(ask.output if whole else None, "OUT", force=ask.force, text=True)
    stages.done("starting")
    documents = synth_letor(ask.like, ask.scale, ask.seed)
    stages.done("generating")
    if whole:
        write_letor(documents, ask.output)
    else:
        write_folds(documents, ask.output, ask.folds or letor_folds.CUTS)
    stages.done("writing")
    show(ask.output, describe_documents(documents), stages, ask, rate=("generating", "documents"))


@options.command("graph", synth)
@option("--output -o FILE", "Where to write it, an .npz that gpukit impute reads.", required=True)
@option("--like", "Whose degrees.  [default: random]", click.Choice(["random", "ego-facebook"]))
@option("--vertices", "Vertices.  [default: 400; 4,039 of ego-facebook]", click.IntRange(2))
@option("--edges FILE", "A real graph: a list of edges or an adjacency.")
@options.slices("Rows and columns of a vertex's matrix.  [default: 50x50]")
@option("--rank", "Of each slice in the graph spectral domain.", COUNT, 5)
@option("--missing", "Share that is missing.", click.FloatRange(0, 1), 0.2)
@option("--entries", "Single entries are missing, in place of whole slices.", bool)
@option("--noise", "Of the observed values, as a share of their root mean square.", click.FloatRange(0), 0.0)
@common
def synth_graph(ask, stages):
    """Generate a graph tensor: a matrix on each vertex of a graph, of low rank in the graph spectral domain.

    As the paper of graph-tensor imputation makes its data; the truth is written too. A whole Fourier basis is computed
    (and kept on disk, where gpukit impute finds it), which takes N^2 memory.

    \b
    gpukit synth graph --like ego-facebook --slice 50x50 --rank 5 --missing 0.2 -o graph.npz
    gpukit synth graph --edges facebook_combined.txt --slice 20x20 --rank 2 -o graph.npz
    """
    from gpukit.graphs import read, write_graph
    from gpukit.graphs import synth_graph as generate

    if ask.edges and (ask.like or ask.vertices):
        raise ParameterError("--like and --vertices are for generated graphs, and --edges names one. Leave them out.")
    read.check_copy(ask.output)
    outputs.check_output(ask.output, "--output", [ask.edges] if ask.edges else [], ask.force)
    stages.done("starting")
    adjacency, ids = read.read_edges(ask.edges) if ask.edges else (None, None)
    stages.done("reading" if ask.edges else "starting")
    shape = ask.slice_shape or (50, 50)
    numbers = report.pick(ask, "vertices rank missing entries noise seed")
    data = generate(ask.like or "random", shape=shape, adjacency=adjacency, **numbers)._replace(vertices=ids)
    stages.done("generating")
    write_graph(ask.output, data)
    stages.done("writing")
    show(ask.output, describe_graph(data), stages, ask, rate=("generating", "values"))
