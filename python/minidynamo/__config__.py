"""How this minidynamo was built, by torch's name."""

from __future__ import annotations

from ._C import get_num_threads
from ._missing_names import explain_missing as _explain_missing
from ._show_config import show_config

__all__ = ["parallel_info", "show"]


def show() -> str:
    """show_config(): versions, instruction set, threads and flags."""
    return show_config()


def parallel_info() -> str:
    """The number of threads."""
    return f"minidynamo threads: {get_num_threads()}\n"


_explain_missing(__name__)
