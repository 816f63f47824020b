"""After all guards have passed once, only their dependencies are compared: words of memory, versions of dicts and types.

Whatever changes, this fast path must agree with the full program: explain() runs that, and returns "" if the guards hold.
"""

import gc
import random
import sys

import pytest
from at_once import at_once
from drawn_tests import drawn
from hypothesis import given
from hypothesis import strategies as st

import minidynamo
from minidynamo import _C, nn
from minidynamo._dynamo.testing import CompileCounter

HAS_VERSIONS = sys.version_info < (3, 14)


class Node:
    pass


class OtherNode:
    pass


class Slots:
    __slots__ = ("a", "b")


class OtherSlots:
    __slots__ = ("a", "b")


class ManyAttributes:
    def __init__(self):
        for number in range(40):
            setattr(self, f"other{number}", number)


def make_function(value):
    def function():
        return value

    return function


def other_code():
    return 0


class Guards:
    """Guards on everything reachable from an object, as a trace would add them."""

    def __init__(self, root):
        self.program = _C._testing.GuardProgram(lambda root: None)
        self.add(self.program.local("root"), root, 0)
        self.program.seal()

    def add(self, source, value, depth):
        program = self.program
        if isinstance(value, minidynamo.Tensor):
            program.tensor_match(source, value)
            return
        if value is None or isinstance(value, (int, float, str)):
            program.equals_match(source, value)
            return
        program.type_match(source, type(value))
        if depth > 5:
            return
        if isinstance(value, (list, tuple)):
            program.length(source, len(value))
            for index, item in enumerate(value):
                self.add(program.source("Item", source, None, index), item, depth + 1)
        elif isinstance(value, dict):
            program.dict_keys(source, tuple(value))
            program.dict_missing(source, "missing")
            for key, item in value.items():
                self.add(program.source("DictItem", source, key), item, depth + 1)
        elif isinstance(value, type(make_function)):
            program.code_match(source, value.__code__)
            cell = program.source("Closure", source, None, 0)
            self.add(program.source("CellContents", cell), value.__closure__[0].cell_contents, depth + 1)
        elif isinstance(value, (Slots, OtherSlots)):
            for name in ("a", "b"):
                descriptor = type(value).__dict__[name]
                slot = program.source("SlotAttr", source, descriptor)
                if hasattr(value, name):
                    self.add(slot, getattr(value, name), depth + 1)
                else:
                    program.absent(slot)
        else:
            for name in ("a", "b", "missing"):
                attribute = program.source("InstanceAttr", source, name)
                if name in vars_of(value):
                    self.add(attribute, vars_of(value)[name], depth + 1)
                else:
                    program.absent(attribute)
            kind = program.source("TypeAttr", program.source("Type", source), "shared")
            if hasattr(type(value), "shared"):
                self.add(kind, type(value).shared, depth + 1)
            else:
                program.absent(kind)

    def agree(self, root):
        """The result of the check, which must be the same by every path."""
        holds = self.program.explain((root,)) == ""
        for _ in range(4):
            assert self.program.check((root,)) == holds
        return holds


def vars_of(value):
    """Does not create a __dict__ if there is none."""
    return {name: getattr(value, name) for name in ("a", "b") if name in dir(value) and name not in dir(type(value))}


def leaf(draw):
    kinds = {
        "int": lambda: draw(st.integers(-3, 3)),
        "big": lambda: 10**6 + draw(st.integers(0, 2)),
        "float": lambda: float(draw(st.integers(0, 2))) + 0.5,
        "text": lambda: "".join(["text", str(draw(st.integers(0, 2)))]),
        "none": lambda: None,
        "tensor": lambda: minidynamo.ones(2, draw(st.integers(1, 2))),
        "parameter": lambda: nn.Parameter(minidynamo.ones(draw(st.integers(1, 2)))),
    }
    return kinds[draw(st.sampled_from(sorted(kinds)))]()


def tree(draw, depth=0):
    if depth == 3 or draw(st.booleans()) and depth > 0:
        return leaf(draw)
    kind = draw(st.sampled_from(["node", "dict node", "many", "slots", "list", "tuple", "dict", "function"]))
    if depth == 0:
        kind = draw(st.sampled_from(["node", "dict node", "many"]))
    if kind in ("list", "tuple"):
        items = [tree(draw, depth + 1) for _ in range(draw(st.integers(0, 3)))]
        return items if kind == "list" else tuple(items)
    if kind == "dict":
        return {key: tree(draw, depth + 1) for key in draw(st.sets(st.sampled_from(["x", "y", 1])))}
    if kind == "function":
        return make_function(tree(draw, depth + 1))
    made = {"node": Node, "dict node": Node, "many": ManyAttributes, "slots": Slots}[kind]()
    for name in draw(st.sets(st.sampled_from(["a", "b"]))):
        setattr(made, name, tree(draw, depth + 1))
    if kind == "dict node":
        vars(made)
    return made


def everything(root):
    """All objects that can be modified, the root first."""
    found, queue = [], [root]
    while queue:
        value = queue.pop(0)
        if any(value is known for known in found):
            continue
        if isinstance(value, (list, tuple)):
            queue += list(value)
        elif isinstance(value, dict):
            queue += list(value.values())
        elif isinstance(value, type(make_function)):
            queue += [cell.cell_contents for cell in value.__closure__]
        elif isinstance(value, (Node, OtherNode, ManyAttributes, Slots, OtherSlots)):
            queue += [getattr(value, name) for name in ("a", "b") if hasattr(value, name)]
        elif not isinstance(value, minidynamo.Tensor):
            continue
        if not isinstance(value, tuple):
            found.append(value)
    return found


def change(draw, value):
    """Changes it in one of the possible ways; returns the function that undoes it."""
    if isinstance(value, minidynamo.Tensor):
        if draw(st.booleans()):
            value.requires_grad_(not value.requires_grad)
            return lambda: value.requires_grad_(not value.requires_grad)
        if isinstance(value, nn.Parameter):
            value.__class__ = type("Changed", (nn.Parameter,), {})
            return lambda: setattr(value, "__class__", nn.Parameter)

        def reshape(change):
            with minidynamo.no_grad():  # it may be a leaf that requires grad
                change(0)

        reshape(value.unsqueeze_)
        return lambda: reshape(value.squeeze_)
    if isinstance(value, type(make_function)):
        code, cell = value.__code__, value.__closure__[0]
        contents = cell.cell_contents
        if draw(st.booleans()):
            value.__code__ = make_function(1).__code__.replace(co_name="other")
        else:
            cell.cell_contents = leaf(draw)

        def undo():
            value.__code__ = code
            cell.cell_contents = contents

        return undo
    if isinstance(value, list):
        before = value[:]
        way = draw(st.sampled_from(["append", "set", "clear", "same"]))
        if way == "append":
            value.append(leaf(draw))
        elif way == "set" and value:
            value[draw(st.integers(0, len(value) - 1))] = leaf(draw)
        elif way == "clear":
            value.clear()
        else:
            value[:] = before
        return lambda: value.__setitem__(slice(None), before)
    if isinstance(value, dict):
        before = dict(value)
        way = draw(st.sampled_from(["set", "delete", "clear", "other", "order", "same"]))
        key = draw(st.sampled_from(["x", "y", 1, "missing"]))
        if way == "set":
            value[key] = leaf(draw)
        elif way == "delete":
            value.pop(key, None)
        elif way == "clear":
            value.clear()
        elif way == "other":
            value["more"] = 1
        elif value:
            first = next(iter(value))
            value[first] = value.pop(first) if way == "order" else value[first]

        def undo():
            value.clear()
            value.update(before)

        return undo
    return change_object(draw, value)


def change_object(draw, value):
    before = {name: getattr(value, name) for name in ("a", "b") if hasattr(value, name)}
    kind = type(value)
    has_slots = kind in (Slots, OtherSlots)
    way = draw(st.sampled_from(["set", "delete", "missing", "same", "class", "class attribute", "dict", "nothing"]))
    name = draw(st.sampled_from(["a", "b"]))
    if way == "set":
        setattr(value, name, leaf(draw))
    elif way == "delete" and hasattr(value, name):
        delattr(value, name)
    elif way == "missing" and not has_slots:
        value.missing = 1
        return lambda: value.__dict__.pop("missing", None)
    elif way == "same" and hasattr(value, name):
        setattr(value, name, getattr(value, name))
    elif way == "class" and kind in (Node, OtherNode):
        value.__class__ = OtherNode if kind is Node else Node
    elif way == "class" and has_slots:
        value.__class__ = OtherSlots if kind is Slots else Slots
    elif way == "class attribute" and not has_slots:
        kind.shared = draw(st.integers(0, 1))
        return lambda: hasattr(kind, "shared") and delattr(kind, "shared")
    elif way == "dict" and not has_slots:
        value.__dict__ = dict(value.__dict__)

    def undo():
        value.__class__ = kind
        for name in ("a", "b"):
            if name in before:
                setattr(value, name, before[name])
            elif hasattr(value, name):
                delattr(value, name)

    return undo


def change_and_compare(data):
    root = tree(data.draw)
    guards = Guards(root)
    try:
        assert guards.agree(root)
        for _ in range(data.draw(st.integers(1, 6))):
            undo = change(data.draw, data.draw(st.sampled_from(everything(root))))
            guards.agree(root)
            if data.draw(st.booleans()):
                undo()
                guards.agree(root)
    finally:
        for kind in (Node, OtherNode, ManyAttributes):
            if "shared" in vars(kind):
                del kind.shared


def run_objects(count, seed):
    drawn(count, seed)(given(st.data())(change_and_compare))()


def test_random_changes_of_random_objects():
    run_objects(150, 0)


@pytest.mark.skipif(not HAS_VERSIONS, reason="dicts have no versions")
def test_the_fast_path_is_taken():
    root = Node()
    root.__dict__.update(a={"x": [1, 2], "y": minidynamo.ones(2)}, b=Node())
    root.b.a = make_function(3)
    guards = Guards(root)
    assert guards.program.memory is None
    guards.agree(root)
    words, steps = guards.program.memory
    assert words > 5 and steps < len(guards.program) / 2


@pytest.mark.parametrize("has_dict", [False, True])
def test_an_attribute_that_no_object_of_the_class_has_yet(has_dict):
    kind = type("Kind", (), {})
    root, other = kind(), kind()
    for each in (root, other):
        each.a = 1
        assert not has_dict or vars(each) == {"a": 1}
    guards = Guards(root)
    assert guards.agree(root)
    other.missing = 1
    assert guards.agree(root)
    other.b = 2
    assert guards.agree(root)
    root.missing = 1
    assert not guards.agree(root)
    del root.missing
    assert guards.agree(root)
    if has_dict:
        vars(root)["b"] = 1
        assert not guards.agree(root)


@pytest.mark.parametrize("make", [lambda n: 10**6 + n, lambda n: "t" * (n + 20), lambda n: [n], lambda n: {"x": n}])
@pytest.mark.parametrize("kind", [Node, ManyAttributes, Slots])
def test_another_object_at_the_same_address(make, kind):
    """The previous object is gone, and its address is used again."""
    root = Node()
    root.a = kind()
    root.a.b = make(0)
    guards = Guards(root)
    assert guards.agree(root)
    addresses = set()
    for number in range(1, 300):
        root.a.b = None
        root.a.b = make(number % 2)
        addresses.add(id(root.a.b))
        assert guards.agree(root) == (number % 2 == 0)
    assert len(addresses) < 250


def test_another_object_at_the_same_address_in_a_list():
    items = [None]
    root = Node()
    root.a = items
    items[0] = 10**6
    guards = Guards(root)
    for number in range(300):
        items[0] = None
        items[0] = 10**6 + number % 2
        assert guards.agree(root) == (number % 2 == 0)


def test_other_roots():
    """Many objects that pass, and some that do not, in turn."""
    roots = []
    for number in range(20):
        root = Node()
        root.a = {"x": 1 if number % 3 else 2, "y": [1.5]}
        roots.append(root)
    guards = Guards(roots[1])
    for _ in range(3):
        for number, root in enumerate(roots):
            assert guards.agree(root) == (number % 3 != 0)
    order = random.Random(0)
    for _ in range(200):
        number = order.randrange(20)
        assert guards.agree(roots[number]) == (number % 3 != 0)


def test_roots_that_die():
    first = Node()
    first.a = {"x": 1}
    guards = Guards(first)
    for number in range(300):
        root = Node()
        root.a = {"x": number % 2}
        assert guards.agree(root) == (number % 2 == 1)
        del root
    assert guards.agree(first)


class Block(nn.Module):
    scale = 2.0

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.parts = nn.ModuleList([nn.Linear(3, 3), nn.ReLU(), nn.Dropout(0.5)])
        self.register_buffer("shift", minidynamo.ones(3))
        self.settings = {"factor": 1.5, "names": ["a", "b"]}
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        x = self.linear(x) * self.settings["factor"] + self.shift
        for part in self.parts:
            x = part(x)
        return x * self.scale + len(self.settings["names"]) + self.calls


def set_scale(net):
    net.scale = 3.0


CHANGES = {
    "nothing": lambda net: None,
    "train": lambda net: net.eval() if net.training else net.parts[0].train(),
    "an attribute": set_scale,
    "an attribute goes": lambda net: vars(net).pop("scale", None),
    "an item": lambda net: net.settings.__setitem__("factor", 2.5),
    "an item in a list": lambda net: net.settings["names"].append("c"),
    "a list": lambda net: net.settings.__setitem__("names", ["d"]),
    "a parameter": lambda net: setattr(net.linear, "weight", nn.Parameter(minidynamo.ones(3, 3))),
    "a parameter in place": lambda net: net.linear.weight.detach().fill_(0.5),
    "a parameter of another dtype": lambda net: setattr(net.parts[0], "bias", None),
    "a buffer": lambda net: net.register_buffer("shift", minidynamo.zeros(3)),
    "a buffer in place": lambda net: net.shift.unsqueeze_(0),
    "a module": lambda net: net.parts.__setitem__(0, nn.Linear(3, 3, bias=False)),
    "a module's class": lambda net: setattr(net.parts[1], "__class__", nn.Sigmoid),
    "a hook": lambda net: net.linear.register_forward_hook(lambda module, args, result: result + 1),
    "a pre-hook": lambda net: net.parts[1].register_forward_pre_hook(lambda module, args: (args[0] * 2,)),
    "forward": lambda net: setattr(net.linear, "forward", lambda x: x * 4),
    "flags": lambda net: net.linear.weight.requires_grad_(not net.linear.weight.requires_grad),
    "another dict": lambda net: setattr(net.linear, "__dict__", dict(net.linear.__dict__)),
}


def change_modules(changes):
    minidynamo._dynamo.reset()
    minidynamo.manual_seed(0)
    nets = [Block().eval(), Block().eval()]
    nets[1].load_state_dict(nets[0].state_dict())
    captured = minidynamo.compile(nets[0], recompile_limit=64)
    x = minidynamo.arange(6).float().view(2, 3) / 6
    with minidynamo.no_grad():
        for name in [changes[0], *changes, *changes]:
            for net in nets:
                minidynamo.manual_seed(1)
                CHANGES[name](net)
            for _ in range(3):
                assert (captured(x) - nets[1](x)).abs().max().item() < 1e-5, changes


def run_modules(count, seed):
    changes = st.lists(st.sampled_from(sorted(CHANGES)), min_size=1, max_size=8)
    drawn(count, seed)(given(changes)(change_modules))()


def test_changes_of_a_module():
    run_modules(40, 0)


@pytest.mark.counts_regions
def test_a_counter_and_globals_that_change_cost_no_memory():
    namespace = {"minidynamo": minidynamo, "factor": 2.0}
    exec("def f(x, net):\n    net.calls += 1\n    return net.linear(x) * factor", namespace)
    net = Block()
    count = CompileCounter()
    captured = minidynamo.compile(namespace["f"], backend=count)
    x = minidynamo.ones(1, 3)
    for number in range(50):
        namespace["unrelated"] = number
        captured(x, net)
    assert net.calls == 50
    assert count.frame_count <= 2
    namespace["factor"] = 3.0
    assert (captured(x, net) - net.linear(x) * 3.0).abs().max().item() == 0


@pytest.mark.counts_python_runs
def test_threads():
    nets = [nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2)) for _ in range(3)]
    captured = minidynamo.compile(lambda net, x: net(x))
    x = minidynamo.ones(1, 2)
    failures = []

    def work(seed):
        order = random.Random(seed)
        with minidynamo.no_grad():
            for _ in range(300):
                net = order.choice(nets)
                if order.random() < 0.1:
                    net[0].note = order.random()
                if (captured(net, x) - net(x)).abs().max().item() > 1e-6:
                    failures.append(seed)

    at_once(work, 4)
    assert failures == []


@pytest.mark.skipif(not HAS_VERSIONS, reason="dicts have no versions")
def test_nothing_is_allocated():
    root = Node()
    root.__dict__.update(a={"x": [1, 2], "y": minidynamo.ones(2)}, b=Node())
    guards = Guards(root)
    guards.agree(root)
    gc.collect()
    before = sys.getallocatedblocks()
    assert guards.program.check((root,), repeat=1000)
    assert sys.getallocatedblocks() <= before + 2
