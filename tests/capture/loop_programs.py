"""Loops of every kind, and how a call of one is compared with eager Python: results, side effects and exceptions."""

import traceback

import minidynamo as md


def mix(x, w):
    """More work than entering a region costs."""
    return md.tanh(x * w + 1.0) - x * 0.25


def recurrence(x, w, n, log):
    for _ in range(n):
        x = mix(x, w)
    return x


def uses_the_index(x, w, n, log):
    for i in range(n):
        x = mix(x, w) + i * 0.5
    return x


def from_a_start_by_steps(x, w, n, log):
    for i in range(2 * n, -3, -3):
        x = mix(x, w) * 0.5 + i
    return x


def element_at_the_index(x, w, n, log):
    s = 0.0
    for i in range(n):
        s = mix(x, w)[i % 4] + s
    return s


def slices_at_the_index(x, w, n, log):
    rows = []
    for i in range(min(n, 4)):
        y = mix(x, w)
        rows.append((y[:i].sum(), y[i:].sum(), y[i], y[i : i + 1]))
    return rows


def writes_at_the_index(x, w, n, log):
    out = md.zeros(n, 4)
    for i in range(n):
        x = mix(x, w)
        out[i] = x
    return out, x


def writes_into_an_argument(x, w, n, log):
    for i in range(1, 4):
        x[i] = mix(x, w)[i - 1] + x[i - 1]
    return x


def triangular(x, w, n, log):
    for i in range(min(n, 4)):
        for j in range(i):
            x = mix(x, w) + x[i] - x[j]
        x = x * 0.5
    return x


def nested(x, w, n, log):
    for i in range(n):
        x = mix(x, w)
        for j in range(3):
            x = mix(x, w) + (i + j)
    return x


def has_an_else(x, w, n, log):
    for i in range(n):
        x = mix(x, w)
        if i == 7:
            break
    else:
        x = x + 100
    return x


def continues(x, w, n, log):
    for i in range(n):
        x = mix(x, w)
        if i % 3 == 1:
            continue
        x = x + i
        log.append(i)
    return x


def ends_by_data(x, w, n, log):
    for i in range(n):
        x = mix(x, w) + 0.5
        if x.sum() > 6:
            log.append(i)
            break
    return x


def counts_in_a_while(x, w, n, log):
    i = 0
    while i < n:
        x = mix(x, w) + i
        i += 2
    return x, i


def while_a_residual_is_large(x, w, n, log):
    steps = 0
    change = 1.0
    while change > 1e-3 and steps < n:
        y = mix(x, w) * 0.5
        change = (y - x).abs().max().item()
        x = y
        steps += 1
    return x, steps


def enumerates(x, w, n, log):
    for i, row in enumerate([x + k for k in range(n)], 2):
        x = mix(x, row) + i
    return x


def zips(x, w, n, log):
    rows = [x * k for k in range(n)]
    for a, b, k in zip(rows, reversed(rows), range(n)):
        x = mix(a, b) + x * k
    return x


def over_floats(x, w, n, log):
    for k in [0.5, 0.25, 1.5] * 5:
        x = mix(x, w) * k
    return x


def over_names(x, w, n, log):
    for name in ["sin", "cos", "tanh"] * 5:
        x = mix(x, w) + getattr(md, name)(x)
    return x


def over_functions(x, w, n, log):
    for function in [md.sin, md.cos, abs] * 5:
        x = function(mix(x, w))
    return x


def over_a_dict(x, w, n, log):
    for key, value in {"a": 1, "b": 2, "c": 3}.items():
        x = mix(x, w) + value
        log.append(key)
    return x


def over_a_generator(x, w, n, log):
    def numbers():
        for k in range(n):
            log.append(k)
            yield k

    for k in numbers():
        x = mix(x, w) + k
    return x


def over_an_iterator(x, w, n, log):
    numbers = iter(range(n))
    for k in numbers:
        x = mix(x, w) + k + next(numbers, 0)
    return x, list(numbers)


def over_a_growing_list(x, w, n, log):
    items = [0]
    for k in items:
        x = mix(x, w) + k
        if len(items) < n:
            items.append(k + 1)
    return x, items


def within_a_function(x, w, n, log):
    def inner(x):
        for i in range(n):
            x = mix(x, w) + i
        return x

    return inner(x * 2) + 1


def carries_objects(x, w, n, log):
    state = {"x": x, "steps": 0}
    rows = ()
    for i in range(n):
        state["x"] = mix(state["x"], w)
        state["steps"] += 1
        rows = (*rows[-2:], state["x"])
    return state, rows


def grows(x, w, n, log):
    cache = x[:0]
    for i in range(n):
        cache = md.cat([cache, mix(x, w)[:1] + i])
    return cache


def rebinds_the_index(x, w, n, log):
    for i in range(n):
        x = mix(x, w) + i
        i = i * 2
        x = x - i
    return x, i


def closure_of_the_index(x, w, n, log):
    functions = []
    for i in range(n):
        x = mix(x, w)
        functions.append(lambda: i)
    return x, [function() for function in functions]


def raises_an_index_error(x, w, n, log):
    for i in range(n):
        x = mix(x, w)
        log.append(i)
        x = x + x[i]
    return x


def raises_its_own(x, w, n, log):
    for i in range(n):
        x = mix(x, w)
        if i == 5:
            raise ValueError(f"at {i}")
    return x


def handles_an_error(x, w, n, log):
    for i in range(n):
        try:
            x = mix(x, w) + x[i]
        except IndexError as error:
            log.append(str(error))
            x = x * 2
        finally:
            log.append(i)
    return x


def with_a_manager(x, w, n, log):
    for i in range(n):
        with md.no_grad():
            x = mix(x, w) + i
    return x


def breaks_in_the_body(x, w, n, log):
    for i in range(n):
        x = mix(x, w)
        md._dynamo.graph_break()
        x = mix(x, w) + i
    return x


def attributes(x, w, n, log):
    class Holder:
        total = 0

    holder = Holder()
    for i in range(n):
        x = mix(x, w)
        holder.total += i
        holder.last = x
    return holder.total, holder.last


def never_runs(x, w, n, log):
    for i in range(n, 0):
        x = mix(x, w) + i
    return x


def large_numbers(x, w, n, log):
    big = 2**62
    for i in range(big, big + n):
        x = mix(x, w)
        log.append(i)
    return x


def booleans(x, w, n, log):
    for flag in [True, False, True] * 4:
        x = mix(x, w) if flag else x + 1
    return x


def draws(x, w, n, log):
    for _ in range(n):
        x = mix(x, w) + md.rand(4)
    return x


PROGRAMS = {
    name: value
    for name, value in list(globals().items())
    if callable(value) and getattr(value, "__code__", None) and value.__code__.co_varnames[:4] == ("x", "w", "n", "log")
}


def shown(value):
    if isinstance(value, md.Tensor):
        return shown(value.tolist()), str(value.dtype), tuple(value.shape), value.stride()
    if isinstance(value, float) and value != value:
        return "nan"  # equals itself
    if isinstance(value, (list, tuple)):
        return type(value), [shown(item) for item in value]
    if isinstance(value, dict):
        return {key: shown(item) for key, item in value.items()}
    return value


def outcome(function, n, first_line=0):
    """What a call does, with everything that a caller can see."""
    md.manual_seed(3)
    x, w, log = md.tensor([0.5, -1.0, 2.0, 0.25]), md.tensor([1.0, 0.5, -0.5, 2.0]), []
    try:
        result = shown(function(x, w, n, log))
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == function_file(function)]
        result = type(error), str(error), lines
    return result, shown(x), log, md.rand(2).tolist()


def function_file(function):
    return getattr(function, "__wrapped__", function).__code__.co_filename
