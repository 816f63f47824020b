"""The page of explain(): its contents, and how a browser renders it."""

import linecache
import re
import shutil
import subprocess
from html.parser import HTMLParser

import pytest

import minidynamo
from minidynamo import _dynamo

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(autouse=True)
def fresh():
    _dynamo.reset()


def ones(*shape):
    return minidynamo.ones(*(shape or (3,)))


def inner(x):
    return x.relu() + 1


def two_breaks(x, n):
    y = inner(x) * n  # a <comment> & "text"
    _dynamo.graph_break(msg="the first")
    z = y - 1
    _dynamo.graph_break(msg="the <second> & last")
    return z.sum()


FIRST = two_breaks.__code__.co_firstlineno


class Page(HTMLParser):
    """Collects the texts of a page by tag and class; reports tags that are not closed."""

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


def captured_lines(page):
    return [" ".join(row.split()) for name, texts in page.marked.items() if "md-in" in name.split() for row in texts]


def page_of_two_breaks(path=None):
    report = minidynamo.explain(two_breaks)(ones(), 2)
    return report, report.html(path)


def test_the_page_is_self_contained(tmp_path):
    report, text = page_of_two_breaks(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == text
    page = Page(text)
    assert page.links == [] and "<script" not in text and "@import" not in text and "url(" not in text
    assert "http" not in re.sub(r"https://docs\S*", "", text)
    # A notebook gets the same without the frame of a file, and its own style is unaffected.
    body = report._repr_html_()
    assert body in text and body.startswith('<div class="md-page">') and "<body" not in body
    rules = re.findall(r"([^{}]+)\{[^{}]*\}", re.search("<style>(.*)</style>", body, re.DOTALL)[1])
    assert len(rules) > 50
    for selectors in rules:
        assert all(selector.strip().startswith(".md-page") for selector in selectors.split(",")), selectors


def test_lines_carry_their_graphs():
    _, text = page_of_two_breaks()
    page = Page(text)
    assert set(captured_lines(page)) == {
        f'{FIRST + 1} y = inner(x) * n # a <comment> & "text"graph 1',
        f"{FIRST + 3} z = y - 1graph 2",
        f"{FIRST + 5} return z.sum()graph 3",
        f"{inner.__code__.co_firstlineno + 1} return x.relu() + 1graph 1",
    }
    # Functions without a graph are listed too.
    assert "_dynamo.graph_break(msg=" in "".join(page.texts["table"])


def test_breaks_stand_below_their_lines_with_reason_and_hint():
    report, text = page_of_two_breaks()
    page = Page(text)
    first, second = page.marked["md-break"]
    assert "Graph break 1" in first and "the first" in first and "the <second> & last" in second
    assert report.break_reasons[0].gb_id in first and report.break_reasons[0].title in first
    hints = [hint for reason in report.break_reasons for hint in reason.hints]
    assert hints and page.marked["md-hint"] == hints


def test_regions_show_guards_plan_and_graph():
    report, text = page_of_two_breaks()
    page = Page(text)
    assert sorted(page.texts["li"]) == sorted(report.out_guards)
    assert len(page.texts["svg"]) == 3
    assert all(name in page.texts["svg"][0] for name in ("relu", "add", "mul", "output", "f32[3]"))
    steps = [step for region in report.regions for step in region.plan.steps]
    assert len([name for name in page.marked if re.fullmatch(r"md-bar md-c\d", name)]) >= 1
    for step in steps:
        assert step.text in "".join(page.texts["code"])
    assert len(page.marked["md-bar md-capture"]) == len(page.marked["md-bar md-lower"]) == 3


def test_why_earlier_calls_captured_again_is_on_the_page():
    def named(x, name):
        return x + len(name)

    compiled = minidynamo.compile(named)
    compiled(ones(), "a")
    compiled(ones(), "bc")
    page = Page(minidynamo.explain(compiled)(ones(), "def").html())
    (earlier,) = page.marked["md-steps md-earlier"]
    assert "the first" in earlier and "L['name']" in earlier


def test_methods_of_one_name_are_distinguished():
    class First(minidynamo.nn.Module):
        def forward(self, x):
            return x + 1

    class Second(minidynamo.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = First()

        def forward(self, x):
            return self.first(x) * 2

    page = Page(minidynamo.explain(Second())(ones()).html())
    rows = captured_lines(page)
    assert len(rows) == 2 and any("self.first(x) * 2" in row for row in rows) and any("x + 1" in row for row in rows)


def page_of_source(source, name):
    namespace = {}
    exec(compile(source, name, "exec"), namespace)
    text = minidynamo.explain(namespace["f"])(ones()).html()
    Page(text)
    return text


# python -c and interactive Pythons keep their source in linecache under such a name.
@pytest.mark.parametrize("kept", [None, "print('another')\n", "def f(x):\n    return x - 'another'\n"])
@pytest.mark.parametrize("name", ["<string>", "<stdin>", "<unknown>"])
def test_missing_source(name, kept, monkeypatch):
    if kept is None:
        monkeypatch.delitem(linecache.cache, name, raising=False)
    else:
        monkeypatch.setitem(linecache.cache, name, (len(kept), None, kept.splitlines(True), name))
    text = page_of_source("def f(x):\n    return x + 1\n", name)
    assert "Its source cannot be read." in text and "another" not in text


def test_source_of_a_cell_is_shown(monkeypatch):
    source = "def f(x):\n    return x + 12345\n"
    monkeypatch.setitem(linecache.cache, "<cell 7>", (len(source), None, source.splitlines(True), "<cell 7>"))
    text = page_of_source(source, "<cell 7>")
    assert "12345" in text and "Its source cannot be read." not in text


def test_nothing_captured():
    assert "has nothing that is captured" in minidynamo.explain(len)([1]).html()


def test_a_large_graph_is_not_drawn():
    def long(x):
        for i in range(300):
            x = x * 2 if i % 2 else x + 1
        return x

    assert "nodes are too many to draw" in minidynamo.explain(long)(ones()).html()


def browse(*arguments):
    """Runs Chromium headless; containers do not offer a sandbox."""
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")
def test_a_browser_shows_it(tmp_path):
    report, _ = page_of_two_breaks(tmp_path / "page.html")
    # A script of the test writes the measurements into the page: the page itself has no scripts.
    probe = """<script>
      const show = (name, found) => document.body.setAttribute("data-" + name, found);
      const all = (selector) => [...document.querySelectorAll(selector)];
      const colour = (node) => getComputedStyle(node).backgroundColor;
      const box = (node) => node.getBoundingClientRect();
      const lines = all("tr.md-in");
      show("lines", lines.map((row) => row.innerText.replace(/\\s+/g, " ").trim()).join("|"));
      show("colours", new Set(lines.map((row) => colour(row.cells[1]))).size);
      show("breaks", all("tr.md-break").filter((row) => box(row).height > 20).length);
      show("bars", all(".md-steps .md-bar").filter((bar) => box(bar).width > 0 && box(bar).height > 5).length);
      show("drawn", all("svg g rect").filter((node) => box(node).width > 30 && box(node).height > 20).length);
      show("overlaps", all("svg").filter((svg) => { const boxes = [...svg.querySelectorAll("rect")].map(box);
        return boxes.some((a, i) => boxes.some((b, j) => i < j && a.left < b.right && b.left < a.right && a.top < b.bottom
          && b.top < a.bottom)); }).length);
      show("spills", all("svg g").filter((g) => [...g.querySelectorAll("text")].some((text) =>
        box(text).width > box(g.querySelector("rect")).width)).length);
      show("wide", document.documentElement.scrollWidth > window.innerWidth);
    </script></body>"""
    path = tmp_path / "probed.html"
    path.write_text((tmp_path / "page.html").read_text(encoding="utf-8").replace("</body>", probe), encoding="utf-8")
    done = browse("--window-size=1200,900", "--virtual-time-budget=3000", "--dump-dom", path.as_uri())
    assert done.returncode == 0, done.stderr
    found = dict(re.findall(r'data-(\w+)="([^"]*)"', done.stdout))
    assert found["lines"].count("|") == 3 and "z = y - 1 graph 2" in found["lines"]
    assert found["colours"] == "3"
    assert found["breaks"] == "2"
    steps = sum(len(region.plan.steps) for region in report.regions)
    assert int(found["bars"]) == steps + 2 * len(report.regions)
    assert int(found["drawn"]) == sum(len(gm.graph.nodes) for gm in report.graphs)
    assert (found["overlaps"], found["spills"], found["wide"]) == ("0", "0", "false")
