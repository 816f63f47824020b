"""A backend as torch's users write them: it runs the graph node by node, by the targets that the nodes have."""

import operator

import torch
import torch.utils._pytree as pytree


def node_by_node(gm, example_inputs):
    """Fails where a node's result is not what the graph says of it."""

    def run(*args):
        values, given = {}, iter(args)
        varies = any("is_number" in node.meta or node.meta.get("val") is int for node in gm.graph.nodes)

        def of(value):
            return values[value] if type(value) is node_type else value

        for node in gm.graph.nodes:
            node_type = type(node)
            args, kwargs = pytree.tree_map(of, (node.args, node.kwargs), is_leaf=lambda leaf: type(leaf) is node_type)
            if node.op == "placeholder":
                values[node] = next(given)
                sizes_vary = getattr(values[node], "shape", None) != getattr(node.meta["val"], "shape", None)
                varies = varies or sizes_vary
            elif node.op == "get_attr":
                values[node] = getattr(gm, node.target)
            elif node.op == "call_function":
                values[node] = node.target(*args, **kwargs)
            elif node.op == "call_method":
                values[node] = getattr(args[0], node.target)(*args[1:], **kwargs)
            else:
                return args[0]
            check(node, values[node], varies)
        raise AssertionError("a graph without an output")

    return run


def check(node, value, varies):
    """varies: other sizes than those of the first call, which the graph tells."""
    said = node.meta["val"]
    pairs = zip(said, value, strict=True) if isinstance(said, tuple) else [(said, value)]
    for fake, real in pairs:
        if isinstance(fake, torch.Tensor):
            assert isinstance(real, torch.Tensor), (node.target, type(real))
            assert (real.dtype, real.dim()) == (fake.dtype, fake.dim()), (node.target, real, fake)
            assert varies or real.shape == fake.shape, (node.target, real.shape, fake)
        elif node.target is not operator.getitem:
            assert isinstance(real, fake), (node.target, real, fake)


def targets(gm):
    return [node.target for node in gm.graph.nodes if node.op in ("call_function", "call_method")]
