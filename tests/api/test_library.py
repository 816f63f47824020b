"""Custom operators: registration, misuse, and how they are captured."""

import traceback
from collections.abc import Sequence

import pytest

import minidynamo
from minidynamo import Tensor, library
from minidynamo._dynamo.exc import Unsupported
from minidynamo._dynamo.testing import CompileCounterWithBackend


@pytest.fixture(autouse=True)
def fresh():
    minidynamo._dynamo.reset()


def ones():
    return minidynamo.tensor([1.0, 2.0])


def make_square(with_fake=True):
    @library.custom_op("testlib::square", mutates_args=())
    def square(x: Tensor) -> Tensor:
        """Squares."""
        return x * x

    if with_fake:

        @square.register_fake
        def _(x):
            return x.new_empty(x.size())

    return square


@pytest.mark.parametrize(
    ("function", "mutates", "text"),
    [
        (lambda: None, (), None),
        ("def f(x: Tensor) -> Tensor: ...", (), "(Tensor x) -> Tensor"),
        ("def f(x: Tensor, n: int = 1) -> Tensor: ...", (), "(Tensor x, SymInt n=1) -> Tensor"),
        (
            "def f(xs: list[Tensor], *, a: float, b: bool = True, s: str = 'q') -> tuple[Tensor, Tensor]: ...",
            (),
            '(Tensor[] xs, *, float a, bool b=True, str s="q") -> (Tensor, Tensor)',
        ),
        ("def f(x: Tensor, y: Tensor | None) -> None: ...", ("x",), "(Tensor(a0!) x, Tensor? y) -> ()"),
        ("def f(x: Tensor, sizes: Sequence[int]) -> list[Tensor]: ...", (), "(Tensor x, SymInt[] sizes) -> Tensor[]"),
        ("def f(x: Tensor, y: Tensor) -> Tensor: ...", "unknown", "(Tensor(a0!) x, Tensor(a1!) y) -> Tensor"),
        (
            "def f(x: Tensor, n: int, know: float) -> None: ...",
            "unknown",
            "(Tensor(a0!) x, SymInt n, float know) -> ()",
        ),
    ],
)
def test_schemas(function, mutates, text):
    if text is None:
        with pytest.raises(ValueError, match="No return type annotation"):
            library.infer_schema(function, mutates_args=mutates)
        return
    from collections.abc import Sequence

    namespace = {"Tensor": Tensor, "Sequence": Sequence}
    exec(function, namespace)
    assert library.infer_schema(namespace["f"], mutates_args=mutates) == text


def test_bad_schemas():
    def bare(x) -> Tensor: ...

    def stars(*x: Tensor) -> Tensor: ...

    def odd(x: object) -> Tensor: ...

    def number(n: int) -> Tensor: ...

    for function, mutates, message in (
        (bare, (), "Parameter x must have a type annotation"),
        (stars, (), "varargs"),
        (odd, (), "unsupported type"),
        (number, ("n",), "only Tensors"),
        (number, ("m",), "were not found"),
    ):
        with pytest.raises(ValueError, match=message):
            library.custom_op("testlib::bad", function, mutates_args=mutates)
    with pytest.raises(TypeError):
        library.custom_op("testlib::bad", bare)
    for name in ("plain", "a::b::c", "::x", 3):
        with pytest.raises(ValueError, match="namespace::name"):
            library.custom_op(name, bare, mutates_args=())


def test_an_operator_is_called_like_its_function():
    square = make_square()
    assert square(ones()).tolist() == square(x=ones()).tolist() == [1.0, 4.0]
    assert square.__name__ == "square" and square.__doc__ == "Squares."
    assert minidynamo.ops.testlib.square is square
    with pytest.raises(AttributeError):
        _ = minidynamo.ops.testlib.nothing


def test_misuse_is_reported():
    square = make_square()
    with pytest.raises(TypeError, match="testlib::square"):
        square()
    with pytest.raises(RuntimeError, match="Position: 0\nValue: 3\nDeclaration: testlib::square"):
        square(3)
    same = library.custom_op("testlib::same", lambda x: x, mutates_args=(), schema="(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match="may not alias"):
        same(ones())
    view = library.custom_op("testlib::view", lambda x: x[:1], mutates_args=(), schema="(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match="may not alias"):
        view(ones())
    wrong = library.custom_op("testlib::wrong", lambda x: 3, mutates_args=(), schema="(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match="must be a Tensor"):
        wrong(ones())


@pytest.mark.counts_regions
def test_an_operator_is_one_node():
    square = make_square()
    counter = CompileCounterWithBackend("onednn")
    compiled = minidynamo.compile(lambda x: square(x + 1) * 2, fullgraph=True, backend=counter)
    for value in (ones(), ones() * 3):
        assert compiled(value).tolist() == (square(value + 1) * 2).tolist()
    (gm,) = counter.graphs
    assert "minidynamo.ops.testlib.square" in gm.code
    assert minidynamo.compile(lambda x: square(x) + 1, backend="eager", fullgraph=True)(ones()).tolist() == [2.0, 5.0]


def test_several_results_lists_and_constants():
    @library.custom_op("testlib::split", mutates_args=())
    def split(xs: list[Tensor], at: int, scale: float = 2.0) -> tuple[Tensor, Tensor]:
        joined = minidynamo.cat(list(xs)) * scale
        return joined[:at].clone(), joined[at:].clone()

    @split.register_fake
    def _(xs, at, scale):
        total = sum(x.shape[0] for x in xs)
        return xs[0].new_empty((at,)), xs[0].new_empty((total - at,))

    def function(x):
        a, b = split([x, x + 1], 1)
        return a.sum() + b

    assert minidynamo.compile(function, fullgraph=True)(ones()).tolist() == function(ones()).tolist()


@pytest.mark.counts_regions
def test_without_a_fake_it_breaks_or_is_an_error():
    square = make_square(with_fake=False)
    assert minidynamo.compile(lambda x: square(x) + 1)(ones()).tolist() == [2.0, 5.0]
    report = minidynamo._dynamo.explain(lambda x: square(x + 1) + 1)(ones())
    assert [reason.gb_id for reason in report.break_reasons] == ["MD0027"] and report.graph_count == 2
    with pytest.raises(Unsupported, match="no fake impl registered for <CustomOpDef"):
        minidynamo.compile(lambda x: square(x), fullgraph=True)(ones())


def test_an_operator_whose_result_is_not_used_is_called():
    calls = []

    @library.custom_op("testlib::unused", mutates_args=())
    def unused(x: Tensor) -> Tensor:
        calls.append(1)
        return x.clone()

    unused.register_fake(lambda x: x.new_empty(x.size()))

    def nothing_else(x):
        unused(x)
        return x

    def before_a_break(x):
        unused(x)
        minidynamo._dynamo.graph_break()
        return x + 1

    def before_an_exception(x):
        try:
            unused(x)
            raise KeyError
        except KeyError:
            return x

    for function in (nothing_else, before_a_break, before_an_exception):
        for backend in ("onednn", "eager", CompileCounterWithBackend("onednn")):
            compiled = minidynamo.compile(function, backend=backend)
            for _ in range(2):
                calls.clear()
                assert compiled(ones()).tolist() == function(ones()).tolist()
                assert calls == [1, 1]


def test_an_exception_has_the_place_of_eager_python():
    @library.custom_op("testlib::fails", mutates_args=())
    def fails(x: Tensor) -> Tensor:
        raise ValueError("no")

    fails.register_fake(lambda x: x.new_empty(x.size()))

    def inner(x):
        y = x + 1
        return fails(y)

    def function(x):
        z = inner(x)
        return z * 2

    def lines(callable_):
        with pytest.raises(ValueError, match="no") as caught:
            callable_(ones())
        frames = traceback.extract_tb(caught.value.__traceback__)
        return [(frame.name, frame.lineno) for frame in frames if frame.name in ("inner", "function")]

    assert lines(minidynamo.compile(function, fullgraph=True)) == lines(function)

    def after_break(x):
        x = x * 2
        minidynamo._dynamo.graph_break()
        return function(x)

    assert lines(minidynamo.compile(after_break)) == lines(after_break)


def test_the_users_handler_catches():
    calls = []

    @library.custom_op("testlib::sometimes", mutates_args=())
    def sometimes(x: Tensor) -> Tensor:
        calls.append(1)
        raise ValueError("no")

    sometimes.register_fake(lambda x: x.new_empty(x.size()))

    def function(x):
        y = x + 1
        try:
            return sometimes(y)
        except ValueError:
            return y * 2

    assert minidynamo.compile(function)(ones()).tolist() == [4.0, 6.0]
    assert calls == [1]


def test_an_operator_is_not_called_twice_when_a_later_step_fails():
    calls = []

    @library.custom_op("testlib::counts", mutates_args=())
    def counts(x: Tensor) -> Tensor:
        calls.append(1)
        return x.clone()

    counts.register_fake(lambda x: x.new_empty(x.size()))
    compiled = minidynamo.compile(lambda x, i: counts(x).index_select(0, i))
    good, bad = minidynamo.tensor([0]), minidynamo.tensor([9])
    assert compiled(ones(), good).tolist() == [1.0]
    calls.clear()
    with pytest.raises(IndexError):
        compiled(ones(), bad)
    assert calls == [1]


@pytest.mark.counts_regions
def test_a_result_that_differs_from_the_fake():
    @library.custom_op("testlib::lies", mutates_args=())
    def lies(x: Tensor) -> Tensor:
        return x[:1].clone()

    lies.register_fake(lambda x: x.new_empty(x.size()))
    with pytest.raises(RuntimeError, match="but its fake says"):
        minidynamo.compile(lambda x: lies(x) + 1, fullgraph=True)(ones())
    with pytest.raises(Exception, match="test_faketensor failed"):
        library.opcheck(lies, (ones(),))
    assert library.opcheck(make_square(), (ones(),)) == dict.fromkeys(
        ("test_schema", "test_faketensor", "test_captured"), "SUCCESS"
    )


def test_kernels_for_devices():
    @library.custom_op("testlib::gpu", mutates_args=(), device_types="cuda")
    def gpu(x: Tensor) -> Tensor:
        return x * 0

    with pytest.raises(NotImplementedError, match="no kernel for the device 'cpu'"):
        gpu(ones())

    @gpu.register_kernel("cpu")
    def _(x):
        return x + 5

    assert gpu(ones()).tolist() == [6.0, 7.0]
    library.register_fake("testlib::gpu", lambda x: x.new_empty(x.size()))
    assert minidynamo.compile(lambda x: gpu(x), fullgraph=True)(ones()).tolist() == [6.0, 7.0]


def test_triton():
    @library.triton_op("testlib::triton", mutates_args={})
    def triton(x: Tensor) -> Tensor:
        return x + 1

    assert triton(ones()).tolist() == [2.0, 3.0]
    with pytest.raises(RuntimeError, match="Triton kernels need a GPU"):
        library.wrap_triton(test_triton)


def test_a_kernel_can_be_left_out_for_a_block():
    @library.custom_op("testlib::two_kernels", mutates_args=())
    def two_kernels(x: Tensor) -> Tensor:
        return x + 1

    two_kernels.register_kernel("cpu", lambda x: x + 2)
    two_kernels.register_fake(lambda x: x.new_empty(x.size()))
    compiled = minidynamo.compile(lambda x: two_kernels(x), fullgraph=True)
    for call in (two_kernels, compiled):
        assert call(ones()).tolist() == [3.0, 4.0]
        with two_kernels.set_kernel_enabled("cpu", False):
            assert call(ones()).tolist() == [2.0, 3.0]
            with two_kernels.set_kernel_enabled("cpu"):
                assert call(ones()).tolist() == [3.0, 4.0]
        assert call(ones()).tolist() == [3.0, 4.0]
    assert minidynamo.ops.testlib.two_kernels.default is two_kernels


@pytest.mark.counts_regions
def test_compile_of_an_operator():
    square = make_square()
    counter = CompileCounterWithBackend("eager")
    compiled = minidynamo.compile(square, fullgraph=True, backend=counter)
    assert compiled(ones()).tolist() == compiled(x=ones()).tolist() == [1.0, 4.0]
    assert counter.op_count <= 2 and "testlib.square" in counter.graphs[0].code


@pytest.mark.counts_regions
def test_skipped_frames_have_a_reason_of_their_own():
    def function(x):
        return x + 1

    disabled = minidynamo.compiler.disable(function, recursive=False, reason="slow")
    report = minidynamo._dynamo.explain(lambda x: disabled(x * 2) * 3)(ones())
    assert [reason.gb_id for reason in report.break_reasons] == ["MD0004"]
    assert "slow" in report.break_reasons[0].reason


@pytest.mark.parametrize("compiled", [False, True])
def test_register_autograd(compiled):
    @library.custom_op("lib::with_gradient", mutates_args=())
    def with_gradient(x: Tensor, others: Sequence[Tensor], factor: float) -> Tensor:
        return x * factor + others[0].exp() * others[1]

    with_gradient.register_fake(lambda x, others, factor: x.new_empty(x.size()))

    def f(x, y, z):
        return with_gradient(x * 2, [y, z], 3.0) + 1

    call = minidynamo.compile(f, fullgraph=True) if compiled else f
    inputs = [minidynamo.ones(2).requires_grad_() for _ in range(3)]
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        call(*inputs).sum().backward()

    def setup_context(ctx, inputs, output):
        x, others, factor = inputs
        ctx.save_for_backward(*others)
        ctx.factor = factor
        ctx.needs = ctx.needs_input_grad

    def backward(ctx, gradient):
        y, z = ctx.saved_tensors
        assert ctx.needs == (True, [True, True], None)
        return gradient * ctx.factor, [gradient * y.exp() * z, gradient * y.exp()], None

    assert with_gradient.register_autograd(backward, setup_context=setup_context) is None
    call(*inputs).sum().backward()
    e = minidynamo.ones(1).exp().item()
    for tensor, expected in zip(inputs, (6.0, e, e)):
        assert minidynamo.allclose(tensor.grad, minidynamo.full((2,), expected))
    library.register_autograd("lib::with_gradient", lambda ctx, g: (g * 0, None, None), setup_context=setup_context)
    inputs[0].grad = None
    call(*inputs).sum().backward()
    assert inputs[0].grad.tolist() == [0.0, 0.0]


def test_register_autograd_of_no_function():
    @library.custom_op("lib::without_gradient", mutates_args=())
    def without_gradient(x: Tensor) -> Tensor:
        return x * 2

    for wrong in (
        lambda: without_gradient.register_autograd(3),
        lambda: without_gradient.register_autograd(abs, setup_context=3),
    ):
        with pytest.raises(TypeError, match="must be a function, not int"):
            wrong()
