"""List, dict and set comprehensions, generator expressions."""

from differential import snippet, whole


@whole()
def list_comprehension(x):
    return [x + i for i in range(3)]


@whole()
def list_comprehension_filtered(x):
    return [x * i for i in range(6) if i % 2]


@whole()
def list_comprehension_nested(x):
    return [x + i * j for i in range(2) for j in range(2)]


@whole()
def list_of_lists(x):
    return [[x + i for i in range(j)] for j in range(3)]


@whole()
def dict_comprehension(x):
    return {f"k{i}": x * i for i in range(3)}


@whole()
def set_comprehension(x):
    return x, {i % 3 for i in range(7)}


@whole()
def comprehension_unpacks(x):
    return [a + b for a, b in [(x, 1), (x, 2)]]


@whole()
def comprehension_closes_over(x):
    scale = 2.0
    return [x * scale + i for i in range(2)]


@whole()
def comprehension_name_does_not_leak(x):
    i = 100
    items = [i for i in range(3)]
    return x + i, items


@whole()
def comprehension_calls(x):
    def double(y):
        return y * 2

    return [double(y) for y in (x, x + 1)]


@whole()
def comprehension_with_walrus(x):
    items = [y := x + i for i in range(3)]
    return items, y


@whole()
def sum_of_generator_of_numbers(x):
    return x * sum(i * i for i in range(4))


@whole()
def sum_of_generator_of_tensors(x):
    return sum(x * i for i in range(3))


@whole()
def list_of_generator(x):
    return list(x + i for i in range(3))


@whole()
def tuple_of_generator(x):
    return tuple(x * i for i in range(3))


@whole()
def dict_of_generator(x):
    return dict((i, x + i) for i in range(3))


@whole()
def any_all_of_generator(x):
    return x, any(i > 2 for i in range(4)), all(i > 2 for i in range(4))


@whole()
def max_of_generator(x):
    return x * max(i * i for i in (-3, 2))


@snippet()
def generator_expression_returned(x):
    return (x + i for i in range(3))


@whole()
def comprehension_lambdas_late_binding(x):
    functions = [lambda y: y + i for i in range(3)]
    return [f(x) for f in functions]


@whole()
def comprehension_lambdas_early_binding(x):
    functions = [lambda y, i=i: y + i for i in range(3)]
    return [f(x) for f in functions]


@snippet(raises=ZeroDivisionError)
def comprehension_raises(x):
    return [x / (1 // i) for i in (1, 0)]


@snippet()
def comprehension_with_break_inside(x):
    return [print("at", i) or x + i for i in range(3)]


@snippet()
def comprehension_over_tensor_condition(x):
    return [y for y in (x, -x) if (y.sum() > 0).item()]
