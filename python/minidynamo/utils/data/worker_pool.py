"""The worker processes of one iterator over a DataLoader: started, given tasks, waited for, ended."""

from __future__ import annotations

import collections
import multiprocessing
import os
import pickle
import select
import signal
import time
import warnings
import weakref
from collections.abc import Iterator
from typing import Any

from .channel import Channel, Packed, channel_pair
from .worker_process import Job, run

# Seconds between looks at processes whose end was not noticed by their channels.
STATUS_CHECK_INTERVAL = 5.0
# Seconds that workers have to finish what they are at before they are terminated, and then killed.
_TO_FINISH, _TO_TERMINATE = 5.0, 1.0


class WorkerPool:
    """The processes end with close(), or with the pool, or with the main process."""

    def __init__(self, job: Job, context: Any) -> None:
        if context is None:
            chosen = multiprocessing.get_start_method(allow_none=True)
            context = multiprocessing.get_context("fork" if chosen is None else chosen)
        self.processes: list[Any] = []
        self._channels: list[Channel] = []
        self._waiting: list[collections.deque[Packed]] = []
        self._poll = select.poll()
        self._by_descriptor: dict[int, int] = {}
        self._finalizer = weakref.finalize(self, _end, self.processes, self._channels, os.getpid())
        try:
            for worker_id in range(job.num_workers):
                self._start(context, job, worker_id)
        except BaseException:
            self.close()
            raise

    def _start(self, context: Any, job: Job, worker_id: int) -> None:
        outer, inner = channel_pair()
        process = context.Process(target=run, args=(inner, job, worker_id, os.getpid()))
        process.daemon = True
        self._channels.append(outer)
        try:
            process.start()
        except (TypeError, AttributeError, pickle.PicklingError) as error:
            _explain(error)
            raise
        finally:
            inner.close()
        self.processes.append(process)
        self._waiting.append(collections.deque())
        self._by_descriptor[outer.fileno()] = worker_id
        self._poll.register(outer, select.POLLIN)

    def send(self, worker_id: int, message: Any) -> None:
        """Hands a message over, now or when the worker has room for it."""
        self._waiting[worker_id].append(Packed(message))
        self._flush(worker_id)

    def _flush(self, worker_id: int) -> None:
        waiting = self._waiting[worker_id]
        try:
            while waiting and self._channels[worker_id].send(waiting[0], wait=False):
                waiting.popleft()
        except EOFError:
            waiting.clear()  # its end is noticed where its answer is waited for

    def answers(self, timeout: float) -> Iterator[tuple[int, Any]]:
        """(worker, message) of each worker that has answered, after at least one has; none after `timeout` seconds.

        timeout  0 waits without end
        Raises RuntimeError if a worker has died.
        """
        end = time.monotonic() + timeout if timeout > 0 else None
        while True:
            left = STATUS_CHECK_INTERVAL if end is None else min(end - time.monotonic(), STATUS_CHECK_INTERVAL)
            ready = self._poll.poll(max(left, 0) * 1000)
            if ready:
                break
            for worker_id in range(len(self.processes)):
                self._flush(worker_id)
            dead = [each for each in self.processes if not each.is_alive()]
            if dead:
                raise self._death(dead)
            if end is not None and time.monotonic() >= end:
                return
        for descriptor, _ in ready:
            worker_id = self._by_descriptor[descriptor]
            try:
                message = self._channels[worker_id].receive()
            except EOFError:
                raise self._death([self.processes[worker_id]])
            self._flush(worker_id)
            yield worker_id, message

    def _death(self, dead: list[Any]) -> RuntimeError:
        for each in dead:
            each.join(_TO_TERMINATE)
        numbers = ", ".join(str(each.pid) for each in dead)
        error = RuntimeError(f"DataLoader worker (pid(s) {numbers}) exited unexpectedly")
        error.__cause__ = RuntimeError(_how_it_ended(dead[0]))
        self.close()
        return error

    def close(self) -> None:
        """Ends the workers and waits for their end."""
        self._finalizer()


def _explain(error: Exception) -> None:
    if "pickle" in str(error).lower():
        text = (
            "Got pickle error when attempting to start a worker Process: its arguments (the dataset, collate_fn, "
            "worker_init_fn) must be picklable with this start method; multiprocessing_context='fork' needs no pickles."
        )
        warnings.warn(text, stacklevel=6)


def _how_it_ended(process: Any) -> str:
    code = process.exitcode
    if code is not None and code < 0:
        return f"DataLoader worker (pid {process.pid}) is killed by signal: {signal.strsignal(-code)}. "
    return (
        f"DataLoader worker (pid {process.pid}) exited unexpectedly with exit code {code}. Details are lost due to "
        "multiprocessing. Rerunning with num_workers=0 may give better error trace."
    )


def _end(processes: list[Any], channels: list[Channel], owner: int) -> None:
    if os.getpid() != owner:  # a forked copy
        for channel in channels:
            channel.close()
        return
    for channel in channels:
        channel.end()
    try:
        _join(processes, _TO_FINISH)
        for each in processes:
            if each.is_alive():
                each.terminate()
        _join(processes, _TO_TERMINATE)
    finally:
        for each in processes:
            if each.is_alive():
                each.kill()
            each.join()


def _join(processes: list[Any], seconds: float) -> None:
    end = time.monotonic() + seconds
    for each in processes:
        each.join(max(end - time.monotonic(), 0))
