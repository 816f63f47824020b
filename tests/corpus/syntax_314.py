"""Syntax of Python 3.14, and older syntax that its compiler translates differently."""
# ruff: noqa: F821

from differential import snippet


@snippet()
def template_string(x):
    name = "a"
    template = t"<{name!r:>{5}}|{name}>"
    return (
        x + 1,
        template.strings,
        [(i.value, i.expression, i.conversion, i.format_spec) for i in template.interpolations],
    )


@snippet()
def tensor_in_template_string(x):
    template = t"{x + 1}!"
    return template.values[0] * 2, template.strings


@snippet()
def annotations_that_are_never_evaluated(x):
    def add(a: no_such_name, b: 1 / 0 = 2) -> nothing.at.all:
        return a + b

    return add(x)


@snippet()
def annotations_evaluated_late(x):
    def add(a: Later) -> int:
        return a + 1

    Later = str
    return add(x), add.__annotations__ == {"a": str, "return": int}


@snippet()
def function_with_annotations_is_returned(x):
    y = x + 1

    def add(a: float, b: "str" = 2) -> int:
        return a + y

    made = add
    return made(x), made.__annotate__(1), made.__annotations__


@snippet()
def annotations_are_replaced(x):
    def add(a: no_such_name):
        return a + 1

    add.__annotations__ = {"a": int}
    return add(x), add.__annotations__


@snippet()
def except_without_parentheses(x):
    try:
        raise KeyError("k")
    except ValueError, KeyError:
        return x + 1


@snippet()
def any_and_all_of_generators(x):
    items = [1, 2, 0]
    return x + 1, any(i > 1 for i in items), all(i > 1 for i in items), tuple(i * 2 for i in items)


@snippet()
def shadowed_any(x):
    def any(items):
        return [item for item in items]

    return x, any(i for i in (1, 2))


class _Manager:
    def __init__(self, log, swallows=False):
        self.log, self.swallows = log, swallows

    def __enter__(self):
        self.log.append("enter")
        return self

    def __exit__(self, kind, value, traceback):
        self.log.append(("exit", kind and kind.__name__))
        return self.swallows


@snippet()
def with_raising_and_swallowing(x):
    log = []
    with _Manager(log, True) as manager, _Manager(log):
        y = x + 1
        if len(log) == 2:
            raise ValueError("inside")
    return y, log, manager.swallows


@snippet()
def with_across_a_yield(x):
    log = []

    def values():
        with _Manager(log, True):
            yield x + 1
            yield x + 2

    made = values()
    first = next(made)
    try:
        made.throw(KeyError("thrown"))
    except StopIteration:
        log.append("stopped")
    return first, log


@snippet(raises=TypeError)
def no_context_manager(x):
    y = x + 1
    with 5:
        y = y + 1
    return y


@snippet()
def generator_keeps_position_over_a_handler(x):
    def values():
        try:
            raise ValueError("first")
        except ValueError as error:
            yield x + 1, repr(error)
            raise
        finally:
            yield x + 2, "finally"

    made = values()
    out = [next(made), next(made)]
    try:
        next(made)
    except ValueError as error:
        out.append(repr(error))
    return out
