"""Syntax of Python 3.12."""

from differential import snippet


@snippet()
def generic_function(x):
    def first[T](items: list[T]) -> T:
        return items[0]

    return first([x, x + 1])


@snippet()
def generic_class(x):
    class Box[T]:
        def __init__(self, value: T):
            self.value = value

    return Box(x + 1).value


@snippet()
def type_alias(x):
    type Pair = tuple[int, int]
    return x, Pair.__name__


@snippet()
def nested_quotes_in_f_string(x):
    table = {"k": 3}
    return x, f"{table["k"]} {", ".join(["a", "b"])}"  # fmt: skip


@snippet()
def comprehension_is_inlined(x):
    i = 5
    items = [x + i for i in range(2)]
    return items, i
