"""backward(), grad(), hooks, versions and the text of tensors with a history: as torch."""

import pytest
from text_programs import check, table

torch = pytest.importorskip("torch")

BACKWARD = {
    "accumulates": """
        x = torch.tensor([1., 2.], requires_grad=True)
        (x * x).sum().backward(); (x * 3).sum().backward()
        result = x.grad
    """,
    "gradient given": """
        x = torch.tensor([1., 2.], requires_grad=True)
        (x * x).backward(torch.tensor([1., 10.]))
        result = x.grad
    """,
    "gradient broadcast is refused": """
        x = torch.ones(2, 3, requires_grad=True)
        (x * x).backward(torch.tensor(2.))
    """,
    "not a scalar": "torch.ones(2, requires_grad=True).mul(2).backward()",
    "no grad": "torch.ones(()).backward()",
    "no grad twice": "torch.autograd.backward([torch.ones((), requires_grad=True).mul(2), torch.ones(())])",
    "complex root": "torch.ones((), dtype=torch.complex64, requires_grad=True).mul(2).backward()",
    "gradient of another type": "torch.ones((), requires_grad=True).mul(2).backward(3)",
    "numbers of gradients": """
        x = torch.ones((), requires_grad=True)
        torch.autograd.backward([x * 2, x * 3], [torch.ones(())])
    """,
    "second time": """
        x = torch.ones((), requires_grad=True)
        y = x * x
        y.backward()
        y.backward()
    """,
    "second time of what saved nothing": """
        x = torch.ones((), requires_grad=True)
        y = x + x
        y.backward()
        y.backward()
        result = x.grad
    """,
    "retain_graph": """
        x = torch.ones((), requires_grad=True)
        y = x * x
        y.backward(retain_graph=True)
        y.backward()
        result = x.grad
    """,
    "inputs": """
        a, b = torch.ones((), requires_grad=True), torch.ones((), requires_grad=True)
        (a * b * 3).backward(inputs=[a])
        result = a.grad, b.grad
    """,
    "inputs, one tensor": """
        a, b = torch.ones((), requires_grad=True), torch.ones((), requires_grad=True)
        (a * b * 3).backward(inputs=a)
        result = a.grad, b.grad
    """,
    "inputs, a computed tensor": """
        a = torch.ones((), requires_grad=True)
        b = a * 2
        b.retain_grad()
        (b * b).backward(inputs=[b])
        result = a.grad, b.grad
    """,
    "inputs, a computed tensor that does not retain": """
        a = torch.ones((), requires_grad=True)
        b = a * 2
        (b * b).backward(inputs=[b])
        result = b.grad
    """,
    "inputs, empty": "torch.ones((), requires_grad=True).mul(2).backward(inputs=[])",
    "inputs, no grad": "torch.ones((), requires_grad=True).mul(2).backward(inputs=[torch.ones(())])",
    "inputs, unused": """
        a, b = torch.ones((), requires_grad=True), torch.ones((), requires_grad=True)
        (a * 3).backward(inputs=[b])
        result = b.grad
    """,
    "grad_variables and grad_tensors": """
        x = torch.ones((), requires_grad=True)
        torch.autograd.backward(x * 2, torch.ones(()), grad_variables=torch.ones(()))
    """,
    "create_graph": """
        x = torch.tensor(2., requires_grad=True)
        (x ** 3).backward(create_graph=True)
        g = x.grad
        result = g, torch.autograd.grad(g, x)
    """,
    "of a leaf": """
        x = torch.ones((), requires_grad=True)
        x.backward()
        result = x.grad
    """,
    "two roots that share": """
        x = torch.tensor(2., requires_grad=True)
        y = x * x
        torch.autograd.backward([y, y * 3, y], [None, torch.tensor(2.), torch.tensor(5.)])
        result = x.grad
    """,
    "of None": "torch.autograd.backward(None)",
    "of an empty list": "torch.autograd.backward([])",
    "inside backward of another graph": """
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * 2
            @staticmethod
            def backward(ctx, g):
                x, = ctx.saved_tensors
                with torch.enable_grad():
                    y = x.detach().requires_grad_()
                    (y * y).sum().backward()
                return g * y.grad
        x = torch.tensor([1., 3.], requires_grad=True)
        F.apply(x).sum().backward()
        result = x.grad
    """,
    "inside a hook": """
        w = torch.tensor(3., requires_grad=True)
        x = torch.tensor(2., requires_grad=True)
        y = x * x
        def hook(g):
            (w * w).backward()
            return g * w.grad
        y.register_hook(hook)
        (y * 5).backward()
        result = x.grad, w.grad
    """,
    "the same graph inside a hook": """
        x = torch.tensor(2., requires_grad=True)
        y = x * x
        z = y * x
        seen = []
        def hook(g):
            if not seen:
                seen.append(1)
                z.backward(retain_graph=True)
        y.register_hook(hook)
        z.backward()
        result = x.grad
    """,
}

GRAD = {
    "several": """
        x, y = torch.tensor(2., requires_grad=True), torch.tensor(5., requires_grad=True)
        result = torch.autograd.grad(x * y * y, [x, y]), x.grad
    """,
    "with respect to a computed tensor": """
        x = torch.tensor(2., requires_grad=True)
        y = x * x
        result = torch.autograd.grad(y * y, [y, x])
    """,
    "unused": """
        x, y = torch.ones((), requires_grad=True), torch.ones((), requires_grad=True)
        torch.autograd.grad(x * 2, [x, y])
    """,
    "unused, allowed": """
        x, y = torch.ones((), requires_grad=True), torch.ones((), requires_grad=True)
        result = torch.autograd.grad(x * 2, [x, y], allow_unused=True)
    """,
    "unused, materialised": """
        x, y = torch.ones((), requires_grad=True), torch.ones(3, requires_grad=True)
        result = torch.autograd.grad(x * 2, [x, y], materialize_grads=True)
    """,
    "materialised and not allowed": """
        x = torch.ones((), requires_grad=True)
        torch.autograd.grad(x * 2, [x], materialize_grads=True, allow_unused=False)
    """,
    "no grad": "torch.autograd.grad(torch.ones((), requires_grad=True).mul(2), torch.ones(()))",
    "output without grad": "torch.autograd.grad(torch.ones(()), torch.ones((), requires_grad=True))",
    "no inputs": "torch.autograd.grad(torch.ones((), requires_grad=True).mul(2), [])",
    "not a scalar": """
        x = torch.ones(2, requires_grad=True)
        torch.autograd.grad(x * 2, x)
    """,
    "grad_outputs of another shape": """
        x = torch.ones(2, requires_grad=True)
        torch.autograd.grad(x * 2, x, torch.ones(3))
    """,
    "grad_outputs, complex for real": """
        x = torch.ones(2, requires_grad=True)
        torch.autograd.grad(x * 2, x, torch.ones(2, dtype=torch.complex64))
    """,
    "grad_outputs of another dtype": """
        x = torch.ones(2, requires_grad=True)
        result = torch.autograd.grad(x * 2, x, torch.ones(2, dtype=torch.float64))
    """,
    "numbers of grad_outputs": """
        x = torch.ones(2, requires_grad=True)
        torch.autograd.grad([x * 2, x], x, [torch.ones(2)])
    """,
    "batched": """
        x = torch.tensor([1., 2., 3.], requires_grad=True)
        y = x * x
        result = torch.autograd.grad(y, x, torch.eye(3), is_grads_batched=True)
    """,
    "batched, create_graph": """
        x = torch.tensor([1., 2., 3.], requires_grad=True)
        y = x * x
        g, = torch.autograd.grad(y, x, torch.eye(3), is_grads_batched=True, create_graph=True)
        result = torch.autograd.grad(g.sum(), x)
    """,
    "batched, wrong shape": """
        x = torch.tensor([1., 2., 3.], requires_grad=True)
        torch.autograd.grad(x * x, x, torch.ones(3, 2), is_grads_batched=True)
    """,
    "only_inputs": """
        x = torch.ones((), requires_grad=True)
        torch.autograd.grad(x * 2, x, only_inputs=False)
    """,
    "of a leaf to itself": """
        x = torch.ones((), requires_grad=True)
        result = torch.autograd.grad(x, x)
    """,
    "second, third derivative": """
        x = torch.tensor(2., dtype=torch.float64, requires_grad=True)
        y = x ** 4
        result = []
        for _ in range(4):
            y, = torch.autograd.grad(y, x, create_graph=True)
            result.append(y.detach())
    """,
    "edges": """
        get_gradient_edge = torch.autograd.graph.get_gradient_edge
        x = torch.tensor(2., requires_grad=True)
        y = x * x
        z = y * 3
        edge = get_gradient_edge(y)
        result = torch.autograd.grad(z, edge), type(edge).__name__, edge.output_nr
    """,
    "edge of a leaf": """
        x = torch.tensor(2., requires_grad=True)
        edge = torch.autograd.graph.get_gradient_edge(x)
        result = edge.node.name(), edge.output_nr, torch.autograd.grad(x * 7, edge)
    """,
    "edge of nothing": "torch.autograd.graph.get_gradient_edge(torch.ones(()))",
    "root is an edge": """
        x = torch.tensor(2., requires_grad=True)
        y = x * x
        edge = torch.autograd.graph.get_gradient_edge(y)
        torch.autograd.backward(edge, torch.tensor(3.))
        result = x.grad
    """,
    "under no_grad": """
        x = torch.tensor(2., requires_grad=True)
        y = x * x
        with torch.no_grad():
            result = torch.autograd.grad(y, x, create_graph=True)
    """,
}

HOOKS = {
    "order of hooks": """
        seen = []
        x = torch.tensor(2., requires_grad=True)
        y = x * x
        y.retain_grad()
        y.register_hook(lambda g: seen.append(("tensor", g.item())))
        y.register_hook(lambda g: g * 10)
        y.grad_fn.register_prehook(lambda g: seen.append(("pre", g[0].item())))
        y.grad_fn.register_hook(lambda i, o: seen.append(("post", i[0].item(), o[0].item())))
        x.register_hook(lambda g: seen.append(("leaf", g.item())))
        x.register_post_accumulate_grad_hook(lambda t: seen.append(("accumulated", t.grad.item())))
        (y * 3).backward()
        result = seen, y.grad, x.grad
    """,
    "hook after retain_grad": """
        x = torch.tensor(2., requires_grad=True)
        y = x * x
        y.register_hook(lambda g: g * 2)
        y.retain_grad()
        y.register_hook(lambda g: g * 5)
        (y * 3).backward()
        result = y.grad, x.grad
    """,
    "removed": """
        seen = []
        x = torch.tensor(2., requires_grad=True)
        handle = x.register_hook(seen.append)
        (x * x).backward()
        handle.remove()
        (x * x).backward()
        with x.register_hook(seen.append):
            (x * x).backward()
        (x * x).backward()
        result = seen, x.grad
    """,
    "wrong type": """
        x = torch.tensor(2., requires_grad=True)
        x.register_hook(lambda g: 3)
        (x * x).backward()
    """,
    "wrong size": """
        x = torch.tensor(2., requires_grad=True)
        def doubles(g):
            return torch.ones(2)
        x.register_hook(doubles)
        (x * x).backward()
    """,
    "no grad": "torch.ones(()).register_hook(print)",
    "post accumulate returns something": """
        x = torch.tensor(2., requires_grad=True)
        x.register_post_accumulate_grad_hook(lambda t: 3)
        (x * x).backward()
    """,
    "post accumulate on a computed tensor": "torch.ones((), requires_grad=True).mul(2).register_post_accumulate_grad_hook(print)",
    "post accumulate without grad": "torch.ones(()).register_post_accumulate_grad_hook(print)",
    "retain_grad without grad": "torch.ones(()).retain_grad()",
    "retain_grad of a leaf": """
        x = torch.tensor(2., requires_grad=True)
        x.retain_grad()
        (x * x).backward()
        result = x.grad, x.retains_grad
    """,
    "retain_grad": """
        x = torch.tensor(2., requires_grad=True)
        y = x * x
        before = y.retains_grad
        y.retain_grad(); y.retain_grad()
        (y * y).backward()
        result = y.grad, before, y.retains_grad
    """,
    "node prehook replaces": """
        x = torch.tensor(2., requires_grad=True)
        y = x * x
        y.grad_fn.register_prehook(lambda g: (g[0] * 2,))
        y.backward()
        result = x.grad
    """,
    "node hook replaces": """
        x = torch.tensor(2., requires_grad=True)
        y = x * torch.tensor(3.)
        y.grad_fn.register_hook(lambda i, o: (i[0] * 2, None))
        y.backward()
        result = x.grad
    """,
    "node hook, wrong number": """
        x = torch.tensor(2., requires_grad=True)
        y = x.exp()
        y.grad_fn.register_hook(lambda i, o: (i[0] * 2, None))
        y.backward()
    """,
    "node hook removed": """
        seen = []
        x = torch.tensor(2., requires_grad=True)
        y = x * 3
        handle = y.grad_fn.register_hook(lambda i, o: seen.append(1))
        handle.remove()
        y.backward()
        result = seen
    """,
    "multi, all": """
        seen = []
        a, b, c = [torch.tensor(float(i), requires_grad=True) for i in range(3)]
        handle = torch.autograd.graph.register_multi_grad_hook((a, b, c), lambda g: seen.append(g))
        (a * b).backward()
        (a * b * c).backward()
        handle.remove()
        (a * b * c).backward()
        result = seen
    """,
    "multi, any": """
        seen = []
        a, b, c = [torch.tensor(float(i), requires_grad=True) for i in range(3)]
        torch.autograd.graph.register_multi_grad_hook((a, b, c), lambda g: seen.append(1), mode="any")
        (a * b).backward()
        (a * b * c).backward()
        result = seen
    """,
    "multi, wrong mode": """
        a = torch.tensor(1., requires_grad=True)
        torch.autograd.graph.register_multi_grad_hook((a,), print, mode="some")
    """,
    "multi, partly reached": """
        seen = []
        a, b, c = [torch.tensor(float(i), requires_grad=True) for i in range(3)]
        torch.autograd.graph.register_multi_grad_hook((a, b, c), lambda g: seen.append(g))
        (a * c * 2).backward()
        (b * 3).backward()
        (a * b * c).backward()
        result = seen
    """,
    "hooks run for autograd.grad": """
        seen = []
        x = torch.tensor(2., requires_grad=True)
        y = x * x
        x.register_hook(lambda g: g * 10)
        y.register_hook(lambda g: g * 3)
        x.register_post_accumulate_grad_hook(lambda t: seen.append(1))
        result = torch.autograd.grad(y, [x, y]), seen
    """,
    "hook of a tensor that was written since": """
        seen = []
        x = torch.tensor(2., requires_grad=True)
        y = x * x
        y.register_hook(lambda g: seen.append(("before", g)))
        y.mul_(3)
        y.register_hook(lambda g: seen.append(("after", g)))
        (y * 5).backward()
        result = seen, x.grad
    """,
    "retain_grad of a tensor that is written": """
        x = torch.tensor(2., requires_grad=True)
        y = x * 2
        y.retain_grad()
        y.mul_(3)
        (y * 5).backward()
        result = y.grad, x.grad
    """,
    "hook raises": """
        x = torch.tensor(2., requires_grad=True)
        def hook(g):
            raise ValueError("no")
        x.register_hook(hook)
        (x * x).backward()
    """,
    "metadata of a node": """
        y = torch.ones((), requires_grad=True) * 2
        y.grad_fn.metadata["a"] = 3
        result = y.grad_fn.metadata
    """,
    "sees a graph under create_graph": """
        seen = []
        x = torch.tensor(2., requires_grad=True)
        y = x * x
        y.register_hook(lambda g: seen.append((g.requires_grad, torch.is_grad_enabled())))
        x.register_hook(lambda g: seen.append((g.requires_grad, torch.is_grad_enabled())))
        (y * y).backward(create_graph=True)
        (x * x).backward()
        result = seen
    """,
}

TEXTS = {
    "computed": "result = repr(torch.tensor(2., requires_grad=True) * 2)",
    "leaf": "result = repr(torch.tensor([1.], requires_grad=True))",
    "leaf with dtype": "result = repr(torch.tensor([1.], dtype=torch.float64, requires_grad=True))",
    "computed with dtype": "result = repr(torch.tensor([1.], dtype=torch.float64, requires_grad=True).exp())",
    "empty": "result = repr(torch.ones((0, 3), requires_grad=True) * 2)",
    "parameter": "result = repr(torch.nn.Parameter(torch.tensor([1.])))",
    "long": "result = repr(torch.arange(40.).requires_grad_() * 2)",
    "matrix": "result = repr(torch.arange(6.).reshape(2, 3).requires_grad_() * 2)",
    "function": """
        class Twice(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2
            @staticmethod
            def backward(ctx, g):
                return g * 2
        y = Twice.apply(torch.ones(2, requires_grad=True))
        result = repr(y), y.grad_fn.name(), type(y.grad_fn).__name__
    """,
    "node": "result = repr(torch.ones((), requires_grad=True).mul(2).grad_fn)[:13]",
    "leaf's node": "result = str(torch.ones((), requires_grad=True).mul(2).grad_fn.next_functions[0][0])[:15]",
}

VERSIONS = {
    "detach shares": """
        x = torch.ones(2)
        d = x.detach()
        d.add_(1)
        result = x._version, d._version
    """,
    "a saved tensor may not": """
        x = torch.ones(2, requires_grad=True)
        y = x * 1
        z = y * y
        y.mul_(3)
        z.sum().backward()
    """,
    "nor through detach": """
        x = torch.ones(2, requires_grad=True)
        y = x.exp()
        y.detach().mul_(3)
        y.sum().backward()
    """,
    "nor a leaf under no_grad": """
        x = torch.ones(2, 3, requires_grad=True)
        y = x * x
        with torch.no_grad():
            x.add_(1)
        y.sum().backward()
    """,
    "nor through a view": """
        x = torch.ones(2, requires_grad=True)
        y = x * 1
        z = y * y
        with torch.no_grad():
            y[:1].mul_(3)
        z.sum().backward()
    """,
    "increment_version": """
        x = torch.ones(2, requires_grad=True)
        y = x * 1
        z = y * y
        before = y._version
        torch.autograd.graph.increment_version(y)
        torch.autograd.graph.increment_version([y, y])
        result = y._version - before
    """,
    "increment_version of a saved tensor": """
        x = torch.ones(2, requires_grad=True)
        y = x * 1
        z = y * y
        torch.autograd.graph.increment_version(y)
        z.sum().backward()
    """,
}

SCALARS = {
    "item": "result = torch.tensor(2., requires_grad=True).mul(2).item()",
    "bool": "result = bool(torch.tensor(2., requires_grad=True).mul(2))",
    "tolist": "result = torch.ones(2, requires_grad=True).mul(2).tolist()",
    "numpy": "torch.ones(2, requires_grad=True).numpy()",
    "format": "result = f'{torch.tensor(2., requires_grad=True):.3f}'",
    "deepcopy": "import copy; copy.deepcopy(torch.ones(2, requires_grad=True) * 2)",
    "deepcopy of a leaf": """
        import copy
        x = torch.ones(2, requires_grad=True)
        (x * x).sum().backward()
        y = copy.deepcopy(x)
        result = y, y.grad, y.grad is x.grad, y.is_leaf
    """,
    "Variable": """
        x = torch.autograd.Variable(torch.ones(2), requires_grad=True)
        result = x, isinstance(x, torch.autograd.Variable), type(x).__name__
    """,
    "grad of a computed tensor": "result = torch.ones(2, requires_grad=True).mul(2).grad",
    "grad of another size": "torch.ones(2, requires_grad=True).grad = torch.ones(3)",
    "grad of another type": "torch.ones(2, requires_grad=True).grad = 3",
    "grad of another dtype": "torch.ones(2, requires_grad=True).grad = torch.ones(2, dtype=torch.float64)",
    "grad of itself": """
        x = torch.ones(2, requires_grad=True)
        x.grad = x
    """,
    "requires_grad of a computed tensor": """
        y = torch.ones(2, requires_grad=True) * 2
        y.requires_grad = False
    """,
    "requires_grad of integers": "torch.ones(2, dtype=torch.int64).requires_grad_()",
    "integer leaf": "torch.tensor([1], requires_grad=True)",
    "detach_": """
        y = torch.ones(2, requires_grad=True) * 2
        y.detach_()
        result = y, y.is_leaf, y.grad_fn
    """,
    "detach_ of a view": """
        y = (torch.ones(2, requires_grad=True) * 2)[:1]
        y.detach_()
    """,
}

NAMES = {
    name: f"""
        torch.manual_seed(0)
        x, y = torch.rand(3, 4).requires_grad_(), torch.rand(4, 3).requires_grad_()
        z, b = torch.rand(3, 4).requires_grad_(), torch.rand(2, 3, 4).requires_grad_()
        F = torch.nn.functional
        value = {name}
        value = value[0] if isinstance(value, (tuple, list)) else value
        result = value.grad_fn.name(), type(value.grad_fn).__name__
    """
    for name in [
        "x + z",
        "x - z",
        "x * z",
        "x / z",
        "x ** 2",
        "x ** z",
        "2 ** x",
        "x @ y",
        "b @ y",
        "-x",
        "x + 1",
        "x % 2",
        "x.sum()",
        "x.sum(0)",
        "x.mean()",
        "x.mean(1)",
        "x.max()",
        "x.max(1)",
        "x.min()",
        "x.amax(1)",
        "x.prod()",
        "x.prod(0)",
        "x.std()",
        "x.var()",
        "x.var(0)",
        "x.norm()",
        "x.exp()",
        "x.log()",
        "x.sqrt()",
        "x.tanh()",
        "x.sigmoid()",
        "x.relu()",
        "x.abs()",
        "x.sin()",
        "x.clamp(0, 1)",
        "x.clamp(min=0)",
        "x.reshape(12)",
        "x.view(12)",
        "x.t()",
        "x.transpose(0, 1)",
        "b.permute(2, 0, 1)",
        "x[0]",
        "x[:2]",
        "x[:, 1]",
        "x[None]",
        "x[..., 0]",
        "x[[0, 1]]",
        "x[torch.tensor([0, 1])]",
        "x.unsqueeze(0)",
        "x[:1].squeeze(0)",
        "x[:1].squeeze()",
        "x.expand(2, 3, 4)",
        "x.repeat(2, 1)",
        "torch.cat([x, z])",
        "torch.stack([x, z])",
        "x.split(2)",
        "x.chunk(2)",
        "x.unbind()",
        "x.clone()",
        "x.contiguous()",
        "x.t().contiguous()",
        "x.double()",
        "x.softmax(1)",
        "x.log_softmax(1)",
        "x.cumsum(0)",
        "x.sort()",
        "x.topk(2)",
        "x.gather(1, torch.zeros(3, 1, dtype=torch.int64))",
        "x.index_select(0, torch.tensor([0]))",
        "x.masked_fill(x > 0, 0.)",
        "torch.where(x > 0, x, z)",
        "x.flatten()",
        "b.flatten(1)",
        "x.narrow(0, 0, 2)",
        "x.diagonal()",
        "x.tril()",
        "x.flip(0)",
        "x.roll(1)",
        "F.linear(x, z)",
        "F.linear(x, z, x[:, 0])",
        "F.linear(b, z)",
        "F.linear(b, z, x[:, 0])",
        "torch.mm(x, y)",
        "torch.addmm(x[:, :3], x, y)",
        "torch.bmm(b, b.transpose(1, 2))",
        "torch.mv(x, y[:, 0])",
        "torch.dot(x[0], z[0])",
        "torch.outer(x[0], z[0])",
        "F.relu(x)",
        "F.gelu(x)",
        "F.silu(x)",
        "F.elu(x)",
        "F.leaky_relu(x)",
        "F.dropout(x, 0.5)",
        "F.layer_norm(x, (4,))",
        "F.l1_loss(x, z)",
        "F.conv1d(b, torch.rand(2, 3, 2).requires_grad_())",
        "F.conv2d(b[None], torch.rand(2, 2, 2, 2).requires_grad_())",
        "F.avg_pool2d(b, 2)",
        "F.embedding(torch.tensor([0, 1]), x)",
        "torch.linalg.inv(x @ y)",
        "torch.linalg.det(x @ y)",
        "torch.minimum(x, z)",
        "torch.maximum(x, z)",
        "torch.lerp(x, z, 0.5)",
        "torch.addcmul(x, x, z)",
        "torch.atan2(x, z)",
        "x.square()",
        "x.reciprocal()",
        "x.rsqrt()",
        "x.logsumexp(1)",
        "x.index_add(0, torch.tensor([0]), z[:1])",
        "x.scatter_add(0, torch.zeros(1, 4, dtype=torch.int64), z)",
        "x.view_as(z)",
        "x.select(0, 1)",
        "x.unfold(0, 2, 1)",
        "x.as_strided((2,), (1,))",
        "x.clone().mul_(2)",
        "x.clone().add_(z)",
        "x.clone().zero_()",
    ]
}
NAMES["operands"] = """
    x, y = torch.ones(2, requires_grad=True), torch.ones(2)
    def operands(value):
        return [f and f.name() for f, _ in value.grad_fn.next_functions]
    result = [operands(v) for v in (
        x * y, y + x, x @ y, torch.cat([x, y]), torch.where(y > 0, x, y), x.gather(0, torch.tensor([0])), x[torch.tensor([0])],
        torch.lerp(x, y, 0.5), torch.addcmul(y, x, y), x.masked_fill(y > 0, 0.0))]
"""
NAMES["written through a view"] = """
    y = torch.ones(3, requires_grad=True) * 2
    v = y[:1]
    v.mul_(3)
    result = y.grad_fn.name(), v.grad_fn.name(), repr(y)
"""
NAMES["setitem"] = """
    y = torch.zeros(3)
    y[0] = torch.ones((), requires_grad=True)
    result = y.grad_fn.name(), repr(y)
"""
NAMES["copy_"] = """
    y = torch.zeros(3)
    y.copy_(torch.ones(3, requires_grad=True))
    result = y.grad_fn.name(), repr(y)
"""


@table(BACKWARD)
def test_backward(source):
    check(source, torch)


@table(GRAD)
def test_grad(source):
    check(source, torch)


@table(HOOKS)
def test_hooks(source):
    check(source, torch)


@table(TEXTS)
def test_texts(source):
    check(source, torch)


@table(VERSIONS)
def test_versions(source):
    check(source, torch)


@table(SCALARS)
def test_scalars_and_attributes(source):
    check(source, torch)


@table(NAMES)
def test_names_of_nodes(source):
    check(source, torch)
