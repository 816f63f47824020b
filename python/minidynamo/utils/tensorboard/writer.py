"""Writes what a training shows into an event file that TensorBoard reads."""

from __future__ import annotations

import os
import socket
import time
from typing import Any

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from ..._missing_names import explain_missing as _explain_missing
from . import summaries

__all__ = ["FileWriter", "SummaryWriter"]

_Step = int | None


class FileWriter:
    """An event file in a directory."""

    def __init__(
        self, log_dir: str | os.PathLike[str], max_queue: int = 10, flush_secs: int = 120, filename_suffix: str = ""
    ) -> None:
        self.event_writer = EventFileWriter(str(log_dir), max_queue, flush_secs, filename_suffix)

    def get_logdir(self) -> str:
        return str(self.event_writer.get_logdir())

    def add_event(self, event: Any, step: _Step = None, walltime: float | None = None) -> None:
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)

    def add_summary(self, summary: Any, global_step: _Step = None, walltime: float | None = None) -> None:
        self.add_event(Event(summary=summary), global_step, walltime)

    def flush(self) -> None:
        self.event_writer.flush()

    def close(self) -> None:
        self.event_writer.close()

    def reopen(self) -> None:
        self.event_writer.reopen()


def _default_directory(comment: str) -> str:
    return os.path.join("runs", time.strftime("%b%d_%H-%M-%S") + "_" + socket.gethostname() + comment)


class SummaryWriter:
    """Adds entries to event files in `log_dir`; runs/DATE_HOST without it."""

    def __init__(
        self,
        log_dir: str | os.PathLike[str] | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str = "",
    ) -> None:
        self.log_dir = str(log_dir) if log_dir else _default_directory(comment)
        self.purge_step = purge_step
        self._options = (max_queue, flush_secs, filename_suffix)
        self._file_writers: dict[str, FileWriter] = {}
        writer = self._writer(self.log_dir)
        if purge_step is not None:
            writer.add_event(Event(file_version="brain.Event:2"), purge_step)

    def _writer(self, directory: str) -> FileWriter:
        if directory not in self._file_writers:
            self._file_writers[directory] = FileWriter(directory, *self._options)
        return self._file_writers[directory]

    def get_logdir(self) -> str:
        return self.log_dir

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: _Step = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """A number of one element."""
        summary = summaries.scalar(tag, scalar_value, new_style)
        self._writer(self.log_dir).add_summary(summary, global_step, walltime)

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: dict[str, Any],
        global_step: _Step = None,
        walltime: float | None = None,
    ) -> None:
        """Several curves in one plot: each has a directory of its own."""
        walltime = time.time() if walltime is None else walltime
        for tag, value in tag_scalar_dict.items():
            directory = os.path.join(self.log_dir, main_tag.replace("/", "_") + "_" + tag)
            self._writer(directory).add_summary(summaries.scalar(main_tag, value), global_step, walltime)

    def add_text(self, tag: str, text_string: str, global_step: _Step = None, walltime: float | None = None) -> None:
        self._writer(self.log_dir).add_summary(summaries.text(tag, text_string), global_step, walltime)

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: _Step = None,
        bins: str | int = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        summary = summaries.histogram(tag, values, bins, max_bins)
        self._writer(self.log_dir).add_summary(summary, global_step, walltime)

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: _Step = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        self._writer(self.log_dir).add_summary(summaries.image(tag, img_tensor, dataformats), global_step, walltime)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: _Step = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        self.add_image(tag, img_tensor, global_step, walltime, dataformats)

    def flush(self) -> None:
        for writer in self._file_writers.values():
            writer.flush()

    def close(self) -> None:
        for writer in self._file_writers.values():
            writer.close()
        self._file_writers.clear()

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


_explain_missing(__name__)
