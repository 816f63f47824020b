"""The names of torch.distributed.pipelining: there is one process."""

from __future__ import annotations

from ..._missing_names import explain_missing as _explain_missing
from ..single_process import absent_class, absent_function

__all__ = [
    "Pipe",
    "PipelineStage",
    "Schedule1F1B",
    "ScheduleGPipe",
    "SplitPoint",
    "build_stage",
    "pipe_split",
    "pipeline",
]

Pipe = absent_class(__name__, "Pipe")
PipelineStage = absent_class(__name__, "PipelineStage")
Schedule1F1B = absent_class(__name__, "Schedule1F1B")
ScheduleGPipe = absent_class(__name__, "ScheduleGPipe")
SplitPoint = absent_class(__name__, "SplitPoint")
build_stage = absent_function(__name__, "build_stage")
pipe_split = absent_function(__name__, "pipe_split")
pipeline = absent_function(__name__, "pipeline")


_explain_missing(__name__)
