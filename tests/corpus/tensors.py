"""Tensors: operations other than plain arithmetic."""

from differential import snippet, whole

import minidynamo
from minidynamo import tensor


def matrix():
    return (tensor([[1.0, 2.0], [3.0, 4.0]]),)


@whole()
def operators(x):
    return x + 1, x - 1, 1 - x, x * 2, x / 2, 2 / x, -x, x @ x, x**2


@whole()
def comparisons(x):
    return x > 0, x >= 1, x < 0, x <= 3, x == 1, x != 1


@whole()
def shape_reads(x):
    return x, x.shape, x.size(), x.size(0), x.dim(), x.ndim, x.numel(), x.shape[0], x.dtype


@whole(matrix)
def shape_arithmetic(x):
    rows, columns = x.shape
    return x.reshape(rows * columns) + rows


@whole(matrix)
def shapes_are_tuples(x):
    shape = x.shape
    equal = shape == (2, 2), (2, 2) == shape, shape != (2, 2), shape == [2, 2], shape < (3,), shape == shape
    made = shape[1:], shape[::-1], shape + (1,), (1,) + shape, shape * 2, tuple(shape), list(shape), {shape: 1}
    asked = 2 in shape, shape.index(2), shape.count(2), sum(shape), max(shape), {(2, 2): 5}[shape], {shape: 6}[(2, 2)]
    texts = str(shape), repr(shape[1:]), f"{shape}", f"{shape!r}"
    return equal, made, asked, texts, shape in [(2, 2)], not shape, shape.numel(), x + 1


@whole(matrix)
def reductions(x):
    return x.sum(), x.sum(dim=0), x.mean(), x.sum(1, keepdim=True)


@whole(matrix)
def matmul(x):
    return x @ x, minidynamo.matmul(x, x)


@whole()
def functions_and_methods(x):
    return minidynamo.relu(x), x.relu(), minidynamo.exp(x), x.abs(), x.tanh(), minidynamo.add(x, 1)


@whole(matrix)
def softmax_and_argmax(x):
    y = minidynamo.softmax(x, dim=1)
    return y, y.argmax(dim=1)


@whole(matrix)
def views(x):
    return x.reshape(4), x.view(1, 4), x.transpose(0, 1), x.t(), x.unsqueeze(0)


@whole(matrix)
def result_views_argument(x):
    return x.view(4)


@whole()
def result_is_argument(x):
    y = x
    return y, x, x + 1


@whole()
def intermediate_twice(x):
    y = x + 1
    return y, y, [y]


@whole()
def unused_result(x):
    y = x + 1
    x * 1000
    return y


@whole()
def constants_created_inside(x):
    return x + tensor([1.0, 2.0, 3.0])


@whole()
def factories(x):
    return minidynamo.zeros(3) + x, minidynamo.ones(2, 3), minidynamo.arange(4)


# If an argument determines sizes, the capture is valid for its value only.
@whole(lambda: (tensor([1.0, -2.0]), 4))
def arange_of_an_argument(x, n):
    return minidynamo.arange(n), minidynamo.arange(1, n), minidynamo.arange(0, n, 2), minidynamo.linspace(0, n, 3)


@whole(lambda: (tensor([1.0, -2.0]), 2.5))
def full_of_an_argument(x, fill):
    return minidynamo.full((2,), fill) + x[0], minidynamo.full_like(x, fill), minidynamo.arange(0.5, fill, 0.5)


@whole(matrix)
def indexing(x):
    return x[0], x[0, 1], x[:, 1], x[-1], x[0:1]


@whole(matrix)
def iteration(x):
    return [row * 2 for row in x]


@whole(matrix)
def unpack_rows(x):
    a, b = x
    return a + b


@snippet()
def item(x):
    n = x.sum().item()
    return x * n, n


@snippet()
def float_and_int(x):
    return float(x.sum()), int(x.sum()), bool(x.sum())


@snippet()
def tolist(x):
    return (x + 1).tolist()


@snippet()
def item_into_python(x):
    n = int(x.sum().item())
    return [x + i for i in range(n)]


@snippet()
def dtype_casts(x):
    return x.to(minidynamo.float64), x.float(), (x > 0).float()


@whole()
def integer_tensors(x):
    n = tensor([1, 2, 3])
    return x * n, n + 1, n / 2, n * 2.5


@whole()
def detach_and_requires_grad(x):
    return x.detach() + 1, x.requires_grad


@snippet()
def device_reads(x):
    return x + 1, str(x.device), x.cpu()


@whole()
def clone_is_new(x):
    y = x.clone()
    return y, x


@whole(matrix)
def cat(x):
    return minidynamo.cat([x, x + 1]), minidynamo.cat((x, x), dim=1)


@whole(
    lambda: (tensor([[1.0, -2.0], [3.0, 4.0]]), [(tensor([[1.0, 2.0], [3.0, 4.0]]), tensor([1.0, 2.0]))] * 3),
)
def layers_in_a_loop(x, layers):
    for weight, bias in layers:
        x = minidynamo.relu(x @ weight + bias)
    return x


@whole()
def same_expression_twice(x):
    return (x + 1) * 2, (x + 1) * 2


@whole(lambda: (tensor(2.0),))
def scalar_tensor(x):
    return x * 3, x.dim(), x.shape


@whole(lambda: (tensor([]),))
def empty_tensor(x):
    return x * 3, len(x)


@whole(lambda: (tensor([[1.0], [2.0]]), tensor([10.0, 20.0, 30.0])))
def broadcasting(x, y):
    return x + y, x * y


@whole(lambda: (tensor([float("nan"), float("inf"), -0.0]),))
def special_values(x):
    return x + 1, x * 2, -x, x == x


@whole(lambda: (tensor([[1.0, 2.0], [3.0, 4.0]]).t(),), lambda: (tensor([[1.0, 2.0], [3.0, 4.0]]),))
def strides_differ(x):
    return x + 1, x @ x


@whole()
def many_operations(x):
    for i in range(100):
        x = x * 1.01 + i
    return x


@snippet()
def tensor_as_dict_key(x):
    return {x: 1}[x]


@snippet()
def tensor_in_list(x):
    y = x + 1
    return any(y is z for z in [x, y]), len({id(x), id(y)})


@whole()
def attribute_on_tensor_type(x):
    return minidynamo.Tensor.add(x, 1), minidynamo.Tensor.sum(x)


@whole()
def numbers_of_tensors_made_of_constants(x):
    steps = minidynamo.linspace(0, 1, 3)
    rows = tensor([[1, 2], [3, 4]])
    rows[0, 1] = 7
    return (
        [x * step.item() for step in steps],
        steps.tolist(),
        rows.tolist(),
        (rows.t()[1] + 1).tolist(),
        int(rows.sum()),
        float(rows.max()),
        bool(rows[0, 0] == 1),
        complex(rows[1, 1].item()),
        tensor(2.5, dtype=minidynamo.bfloat16).item(),
        tensor([[True]]).item(),
        tensor([]).tolist(),
        rows.gather(0, tensor([[1, 0]])).tolist(),
    )


@whole()
def branches_on_tensors_made_of_constants(x):
    scale = tensor([0.25, 1.0])
    for at in range(2):
        if scale[at] == 1.0:
            x = x + 1
        else:
            x = x * scale[at]
    count = minidynamo.zeros(1)
    while count < 3:
        count = count + 1
        x = x - 1
    return x if scale.sum() > 1 and not (scale > 2).any() else x * 7, count


@whole(lambda: (tensor([1.0, -2.0, 3.0]), 130), lambda: (tensor([1.0, -2.0, 3.0]), 500))
def pieces_counted_by_a_tensor(x, n):
    return x.chunk(int(tensor(len(x) / 2).ceil()))


@snippet()
def number_of_a_tensor_written_from_outside(x):
    known = minidynamo.zeros(3)
    known += x
    return known.tolist(), known[0].item() if known.sum() > 1 else 0


@snippet(raises=ValueError)
def number_that_is_not_one(x):
    return x + int(tensor(float("nan")))


@snippet(raises=IndexError)
def number_at_no_place(x):
    return x + tensor([1.0, 2.0]).index_select(0, tensor([4])).item()


@snippet()
def number_that_is_drawn(x):
    minidynamo.manual_seed(3)
    return x + minidynamo.rand(1).item(), minidynamo.rand(2).tolist()


@snippet()
def checks_of_tensors_made_of_constants(x):
    times = tensor([2, 0, 1])
    return (
        x.repeat_interleave(times),
        minidynamo.bincount(tensor([0, 2])),
        minidynamo.unravel_index(tensor([5]), (2, 3)),
    )


@snippet(raises=RuntimeError)
def check_of_a_tensor_made_of_constants_that_fails(x):
    return x.repeat_interleave(tensor([2, -1, 1]))
