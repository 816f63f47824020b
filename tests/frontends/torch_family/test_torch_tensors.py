"""torch's tensors, captured as they are: results, views, writes, state and guards as in plain torch."""

import gc
import importlib.util
import sys
import threading
import weakref

import pytest

if importlib.util.find_spec("torch") is None:
    pytest.skip("torch is not installed: its tensors are not tried", allow_module_level=True)
import torch
from compiled_torch import compared, difference_of_parts
from torch._higher_order_ops.associative_scan import associative_scan

import minidynamo
from minidynamo import _C
from minidynamo._dynamo.testing import CompileCounter

pytestmark = [pytest.mark.counts_regions, pytest.mark.usefixtures("without_gradients")]


def facts(value, arguments):
    """What a program can see of a result, arguments by their positions."""
    if isinstance(value, torch.Tensor):
        base = [i for i, each in enumerate(arguments) if value._base is each]
        same = [i for i, each in enumerate(arguments) if value is each]
        shared = [
            i
            for i, each in enumerate(arguments)
            if isinstance(each, torch.Tensor)
            and each.untyped_storage().data_ptr() == value.untyped_storage().data_ptr()
        ]
        strides = value.stride() if value.numel() > 1 else None
        elements = torch.round(value.double(), decimals=5).tolist()
        # Of an argument's memory; else it is up to the function.
        views = (value._is_view(), value._base is not None, base) if shared else None
        return (type(value), value.dtype, value.shape, strides, elements, views, same, shared, value.requires_grad)
    if isinstance(value, (tuple, list)):
        return type(value), [facts(each, arguments) for each in value]
    if isinstance(value, dict):
        return {key: facts(each, arguments) for key, each in value.items()}
    return type(value), value


def versions(arguments):
    return [each._version for each in arguments if isinstance(each, torch.Tensor) and not each.is_inference()]


def check(function, make, graphs=1, breaks=0, calls=3):
    counter = CompileCounter()
    for compiled in (minidynamo.compile(function), minidynamo.compile(function, backend=counter)):
        for _ in range(calls):
            expected_arguments, arguments = make(), make()
            before = versions(arguments)
            expected = facts(function(*expected_arguments), expected_arguments)
            assert facts(compiled(*arguments), arguments) == expected
            assert facts(arguments, ()) == facts(expected_arguments, ())
            assert versions(arguments) == versions(expected_arguments), before
    assert counter.frame_count == graphs
    assert minidynamo._dynamo.explain(function)(*make()).graph_break_count == breaks


def numbers(*sizes, dtype=torch.float32):
    return (torch.arange(torch.Size(sizes).numel()).reshape(sizes) % 7 + 1).to(dtype)


def two():
    return numbers(3, 4), numbers(3, 4) * 2


CAPTURED = {
    "operators": lambda a, b: (a * b + 2) / (b - a * 3),
    "functions": lambda a, b: torch.relu(torch.add(a, b, alpha=2)),
    "methods": lambda a, b: a.mul(b).sum(dim=1, keepdim=True),
    "comparisons": lambda a, b: (a < b, a == b, torch.where(a > 3, a, b)),
    "views": lambda a, b: (a.t(), a[1], a[:, ::2], b.reshape(4, 3), b.unsqueeze(0)),
    "a_view_of_a_view": lambda a, b: a.t()[1:].T,
    "arguments": lambda a, b: (a, [b], {"a": a + 0}),
    "detached": lambda a, b: (
        a.detach(),
        torch.detach(b[1]),
        a.detach().t(),
        a.detach().detach(),
        (a + b).detach() * 2,
    ),
    "a_result_and_itself_detached": lambda a, b: (lambda c: (c, c.detach(), c.detach()[0], c[0].detach()))(a + b),
    "data": lambda a, b: (a.data, a.data + b, b.data.t(), a.data[1].detach(), a.t().data, a.detach().data),
    "a_result_and_its_view": lambda a, b: (lambda c: (c, c[0]))(a + b),
    "a_result_and_a_whole_view": lambda a, b: (lambda c: (c, c.view(3, 4), c[:], c))(a + b),
    "named_results": lambda a, b: a.max(dim=1),
    "fields_of_named_results": lambda a, b: a.max(dim=1).values + torch.topk(b, 2, dim=1).values.sum(1),
    "sizes": lambda a, b: a * a.shape[0] + a.size(1) + b.numel() + len(a.shape),
    "a_size": lambda a, b: (a + 1, a.shape, b.size()),
    "dtypes": lambda a, b: (a.to(torch.float64), a.dtype, b.int(), b.dtype == torch.float32),
    "devices": lambda a, b: (a.device, torch.zeros(2, device=a.device), a.to("cpu")),
    "factories": lambda a, b: (torch.zeros(2, 3), torch.ones_like(a), torch.arange(4), torch.full((2,), 3.0)),
    "joined": lambda a, b: (torch.cat([a, b]), torch.stack((a, b), dim=1), *torch.chunk(a, 2, dim=1)),
    "products": lambda a, b: (a @ b.t(), torch.einsum("ij,kj->ik", a, b), torch.nn.functional.linear(a, b)),
    "reductions": lambda a, b: (a.mean(), a.std(dim=0), torch.softmax(a, -1), torch.var_mean(b, dim=1)),
    "indexing": lambda a, b: (a[torch.tensor([0, 2])], a[a > 3.0].sum() if False else a[..., None], b[1:, :2]),
    "integers": lambda a, b: (a.long() // 2, a.int() % 3, (a.to(torch.uint8) << 1), ~a.bool()),
    "halves": lambda a, b: (a.half() + b.half(), a.bfloat16() * 2),
    "no_work_but_a_test": lambda a, b: a + 1 if isinstance(a, torch.Tensor) and torch.is_tensor(b) else None,
    "grad_mode_switched": lambda a, b: switched(a, b),
    "a_tensor_of_ours": lambda a, b: (minidynamo.ones(2) + 1, a + b)[1],
    "neutral_keywords": lambda a, b: (
        torch.zeros(3, layout=torch.strided, pin_memory=False),
        torch.linspace(0, 1, 5, layout=None, device=None),
        torch.ones_like(a, layout=torch.strided, requires_grad=False),
        torch.scalar_tensor(3, dtype=torch.float64, layout=torch.strided, requires_grad=False),
        a.new_zeros(4, layout=torch.strided, pin_memory=False),
    ),
    "state_questions": lambda a, b: a + 1 if not torch.is_grad_enabled() and not torch.is_autocast_enabled() else b,
}


def switched(a, b):
    with torch.no_grad():
        c = a * b
    with torch.enable_grad():
        d = c + 1
    return d, torch.is_grad_enabled()


@pytest.mark.parametrize("name", CAPTURED)
def test_captured(name):
    check(CAPTURED[name], two)


WRITTEN = {
    "a_method": lambda a, b: a.add_(b),
    "operators": lambda a, b: inplace(a, b),
    "a_row": lambda a, b: store(a, 0, b[1]),
    "a_window": lambda a, b: store(a, (slice(1, 3), slice(0, 2)), b[1:, :2] * 2),
    "through_a_view": lambda a, b: (a.t().mul_(2), a + b)[1],
    "through_what_is_detached": lambda a, b: (a.detach().mul_(2), b.t().detach().add_(1), a + b)[1:],
    "beside_data": lambda a, b: (lambda d: (a.add_(1), d, d + b))(a.data),
    "twice": lambda a, b: (a.mul_(2), a.add_(1), a * b)[2],
    "both": lambda a, b: (a.copy_(b), b.zero_(), a + b),
    "a_result": lambda a, b: (a + b).mul_(2).clamp_(min=3),
    "out": lambda a, b: torch.add(a, b, out=a),
    "fill_and_masks": lambda a, b: (a.fill_(2.0), b.masked_fill_(b > 4, 0.0)),
}


def inplace(a, b):
    a += b
    a *= 2
    return a


def store(a, key, value):
    a[key] = value
    return a


@pytest.mark.parametrize("name", WRITTEN)
def test_written(name):
    check(WRITTEN[name], two)


def written(first, second):
    second.add_(1)
    return first, second


# Results over one memory: which of them are views, and which share a count of writes.
WITHOUT_HISTORY = {
    "before itself": lambda c: (c.detach(), c),
    "after itself": lambda c: (c, c.detach()),
    "a part before itself": lambda c: (c.detach()[0], c[1], c),
    "twice": lambda c: (c.detach(), c.detach()),
    "alone": lambda c: (c.detach(),),
    "written": lambda c: written(c.detach(), c),
    "data": lambda c: (c.data, c, c.data),
    "data alone": lambda c: (c.data,),
    "data of a part": lambda c: (c[0].data, c.data[1], c),
    "data of what is detached": lambda c: (c.detach().data, c.detach(), c),
    "data of what is written": lambda c: written(c.data, c),
}


@pytest.mark.parametrize("of_an_argument", [False, True])
@pytest.mark.parametrize("name", WITHOUT_HISTORY)
def test_without_history(name, of_an_argument):
    function = WITHOUT_HISTORY[name]
    minidynamo._dynamo.reset()  # the cases share two code objects, and their limit
    whole = (lambda x: function(x)) if of_an_argument else (lambda x: function(x * 2))
    compiled = minidynamo.compile(whole, fullgraph=True)
    for _ in range(2):
        seen = []
        for each in (whole, compiled):
            results = each(numbers(3, 4))
            states = [(t._is_view(), t._base is None, t._version) for t in results]
            for written_to in results:
                written_to.mul_(2)
                states.append([t._version for t in results])
            seen.append((states, [t.tolist() for t in results]))
        assert seen[0] == seen[1]


BROKEN = {
    "data": lambda a, b: (a.numpy().tobytes(), b + 1)[1],
    "a_branch": lambda a, b: a + b if a.sum() > 3 else b,
    "an_element": lambda a, b: (a[0, 0].item(), b + 1)[1],
    # Arguments that torch takes, and no row or stand-in here.
    "another_layout": lambda a, b: torch.zeros(3, layout=torch.sparse_coo).to_dense() + a[0, :3],
    "a_form_of_to": lambda a, b: a.to(dtype=torch.complex64).real + b,
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken(name):
    function = BROKEN[name]
    compiled = minidynamo.compile(function)
    before = dict(_C.engine_counters())["graph_breaks"]
    for _ in range(3):
        arguments, expected = two(), two()
        assert facts(compiled(*arguments), arguments) == facts(function(*expected), expected)
    assert dict(_C.engine_counters())["graph_breaks"] > before


def scanned(a, b):
    def combine(left, right):
        return left[0] * right[0], right[0] * left[1] + right[1]

    return associative_scan(combine, (a, b), dim=1, combine_mode="generic")


SCANS = {
    "of two tensors": scanned,
    "of one tensor": lambda a, b: associative_scan(torch.add, a, dim=0, combine_mode="generic"),
    "backwards": lambda a, b: associative_scan(torch.mul, a, dim=-1, reverse=True, combine_mode="generic"),
}


@pytest.mark.parametrize("name", SCANS)
def test_scans(name):
    """In another order of additions than torch's."""
    function = SCANS[name]
    ours, theirs = minidynamo.compile(function, fullgraph=True)(*two()), function(*two())
    for mine, other in zip(ours if type(ours) is tuple else (ours,), theirs if type(theirs) is tuple else (theirs,)):
        assert torch.allclose(mine, other) and mine.stride() == other.stride()


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        ctx.mark_non_differentiable(x)
        return x * scale if any(ctx.needs_input_grad) else x * scale + 1

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.scale, None


class Split(torch.autograd.Function):
    @staticmethod
    def forward(x, y):
        return x + y, x - y

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs, output[0])

    @staticmethod
    def backward(ctx, first, second):
        return first + second, first - second


class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x


class Dirty(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x.add_(1)
        ctx.mark_dirty(x)
        return x


# (the function, whether all of it is captured)
AUTOGRAD_FUNCTIONS = {
    "one result": (lambda a, b: Scaled.apply(a, 3) + b, True),
    "two results, a context of its own": (lambda a, b: Split.apply(a, b), True),
    "a tensor that scales": (lambda a, b: Scaled.apply(a, b), True),
    "its argument": (lambda a, b: (Same.apply(a) + b, Same.apply(a)), False),
    "a write": (lambda a, b: (Dirty.apply(a), b * 2), False),
    "a wrong call": (lambda a, b: Scaled.apply(a), True),
}


@pytest.mark.parametrize("name", AUTOGRAD_FUNCTIONS)
def test_autograd_functions(name):
    function, is_whole = AUTOGRAD_FUNCTIONS[name]
    found = compared(lambda positional, keywords: function(*positional), (two(), {}))
    assert found.kind == ("whole" if is_whole else "breaks"), found


# Transforms and compilers of torch, which run as in plain torch, with all that they call.
LEFT = {
    "cond": lambda a, b: torch.cond(a.sum() > 0, lambda x: x + 1, lambda x: x - 1, (a,)),
    "vmap": lambda a, b: torch.vmap(lambda x, y: (x * y).sum())(a, b),
    "jvp": lambda a, b: torch.func.jvp(lambda x: x * x, (a,), (b,)),
    "a scan of one step": lambda a, b: associative_scan(torch.add, a[:, :1], dim=1, combine_mode="generic"),
    "linearize": lambda a, b: torch.func.linearize(lambda x: x * 2, a)[0],
}


@pytest.mark.parametrize("name", LEFT)
def test_transforms_are_left_to_torch(name):
    function = LEFT[name]
    around = lambda a, b: (a * 2, function(a, b), b + 1)  # noqa: E731
    compiled, results = minidynamo.compile(around), []
    captures = _C.record_captures(lambda: results.append(compiled(*two())))
    assert {capture["file"] for capture in captures} == {__file__}
    for ours in (*results, compiled(*two()), compiled(*two())):
        assert difference_of_parts(ours, around(*two()), (0.0, 0.0)) == ""


KINDS_OF_TENSORS = {
    "conjugate": lambda: torch.tensor([1 + 2j, 3 - 1j]).conj(),
    "negated": lambda: torch.tensor([1 + 2j, 3 - 1j]).conj().imag,
    "complex": lambda: torch.tensor([1 + 2j, 3 - 1j]),
    "sparse": lambda: torch.eye(3).to_sparse(),
    "meta": lambda: torch.ones(3, device="meta"),
    "copied_on_write": lambda: torch._lazy_clone(torch.ones(3)),
    "expanded": lambda: torch.ones(1).expand(3),
    "of_no_elements": lambda: torch.ones(0, 3),
    "of_no_dims": lambda: torch.tensor(3.0),
    "of_nine_dims": lambda: torch.ones(1, 2, 1, 2, 1, 1, 2, 1, 3),
    "a_parameter": lambda: torch.nn.Parameter(torch.ones(3)),
    "a_subclass": lambda: torch.ones(3).as_subclass(Tagged),
    "unsigned": lambda: torch.ones(3, dtype=torch.uint16),
    "quantised": lambda: torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8),
}


class Tagged(torch.Tensor):
    pass


def described(value):
    if not isinstance(value, torch.Tensor):
        return value
    shown = value.to_dense() if value.layout != torch.strided else value
    return (
        type(value),
        value.dtype,
        tuple(value.shape),
        value.layout,
        str(shown.is_meta or shown.resolve_conj().resolve_neg()),
    )


@pytest.mark.parametrize("name", KINDS_OF_TENSORS)
def test_other_tensors(name):
    make = KINDS_OF_TENSORS[name]

    def f(x, y):
        return x * 2, y + 1

    def outcome(function):
        try:
            return [described(each) for each in function(make(), torch.ones(3))]
        except Exception as error:
            return type(error), str(error)

    compiled = minidynamo.compile(f)
    for _ in range(2):
        assert outcome(compiled) == outcome(f)
    assert compiled(torch.ones(3), torch.ones(3))[0].tolist() == [2, 2, 2]


# ---- guards


def test_sizes_strides_and_dtypes_are_guarded():
    def f(x):
        return x * 2 + x.shape[0]

    compiled = minidynamo.compile(f)
    for x in (torch.ones(3), torch.ones(3, dtype=torch.int32), torch.ones(3, 4), torch.ones(4, 3).t(), torch.ones(3)):
        assert facts(compiled(x), (x,)) == facts(f(x), (x,))


def test_a_tensor_that_changes_in_place_is_read_again():
    """No counter of ours sees resize_, set_ and `.data =`."""
    x = torch.ones(4)
    f = minidynamo.compile(lambda y: x * 2 + y)
    for _ in range(40):
        assert f(1).tolist() == [3, 3, 3, 3]
    x.data = torch.zeros(2, dtype=torch.float64)
    assert f(1).tolist() == [1, 1]
    x.resize_(3).fill_(5)
    assert f(1).tolist() == [11, 11, 11]


STATES = {
    "default_dtype": (lambda: torch.set_default_dtype(torch.float64), lambda: torch.set_default_dtype(torch.float32)),
    "autocast": (lambda: CAST.__enter__(), lambda: CAST.__exit__(None, None, None)),
    "device_mode": (lambda: DEVICE.__enter__(), lambda: DEVICE.__exit__(None, None, None)),
    "grad": (lambda: torch.set_grad_enabled(True), lambda: torch.set_grad_enabled(False)),
    "deterministic": (
        lambda: torch.use_deterministic_algorithms(True),
        lambda: torch.use_deterministic_algorithms(False),
    ),
}
CAST = torch.autocast("cpu", dtype=torch.bfloat16)
DEVICE = torch.device("meta")


@pytest.mark.parametrize("name", STATES)
@pytest.mark.parametrize("starts_on", [False, True])
def test_the_state_is_guarded(name, starts_on):
    on, off = STATES[name]

    def f(x, w):
        return x @ w, torch.zeros(2) + 1, torch.is_grad_enabled()

    compiled = minidynamo.compile(f)
    x, w = torch.ones(2, 2), torch.ones(2, 2)
    for is_on in (starts_on, not starts_on) * 3:
        if is_on:
            on()
        try:
            expected, found = f(x, w), compiled(x, w)
        finally:
            if is_on:
                off()
        for a, b in zip(expected, found, strict=True):
            assert described(a) == described(b)


def recorded_breaks(function, *arguments):
    return [found["id"] for found in _C.record_breaks(lambda: minidynamo.compile(function)(*arguments))]


def test_frames_left_to_torch_say_why():
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert recorded_breaks(lambda x: (x @ x + 1) * 2, torch.ones(2, 2)) == ["MD0069"]


def test_marked_dims_are_symbolic_from_the_start():
    counter = CompileCounter()
    f = minidynamo.compile(lambda x: x * 2 + x.shape[0], backend=counter)
    for size in (3, 4, 5):
        x = torch.ones(size, 2)
        torch._dynamo.mark_dynamic(x, 0)
        assert f(x).tolist() == [[size + 2.0] * 2] * size
    assert counter.frame_count == 1


def test_inference_mode():
    def f(x):
        return x * 2, x[0]

    compiled = minidynamo.compile(f)
    for _ in range(2):
        with torch.inference_mode():
            made, _ = compiled(torch.ones(2, 2))
            x = torch.ones(2, 2)
            assert made.is_inference() and (compiled(x)[1]._base is None) == (f(x)[1]._base is None)
            assert compiled(made)[0].tolist() == [[4, 4], [4, 4]]
        outside = compiled(torch.ones(2, 2))[0]
        assert not outside.is_inference()
        with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode"):
            minidynamo.compile(lambda x: x.add_(1))(made)


# ---- gradients are torch's


def test_with_gradients_the_region_is_a_node_of_torchs():
    w = torch.nn.Parameter(torch.ones(3))
    counter = CompileCounter()

    def f(x):
        y = x * w
        return (y * y).sum()

    compiled = minidynamo.compile(f, backend=counter)
    for grad in (True, False, True):
        with torch.set_grad_enabled(grad):
            loss = compiled(torch.full((3,), 2.0))
        assert loss.requires_grad == grad
        if grad:
            w.grad = None
            loss.backward()
            assert w.grad.tolist() == [8, 8, 8]
    # One capture in each mode.
    assert counter.frame_count == 2
    with torch.enable_grad():
        explained = minidynamo._dynamo.explain(f)(torch.ones(3))
        assert explained.graph_break_count == 0
        loss = minidynamo.compile(f, fullgraph=True)(torch.ones(3))
    assert loss.grad_fn.name() == "CompiledFunctionBackward"


def test_no_grad_inside():
    w = torch.nn.Parameter(torch.ones(3))

    @minidynamo.compile(fullgraph=True)
    def f(x):
        with torch.no_grad():
            return x * w

    with torch.enable_grad():
        result = f(torch.ones(3))
        assert not result.requires_grad and torch.is_grad_enabled()


# ---- objects


def test_results_are_torchs_own_memory():
    y = minidynamo.compile(lambda x: x * 2)(torch.ones(3))
    y.resize_(1000)
    assert y.shape == (1000,) and y.untyped_storage().resizable()


def test_tensors_are_released():
    f = minidynamo.compile(lambda a, b: (a * b, a[0], a))
    a, b = two()
    f(a, b)
    before = sys.getrefcount(a), sys.getrefcount(b)
    for _ in range(10):
        results = f(a, b)
    del results
    gc.collect()
    assert (sys.getrefcount(a), sys.getrefcount(b)) == before
    gone = weakref.ref(a)
    del a
    gc.collect()
    assert gone() is None


def test_the_next_call_has_other_tensors():
    """Between calls nothing of the arguments is kept, whatever the results share with them."""
    compiled = minidynamo.compile(lambda a, b: (a[0], a + b, b))
    kept = []
    for count in (3, 3, 5, 3, 3):
        a, b = torch.randn(count, 4), torch.randn(count, 4)
        row, total, same = compiled(a, b)
        assert row._base is a and same is b and torch.equal(total, a + b) and torch.equal(row, a[0])
        kept.append((row.clone(), row, total, (a + b).clone()))
        references = [weakref.ref(b)]
        del a, b, same
        assert [reference() for reference in references] == [None]
    for copy, row, total, wanted in kept:
        assert torch.equal(row, copy) and torch.equal(total, wanted)


def test_a_call_within_a_call_of_the_same_region():
    depth, results = [0], []

    @minidynamo._dynamo.allow_in_graph
    def again(x):
        if type(x) is torch.Tensor:  # not one without memory, on which it is tried
            depth[0] += 1
            if depth[0] < 3:
                results.append(compiled(x + 10))
        return x * 2

    def function(x):
        return again(x + 1) + x

    compiled = minidynamo.compile(function, fullgraph=True)
    for start in (1.0, 2.0):
        depth[0] = 0
        results.clear()
        x = torch.full((3,), start)
        assert compiled(x).tolist() == [3 * start + 2] * 3
        assert [each.tolist() for each in results] == [[3 * (start + 22) + 2] * 3, [3 * (start + 11) + 2] * 3]


def test_two_arguments_over_one_memory():
    def f(a, b):
        a.mul_(2)
        return b + 1

    compiled = minidynamo.compile(f)
    for shared in (False, True, False):
        for run in (f, compiled):
            whole = torch.ones(4)
            other = whole[1:] if shared else torch.ones(3)
            assert run(whole, other).tolist() == ([3, 3, 3] if shared else [2, 2, 2])


def test_attributes_of_tensors_are_guarded():
    def f(x):
        return x * getattr(x, "factor", 1)

    compiled = minidynamo.compile(f)
    x = torch.ones(2)
    for factor in (None, 3, 4, None):
        if factor is not None:
            x.factor = factor
        elif hasattr(x, "factor"):
            del x.factor
        assert compiled(x).tolist() == f(x).tolist()


def test_checked_against_the_interpreter():
    with minidynamo._dynamo.config.patch(check_captures=3):

        @minidynamo.compile
        def f(a, b):
            a.mul_(2)
            return a * b, a[0], a.max(dim=1).indices

        for _ in range(4):
            f(*two())


def test_random_numbers_are_torchs():
    def f(x):
        return x + torch.rand(3), torch.nn.functional.dropout(x, 0.5), torch.randn_like(x)

    compiled = minidynamo.compile(f)
    for _ in range(2):
        torch.manual_seed(3)
        expected = f(torch.ones(3))
        torch.manual_seed(3)
        found = compiled(torch.ones(3))
        assert [each.tolist() for each in found] == [each.tolist() for each in expected]


def test_from_several_threads():
    compiled = minidynamo.compile(lambda a, b: torch.relu(a @ b - 3))
    a, b = torch.ones(64, 64), torch.ones(64, 64)
    failures = []

    def work():
        with torch.no_grad():
            for _ in range(50):
                if compiled(a, b)[0, 0].item() != 61:
                    failures.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


# ---- torch's compiler beside ours


def test_torchs_marks_mean_ours():
    disabled = torch.compiler.disable(lambda x: (x + 1) * 2)
    counter = CompileCounter()

    @minidynamo.compile(backend=counter)
    def f(x):
        y = x * 2 if torch.compiler.is_compiling() else x
        return disabled(y) + 1

    assert f(torch.ones(2)).tolist() == [7, 7]
    assert counter.frame_count == 2  # before and after the disabled function, not inside


def test_only_the_frame_of_a_function_is_disabled():
    graphs = []

    def backend(gm, _):
        graphs.append([node.target for node in gm.graph.nodes if node.op == "call_function"])
        return gm.forward

    def callee(x):
        return x * 5

    @torch.compiler.disable(recursive=False)
    def disabled(x):
        return callee(x - 2) - 3

    f = minidynamo.compile(lambda x: disabled(x + 1) / 2, backend=backend)
    for _ in range(3):
        assert f(torch.ones(2)).tolist() == [-1.5, -1.5]
    assert [len(graph) for graph in graphs] == [1, 1, 1]  # before, in the callee, and after
    assert disabled(torch.ones(2)).tolist() == [-8, -8]


def test_as_a_backend_of_torch_compile():
    from minidynamo._families.torch_backend import minidynamo as backend

    captured = _C.engine_counters()["graphs_captured"]
    f = torch.compile(lambda x, w: torch.relu(x @ w) + 1, backend=backend)
    x, w = torch.ones(2, 3), torch.ones(3, 2)
    assert f(x, w).tolist() == [[4, 4], [4, 4]]
    assert _C.engine_counters()["graphs_captured"] > captured


def test_the_layout_was_found():
    minidynamo.compile(lambda x: x + 1)(torch.ones(2))
    assert _C._torch.layout()["is_known"]


def test_identity_among_results():
    def f(a, b):
        c = a + b
        return c, c.view(3, 4), c[:], c

    for run in (f, minidynamo.compile(f)):
        first, view, part, again = run(*two())
        assert first is again and view is not first and part is not first and view is not part
        assert view._base is first and part._base is first


SIZES = {
    "numel": lambda x: x.reshape(x.shape.numel()),
    "reversed": lambda x: x.permute(*reversed(range(x.dim()))).reshape(*reversed(x.shape[:2]), x.shape[2]),
    "a class of sizes": lambda x: x.expand(torch.Size((2,)) + x.shape),
    "of a part": lambda x: x.new_zeros(torch.Size(x.shape[:1])) + torch.Size(x.shape).numel(),
    "of a list": lambda x: (x.new_ones(torch.Size([2, x.shape[1]])), torch.Size([x.shape[0]])),
    "in a zip": lambda x: x * sum(a * b for a, b in zip(reversed(x.shape), reversed(x.stride()), strict=True)),
}


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("dynamic", [False, True])
def test_sizes(name, dynamic):
    minidynamo._dynamo.reset()
    compiled, found = minidynamo.compile(SIZES[name], dynamic=dynamic), []
    assert _C.record_breaks(lambda: found.append(compiled(torch.ones(2, 3, 4)))) == []
    for x in (torch.ones(2, 3, 4), torch.ones(3, 2, 5)):
        plain, got = SIZES[name](x), compiled(x)
        torch.testing.assert_close(got, plain)
        if isinstance(plain, tuple):
            assert type(got[1]) is torch.Size


def test_wrong_sizes_raise_as_torchs():
    for function in (lambda x: torch.Size([1.5]), lambda x: torch.Size("ab"), lambda x: torch.Size(3)):
        with pytest.raises(TypeError) as expected:
            function(torch.ones(2))
        with pytest.raises(TypeError) as caught:
            minidynamo.compile(function)(torch.ones(2))
        assert str(caught.value) == str(expected.value)


DRAWING = {
    "multinomial": lambda p: torch.multinomial(p, 3),
    "multinomial with replacement": lambda p: p.multinomial(4, replacement=True),
    "normal": lambda p: torch.normal(p, p + 1),
    "normal of sizes": lambda p: torch.normal(0.0, 1.0, (3, 2)) + p[:, :2],
    "poisson": lambda p: torch.poisson(p * 3),
    "bernoulli": lambda p: torch.bernoulli(p),
    "of a number": lambda p: p.bernoulli(0.3),
    "rand_like": lambda p: torch.rand_like(p) + torch.randn_like(p.t()),
    "randint_like": lambda p: torch.randint_like(p, 1, 9),
    "rrelu": lambda p: torch.nn.functional.rrelu(p - 0.5, training=True),
    "gumbel_softmax": lambda p: torch.nn.functional.gumbel_softmax(p),
    "alpha_dropout": lambda p: torch.nn.functional.alpha_dropout(p, 0.4, training=True),
    "dropout1d": lambda p: torch.nn.functional.dropout1d(p, 0.4),
    "dropout in place": lambda p: torch.nn.functional.dropout(p * 2, 0.4, inplace=True),
    **{
        name: lambda p, name=name: getattr(torch.empty_like(p), name)()
        for name in "uniform_ normal_ exponential_ cauchy_ log_normal_ random_ bernoulli_".split()
    },
    "geometric_": lambda p: torch.empty_like(p).geometric_(0.3),
    "sample": lambda p: torch.distributions.Categorical(p).sample((2,)),
    "rsample": lambda p: torch.distributions.Gamma(p + 1, p + 2).rsample(),
}


@pytest.mark.parametrize("name", DRAWING)
def test_what_draws_draws_torchs_numbers(name):
    minidynamo._dynamo.reset()
    compiled, p = minidynamo.compile(DRAWING[name]), torch.rand(3, 3).softmax(1)
    own = minidynamo.get_rng_state().tolist()
    for seed in range(3):
        found = []
        for function in (DRAWING[name], compiled):
            torch.manual_seed(seed)
            found.append((function(p), torch.rand(2)))
        torch.testing.assert_close(found[1], found[0])
    assert minidynamo.get_rng_state().tolist() == own
