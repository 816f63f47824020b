"""Comments, docs and texts use the field's terms: none of the words in tools/words.txt."""

import ast
import io
import re
import tokenize
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
C_SUFFIXES = {".h", ".cpp", ".c", ".inl", ".def"}
GENERATED = {"docs/accuracy.md", "docs/graph_break_ids.txt"}
C_TOKEN = re.compile(
    r"""(?P<comment>//(?:\\\n|[^\n])*|/\*.*?\*/)
      | (?:u8|[uUL])?R"(?P<delimiter>[^()\\\s]{0,16})\((?P<raw>.*?)\)(?P=delimiter)"
      | "(?P<text>(?:\\.|[^"\\\n])*)"
      | (?<!\w)'(?:\\.|[^'\\\n])+'""",
    re.VERBOSE | re.DOTALL,
)


def read_words(path=ROOT / "tools/words.txt"):
    words = []
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            pattern, replacement, where = line.split("\t")
            flags = 0 if re.search(r"(?<!\\)[A-Z]", pattern) else re.IGNORECASE
            words.append((re.compile(pattern.replace(" ", "[ \n]"), flags), replacement, set(where.split(","))))
    return words


WORDS = read_words()


def blank(match):
    return re.sub(r"[^\n]", " ", match[0])


def joined(pieces):
    """Joins the (line, text) pieces of consecutive lines: phrases may span line ends."""
    blocks = []
    for line, text in pieces:
        text = "\n".join(re.sub(r"`[^`]*`", blank, part).strip() for part in text.split("\n"))
        if blocks and blocks[-1][0] + blocks[-1][1].count("\n") + 1 == line:
            blocks[-1] = (blocks[-1][0], blocks[-1][1] + "\n" + text)
        else:
            blocks.append((line, text))
    return blocks


def of_c(text):
    comments, texts = [], []
    for token in C_TOKEN.finditer(text):
        line = text.count("\n", 0, token.start()) + 1
        if token["comment"]:
            comments.append((line, re.sub(r"^\s*(?://|/\*|\*)|\*/$", "", token["comment"], flags=re.M)))
        elif token["text"] or token["raw"]:
            texts.append((line, token["text"] or token["raw"]))
    return {"comments": joined(comments), "texts": joined(texts)}


def of_python(text):
    comments, texts, docstrings = [], [], set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                docstrings.add(first.lineno)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            comments.append((token.start[0], token.string[1:]))
        elif token.type == tokenize.STRING:
            (comments if token.start[0] in docstrings else texts).append((token.start[0], token.string))
    return {"comments": joined(comments), "texts": joined(texts)}


def of_markdown(text):
    return {"docs": joined([(1, re.sub(r"^```.*?^```", blank, text, flags=re.M | re.DOTALL))])}


def findings(path):
    text = path.read_text()
    read = {".md": of_markdown, ".py": of_python, ".pyi": of_python}.get(path.suffix, of_c)
    found = []
    for where, blocks in read(text).items():
        for pattern, replacement, places in WORDS:
            for line, block in blocks if where in places else []:
                for match in pattern.finditer(block):
                    at = line + block.count("\n", 0, match.start())
                    words = " ".join(match[0].split())
                    found.append(f"{path.relative_to(ROOT)}:{at}: '{words}' -> {replacement}")
    return found


def is_read(path):
    name = str(path.relative_to(ROOT))
    if name in GENERATED or "cpython/results" in name or path.name == Path(__file__).name:
        return False
    return path.suffix in C_SUFFIXES | {".md", ".py", ".pyi"}


@cache
def sources():
    folders = [path for name in ("csrc", "docs", "python/minidynamo", "tests") for path in (ROOT / name).rglob("*")]
    return sorted(path for path in [*folders, ROOT / "CONTRIBUTING.md", ROOT / "README.md"] if is_read(path))


def room_of(path):
    parts = path.relative_to(ROOT).parts
    return parts[0] if parts[0] in ("docs", "tests") or len(parts) == 1 else "/".join(parts[:2])


def is_readable(path):
    try:
        path.suffix != ".py" or ast.parse(path.read_text())
    except SyntaxError:  # of a later Python
        return False
    return True


@pytest.mark.parametrize("room", sorted({room_of(path) for path in sources()}))
def test_words(room):
    found = [line for path in sources() if room_of(path) == room and is_readable(path) for line in findings(path)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("suffix", "text", "count"),
    [
        (".cpp", "// What a call-out is.\n", 1),
        (".cpp", "int n;  // so\n        // many\n", 1),
        (".cpp", 'const char* s = "// nobody";  // fine\n', 1),
        (".cpp", "/* a walk */ int call_out, told;\n", 1),
        (".cpp", 'auto s = R"(a walk)"; char c = \'"\'; // told apart\n', 1),
        (".py", 'def f():\n    """Nobody asks."""\n    nobody = told = 1\n', 1),
        (".py", "x = 1  # told apart\n", 0),
        (".md", "A walk, `a walk` and\n```python\n# a walk\n```\n", 1),
    ],
)
def test_what_is_read(suffix, text, count, tmp_path, monkeypatch):
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    path = tmp_path / f"sample{suffix}"
    path.write_text(text)
    assert len(findings(path)) == count
