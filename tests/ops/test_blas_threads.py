"""NumPy's BLAS runs on one thread during decompositions of small matrices, and on as many as before afterwards."""

import ctypes
import threading

import pytest

import minidynamo
from minidynamo._numpy_routines.blas_threads import OneThread, is_small

numpy = pytest.importorskip("numpy")


def threads_of(context):
    if context._get is None:
        pytest.skip("this NumPy has no BLAS of its own wheel")
    return context._get()


def test_threads_are_as_before():
    context = OneThread(numpy, ctypes)
    before = threads_of(context)
    with context:
        assert threads_of(context) == 1
        with context:
            assert threads_of(context) == 1
        assert threads_of(context) == 1
    assert threads_of(context) == before
    with pytest.raises(ZeroDivisionError), context:
        1 / 0  # noqa: B018
    assert threads_of(context) == before


def test_many_threads_at_once():
    context = OneThread(numpy, ctypes)
    before, found = threads_of(context), []

    def decompose():
        for _ in range(20):
            with context:
                found.append(threads_of(context))

    workers = [threading.Thread(target=decompose) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert set(found) == {1}
    assert threads_of(context) == before


def test_without_ctypes_nothing_changes():
    with OneThread(numpy, None):
        pass


@pytest.mark.parametrize(
    ("shapes", "small"),
    [([(3, 3)], True), ([(7, 4, 4), (7, 4)], True), ([(512, 512)], False), ([(9, 2000, 511)], True), ([(5,)], True)],
)
def test_which_are_small(shapes, small):
    assert is_small([numpy.zeros(shape) for shape in shapes]) is small


def test_a_decomposition_leaves_the_threads():
    context = OneThread(numpy, ctypes)
    before = threads_of(context)
    minidynamo.linalg.svd(minidynamo.eye(8, dtype=minidynamo.float64))
    with pytest.raises(minidynamo.linalg.LinAlgError):
        minidynamo.linalg.eigvals(minidynamo.full((3, 3), float("nan")))
    assert threads_of(context) == before
