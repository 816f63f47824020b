"""autograd.functional and gradcheck: values, structures and errors as in torch."""

import pytest
from text_programs import check, table

torch = pytest.importorskip("torch")

PREFIX = """
    A = torch.autograd.functional
    x, y = torch.tensor([1.0, 2.0]).double(), torch.tensor([3.0, 5.0]).double()
    s, r = torch.tensor(3.0).double(), torch.tensor([1.0, 2.0]).double().requires_grad_()
    cube, both = lambda x: (x**3).sum(), lambda x, y: (x**2 * y).sum()
    const = torch.ones(2).double().requires_grad_()
    result = """
CALLS = [
    *[
        "A.vjp(lambda x: x**2, x, y)",
        "A.vjp(both, (x, y))",
        "A.vjp(lambda x, y: (x * y, x), (x, y), (y, x))",
        "A.vjp(cube, x)",
    ],
    *[
        "A.vjp(lambda x: x**2, x)",
        "A.vjp(lambda x: x**2, x, s)",
        "A.vjp(lambda x: x**2, x, (x, y))",
        "A.vjp(lambda x: 3, x)",
    ],
    *[
        "A.vjp(lambda x: (x, 3), x)",
        "A.vjp(cube, 3)",
        "A.vjp(both, (x, 3))",
        "A.vjp(both, [x, y])",
        "A.vjp(cube, r, create_graph=True)",
    ],
    *[
        "A.vjp(lambda x: const * 2, x, y)",
        "A.vjp(lambda x: const * 2, x, y, strict=True)",
        "A.vjp(lambda x: y, x, y, strict=True)",
    ],
    *[
        "A.vjp(lambda x: x * 2, r, y, create_graph=True, strict=True)",
        "A.vjp(lambda x, y: x * 2, (x, y), x, strict=True)",
    ],
    *["A.vjp(lambda x, y: (x * y, x), (x, y), (y, s))", "A.vjp(lambda x, y: (x * y, x), (x, y), (y,))"],
    *[
        "A.jvp(lambda x: x**2, x, y)",
        "A.jvp(both, (x, y), (y, x))",
        "A.jvp(lambda x: x**3, s)",
        "A.jvp(lambda x: x**2, x)",
    ],
    *["A.jvp(lambda x: x * 2, x, y, strict=True)", "A.jvp(lambda x: y, x, y)", "A.jvp(lambda x: y, x, y, strict=True)"],
    *["A.jvp(lambda x: x**3, r, y, create_graph=True)", "A.jvp(lambda x, y: x**3, (x, y), (x, y), strict=True)"],
    *["A.jvp(lambda x: const * 2, x, y, strict=True)", "A.jvp(lambda x: (x * 2, x**2), x, y)"],
    *["A.jacobian(lambda x: x**2, x)", "A.jacobian(lambda x, y: (x * y, x.sum()), (x, y))", "A.jacobian(both, (x, y))"],
    *[
        "A.jacobian(cube, r, create_graph=True)",
        "A.jacobian(lambda x: y, x)",
        "A.jacobian(lambda x: y, x, strict=True)",
    ],
    *["A.jacobian(lambda x, y: x * 2, (x, y), strict=True)", "A.jacobian(lambda x: x**2, x, vectorize=True)"],
    *[
        "A.jacobian(lambda x: x * 2, r, create_graph=True, strict=True)",
        "A.jacobian(lambda x: x**2, x, strict=True, vectorize=True)",
    ],
    *["A.jacobian(lambda x: x**2, x, strategy='forward-mode')", "A.jacobian(lambda x: x**2, x, strategy='sideways')"],
    *["A.jacobian(lambda x: x**2, x, vectorize=True, strategy='forward-mode')"],
    *["A.jacobian(lambda x: x**2, x, create_graph=True, strategy='forward-mode')"],
    *[
        "A.jacobian(lambda x: x**2, x, strict=True, strategy='forward-mode')",
        "A.jacobian(lambda x: x.reshape(1, 2) ** 2, x)",
    ],
    *[
        "A.hessian(cube, x)",
        "A.hessian(both, (x, y))",
        "A.hessian(lambda x: x**2, x)",
        "A.hessian(lambda x: (cube(x), 1), x)",
    ],
    *[
        "A.hessian(lambda x: (cube(x),), x)",
        "A.hessian(lambda x: x.sum(), x)",
        "A.hessian(lambda x: x.sum(), x, strict=True)",
    ],
    *[
        "A.hessian(cube, r, create_graph=True)",
        "A.hessian(cube, x, vectorize=True)",
        "A.hessian(lambda x: cube(x).reshape(1, 1), x)",
    ],
    *["A.hessian(lambda x: 3, x)", "A.hessian(cube, 3)", "A.hessian(lambda x, y: cube(x), (x, y), strict=True)"],
    *[
        "A.vhp(cube, x, y)",
        "A.vhp(both, (x, y), (y, x))",
        "A.vhp(lambda x: x**3, s)",
        "A.vhp(cube, x)",
        "A.vhp(lambda x: x**2, x, y)",
    ],
    *[
        "A.vhp(lambda x: x.sum(), x, y)",
        "A.vhp(lambda x: x.sum(), x, y, strict=True)",
        "A.vhp(cube, r, y, create_graph=True)",
    ],
    *[
        "A.hvp(cube, x, y)",
        "A.hvp(both, (x, y), (y, x))",
        "A.hvp(lambda x: x**3, s)",
        "A.hvp(cube, x)",
        "A.hvp(lambda x: x**2, x, y)",
    ],
    *[
        "A.hvp(lambda x: x.sum(), x, y)",
        "A.hvp(lambda x: x.sum(), x, y, strict=True)",
        "A.hvp(cube, r, y, create_graph=True)",
    ],
    *["A.hvp(lambda x: (cube(x), cube(x)), x, y)", "A.hvp(both, (x, y), (y, s))"],
]

GRADCHECK = {
    "right": "result = torch.autograd.gradcheck(lambda x: x**2, torch.ones(2).double().requires_grad_())",
    "two inputs and outputs": """
        x, y = torch.tensor([1.0, 2.0]).double().requires_grad_(), torch.tensor([3.0, 5.0]).double().requires_grad_()
        result = torch.autograd.gradcheck(lambda x, y: (x * y, x.exp().sum()), (x, y))
    """,
    "complex": """
        x = torch.tensor([1.0 + 2j, 0.5j], dtype=torch.complex128, requires_grad=True)
        result = torch.autograd.gradcheck(lambda x: x * x, (x,)), torch.autograd.gradcheck(lambda x: x.abs(), (x,))
    """,
    "wrong": """
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2
            @staticmethod
            def backward(ctx, g):
                return g * 3
        torch.autograd.gradcheck(F.apply, torch.ones(2).double().requires_grad_())
    """,
    "wrong, not raised": """
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2
            @staticmethod
            def backward(ctx, g):
                return g * 3
        result = torch.autograd.gradcheck(F.apply, torch.ones(2).double().requires_grad_(), raise_exception=False)
    """,
    "not scaled": """
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2
            @staticmethod
            def backward(ctx, g):
                return torch.full_like(g, 2) * (1 if g.abs().sum() == 0 else g)
        torch.autograd.gradcheck(F.apply, torch.ones(2).double().requires_grad_())
    """,
    "float32": "result = torch.autograd.gradcheck(lambda x: x * 2, torch.ones(2, requires_grad=True), eps=1e-2, atol=1e-2)",
    "nothing requires grad": "torch.autograd.gradcheck(lambda x: x * 2, torch.ones(2).double())",
    "overlapping": "torch.autograd.gradcheck(lambda x: x * 2, torch.ones(1).double().requires_grad_().expand(3))",
    "constant": "result = torch.autograd.gradcheck(lambda x: torch.ones(2).double(), torch.ones(2).double().requires_grad_())",
    "detached": "torch.autograd.gradcheck(lambda x: x.detach() * 2, torch.ones(2).double().requires_grad_())",
    "no check at all": "torch.autograd.gradcheck(lambda x: x, torch.ones(2).double().requires_grad_(), check_backward_ad=False)",
    "parameters": """
        layer = torch.nn.Linear(2, 2).double()
        x = torch.ones(3, 2).double()
        result = torch.autograd.gradcheck(lambda *p: layer(x), tuple(layer.parameters()))
    """,
    "second": "result = torch.autograd.gradgradcheck(lambda x: x**3, torch.ones(2).double().requires_grad_())",
    "second, wrong": """
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x**3
            @staticmethod
            def backward(ctx, g):
                x, = ctx.saved_tensors
                return g * 3 * x.detach() ** 2
        torch.autograd.gradgradcheck(
            F.apply, torch.ones(1).double().requires_grad_(), torch.ones(1).double().requires_grad_())
    """,
    "second, given": """
        result = torch.autograd.gradgradcheck(
            torch.sin, torch.ones(2).double().requires_grad_(), torch.tensor([2.0, 3.0]).double().requires_grad_())
    """,
    "the error's class": """
        error = torch.autograd.gradcheck.__globals__["GradcheckError"]
        result = error.__name__, error.__mro__[1].__name__
    """,
    "batched": "result = torch.autograd.gradcheck(lambda x: x**2, torch.ones(2).double().requires_grad_(), check_batched_grad=True)",
}


@table({call: PREFIX + call + "\n" for call in CALLS})
def test_functional(source):
    check(source, torch)


@table(GRADCHECK)
def test_gradcheck(source):
    check(source, torch)


def test_no_forward_mode():
    import minidynamo

    x = minidynamo.ones(2, dtype=minidynamo.float64, requires_grad=True)
    with pytest.raises(NotImplementedError, match="no forward mode"):
        minidynamo.autograd.gradcheck(lambda x: x, x, check_forward_ad=True)
