"""autograd.Function: contexts, outputs, gradients and errors as in torch."""

import pytest
from text_programs import check, table

torch = pytest.importorskip("torch")

PROGRAMS = {
    "too many gradients": """
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, y=None):
                return x*2
            @staticmethod
            def backward(ctx, g):
                return g,g,g
        x = torch.ones(2, requires_grad=True)
        F.apply(x).sum().backward()
    """,
    "non-tensor argument": """
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, y=None):
                return x*2
            @staticmethod
            def backward(ctx, g):
                return g,None
        x = torch.ones(2, requires_grad=True)
        F.apply(x,3).sum().backward()
        result = x.grad
    """,
    "gradient of a number": """
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, y=None):
                return x*2
            @staticmethod
            def backward(ctx, g):
                return g,g
        x = torch.ones(2, requires_grad=True)
        F.apply(x,3).sum().backward()
        result = x.grad
    """,
    "gradient that is no tensor": """
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, y=None):
                return x*2
            @staticmethod
            def backward(ctx, g):
                return 3
        x = torch.ones(2, requires_grad=True)
        F.apply(x).sum().backward()
        result = x.grad
    """,
    "output that is no tensor": """
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, y=None):
                return 3
            @staticmethod
            def backward(ctx, g):
                return g
        x = torch.ones(2, requires_grad=True)
        result = F.apply(x)
    """,
    "outputs, one no tensor": """
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, y=None):
                return x*2, 3
            @staticmethod
            def backward(ctx, g):
                return g
        x = torch.ones(2, requires_grad=True)
        result = F.apply(x)
    """,
    "returned input": """
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, y=None):
                return x
            @staticmethod
            def backward(ctx, g):
                return g*5
        x = torch.ones(2, requires_grad=True)
        y=F.apply(x)
        y.sum().backward()
        result = y is x, x.grad, y.grad_fn.name()
    """,
    "returned view": """
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, y=None):
                return x.view(2)
            @staticmethod
            def backward(ctx, g):
                return g*5
        x = torch.ones(2, requires_grad=True)
        y=F.apply(x)
        y.sum().backward()
        result = y is x, x.grad, y.grad_fn.name()
    """,
    "returned alias": """
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, y=None):
                return x.detach()
            @staticmethod
            def backward(ctx, g):
                return g*5
        x = torch.ones(2, requires_grad=True)
        y=F.apply(x)
        y.sum().backward()
        result = y is x, x.grad, y.grad_fn.name()
    """,
    "written view of an input": """
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, y=None):
                return x.view(2)
            @staticmethod
            def backward(ctx, g):
                return g*5
        x = torch.ones(2, requires_grad=True)
        y=F.apply(x*1)
        y.mul_(2)
        result = 1
    """,
    "dirty": """
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, y=None):
                ctx.mark_dirty(x);x.mul_(2);return x
            @staticmethod
            def backward(ctx, g):
                return g*2
        x = torch.ones(2, requires_grad=True)
        y=x*1
        z=F.apply(y)
        z.sum().backward()
        result = z is y, x.grad, y.grad_fn.name()
    """,
    "dirty leaf": """
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, y=None):
                ctx.mark_dirty(x);x.mul_(2);return x
            @staticmethod
            def backward(ctx, g):
                return g*2
        x = torch.ones(2, requires_grad=True)
        z=F.apply(x)
    """,
    "dirty, not returned": """
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, y=None):
                ctx.mark_dirty(x);x.mul_(2);return x*1
            @staticmethod
            def backward(ctx, g):
                return g*2
        x = torch.ones(2, requires_grad=True)
        z=F.apply(x*1)
    """,
    "input not differentiable": """
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, y=None):
                ctx.mark_non_differentiable(x);return x
            @staticmethod
            def backward(ctx, g):
                return g*2
        x = torch.ones(2, requires_grad=True)
        y=x*1
        z=F.apply(y)
        result = z.requires_grad
    """,
    "saved number": """
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, y=None):
                ctx.save_for_backward(3);return x*1
            @staticmethod
            def backward(ctx, g):
                return g
        x = torch.ones(2, requires_grad=True)
        F.apply(x)
    """,
    "saved tensors afterwards": """
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, y=None):
                ctx.save_for_backward(x);return x*1
            @staticmethod
            def backward(ctx, g):
                ctx.saved_tensors; return g
        x = torch.ones(2, requires_grad=True)
        z=F.apply(x)
        z.sum().backward()
        z.grad_fn.saved_tensors
    """,
    "attributes of the node": """
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, y=None):
                ctx.save_for_backward(x);return x*1
            @staticmethod
            def backward(ctx, g):
                return g
        x = torch.ones(2, requires_grad=True)
        z=F.apply(x)
        result = z.grad_fn.saved_tensors, z.grad_fn.needs_input_grad, z.grad_fn.next_functions[0][0].name(), len(z.grad_fn.next_functions)
    """,
    "gradient of another size": """
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, y=None):
                return x*1
            @staticmethod
            def backward(ctx, g):
                return g[:1]
        x = torch.ones(2, requires_grad=True)
        z=F.apply(x)
        z.sum().backward()
        result = x.grad
    """,
    "gradient of a larger size": """
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, y=None):
                return x*1
            @staticmethod
            def backward(ctx, g):
                return torch.ones(3)
        x = torch.ones(2, requires_grad=True)
        z=F.apply(x)
        z.sum().backward()
        result = x.grad
    """,
    "gradient of another dtype": """
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, y=None):
                return x*1
            @staticmethod
            def backward(ctx, g):
                return torch.ones(2,dtype=torch.float64)
        x = torch.ones(2, requires_grad=True)
        z=F.apply(x)
        z.sum().backward()
        result = x.grad
    """,
    "raises": """
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, y=None):
                return x*1
            @staticmethod
            def backward(ctx, g):
                raise ValueError('k')
        x = torch.ones(2, requires_grad=True)
        z=F.apply(x)
        z.sum().backward()
        result = x.grad
    """,
    "too few parameters": """
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, y=None):
                return x*1, x*2
            @staticmethod
            def backward(ctx, g):
                return g
        x = torch.ones(2, requires_grad=True)
        a,b=F.apply(x)
        a.sum().backward()
        result = x.grad
    """,
    "attribute of the context": """
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, y=None):
                ctx.k=5;return x*1
            @staticmethod
            def backward(ctx, g):
                return g*ctx.k
        x = torch.ones(2, requires_grad=True)
        z=F.apply(x)
        z.sum().backward()
        result = x.grad, z.grad_fn.k
    """,
    "list of outputs": """
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, y=None):
                return [x*1,x*2]
            @staticmethod
            def backward(ctx, g):
                return g
        x = torch.ones(2, requires_grad=True)
        z=F.apply(x)
        result = z
    """,
    "dict of outputs": """
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, y=None):
                return {'a':x*1}
            @staticmethod
            def backward(ctx, g):
                return g
        x = torch.ones(2, requires_grad=True)
        z=F.apply(x)
        result = z['a'].requires_grad
    """,
    "no output": """
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, y=None):
                return None
            @staticmethod
            def backward(ctx, g):
                return g
        x = torch.ones(2, requires_grad=True)
        z=F.apply(x)
        result = z
    """,
    "keywords": """
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, y=None):
                return x*1
            @staticmethod
            def backward(ctx, g):
                return (g,)
        x = torch.ones(2, requires_grad=True)
        z=F.apply(x=x)
        result = z
    """,
    "no gradient": """
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, y=None):
                return x*1
            @staticmethod
            def backward(ctx, g):
                return None
        x = torch.ones(2, requires_grad=True)
        z=F.apply(x)
        z.sum().backward()
        result = x.grad
    """,
    "intermediate saved": """
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, y=None):
                y=x*1; ctx.save_for_backward(y); return x*2
            @staticmethod
            def backward(ctx, g):
                return g*ctx.saved_tensors[0]
        x = torch.ones(2, requires_grad=True)
        y=F.apply(x)
        g,=torch.autograd.grad(y.sum(),x,create_graph=True)
        result = g, g.requires_grad
    """,
    "inputs and outputs saved": """
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, y=None):
                y=x*x; ctx.save_for_backward(x,y); return y
            @staticmethod
            def backward(ctx, g):
                x,y=ctx.saved_tensors;return g*x*y
        x = torch.ones(2, requires_grad=True)
        y=F.apply(x)
        g,=torch.autograd.grad(y.sum(),x,create_graph=True)
        result = g, torch.autograd.grad(g.sum(),x)
    """,
    "written without mark": """
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, y=None):
                x.mul_(2); return x
            @staticmethod
            def backward(ctx, g):
                return g
        x = torch.ones(2, requires_grad=True)
        z=F.apply(x*1)
        result = z
    """,
    "grad mode in forward": """
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, y=None):
                with torch.enable_grad(): y=x*2
                return y
            @staticmethod
            def backward(ctx, g):
                return g*5
        x = torch.ones(2, requires_grad=True)
        z=F.apply(x)
        z.sum().backward()
        result = x.grad, z.grad_fn.name()
    """,
    "closure": """
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, y=None):
                return x*w
            @staticmethod
            def backward(ctx, g):
                return g*5
        x = torch.ones(2, requires_grad=True)
        w=torch.ones(2,requires_grad=True)
        z=F.apply(x)
        z.sum().backward()
        result = x.grad, w.grad
    """,
    "no input requires grad": """
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, y=None):
                return x*2
            @staticmethod
            def backward(ctx, g):
                return g*5
        x = torch.ones(2, requires_grad=True)
        result = F.apply(x.detach()).requires_grad, F.apply(x.detach(), x).requires_grad
    """,
    "text of the node": """
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, y=None):
                return x*2
            @staticmethod
            def backward(ctx, g):
                return g*5
        x = torch.ones(2, requires_grad=True)
        F.apply(x).sum().backward()
         result = repr(F.apply(x).grad_fn)[:44]
    """,
    "missing attribute": """
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, y=None):
                ctx.a=x;return x*2
            @staticmethod
            def backward(ctx, g):
                return g*5
        x = torch.ones(2, requires_grad=True)
        y=F.apply(x)
         result = y.grad_fn.a is x, y.grad_fn.zzz
    """,
    "no forward": """
        F=type('F',(torch.autograd.Function,),{})
        F.apply(torch.ones(2,requires_grad=True))
    """,
    "no backward": """
        seen = []
        class F(torch.autograd.Function):
         @staticmethod
         def forward(ctx,x): return x*1
        F.apply(torch.ones(2,requires_grad=True)).sum().backward()
    """,
    "vjp": """
        seen = []
        class F(torch.autograd.Function):
         @staticmethod
         def forward(ctx,x): return x*1
         @staticmethod
         def vjp(ctx,g): return g*7
        x=torch.ones(2,requires_grad=True)
        F.apply(x).sum().backward()
        result = x.grad
    """,
    "backward and vjp": """
        seen = []
        class F(torch.autograd.Function):
         @staticmethod
         def forward(ctx,x): return x*1
         @staticmethod
         def backward(ctx,g): return g*7
         @staticmethod
         def vjp(ctx,g): return g*7
        x=torch.ones(2,requires_grad=True)
        F.apply(x).sum().backward()
        result = x.grad
    """,
    "forward that is not static": """
        seen = []
        class F(torch.autograd.Function):
         def forward(self,x): return x*1
         def backward(self,g): return g*7
        x=torch.ones(2,requires_grad=True)
        F.apply(x).sum().backward()
        result = x.grad
    """,
    "called": """
        seen = []
        class F(torch.autograd.Function):
         def forward(self,x): return x*1
         def backward(self,g): return g*7
        x=torch.ones(2,requires_grad=True)
        F()(x)
    """,
    "called base": """
        F=torch.autograd.Function()
        F(3)
    """,
    "setup_context": """
        seen = []
        class F(torch.autograd.Function):
         @staticmethod
         def forward(x): return x*1
         @staticmethod
         def setup_context(ctx,inputs,output): ctx.save_for_backward(inputs[0],output); ctx.n=len(inputs)
         @staticmethod
         def backward(ctx,g):
          a,b=ctx.saved_tensors
          return g*a*b*ctx.n
        x=torch.tensor(3.,requires_grad=True)
        y=F.apply(x)
        g,=torch.autograd.grad(y,x,create_graph=True)
        result = y,g,torch.autograd.grad(g,x)
    """,
    "setup_context returns something": """
        seen = []
        class F(torch.autograd.Function):
         @staticmethod
         def forward(x): return x*1
         @staticmethod
         def setup_context(ctx,inputs,output): return 5
         @staticmethod
         def backward(ctx,g): return g
        F.apply(torch.ones(2,requires_grad=True))
    """,
    "no materialised gradients": """
        seen = []
        class F(torch.autograd.Function):
         @staticmethod
         def forward(ctx,x): ctx.set_materialize_grads(False); return x*1, x*2
         @staticmethod
         def backward(ctx,g,h):
          seen.append((g, h)); return g
        x=torch.ones(2,requires_grad=True)
        F.apply(x)[0].sum().backward()
        result = x.grad
        result = result, seen
    """,
    "integer output": """
        seen = []
        class F(torch.autograd.Function):
         @staticmethod
         def forward(ctx,x): return x*1, x>0
         @staticmethod
         def backward(ctx,g,h):
          seen.append((g, h)); return g
        x=torch.ones(2,requires_grad=True)
        a,b=F.apply(x)
        a.sum().backward()
        result = x.grad,b.requires_grad,b.grad_fn
        result = result, seen
    """,
    "needs_input_grad set": """
        seen = []
        class F(torch.autograd.Function):
         @staticmethod
         def forward(ctx,x): ctx.needs_input_grad=3; return x*1
         @staticmethod
         def backward(ctx,g):
          return g
        x=torch.ones(2,requires_grad=True)
        a=F.apply(x)
    """,
    "once_differentiable": """
        once_differentiable = torch.autograd.function.once_differentiable
        seen = []
        class F(torch.autograd.Function):
         @staticmethod
         def forward(ctx,x): return x*2
         @staticmethod
         @once_differentiable
         def backward(ctx,g):
          return g*2
        x=torch.ones(2,requires_grad=True)
        y=F.apply(x)
        g,=torch.autograd.grad(y.sum(),x,torch.ones((),requires_grad=True),create_graph=True)
        result = g, g.grad_fn.name()
        g.sum().backward()
    """,
}


@table(PROGRAMS)
def test_function(source):
    check(source, torch)
