"""The passages of text files: paragraphs of plain text and Markdown, without code, tables and headings."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Passage:
    path: Path
    line: int  # of its first line, from 1
    text: str


def passages_of(paths: Iterable[Path]) -> list[Passage]:
    return [passage for path in paths for passage in passages_in(path)]


def passages_in(path: Path) -> Iterator[Passage]:
    start, lines, is_code = 0, list[str](), False
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        is_text = not is_code and line.strip() and not re.match(r"    |\t|\s*(```|\||#)", line)
        begins_item = bool(re.match(r"\s*([-*]|\d+\.)\s", line))
        if lines and (not is_text or begins_item):
            yield passage_of(path, start, lines)
            lines = []
        if is_text:
            start = start if lines else number
            lines.append(line.strip())
    if lines:
        yield passage_of(path, start, lines)


def passage_of(path: Path, start: int, lines: list[str]) -> Passage:
    return Passage(path, start, re.sub(r"^([-*]|\d+\.)\s+", "", " ".join(lines)))
