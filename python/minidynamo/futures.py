"""Futures, by torch's names: a result that another thread may set."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

from ._missing_names import explain_missing as _explain_missing

__all__ = ["Future", "collect_all", "wait_all"]


class Future:
    """A result that set_result() or set_exception() gives, once. devices are accepted: there are none but the CPU."""

    def __init__(self, *, devices: Any = None) -> None:
        self._ready = threading.Event()
        self._lock = threading.Lock()
        self._value: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Future], Any]] = []

    def done(self) -> bool:
        """Whether there is a result or an exception."""
        return self._ready.is_set()

    def wait(self) -> Any:
        """Waits for the result; raises the exception."""
        self._ready.wait()
        return self.value()

    def value(self) -> Any:
        """The result; RuntimeError if there is none yet."""
        if not self.done():
            raise RuntimeError("Future is not completed: call wait()")
        if self._error is not None:
            raise self._error
        return self._value

    def set_result(self, result: Any) -> None:
        """Completes it; RuntimeError the second time."""
        self._complete(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Completes it with an exception; AssertionError for anything else."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._complete(None, result)

    def _complete(self, value: Any, error: BaseException | None) -> None:
        with self._lock:
            if self.done():
                raise RuntimeError("Attempting to mark a completed Future as complete again.")
            self._value, self._error = value, error
            self._ready.set()
            callbacks = self._callbacks
        for each in callbacks:
            each(self)

    def add_done_callback(self, callback: Callable[[Future], Any]) -> None:
        """Calls callback(future) when it is complete: at once if it is."""
        with self._lock:
            if not self.done():
                self._callbacks.append(callback)
                return
        callback(self)

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """A future of callback(future)."""
        following = Future()

        def run(future: Future) -> None:
            try:
                result = callback(future)
            except Exception as error:
                following.set_exception(error)
            else:
                following.set_result(result)

        self.add_done_callback(run)
        return following


def collect_all(futures: list[Future]) -> Future:
    """A future of the list of these futures, when all are complete."""
    found = Future()
    waiting = [len(futures)]
    lock = threading.Lock()

    def one_is_done(future: Future) -> None:
        with lock:
            waiting[0] -= 1
            is_last = waiting[0] == 0
        if is_last:
            found.set_result(futures)

    if not futures:
        found.set_result(futures)
    for each in futures:
        each.add_done_callback(one_is_done)
    return found


def wait_all(futures: Iterable[Future]) -> list[Any]:
    """The results of all; raises the first exception."""
    return [each.wait() for each in futures]


_explain_missing(__name__)
