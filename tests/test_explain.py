"""explain(): what one call captures, as fields, report and page. why(): what became of a function."""

import re
from html.parser import HTMLParser

import pytest

import minidynamo
from minidynamo import _dynamo
from minidynamo._dynamo import config


@pytest.fixture(autouse=True)
def fresh():
    _dynamo.reset()


def ones(*shape):
    return minidynamo.ones(*(shape or (3,)))


def inner(x):
    return x.relu() + 1


def two_breaks(x, n):
    y = inner(x) * n
    _dynamo.graph_break(msg="the first")
    z = y - 1
    _dynamo.graph_break(msg="the <second> & last")
    return z.sum()


def test_regions_of_a_call():
    report = minidynamo.explain(two_breaks)(ones(), 2)
    assert (report.graph_count, report.graph_break_count, report.op_count) == (3, 2, 5)
    assert [[name for name, _ in region.ops] for region in report.regions] == [["relu", "add", "mul"], ["sub"], ["sum"]]
    assert [region.exit for region in report.regions] == ["break", "break", "return"]
    assert [region.break_reason is not None for region in report.regions] == [True, True, False]
    first = two_breaks.__code__.co_firstlineno
    assert [(region.name, region.line) for region in report.regions] == [("two_breaks", first)] * 3
    starts = [region.start for region in report.regions]
    assert (
        starts[0] <= first + 1 and starts[1:] == sorted(starts[1:]) and first + 2 <= starts[1] <= starts[2] <= first + 5
    )
    name, frames = report.regions[0].ops[0]
    assert name == "relu"
    assert [(line, function) for _, line, function in frames] == [
        (first + 1, "two_breaks"),
        (inner.__code__.co_firstlineno + 1, "inner"),
    ]


def test_guards_and_times():
    report = minidynamo.explain(two_breaks)(ones(), 2)
    assert report.out_guards == [guard for region in report.regions for guard in region.guards]
    assert any("L['x']" in guard for guard in report.regions[0].guards)
    assert all(region.walk_ns > 0 and region.plan_ns >= 0 for region in report.regions)
    lines = report.compile_times.splitlines()
    assert len(lines) == 4 and lines[1].split()[:2] == [f"two_breaks:{report.regions[0].start}", "3"]
    text = str(report)
    for part in ("Graph Count: 3", "Break Reason 2:", "Ops 1: relu, add, mul", "Out Guards:", "Compile Times:"):
        assert part in text


def test_all_breaks_of_a_function_under_fullgraph():
    strict = minidynamo.compile(two_breaks, fullgraph=True)
    with pytest.raises(_dynamo.exc.Unsupported):
        strict(ones(), 2)
    report = minidynamo.explain(strict)(ones(), 2)
    assert ["the first" in reason.reason for reason in report.break_reasons] == [True, False]
    assert len(report.break_reasons) == 2


def test_a_call_that_raises_passes_its_exception_on():
    def fails(x):
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        minidynamo.explain(fails)(ones())


class Page(HTMLParser):
    """The texts of a page by tag and class; complains of tags that are not closed."""

    EMPTY = {"meta", "line", "rect"}

    def __init__(self, text):
        super().__init__()
        self.open, self.texts, self.marked, self.links = [], {}, {}, []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.links += [value for name, value in attributes.items() if name in ("src", "href")]
        self.texts.setdefault(tag, []).append("")
        if tag not in self.EMPTY:
            self.open.append((tag, attributes.get("class")))
            if attributes.get("class"):
                self.marked.setdefault(attributes["class"], []).append("")

    def handle_startendtag(self, tag, attributes):
        self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        for tag, name in self.open:
            self.texts[tag][-1] += data
            if name:
                self.marked[name][-1] += data


def test_page(tmp_path):
    report = minidynamo.explain(two_breaks)(ones(), 2)
    text = report.html(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == text == report._repr_html_()
    page = Page(text)
    assert page.links == [] and "<script" not in text and "http" not in re.sub(r"https://docs\S*", "", text)
    # Each captured line carries its graphs, in both functions.
    assert [mark.strip() for mark in page.marked["mark"]] == ["graph 1", "graph 2", "graph 3", "graph 1"]
    assert [row.strip() for row in page.marked["in"]] == [
        f"{two_breaks.__code__.co_firstlineno + 1}    y = inner(x) * ngraph 1",
        f"{two_breaks.__code__.co_firstlineno + 3}    z = y - 1graph 2",
        f"{two_breaks.__code__.co_firstlineno + 5}    return z.sum()graph 3",
        f"{inner.__code__.co_firstlineno + 1}    return x.relu() + 1graph 1",
    ]
    assert len(page.marked["break"]) == 2 and "the <second> & last" in page.marked["break"][1]
    assert len(page.texts["svg"]) == 3 and all(
        name in page.texts["svg"][0] for name in ("relu", "add", "mul", "output")
    )
    assert sum(guard.count("\n") >= 0 for guard in page.texts["li"]) == len(report.out_guards)
    assert len(page.marked["bar walk"]) == 3


def test_page_of_source_that_is_not_there():
    namespace = {}
    exec("def f(x):\n    return x + 1\n", namespace)
    text = minidynamo.explain(namespace["f"])(ones()).html()
    assert "Its source cannot be read." in text
    Page(text)


def test_page_of_nothing():
    text = minidynamo.explain(len)([1]).html()
    Page(text)


def whole(x):
    return x * 2 + 1


def test_why_whole():
    assert _dynamo.why(whole).startswith("whole is not captured: it was not called under compile()")
    compiled = minidynamo.compile(whole)
    compiled(ones())
    assert _dynamo.why(compiled) == _dynamo.why(whole) == "whole is captured whole: 2 operations."
    compiled(ones().double())
    assert _dynamo.why(whole).startswith("whole is captured whole for each of 2 kinds of arguments")


def test_why_break():
    minidynamo.compile(two_breaks)(ones(), 2)
    place = f"{__file__}:{two_breaks.__code__.co_firstlineno + 2}"
    assert re.fullmatch(
        rf"two_breaks breaks the graph at {re.escape(place)} \(MD\d+: .*\), the first of 2 places\.",
        _dynamo.why(two_breaks),
    )


def test_why_disabled():
    kept_out = minidynamo.compiler.disable(whole)
    assert _dynamo.why(kept_out) == "whole is not captured: it and what it calls are kept out by disable()."
    only_this = minidynamo.compiler.disable(whole, recursive=False)
    assert _dynamo.why(only_this) == "whole is not captured: it is kept out by disable()."


def test_why_skipped_frame():
    def skips(x):
        _dynamo.skip_frame()
        return x + 1

    minidynamo.compile(skips)(ones())
    assert _dynamo.why(skips).endswith("skips is left to Python: skip_frame() was called in it.")


def test_why_nothing_to_capture():
    def plain(n):
        return n + 1

    minidynamo.compile(plain)(1)
    assert _dynamo.why(plain).endswith("there is no operation on tensors in it that anything needs.")


def test_why_limit():
    def named(x, name):
        return x + len(name)

    compiled = minidynamo.compile(named)
    with config.patch(recompile_limit=2):
        for name in ("a", "bc", "def"):
            compiled(ones(), name)
    assert "is captured for 2 kinds of arguments, as many as config.recompile_limit allows" in _dynamo.why(named)


def test_why_raise():
    def raises(x):
        y = x + 1
        raise ValueError(y)

    with pytest.raises(ValueError):
        minidynamo.compile(raises)(ones())
    assert re.search(r"is captured up to line \d+, and raises an exception from there\.$", _dynamo.why(raises))


def test_why_module():
    net = minidynamo.nn.Linear(3, 2)
    compiled = minidynamo.compile(net)
    compiled(ones(1, 3))
    assert "is captured whole" in _dynamo.why(compiled)


def test_why_of_no_function():
    with pytest.raises(TypeError, match="not int"):
        _dynamo.why(3)
