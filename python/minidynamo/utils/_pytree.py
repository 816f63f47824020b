"""Trees of tuples, lists, dicts and registered types, and their leaves, as torch.utils._pytree has them."""

from __future__ import annotations

import dataclasses
import warnings
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

__all__ = [
    "GetAttrKey",
    "LeafSpec",
    "MappingKey",
    "PyTree",
    "PyTreeSpec",
    "SequenceKey",
    "TreeSpec",
    "key_get",
    "keystr",
    "register_constant",
    "register_dataclass",
    "register_pytree_node",
    "tree_all",
    "tree_all_only",
    "tree_any",
    "tree_any_only",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_is_leaf",
    "tree_iter",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_only_",
    "tree_map_with_path",
    "tree_structure",
    "tree_unflatten",
]

PyTree = Any
Context = Any
_IsLeaf = Callable[[Any], bool] | None
_Flatten = Callable[[Any], tuple[list[Any], Context]]
_Unflatten = Callable[[Iterable[Any], Context], Any]


@dataclasses.dataclass(frozen=True, slots=True)
class SequenceKey:
    """The step to an element of a sequence."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        return sequence[self.idx]


@dataclasses.dataclass(frozen=True, slots=True)
class MappingKey:
    """The step to a value of a mapping."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        return mapping[self.key]


@dataclasses.dataclass(frozen=True, slots=True)
class GetAttrKey:
    """The step to an attribute."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        return getattr(obj, self.name)


KeyPath = tuple[Any, ...]


class NodeDef(NamedTuple):
    """How the nodes of a type are taken apart and made."""

    type: Any
    flatten_fn: _Flatten
    unflatten_fn: _Unflatten
    flatten_with_keys_fn: _Flatten | None


def _with_indices(node: Any) -> tuple[list[Any], Context]:
    values, context = SUPPORTED_NODES[type(node)].flatten_fn(node)
    return [(SequenceKey(i), value) for i, value in enumerate(values)], context


def _with_keys(node: Any) -> tuple[list[Any], Context]:
    values, context = SUPPORTED_NODES[type(node)].flatten_fn(node)
    return [(MappingKey(key), value) for key, value in node.items()], context


def _with_fields(node: Any) -> tuple[list[Any], Context]:
    return [(GetAttrKey(name), value) for name, value in zip(node._fields, node)], type(node)


SUPPORTED_NODES: dict[Any, NodeDef] = {
    tuple: NodeDef(tuple, lambda node: (list(node), None), lambda values, _: tuple(values), _with_indices),
    list: NodeDef(list, lambda node: (node, None), lambda values, _: list(values), _with_indices),
    dict: NodeDef(
        dict,
        lambda node: (list(node.values()), list(node.keys())),
        lambda values, keys: dict(zip(keys, values)),
        _with_keys,
    ),
    OrderedDict: NodeDef(
        OrderedDict,
        lambda node: (list(node.values()), list(node.keys())),
        lambda values, keys: OrderedDict(zip(keys, values)),
        _with_keys,
    ),
    defaultdict: NodeDef(
        defaultdict,
        lambda node: (list(node.values()), [node.default_factory, list(node.keys())]),
        lambda values, context: defaultdict(context[0], zip(context[1], values)),
        _with_keys,
    ),
    deque: NodeDef(
        deque,
        lambda node: (list(node), node.maxlen),
        lambda values, maxlen: deque(values, maxlen=maxlen),
        _with_indices,
    ),
    # Of each named tuple: its class is the context.
    namedtuple: NodeDef(
        namedtuple,
        lambda node: (list(node), type(node)),
        lambda values, kind: kind(*values),
        _with_fields,
    ),
}

# The columns of the table, by the names that libraries register subclasses with.
_tuple_flatten, _tuple_unflatten = SUPPORTED_NODES[tuple][1:3]
_list_flatten, _list_unflatten = SUPPORTED_NODES[list][1:3]
_dict_flatten, _dict_unflatten = SUPPORTED_NODES[dict][1:3]
_ordereddict_flatten, _ordereddict_unflatten = SUPPORTED_NODES[OrderedDict][1:3]
_namedtuple_flatten, _namedtuple_unflatten = SUPPORTED_NODES[namedtuple][1:3]


def _dict_flatten_with_keys(node: Any) -> tuple[list[Any], Context]:
    return [(MappingKey(key), value) for key, value in node.items()], list(node.keys())


_ordereddict_flatten_with_keys = _dict_flatten_with_keys


def _list_flatten_with_keys(node: Any) -> tuple[list[Any], Context]:
    return [(SequenceKey(i), value) for i, value in enumerate(node)], None


_tuple_flatten_with_keys = _list_flatten_with_keys

_DICTS = (dict, OrderedDict, defaultdict)
_BUILT_IN = (tuple, list, deque, namedtuple, *_DICTS)


def register_pytree_node(
    cls: type,
    flatten_fn: _Flatten,
    unflatten_fn: _Unflatten,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Callable[[Any], Any] | None = None,
    from_dumpable_context: Callable[[Any], Any] | None = None,
    flatten_with_keys_fn: _Flatten | None = None,
) -> None:
    """Makes objects of exactly this type nodes of trees.

    flatten_fn            node -> (list of children, context)
    unflatten_fn          (children, context) -> node
    flatten_with_keys_fn  node -> (list of (key, child), context), for the functions with paths
    The other arguments are accepted: specs are not written as text here. Raises ValueError for a type that is
    registered. Source: torch.utils._pytree.register_pytree_node.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or registered.")
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)


def _register_pytree_node(cls: type, flatten_fn: _Flatten, unflatten_fn: _Unflatten, **options: Any) -> None:
    """register_pytree_node under its old name: a type that is registered is replaced, with a warning."""
    if SUPPORTED_NODES.pop(cls, None) is not None:
        text = f"{cls} is already registered as pytree node. Overwriting the previous registration."
        warnings.warn(text, stacklevel=2)
    register_pytree_node(cls, flatten_fn, unflatten_fn, **options)


def register_dataclass(
    cls: type,
    *,
    field_names: list[str] | None = None,
    drop_field_names: list[str] | None = None,
    serialized_type_name: str | None = None,
) -> None:
    """Makes a dataclass a node whose children are its fields; those that are None are no children.

    field_names       all fields that __init__ takes, by default those of the dataclass
    drop_field_names  fields that are lost
    Raises ValueError for a class that is no dataclass without field_names, and for field_names that are not its
    fields. Source: torch.utils._pytree.register_dataclass.
    """
    names = _names_of_fields(cls, field_names, set(drop_field_names or ()))

    def flatten(node: Any) -> tuple[list[Any], Context]:
        values = {name: getattr(node, name) for name in names}
        there = [name for name in names if values[name] is not None]
        return [values[name] for name in there], [there, [name for name in names if values[name] is None]]

    def unflatten(values: Iterable[Any], context: Context) -> Any:
        return cls(**dict(zip(context[0], values)), **dict.fromkeys(context[1]))

    def flatten_with_keys(node: Any) -> tuple[list[Any], Context]:
        values, context = flatten(node)
        return [(GetAttrKey(name), value) for name, value in zip(context[0], values)], context

    register_pytree_node(cls, flatten, unflatten, flatten_with_keys_fn=flatten_with_keys)


def _names_of_fields(cls: type, given: list[str] | None, dropped: set[str]) -> list[str]:
    if not dataclasses.is_dataclass(cls):
        if given is None:
            raise ValueError(
                "field_names must be specified with a list of all fields used to "
                f"initialize {cls}, as it is not a dataclass."
            )
        return given
    names = [field.name for field in dataclasses.fields(cls) if field.init]
    if given is None:
        return names
    wanted = set(names) - dropped
    text = "field_names does not include all dataclass fields.\n"
    if missing := wanted - set(given):
        text += (
            f"Missing fields in `field_names`: {missing}. If you want to include these fields in the pytree, please "
            "add them to `field_names`, otherwise please add them to `drop_field_names`.\n"
        )
    if unexpected := set(given) - wanted:
        text += (
            f"Unexpected fields in `field_names`: {unexpected}. "
            "Please remove these fields, or add them to `drop_field_names`.\n"
        )
    if missing or unexpected:
        raise ValueError(text)
    return given


@dataclasses.dataclass(frozen=True)
class ConstantNode:
    """The context of a constant: the object."""

    value: Any


def register_constant(cls: type) -> None:
    """Makes objects of a type nodes without children, which are part of the structure.

    Raises TypeError for a type without __eq__ or __hash__ of its own. Source: torch.utils._pytree.register_constant.
    """
    methods: Any = cls
    if methods.__eq__ is object.__eq__:
        raise TypeError("register_constant(cls) expects `cls` to have a non-default `__eq__` implementation.")
    if methods.__hash__ is None:
        raise TypeError("register_constant(cls) expects `cls` to have a non-default `__hash__` implementation.")

    def flatten(node: Any) -> tuple[list[Any], Context]:
        return [], ConstantNode(node)

    _register_pytree_node(cls, flatten, lambda _, context: context.value, flatten_with_keys_fn=flatten)


def is_namedtuple_class(cls: type) -> bool:
    """Whether it is a class of named tuples."""
    return (
        isinstance(cls, type)
        and issubclass(cls, tuple)
        and isinstance(getattr(cls, "_fields", None), tuple)
        and all(type(field) is str for field in getattr(cls, "_fields"))
        and callable(getattr(cls, "_make", None))
        and callable(getattr(cls, "_asdict", None))
    )


def is_namedtuple_instance(obj: object) -> bool:
    """Whether it is a named tuple."""
    return is_namedtuple_class(type(obj))


def _node_of(tree: PyTree) -> NodeDef | None:
    """None for a leaf. A subclass of a type is no node of that type; a direct class of named tuples is one."""
    kind = type(tree)
    found = SUPPORTED_NODES.get(kind)
    if found is None and kind.__bases__ == (tuple,) and is_namedtuple_class(kind):
        return SUPPORTED_NODES[namedtuple]
    return found


def tree_is_leaf(tree: PyTree, is_leaf: _IsLeaf = None) -> bool:
    """Whether it is a leaf: is_leaf() says so, or its type is not registered."""
    return (is_leaf is not None and is_leaf(tree)) or _node_of(tree) is None


class TreeSpec:
    """The structure of a tree: type, context and the specs of the children. A leaf has the type None.

    Specs are compared by value, hashable, and shown as torch's.
    """

    __slots__ = ("_children", "_context", "num_children", "num_leaves", "num_nodes", "type")

    num_nodes: int
    num_leaves: int

    def __init__(self, type: Any, context: Context, children_specs: list[TreeSpec]) -> None:
        if type is None and context is not None:
            raise AssertionError("leaf node should not have a context")
        if type is None and children_specs:
            raise AssertionError("leaf node should not have children")
        self.type = type
        self._context = context
        self._children = children_specs
        self.num_children = len(children_specs)
        self.num_nodes = 1 + sum([child.num_nodes for child in children_specs])
        self.num_leaves = 1 if type is None else sum([child.num_leaves for child in children_specs])

    @property
    def context(self) -> Context:
        return self._context

    @property
    def children_specs(self) -> list[TreeSpec]:
        return self._children

    def is_leaf(self) -> bool:
        return self.type is None

    def children(self) -> list[TreeSpec]:
        """The specs of the children."""
        return list(self._children)

    def child(self, index: int) -> TreeSpec:
        """The spec of one child."""
        return self._children[index]

    def __repr__(self, indent: int = 0) -> str:
        if self.type is None:
            return "*"
        indent += 2
        separator = ",\n" + " " * indent
        children = separator.join([child.__repr__(indent) for child in self._children])
        return f"TreeSpec({self.type.__name__}, {self._context}, [{children}])"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return self is other or (
            self.type is other.type and self._context == other._context and self._children == other._children
        )

    def __hash__(self) -> int:
        if self.type is defaultdict:
            context: Any = (self._context[0], tuple(self._context[1]))
        elif self.type in (dict, OrderedDict):
            context = tuple(self._context)
        elif self.type is None or self.type in _BUILT_IN or isinstance(self._context, ConstantNode):
            context = self._context
        else:
            context = None  # contexts of the program's types need not be hashable
        return hash((self.type, context, tuple(self._children)))

    def unflatten(self, leaves: Iterable[Any]) -> PyTree:
        """The tree of this structure with these leaves; ValueError for another number of leaves."""
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} "
                f"but the spec refers to a pytree that holds {self.num_leaves} items ({self})."
            )
        return self._built(leaves, 0)

    def _built(self, leaves: list[Any], start: int) -> PyTree:
        if self.type is None:
            return leaves[start]
        values = []
        for child in self._children:
            values.append(child._built(leaves, start))
            start += child.num_leaves
        return SUPPORTED_NODES[self.type].unflatten_fn(values, self._context)

    def flatten_up_to(self, tree: PyTree) -> list[PyTree]:
        """The subtrees of a tree at the places of this structure's leaves; ValueError if it is another structure.

        Kinds of dict stand for each other.
        """
        subtrees: list[PyTree] = []
        self._collect(tree, subtrees)
        return subtrees

    def _collect(self, tree: PyTree, subtrees: list[PyTree]) -> None:
        if self.type is None:
            subtrees.append(tree)
            return
        for child, part in zip(self._children, self._parts_of(tree)):
            child._collect(part, subtrees)

    def _parts_of(self, tree: PyTree) -> list[PyTree]:
        node = _node_of(tree)
        kind = None if node is None else node.type
        is_dict = self.type in _DICTS and kind in _DICTS
        if node is None or not is_dict and kind is not self.type:
            what = "Node type mismatch" if self.type in _BUILT_IN else "Type mismatch"
            got = type(tree) if kind is None else kind
            raise ValueError(f"{what}; expected {self.type!r}, but got {got!r}.")
        parts, context = node.flatten_fn(tree)
        if len(parts) != self.num_children:
            raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {len(parts)}.")
        if is_dict:
            return self._values_of(tree)
        if self.type is not deque and context != self._context:
            if self.type in _BUILT_IN:
                raise ValueError(
                    f"Node context mismatch for node type {self.type!r}; "
                    f"expected {self._context!r}, but got {context!r}."
                )
            raise ValueError(f"Node context mismatch for custom node type {self.type!r}.")
        return parts

    def _values_of(self, tree: Any) -> list[PyTree]:
        wanted = self._context[1] if self.type is defaultdict else self._context
        missing, extra = set(wanted) - set(tree), set(tree) - set(wanted)
        if missing or extra:
            text = f"; missing key(s): {missing}" if missing else ""
            text += f"; extra key(s): {extra}" if extra else ""
            raise ValueError(f"Node keys mismatch{text}.")
        return [tree[key] for key in wanted]


PyTreeSpec = TreeSpec


class LeafSpec(TreeSpec):
    """The structure of a leaf."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(None, None, [])


_LEAF = LeafSpec()


def treespec_leaf() -> LeafSpec:
    """The structure of a leaf."""
    return _LEAF


def _flatten_into(tree: PyTree, leaves: list[Any], is_leaf: _IsLeaf) -> TreeSpec:
    node = None if is_leaf is not None and is_leaf(tree) else _node_of(tree)
    if node is None:
        leaves.append(tree)
        return _LEAF
    children, context = node.flatten_fn(tree)
    return TreeSpec(node.type, context, [_flatten_into(child, leaves, is_leaf) for child in children])


def tree_flatten(tree: PyTree, is_leaf: _IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """The leaves of a tree in order, and its structure.

    is_leaf(node) may say that a node is a leaf. Source: torch.utils._pytree.tree_flatten.
    """
    leaves: list[Any] = []
    return leaves, _flatten_into(tree, leaves, is_leaf)


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """The inverse of tree_flatten; takes its arguments in either order. Source: torch.utils._pytree.tree_unflatten."""
    if not isinstance(treespec, TreeSpec):
        if not isinstance(leaves, TreeSpec):
            raise TypeError(
                f"Expected `treespec` to be an instance of PyTreeSpec but got item of type {type(treespec)}."
            )
        leaves, treespec = treespec, leaves
    return treespec.unflatten(leaves)


def tree_iter(tree: PyTree, is_leaf: _IsLeaf = None) -> Iterator[Any]:
    """The leaves of a tree, one after the other."""
    node = None if is_leaf is not None and is_leaf(tree) else _node_of(tree)
    if node is None:
        yield tree
        return
    for child in node.flatten_fn(tree)[0]:
        yield from tree_iter(child, is_leaf)


def tree_leaves(tree: PyTree, is_leaf: _IsLeaf = None) -> list[Any]:
    """The list of the leaves of a tree."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: PyTree, is_leaf: _IsLeaf = None) -> TreeSpec:
    """The structure of a tree."""
    return tree_flatten(tree, is_leaf)[1]


def arg_tree_leaves(*args: PyTree, **kwargs: PyTree) -> list[Any]:
    """The leaves of all arguments."""
    return tree_leaves([*args, *kwargs.values()])


def tree_map(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: _IsLeaf = None) -> PyTree:
    """A tree of the same structure with func(leaf, *parts), where the parts are those of `rests` at the leaf's place.

    Raises ValueError if `tree` is no prefix of one of the others. Source: torch.utils._pytree.tree_map.
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    columns = [leaves, *[spec.flatten_up_to(each) for each in rests]]
    return spec.unflatten([func(*parts) for parts in zip(*columns)])


def tree_map_(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: _IsLeaf = None) -> PyTree:
    """tree_map for what func does: returns the tree."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def _predicate(types: Any) -> Callable[[Any], bool]:
    if isinstance(types, (type, tuple)) or type(types).__name__ == "UnionType":
        return lambda leaf: isinstance(leaf, types)
    if callable(types):
        return types
    raise TypeError("Argument must be a type, a tuple of types, or a callable.")


def map_only(type_or_types_or_pred: Any, /) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """A decorator: the function for leaves of these types, or that the predicate is true for; others stay."""
    matches = _predicate(type_or_types_or_pred)

    def wrap(func: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda leaf: func(leaf) if matches(leaf) else leaf

    return wrap


def tree_map_only(
    type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: PyTree, is_leaf: _IsLeaf = None
) -> PyTree:
    """tree_map for leaves of some types, or that a predicate is true for; the others stay as they are."""
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(
    type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: PyTree, is_leaf: _IsLeaf = None
) -> PyTree:
    """tree_map_only for what func does: returns the tree."""
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: PyTree, is_leaf: _IsLeaf = None) -> bool:
    """Whether pred is true for all leaves."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: PyTree, is_leaf: _IsLeaf = None) -> bool:
    """Whether pred is true for a leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(type_or_types: Any, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: _IsLeaf = None) -> bool:
    """Whether pred is true for all leaves of some types."""
    return all(pred(leaf) for leaf in tree_iter(tree, is_leaf) if isinstance(leaf, type_or_types))


def tree_any_only(type_or_types: Any, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: _IsLeaf = None) -> bool:
    """Whether pred is true for a leaf of some types."""
    return any(pred(leaf) for leaf in tree_iter(tree, is_leaf) if isinstance(leaf, type_or_types))


def _paths(path: KeyPath, tree: PyTree, is_leaf: _IsLeaf) -> Iterator[tuple[KeyPath, Any]]:
    node = None if is_leaf is not None and is_leaf(tree) else _node_of(tree)
    if node is None:
        yield path, tree
        return
    if node.flatten_with_keys_fn is None:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {type(tree)}. "
            "Please pass a flatten_with_keys_fn argument to register_pytree_node."
        )
    for key, child in node.flatten_with_keys_fn(tree)[0]:
        yield from _paths((*path, key), child, is_leaf)


def tree_leaves_with_path(tree: PyTree, is_leaf: _IsLeaf = None) -> list[tuple[KeyPath, Any]]:
    """(path, leaf) of each leaf; a path is a tuple of keys."""
    return list(_paths((), tree, is_leaf))


def tree_flatten_with_path(tree: PyTree, is_leaf: _IsLeaf = None) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """tree_flatten with (path, leaf) in place of each leaf."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: _IsLeaf = None) -> PyTree:
    """tree_map with func(path, leaf, *parts)."""
    leaves, spec = tree_flatten_with_path(tree, is_leaf)
    columns = [spec.flatten_up_to(each) for each in rests]
    return spec.unflatten([func(*pair, *parts) for pair, *parts in zip(leaves, *columns)])


def keystr(kp: KeyPath) -> str:
    """A path as text, as in `['a'][0].b`."""
    return "".join(str(key) for key in kp)


def key_get(obj: Any, kp: KeyPath) -> Any:
    """The object at a path."""
    for key in kp:
        obj = key.get(obj)
    return obj


def _broadcast_to_and_flatten(tree: PyTree, treespec: TreeSpec, is_leaf: _IsLeaf = None) -> list[Any] | None:
    """The leaves of a prefix of a structure, each as often as the structure has leaves below it; None if it is none."""
    full = treespec.unflatten([0] * treespec.num_leaves)
    result: list[Any] = []

    def repeat(leaf: Any, subtree: PyTree) -> None:
        result.extend([leaf] * tree_structure(subtree, is_leaf).num_leaves)

    try:
        tree_map_(repeat, tree, full, is_leaf=is_leaf)
    except ValueError:
        return None
    return result
