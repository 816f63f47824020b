"""Which logs are shown, and how.

Every log artifact (the table is csrc/base/log_artifacts.def) has a logger of the standard library of its name, such as
`minidynamo.graph_breaks`. Warnings, and the steps of each capture at level INFO, go to the logger `minidynamo`. Records
reach the handlers of the program, if it has set up any on the root logger; otherwise they are printed to stderr.
MINIDYNAMO_LOGS_OUT names a file to append them to, MINIDYNAMO_LOGS_FORMAT is a format of `logging` for them.
"""

from __future__ import annotations

import logging
import os
import sys

from . import _C
from ._log_records import prefix_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

_ARTIFACTS = {row["name"]: row for row in _C.log_rows()}
_LOGS = ("all", "dynamo")
_LEVELS = (logging.CRITICAL, logging.ERROR, logging.WARNING, logging.INFO, logging.DEBUG, logging.NOTSET)
_PREFIX_LEVELS = {"+": logging.DEBUG, "-": logging.ERROR}
_ROOT = logging.getLogger("minidynamo")


class _PrefixFormatter(logging.Formatter):
    """Prefixes every line of a record with its time, place and artifact."""

    def format(self, record: logging.LogRecord) -> str:
        level = "V" if record.levelno == logging.DEBUG else record.levelname[0]
        artifact = record.name.rpartition(".")[2]
        prefix = prefix_of(level, record.created, record.process, artifact if artifact in _ARTIFACTS else None)
        return "\n".join(prefix + line for line in super().format(record).split("\n"))


class _StderrHandler(logging.StreamHandler):  # type: ignore[type-arg]  # of TextIO
    """Writes to the current sys.stderr, unless the program has handlers of its own."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> TextIO | None:
        return sys.stderr

    def emit(self, record: logging.LogRecord) -> None:
        if self.stream is not None and not logging.getLogger().handlers:
            super().emit(record)


def emit(artifact: str | None, text: str) -> None:
    """A record of the extension, of an artifact; None is a warning."""
    if artifact is None:
        _ROOT.warning("%s", text)
    else:
        logging.getLogger(f"minidynamo.{artifact}").debug("%s", text)


def emit_info(text: str) -> None:
    """A step of a capture."""
    _ROOT.info("%s", text)


def set_logs(
    *,
    all: int | None = None,
    dynamo: int | None = None,
    modules: dict[str, int] | None = None,
    **artifacts: bool,
) -> None:
    """Enables the named logs and disables the others; does nothing if MINIDYNAMO_LOGS is set.

    An artifact (graph_breaks, graph_code, guards, recompiles, ...) takes a bool; `dynamo` and `all` take a level of
    `logging`: DEBUG switches on every artifact that is not marked as off by default, INFO the steps of each capture and
    a summary at exit; `modules` maps names of loggers to levels.
    """
    levels = {name: level for name, level in (("all", all), ("dynamo", dynamo)) if level is not None}
    for name, level in {**levels, **(modules or {})}.items():
        _check_level(name, level)
    for name, enabled in artifacts.items():
        if name not in _ARTIFACTS:
            raise TypeError(f"set_logs() got an unexpected keyword argument {name!r}")
        if not isinstance(enabled, bool):
            raise ValueError(f"Expected bool to enable artifact {name}, received {enabled}")
    if "MINIDYNAMO_LOGS" not in os.environ:
        _apply(levels, artifacts, modules or {})


def load_environment() -> None:
    """Applies MINIDYNAMO_LOGS; called when minidynamo is imported."""
    levels, artifacts, modules = _parse(os.environ["MINIDYNAMO_LOGS"])
    _apply(levels, artifacts, modules)


def _check_level(name: str, level: object) -> None:
    if isinstance(level, bool) or level not in _LEVELS:
        valid = ",".join(map(str, _LEVELS))
        raise ValueError(f"Unrecognized log level for log {name}: {level}, valid level values are: {valid}")


def _apply(levels: dict[str, int], artifacts: dict[str, bool], modules: dict[str, int]) -> None:
    debug = logging.DEBUG in levels.values()
    for name, row in _ARTIFACTS.items():
        enabled = artifacts.get(name, debug and not row["off_in_all"])
        logging.getLogger(f"minidynamo.{name}").setLevel(logging.DEBUG if enabled else logging.NOTSET)
        _C.set_log_enabled(name, enabled)
    _ROOT.setLevel(levels.get("dynamo", levels.get("all", logging.NOTSET)))
    _tell_steps(any(logging.NOTSET < level <= logging.INFO for level in levels.values()))
    for name, level in modules.items():
        logging.getLogger(name).setLevel(level)


_summary_wanted = False


def _tell_steps(enabled: bool) -> None:
    global _summary_wanted
    _C.set_log_info_enabled(enabled)
    if enabled and not _summary_wanted:
        import atexit

        atexit.register(_tell_summary)
        _summary_wanted = True


def _tell_summary() -> None:
    """At exit: what was captured, and how long it took."""
    if not _ROOT.isEnabledFor(logging.INFO):
        return
    from ._dynamo.utils import compile_times, counters

    frames = counters["frames"]
    _ROOT.info("minidynamo captured %d of %d regions that it began", frames["ok"], frames["total"])
    _ROOT.info("%s", compile_times(aggregate=True))


def _parse(settings: str) -> tuple[dict[str, int], dict[str, bool], dict[str, int]]:
    """Reads a comma list of [+|-]name: + is DEBUG, - is ERROR, or off for an artifact."""
    if settings.strip() in ("help", "+help"):
        raise ValueError(_help(everything="+" in settings))
    levels: dict[str, int] = {}
    artifacts: dict[str, bool] = {}
    modules: dict[str, int] = {}
    for setting in filter(None, map(str.strip, settings.split(","))):
        name = setting.lstrip("+-")
        level = _PREFIX_LEVELS.get(setting[0], logging.INFO)
        if name in _ARTIFACTS:
            artifacts[name] = level != logging.ERROR
        elif name in _LOGS:
            levels[name] = level
        elif name != "help" and _is_module(name):
            modules[name] = level
        else:
            raise ValueError(_usage(settings))
    return levels, artifacts, modules


def _is_module(name: str) -> bool:
    from importlib.util import find_spec

    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):
        return False


_GRAMMAR = """\
A name alone is level INFO, +name is DEBUG, -name is ERROR; an artifact is on by its name, off by -name.

  MINIDYNAMO_LOGS="+dynamo" switches on every artifact below that is not marked (*)
  MINIDYNAMO_LOGS="dynamo" tells of the steps of each capture, with a summary at exit
  MINIDYNAMO_LOGS="graph_breaks,recompiles" switches on these two
  MINIDYNAMO_LOGS="+dynamo,-guards" switches on all but one
  MINIDYNAMO_LOGS="+my.module" sets the level of another logger
  MINIDYNAMO_LOGS_OUT=FILE writes to a file instead of stderr
  MINIDYNAMO_LOGS_FORMAT="%(levelname)s: %(message)s" is a format of the module logging
"""


def _names(everything: bool) -> str:
    lines = ["  all, dynamo: all logs of minidynamo"]
    for name, row in _ARTIFACTS.items():
        if everything or not row["off_in_all"]:
            lines.append(f"  {name}{' (*)' if row['off_in_all'] else ''}: {row['doc']}")
    return "\n".join(lines)


def _help(everything: bool) -> str:
    title = "All names" if everything else "Names (all of them: MINIDYNAMO_LOGS=+help)"
    return f"\nMINIDYNAMO_LOGS Info\n{_GRAMMAR}\n{title}:\n{_names(everything)}\n"


def _usage(settings: str) -> str:
    return (
        f"Invalid log settings: {settings}, must be a comma separated list of fully qualified module names, "
        "registered log names or registered artifact names.\n"
        'For more info on various settings, try MINIDYNAMO_LOGS="help"\n'
        f"Valid settings:\n{_names(everything=True)}\n"
    )


def _install_handler() -> None:
    path = os.environ.get("MINIDYNAMO_LOGS_OUT")
    handler = logging.FileHandler(path) if path else _StderrHandler()
    layout = os.environ.get("MINIDYNAMO_LOGS_FORMAT")
    handler.setFormatter(logging.Formatter(layout) if layout else _PrefixFormatter())
    _ROOT.addHandler(handler)


_install_handler()
