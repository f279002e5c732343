"""Every case of every cases_<room>.py, for both targets, against its limits; `make ptx` records docs/kernels.csv."""

import csv
import importlib
import os
from pathlib import Path

import pytest
from compile import cases_house, usage

FOLDER = Path(__file__).parent
CASES = [
    case for file in sorted(FOLDER.glob("cases_*.py")) for case in importlib.import_module(f"compile.{file.stem}").CASES
]
BUILDS = [(case, target) for case in CASES for target in case.targets]


@pytest.fixture(scope="module")
def table():
    """All usages measured; written to $GPUKIT_KERNELS_CSV if that is set and every case was built."""
    usages = []
    yield usages
    path = os.environ.get("GPUKIT_KERNELS_CSV")
    if path and len(usages) == len(BUILDS):
        usage.write_table(path, usages)


@pytest.mark.parametrize("case, target", BUILDS, ids=[f"{case.name}-{target}" for case, target in BUILDS])
def test_kernel_stays_within_its_limits(case, target, table):
    cost = usage.measure(case, target)
    table.append(cost)
    assert not cost.faults(case)


@pytest.mark.parametrize("variable", ["done", "t"])
def test_pairs_are_counted_in_64_bits(variable):
    """More than 2**31 pairs fit a GPU: neither the rounds of predict_pairs nor the places in them may be 32 bits."""
    case = next(case for case in CASES if case.name.startswith("factorization.predict_pairs["))
    assert usage.widths(case, "sm_80", variable) == {64}


def test_case_names_are_unique():
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)


def test_the_record_has_every_case(root):
    recorded = root / "docs" / "kernels.csv"
    rows = {row["case"] for row in csv.DictReader(recorded.open())} if recorded.exists() else set()
    assert rows == {case.name for case in CASES} or os.environ.get("GPUKIT_KERNELS_CSV"), "run `make ptx`"


def test_a_lean_kernel_passes():
    cost = usage.measure(cases_house.LEAN, "sm_80")
    assert cost.faults(cases_house.LEAN) == [] and 0 < cost.registers <= 16 and cost.float64 == 0


@pytest.mark.parametrize("fault", cases_house.FAULTY)
def test_each_limit_bites(fault):
    case = cases_house.FAULTY[fault]
    faults = usage.measure(case, "sm_90").faults(case)
    assert len(faults) == 1 and fault in faults[0], faults
