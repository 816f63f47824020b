"""Snippets of the page on `fullgraph=True`, as printed there, and their output."""

import os

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

SQUARE_CPU = """\
from torch.utils.cpp_extension import load_inline

# C++ source code for the square operation
cpp_source = \"\"\"
torch::Tensor square_cpu(torch::Tensor input) {
    // Check that input is a CPU tensor
    TORCH_CHECK(input.device().is_cpu(), "Input must be a CPU tensor");

    // Create output tensor with same shape and dtype as input
    torch::Tensor output = torch::empty_like(input);

    // Get data pointers
    float* input_data = input.data_ptr();
    float* output_data = output.data_ptr();

    // Get total number of elements
    int64_t numel = input.numel();

    // For loop to compute square of each element
    for (int64_t i = 0; i < numel; i++) {
        output_data[i] = input_data[i] * input_data[i];
    }

    return output;
}
\"\"\"

# Load the extension inline
square_module = load_inline(
    name="square_cpu_kernel",
    cpp_sources=cpp_source,
    functions=["square_cpu"],
    verbose=True
)

def square(x):
    return square_module.square_cpu(x)

@torch.compile(fullgraph=True)
def f(x):
    return square(x)

try:
    f(torch.randn(3, 3))  # graph break
except Exception as e:
    print(e)
"""

CUSTOM_OP = """\
# Use torch.library.custom_op to define a new custom operator.
# Custom operators are opaque with respect to torch.compile:
# that is, torch.compile does not peek into them.

@torch.library.custom_op("mylib::square", mutates_args=())
def square(x: torch.Tensor) -> torch.Tensor:
    return square_module.square_cpu(x)

# Use register_fake to add a ``FakeTensor`` kernel for the operator
@square.register_fake
def _(x):
    return x.new_empty(x.size())

print(f(torch.randn(3, 3)))  # no graph break
"""

SAVE = """\
@torch.compile(fullgraph=True)
def f(x):
    y = x ** 2  / 2
    torch.save(y, "foo.pt")
    z = y ** 3 / 6
    return z

x = torch.randn(3)
try:
    f(x)  # Graph Break: torch.save not supported
except Exception as e:
    print(e)
"""

SAVE_REWRITTEN = """\
def f_rewritten(x):
    y = g(x)
    torch.save(y, "foo.pt")
    z = h(y)
    return z

@torch.compile(fullgraph=True)
def g(x):
    y = x ** 2  / 2
    return y

@torch.compile(fullgraph=True)
def h(y):
    z = y ** 3 / 6
    return z

f_rewritten(x)
"""

REMOVE = """\
import os
os.remove("foo.pt")
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


@pytest.mark.counts_regions
def test_strategy_2_a_compiled_kernel_as_a_custom_operator(notebook, capfd):
    notebook.run(IMPORTS, "<imports>")
    notebook.run(SQUARE_CPU, "<square>")
    assert notebook.output.startswith("Call to a function that is not written in Python\n")
    assert "square_cpu" in notebook.output and 'File "<square>", line 37, in square' in notebook.output
    assert "-shared" in capfd.readouterr().err  # verbose=True
    # f is compiled with fullgraph=True, and finds the operator under the same global name.
    minidynamo.manual_seed(3)
    notebook.run(CUSTOM_OP, "<custom op>")
    minidynamo.manual_seed(3)
    assert notebook.output == f"{minidynamo.randn(3, 3) ** 2}\n"
    report = minidynamo._dynamo.explain(notebook.namespace["square"])(minidynamo.ones(2))
    assert (report.graph_count, report.graph_break_count, report.op_count) == (1, 0, 1)


@pytest.mark.counts_regions
def test_strategy_3_code_that_is_not_compiled(notebook):
    notebook.run(IMPORTS, "<imports>")
    notebook.run(SAVE, "<save>")
    assert notebook.output.startswith("Call to a function that is never captured\n")
    assert "minidynamo.save writes a file" in notebook.output and 'File "<save>", line 4, in f' in notebook.output
    assert not os.path.exists("foo.pt")
    value = notebook.run(SAVE_REWRITTEN, "<save rewritten>")
    x = notebook.namespace["x"]
    y = x**2 / 2
    assert minidynamo.load("foo.pt").tolist() == y.tolist()
    assert minidynamo._dynamo.testing.same(value, y**3 / 6, tol=1e-6)
    assert notebook.output == ""
    notebook.run(REMOVE, "<remove>")
    assert not os.path.exists("foo.pt")
