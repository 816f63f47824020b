"""Runs every ```python block of README.md and docs/**/*.md, page by page, each page in a fresh namespace.

Comments in a block are checked:
    # prints: TEXT    one line of its output; all lines that it prints must be listed, in order
    # raises: TEXT    "Type: message" of the exception that ends the block; without it none may
`...` in TEXT stands for anything, and `# prints: ...` alone for any number of lines. A block that starts with `>>>` is run as
by doctest, with ELLIPSIS. Line numbers in tracebacks are those of the page.
"""

import contextlib
import doctest
import io
import linecache
import re
import textwrap
from pathlib import Path

import pytest

import minidynamo

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^( *)```python\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


class Block:
    """The text of one block, and the line of the page on which it starts, from 1."""

    def __init__(self, page, match):
        self.page = page
        self.source = textwrap.dedent(match.group(2))
        self.line = match.string[: match.start(2)].count("\n") + 1

    def comments(self, word):
        return re.findall(rf"# {word}: ?(.*?)\s*$", self.source, re.MULTILINE)


def blocks_of(page, text):
    return [Block(page, match) for match in FENCE.finditer(text)]


def pages():
    found = {}
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]:
        text = path.read_text()
        if blocks_of(path.name, text):
            found[str(path.relative_to(ROOT))] = text
    return found


def run_block(block, namespace):
    if block.source.startswith(">>>"):
        return run_doctest(block, namespace)
    output, error = io.StringIO(), None
    # The lines above are blank, so that tracebacks name lines of the page.
    code = compile("\n" * (block.line - 1) + block.source, block.page, "exec", dont_inherit=True)
    with contextlib.redirect_stdout(output):
        try:
            exec(code, namespace)
        except Exception as raised:
            error = raised
    where = f"{block.page}, block at line {block.line}"
    hold_exception(where, error, block.comments("raises"))
    hold_output(where, output.getvalue(), block.comments("prints"))


def hold_exception(where, error, expected):
    if not expected:
        if error is not None:
            raise error
        return
    assert len(expected) == 1, f"{where}: one `# raises:` is enough"
    assert error is not None, f"{where}: raised nothing, expected {expected[0]}"
    text = f"{type(error).__name__}: {error}".removesuffix(": ")
    assert matches(expected[0], text), f"{where}: raised {text}\nexpected {expected[0]}"


def hold_output(where, output, expected):
    lines = "\n".join(line.rstrip() for line in output.splitlines())
    assert matches("\n".join(expected), lines), f"{where}: printed\n{lines}\nexpected\n" + "\n".join(expected)


def matches(expected, text):
    return re.fullmatch(".*".join(map(re.escape, expected.split("..."))), text, re.DOTALL) is not None


def run_doctest(block, namespace):
    test = doctest.DocTestParser().get_doctest(block.source, namespace, block.page, block.page, block.line - 1)
    test.globs = namespace
    report = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
    runner.run(test, out=report.write, clear_globs=False)
    assert runner.failures == 0, report.getvalue()


def run_page(page, text, directory, monkeypatch):
    monkeypatch.chdir(directory)
    linecache.cache[page] = (len(text), None, text.splitlines(True), page)
    minidynamo._dynamo.reset()
    minidynamo.manual_seed(0)
    namespace = {"__name__": "__main__"}
    try:
        for block in blocks_of(page, text):
            run_block(block, namespace)
    finally:
        minidynamo._logging.set_logs()
        minidynamo._dynamo.reset()


@pytest.mark.skipif(minidynamo._dynamo.config.snapshot_stress != 0, reason="regions end where the stress switch says")
@pytest.mark.parametrize("page", pages())
def test_page(page, tmp_path, monkeypatch):
    run_page(page, pages()[page], tmp_path, monkeypatch)


GOOD = """\
```python
def f(x):
    return x / 0
print("one"); print("two")  # prints: one
# prints: two
```
Then
```python
f(1)  # raises: ZeroDivisionError: division...
```
```python
>>> f
<function f at 0x...>
```
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (None, None),
        ("# prints: one", "# prints: won"),
        ("# prints: one", ""),
        ("# prints: two\n", ""),
        ("# prints: two\n", "# prints: two\n# prints: three\n"),
        ("f(1)  # raises: ZeroDivisionError: division...", "f(1)"),
        ("f(1)  # raises", "f  # raises"),
        ("ZeroDivisionError", "ValueError"),
        ("<function f", "<function g"),
    ],
)
def test_comments_of_a_block_are_checked(old, new, tmp_path, monkeypatch):
    if old is None:
        return run_page("page.md", GOOD, tmp_path, monkeypatch)
    assert old in GOOD
    with pytest.raises((AssertionError, ZeroDivisionError)):
        run_page("page.md", GOOD.replace(old, new), tmp_path, monkeypatch)


def test_tracebacks_name_lines_of_the_page(tmp_path, monkeypatch):
    with pytest.raises(ZeroDivisionError) as caught:
        run_page("page.md", GOOD.replace("  # raises: ZeroDivisionError: division...", ""), tmp_path, monkeypatch)
    places = [(entry.path, entry.lineno) for entry in caught.traceback if str(entry.path).endswith("page.md")]
    assert [line for _, line in places] == [8, 2]
