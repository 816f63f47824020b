"""What runs in a worker process: it takes indices from its channel and sends batches back."""

from __future__ import annotations

import os
import random
import select
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import minidynamo

from ._utils import worker as this_worker
from ._utils.fetch import Fetch, fetcher
from .channel import Channel, Packed, close_outer_ends
from .dataset import IterableDataset

# Seconds between looks whether the parent process is still there.
PARENT_INTERVAL = 5.0

# Kinds of answers: what was fetched, an error, the end of this worker's part of an IterableDataset.
DATA, FAILED, ENDED = range(3)


@dataclass(frozen=True)
class Job:
    """What all workers of an iterator are given."""

    dataset: Any
    auto_collation: bool
    collate_fn: Callable[[Any], Any]
    drop_last: bool
    base_seed: int
    init_fn: Callable[[int], Any] | None
    num_workers: int

    def fetcher(self) -> Fetch:
        return fetcher(self.dataset, self.auto_collation, self.collate_fn, self.drop_last)


class WorkerFailure:
    """An exception of a worker: its type, and its traceback as text. It has no reference to frames."""

    def __init__(self, error: BaseException, worker_id: int) -> None:
        self.kind: type[BaseException] | None = type(error)
        self.name = type(error).__name__
        self.text = "".join(traceback.format_exception(error))
        self.where = f"in DataLoader worker process {worker_id}"

    def reraise(self) -> None:
        """Raises an exception of the same type with the worker's traceback as its text.

        RuntimeError where the type cannot be made from a text.
        """
        text: str = f"Caught {self.name} {self.where}.\nOriginal {self.text}"
        if self.kind is None:
            raise RuntimeError(text)
        if self.kind is KeyError:
            text = KeyErrorMessage(text)
        elif getattr(self.kind, "message", None):
            raise self.kind(message=text)  # type: ignore[call-arg]  # such types take it
        try:
            error = self.kind(text)
        except Exception:
            raise RuntimeError(text) from None
        try:
            raise error
        finally:
            del error  # its traceback holds this frame


class KeyErrorMessage(str):
    """A text that KeyError shows as it is: it shows the repr of its argument."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class _Worker:
    def __init__(self, channel: Channel, job: Job, worker_id: int) -> None:
        self._channel = channel
        self._job = job
        self._id = worker_id
        self._fetch: Fetch | None = None
        # An error of the start is the answer to the first task.
        self._failure: WorkerFailure | None = None
        self._ended = False

    def start(self) -> None:
        try:
            if self._job.init_fn is not None:
                self._job.init_fn(self._id)
            self._fetch = self._job.fetcher()
        except Exception as error:
            self._failure = WorkerFailure(error, self._id)

    def serve(self, parent: int) -> None:
        poll = select.poll()
        poll.register(self._channel, select.POLLIN)
        while True:
            if not poll.poll(PARENT_INTERVAL * 1000):
                if os.getppid() != parent:
                    return
                continue
            epoch, task, index = self._channel.receive()
            if task is None:
                self._resume()
            elif not self._ended:
                self._answer(epoch, task, *self._result(index))

    def _resume(self) -> None:
        self._ended = False
        if self._failure is None:
            try:
                self._fetch = self._job.fetcher()
            except Exception as error:
                self._failure = WorkerFailure(error, self._id)

    def _result(self, index: Any) -> tuple[int, Any]:
        if self._failure is not None:
            failure, self._failure = self._failure, None
            return FAILED, failure
        if self._fetch is None:
            return FAILED, WorkerFailure(RuntimeError("the worker did not start"), self._id)
        try:
            return DATA, self._fetch(index)
        except Exception as error:
            if isinstance(error, StopIteration) and isinstance(self._job.dataset, IterableDataset):
                self._ended = True
                return ENDED, None
            return FAILED, WorkerFailure(error, self._id)

    def _answer(self, epoch: int, task: int, kind: int, data: Any) -> None:
        try:
            packed = Packed((epoch, task, kind, data))
        except Exception as error:
            if kind == FAILED:  # a type that cannot be pickled
                data.kind = None
            else:
                data = WorkerFailure(error, self._id)
            packed = Packed((epoch, task, FAILED, data))
        self._channel.send(packed)


def seed_worker(base_seed: int, worker_id: int) -> int:
    """Seeds Python's generator, the default generator, and NumPy's where the program has imported it."""
    seed = base_seed + worker_id
    random.seed(seed)
    minidynamo.manual_seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        words = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
        numpy.random.seed(numpy.random.SeedSequence(words).generate_state(4))
    return seed


def run(channel: Channel, job: Job, worker_id: int, parent: int) -> None:
    """The main function of a worker process. It ends when the other end of the channel does."""
    close_outer_ends()
    try:
        minidynamo.set_num_threads(1)
        seed = seed_worker(job.base_seed, worker_id)
        this_worker._worker_info = this_worker.WorkerInfo(worker_id, job.num_workers, seed, job.dataset)
        worker = _Worker(channel, job, worker_id)
        worker.start()
        worker.serve(parent)
    except (EOFError, KeyboardInterrupt):  # the main process raises its own KeyboardInterrupt
        pass
