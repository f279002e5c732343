"""The imports pass every gate, and every gate fails on a planted fault."""

import pytest
from gates import imports

SMALL_MODULES = 1
LONGEST_CHAIN = 26


@pytest.fixture(scope="module")
def order(root):
    return imports.order_of_rooms(root / "docs" / "architecture.md")


def write(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.mark.parametrize(
    "gate",
    [
        imports.imports_have_no_circle,
        imports.imports_in_functions_put_something_off,
        imports.folders_are_shallow,
        imports.tests_lie_as_what_they_test,
        imports.environment_is_read_when_asked,
        imports.editors_see_names_on_demand,
    ],
    ids=lambda gate: gate.__name__,
)
def test_the_repository_passes(gate, root):
    assert gate(root) == []


def test_kernels_and_twins_have_equal_files(root):
    assert imports.kernels_and_twins_have_equal_files(root / "gpukit") == []


def test_names_mean_one_thing(root):
    assert imports.names_mean_one_thing(root / "gpukit") == []
    used = {owner for owner, name in imports.ALIKE if len(list((root / "gpukit" / owner).rglob("*.py"))) > 1}
    assert used == {owner for owner, _ in imports.ALIKE}


def test_names_mean_one_thing_bites(tmp_path):
    one = "class Part: ...\n\n\nclass _Own: ...\n"
    files = {f"a/{name}.py": one for name in ("cpu", "gpu", "steps", "x/cpu")} | {"b/other.py": one}
    assert imports.names_mean_one_thing(write(tmp_path, files)) == []
    write(tmp_path, {"a/x/other.py": one})
    (fault,) = imports.names_mean_one_thing(tmp_path)
    assert fault.startswith("a: Part means several things: ") and "x/other.py" in fault
    assert imports.names_mean_one_thing(tmp_path, {("a", "Part")}) == []


def test_cards_name_their_files(root):
    assert imports.cards_name_their_files(root / "gpukit") == []


def test_environment_is_read_when_asked_bites(tmp_path):
    asked = 'import os\n\nos.environ.setdefault("A", "4")\n\n\ndef f():\n    return os.environ["A"]\n'
    assert imports.environment_is_read_when_asked(write(tmp_path, {"gpukit/a.py": asked, "cli/b.py": ""})) == []
    write(tmp_path, {"cli/b.py": 'import os\n\nB = os.environ.get("B")\n\n\nclass C:\n    c = os.getenv("C")\n'})
    lines = [3, 7]
    assert imports.environment_is_read_when_asked(tmp_path) == [
        f"cli/b.py:{line} reads the environment when it is imported" for line in lines
    ]


def test_cards_name_their_files_bites(tmp_path):
    text = '"""A package: one.py, part/."""\n'
    files = {"a/__init__.py": text, "a/one.py": "", "a/gpu.py": "", "a/part/__init__.py": "", "top.py": ""}
    assert imports.cards_name_their_files(write(tmp_path, files)) == []
    write(tmp_path, {"a/on.py": "", "a/part/two.py": "", "a/twins/__init__.py": "", "a/twins/three.py": ""})
    lacking = ["a/ does not name on", "a/part/ does not name two"]
    assert imports.cards_name_their_files(tmp_path) == [f"the card of {one}" for one in lacking]


def test_imports_go_down(root, order):
    assert imports.imports_go_down(root, order) == []


HOUSE = {
    "gpukit/__init__.py": "_HOMES = {'f': 'a'}\n",
    "gpukit/a/__init__.py": "_HOMES = {'f': 'one'}\ndef __getattr__(name): ...\n",
    "gpukit/a/one.py": "import numpy as np\nfrom gpukit.a import two\ndef f():\n    from gpukit.b import g\n",
    "gpukit/a/two.py": "x = 1\n",
    "gpukit/b/__init__.py": "def g():\n    from scipy import sparse\n    import scipy.linalg\n",
    "gpukit/b/heavy.py": "import scipy\n",
    "gpukit/__main__.py": "from gpukit.cli import main\n",
    "cli/__init__.py": "",
    "cli/main.py": "from gpukit.a import f\ndef g():\n    from gpukit.b import heavy\n",
}
ORDER = {"b": 1, "a": 2, "cli": 3}


def house(root, **faults):
    """Return a House with replaced files: name_of_file=text, __ for /."""
    return write(root, HOUSE | {f"{name.replace('__', '/')}.py": text for name, text in faults.items()})


@pytest.mark.parametrize(
    "fault",
    [
        {"gpukit__a__two": "from gpukit.a import one\n"},
        {"gpukit__a__two": "import gpukit.a.one\n"},
        {"gpukit__a__two": "def g():\n    from gpukit.a.one import f\n"},
        {"gpukit__a__two": "class A:\n    def g(self):\n        if 1:\n            from gpukit.a import f\n"},
        {"gpukit__b__heavy": "from gpukit.cli.main import g\n"},
    ],
)
def test_a_circle_is_found(tmp_path, fault):
    assert imports.imports_have_no_circle(house(tmp_path)) == []
    (found,) = imports.imports_have_no_circle(house(tmp_path, **fault))
    assert found.startswith("a circle of imports: ")


@pytest.mark.parametrize(
    "fault, line",
    [
        ("from gpukit.a import two\n", "gpukit.b.heavy:1 imports gpukit.a.two"),
        ("\ndef f():\n    from gpukit.a import f\n", "gpukit.b.heavy:3 imports gpukit.a.one"),
        ("import gpukit.cli\n", "gpukit.b.heavy:1 imports gpukit.cli"),
    ],
)
def test_imports_go_down_bites(tmp_path, fault, line):
    assert imports.imports_go_down(house(tmp_path), ORDER) == []
    (found,) = imports.imports_go_down(house(tmp_path, gpukit__b__heavy=fault), ORDER)
    assert found.startswith(line) and "not below it" in found


def test_rooms_on_one_line_leave_each_other_alone(tmp_path):
    (found,) = imports.imports_go_down(house(tmp_path), ORDER | {"b": 2})
    assert "gpukit.a.one:4 imports gpukit.b" in found


def test_every_room_has_its_place(tmp_path):
    assert imports.imports_go_down(house(tmp_path), {"b": 1, "a": 2}) == ["cli is missing in the import order"]
    assert imports.imports_go_down(house(tmp_path), ORDER | {"c": 9}) == ["the import order has c, which is not there"]


def test_the_order_is_read_from_below(tmp_path):
    text = "# A\n\n## The import order\n\nText.\n\n    c d\n    b\n    a\n\nMore.\n"
    page = write(tmp_path, {"a.md": text}) / "a.md"
    assert imports.order_of_rooms(page) == {"c": 3, "d": 3, "b": 2, "a": 1}


@pytest.mark.parametrize(
    "text, is_fault",
    [
        ("def f():\n    from gpukit.a import two\n", True),  # has no cost
        ("def f():\n    import json\n", True),
        ("import scipy\ndef f():\n    from gpukit.b import heavy\n", True),  # loaded already
        ("from gpukit.b import heavy\ndef f():\n    import scipy\n    from gpukit.b import heavy\n", True),
        ("from gpukit.b import g\ndef f():\n    from gpukit.b import heavy\n", False),
        ("def f():\n    from gpukit.a import f\n", False),  # numpy, through gpukit.a.one
        ("def f():\n    import numba.cuda\n", False),
        ("import numba\ndef f():\n    import numba.cuda\n", False),
        ("import numba.cuda\ndef f():\n    import numba.cuda\n", True),
    ],
)
def test_imports_in_functions_put_something_off_bites(tmp_path, text, is_fault):
    one = "import numpy\ndef f(): ...\n"
    assert imports.imports_in_functions_put_something_off(house(tmp_path, gpukit__a__one=one)) == []
    found = imports.imports_in_functions_put_something_off(house(tmp_path, gpukit__a__one=one, gpukit__c=text))
    assert len(found) == is_fault and all("inside f(), which puts nothing off" in one for one in found)


def test_a_name_on_demand_costs_what_its_module_costs(tmp_path):
    text = "def f():\n    from gpukit import f\n"
    root = house(tmp_path, gpukit__c=text, gpukit__a__one="import numpy\n")
    assert imports.imports_in_functions_put_something_off(root) == []
    write(root, {"gpukit/a/one.py": "", "gpukit/a/two.py": "import numpy\n"})
    assert len(imports.imports_in_functions_put_something_off(root)) == 1
    estimator = {"gpukit/a/__init__.py": "_HOMES = {'f': 'estimator'}\n", "gpukit/a/estimator.py": ""}
    assert imports.imports_in_functions_put_something_off(write(root, estimator)) == []


def test_imports_for_type_checkers_cost_nothing(tmp_path):
    text = "if TYPE_CHECKING:\n    from gpukit.cli import main\n    import scipy\nelse:\n    import json\n"
    root = house(tmp_path, gpukit__b__heavy=text)
    assert imports.imports_have_no_circle(root) == [] and imports.imports_go_down(root, ORDER) == []
    assert imports.House(root).heavy("gpukit.b.heavy") == frozenset()
    write(root, {"gpukit/b/heavy.py": text.replace("import json", "import gpukit.cli")})
    assert len(imports.imports_go_down(root, ORDER)) == 1


CARD = """
if TYPE_CHECKING:
    from gpukit.a import one as one
    from gpukit.a.one import f as f
_HOMES = {"f": "one"}
_MODULES = ("one",)
"""


@pytest.mark.parametrize(
    "old, new, name",
    [
        ("", "", None),
        ("    from gpukit.a.one import f as f\n", "", "f"),
        ("gpukit.a.one import f as", "gpukit.a.two import f as", "f"),
        ("import f as f", "import g as f", "f"),
        ("import one as one", "import two as two", "one"),
        ('("one",)', '("one", "two")', "two"),
        ('"one"}', '"one", "g": "two"}', "g"),
    ],
)
def test_editors_see_names_on_demand_bites(tmp_path, old, new, name):
    root = write(tmp_path, {"gpukit/a/__init__.py": CARD.replace(old, new), "gpukit/b.py": "import json\n"})
    faults = imports.editors_see_names_on_demand(root)
    assert bool(faults) == (name is not None) and (not faults or faults[0].startswith(f"gpukit.a: {name} is imported"))


def test_small_modules_only_become_fewer(root):
    """Lower the number when a module goes into its neighbour."""
    small = imports.small_modules(root)
    assert len(small) <= SMALL_MODULES, small


def test_small_modules_bite(tmp_path):
    used = "from gpukit.a import one, two, three\n"
    files = {"gpukit/a/one.py": "\n" * 39, "gpukit/a/two.py": "\n" * 39, "gpukit/a/three.py": "\n" * 40}
    files |= {"gpukit/a/cpu.py": used, "gpukit/b.py": "from gpukit.a import two\n" + "\n" * 40}
    assert imports.small_modules(write(tmp_path, files)) == ["gpukit.a.one"]


def test_folders_are_shallow_bites(tmp_path):
    write(tmp_path, {"gpukit/a/b/c/one.py": "", "cli/a/b/c/d/one.py": ""})
    assert imports.folders_are_shallow(tmp_path) == []
    write(tmp_path, {"gpukit/a/b/c/d/one.py": ""})
    assert imports.folders_are_shallow(tmp_path) == ["gpukit/a/b/c/d/ is 4 folders deep, more than 3"]


def test_chains_of_imports_only_become_shorter(root):
    """Lower the number when the longest chain becomes shorter."""
    chain = imports.longest_chain(root)
    assert len(chain) <= LONGEST_CHAIN, " -> ".join(chain)


def test_longest_chain_bites(tmp_path):
    files = {
        "gpukit/a.py": "def f():\n    from gpukit import b\n",
        "gpukit/b.py": "import gpukit.c\n",
        "gpukit/c.py": "",
    }
    assert imports.longest_chain(write(tmp_path, files)) == ("gpukit.a", "gpukit.b", "gpukit.c")


def test_tests_lie_as_what_they_test_bites(tmp_path):
    """Folders, modules (_driver.py too), commands and shared folders are found; folders of helpers are exempt."""
    homes = ("gpukit/a/b/__init__.py", "gpukit/a/c.py", "gpukit/_d.py", "cli/e/f.py")
    places = ("", "a/", "a/b/", "a/c/", "d/", "cli/", "cli/e/", "fuzz/kinds/")
    files = dict.fromkeys((*homes, *(f"tests/{place}test_it.py" for place in places), "tests/a/helpers/inputs.py"), "")
    assert imports.tests_lie_as_what_they_test(write(tmp_path, files)) == []
    write(tmp_path, dict.fromkeys(("tests/b/test_it.py", "tests/a/e/test_it.py", "tests/cli/a/test_it.py"), ""))
    faults = imports.tests_lie_as_what_they_test(tmp_path)
    assert [fault.split("/ ")[0] for fault in faults] == ["tests/a/e", "tests/b", "tests/cli/a"]


KERNEL, TWIN = "@kernel\ndef scale(x): ...\n", "@njit\ndef scale(x): ...\n"
ROOMS = {
    "a/kernels.py": KERNEL,
    "a/twins.py": TWIN,
    "b/kernels/__init__.py": "",
    "b/kernels/part.py": KERNEL,
    "b/kernels/rows.py": "@kernel(device=True)\ndef row(x): ...\n",
    "b/twins/__init__.py": "",
    "b/twins/part.py": TWIN,
    "c/part_kernels.py": KERNEL,
    "c/part_twins.py": TWIN,
}


@pytest.mark.parametrize(
    "lost, faults",
    [
        ("a/twins.py", ["a/kernels.py has no a/twins.py"]),
        ("b/twins/part.py", ["b/kernels/part.py has no b/twins/part.py"]),
        ("a/kernels.py", ["a/twins.py is no kernels' twin"]),
        ("b/kernels/part.py", ["b/twins/part.py is no kernels' twin"]),
        ("b/kernels/rows.py", []),
        ("c/part_twins.py", ["c/part_kernels.py has no c/part_twins.py"]),
        ("c/part_kernels.py", ["c/part_twins.py is no kernels' twin"]),
    ],
)
def test_equal_files_bite(tmp_path, lost, faults):
    write(tmp_path, ROOMS)
    assert imports.kernels_and_twins_have_equal_files(tmp_path) == []
    (tmp_path / lost).unlink()
    assert imports.kernels_and_twins_have_equal_files(tmp_path) == faults
