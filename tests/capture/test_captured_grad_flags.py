"""What a region knows about requires_grad and is_leaf, against eager Python: drawn programs of views and writes
under grad modes."""

import itertools
import random
import textwrap

import pytest

import minidynamo as torch

MODES = [
    None,
    "torch.no_grad()",
    "torch.enable_grad()",
    "torch.set_grad_enabled(False)",
    "torch.set_grad_enabled(True)",
    "torch.inference_mode()",
]
# {a}, {b}: tensors of the program with two rows; {n}: a new name. Results have two rows, too.
STATEMENTS = [
    "{n} = {a} * 2",
    "{n} = {a} + {b}",
    "{n} = {a}.detach()",
    "{n} = {a}.data",
    "{n} = {a}[:]",
    "{n} = {a}.view(2, 2)",
    "{n} = {a}.t()",
    "{n} = {a}[0].expand(2, 2)",
    "{n} = {a}.unbind()[1].view(1, 2).expand(2, 2)",
    "{n} = {a}.clone()",
    "{n} = torch.zeros_like({a})",
    "{n} = {a}.long() + 1.0",
    "{n} = {a}.contiguous()",
    "{n} = {a}.to(torch.float32)",
    "{n} = {a}.reshape(2, 2)",
    "{a}.mul_(2)",
    "{a} *= 2",
    "{a}.zero_()",
    "{a}.copy_({b})",
    "{a}.lerp_({b}, 0.5)",
    "{a}.add_({b})",
    "{a}[0] = 3",
    "{a}[0] = {b}[1]",
    "{a}[[1]] = 2.0",
    "{a}[{b} > 2] = 0.0",
    "{a}.view(-1)[1:3].add_(1)",
    "{a}.fill_({b}.sum())",
    "{a}.masked_fill_({b} > 1, 0.5)",
    "torch.mul({a}, 2, out={a})",
    "torch.add({a}, {b}, out={b})",
    "{n} = torch.add({a}, 1, out=torch.empty(2, 2))",
    "{a}.requires_grad_()",
    "{a}.requires_grad_(False)",
]
FACTS = "({0}.requires_grad, {0}.is_leaf)"


def program(draw, length):
    """Returns a function of a parameter, of a computed tensor that requires grad, and of an ordinary tensor."""
    names, lines, new = ["w", "c", "x"], [], itertools.count()
    for _ in range(length):
        mode, count = draw.choice(MODES), draw.randint(1, 2)
        body, made = [], []
        for _ in range(count):
            name = f"n{next(new)}"
            statement = draw.choice(STATEMENTS)
            body.append(statement.format(a=draw.choice(names), b=draw.choice(names), n=name))
            if "{n}" in statement:
                names.append(name)
        if draw.random() < 0.2:
            body.append("torch._dynamo.graph_break()")
        lines += body if mode is None else [f"with {mode}:", *["    " + line for line in body]]
    lines.append("r = " + " + ".join(draw.sample(names, 2)))
    facts = ", ".join(FACTS.format(name) for name in [*names, "r"])
    lines.append(f"return ({facts}), [{', '.join([*names, 'r'])}]")
    return "def f(w, c, x):\n" + textwrap.indent("\n".join(lines), "    ")


def made(source):
    scope = {"torch": torch}
    exec(compile(source, "<program>", "exec"), scope)
    return scope["f"]


def inputs():
    w = torch.nn.Parameter(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    return w, w.detach().requires_grad_() * 3, torch.tensor([[0.5, 1.5], [2.5, 3.5]])


def facts(tensors):
    return [(t.requires_grad, t.is_leaf, t.tolist()) for t in tensors]


def outcome(call):
    given = inputs()
    try:
        inside, results = call(*given)
    except RuntimeError as error:
        return str(error), facts(given)
    return inside, facts(results), facts(given), [[a is b for b in [*given, *results]] for a in results]


def check(source):
    f = made(source)
    plain = outcome(f)
    torch._dynamo.reset()
    compiled = torch.compile(f)
    for _ in range(2):
        assert outcome(compiled) == plain, source
    assert torch.is_grad_enabled()


@pytest.mark.parametrize("mode", [MODES[0], MODES[1], MODES[3], MODES[5]], ids=str)
@pytest.mark.parametrize("statement", STATEMENTS)
@pytest.mark.parametrize("a, b", [("w", "c"), ("c", "x"), ("x", "w"), ("y", "x"), ("v", "c"), ("u", "x")])
def test_each_statement(statement, mode, a, b):
    made_here = ["y = w * 2", "v = (w * 2)[:]", "with torch.no_grad():", "    u = w[:]"]
    line = statement.format(a=a, b=b, n="n")
    body = [line] if mode is None else [f"with {mode}:", "    " + line]
    names = ["w", "c", "x", "y", "v", "u"] + (["n"] if "{n}" in statement else [])
    facts = ", ".join(FACTS.format(name) for name in [*names, "r"])
    lines = [*made_here, *body, f"r = {a} + 1", f"return ({facts}), [{', '.join(names)}, r]"]
    check("def f(w, c, x):\n" + textwrap.indent("\n".join(lines), "    "))


def check_drawn(number):
    check(program(random.Random(number), 1 + number % 5))


@pytest.mark.parametrize("number", range(150))
def test_drawn_programs(number):
    check_drawn(number)


def test_a_parameter_written_inside_a_module():
    class Averaged(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(2, 2))

        def forward(self, x):
            with torch.no_grad():
                self.weight.lerp_(x, 0.5)
            out = x @ self.weight
            return out, out.requires_grad, out.is_leaf, self.weight.requires_grad

    plain, compiled = Averaged(), torch.compile(Averaged())
    x = torch.full((2, 2), 3.0)
    for _ in range(3):
        wanted, got = plain(x), compiled(x)
        assert got[1:] == wanted[1:] == (True, False, True)
        assert got[0].requires_grad and not got[0].is_leaf
        assert got[0].tolist() == wanted[0].tolist()
