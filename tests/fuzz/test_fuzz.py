"""The fuzzer with a fixed seed, and all findings replayed.

It runs for seconds and for a minute; `make fuzz` does more.
"""

import json

import pytest

from fuzz import campaign, found, verdicts
from fuzz.registry import kinds
from fuzz.workers import Worker

SEED = 20


@pytest.fixture(scope="module")
def worker():
    """A child for findings."""
    child = Worker()
    yield child
    child.close()


@pytest.mark.parametrize(
    "cases", [pytest.param(280, marks=pytest.mark.slow), pytest.param(2400, marks=pytest.mark.nightly)]
)
def test_mutations_truncations_and_flips(cases):
    running = campaign.Campaign(campaign.units(cases, SEED))
    assert running.run(processes=1)
    tried = {(unit.kind, unit.mode) for unit in running.done}
    assert tried == {(kind, mode) for kind in kinds() for mode in ("mutate", "cut", "flip")}
    findings = [f"{tuple(case)} {verdict}: {detail}" for case, verdict, detail in running.findings]
    assert not findings, "\n".join(findings)


@pytest.mark.slow
@pytest.mark.parametrize("folder", sorted(case.parent for case in found.FOUND.rglob("case.json")), ids=lambda f: f.name)
def test_what_was_found_is_mended(worker, folder):
    kind = json.loads((folder / "case.json").read_text())["kind"]
    verdict, detail = worker.replay(kind, folder)
    assert verdict in verdicts.GOOD, f"{verdict}: {detail}"
