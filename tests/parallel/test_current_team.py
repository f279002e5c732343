"""Ranks of mpiexec or srun: their number, their visibility to MPI, equal files."""

from types import SimpleNamespace

import pytest

from gpukit.errors import DataError, ParameterError
from gpukit.parallel import current_team
from gpukit.runtime.launcher_env import RANK_VARIABLES, launched_ranks
from parallel.test_team import together


@pytest.fixture(autouse=True)
def no_launcher(monkeypatch):
    """An environment without a launcher."""
    for name in (*RANK_VARIABLES, *RANK_VARIABLES.values()):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(current_team.mpi, "Messages", lambda errors: SimpleNamespace(rank=0, size=1))


@pytest.mark.parametrize(("size", "rank"), list(RANK_VARIABLES.items())[1:])
def test_launchers_set_size_and_rank(monkeypatch, size, rank):
    assert launched_ranks() == (1, 0) and current_team.join_team() is current_team.ALONE
    for count, number, expected in (("1", "0", (1, 0)), ("", "3", (1, 0)), ("12", "3", (12, 3))):
        monkeypatch.setenv(size, count)
        monkeypatch.setenv(rank, number)
        assert launched_ranks() == expected
    monkeypatch.setattr(current_team.mpi, "Messages", lambda errors: SimpleNamespace(rank=3, size=12))
    team = current_team.join_team()
    assert (team.rank, team.size) == (3, 12)
    for value, expected in (("1", (1, 0)), ("yes", (1, 0)), ("0", (12, 3)), ("", (12, 3))):
        monkeypatch.setenv("GPUKIT_ALONE", value)
        assert launched_ranks() == expected


@pytest.mark.parametrize(("size", "rank"), RANK_VARIABLES.items())
def test_invalid_sizes_and_ranks_are_refused(monkeypatch, size, rank):
    for count, number, name in (
        ("none", "3", size),
        ("²", "0", size),
        ("-1", "0", size),
        ("12", "x", rank),
        ("12", "12", rank),
    ):
        monkeypatch.setenv(size, count)
        monkeypatch.setenv(rank, number)
        with pytest.raises(ParameterError, match=f"^{name}="):
            launched_ranks()


def test_tasks_unknown_to_mpi(monkeypatch):
    """srun without its MPI plugin: each task would compute everything and write the same files."""
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "4")
    with pytest.raises(ParameterError, match=r"^4 ranks were started .* MPI sees each of them alone.* srun --mpi=pmix"):
        current_team.join_team()


def test_tasks_without_mpi(monkeypatch):
    def raise_missing(errors):
        raise ImportError("no module of that name")

    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "4")
    monkeypatch.setattr(current_team.mpi, "Messages", raise_missing)
    with pytest.raises(ParameterError, match=r"^4 ranks .* mpi4py cannot be loaded .*Install gpukit\[mpi\]"):
        current_team.join_team()


def test_equal_files(tmp_path):
    """Names may differ; folders and missing files are reported later, on reading."""
    paths = [write(tmp_path / str(rank), b"0123456789" * 200_000) for rank in range(3)]
    assert together(3, lambda team: current_team.check_same_files(team, [paths[team.rank], tmp_path])) == [None] * 3
    assert together(2, lambda team: current_team.check_same_files(team, [tmp_path / "missing"])) == [None] * 2


@pytest.mark.parametrize(
    "change",
    [lambda data: data[:-1] + b"x", lambda data: b"x" + data[1:], lambda data: data + b"x", lambda data: None],
    ids=["end", "beginning", "length", "missing"],
)
def test_a_rank_that_reads_another_file(tmp_path, change):
    """All ranks end with the name of that rank."""
    data = b"0123456789" * 200_000
    paths = [write(tmp_path / str(rank), data if rank != 1 else change(data)) for rank in range(3)]
    errors = together(3, lambda team: current_team.check_same_files(team, [paths[team.rank]]))
    assert all(isinstance(error, DataError) and "for rank 1 on" in str(error) for error in errors), errors
    assert "2,000,000 bytes" in str(errors[0])


def write(path, data):
    if data is not None:
        path.write_bytes(data)
    return path
