"""The iterator over a DataLoader that loads in worker processes."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from .iteration import _BaseDataLoaderIter
from .worker_pool import WorkerPool
from .worker_process import ENDED, FAILED, Job

if TYPE_CHECKING:
    from .dataloader import DataLoader


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Keeps prefetch_factor tasks per worker under way; yields in the order of the tasks, or as they are done."""

    _multiprocess = True

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        self._num_workers = loader.num_workers
        factor = loader.prefetch_factor or 0
        if factor <= 0:
            raise AssertionError("prefetch_factor must be greater than 0 for MultiProcessingDataLoaderIter")
        self._most_tasks = factor * loader.num_workers
        self._timeout = loader.timeout
        self._in_order = loader.in_order
        self._persistent = loader.persistent_workers
        self._epoch = 0
        job = Job(
            loader.dataset,
            loader._auto_collation,
            loader.collate_fn,
            loader.drop_last,
            self._base_seed,
            loader.worker_init_fn,
            loader.num_workers,
        )
        self._pool: WorkerPool | None = WorkerPool(job, loader.multiprocessing_context)
        self._workers = self._pool.processes
        self._begin()

    def _begin(self) -> None:
        # Tasks without an answer or not yet yielded, oldest first, with their workers.
        self._tasks: dict[int, int] = {}
        self._answers: dict[int, tuple[int, Any]] = {}
        self._load = [0] * self._num_workers
        self._active = [True] * self._num_workers
        self._numbers = itertools.count()
        self._cycle = itertools.cycle(range(self._num_workers))
        for _ in range(self._most_tasks):
            self._add_task()

    def _reset(self, loader: DataLoader[Any]) -> None:
        super()._reset(loader)
        if self._pool is None:
            raise AssertionError("Invalid iterator state: shutdown or no outstanding tasks when fetching next data")
        self._epoch += 1  # answers to tasks of the last one are dropped
        for worker_id in range(self._num_workers):
            self._pool.send(worker_id, (self._epoch, None, None))
        self._begin()

    def _add_task(self) -> None:
        try:
            index = next(self._sampler_iter)
        except StopIteration:
            return
        worker_id = self._free_worker()
        if worker_id is None or self._pool is None:
            return
        task = next(self._numbers)
        self._tasks[task] = worker_id
        self._load[worker_id] += 1
        self._pool.send(worker_id, (self._epoch, task, index))

    def _free_worker(self) -> int | None:
        share = self._most_tasks // max(sum(self._active), 1)
        for worker_id in itertools.islice(self._cycle, self._num_workers):
            if self._active[worker_id] and (self._in_order or self._load[worker_id] < share):
                return worker_id
        return None

    def _next_data(self) -> Any:
        while True:
            task = self._finished_task()
            if task is not None:
                return self._take(task)
            if not self._tasks:
                if not self._persistent:
                    self._shutdown_workers()
                raise StopIteration
            self._collect()

    def _finished_task(self) -> int | None:
        """The task to yield next, if it has an answer. Drops tasks of workers whose stream has ended."""
        if not self._in_order and self._answers:
            return next(iter(self._answers))
        for task in list(self._tasks):
            if task in self._answers:
                return task
            if not self._active[self._tasks[task]]:
                del self._tasks[task]
            elif self._in_order:
                return None
        return None

    def _take(self, task: int) -> Any:
        kind, data = self._answers.pop(task)
        self._load[self._tasks.pop(task)] -= 1
        self._add_task()
        if kind == FAILED:
            data.reraise()
        return data

    def _collect(self) -> None:
        if self._pool is None:
            raise AssertionError("Invalid iterator state: shutdown or no outstanding tasks when fetching next data")
        found = False
        try:
            for worker_id, (epoch, task, kind, data) in self._pool.answers(self._timeout):
                found = True
                if epoch != self._epoch:
                    continue
                if kind == ENDED:
                    self._active[worker_id] = False
                    self._add_task()
                else:
                    self._answers[task] = (kind, data)
        except RuntimeError:
            self._pool = None
            raise
        if not found:
            raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")

    def _shutdown_workers(self) -> None:
        if self._pool is not None:
            self._pool.close()
            self._pool = None
