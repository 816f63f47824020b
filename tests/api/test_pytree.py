"""utils._pytree: structures, leaves, paths and errors are torch's; tree_map is captured whole."""

import collections
import dataclasses

import pytest
from value_or_error import value_or_error

import minidynamo
from minidynamo.utils import _pytree as ours

Point = collections.namedtuple("Point", "x y")


class Longer(list):
    pass


class Pair:
    def __init__(self, one, other):
        self.parts = [one, other]
        self.one, self.other = one, other

    def __eq__(self, other):
        return isinstance(other, Pair) and self.parts == other.parts

    def __hash__(self):
        return 3

    def __repr__(self):
        return f"Pair({self.parts})"


class Constant(Pair):
    __hash__ = Pair.__hash__


@dataclasses.dataclass
class Record:
    name: str
    value: int = 0
    extra: object = None


@dataclasses.dataclass
class Partial:
    kept: int
    lost: int = 3


def flatten_pair(pair):
    return pair.parts, "context"


def unflatten_pair(parts, context):
    return Pair(*parts)


def prepare(tree):
    if Pair not in tree.SUPPORTED_NODES:
        keys = lambda pair: ([(tree.GetAttrKey("one"), pair.parts[0]), (tree.GetAttrKey("other"), pair.parts[1])], None)
        tree.register_pytree_node(Pair, flatten_pair, unflatten_pair, flatten_with_keys_fn=keys)
        tree.register_dataclass(Record)
        tree.register_dataclass(Partial, field_names=["kept"], drop_field_names=["lost"])
        tree.register_constant(Constant)
    return tree


@pytest.fixture(scope="module")
def theirs():
    pytest.importorskip("torch")
    from torch.utils import _pytree

    return prepare(_pytree)


prepare(ours)

TREES = [
    1,
    None,
    "text",
    (),
    [],
    {},
    (1,),
    (1, [2, {"a": 3, "b": (4,)}]),
    [[[1]], []],
    Point(1, [2, Point(3, 4)]),
    collections.OrderedDict(b=1, a=2),
    collections.defaultdict(list, a=1, c=[2, 3]),
    collections.deque([1, (2, 3)], maxlen=4),
    Longer([1, 2]),
    {"k": Pair(1, [2, 3]), 3: Record("n", 4)},
    (Partial(1), Constant(1, 2), 5),
]


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_a_tree(tree, theirs):
    (leaves, spec), (wanted, other) = ours.tree_flatten(tree), theirs.tree_flatten(tree)
    assert leaves == wanted == ours.tree_leaves(tree) == list(ours.tree_iter(tree))
    assert repr(spec) == repr(other) and spec.type is other.type
    assert (spec.num_nodes, spec.num_leaves, spec.num_children) == (
        other.num_nodes,
        other.num_leaves,
        other.num_children,
    )
    assert spec.is_leaf() == other.is_leaf() and ours.tree_is_leaf(tree) == theirs.tree_is_leaf(tree)
    again = ours.tree_unflatten(leaves, spec)
    assert again == tree and type(again) is type(tree)
    assert ours.tree_unflatten(spec, leaves) == tree
    assert spec == ours.tree_structure(again) and hash(spec) == hash(ours.tree_structure(again))
    assert texts(ours, ours.tree_leaves_with_path(tree)) == texts(theirs, theirs.tree_leaves_with_path(tree))
    assert all(ours.key_get(tree, path) == leaf for path, leaf in ours.tree_leaves_with_path(tree))
    by_path = [
        lib.tree_map_with_path(lambda path, leaf, lib=lib: (lib.keystr(path), leaf), tree) for lib in (ours, theirs)
    ]
    assert by_path[0] == by_path[1]


def texts(library, pairs):
    return [(library.keystr(path), leaf) for path, leaf in pairs]


PROGRAMS = {
    "map": lambda p: p.tree_map(lambda a: a + 1, [1, (2, {"a": 3})]),
    "map_two": lambda p: p.tree_map(lambda a, b: a * b, [1, (2, 3)], [4, (5, 6)]),
    "map_prefix": lambda p: p.tree_map(lambda a, b: (a, b), [1, 2], [4, (5, 6)]),
    "map_dicts": lambda p: p.tree_map(lambda a, b: (a, b), {"a": 1, "b": 2}, collections.OrderedDict(b=3, a=4)),
    "map_keys": lambda p: p.tree_map(lambda a, b: a, {"a": 1, "b": 2}, {"a": 1, "c": 2}),
    "map_arity": lambda p: p.tree_map(lambda a, b: a, [1, 2], [1, 2, 3]),
    "map_kind": lambda p: p.tree_map(lambda a, b: a, [1, 2], (1, 2)),
    "map_leaf": lambda p: p.tree_map(lambda a, b: a, [1, 2], 3),
    "map_custom": lambda p: p.tree_map(lambda a, b: a, Pair(1, 2), [1, 2]),
    "map_custom_two": lambda p: p.tree_map(lambda a, b: a + b, Pair(1, 2), Pair(3, 4)),
    "map_constants": lambda p: p.tree_map(lambda a, b: a + b, [Constant(1, 2), 3], [Constant(1, 3), 4]),
    "map_named": lambda p: p.tree_map(lambda a, b: a, Point(1, 2), collections.namedtuple("Other", "x y")(1, 2)),
    "map_deque": lambda p: p.tree_map(lambda a, b: a + b, collections.deque([1], 3), collections.deque([2], 4)),
    "map_leaves": lambda p: p.tree_map(len, [[1, 2], [3]], is_leaf=lambda node: node in ([1, 2], [3])),
    "map_in_place": lambda p: p.tree_map_(print, ()),
    "only_type": lambda p: p.tree_map_only(int, lambda a: -a, [1, "a", (2.0,)]),
    "only_types": lambda p: p.tree_map_only((int, float), lambda a: -a, [1, "a", (2.0,)]),
    "only_union": lambda p: p.tree_map_only(int | float, lambda a: -a, [1, "a", (2.0,)]),
    "only_predicate": lambda p: p.tree_map_only(lambda a: a == "a", lambda a: a + a, [1, "a", (2.0,)]),
    "only_wrong": lambda p: p.tree_map_only(3, lambda a: -a, [1]),
    "all": lambda p: (p.tree_all(bool, [1, 0]), p.tree_any(bool, [1, 0])),
    "all_only": lambda p: (p.tree_all_only(int, bool, [1, ""]), p.tree_any_only(str, bool, [1, ""])),
    "wrong_leaves": lambda p: p.tree_unflatten([1], p.tree_structure([1, 2])),
    "wrong_spec": lambda p: p.tree_unflatten([1], 3),
    "twice": lambda p: p.register_pytree_node(Pair, flatten_pair, unflatten_pair),
    "constant_eq": lambda p: p.register_constant(Longer.__mro__[-1]),
    "no_dataclass": lambda p: p.register_dataclass(Longer),
    "fields_missing": lambda p: p.register_dataclass(dataclasses.make_dataclass("A", ["x", "y"]), field_names=["x"]),
    "fields_extra": lambda p: p.register_dataclass(dataclasses.make_dataclass("A", ["x"]), field_names=["x", "z"]),
    "broadcast": lambda p: p._broadcast_to_and_flatten([1, 2], p.tree_structure([0, (0, 0)])),
    "broadcast_not": lambda p: p._broadcast_to_and_flatten([1, 2, 3], p.tree_structure([0, (0, 0)])),
    "arguments": lambda p: p.arg_tree_leaves([1, (2,)], a={"b": 3}),
    "specs_differ": lambda p: p.tree_structure([1, 2]) == p.tree_structure([1, [2]]),
    "named": lambda p: [p.is_namedtuple_instance(each) for each in (Point(1, 2), (1, 2), 3)],
    "child": lambda p: repr(p.tree_structure([1, (2, 3)]).child(1)),
    "key": lambda p: [str(key) for key in (p.SequenceKey(3), p.MappingKey("a"), p.GetAttrKey("b"))],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_like_torch(name, theirs):
    assert value_or_error(PROGRAMS[name], ours) == value_or_error(PROGRAMS[name], theirs)


@pytest.mark.counts_regions
def test_captured_whole():
    def double(tree):
        leaves, spec = ours.tree_flatten(tree)
        return ours.tree_map(lambda a: a + 1, ours.tree_unflatten([leaf * 2 for leaf in leaves], spec))

    x = minidynamo.ones(3)
    tree = {"a": x, "b": [x, (x,)], "c": Point(x, x)}
    found = minidynamo.compile(double, fullgraph=True)(tree)
    assert list(found) == ["a", "b", "c"] and type(found["c"]) is Point
    assert all(minidynamo.equal(leaf, x * 3) for leaf in ours.tree_leaves(found))
