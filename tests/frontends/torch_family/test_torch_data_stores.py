"""x.data = y: elements, memory, versions and gradients afterwards are those of plain torch."""

import pytest
from program_table import Programs

import minidynamo
from minidynamo import _C

torch = pytest.importorskip("torch")

PROGRAMS = Programs()
program, breaks = PROGRAMS.add, PROGRAMS.add_breaking


@program
def computed(p, q, t, flat):
    p.data = p.data - 0.1 * q.data


@program
def written_by_an_operator(p, q, t, flat):
    p.data -= 0.1 * t
    q.data *= 2
    return p.detach() + 1


@program
def of_another_tensor(p, q, t, flat):
    p.data = t


@program
def of_another_parameter(p, q, t, flat):
    p.data = q.data
    return q.detach() + 1


@program
def parts_of_one_tensor(p, q, t, flat):
    at = 0
    for each in (p, q):
        each.data = flat[at : at + each.numel()].view_as(each).data
        at += each.numel()


@program
def its_own(p, q, t, flat):
    p.data = p.data
    q.data = q
    return p.detach() * 2


@program
def exchanged(p, q, t, flat):
    kept = p.data
    p.data = q.data
    q.data = kept


@program
def a_view_from_before(p, q, t, flat):
    view = p.detach()
    p.data = t * 2
    return view, view + 1


@program
def read_afterwards(p, q, t, flat):
    p.data = t + 1
    with torch.no_grad():
        return p * q, p.shape, p.is_leaf, p.requires_grad


@program
def by_setattr(p, q, t, flat):
    setattr(p, "data", t.neg())  # noqa: B010
    return p


@program
def result_is_the_data(p, q, t, flat):
    made = t * 3
    p.data = made
    return made


@program
def several_times_one(p, q, t, flat):
    made = t * 3
    p.data = made
    q.data = made


@program
def of_plain_tensors(p, q, t, flat):
    t.data = q.data * 2
    return t + 1


@program
def transposed(p, q, t, flat):
    p.data = (t * 2).T.contiguous().T
    return p.stride()


@program
def raises_afterwards(p, q, t, flat):
    p.data = t + 1
    raise ValueError("afterwards")


@program
def averaged(p, q, t, flat):
    for mean, value in ((p, t), (q, t * 2)):
        mean.data = 0.9 * mean.data + 0.1 * value


@breaks
def recorded_afterwards(p, q, t, flat):
    p.data = t + 1
    loss = (p * q).sum()
    loss.backward()
    return loss


@breaks
def loss_from_before(p, q, t, flat):
    loss = (p * p * q).sum()
    p.data = t + 1
    loss.backward()
    return loss


@breaks
def loss_goes_out(p, q, t, flat):
    loss = (p.sin() * q).sum()
    p.data = t + 1
    return loss


@program
def stepped(p, q, t, flat):
    loss = ((p * q).sin() * t).sum()
    loss.backward()
    for each in (p, q):
        each.data = each.data - 0.1 * each.grad
        each.grad = None
    return loss.detach()


@breaks
def written_before(p, q, t, flat):
    with torch.no_grad():
        p.add_(1)
    p.data = t + 1


@breaks
def written_afterwards(p, q, t, flat):
    p.data = t + 1
    with torch.no_grad():
        p.add_(1)
        q.mul_(2)
    return p.detach()


@breaks
def data_written_afterwards(p, q, t, flat):
    p.data = t
    t.add_(1)
    return p.detach() + 1


@breaks
def view_written_afterwards(p, q, t, flat):
    view = p.detach()
    p.data = t * 2
    view.add_(1)
    return view


@breaks
def of_another_dtype(p, q, t, flat):
    p.data = t.to(torch.float16)


@breaks
def of_other_sizes(p, q, t, flat):
    p.data = t[:1] + 1


@breaks
def repeated_elements(p, q, t, flat):
    p.data = t[:1].expand(2, 3)


@breaks
def of_a_result_with_a_history(p, q, t, flat):
    p.data = q * 2


@breaks
def no_tensor(p, q, t, flat):
    p.data = 5


def arguments(kind="apart"):
    p, q = (torch.nn.Parameter(torch.arange(6.0).view(2, 3) + at) for at in (1, 2))
    t, flat = torch.arange(6.0).view(2, 3) * 0.5, torch.arange(12.0)
    return (p, p if kind == "one" else q, t, flat)


def observed(function, given):
    try:
        result, error = function(*given), None
    except Exception as raised:
        result, error = None, (type(raised), str(raised))
    parts = result if isinstance(result, tuple) else (result,)
    for part in parts:
        if isinstance(part, torch.Tensor) and part.grad_fn is not None and error is None:
            try:
                part.sum().backward()
            except RuntimeError as raised:
                error = (type(raised), str(raised)[:40])
    tensors = [each for each in (*given, *parts) if isinstance(each, torch.Tensor)]
    memory = [[a.untyped_storage()._cdata == b.untyped_storage()._cdata for a in tensors] for b in tensors]
    same = [[a is b for a in tensors] for b in tensors]
    facts = [
        (each.dtype, each.shape, each.stride(), each.storage_offset(), each._version, each.requires_grad, each.is_leaf)
        for each in tensors
    ]
    values = [each.detach().clone() for each in tensors]
    gradients = [each.grad if each.is_leaf else None for each in tensors]
    others = [each for each in parts if not isinstance(each, torch.Tensor)]
    return values, gradients, (facts, memory, same, others, error)


def check(ours, theirs):
    assert ours[2] == theirs[2]
    for a, b in zip(ours[0] + ours[1], theirs[0] + theirs[1], strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            torch.testing.assert_close(a, b)


@pytest.mark.parametrize("kind", ["apart", "one"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_plain_torch(name, kind):
    minidynamo._dynamo.reset()
    compiled = minidynamo.compile(PROGRAMS[name])
    # A capture for other relations among the arguments comes first.
    observed(compiled, arguments("apart"))
    for _ in range(2):
        check(observed(compiled, arguments(kind)), observed(PROGRAMS[name], arguments(kind)))


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in PROGRAMS.breaking])
def test_no_break(name):
    minidynamo._dynamo.reset()
    found = _C.record_breaks(lambda: observed(minidynamo.compile(PROGRAMS[name]), arguments()))
    assert [each["text"] for each in found] == []


@pytest.mark.parametrize("name", PROGRAMS)
def test_checked_captures(name):
    minidynamo._dynamo.reset()
    compiled = minidynamo.compile(PROGRAMS[name])
    with minidynamo._dynamo.config.patch(check_captures=2):
        for _ in range(3):
            check(observed(compiled, arguments()), observed(PROGRAMS[name], arguments()))


def test_modes():
    def computes(p, t):
        p.data = t + 1
        return p.detach()

    compiled = minidynamo.compile(computes)
    for mode in (torch.no_grad, torch.inference_mode, torch.enable_grad):
        with mode():
            (p, _, t, _), (a, _, b, _) = arguments(), arguments()
            assert torch.equal(compiled(p, t), computes(a, b))
            assert torch.equal(p.detach(), a.detach())
