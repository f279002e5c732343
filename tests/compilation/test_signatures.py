"""Argument types as text, and that the recorded lines are of functions that there are."""

import inspect

import pytest
from numba import types

from gpukit.compilation import signatures
from gpukit.compilation.signatures import FILE, Task, tasks_of, text_of, types_of
from gpukit.documents.parse import Rule, query_starts
from gpukit.factorization.solvers.ials_kernels import make_descent
from gpukit.scheduler import workers
from gpukit.scheduler.intrinsics import Frame
from gpukit.sorting.kernels import first_nan, make_argsort

JOBS = sorted({line.split()[0] for line in FILE.read_text().splitlines()})
ARRAYS = [types.Array(types.float32, 2, "C"), types.Array(types.int64, 1, "A"), types.Array(types.boolean, 3, "F")]
KINDS = [
    *(types.int64, types.uint8, types.float32, types.float64, types.boolean),
    *ARRAYS,
    types.Array(types.uint16, 1, "C", readonly=True),
    types.NamedUniTuple(types.int64, 2, Rule),
    types.NamedTuple((types.int32, ARRAYS[0], types.NamedUniTuple(types.int8, 3, Rule)), Rule),
    Frame((ARRAYS[0], types.NamedUniTuple(types.int8, 3, Rule), types.float32)),
]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_types_come_back(kind):
    around = types.float64, kind, ARRAYS[1]
    assert types_of(text_of(around)) == around and types_of(text_of((kind,))) == (kind,)


@pytest.mark.parametrize("kind", [types.unicode_type, types.Array(types.NPDatetime("s"), 1, "C"), types.none], ids=str)
def test_other_types_have_no_text(kind):
    assert text_of((types.int64, kind)) is None


def test_what_text_says():
    kinds = types.Array(types.float32, 1, "C"), types.NamedUniTuple(types.int64, 2, Rule)
    assert text_of(kinds) == "float32[1C],gpukit.documents.parse:Rule(int64,int64)"


@pytest.mark.parametrize("job", JOBS)
def test_lines_are_of_functions_that_there_are(job):
    tasks = tasks_of(job)
    assert len(tasks) > 1 and len(set(tasks)) == len(tasks)
    for task in tasks:
        function = inspect.unwrap(task.dispatcher)
        expected = types_of(task.types)
        assert text_of(expected) == task.types
        inspect.signature(getattr(function, "py_func", function)).bind(*expected)


def test_a_kernel_is_named_by_the_call_of_its_maker():
    made, several = make_argsort(True, 128, False), make_descent(64)
    for kernel, name in (
        (made, "make_argsort(True,128,False)"),
        (several[1], "make_descent(64)[1]"),
        (first_nan, "first_nan"),
    ):
        task = Task(kernel.py_func.__module__, kernel.listed_name, "")
        assert task.name == name and task.dispatcher is kernel and task.is_kernel
    assert not Task("gpukit.sorting.twins", "first_nan", "").is_kernel


def test_a_gpu_without_quad_additions_has_another_kernel():
    sgd, plain = "gpukit.factorization.solvers.sgd.kernels", "gpukit.device.kernels"
    listed = Task(sgd, "make_sgd_epoch(8,4,0,False,True)", "int64"), Task(plain, "number_threads", "int64")
    assert [task.for_gpu((9, 0)) for task in listed] == [task.for_gpu((12, 0)) for task in listed] == [*listed]
    assert listed[0].for_gpu((8, 6)).name == "make_sgd_epoch(8,4,0,False,False)"
    assert listed[1].for_gpu((8, 6)) == listed[1]


def test_a_line_compiles_what_a_call_needs():
    task = next(task for task in tasks_of("documents") if task.name == "query_starts")
    task.compile()
    assert types_of(task.types) in query_starts.overloads


def test_what_the_cache_lacks(monkeypatch, tmp_path):
    task = next(task for task in tasks_of("documents") if task.name == "query_starts")
    task.compile()
    assert not task.is_missing() and task._replace(types="uint8[1A],int64[2C]").is_missing()
    monkeypatch.setenv("GPUKIT_CACHE", str(tmp_path))
    assert task.is_missing()


def test_a_stale_line_is_not_missing(monkeypatch, tmp_path):
    monkeypatch.setattr(signatures, "FILE", tmp_path / "lines.txt")
    lines = "job gpukit.nowhere x int64", "job gpukit.sorting.twins x int64", "job gpukit.errors HEAD int64"
    signatures.FILE.write_text("\n".join(lines))
    assert signatures.missing_tasks("job") == [] and len(tasks_of("job")) == 3


def test_the_scheduler_compiles_what_its_loops_use():
    expected = [("run", workers.OF_RUN), ("serve", workers.OF_SERVE)]
    assert [(task.name, types_of(task.types)) for task in tasks_of("scheduler")] == expected


@pytest.mark.parametrize("name", ["not_there", "FILE"])
def test_a_stale_line_is_an_error(name):
    with pytest.raises((AttributeError, TypeError)):
        Task("gpukit.compilation.signatures", name, "int64").compile()
