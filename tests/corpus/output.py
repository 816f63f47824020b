"""print, logging and warnings: captured in their place, in one graph if no output depends on a tensor's value."""

import io
import logging
import sys
import warnings

from differential import snippet, whole

from minidynamo import tensor

LOGGER = logging.getLogger("language.output")
LOGGER.propagate = False
QUIET = logging.getLogger("language.output.quiet")
QUIET.setLevel(logging.ERROR)
RECORDS = []
NAMES = {}
SINK = io.StringIO()


class Collect(logging.Handler):
    def emit(self, record):
        RECORDS.append((record.levelname, record.getMessage(), record.funcName, record.lineno, sorted(NAMES)))


LOGGER.addHandler(Collect())
LOGGER.setLevel(logging.INFO)


class Writer:
    """A stream written in Python."""

    def __init__(self):
        self.parts = []

    def write(self, text):
        self.parts.append((text, sys._getframe(1).f_lineno, dict(NAMES)))


class Spoken:
    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return f"<{self.name} with {sorted(NAMES)}>"


class Plain:
    __slots__ = ()


WRITER = Writer()
SPOKEN = Spoken("one")


def one_tensor():
    return tensor([1.0, 2.0])


def with_list():
    return one_tensor(), [1, "a"]


@whole()
def known_values(x):
    y = x + 1
    print("shape", tuple(y.shape), y.dtype, len(y), 2.5, None, True, 1j, ..., sep="|", end="!\n")
    return y * 2


@whole(lambda: (one_tensor(), 3), lambda: (one_tensor(), 4), lambda: (one_tensor(), 5))
def a_dynamic_number(x, n):
    print("n", n, n * 2, [n], f"<{n + 1}>")
    return x * n


@whole()
def in_a_loop(x):
    for i in range(4):
        x = x + i
        print("step", i, flush=i == 2)
    return x


@whole()
def in_a_callee(x):
    def tell(y, what):
        print(what, len(y))
        return y * 2

    return tell(tell(x, "first"), "second") + 1


@whole()
def in_a_generator(x):
    def parts():
        for i in range(3):
            print("part", i)
            yield x * i
        print("no more")

    return sum(parts())


@whole()
def in_a_comprehension(x):
    return [(print("at", i), x + i)[1] for i in range(3)]


@whole()
def by_map(x):
    return x + 1, list(map(print, ["a", "b"]))


@whole()
def a_list_that_changes(x):
    made = [1]
    print(made)
    made.append({"k": 2})
    print(made, {3}, (made, 4), {"list": made})
    made.clear()
    return x + 1, made


@whole(with_list)
def a_list_of_the_caller(x, items):
    print(items)
    items.append(2)
    print(items)
    items.append(len(items))
    return x + 1


@whole(with_list, state="NAMES")
def among_mutations(x, items):
    global NAMES
    print("none", NAMES)
    NAMES["a"] = 1
    print("one", NAMES)
    NAMES["a"] = 2
    NAMES["b"] = 3
    print("two", NAMES)
    del NAMES["a"]
    items[0] = "z"
    print(NAMES, items)
    return x + 1


@snippet()
def a_tensor(x):
    y = x + 1
    print("values", y)
    print([y])
    return y * 2


@whole()
def to_a_stream_of_the_module(x):
    print("unseen", file=SINK)
    return x + 1, sys.stderr is sys.stdout


@whole(lambda: (one_tensor(), io.StringIO()))
def to_a_stream(x, out):
    print("one", file=out)
    print("two", 3, file=out, sep="")
    return x + 1


@whole(lambda: (one_tensor(), io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="replace")))
def to_an_encoded_stream(x, out):
    print("gr\u00fcn", file=out, flush=True)
    return x + 1


@whole(state="NAMES")
def to_a_stream_in_python(x):
    WRITER.parts.clear()
    y = x + 1
    print("one", file=WRITER)
    NAMES["a"] = 1
    print(
        "two",
        3,
        file=WRITER,
    )
    NAMES["b"] = 2
    return y * 2


@snippet()
def text_received_by_the_stream(x):
    WRITER.parts.clear()
    print("one", file=WRITER)
    y = x + 1
    return y, list(WRITER.parts)


@whole(state="NAMES")
def an_object_with_a_text(x):
    y = x * 2
    print(SPOKEN)
    NAMES["a"] = y.shape[0]
    print([SPOKEN, "and"], (SPOKEN,))
    NAMES.clear()
    return y + 1


@whole(lambda: (one_tensor(), 3))
def created_objects(x, n):
    made = Spoken("made")
    print(made, slice(1, n), [slice(n)], ValueError("text", 1), KeyError("k"))
    made.name = "changed"
    print("now", made)
    return x + 1


@whole(lambda: (one_tensor(), Plain))
def a_class(x, kind):
    print(kind, type(x).__name__, len)
    return x + 1


@snippet()
def caught_and_printed(x):
    try:
        x = x + 1
        raise ValueError("no", 3)
    except ValueError as error:
        print("caught", error)
    return x


@snippet(raises=TypeError)
def a_separator_that_is_none(x):
    NAMES["before"] = 1
    x.add_(1)
    print("never", sep=3)
    return x


@snippet(raises=TypeError)
def a_keyword_that_is_none(x):
    print("first")
    print("never", colour="red")
    return x


@snippet(lambda: (tensor([1.0]), io.StringIO()), raises=ValueError)
def a_closed_stream(x, out):
    x.add_(1)
    print("first", file=out)
    print("here")
    out.close()
    print("never", file=out)
    x.add_(1)
    return x


def closed():
    out = io.StringIO()
    out.close()
    return out


@snippet(lambda: (tensor([1.0]), closed(), []), raises=ValueError)
def closed_from_the_start(x, out, seen):
    x.add_(1)
    seen.append(1)
    print("here")
    print("never", file=out)
    seen.append(2)
    x.add_(1)
    print("not here")
    return x


@snippet(lambda: (tensor([1.0]), closed(), []), raises=ValueError)
def closed_below(x, out, seen):
    def tell(what):
        seen.append(what)
        y = x * 2
        print(what, file=out)
        return y

    return tell("a") + 1


@whole(lambda: (tensor([1.0]), closed(), []))
def closed_and_caught(x, out, seen):
    y = x + 1
    try:
        seen.append(1)
        z = y * 2
        print("never", file=out)
        z = y * 3
    except ValueError:
        seen.append(2)
        return z, y
    return y


@whole(lambda: (tensor([1.0]), closed(), []))
def closed_and_caught_above(x, out, seen):
    def tell(what):
        w = x + 7
        try:
            print(what, file=out)
        finally:
            seen.append(w)
        return w

    try:
        return tell("never")
    except ValueError:
        return x, seen


@snippet(lambda: (tensor([1.0, 2.0]),), raises=IndexError)
def a_plan_that_fails(x):
    print("once")
    y = x[tensor([5])]
    print("never")
    return y


@snippet(raises=RuntimeError)
def shapes_that_do_not_fit(x):
    print("before")
    y = x @ tensor([1.0])
    print("never")
    return y


@whole(state="RECORDS")
def a_log_call(x):
    y = x + 1
    LOGGER.info("shape %s of %d", y.shape, len(y))
    LOGGER.debug("nothing %s", "of this")
    return y * 2


@whole(state=("RECORDS", "NAMES"))
def log_calls_among_mutations(x):
    LOGGER.warning("before")
    NAMES["a"] = 1
    LOGGER.error("between %r", SPOKEN)
    NAMES["b"] = 2
    return x + 1


@whole(state="RECORDS")
def a_log_call_below(x):
    def tell(n):
        LOGGER.log(logging.INFO, "n = %s", n, extra={"n": n})
        return x * n

    return tell(2) + tell(3)


@whole(state="RECORDS")
def log_calls_that_are_off(x):
    for i in range(3):
        LOGGER.debug("value %s", x)
        QUIET.info("value %s", x)
        x = x + i
    return x if QUIET.isEnabledFor(logging.INFO) else x * 2


@whole(state="RECORDS")
def a_logger_by_name(x):
    logging.getLogger("language.output").critical("found")
    return x + 1


@snippet(state="RECORDS")
def a_log_call_of_a_tensor(x):
    y = x + 1
    LOGGER.info("value %s", y)
    return y * 2


@snippet(state="RECORDS")
def a_log_call_in_a_handler(x):
    y = x + 1
    try:
        y = y * 2
        raise KeyError("k")
    except KeyError:
        LOGGER.exception("caught")
    return y


@snippet(state="RECORDS")
def a_record_is_read(x):
    count = len(RECORDS)
    LOGGER.info("one more")
    y = x + 1
    return y, len(RECORDS) - count


@whole()
def a_warning(x):
    y = x + 1
    warnings.warn("careful", stacklevel=1)
    return y * 2


@whole()
def warnings_below(x):
    def warn(n):
        warnings.warn(f"number {n}", DeprecationWarning, stacklevel=2)
        return x + n

    return warn(1) + warn(2)


@whole()
def print_log_and_warn(x):
    print("a")
    warnings.warn("b", stacklevel=1)
    x = x + 1
    print("c")
    LOGGER.info("d")
    print("e")
    return x * 2


@snippet(lambda: (tensor([1.0]),))
def written_between(x):
    x.add_(1)
    print("one")
    x.mul_(3)
    print("two")
    y = x + 1
    x.sub_(1)
    return y


@snippet()
def an_output_in_a_with(x):
    import minidynamo

    with minidynamo.no_grad():
        print("inside", minidynamo.is_grad_enabled())
        LOGGER.info("inside")
        x = x + 1
    print("outside")
    return x
