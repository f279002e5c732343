"""The code passes every gate, and every gate fails on a planted fault."""

import subprocess

import pytest
from gates import gates

LITERALS = 180


def tracked(root):
    listing = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True)
    if listing.returncode:
        pytest.skip("not a git checkout")
    return [name for name in listing.stdout.split("\n") if name]


def write(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


GATES_OF_THE_PACKAGE = [
    gates.twins_match,
    gates.kernels_live_in_kernels,
    gates.kernels_are_documented,
    gates.parameters_are_documented,
    gates.compilers_have_one_door,
    gates.loops_are_shared_by_by_block,
    gates.streams_have_one_registry,
]
GATES_OF_THE_ROOT = [gates.every_folder_is_packaged, gates.files_stay_short]


@pytest.mark.parametrize("gate", GATES_OF_THE_PACKAGE, ids=lambda gate: gate.__name__)
def test_the_package_passes(gate, root):
    assert gate(root / "gpukit") == []


@pytest.mark.parametrize("gate", GATES_OF_THE_ROOT, ids=lambda gate: gate.__name__)
def test_the_repository_passes(gate, root):
    assert gate(root) == []


def test_kernels_have_cases(root):
    from compile.cases import CASES  # here, because it imports every kernel

    built = [(case.name, case.kernel.py_func.__module__, case.kernel.py_func.__name__) for case in CASES]
    assert gates.kernels_have_cases(root / "gpukit", built) == []


def test_kernels_are_sanitized(root):
    from sanitize.cases import CASES, EXCEPTED

    assert gates.kernels_are_sanitized(root / "gpukit", CASES) == []
    assert {kernel for _, kernel in EXCEPTED} <= set(CASES)


def test_commands_leave_compiling_to_the_library(root):
    assert gates.compilers_have_one_door(root / "cli") == []


def test_no_machine_paths(root):
    assert gates.no_machine_paths(root, tracked(root)) == []


@pytest.mark.parametrize("name", ["cli.md", "benchmarks.md", "papers.md", "roofline.md"])
def test_what_is_generated_in_docs_is_fresh(name, root, build):
    assert gates.reference_is_fresh(root / "docs" / name, build.GENERATED[name]()) == []


def test_everything_generated_in_docs_is_compared(build):
    assert set(build.GENERATED) == {"cli.md", "benchmarks.md", "papers.md", "roofline.md"}


GOOD_KERNEL = '''
@kernel
def scale(x, factor, out):
    """out = factor x.
    x, out (n, k) float32; factor float32.
    Launch: any. Deterministic: yes. Source: ours."""
'''
GOOD_TWIN = "@njit\ndef scale(x, factor, out): pass\n"
BLOCK_TWIN = "@by_block(lambda x: len(x))\ndef scale(start, stop, x, factor, out): pass\n"
FACTORY = (
    GOOD_KERNEL
    + '''
@functools.lru_cache
def make_add(K):
    @kernel
    def add(x, out, queue):
        """out += x over K.
        x, out (n, k) float32; queue (1,) int32.
        Launch: any. Deterministic: yes. Source: ours."""
    return add
'''
)
FACTORY_TWIN = GOOD_TWIN + "@njit\ndef add(x, out): pass\n"


@pytest.mark.parametrize(
    "kernels, twins, faults",
    [
        (GOOD_KERNEL, GOOD_TWIN, []),
        (FACTORY, FACTORY_TWIN, []),
        (GOOD_KERNEL, BLOCK_TWIN, []),
        (GOOD_KERNEL, BLOCK_TWIN.replace("x, factor", "factor, x"), ["its twin takes (factor, x, out)"]),
        (GOOD_KERNEL, "", ["has no twin"]),
        (GOOD_KERNEL, GOOD_TWIN.replace("x, factor", "factor, x"), ["its twin takes (factor, x, out)"]),
        (GOOD_KERNEL, GOOD_TWIN.replace(", out", ""), ["its twin takes (x, factor)"]),
        (FACTORY, GOOD_TWIN, ["add has no twin"]),
        (FACTORY.replace("@kernel", "@kernel(device=True)"), "", []),
    ],
)
def test_twins_match_bites(tmp_path, kernels, twins, faults):
    found = gates.twins_match(write(tmp_path, {"room/kernels.py": kernels, "room/twins.py": twins}))
    assert len(found) == len(faults) and all(part in text for part, text in zip(faults, found))


def test_kernels_live_in_kernels_bites(tmp_path):
    names = "kernels/a.py", "a_kernels.py", "gpu.py", "kernels_a.py"
    write(tmp_path, {f"room/{name}": GOOD_KERNEL for name in names})
    assert gates.kernels_live_in_kernels(tmp_path) == [
        f"room/{name}: kernel scale belongs in kernels.py or kernels/" for name in ("gpu.py", "kernels_a.py")
    ]


@pytest.mark.parametrize(
    "old, new, lacking",
    [
        ("", "", None),
        ("Launch: any.", "", "Launch:"),
        ("Deterministic: yes.", "", "Deterministic:"),
        ("Source: ours.", "", "Source:"),
        ("(n, k)", "", "a shape"),
        ("float32", "", "a dtype"),
        ("; factor float32", "", "argument factor"),
    ],
)
def test_kernels_are_documented_bites(tmp_path, old, new, lacking):
    text = GOOD_KERNEL.replace("factor x", "a multiple").replace(old, new) if old else GOOD_KERNEL
    found = gates.kernels_are_documented(write(tmp_path, {"room/kernels.py": text}))
    assert (lacking is None and not found) or (len(found) == 1 and lacking in found[0])


OTHER_ROOMS = {
    "gpukit/a/kernels.py": GOOD_KERNEL,
    "gpukit/b/part/kernels.py": GOOD_KERNEL,
    "gpukit/c/kernels/part.py": GOOD_KERNEL,
    "gpukit/c/part/kernels/other.py": FACTORY,
}
OWN_CASES = [
    ("a.scale", "gpukit.a.kernels", "scale"),
    ("b.scale[3]", "gpukit.b.part.kernels", "scale"),
    ("c.scale[1]", "gpukit.c.kernels.part", "scale"),
    ("c.scale[2]", "gpukit.c.part.kernels.other", "scale"),
    ("c.add", "gpukit.c.part.kernels.other", "add"),
]


@pytest.mark.parametrize("lost", range(len(OWN_CASES)))
def test_kernels_have_cases_bites(tmp_path, lost):
    """Each case is reported, although others build a kernel of the same name."""
    package = write(tmp_path, OTHER_ROOMS) / "gpukit"
    assert gates.kernels_have_cases(package, OWN_CASES) == []
    name, module, function = OWN_CASES[lost]
    left = [case for case in OWN_CASES if case[0] != name]
    assert gates.kernels_have_cases(package, left) == [f"{module}: kernel {function} has no case in tests/compile/"]


@pytest.mark.parametrize("name", ["b.scale", "a.add[3]", "scale", "a.scaled", "c.a.scale"])
def test_a_case_has_the_name_of_its_kernel(tmp_path, name):
    package = write(tmp_path, OTHER_ROOMS) / "gpukit"
    found = gates.kernels_have_cases(package, [*OWN_CASES, (name, "gpukit.a.kernels", "scale")])
    assert len(found) == 1 and name in found[0] and "should be called a.scale" in found[0]


def test_kernels_are_sanitized_bites(tmp_path):
    package = write(tmp_path / "gpukit", {"a/kernels.py": GOOD_KERNEL, "b/kernels/c.py": GOOD_KERNEL})
    good = {"a.kernels.scale": "test", "b.kernels.c.scale": "test"}
    assert gates.kernels_are_sanitized(package, good) == []
    assert gates.kernels_are_sanitized(package, {"a.kernels.scale": "test", "a.kernels.gone": "test"}) == [
        "kernel b.kernels.c.scale has no line in tests/sanitize/cases.py",
        "tests/sanitize/cases.py names a.kernels.gone, which is no kernel",
    ]


@pytest.mark.parametrize("text, faults", [("rank: how many.", 0), ("A model.", 1)])
def test_parameters_are_documented_bites(tmp_path, text, faults):
    source = f'class Model:\n    """{text}"""\n    def __init__(self, rank=3):\n        self.rank = rank\n'
    assert len(gates.parameters_are_documented(write(tmp_path, {"room/estimator.py": source}))) == faults
    source = (
        f'@dataclass(eq=False)\nclass Model:\n    """{text}"""\n    rank: int = 3\n    x_: int = field(init=False)\n'
    )
    assert len(gates.parameters_are_documented(write(tmp_path, {"room/estimator.py": source}))) == faults
    source = source.replace("Model:", "Base:").replace(text, "A base.") + f'class Model(Base):\n    """{text}"""\n'
    assert len(gates.parameters_are_documented(write(tmp_path, {"room/estimator.py": source}))) == faults


@pytest.mark.parametrize("line", ["from numba import njit", "import numba.cuda as cuda", "def f():\n    import numba"])
def test_compilers_have_one_door_bites(tmp_path, line):
    write(tmp_path, {"_jit.py": line, "_cuda.py": line, "fine.py": "from gpukit._jit import njit"})
    assert gates.compilers_have_one_door(tmp_path) == []
    assert len(gates.compilers_have_one_door(write(tmp_path, {"bad.py": line}))) == 1


@pytest.mark.parametrize(
    "options, faults", [("njit(parallel=True)", 1), ("by_block(len)", 1), ("njit(nogil=True)", 0), ("njit", 0)]
)
def test_loops_are_shared_by_by_block_bites(tmp_path, options, faults):
    text = f"@{options}\ndef inner(x):\n    return inner(x)\n@njit\ndef outer(x):\n    return inner(x)\n"
    assert len(gates.loops_are_shared_by_by_block(write(tmp_path, {"room/twins.py": text}))) == faults


@pytest.mark.parametrize(
    "line",
    [
        "random.key(seed, 7)",
        "key(seed, 1000 + epoch)",
        "np.random.default_rng([seed, 3])",
        "ROW_STREAM = 5",
        "A_STREAM, B_STREAM = 1, 2",
    ],
)
def test_streams_have_one_registry_bites(tmp_path, line):
    good = (
        "random.key(seed, Keyed.WORDS[0])\nsorted(x, key=y)\nnp.random.default_rng([seed, Numpy.A[0]])\nkey(seed, user)"
    )
    write(tmp_path, {"streams.py": line, "fine.py": good})
    assert gates.streams_have_one_registry(tmp_path) == []
    assert len(gates.streams_have_one_registry(write(tmp_path, {"bad.py": line}))) == 1


@pytest.mark.parametrize("line", ['DATA = "/ho' + 'me/ann/data"', "see /ro" + "ot/x", "cd /wor" + "k/main"])
def test_no_machine_paths_bites(tmp_path, line):
    write(tmp_path, {"bad.md": line, "fine.md": "a/tmp/x ../work/y $DIR/tmp/z http://host/home/x /dev/null"})
    assert gates.no_machine_paths(tmp_path, ["fine.md", "missing.md"]) == []
    assert len(gates.no_machine_paths(tmp_path, ["bad.md"])) == 1


def test_every_folder_is_packaged_bites(tmp_path):
    files = ("gpukit/__init__.py", "gpukit/room/__init__.py", "gpukit/room/part/a.py", "cli/__init__.py", "cli/b/c.py")
    write(tmp_path, dict.fromkeys(files, ""))
    faults = gates.every_folder_is_packaged(tmp_path)
    assert [fault.split()[0] for fault in faults] == ["cli/b/", "gpukit/room/part/"]


def test_files_stay_short_bites(tmp_path):
    write(tmp_path, {"gpukit/a.py": "\n" * 601, "cli/b.py": "\n" * 600})
    assert gates.files_stay_short(tmp_path) == ["gpukit/a.py has 601 lines, more than 600"]


def test_names_say_what_values_are(root):
    assert gates.vague_names(root) == []


@pytest.mark.parametrize("text", ["found = f(found)", "def f(found): ...", "for found in x: ...", "lambda found: 1"])
def test_names_say_what_values_are_bites(tmp_path, text):
    write(tmp_path, {"gpukit/a.py": text, "cli/b.py": "result = f(found, x.found)"})
    assert gates.vague_names(tmp_path) == ["gpukit/a.py:1: found. Name what it holds."]


def test_literals_only_become_fewer(root):
    """Name a threshold, or make it a parameter; lower the number when there are fewer."""
    places = gates.literals_of(root / "gpukit")
    assert len(places) <= LITERALS, places


@pytest.mark.parametrize(
    "text, count",
    [
        ("x < 3", 1),
        ("3 < x <= 4.5", 2),
        ("x == 1 or x > 0 or x == 2", 0),
        ("x > -7", 1),
        ("x in (3, 4)", 1),
        ("x > 2 * 8", 1),
        ("x == True or x > N", 0),
        ("def f(a, b=3, *, c=0.5, d=1): ...", 2),
        ("f(3)", 0),
    ],
)
def test_literals_bite(tmp_path, text, count):
    assert len(gates.literals_of(write(tmp_path, {"a/b.py": text}))) == count


def test_reference_is_fresh_bites(tmp_path):
    write(tmp_path, {"cli.md": "old"})
    assert gates.reference_is_fresh(tmp_path / "cli.md", "old") == []
    assert gates.reference_is_fresh(tmp_path / "cli.md", "new") != []
    assert gates.reference_is_fresh(tmp_path / "none.md", "new") != []


def test_the_reference_shows_every_option(build):
    text = build.cli_reference()
    assert "gpukit doctor" in text and "--json" in text and "## gpukit synth ratings" in text


def benchmark_text(build, tmp_path, *rows):
    """Return the page of rows "what,shape,device,p20,p50,p80,unit,note"."""
    lines = ["what,shape,data,device,versions,commit,p20,p50,p80,unit,samples,note"]
    for row in rows:
        what, shape, device, *figures, unit, note = row.split(",", 7)
        lines.append(",".join([what, shape, "generated", device, "v1", "c1", *figures, unit, "9", note]))
    return build.benchmark_tables(write(tmp_path, {"b.csv": "\n".join([*lines, ""])}) / "b.csv")


def test_benchmark_tables_show_the_newest_row_of_each_device(build, tmp_path):
    text = benchmark_text(
        build,
        tmp_path,
        "epoch,big,cpu (2 threads),7,8,9,ms,",
        "epoch,big,cuda:0 (NVIDIA H200),1,2,3,ms,old",
        "epoch,big,cpu (16 threads),4,4,4,ms,",
        "hash | sort,big,cuda:0 (NVIDIA H200),12345,12345.6,12346,ms,y",
        "epoch,big,cuda:0 (NVIDIA H200),0.19995,0.2,0.20015,ms,new",
    )
    lines = text[text.index("**big, generated**") :].splitlines()
    assert lines[2] == "| what | unit | H200 | cpu (16 threads) | cpu (2 threads) |"
    assert lines[4] == "| epoch | ms | 0.2 | 4 | 8 ±12 % |"
    assert lines[5] == "| hash \\| sort | ms | 12,346 |  |  |"
    assert "v1" not in text and "old" not in text


def test_benchmark_tables_show_values_of_the_papers(build, tmp_path):
    text = benchmark_text(
        build,
        tmp_path,
        'time,big,gpu,1,1,1,ms,"fast; the paper: 27.15 s, MovieLens 10M; slow"',
        'rise,big,gpu,0,0,0,RMSE,"the paper: 475,388 users"',
        "share,big,gpu,81,81,81,%,the paper: 80.24 %",
        'error,big,gpu,2,2,2,,"all; the paper: 1e-05, in the order of"',
    )
    assert "| what | unit | gpu | the paper |" in text
    assert "| share | % | 81 | 80.24 % |" in text and "| error |  | 2 | 1e-05, in the order of |" in text
    assert "| time | ms | 1 | 27.15 s, MovieLens 10M |" in text and "| rise | RMSE | 0 |  |" in text


def test_shapes_with_the_same_measurements_share_a_table(build, tmp_path):
    rows = [f"{what},length {n},gpu,{n},{n},{n},ms," for n in (16, 32, 64) for what in ("sort", "hash")]
    text = benchmark_text(build, tmp_path, *rows, "sort,length 128,gpu,1,1,1,ms,")
    assert "| shape | sort, ms | hash, ms |\n| --- | ---: | ---: |\n| length 16 | 16 | 16 |\n| length 32 |" in text
    assert "**length 128, generated**" in text and "**length 16" not in text
    assert benchmark_text(build, tmp_path, *rows[:4]).count("**length ") == 2


def test_benchmark_tables_have_a_section_a_subject(build, tmp_path):
    shapes = {
        ("one epoch", "netflix"): "Matrix factorization and neighbours",
        ("segmented sort float32", "mslr-web30k"): "Sorting",
        ("torch.sort float32", "length 16"): "Sorting",
        ("training", "mq2007-list x 0.1"): "Learning to rank",
        ("test MAP", "MQ2008"): "Learning to rank",
        ("the whole command", "MovieLens 1M"): "Matrix factorization and neighbours",
        ("thresholding", "50 x 50 x 8"): "Singular-value thresholding",
        ("20 iterations", "ego-facebook 50x50 x 0.1"): "Imputation on graphs",
        ("a pass", "64x64x2100"): "Imputation on graphs",
        ("blocks missing: CRPS", "danish"): "Imputation on graphs",
        ("sensors", "METR-LA 7x288"): "Imputation on graphs",
        ("HR@10 iALS", "MovieLens 1M; NCF's split"): "Clicks",
        ("reading a csv file", "20.1 million rows"): "Reading files",
        ("liked together, factors", "MovieLens 1M"): "Similarity",
    }
    rows = [f"{what.replace(',', ';')},{shape},gpu,1,2,3,ms," for what, shape in shapes]
    text = benchmark_text(build, tmp_path, *rows).replace("liked together;", "liked together,")
    sections = dict(section.split("\n", 1) for section in text.split("\n## ")[1:])
    assert list(sections) == [*build.SUBJECTS, build.OTHERS]
    for (what, shape), name in shapes.items():
        section = sections[name]
        assert f"| {what} | ms |" in section and f"**{shape}, generated**" in section
    assert sum(section.count("\n| ") for section in sections.values()) == 3 * len(shapes)


def test_benchmarks_may_be_missing(build, tmp_path):
    assert "No figures" in build.benchmark_tables(tmp_path / "none.csv")
