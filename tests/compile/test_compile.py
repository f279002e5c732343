"""Every case of cases.py for all its targets, against its limits; `make ptx` records docs/kernels.csv."""

import csv
import os
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import pytest
from compile import cases_house, usage
from compile.cases import CASES
from shares import CASES as CASES_FILE
from shares import share

BUILDS = [(case, target) for case in CASES for target in case.built_for()]
# The continuous build uses the first variant of each kernel, and the last one for the recorded targets.
KERNELS = [case.name.partition("[")[0] for case in CASES]
FIRST = {
    case.name: set(case.built_first(only_recorded=KERNELS.index(name) != i))
    for i, (case, name) in enumerate(zip(CASES, KERNELS))
    if i in (KERNELS.index(name), len(CASES) - 1 - KERNELS[::-1].index(name))
}
PARAMETERS = [  # a case's targets share its first step, so shares.py assigns them to one process
    pytest.param(
        case,
        target,
        id=f"{case.name}-{target}",
        marks=() if target in FIRST.get(case.name, ()) else pytest.mark.nightly,
    )
    for case, target in BUILDS
]
RECORDED = [(case, target) for case, target in BUILDS if target in usage.RECORDED]


@pytest.fixture(scope="module")
def table():
    """All measured usages; those of usage.RECORDED are written to $GPUKIT_KERNELS_CSV if it is set and every case was
    built."""
    usages = []
    yield usages
    path = os.environ.get("GPUKIT_KERNELS_CSV")
    if path and len(usages) == len(BUILDS):
        usage.write_table(path, [cost for cost in usages if cost.target in usage.RECORDED])


@pytest.mark.parametrize("case, target", PARAMETERS)
def test_kernel_stays_within_its_limits(case, target, table):
    first = FIRST.get(case.name, set())
    cost = usage.measure(case, target, [one for one in case.built_for() if (one in first) == (target in first)])
    table.append(cost)
    assert not cost.faults(case)


@pytest.mark.parametrize("variable", ["done", "t"])
def test_pairs_are_counted_in_64_bits(variable):
    """More than 2**31 pairs fit a GPU: rounds and positions of predict_pairs need 64 bits."""
    case = next(case for case in CASES if case.name.startswith("factorization.predict_pairs["))
    assert usage.widths(case, "sm_80", variable) == {64}


def test_a_cases_targets_go_to_one_process():
    dealt = {(case.name, share(f"tests/{CASES_FILE}::test[{case.name}-{target}]")) for case, target in BUILDS}
    assert len(dealt) == len({name for name, _ in dealt}) == len({part for _, part in dealt}) == len(CASES)


def test_what_the_continuous_build_leaves_out():
    """The oldest and the recorded targets are built for each kernel, each other target for some of them."""
    oldest, left_out = next(iter(usage.TARGETS)), Counter()
    for name in set(KERNELS):
        ends = [case for case in CASES if case.name in FIRST and case.name.partition("[")[0] == name]
        built = set().union(*[FIRST[case.name] for case in ends])
        assert {oldest, *usage.RECORDED} & set().union(*[case.targets for case in ends]) <= built, name
        assert all(FIRST[case.name] == set(case.built_for()) for case in ends if case.dynamic), name
        left_out.update(set(usage.TARGETS) - built)
    assert all(count < 0.8 * len(set(KERNELS)) for count in left_out.values()), left_out


def test_shares_are_what_processes_get(request):
    config = SimpleNamespace(getvalue={"dist": "loadfile", "tx": ["popen"]}.get)
    scheduler = request.config.hook.pytest_xdist_make_scheduler(config=config, log=None)
    assert scheduler._split_scope(f"tests/{CASES_FILE}::test[a-b[1, 2]-sm_80]") == f"tests/{CASES_FILE}::test[a-b[1, 2]"
    assert scheduler._split_scope("tests/cache/test_cache.py::test[a-b]") == "tests/cache/test_cache.py"


def test_case_names_are_unique():
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)


def test_the_record_has_every_case(root):
    recorded = root / "docs" / "kernels.csv"
    rows = {row["case"] for row in csv.DictReader(recorded.open())} if recorded.exists() else set()
    assert rows == {case.name for case, _ in RECORDED} or os.environ.get("GPUKIT_KERNELS_CSV"), "run `make ptx`"


def test_a_lean_kernel_passes():
    cost = usage.measure(cases_house.LEAN, "sm_80")
    assert cost.faults(cases_house.LEAN) == [] and 0 < cost.registers <= 16 and cost.float64 == 0


@pytest.mark.parametrize("fault", cases_house.FAULTY)
def test_each_limit_bites(fault):
    case = cases_house.FAULTY[fault]
    faults = usage.measure(case, "sm_90").faults(case)
    assert len(faults) == 1 and fault in faults[0], faults


@pytest.mark.parametrize("target", usage.TARGETS)
def test_instructions_go_by_the_capability(target):
    """Instructions of primitives.wide that older devices lack are used exactly on the devices that have them."""
    code, is_newer = usage.listing(cases_house.WIDE, target), usage.TARGETS[target].capability >= (8, 0)
    for instruction in ("createpolicy", "L2::cache_hint", "cvt.rn.f16x2.f32"):
        assert (instruction in code) == is_newer, instruction
    assert ("cvt.rn.f16.f32" in code) != is_newer


def test_one_build_serves_all_targets():
    codes = {usage.llvm_code(cases_house.WIDE, target) for target in usage.TARGETS}
    assert len(codes) == 1


def test_a_launch_may_have_what_its_device_has():
    for target, (_, room) in usage.TARGETS.items():
        case = replace(cases_house.FAULTY["dynamic"], targets=(target,))
        fits, beyond = (replace(case, dynamic=room - 4096 + more) for more in (0, 1))
        assert not usage.measure(fits, target).faults(fits) and usage.measure(beyond, target).faults(beyond)
