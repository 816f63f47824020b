"""No function of csrc/ is longer than a screen."""

import re
from pathlib import Path

import pytest

CSRC = Path(__file__).parents[2] / "csrc"
SOURCES = sorted(path for path in CSRC.rglob("*") if path.suffix in {".cpp", ".c", ".h", ".inl"})
MOST_LINES = 60
# A definition begins at the first column or one level in, has no empty line before its body, and its last line is a
# brace in the same column.
DEFINITION = re.compile(
    r"^(?P<indent> {0,4})(?!namespace|struct|class|enum|union|#|//|return|else|if|for|while|switch|do|try|case)"
    r"[A-Za-z~][^\n;{}=]*(?:\n[^\n;{}]*)*?\([^;{}]*\)(?:[^;{}\n]|\n(?!\n))*\{\n(?P<body>.*?)^(?P=indent)\}",
    re.MULTILINE | re.DOTALL,
)


def long_functions(text):
    """(first line, number of lines) of each function that is too long."""
    found = []
    for match in DEFINITION.finditer(text):
        lines = match["body"].count("\n") + 2
        if lines > MOST_LINES:
            found.append((match[0].split("\n")[0].strip(), lines))
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(CSRC)))
def test_functions_fit_a_screen(path):
    assert long_functions(path.read_text()) == []


def test_a_long_function_is_found():
    body = "".join(f"  step({i});\n" for i in range(MOST_LINES))
    assert long_functions("int f(int a) {\n" + body + "}\n") == [("int f(int a) {", MOST_LINES + 2)]
    assert long_functions("class A {\n  int f(int a,\n        int b) {\n  " + body + "  }\n};\n")[0][1] > MOST_LINES
    assert long_functions("int f(int a) {\n" + body[: len(body) // 2] + "}\n") == []
