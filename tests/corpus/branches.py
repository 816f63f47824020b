"""if, elif, conditional expressions, boolean operators, match, early return."""

from differential import snippet, whole, whole_on_311

import minidynamo
from minidynamo import tensor


@whole()
def if_constant(x):
    if True:
        return x + 1
    return x


@whole(lambda: (tensor([1.0]), True), lambda: (tensor([1.0]), False))
def if_bool_argument(x, flag):
    if flag:
        return x + 1
    return x - 1


@whole(lambda: (tensor([1.0]), 5), lambda: (tensor([1.0]), -5), lambda: (tensor([1.0]), 0))
def if_elif_else(x, n):
    if n > 0:
        y = x + 1
    elif n < 0:
        y = x - 1
    else:
        y = x
    return y


@whole(lambda: (tensor([1.0]), "relu"), lambda: (tensor([1.0]), "neg"), lambda: (tensor([1.0]), "?"))
def if_string(x, mode):
    if mode == "relu":
        return minidynamo.relu(x)
    if mode == "neg":
        return -x
    return mode


@whole(lambda: (tensor([1.0]), None), lambda: (tensor([1.0]), 2))
def if_none(x, n):
    if n is None:
        n = 7
    return x * n


@whole(lambda: (tensor([1.0]), None), lambda: (tensor([1.0]), 2))
def if_not_none(x, n):
    return x * n if n is not None else x


@whole(lambda: (tensor([1.0]), []), lambda: (tensor([1.0]), [1]))
def if_list_is_empty(x, items):
    if items:
        return x + items[0]
    return x


@whole()
def conditional_expression(x):
    return x + (1 if len(x) > 2 else 2)


@whole(lambda: (tensor([1.0]), 0, 3), lambda: (tensor([1.0]), 2, 0))
def and_or(x, a, b):
    return x, a and b, a or b, not a, (a or b) and "yes"


@whole(lambda: (tensor([1.0]), 5))
def chained_comparison(x, n):
    return x * 2 if 0 < n <= 5 else x


@whole()
def shape_in_condition(x):
    if x.shape[0] == 3 and x.dim() == 1:
        return x * 2
    return x


@whole(lambda: (tensor([1.0, 2.0]),), lambda: (tensor([[1.0, 2.0]]),), lambda: (tensor(1.0),))
def dim_in_condition(x):
    if x.dim() == 2:
        return x + 2
    if x.ndim == 1:
        return x + 1
    return x


@whole(lambda: (tensor([1.0]),), lambda: (tensor([1]),))
def dtype_in_condition(x):
    if x.dtype == minidynamo.float32:
        return x * 0.5
    return x * 2


@whole()
def is_tensor_none(x):
    return x + 1 if x is not None else 0


@snippet()
def if_tensor(x):
    if x.sum() > 0:
        return x + 1
    return x - 1


@snippet(lambda: (tensor([1.0]),), lambda: (tensor([-1.0]),))
def if_tensor_both_ways(x):
    y = x * 2
    if y.sum() > 0:
        y = y + 1
    else:
        y = y - 1
    return y * x


@snippet()
def conditional_expression_on_tensor(x):
    return x * (2 if x.sum() > 0 else 3)


@snippet()
def and_of_tensors(x):
    a, b = x.sum(), x.sum() - 2
    return (a and b), (a or b), not a


@snippet()
def nested_ifs_on_tensor(x):
    if x.sum() > 0:
        if x.sum() > 100:
            return x * 100
        x = x + 1
    if x.sum() > 3:
        return x * 2
    return x


@snippet()
def if_item(x):
    if x.sum().item() > 1:
        return x * 2
    return x


@snippet(raises=RuntimeError)
def if_tensor_of_many(x):
    if x:
        return x
    return -x


@whole(lambda: (tensor([1.0]), 1), lambda: (tensor([1.0]), 2), lambda: (tensor([1.0]), 9))
def early_returns(x, n):
    if n == 1:
        return x
    if n == 2:
        return x + 1
    x = x * 2
    return x


@whole(lambda: (tensor([1.0]), 1), lambda: (tensor([1.0]), "a"), lambda: (tensor([1.0]), 9))
def match_literals(x, key):
    match key:
        case 1:
            return x + 1
        case "a" | "b":
            return x + 2
        case _:
            return x


@whole(lambda: (tensor([1.0]), (1, 2, 3)), lambda: (tensor([1.0]), []), lambda: (tensor([1.0]), [1]))
def match_sequence(x, items):
    match items:
        case []:
            return x
        case [only]:
            return x + only
        case [first, *rest]:
            return x * first + len(rest)


@whole(lambda: (tensor([1.0]), {"op": "add", "by": 2}), lambda: (tensor([1.0]), {"op": "mul"}))
def match_mapping(x, order):
    match order:
        case {"op": "add", "by": n}:
            return x + n
        case {"op": "mul", **rest}:
            return x * 3, rest


class Point:
    __match_args__ = ("x", "y")

    def __init__(self, x, y):
        self.x = x
        self.y = y


@whole(lambda: (tensor([1.0]), Point(1, 2)), lambda: (tensor([1.0]), Point(0, 5)), lambda: (tensor([1.0]), 3))
def match_class(x, point):
    match point:
        case Point(0, y):
            return x + y
        case Point(x=a, y=b) if a < b:
            return x * a + b
        case int(n):
            return x * n


@whole()
def assert_true(x):
    assert len(x) == 3, "three"
    return x + 1


@snippet(raises=AssertionError)
def assert_false(x):
    y = x + 1
    assert len(y) == 4, f"four, not {len(y)}"
    return y


@whole_on_311()
def assert_on_tensor(x):
    assert x.sum() > 0
    return x * 2


@whole_on_311(lambda: (tensor([1.0]), tensor(True)), lambda: (tensor([float("nan")]), tensor(2.5)))
def asserts_of_tensors_of_one_element(x, condition):
    y = x + 1
    assert condition, "no"
    assert x.view(1, 1)
    return y


@snippet(lambda: (tensor([1.0]), tensor([0.0])), raises=AssertionError)
def assert_after_a_write(x, condition):
    x.add_(1)
    assert condition, f"failed for {x.shape}"
    return x


@snippet(lambda: (tensor([1.0, 2.0]),), raises=RuntimeError)
def assert_on_a_tensor_of_two_elements(x):
    assert x
    return x


@whole_on_311()
def assert_not_on_tensor(x):
    assert not x.isnan().any(), "nan"
    assert (x > -9).all() and not (x > 100).any()
    return x * 2


def _checked(x, limit):
    if (x > limit).any():
        message = f"more than {limit}"
        raise ValueError(message)
    if x.sum() < limit:
        return x - 1 if limit < 0 else x + 1
    return x


@whole_on_311()
def raise_on_tensor(x):
    if x.isnan().any():
        raise ValueError("nan")
    if not x.isfinite().all():
        raise OverflowError(f"{len(x)} elements, {x}")
    elif x.sum() > 0:
        y = x + 1
    else:
        raise ValueError("not positive")
    return y


@whole_on_311()
def raise_on_tensor_within_blocks(x):
    for limit in (100, 200):
        with minidynamo.no_grad():
            if (x > limit).any():
                raise ValueError(f"more than {limit}")
            x = x + 1
    return x


@snippet(lambda: (tensor([1.0, 2.0]), 5), lambda: (tensor([-1.0, -2.0]), 5))
def raise_on_tensor_in_callee(x, limit):
    return _checked(x * 2, limit) + 1


@snippet(raises=ValueError)
def raise_on_tensor_that_is_met(x):
    y = x * 2
    if y.sum() > 1:
        raise ValueError(f"{y.tolist()}")
    return y


@snippet(lambda: (tensor([1.0, 2.0]), []), raises=ValueError)
def raise_on_tensor_after_writes(x, log):
    x.add_(1)
    log.append(x)
    if x.sum() > 1:
        raise ValueError("after")
    x.add_(1)


@snippet(lambda: (tensor([1.0, 2.0]),), lambda: (tensor([-1.0, -2.0]),))
def raise_on_tensor_that_is_caught(x):
    try:
        if x.sum() > 1:
            raise ValueError("caught")
        y = x + 1
    except ValueError:
        y = x - 1
    return y


@snippet(lambda: (tensor([1.0, 2.0]),), lambda: (tensor([-1.0, -2.0]),))
def raise_on_tensor_that_the_caller_catches(x):
    try:
        return _checked(x, 1)
    except ValueError as error:
        return x.sum(), str(error)


@snippet(raises=AssertionError)
def assert_on_tensor_fails(x):
    assert x.sum() > 100, "too small"
    return x * 2


@whole()
def pass_and_ellipsis(x):
    if len(x) > 100:
        pass
    ...
    return x


@whole()
def falls_off_the_end(x):
    x + 1
