"""Hooks of saved tensors, recomputation by checkpoint, and anomaly mode: as in torch."""

import re
import textwrap
import warnings

import pytest
from text_programs import check, table

import minidynamo

torch = pytest.importorskip("torch")

HOOKS = {
    "pack and unpack": """
        seen = []
        def pack(x):
            seen.append(("pack", x.tolist(), x.requires_grad, torch.is_grad_enabled())); return x * 1
        def unpack(x):
            seen.append(("unpack", x.tolist())); return x
        a, b = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0, 5.0], requires_grad=True)
        with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
            y = a * b
        z = y * y
        z.sum().backward()
        result = sorted(seen), a.grad, b.grad
    """,
    "replaced": """
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        with torch.autograd.graph.saved_tensors_hooks(lambda x: 3, lambda n: torch.full((2,), float(n))):
            y = x.exp() + x.pow(2)
        y.sum().backward()
        result = x.grad
    """,
    "results": """
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        kept = []
        with torch.autograd.graph.saved_tensors_hooks(lambda x: kept.append(x) or len(kept) - 1, lambda n: kept[n] * 1):
            y = x.exp()
        g, = torch.autograd.grad(y.sum(), x, create_graph=True)
        h, = torch.autograd.grad(g.sum(), x)
        result = g, h, len(kept)
    """,
    "second derivatives through an operand": """
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        with torch.autograd.graph.saved_tensors_hooks(lambda x: x.clone(), lambda x: x.clone()):
            y = x * x * x
        g, = torch.autograd.grad(y.sum(), x, create_graph=True)
        result = torch.autograd.grad(g.sum(), x)
    """,
    "nested": """
        seen = []
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        h = torch.autograd.graph.saved_tensors_hooks
        with h(lambda x: seen.append("outer") or x, lambda x: x):
            with h(lambda x: seen.append("inner") or x, lambda x: x):
                y = x.exp()
            z = y.exp()
        result = seen
    """,
    "a function": """
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                y = x * x
                ctx.save_for_backward(x, y)
                return y
            @staticmethod
            def backward(ctx, g):
                x, y = ctx.saved_tensors
                return g * x + y * 0
        seen = []
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        with torch.autograd.graph.saved_tensors_hooks(lambda x: seen.append(x.tolist()) or x, lambda x: x * 10):
            y = F.apply(x)
        y.sum().backward()
        result = seen, x.grad
    """,
    "unpack gives no tensor": """
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        with torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: 3):
            y = x.exp()
        y.sum().backward()
    """,
    "pack writes": """
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        with torch.autograd.graph.saved_tensors_hooks(lambda x: x.mul_(2), lambda x: x):
            y = x.exp()
    """,
    "pack raises": """
        def pack(x):
            raise ValueError("no room")
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
            y = x.exp()
    """,
    "unpack raises": """
        def unpack(x):
            raise ValueError("lost")
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        with torch.autograd.graph.saved_tensors_hooks(lambda x: x, unpack):
            y = x.exp()
        y.sum().backward()
    """,
    "versions are not checked": """
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        with torch.autograd.graph.saved_tensors_hooks(lambda x: x.clone(), lambda x: x):
            y = x * 1
            z = y * y
        with torch.no_grad():
            y.mul_(5)
        z.sum().backward()
        result = x.grad
    """,
    "save_on_cpu": """
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        with torch.autograd.graph.save_on_cpu():
            y = x.exp() * x
        y.sum().backward()
        result = x.grad
    """,
    "disabled": """
        with torch.autograd.graph.disable_saved_tensors_hooks("not here"):
            with torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
                pass
    """,
    "disabled and again": """
        with torch.autograd.graph.disable_saved_tensors_hooks("not here"):
            pass
        with torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
            result = 1
    """,
    "not under no_grad": """
        seen = []
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        with torch.autograd.graph.saved_tensors_hooks(lambda x: seen.append(1) or x, lambda x: x), torch.no_grad():
            x.exp()
        result = seen
    """,
    "hooks of one saved tensor": """
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * 2
            @staticmethod
            def backward(ctx, g):
                return g * ctx.saved_tensors[0]
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = F.apply(x)
        y.grad_fn._raw_saved_tensors[0].register_hooks(lambda x: x * 10, lambda x: x + 1)
        y.sum().backward()
        result = x.grad
    """,
}

COMMON = """
        runs = []
        def part(x, w):
            runs.append(1)
            return torch.tanh(x @ w) * x.exp()
        x = torch.arange(4.0).double().reshape(2, 2).requires_grad_()
        w = torch.tensor([[1.0, -1.0], [0.5, 2.0]]).double().requires_grad_()
        checkpoint = torch.utils.checkpoint.checkpoint
"""
CHECKPOINTS = {
    name: COMMON + source
    for name, source in {
        "not reentrant": """
        checkpoint(part, x, w, use_reentrant=False).sum().backward()
        result = x.grad, w.grad, len(runs)
        """,
        "reentrant": """
        checkpoint(part, x, w, use_reentrant=True).sum().backward()
        result = x.grad, w.grad, len(runs)
        """,
        "reentrant, no input requires grad": """
        y = checkpoint(lambda x: part(x, w), x.detach(), use_reentrant=True)
        result = y.requires_grad
        """,
        "not reentrant, no input requires grad": """
        checkpoint(lambda x: part(x, w), x.detach(), use_reentrant=False).sum().backward()
        result = w.grad
        """,
        "reentrant and grad()": """
        torch.autograd.grad(checkpoint(part, x, w, use_reentrant=True).sum(), x)
        """,
        "not reentrant and grad()": """
        result = torch.autograd.grad(checkpoint(part, x, w, use_reentrant=False).sum(), [x, w])
        """,
        "second derivatives": """
        y = checkpoint(part, x, w, use_reentrant=False).sum()
        g, = torch.autograd.grad(y, x, create_graph=True)
        result = torch.autograd.grad(g.sum(), [x, w])
        """,
        "retain_graph": """
        y = checkpoint(part, x, w, use_reentrant=False).sum()
        y.backward(retain_graph=True)
        y.backward()
        result = x.grad
        """,
        "nested": """
        def outer(x, w):
            return checkpoint(part, checkpoint(part, x, w, use_reentrant=False), w, use_reentrant=False)
        checkpoint(outer, x, w, use_reentrant=False).sum().backward()
        result = x.grad, w.grad
        """,
        "keywords": """
        checkpoint(part, x, w=w, use_reentrant=False).sum().backward()
        result = x.grad
        """,
        "dropout, the same mask": """
        def part(x, w):
            return torch.nn.functional.dropout(x * w, 0.5) * x
        for way in (True, False):
            x.grad = None
            torch.manual_seed(3)
            y = checkpoint(part, x + 1, w, use_reentrant=way)
            mask = (y != 0)
            y.sum().backward()
            runs.append(bool(((x.grad != 0) == mask).all()))
        result = runs
        """,
        "fewer tensors": """
        def part(x):
            runs.append(1)
            return x.exp().exp() if len(runs) == 1 else x * 1
        try:
            checkpoint(part, x, use_reentrant=False).sum().backward()
        except torch.utils.checkpoint.CheckpointError as error:
            result = str(error).split("Tip")[0].strip()
        """,
        "tensors of other sizes": """
        def part(x):
            runs.append(1)
            return x.exp() if len(runs) == 1 else x[:1].exp()
        try:
            checkpoint(part, x, use_reentrant=False).sum().backward()
        except torch.utils.checkpoint.CheckpointError as error:
            result = str(error).split("tensor at")[0].strip()
        """,
        "several outputs": """
        def part(x, w):
            return x * w, 5, x.exp()
        for way in (True, False):
            a, n, b = checkpoint(part, x, w, use_reentrant=way)
            (a.sum() * n + b.sum()).backward()
        result = x.grad, w.grad, n
        """,
        "detached output": """
        y = checkpoint(lambda x: x.detach() * 2, x, use_reentrant=True)
        y.sum().backward()
        """,
        "raises in the function": """
        def part(x):
            raise KeyError("a")
        checkpoint(part, x, use_reentrant=False)
        """,
        "raises in the recomputation": """
        def part(x):
            runs.append(1)
            if len(runs) > 1:
                raise KeyError("a")
            return x.exp()
        checkpoint(part, x, use_reentrant=False).sum().backward()
        """,
        "an argument is written": """
        y = x * 1
        z = checkpoint(part, y, w, use_reentrant=False)
        with torch.no_grad():
            y.mul_(2)
        z.sum().backward()
        """,
        "sequential": """
        layers = torch.nn.Sequential(*[torch.nn.Tanh() for _ in range(5)])
        for way in (True, False):
            torch.utils.checkpoint.checkpoint_sequential(layers, 2, x, use_reentrant=way).sum().backward()
        result = x.grad
        """,
        "a module's parameters": """
        layer = torch.nn.Linear(2, 2).double()
        with torch.no_grad():
            layer.weight.fill_(0.25); layer.bias.fill_(1.0)
        checkpoint(lambda x: layer(x).tanh(), x, use_reentrant=False).sum().backward()
        result = layer.weight.grad, layer.bias.grad, x.grad
        """,
        "under no_grad": """
        with torch.no_grad():
            result = checkpoint(part, x, w, use_reentrant=False), len(runs)
        """,
        "contexts": """
        import contextlib
        @contextlib.contextmanager
        def noted(name):
            runs.append(name)
            yield
        checkpoint(part, x, w, use_reentrant=False, context_fn=lambda: (noted("first"), noted("again"))).sum().backward()
        result = runs
        """,
    }.items()
}


# torch packs the operand that is read last first, and with its history.
HOOKS_LEFT = {"pack and unpack"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.xfail if name in HOOKS_LEFT else ()) for name in HOOKS]
)
def test_hooks(name):
    check(HOOKS[name], torch)


@table(CHECKPOINTS)
def test_checkpoint(source):
    check(source, torch)


def test_checkpoint_keeps_no_intermediate_value():
    kept = []
    x = minidynamo.ones(4, requires_grad=True)

    def part(x):
        y = x.exp()
        kept.append(y.data_ptr())
        return y.sin()

    z = minidynamo.utils.checkpoint.checkpoint(part, x, use_reentrant=False)
    seen = []
    with minidynamo.autograd.graph.saved_tensors_hooks(lambda t: seen.append(t.data_ptr()) or t, lambda t: t):
        z.sum().backward()
    assert len(kept) == 2


def test_mutation_of_saved_tensors_is_not_allowed():
    with pytest.raises(NotImplementedError, match="save_on_cpu"):
        minidynamo.autograd.graph.allow_mutation_on_saved_tensors()


ANOMALIES = {
    "nan": """
        with torch.autograd.set_detect_anomaly(True):
            def forward(x):
                return x.sqrt()
            y = forward(torch.tensor([-1.0], requires_grad=True))
            y.sum().backward()
    """,
    "forward outside": """
        y = torch.tensor([-1.0], requires_grad=True).sqrt()
        with torch.autograd.set_detect_anomaly(True):
            y.sum().backward()
    """,
    "nan is not searched": """
        with torch.autograd.set_detect_anomaly(True, check_nan=False):
            x = torch.tensor([-1.0], requires_grad=True)
            x.sqrt().sum().backward()
            result = x.grad
    """,
    "an error of another kind": """
        with torch.autograd.set_detect_anomaly(True):
            x = torch.tensor([2.0], requires_grad=True)
            y = x * 1
            z = y * y
            y.mul_(1)
            z.sum().backward()
    """,
    "a Function that raises": """
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2
            @staticmethod
            def backward(ctx, g):
                raise ValueError("broken")
        with torch.autograd.set_detect_anomaly(True):
            F.apply(torch.ones(2, requires_grad=True)).sum().backward()
    """,
    "detect_anomaly": """
        with torch.autograd.detect_anomaly():
            y = torch.tensor([-1.0], requires_grad=True).sqrt()
            y.sum().backward()
    """,
    "in the second derivative": """
        with torch.autograd.set_detect_anomaly(True):
            x = torch.tensor([0.0], requires_grad=True)
            g, = torch.autograd.grad((x**1.5).sum(), x, create_graph=True)
            h = g.sqrt()
            torch.autograd.grad((h * 0).sum(), x)
    """,
    "metadata": """
        with torch.autograd.set_detect_anomaly(True):
            y = torch.ones(2, requires_grad=True).exp()
        z = y.exp()
        result = list(y.grad_fn.metadata), list(z.grad_fn.metadata)
    """,
}


def in_anomaly_mode(source, library, path):
    path.write_text(textwrap.dedent(source))
    space = {"torch": library}
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            exec(compile(path.read_text(), str(path), "exec"), space)  # noqa: S102  # the programs of the tests
            end = space.get("result") if not hasattr(space.get("result"), "tolist") else repr(space["result"].tolist())
        except Exception as error:
            end = type(error).__name__, str(error)
    texts = [re.sub(r" \(Triggered internally at .*\)", "", str(each.message)) for each in seen]
    # The frames of the test's own runner are the same; those of Function.apply are each library's own.
    own = re.compile(r'  File "[^"]*(?:torch|minidynamo)/[^"]*", line .*\n(?:    .*\n)+')
    return end, [own.sub("", text).strip() for text in texts]


# The message names the op that made the saved tensor; torch's the node.
ANOMALIES_LEFT = {"an error of another kind"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.xfail if name in ANOMALIES_LEFT else ()) for name in ANOMALIES]
)
def test_anomaly_mode(name, tmp_path):
    path = tmp_path / "program.py"
    ours, theirs = [in_anomaly_mode(ANOMALIES[name], library, path) for library in (minidynamo, torch)]
    assert ours == theirs
    assert not minidynamo.autograd.anomaly_mode.is_anomaly_enabled()
