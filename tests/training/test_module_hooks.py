"""Hooks of modules in backward, and hooks of all modules: events, replaced gradients, warnings and errors as
torch's."""

import contextlib
import warnings

import pytest

import minidynamo as md

torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def forget_kind():
    yield
    md.nn.global_hooks.kind.is_full = None
    torch.nn.modules.module._global_is_full_backward_hook = None


def plain(value):
    if isinstance(value, tuple):
        return tuple(plain(each) for each in value)
    return value.tolist() if hasattr(value, "tolist") else value


def module_of(library, function):
    class Calls(library.nn.Module):
        def forward(self, *args, **kwargs):
            return function(*args, **kwargs)

    return Calls()


def leaf(library, *values):
    return library.tensor(values or (1.0, 2.0), requires_grad=True)


def outcome(function):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            made = function()
        except Exception as error:
            made = (type(error).__name__, str(error))
    return made, [(each.category.__name__, str(each.message)) for each in caught]


def summed(result):
    return result.sum().backward()


def watched(library, function, *args, register="register_full_backward_hook", hook=None, backward=summed):
    """What a hook was called with, and the gradients."""
    module = module_of(library, function)
    events = []

    def noted(module, *gradients):
        events.append(plain(gradients))
        return hook(*gradients) if hook else None

    getattr(module, register)(noted)
    backward(module(*args))
    return events, [plain(each.grad) for each in args if hasattr(each, "grad") and each.is_leaf]


def cases(library):
    x = lambda: leaf(library)  # noqa: E731
    ones = lambda: library.ones(2)  # noqa: E731
    full = lambda *args, **options: lambda: watched(library, *args, **options)  # noqa: E731
    pre = lambda *args, **options: full(*args, register="register_full_backward_pre_hook", **options)  # noqa: E731
    yield "one", full(lambda a: a * 2, x())
    yield "two", full(lambda a, b: a * b * 3, x(), x())
    yield "a constant", full(lambda a, b: a * b * 3, x(), ones())
    yield "an integer tensor", full(lambda a, b: a * b, x(), library.tensor([1, 2]))
    yield "no tensor", full(lambda a, b: a * b * 3, x(), 5)
    yield "unused", full(lambda a, b: a * 2, x(), x())
    yield "identity", full(lambda a: a, x())
    yield "a tuple", full(lambda a: (a * 2, a * 3), x(), backward=lambda r: r[0].sum().backward())
    yield "a list", full(lambda a: [a * 2, a * 3], x(), backward=lambda r: r[0].sum().backward())
    yield "a dict", full(lambda a: {"a": a * 2}, x(), backward=lambda r: r["a"].sum().backward())
    yield "parameters alone", full(lambda a, b: (a + 0) * x(), ones(), 5)
    yield "parameters alone, replaced", full(lambda a: a * x(), ones(), hook=lambda gi, go: (ones(),))
    yield "parameters alone, None", full(lambda a: a * x(), ones(), hook=lambda gi, go: (None,))
    yield "replaced", full(lambda a: a * 2, x(), hook=lambda gi, go: (gi[0] + 7,))
    yield "two for one", full(lambda a: a * 2, x(), hook=lambda gi, go: (ones(), ones()))
    yield "no tuple", full(lambda a: a * 2, x(), hook=lambda gi, go: ones())
    yield (
        "again",
        full(lambda a: a * 2, x(), backward=lambda r: (r.sum().backward(retain_graph=True), r.sum().backward())),
    )
    yield "no gradients", lambda: library.no_grad()(full(lambda a: a * 2, x(), backward=lambda r: None))()
    yield "pre", pre(lambda a: a * 2, x())
    yield "pre of a tuple", pre(lambda a: (a * 2, 5, a * 3), x(), backward=lambda r: (r[0] + r[2]).sum().backward())
    yield "pre, replaced", pre(lambda a: a * 2, x(), hook=lambda go: (go[0] * 10,))
    yield "pre, two for one", pre(lambda a: a * 2, x(), hook=lambda go: (go[0], go[0]))


@pytest.mark.parametrize("name", [name for name, _ in cases(md)])
def test_full_hooks(name):
    mine, other = (outcome(dict(cases(library))[name]) for library in (md, torch))
    assert mine == other


def test_hooks_of_the_last_node():
    def seen(library):
        found = []
        for function, args, backward in (
            (lambda a: a + a, (leaf(library),), summed),
            (lambda a: a.exp() + a, (leaf(library),), summed),
            (lambda a: (a + a, a.exp()), (leaf(library),), lambda r: (r[0] + r[1]).sum().backward()),
            (lambda a: {"a": a + a}, (leaf(library),), lambda r: r["a"].sum().backward()),
            (lambda a: a[0].exp(), ([leaf(library)],), summed),
        ):
            found.append(
                outcome(
                    lambda function=function, args=args, backward=backward: watched(
                        library, function, *args, register="register_backward_hook", backward=backward
                    )
                )
            )
        return found

    assert seen(md) == seen(torch)


def test_order_and_removal():
    def events(library):
        m = library.nn.modules.module
        found = []
        note = lambda name: lambda *args: found.append(name)  # noqa: E731
        module = module_of(library, lambda a: a * 2)
        handles = [
            m.register_module_forward_pre_hook(note("pre of all")),
            m.register_module_forward_hook(note("forward of all")),
            m.register_module_full_backward_hook(note("backward of all")),
            m.register_module_full_backward_pre_hook(note("backward pre of all")),
            module.register_forward_pre_hook(note("pre")),
            module.register_forward_hook(note("forward")),
            module.register_full_backward_hook(note("backward")),
            module.register_full_backward_hook(note("first backward"), prepend=True),
            module.register_full_backward_pre_hook(note("backward pre")),
            module.register_full_backward_pre_hook(note("first backward pre"), prepend=True),
        ]
        module(leaf(library)).sum().backward()
        for handle in handles:
            handle.remove()
        module(leaf(library)).sum().backward()
        return found

    assert events(md) == events(torch)


def test_hooks_of_all_modules_change_what_they_see():
    for library in (md, torch):
        m = library.nn.modules.module
        module = module_of(library, lambda a: a * 2)
        with m.register_module_forward_pre_hook(lambda module, args: args[0] + 1):
            assert module(library.ones(1)).tolist() == [4.0]
        with m.register_module_forward_hook(lambda module, args, result: result * 10):
            assert module(library.ones(1)).tolist() == [20.0]
        assert module(library.ones(1)).tolist() == [2.0]


def test_forward_hooks_behind_an_exception():
    called = []
    with md.nn.modules.module.register_module_forward_hook(
        lambda module, args, kwargs, result: called.append((kwargs, result)), with_kwargs=True, always_call=True
    ):
        module = module_of(md, lambda a: 1 / 0)
        module.register_forward_hook(lambda *args: called.append("not called"))
        module.register_forward_hook(lambda *args: called.append("own"), always_call=True)
        with pytest.raises(ZeroDivisionError):
            module(a=3)
    assert called == [({"a": 3}, None), "own"]


def test_kinds_of_hooks_do_not_mix():
    def texts(library):
        m = library.nn.modules.module
        nothing = lambda *args: None  # noqa: E731
        found = []
        for first, second in (
            ("register_backward_hook", "register_full_backward_hook"),
            ("register_full_backward_hook", "register_backward_hook"),
        ):
            module = library.nn.Linear(1, 1)
            getattr(module, first)(nothing)
            found.append(outcome(lambda module=module, second=second: getattr(module, second)(nothing)))
        m.register_module_backward_hook(nothing).remove()
        found.append(outcome(lambda: m.register_module_full_backward_hook(nothing)))
        return found

    assert texts(md) == texts(torch)


def test_hooks_of_layers_in_a_net():
    def seen(library):
        net = library.nn.Sequential(library.nn.Linear(2, 3), library.nn.Tanh(), library.nn.Linear(3, 1)).double()
        with library.no_grad():
            for parameter in net.parameters():
                parameter.fill_(0.5)
        found = []
        for name, module in net.named_modules():
            module.register_full_backward_hook(
                lambda module, gi, go, name=name: found.append((name, plain(gi), plain(go)))
            )
        net(library.ones(1, 2, dtype=library.float64)).sum().backward()
        return found, [plain(parameter.grad) for parameter in net.parameters()]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (mine, ours), (other, theirs) = seen(md), seen(torch)
    assert [each[0] for each in mine] == [each[0] for each in other]
    assert repr(mine)[:40] == repr(other)[:40]
    for a, b in zip(ours, theirs, strict=True):
        assert md.allclose(md.tensor(a), md.tensor(b))


def test_registrations():
    def events(library):
        m, nn = library.nn.modules.module, library.nn
        found = []
        with contextlib.ExitStack() as stack:
            for kind in ("parameter", "buffer", "module"):
                register = getattr(m, f"register_module_{kind}_registration_hook")
                stack.enter_context(register(lambda module, name, value, kind=kind: found.append((kind, name))))
            net = nn.Sequential(nn.BatchNorm1d(2))
            net.weight = nn.Parameter(library.ones(1))
            net.add_module("none", None)
            net.register_parameter("missing", None)
            net.buffer = nn.Buffer(library.ones(1))
            net.buffer = library.ones(1)
            net.none = nn.Linear(1, 1)
        net.more = nn.Linear(1, 1)
        with m.register_module_parameter_registration_hook(
            lambda module, name, value: nn.Parameter(value.detach() * 3)
        ):
            net.weight = nn.Parameter(library.ones(1))
        return found, net.weight.tolist()

    assert events(md) == events(torch)


def test_hooks_that_are_registered_later_are_seen_by_captures():
    net = md.nn.Linear(2, 2)
    compiled = md.compile(net)
    of_itself = md.nn.Linear(2, 2)
    of_itself.compile()
    x = md.ones(1, 2)
    for _ in range(2):
        compiled(x), of_itself(x)
    called = []
    with md.nn.modules.module.register_module_forward_hook(lambda *args: called.append("all")):
        compiled(x), of_itself(x)
    assert called == ["all", "all"]
    compiled(x), of_itself(x)
    assert len(called) == 2


def test_zero_grad_and_requires_grad_():
    for library in (md, torch):
        net = library.nn.Linear(2, 2)
        net(library.ones(1, 2)).sum().backward()
        gradient = net.weight.grad
        net.zero_grad(set_to_none=False)
        assert net.weight.grad is gradient and gradient.tolist() == [[0.0, 0.0], [0.0, 0.0]]
        net.zero_grad()
        assert net.weight.grad is None and net.bias.grad is None
        assert net.requires_grad_(False) is net
        assert not any(parameter.requires_grad for parameter in net.parameters())
