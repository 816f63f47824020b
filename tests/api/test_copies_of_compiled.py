"""copy, deepcopy and pickle of the results of compile() and of modules that contain them, as with torch.compile."""

import copy
import inspect
import pickle
import sys
import weakref

import pytest

import minidynamo
from minidynamo import nn
from minidynamo._dynamo.testing import CompileCounter

HOWS = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    **{f"pickle {n}": lambda x, n=n: pickle.loads(pickle.dumps(x, n)) for n in range(2, pickle.HIGHEST_PROTOCOL + 1)},
}
PICKLES = [name for name in HOWS if name.startswith("pickle")]


def double(x, by: int = 2, *, more: float = 0.0):
    """Doubles."""
    return x * by + more


double.note = "kept"


@minidynamo.compile
def decorated(x):
    return x + 1


@minidynamo.compiler.disable
def kept_out(x):
    return x + 1


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.norm = nn.BatchNorm1d(2)

    def forward(self, x):
        return self.norm(self.linear(x))

    @minidynamo.compile
    def decorated(self, x):
        return self.linear(x)


class Holder(nn.Module):
    """Compiled objects in all places where a module can have them."""

    def __init__(self, act):
        super().__init__()
        self.act = act
        self.net = minidynamo.compile(Net())
        self.listed = nn.ModuleList([minidynamo.compile(nn.Linear(2, 2)), nn.Linear(2, 2)])
        self.listed[1].compile()
        self.table = {"act": act}

    def forward(self, x):
        return self.table["act"](self.listed[1](self.listed[0](self.act(self.net(x)))))


X = minidynamo.tensor([[1.0, 2.0], [3.0, -1.0]])


def same(a, b):
    return a.tolist() == b.tolist()


def shares_no_parameters(a, b):
    pairs = list(zip(a.state_dict().items(), b.state_dict().items(), strict=True))
    return pairs and all(k == l and p.data_ptr() != q.data_ptr() and same(p, q) for (k, p), (l, q) in pairs)


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("function", [decorated, kept_out], ids=["compiled", "disabled"])
def test_a_decorated_function_is_copied_by_reference(function, how):
    assert HOWS[how](function) is function
    assert HOWS[how]({"f": [function]})["f"][0] is function


@pytest.mark.parametrize(
    "make",
    [
        lambda: minidynamo.compile(double),
        lambda: minidynamo.compile(lambda x: x),
        lambda: minidynamo.compile(Net().forward),
        lambda: minidynamo.compile(nn.ReLU().__call__),
        lambda: minidynamo.compile(len),
    ],
    ids=["function", "lambda", "method", "bound call", "builtin"],
)
def test_any_compiled_function_is_its_own_copy(make):
    compiled = make()
    assert copy.copy(compiled) is copy.deepcopy(compiled) is compiled
    # Pickled by reference: the name refers to another object.
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(compiled)


@pytest.mark.parametrize("how", HOWS)
def test_a_compiled_module(how):
    counter = CompileCounter() if how not in PICKLES else "onednn"
    compiled = minidynamo.compile(Net().eval(), backend=counter, dynamic=False)
    wanted = compiled(X)
    made = HOWS[how](compiled)
    assert type(made) is type(compiled) and type(made._orig_mod) is Net
    if how == "copy":
        assert made._orig_mod is compiled._orig_mod
    else:
        assert shares_no_parameters(compiled, made) and not made.training
    captured = counter.frame_count if how not in PICKLES else 0
    assert same(made(X), wanted)
    if how not in PICKLES:
        assert counter.frame_count == captured + 1
    if how != "copy":
        # The parameters are not shared.
        with minidynamo.no_grad():
            made.linear.weight.zero_()
        assert not same(made(X), wanted) and same(compiled(X), wanted)
    made.note = 5
    assert made._orig_mod.note == 5 and made.linear is made._orig_mod.linear


@pytest.mark.parametrize("how", [how for how in HOWS if how != "copy"])
def test_a_module_that_holds_compiled_things(how):
    holder = Holder(decorated).eval()
    wanted = holder(X)
    made = HOWS[how](holder)
    assert made.act is made.table["act"] is decorated
    assert shares_no_parameters(holder, made)
    assert type(made.net) is type(holder.net) and type(made.listed[0]) is type(holder.net)
    assert same(made(X), wanted)


def test_a_module_that_holds_a_compiled_form_of_itself():
    net = Net().eval()
    net.compiled = minidynamo.compile(net)
    made = copy.deepcopy(net)
    assert made.compiled._orig_mod is made and same(made.compiled(X), net(X))
    made = pickle.loads(pickle.dumps(net))
    assert made.compiled._orig_mod is made and same(made.compiled(X), net(X))


class WithCopies(Net):
    def __deepcopy__(self, memo):
        made = WithCopies()
        made.load_state_dict(self.state_dict())
        made.how = "own"
        return made


def test_a_module_that_copies_itself():
    made = copy.deepcopy(minidynamo.compile(WithCopies()))
    assert "OptimizedModule" in type(made).__name__ and made.how == "own"


@pytest.mark.parametrize("how", [how for how in HOWS if how != "copy"])
def test_a_module_that_is_kept_out(how):
    disabled = minidynamo.compiler.disable(Net().eval())
    made = HOWS[how](disabled)
    assert shares_no_parameters(disabled, made) and same(made(X), disabled(X))


@pytest.mark.parametrize("how", HOWS)
def test_module_compile(how):
    net = Net().eval()
    plain = net(X)
    net.compile()
    assert type(net) is Net is net.__class__ and same(net(X), plain)
    made = HOWS[how](net)
    # As in torch: a copy is not compiled.
    assert type(made) is Net and made._compiled_call_impl is None and net._compiled_call_impl is not None
    assert same(made(X), plain) and same(net(X), plain)
    made.compile()
    assert same(made(X), plain)


@pytest.mark.counts_regions
def test_module_compile_captures_hooks_and_counts_alone():
    counters = [CompileCounter() for _ in range(12)]
    seen = []
    for counter in counters:
        net = nn.Linear(2, 2)
        net.register_forward_hook(lambda module, args, out: out * 3)
        plain = net(X)
        net.compile(backend=counter, fullgraph=True)
        for _ in range(2):
            assert same(net(X), plain)
        seen.append(counter.frame_count)
    assert seen == [1] * 12
    # Inside another compiled function.
    whole = minidynamo.compile(lambda x: net(x) + 1, fullgraph=True)
    assert same(whole(X), plain + 1)


def test_options_are_copied():
    compiled = minidynamo.compile(Net(), fullgraph=True)
    compiled._orig_mod.forward = lambda x: (minidynamo._dynamo.graph_break(), x)[1]
    with pytest.raises(minidynamo._dynamo.exc.Unsupported):
        compiled(X)
    made = copy.deepcopy(compiled)
    with pytest.raises(minidynamo._dynamo.exc.Unsupported):
        made(X)


FIELDS = "__code__ __defaults__ __kwdefaults__ __globals__ __annotations__ __closure__ __builtins__".split()
NAMES = "__name__ __qualname__ __doc__ __module__".split()


@pytest.mark.parametrize("bound", [False, True])
def test_attributes_of_the_function_are_forwarded(bound):
    function = Net().forward if bound else double
    compiled = minidynamo.compile(function)
    for name in [*FIELDS, *NAMES, *(["__type_params__"] if sys.version_info >= (3, 12) else [])]:
        assert getattr(compiled, name) == getattr(function, name), name
    assert compiled.__wrapped__ is function or compiled.__wrapped__ == function
    assert inspect.signature(compiled) == inspect.signature(function)
    assert {**function.__dict__, "__wrapped__": None}.keys() <= compiled.__dict__.keys()
    assert inspect.unwrap(compiled) == function
    assert weakref.ref(compiled)() is compiled
    assert hash(compiled) == hash(compiled) and compiled == compiled and compiled != minidynamo.compile(function)
    assert len({compiled, minidynamo.compile(function)}) == 2


def test_attributes_of_the_function_can_be_set():
    def function(x, by=2):
        return x * by

    compiled = minidynamo.compile(function)
    assert compiled(X).tolist() == (X * 2).tolist()
    compiled.__defaults__ = (5,)
    assert function.__defaults__ == (5,) and compiled(X).tolist() == (X * 5).tolist()
    compiled.__annotations__["x"] = int
    assert function.__annotations__ == {"x": int}
    with pytest.raises(AttributeError):
        compiled.__globals__ = {}
    with pytest.raises(TypeError):
        compiled.__code__ = 3
    del compiled.__defaults__
    with pytest.raises(TypeError, match="missing 1 required"):
        compiled(X)
    compiled.__name__ = "other"
    assert compiled.__name__ == "other" and function.__name__ == "function"
