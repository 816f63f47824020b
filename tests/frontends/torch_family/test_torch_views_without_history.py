"""Views that are made while nothing is recorded: of what requires grad they require grad, as leaves with no way back."""

import pytest

import minidynamo

torch = pytest.importorskip("torch")

VIEWS = {
    "part": lambda y: y[:1],
    "transposed": lambda y: y.t(),
    "flat": lambda y: y.view(-1),
    "one of several": lambda y: y.chunk(2)[0],
    "view of a view": lambda y: y.view(-1)[1:],
    "flattened": lambda y: y.flatten(),
    "detached": lambda y: y.detach()[:1],
    "of a copy": lambda y: y.clone()[:1],
    "computed": lambda y: y + 1,
    "indices": lambda y: y.argmax(1)[:1],
}
USES = {
    "returned": lambda y, v: (v,),
    "returned with it": lambda y, v: (y, v, y + 1),
    "asked": lambda y, v: (v.requires_grad, y * 2),
    "asked as a leaf": lambda y, v: (v.is_leaf, v.grad_fn is None, y * 2),
    "computed with": lambda y, v: (v * 2, y.sum()),
    "added to": lambda y, v: (y.sum() + v.sum(),),
    "viewed": lambda y, v: (v.reshape(-1), y + 1),
    "detached": lambda y, v: (v.detach() + 1, y + 1),
    "dead": lambda y, v: (y + 1,),
    "across a break": lambda y, v: (minidynamo._dynamo.graph_break(), v.sum() * 2, y + 1),
}


def used_without_recording(y, v):
    with torch.no_grad():
        return (v * 2).sum(), (v > 0).float().mean(), y + 1


USES["used without recording"] = used_without_recording


def seen(function, of_argument):
    x = (torch.arange(6.0).reshape(2, 3) - 2).requires_grad_()
    results = function(x)
    rows = [
        (each.requires_grad, each.is_leaf, each.detach().tolist()) if isinstance(each, torch.Tensor) else each
        for each in results
    ]
    with_history = [each.sum() for each in results if isinstance(each, torch.Tensor) and each.grad_fn is not None]
    if with_history:
        sum(with_history).backward()
    return rows, None if x.grad is None else x.grad.tolist()


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("of_argument", [False, True])
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
def test_view(view, use, of_argument):
    def function(x):
        y = x if of_argument else x * 2
        with torch.no_grad():
            v = VIEWS[view](y)
        return USES[use](y, v)

    minidynamo._dynamo.reset()
    compiled, theirs = minidynamo.compile(function), seen(function, of_argument)
    for _ in range(2):
        assert seen(compiled, of_argument) == theirs
