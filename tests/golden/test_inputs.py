"""Every kind of input in encodings, compressed files, pipes, lines of any length, and with faults between its rows."""

import functools

import pytest

from golden.command import Case

MODEL = "train-lshmf ratings.csv --model m.gpukit --factors 2 --neighbors 0 --epochs 1 --test-fraction 0 --quiet"
PAIRS = [(u, i) for u in range(6) for i in range(5) if (u + i) % 3]
RATINGS = "user,item,rating\n" + "".join(f"u{u},{i},{1 + (u * i) % 5}\n" for u, i in PAIRS)
# Fewer than five values: none is hidden to judge methods by, which takes most of the time.
WIDE = "time,a,b,x\n2024-01-01,1.5,9.25,\n2024-01-02,,8.25,2\n"
LONG = "sensor,time,value\na,2024-01-01,1.5\nx,2024-01-01,2.25\na,2024-01-02,3\na,2024-01-03,\nx,2024-01-03,4.5\n"


def graph(path, role):
    """The graph that read_graph makes of a file next to the table wide.csv: labels of its vertices, and its weights."""
    import gpukit

    data = gpukit.read_graph("wide.csv", **{role: path})
    return {"vertices": data.vertices, "adjacency": data.adjacency.toarray()}


def graph_by(role):
    """The command, files and outputs of a kind of graph."""
    return (functools.partial(graph, role=role),), {"wide.csv": WIDE}, ()


KINDS = {  # name -> (content, commands with {0} for the path, files next to it, outputs)
    "ratings": ("user,item,rating\nx,10,5\nx,11,3\ny,10,4\nz,12,1.5\n", ("convert {0} out.csv",), {}, ("out.csv",)),
    "documents": (
        "2 qid:1 1:.5 2:1 # x\n0 qid:1 1:.1 2:0 # y\n1 qid:2 1:.7 # z\n0 qid:2 2:3 # doc 7\n",
        ("convert {0} copy.gkl", "convert copy.gkl out.txt"),
        {},
        ("out.txt",),
    ),
    "a table of documents": (
        "qid,label,length,clicks\nx,2,.5,1\nx,0,.1,0\ny,1,.7,0\ny,0,0,3\n",
        ("convert {0} copy.gkl", "convert copy.gkl out.txt"),
        {},
        ("out.txt",),
    ),
    "sensors": (WIDE, ("impute {0} --method interpolation --output out.csv",), {}, ("out.csv",)),
    "readings": (LONG, ("impute {0} --method interpolation --output out.csv",), {}, ("out.csv",)),
    "edges": ("a,b,1.5\nb,x,0.5\nx,a,1.25\n", *graph_by("edges")),
    "places": (
        "sensor,latitude,longitude\na,48.1,2.1\nb,48.2,2.2\nx,48.3,2.3\n",
        *graph_by("coordinates"),
    ),
    "distances": ("a,b,1.5\nb,x,2.5\na,x,3.5\n", *graph_by("distances")),
    "titles": (
        "item,title\n0,Zero x\n1,One x\n2,Two x\n3,Three x\n4,Four x\n",
        (MODEL, "recommend m.gpukit --user u0 --user u1 --by rating --titles {0}"),
        {"ratings.csv": RATINGS},
        (),
    ),
    "pairs": (
        "u0,1\nu1,x\nz,3\n",
        (MODEL, "predict m.gpukit {0} --output out.csv"),
        {"ratings.csv": RATINGS},
        ("out.csv",),
    ),
}
TEXTS = {
    "carriage returns": lambda text: text.replace("\n", "\r\n"),
    "old carriage returns": lambda text: text.replace("\n", "\r"),
    "no last line feed": lambda text: text[:-1],
    "a byte order mark": lambda text: "\ufeff" + text,
    "two byte order marks": lambda text: "\ufeff\ufeff" + text,
    "Latin-1": lambda text: text.replace("x", "caf\u00e9").encode("latin-1"),
    "Windows' code page": lambda text: text.replace("x", "\u20ac\u2013").encode("cp1252"),
    "UTF-8": lambda text: text.replace("x", "caf\u00e9 \u4e00"),
    "UTF-16": lambda text: text.encode("utf-16"),
    "UTF-16, big end first": lambda text: ("\ufeff" + text).encode("utf-16-be"),
    "a blank line between": lambda text: text.replace("\n", "\n\n", 2),
    "blank lines at the end": lambda text: text + "\n \n,,\n",
    "a row with a field less": lambda text: after_the_second_line(text, shorter),
    "a row with a field more": lambda text: after_the_second_line(text, longer),
    "a zero byte": lambda text: text.replace("x", "x\x00", 1) if "x" in text else text.replace("a", "a\x00"),
    "a comment": lambda text: "# made by hand\n" + text,
}
LETTERS = ("Latin-1", "Windows' code page", "UTF-8")  # forms in which a name has other letters
SEPARATORS = {
    "semicolons": lambda text: text.replace(",", ";"),
    "tabs": lambda text: text.replace(",", "\t"),
    "decimal commas": lambda text: text.replace(",", ";").replace(".", ","),
    "decimal commas and points": lambda text: text.replace(",", ";").replace(".", ",", 2),
    "quotes around all": lambda text: "".join(
        ",".join(f'"{word}"' for word in line.split(",")) + "\n" for line in text.splitlines()
    ),
    "blanks around separators": lambda text: text.replace(",", " , "),
}
NEW_FOR_RATINGS = (
    "two byte order marks",
    "UTF-16, big end first",
    "a zero byte",
    "quotes around all",
    "blanks around separators",
)
MAIN = ("ratings", "documents", "sensors", "readings", "edges")  # kinds whose files may be large
PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip")


def after_the_second_line(text, change):
    """The text with its second line repeated in another form."""
    first, second, rest = text.split("\n", 2)
    return "\n".join((first, second, change(second), rest))


def shorter(line):
    """A line without its last field."""
    return line.rpartition("," if "," in line else " ")[0]


def longer(line):
    """A line with a field more."""
    return line + (",9" if "," in line else " 9")


def case_of(kind, name, content, path="input.csv", **more):
    """The case of one kind of input in one form. Of sensors that came by a pipe no table is written, but an .npz."""
    _, commands, files, outputs = KINDS[kind]
    is_pipe = "stdin" in more or "pipes" in more
    if is_pipe and kind in ("sensors", "readings"):
        commands, outputs = (commands[0].replace("out.csv", "out.npz"),), ("out.npz",)
    commands = tuple(c.format(path) if isinstance(c, str) else functools.partial(c, path) for c in commands)
    files = {**files, **more.pop("files", {})}
    return Case(f"{kind}: {name}", commands, files if is_pipe else {**files, path: content}, outputs=outputs, **more)


def forms():
    """Each kind in each form of text, and of separators if it has any; test_tables_of_ratings has most of ratings."""
    for kind, (text, _, files, _) in KINDS.items():
        for name, change in {**TEXTS, **({} if kind == "documents" else SEPARATORS)}.items():
            is_known = name not in NEW_FOR_RATINGS if kind == "ratings" else "decimal" in name and "." not in text
            if not is_known:  # the sensors of a graph are named alike in their table
                wide = {"wide.csv": change(WIDE)} if name in LETTERS and "wide.csv" in files else {}
                yield case_of(kind, name, change(text), files=wide)
        for suffix in () if kind == "ratings" else PACKED if kind in MAIN else PACKED[:1]:
            yield case_of(kind, suffix, text, f"input.csv{suffix}")


def pipes():
    """Each kind by standard input, by a named pipe, and by process substitution."""
    for kind, (text, *_) in KINDS.items():
        yield case_of(kind, "-", text, "-", stdin=text)
        yield case_of(kind, "a named pipe", text, "input.csv", pipes={"input.csv": text})
        if kind in MAIN:
            yield case_of(kind, "/dev/stdin", text, "/dev/stdin", stdin=text)
        if kind != "edges" and not callable(KINDS[kind][1][0]):
            yield case_of(kind, "process substitution", text, "<(input.csv)", pipes={"input.csv": text})


EDGES = (
    case_of("edges", "an edge twice", "a,b,1.5\na,b,2\nb,x,1\n"),
    case_of("edges", "an edge both ways", "a,b,1.5\nb,a,2\nb,x,1\n"),
    case_of("edges", "a loop", "a,b,1.5\nb,b,2\nb,x,1\n"),
    case_of("edges", "a weight of 0", "a,b,0\nb,x,1\n"),
    case_of("edges", "a weight that is not finite", "a,b,inf\nb,x,1\n"),
    case_of("edges", "a sensor without edges", "a,b,1\n"),
    case_of("edges", "no weights", "from,to\na,b\nb,x\n"),
    case_of("edges", "a square table", ",a,b,x\na,0,1,.5\nb,1,0,2\nx,.5,2,0\n"),
    case_of("edges", "Matrix Market", "%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n2 1 1.5\n3 2 1\n"),
    case_of("distances", "a square table", ",a,b,x\na,0,1,.5\nb,1,0,2\nx,.5,2,0\n"),
    case_of("distances", "a distance twice", "a,b,1.5\nb,a,2\nb,x,1\n"),
    case_of("places", "x and y", "sensor,x,y\na,1,2\nb,1.5,2\nx,9,9\n"),
    case_of("places", "longitude first", "lon,lat,sensor\n2.1,48.1,a\n2.2,48.2,b\n2.3,48.3,x\n"),
    case_of("places", "a latitude beyond 90", "sensor,latitude,longitude\na,98,2\nb,48,2\nx,48,3\n"),
)
LENGTH = 1_100_000  # of a line, more than 1 MiB
LINES = (
    case_of("ratings", "an id of more than 1 MiB", f"user,item,rating\n{'u' * LENGTH},10,5\nb,10,4\n"),
    case_of("ratings", "more than 1 MiB of blanks", f"user,item,rating\na,10,{' ' * LENGTH}5\nb,10,4\n"),
    case_of("ratings", "a header of more than 1 MiB", f"user,item,rating,{'x' * LENGTH}\na,10,5,1\nb,10,4,1\n"),
    case_of("documents", "a comment of more than 1 MiB", f"1 qid:1 1:.5 # {'x' * LENGTH}\n0 qid:1 1:.25\n"),
    case_of("documents", "a line of more than 1 MiB", "1 qid:1 1:.5" + " " * LENGTH + "2:1\n0 qid:1 1:.25\n"),
    case_of("a table of documents", "a query of more than 1 MiB", f"qid,label,f\n{'q' * LENGTH},1,.5\nb,0,1\n"),
    case_of("sensors", "a name of more than 1 MiB", WIDE.replace("b", "b" * LENGTH)),
    case_of("readings", "a sensor of more than 1 MiB", LONG.replace("a,", "a" * LENGTH + ",", 1)),
    case_of("titles", "a title of more than 1 MiB", f"item,title\n0,{'t' * LENGTH}\n1,One\n"),
    case_of("ratings", "2 MiB by a pipe", "", "-", stdin="".join(f"{u},{u % 7},{u % 5}.00\n" for u in range(150_000))),
)
R = {"r.csv": KINDS["ratings"][0]}
SHELL = (
    Case("a shell: a pipe to a pipe", "cat r.csv | gpukit convert - - --quiet | sort", R, in_shell=True),
    Case(
        "a shell: process substitution",
        "gpukit convert <(cat r.csv) out.csv --quiet",
        R,
        outputs=("out.csv",),
        in_shell=True,
    ),
    Case("a shell: nobody reads on", "gpukit convert r.csv - -q | head -n 1; echo ${PIPESTATUS[0]}", R, in_shell=True),
)
CASES = (*forms(), *pipes(), *EDGES, *LINES, *SHELL)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_inputs(check, case):
    check(case)
