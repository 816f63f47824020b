"""Decompositions of small matrices run NumPy's BLAS on one thread, and leave its number of threads as it was."""

import threading

import pytest

import minidynamo as md

pytest.importorskip("numpy")


def blas():
    from minidynamo import _numpy_routines

    md.linalg.svdvals(md.eye(3))
    (found,) = _numpy_routines._one_thread.values()
    if found._set is None:
        pytest.skip("NumPy has another BLAS")
    return found


def seen_by(call, monkeypatch):
    """How many threads there were inside of a call."""
    from minidynamo._numpy_routines import lapack

    counts, run, found = [], lapack.decomposed, blas()

    def counted(*args):
        counts.append(found._get())
        return run(*args)

    monkeypatch.setattr(lapack, "decomposed", counted)
    call()
    return counts


def test_small_matrices_have_one(monkeypatch):
    found = blas()
    before = found._get()
    assert seen_by(lambda: md.linalg.svd(md.randn(4, 30, 20)), monkeypatch) == [1]
    assert found._get() == before


def test_large_ones_have_all(monkeypatch):
    before = blas()._get()
    assert seen_by(lambda: md.linalg.eigvalsh(md.eye(512)), monkeypatch) == [before]


def test_after_an_error():
    found = blas()
    before = found._get()
    with pytest.raises(RuntimeError):
        md.linalg.eigvals(md.full((3, 3), md.nan))
    assert (found._get(), found._inside) == (before, 0)


def test_threads_of_a_program():
    found = blas()
    before = found._get()
    threads = [threading.Thread(target=lambda: [md.linalg.svd(md.randn(9, 9)) for _ in range(30)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (found._get(), found._inside) == (before, 0)
