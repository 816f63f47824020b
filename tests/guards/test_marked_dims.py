"""mark_dynamic and similar functions, and the errors of their misuse."""

import pytest

import minidynamo
from minidynamo import _dynamo
from minidynamo._dynamo import config
from minidynamo._dynamo.exc import ConstraintViolationError
from minidynamo._dynamo.testing import CompileCounter


def marked(mark, n, *args, **options):
    tensor = minidynamo.ones(n, 2)
    mark(tensor, 0, *args, **options)
    return tensor


def only_five(x):
    return x + 1 if x.shape[0] == 5 else x - 1


def five_rows(x):
    return x + minidynamo.ones(5, 2)


@pytest.mark.parametrize("function", [only_five, five_rows])
def test_a_dynamic_dimension_that_is_not(function):
    with pytest.raises(ConstraintViolationError) as error:
        minidynamo.compile(function)(marked(_dynamo.mark_dynamic, 5))
    text = str(error.value)
    assert text.startswith(
        "Constraints violated (L['x'].size()[0])!\n  - You marked L['x'].size()[0] as dynamic but your "
    )
    assert "code specialized it to be a constant (5)." in text
    assert minidynamo.compile(function)(marked(_dynamo.maybe_mark_dynamic, 5)).tolist() == [[2.0, 2.0]] * 5


def test_a_size_out_of_range():
    def function(x):
        return x + 1

    compiled = minidynamo.compile(function)
    compiled(marked(_dynamo.mark_dynamic, 5, min=2, max=8))
    compiled(marked(_dynamo.mark_dynamic, 8, min=2, max=8))
    for n in (1, 9):
        with pytest.raises(ConstraintViolationError, match=f"values from 2 to 8, but it is {n}"):
            compiled(marked(_dynamo.mark_dynamic, n, min=2, max=8))


def test_several_dimensions():
    counter = CompileCounter()
    compiled = minidynamo.compile(lambda x: x.sum(0) * 2, backend=counter)
    for shape in [(2, 3), (4, 5), (6, 1), (3, 0)]:
        x = minidynamo.ones(*shape)
        _dynamo.mark_dynamic(x, [0, -1])
        assert compiled(x).tolist() == [2.0 * shape[0]] * shape[1]
    assert counter.frame_count <= 2  # a size of 0 that is not the first


def test_misuse():
    x = minidynamo.ones(2, 3)
    with pytest.raises(AssertionError, match="Expected index to be int, list, or tuple, got <class 'str'>"):
        _dynamo.mark_dynamic(x, "0")
    with pytest.raises(IndexError, match=r"no dimension 2 in a tensor of shape \(2, 3\)"):
        _dynamo.mark_dynamic(x, 2)
    with pytest.raises(TypeError, match="a tensor is required"):
        _dynamo.maybe_mark_dynamic([1], 0)
    with pytest.raises(TypeError, match="mark_static expects a tensor/nn.Module class but received"):
        _dynamo.mark_static(3)
    assert _dynamo.mark_static(minidynamo.nn.Linear) is minidynamo.nn.Linear
    for mark in (_dynamo.mark_dynamic, _dynamo.maybe_mark_dynamic, _dynamo.mark_unbacked):
        with pytest.raises(AssertionError, match="forbidden"):
            minidynamo.compile(lambda x, mark=mark: mark(x, 0))(x)


@pytest.mark.parametrize("flags, expected", [({"verbose": False}, [1, 2, 2]), ({"automatic_dynamic_shapes": False}, [1, 2, 3]),
                                             ({"assume_static_by_default": False}, [1, 1, 1])])  # fmt: skip
@pytest.mark.counts_regions
def test_flags(flags, expected):
    with config.patch(**flags):
        counter = CompileCounter()
        compiled = minidynamo.compile(lambda x: x + 1, backend=counter)
        counts = []
        for n in (3, 4, 5):
            compiled(minidynamo.ones(n))
            counts.append(counter.frame_count)
    assert counts == expected


@pytest.mark.counts_regions
def test_parameters_are_static_under_dynamic():
    class Model(minidynamo.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = minidynamo.nn.Linear(4, 3)
            self.register_buffer("scale", minidynamo.ones(3))

        def forward(self, x):
            return self.linear(x) * self.scale

    seen = []

    def backend(gm, inputs):
        seen.append(gm.code)
        return gm.forward

    model = Model()
    compiled = minidynamo.compile(model, backend=backend, dynamic=True)
    for n in (3, 1, 7, 0):
        x = minidynamo.ones(n, 4)
        assert compiled(x).tolist() == model(x).tolist()
    assert len(seen) == 1


@pytest.mark.counts_regions
def test_a_counter_on_a_module():
    class Model(minidynamo.nn.Module):
        def __init__(self):
            super().__init__()
            self.calls = 0

        def forward(self, x):
            self.calls += 1
            return x * self.calls

    counter = CompileCounter()
    model = Model()
    compiled = minidynamo.compile(model, backend=counter)
    for n in range(1, 10):
        assert compiled(minidynamo.ones(2)).tolist() == [float(n)] * 2
    assert model.calls == 9 and counter.frame_count <= 2


@pytest.mark.counts_regions
def test_plans_stay_within_their_bytes():
    compiled = minidynamo.compile(lambda x: (x + 1) @ x.t(), dynamic=True)
    with config.patch(sized_plans_nbytes=20000):
        for n in [*range(1, 60), *range(1, 60)]:
            x = minidynamo.ones(n, 3)
            assert compiled(x).tolist() == [[6.0] * n] * n
