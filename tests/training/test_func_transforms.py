"""func: transforms of functions and vmap, as in torch."""

import pytest
from text_programs import check, table

torch = pytest.importorskip("torch")

CALLS = [
    "F.grad(lambda x:x*2)(x)",
    "F.grad(lambda x:(x*2).sum())(3)",
    "F.grad(lambda x:3)(s)",
    "F.grad(lambda x:x**2, argnums=(0,1))(s)",
    "F.grad(lambda x,y:x*y, argnums=())(s,s)",
    "F.grad(lambda x,y:x*y, argnums=(0,0))(s,s)",
    "F.grad(lambda x,y:x*y, argnums='a')(s,s)",
    "F.grad(lambda x,y:x*y, argnums=-1)(s,s)",
    "F.grad(lambda x:x['a'].sum()*2)({'a':x})",
    "F.grad(lambda x:(x*x,5),has_aux=True)(s)",
    "F.grad(lambda x:(x*x,x*3),has_aux=True)(s)",
    "F.grad(lambda x:x*x,has_aux=True)(s)",
    "F.grad_and_value(lambda x:x*x)(s)",
    "F.grad_and_value(lambda x:(x*x,x*3),has_aux=True)(s)",
    "F.grad(lambda x: torch.ones(()))(s)",
    "F.grad(lambda x:x*x)(torch.tensor(3))",
    "F.grad(F.grad(lambda x:x**3))(s)",
    "F.grad(lambda x:x*w)(s)",
    "F.vjp(lambda x:x*x, x)[0]",
    "F.vjp(lambda x:x*x, x)[1](x)",
    "F.vjp(lambda x,y:(x*y,x), x,x)[1]((x,x))",
    "F.vjp(lambda x,y:(x*y,x), x,x)[1](x)",
    "F.vjp(lambda x:(x*x,3), x,has_aux=True)[0::2]",
    "F.vjp(lambda x:(x>0), x)",
    "F.vjp(lambda x:3, x)",
    "F.vjp(lambda x:x*x, x)[1](s)",
    "F.jvp(lambda x:x*x,(x,),(x,))",
    "F.jvp(lambda x:x*x,x,x)",
    "F.jvp(lambda x,y:x*y,(x,x),(x,))",
    "F.jvp(lambda x,y:(x*y,x),(x,x),(x,x))",
    "F.jvp(lambda x:(x*x,3),(x,),(x,),has_aux=True)",
    "F.jvp(lambda x:3,(x,),(x,))",
    "F.jvp(lambda x:torch.ones(2),(x,),(x,))",
    "F.jvp(lambda x:torch.ones(2),(x,),(x,),strict=True)",
    "F.jacrev(lambda x:x**2)(x)",
    "F.jacrev(lambda x,y:(x*y,x.sum()),argnums=(0,1))(x,x)",
    "F.jacrev(lambda x:{'a':x*x})(x)",
    "F.jacrev(lambda x:x.sum())(x)",
    "F.jacrev(lambda x:(x*x,5),has_aux=True)(x)",
    "F.jacfwd(lambda x:x**2)(x)",
    "F.jacfwd(lambda x,y:(x*y,x.sum()),argnums=(0,1))(x,x)",
    "F.hessian(lambda x:(x**3).sum())(x)",
    "F.hessian(lambda x,y:(x**3*y).sum(),argnums=(0,1))(x,x)",
    "F.jacrev(lambda x:x**2)(x.to(torch.complex64))",
    "F.jacrev(lambda x:3)(x)",
    "F.jacfwd(lambda x:3)(x)",
    "F.jacrev(lambda x:x,chunk_size=0)(x)",
    "F.vmap(lambda x:x*2)(x)",
    "F.vmap(lambda x:x*2)(s)",
    "F.vmap(lambda x:x*2,in_dims=1)(x)",
    "F.vmap(lambda x:3)(x)",
    "F.vmap(lambda x:3,out_dims=None)(x)",
    "F.vmap(lambda x:x,out_dims=None)(x)",
    "F.vmap(lambda x,y:x*y,in_dims=(0,None))(x,s)",
    "F.vmap(lambda x,y:x*y,in_dims=(0,))(x,s)",
    "F.vmap(lambda x,y:x*y)(x,torch.ones(3))",
    "F.vmap(lambda x:x)()",
    "F.vmap(lambda x:x,in_dims=None)(x)",
    "F.vmap(lambda x:x,in_dims='a')(x)",
    "F.vmap(lambda x:x,in_dims=(('a'),))(x)",
    "F.vmap(lambda x,y:x)(x,3)",
    "F.vmap(lambda x:(x,x.reshape(1).repeat(2)),out_dims=(0,1))(x)",
    "F.vmap(lambda x:(x,x),out_dims=(0,1,0))(x)",
    "F.vmap(lambda x:x,out_dims='a')(x)",
    "F.vmap(lambda x:x+torch.rand(()))(x)",
    "F.vmap(lambda x:x,randomness='z')(x)",
    "F.vmap(lambda x:{'a':x['b']*2})({'b':x})",
    "F.vmap(F.grad(lambda x:x**3))(x)",
    "F.vmap(lambda x:x.sum())(torch.ones(0,3))",
    "F.vmap(lambda x:x, chunk_size=1)(x)",
    "F.vmap(lambda x:x, chunk_size=0)(x)",
    "F.vmap(lambda x: None)(x)",
    "F.vmap(lambda x:(x,3))(x)",
    "F.vmap(lambda x:x,out_dims=3)(x)",
    "F.vmap(lambda x:x,out_dims=-1)(torch.ones(2,3)).shape",
    "F.vmap(F.vmap(torch.dot))(torch.ones(2,3,4),torch.ones(2,3,4))",
    "F.linearize(lambda x:x*x,x)[0]",
    "F.linearize(lambda x:x*x,x)[1](x)",
]


def program(call):
    return f"""
        F = torch.func
        x, s = torch.tensor([1.0, 2.0]), torch.tensor(2.0)
        w = torch.tensor(4.0, requires_grad=True)
        result = {call}
    """


@table({call: program(call) for call in CALLS})
def test_call(source):
    check(source, torch)


PROGRAMS = {
    "gradients of parameters, per sample": """
        torch.manual_seed(0)
        model = torch.nn.Linear(3, 1).double()
        with torch.no_grad():
            model.weight.copy_(torch.tensor([[1.0, 2.0, 3.0]])); model.bias.fill_(0.5)
        parameters = {name: value.detach() for name, value in model.named_parameters()}
        def loss(parameters, x, y):
            return ((torch.func.functional_call(model, parameters, (x,)) - y) ** 2).sum()
        xs, ys = torch.arange(12.0).reshape(4, 3).double(), torch.ones(4, 1).double()
        result = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(parameters, xs, ys)
    """,
    "nested with a closure": """
        def outer(x):
            def inner(y):
                return x * y * y
            return torch.func.grad(inner)(x)
        result = torch.func.grad(outer)(torch.tensor(3.0))
    """,
    "perturbations are not confused": """
        g = torch.func.grad(lambda x: x * torch.func.grad(lambda y: x + y)(torch.tensor(1.0)))
        result = g(torch.tensor(1.0))
    """,
    "through outer gradients": """
        x = torch.tensor(3.0, requires_grad=True)
        y = torch.func.grad(lambda x: x**3)(x)
        result = y, torch.autograd.grad(y, x)
    """,
    "under no_grad": """
        x = torch.tensor(3.0, requires_grad=True)
        with torch.no_grad():
            y = torch.func.grad(lambda x: x**3)(x)
        result = y
    """,
    "no_grad inside": """
        def f(x):
            with torch.no_grad():
                y = x * x
            return x * y
        result = torch.func.grad(f)(torch.tensor(3.0))
    """,
    "grad of vjp": """
        def f(x):
            _, back = torch.func.vjp(torch.sin, x)
            return back(torch.ones(()).double())[0]
        result = torch.func.grad(f)(torch.tensor(1.0).double())
    """,
    "jvp of grad": """
        f = torch.func.grad(lambda x: (x**3).sum())
        result = torch.func.jvp(f, (torch.tensor([1.0, 2.0]),), (torch.tensor([1.0, 0.5]),))
    """,
    "hessian of an mlp": """
        w = torch.tensor([[1.0, -2.0], [0.5, 3.0]]).double()
        f = lambda x: torch.tanh(x @ w).pow(2).sum()
        x = torch.tensor([0.3, -0.7]).double()
        result = torch.func.hessian(f)(x), torch.func.jacfwd(torch.func.jacfwd(f))(x), torch.func.jacrev(torch.func.jacrev(f))(x)
    """,
    "keyword arguments": """
        result = torch.func.grad(lambda x, k: x * k)(torch.tensor(3.0), k=torch.tensor(5.0))
    """,
    "torch.vmap is it": "result = torch.vmap is torch.func.vmap",
    "vmap, same numbers": """
        x = torch.func.vmap(lambda x: x + torch.rand(()), randomness="same")(torch.zeros(3))
        result = bool((x == x[0]).all())
    """,
    "vmap, different numbers": """
        x = torch.func.vmap(lambda x: x + torch.rand(()), randomness="different")(torch.zeros(3))
        result = bool((x == x[0]).all())
    """,
    "vmap, gradient through it": """
        x = torch.arange(3.0).requires_grad_()
        y = torch.func.vmap(lambda x: x**3)(x)
        y.sum().backward()
        result = x.grad
    """,
    "vmap of a matrix function": """
        a, b = torch.arange(12.0).reshape(2, 2, 3), torch.arange(6.0).reshape(3, 2)
        result = torch.func.vmap(torch.mm, in_dims=(0, None))(a, b), torch.func.vmap(torch.mv, in_dims=(1, None))(a, torch.ones(3))
    """,
    "linearize": """
        out, f = torch.func.linearize(torch.sin, torch.tensor([1.0, 2.0]).double())
        result = out, f(torch.ones(2).double()), f(torch.tensor([0.0, 3.0]).double())
    """,
    "names of wrappers": """
        def named(x):
            "doc"
            return x * x
        result = [f(named).__name__ for f in (torch.func.grad, torch.func.jacrev, torch.func.vmap)]
    """,
}


@table(PROGRAMS)
def test_program(source):
    check(source, torch)
