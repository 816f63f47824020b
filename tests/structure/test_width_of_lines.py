"""Lines of the C++ source: 120 columns; of tables the comments."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WIDTH = 120


def wide_lines(path):
    is_table = path.suffix == ".def"
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if len(line) > WIDTH and (not is_table or line.lstrip().startswith("//")):
            yield f"{path.relative_to(ROOT)}:{number}: {len(line)} columns"


def test_width_of_lines():
    sources = [path for path in (ROOT / "csrc").rglob("*") if path.suffix in (".c", ".cpp", ".def", ".h", ".inl")]
    if not sources:
        pytest.skip("there is no source here")
    assert [line for path in sorted(sources) for line in wide_lines(path)] == []
