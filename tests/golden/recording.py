"""A program's record: its source, and the output of each log artifact while it is called, without addresses and paths that vary.

A record is text in sections. Source and bytecode are those of one version of Python; the records of the other versions
either agree with the rest, or are stored in separate files.
"""

import contextlib
import inspect
import logging
import os
import re
import sys
from pathlib import Path

import minidynamo

HERE = Path(__file__).parent
BASE = (3, 11)  # the version whose source and bytecode are recorded
ARTIFACTS = ("bytecode", "graph", "guards", "snapshot", "plan", "handover", "graph_breaks")
PROGRAMS = str(HERE / "programs.py")


class Collected(logging.Handler):
    def __init__(self):
        super().__init__()
        self.sections = []

    def emit(self, record):
        self.sections.append((record.name.rpartition(".")[2], record.getMessage()))


@contextlib.contextmanager
def collected():
    """The sections that the logs write in the meantime; nothing is printed."""
    handler, logger = Collected(), logging.getLogger("minidynamo")
    propagates, logger.propagate = logger.propagate, False
    logger.addHandler(handler)
    minidynamo._logging.set_logs(**dict.fromkeys(ARTIFACTS, True))
    try:
        yield handler.sections
    finally:
        minidynamo._logging.set_logs()
        logger.removeHandler(handler)
        logger.propagate = propagates


def without_callers(text):
    """A user stack without the frames outside the programs' file."""
    head, title, stack = text.partition("User code traceback:\n")
    frames = re.findall(r"  File .*\n(?:    .*\n?)*", stack)
    return head + title + "".join(frame for frame in frames if f'"{PROGRAMS}"' in frame)


def without_places(text, first_line):
    """Replaces addresses by the order of their first appearance, the programs' file by its name, its lines by those relative to
    the function, other files by their names, without lines.
    """
    seen = {}
    text = re.sub(
        r"0x[0-9a-f]{6,}", lambda match: seen.setdefault(match[0], f"<address {len(seen)}>"), without_callers(text)
    )
    text = text.replace(PROGRAMS, Path(PROGRAMS).name)
    text = re.sub(r"(?:/[^\s:]+)+/(\w+\.py):\d+", r"\1", text)
    pattern = r'(\bprograms\.py(?::|", line | line )|  line )(\d+)'
    text = re.sub(pattern, lambda match: f"{match[1]}{int(match[2]) - first_line:+}", text)
    text = re.sub(
        r"^(frame at .* line )(\d+)",
        lambda match: f"{match[1]}{int(match[2]) - first_line:+}",
        text,
        flags=re.MULTILINE,
    )
    return "\n".join(line.rstrip() for line in text.splitlines())


def outcome(function, arguments):
    try:
        return f"returns {type(function(*arguments)).__name__}"
    except Exception as error:
        return f"raises {type(error).__name__}: {error}"


def record(name, program):
    """Dict of section name to text: "source", then per call and artifact."""
    minidynamo._dynamo.reset()
    sections = {"source": inspect.getsource(program.function)}
    first_line = program.function.__code__.co_firstlineno
    compiled = minidynamo.compile(program.function, **program.options)
    for number, arguments in enumerate(program.calls(), start=1):
        with collected() as said, open(os.devnull, "w") as output, contextlib.redirect_stdout(output):
            result = outcome(compiled, arguments)
        counts = {}
        for artifact, text in said:
            counts[artifact] = counts.get(artifact, 0) + 1
            sections[f"call {number}: {artifact} {counts[artifact]}"] = without_places(text, first_line)
        sections[f"call {number}: {result}"] = ""
    minidynamo._dynamo.reset()
    return sections


def of_one_version(title):
    return title == "source" or ": bytecode " in title


def text_of(sections):
    return "".join(
        f"=== {title}\n{text.rstrip()}\n\n" if text else f"=== {title}\n\n" for title, text in sections.items()
    )


def sections_of(text):
    parts = re.split(r"^=== (.*)\n", text, flags=re.MULTILINE)[1:]
    return {title: body.strip("\n") for title, body in zip(parts[::2], parts[1::2], strict=True)}


def base_path(name):
    return HERE / "records" / f"{name}.txt"


def own_path(name):
    return HERE / "records" / f"{name}.{sys.version_info.major}.{sys.version_info.minor}.txt"


def expected(name):
    """The record for this version: its own file, or the base's without the sections that only the base has."""
    if sys.version_info[:2] == BASE:
        return sections_of(base_path(name).read_text())
    path = own_path(name)
    kept = sections_of((path if path.exists() else base_path(name)).read_text())
    return {title: text for title, text in kept.items() if not of_one_version(title)}


def comparable(sections):
    if sys.version_info[:2] == BASE:
        return {title: text.strip("\n") for title, text in sections.items()}
    return {title: text.strip("\n") for title, text in sections.items() if not of_one_version(title)}


def update(name, sections):
    """Writes the base's file, or this version's file if it differs from the base's."""
    if sys.version_info[:2] == BASE:
        base_path(name).write_text(text_of(sections))
        return
    own_path(name).unlink(missing_ok=True)
    if expected(name) != comparable(sections):
        own_path(name).write_text(text_of(comparable(sections)))
