"""Snippets of the page on `fullgraph=True`, as printed there, and what they print."""

import pytest

import minidynamo

IMPORTS = "import torch\n\nimport header_code\n"

NEXT = """\
@torch.compile(fullgraph=True)
def f(xs):
    a = next(xs)
    b = next(xs)
    return a + b

xs = [torch.tensor(1.), torch.tensor(2.)]
try:
    out = f(iter(xs))
except Exception as e:
    print(e)
"""

NEXT_REWRITTEN = """\
@torch.compile(fullgraph=True)
def f_rewritten(xs):
    it = iter(xs)
    a = next(it)
    b = next(it)
    return a + b

f_rewritten(xs)
"""

NONSTRICT = """\
# this is a function that Dynamo doesn't support (due to the graph_break() call).
def g(x):
    y = x.sin()
    torch._dynamo.graph_break()
    z = y.sin()
    return z

@torch.compile(fullgraph=True)
def f(x):
    w = x.sin()
    return g(w)

x = torch.randn(3)
try:
    f(x)  # Graph Break: there was a call to torch._dynamo.graph_break()
except Exception as e:
    print(e)

@torch.compile(fullgraph=True)
def f_rewritten(x):
    w = x.sin()
    return torch._dynamo.nonstrict_trace(g)(w)

f_rewritten(x)  # works
"""


@pytest.mark.counts_regions
def test_next_on_an_iterator_that_was_an_argument(notebook):
    notebook.run(IMPORTS, "<imports>")
    notebook.run(NEXT, "<next>")
    assert 'File "<next>", line 3, in f' in notebook.output and "Explanation: " in notebook.output
    assert notebook.run(NEXT_REWRITTEN, "<next rewritten>").item() == 3.0
    assert notebook.output == ""


@pytest.mark.counts_regions
def test_nonstrict_trace(notebook):
    notebook.run(IMPORTS, "<imports>")
    value = notebook.run(NONSTRICT, "<nonstrict>")
    assert notebook.output.startswith("Call to `minidynamo._dynamo.graph_break()`\n")
    x = notebook.namespace["x"]
    assert minidynamo._dynamo.testing.same(value, x.sin().sin().sin(), tol=1e-6)
