"""print, logging and warnings in captured code: their order, the frames that they see, and what they change in the
meantime."""

import contextlib
import io
import logging
import sys
import traceback
import warnings

import pytest

import minidynamo
from minidynamo._dynamo import explain

HERE = __file__
STRESS = minidynamo._dynamo.config.snapshot_stress != 0
WITHOUT_STRESS = pytest.mark.skipif(STRESS, reason="regions end where the stress switch says")
WHOLE = not STRESS


@pytest.fixture(autouse=True)
def fresh():
    minidynamo._dynamo.reset()


def ones():
    return minidynamo.tensor([1.0, 2.0])


def shape_of(function, *args):
    report = explain(function)(*args)
    return report.graph_count, report.graph_break_count


class State:
    def __init__(self):
        self.n = 0
        self.items = []
        self.kept = None


class Stream:
    """Calls `action(text)` for the text that is written, with the frame of the print."""

    def __init__(self, action):
        self.action = action

    def write(self, text):
        if text != "\n":
            self.action(text, sys._getframe(1))


def same_as_plain(show, function, calls=3, **options):
    compiled = minidynamo.compile(function, **options)
    plain, *seen = [show(each) for each in [function, *[compiled] * calls]]
    for each in seen:
        assert each == plain
    return plain


# ---- one graph


@WITHOUT_STRESS
def test_one_graph_and_no_break():
    logger = logging.getLogger("test_output.one")
    logger.propagate = False
    logger.addHandler(logging.StreamHandler(io.StringIO()))
    logger.setLevel(logging.INFO)

    def function(x):
        y = x + 1
        print("shape", y.shape)
        logger.info("shape %s", y.shape)
        with warnings.catch_warnings() if False else contextlib.nullcontext():
            y = y * 2
        warnings.warn("careful", stacklevel=1)
        return y * 2

    with warnings.catch_warnings(record=True), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("always")
        assert shape_of(function, ones()) == (1, 0)


@WITHOUT_STRESS
def test_with_the_flag_off_each_is_a_break(capsys):
    def function(x):
        y = x + 1
        print("shape", y.shape)
        return y * 2

    with minidynamo._dynamo.config.patch(capture_output=False):
        assert shape_of(function, ones()) == (2, 1)
        with pytest.raises(minidynamo._dynamo.exc.Unsupported, match="Call to `print`"):
            minidynamo.compile(function, fullgraph=True)(ones())
    assert shape_of(function, ones()) == (1, 0)


@WITHOUT_STRESS
@pytest.mark.parametrize("what", ["tensor", "list", "dict"])
def test_output_of_a_tensor_is_a_break(what, capsys):
    def function(x):
        y = x + 1
        print({"tensor": y, "list": [y], "dict": {"k": y}}[what])
        return y * 2

    assert shape_of(function, ones()) == (2, 1)
    with pytest.raises(minidynamo._dynamo.exc.Unsupported, match="Call to `print`"):
        minidynamo.compile(function, fullgraph=True)(ones())


@WITHOUT_STRESS
def test_a_repr_that_breaks_is_the_break_of_the_print(capsys):
    class WithRepr:
        def __repr__(self):
            minidynamo._dynamo.graph_break()
            return "text"

    def function(x):
        y = x + 1
        print(WithRepr())
        return y * 2

    report = explain(function)(ones())
    assert report.graph_count == 2
    assert "Call to `print`" in report.break_reasons[0].reason
    assert capsys.readouterr().out == "text\n"


# ---- where it is written


def test_where_stdout_is_at_the_call(capsys):
    function = minidynamo.compile(lambda x: (print("here"), x + 1)[1], fullgraph=WHOLE)
    function(ones())
    assert capsys.readouterr().out == "here\n"
    for _ in range(2):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            function(ones())
        assert out.getvalue() == "here\n"
    seen = []
    with contextlib.redirect_stdout(Stream(lambda text, frame: seen.append(text))):
        function(ones())
    assert seen == ["here"]
    function(ones())
    assert capsys.readouterr().out == "here\n"
    saved, sys.stdout = sys.stdout, None
    try:
        assert function(ones()).tolist() == [2.0, 3.0]
    finally:
        sys.stdout = saved


def test_a_stream_that_is_changed_later():
    out = io.StringIO()
    seen = []
    function = minidynamo.compile(lambda x: (print("a", file=out), x + 1)[1])
    function(ones())

    class RecordingStream(io.StringIO):
        def write(self, text):
            seen.append(text)
            return super().write(text)

    out = RecordingStream()
    function(ones())
    assert out.getvalue() == "a\n" and seen == ["a", "\n"]


def test_no_stdout():
    def function(x):
        y = x + 1
        print("here")
        return y

    compiled = minidynamo.compile(function)
    compiled(ones())
    saved = sys.stdout
    del sys.stdout
    try:
        for each in (function, compiled, compiled):
            with pytest.raises(RuntimeError, match="lost sys.stdout"):
                each(ones())
    finally:
        sys.stdout = saved


# ---- what it sees


def stack(frame):
    found = []
    while not frame.f_code.co_name.startswith("test_"):
        if frame.f_code.co_filename == HERE:
            found.append((frame.f_code.co_name, frame.f_lineno, sorted(set(frame.f_locals) - {"x", "y", "stream"})))
        frame = frame.f_back
    return [entry for entry in found if entry[0] != "show"]


def test_the_frames_and_their_lines():
    seen = []
    stream = Stream(lambda text, frame: seen.append((text, stack(frame))))

    def inner(x, what):
        y = x * 2
        print(what, file=stream)
        return y + 1

    def function(x):
        print("one", file=stream)
        x = inner(
            x,
            "two",
        )
        return inner(x, "three")

    def show(each):
        seen.clear()
        return each(ones()).tolist(), list(seen)

    plain = same_as_plain(show, function, fullgraph=WHOLE)
    assert [names for _, names in plain[1]][1][0][0] == "inner" and len(plain[1]) == 3
    if WHOLE:
        assert shape_of(function, ones()) == (1, 0)


def test_locals_of_the_frame():
    seen = []

    def look(text, frame):
        values = {name: frame.f_locals[name] for name in ("x", "n", "made", "items")}
        seen.append({name: v.tolist() if hasattr(v, "tolist") else v for name, v in values.items()})

    stream = Stream(look)

    def function(x, items):
        n = x.shape[0]
        made = (n, "a")
        x = x + 1
        print("here", file=stream)
        x = x * 2
        return x, n, made, items

    items = [1]
    for each in (function, minidynamo.compile(function), minidynamo.compile(function)):
        each(ones(), items)
        assert seen.pop() == {"x": [2.0, 3.0], "n": 2, "made": (2, "a"), "items": [1]}
    assert seen == []


def test_only_earlier_mutations_are_visible():
    seen = []
    state, total = State(), ones()

    def look(text, frame):
        seen.append((text, state.n, list(state.items), total.tolist(), minidynamo.is_grad_enabled()))

    stream = Stream(look)

    def function(x):
        print("start", file=stream)
        state.n = 1
        state.items.append("a")
        total.add_(x)
        print("middle", file=stream)
        with minidynamo.no_grad():
            state.n = 2
            print("inside", file=stream)
        total.mul_(2)
        state.items.append("b")
        print("end", file=stream)
        state.n = 3
        total.sub_(1)
        return x + state.n

    def show(each):
        seen.clear()
        state.n, state.items = 0, []
        total.fill_(1)
        version = total._version
        result = each(ones()).tolist()
        return result, list(seen), state.n, state.items, total.tolist(), total._version - version

    plain = same_as_plain(show, function)
    assert [entry[0] for entry in plain[1]] == ["start", "middle", "inside", "end"]


def test_a_tensor_that_is_kept_is_the_same_object():
    state = State()
    stream = Stream(lambda text, frame: setattr(state, "n", frame.f_locals["y"] is state.kept))

    def function(x):
        y = x + 1
        state.kept = y
        print("kept", file=stream)
        return y

    for each in (function, minidynamo.compile(function), minidynamo.compile(function)):
        result = each(ones())
        assert result is state.kept
        assert state.n is True


# ---- what it changes


def test_changes_by_the_code_that_is_run_are_seen():
    state, tensor = State(), ones()
    actions = {
        "nothing": lambda: None,
        "attribute": lambda: setattr(state, "n", 10),
        "list": lambda: state.items.append("by the stream"),
        "tensor": lambda: tensor.mul_(10),
        "global": lambda: globals().__setitem__("FACTOR", 7),
        "method": lambda: setattr(State, "scale", lambda self: 100),
    }
    action = "nothing"
    stream = Stream(lambda text, frame: actions[action]())

    def function(x):
        y = x + tensor
        state.items.append("before")
        print("here", file=stream)
        y = y * FACTOR + tensor + state.n
        print("again", file=stream)
        state.items.append(len(state.items))
        return y * state.scale() + len(state.items)

    def show(each):
        globals()["FACTOR"] = 1
        State.scale = lambda self: 3
        state.n, state.items = 0, []
        tensor.fill_(1)
        return each(ones()).tolist(), state.n, state.items, tensor.tolist()

    compiled = minidynamo.compile(function)
    for action in [*actions, *actions]:
        assert show(compiled) == show(function), action
        assert show(compiled) == show(function), action


FACTOR = 1


def test_a_local_tensor_is_changed_by_the_code_that_is_run():
    stream = Stream(lambda text, frame: frame.f_locals["y"].mul_(10))

    def function(x):
        y = x + 1
        print("here", file=stream)
        z = y + x
        print("again", file=stream)
        return z, y, y * 2

    same_as_plain(lambda each: [value.tolist() for value in each(ones())], function)


def test_written_values_are_changed_by_the_code_that_is_run():
    state = State()
    cell = 0
    stream = Stream(lambda text, frame: change())

    def change():
        nonlocal cell
        state.n += 5
        cell += 5

    def function(x):
        nonlocal cell
        state.n = x.shape[0]
        cell = state.n + 1
        print("here", file=stream)
        y = x + state.n
        return y * cell

    def show(each):
        nonlocal cell
        state.n = cell = 0
        return each(ones()).tolist(), state.n, cell

    plain = same_as_plain(show, function)
    assert plain == ([64.0, 72.0], 7, 8)


def test_random_numbers_keep_their_order():
    stream = Stream(lambda text, frame: minidynamo.rand(1))

    def function(x):
        y = x + minidynamo.rand(2)
        print("here", file=stream)
        return y + minidynamo.rand(2)

    def show(each):
        minidynamo.manual_seed(3)
        return each(ones()).tolist()

    same_as_plain(show, function)


def test_a_local_iterator_continues():
    state = State()
    stream = Stream(lambda text, frame: setattr(state, "n", state.n + 1))

    def function(x):
        for i, value in enumerate([1, 2, 3]):
            print(i, file=stream)
            x = x * value + state.n
        return x

    def show(each):
        state.n = 0
        return each(ones()).tolist(), state.n

    same_as_plain(show, function)


# ---- exceptions


def place_of(error):
    return [(entry.name, entry.lineno) for entry in traceback.extract_tb(error.__traceback__)][1:]


def outcome(each, *args):
    try:
        return each(*args).tolist()
    except Exception as error:
        return type(error).__name__, str(error), place_of(error), type(error.__context__).__name__


@pytest.mark.parametrize("caught", [False, True])
@pytest.mark.parametrize("kind", ["closed", "raises"])
def test_a_stream_that_raises(kind, caught):
    def fail(text, frame):
        raise OSError("full")

    def function(x, state, stream):
        x.add_(1)
        state.items.append("before")
        y = x * 2
        try:
            state.n += 1
            y = tell(y, stream)
        except (ValueError, OSError) if caught else KeyError as error:
            state.items.append(str(error))
            return y + state.n
        finally:
            state.items.append("finally")
        x.add_(1)
        state.items.append("after")
        return y

    def tell(y, stream):
        z = y + 1
        print(
            "never",
            file=stream,
        )
        return z

    def show(each):
        stream = Stream(fail)
        if kind == "closed":
            stream = io.StringIO()
            stream.close()
        x, state = ones(), State()
        return outcome(each, x, state, stream), x.tolist(), state.n, state.items

    plain = same_as_plain(show, function, fullgraph=False)
    assert plain[2:] == ((1, ["before", plain[3][1], "finally"]) if caught else (1, ["before", "finally"]))


def test_an_error_without_a_handler():
    out = io.StringIO()

    def tell(y):
        z = y + 1
        print("text", file=out)
        return z

    def function(x, seen):
        x.add_(1)
        seen.append("before")
        y = tell(x * 2)
        seen.append("after")
        x.add_(1)
        return y

    def show(each):
        x, seen = ones(), []
        return outcome(each, x, seen), x.tolist(), seen

    compiled = minidynamo.compile(function, fullgraph=WHOLE)
    assert show(compiled) == show(function)
    out.close()
    for _ in range(2):
        assert show(compiled) == show(function)
    assert show(function)[0][2][-1][0] == "tell"


def test_an_encoding_that_does_not_have_the_character():
    def function(x):
        y = x + 1
        print("gr\u00fcn")
        return y

    def show(each):
        out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
        with contextlib.redirect_stdout(out):
            return outcome(each, ones())

    assert same_as_plain(show, function)[0] == "UnicodeEncodeError"


def test_warnings_as_errors_keep_earlier_effects():
    state = State()

    def function(x):
        x.add_(1)
        state.items.append(1)
        try:
            y = x * 3
            warnings.warn("careful", stacklevel=1)
            state.items.append(2)
        except UserWarning:
            return y + 1
        return x

    def show(each):
        state.items = []
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            x = ones()
            result = each(x).tolist()
        return result, x.tolist(), state.items

    assert same_as_plain(show, function)[2] == [1]


def test_once_for_each_place():
    def function(x):
        for _ in range(3):
            warnings.warn("careful", stacklevel=1)
        return x + 1

    def show(each):
        globals().pop("__warningregistry__", None)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            each(ones())
            each(ones())
        return [(str(w.message), w.lineno, w.filename) for w in caught], "__warningregistry__" in globals()

    plain = same_as_plain(show, function)
    assert len(plain[0]) == 1 and plain[1]


# ---- plans that fail


def test_a_plan_that_fails_has_written_nothing(capsys):
    def function(x, index):
        print("before")
        y = x[index]
        print("after")
        return y

    compiled = minidynamo.compile(function)
    good, bad = minidynamo.tensor([1]), minidynamo.tensor([9])
    for index in (good, bad, bad, good):
        plain = outcome(function, ones(), index)
        expected = capsys.readouterr().out
        assert outcome(compiled, ones(), index) == plain
        assert capsys.readouterr().out == expected
    assert expected == "before\nafter\n"


def test_an_operator_after_output_keeps_its_place(capsys):
    @minidynamo.library.custom_op("output::says", mutates_args=())
    def says(x: minidynamo.Tensor) -> minidynamo.Tensor:
        print("operator")
        return x * 2

    says.register_fake(lambda x: x.new_empty(x.size()))

    def function(x):
        x = says(x + 1)
        print("between")
        x = says(x)
        print("end")
        return x

    compiled = minidynamo.compile(function)
    for _ in range(2):
        compiled(ones())
        assert capsys.readouterr().out == "operator\nbetween\noperator\nend\n"


def test_output_and_a_break(capsys):
    def inner(x):
        print("inner")
        minidynamo._dynamo.graph_break()
        print("inner again")
        return x * 2

    def function(x):
        print("one")
        x = inner(x + 1)
        print("two")
        return inner(x)

    compiled = minidynamo.compile(function)
    for _ in range(2):
        assert compiled(ones()).tolist() == [8.0, 12.0]
        assert capsys.readouterr().out == "one\ninner\ninner again\ntwo\ninner\ninner again\n"


# ---- logging


@pytest.fixture
def logger():
    made = logging.getLogger("test_output.logger")
    made.propagate = False
    made.setLevel(logging.INFO)
    records = []

    class Collect(logging.Handler):
        def emit(self, record):
            record.getMessage()
            records.append(record)

    handler = Collect()
    made.addHandler(handler)
    made.records = records
    yield made
    made.removeHandler(handler)
    made.setLevel(logging.NOTSET)
    logging.disable(logging.NOTSET)


def texts(logger):
    found = [
        (r.levelname, r.getMessage(), r.pathname, r.lineno, r.funcName, r.stack_info, r.exc_info)
        for r in logger.records
    ]
    logger.records.clear()
    return found


def test_levels_are_guarded(logger):
    def function(x):
        logger.debug("debug %s", "value")
        y = x + 1
        logger.info("info")
        return y * 2 if logger.isEnabledFor(logging.DEBUG) else y

    compiled = minidynamo.compile(function)

    def show(each):
        return each(ones()).tolist(), [(r[0], r[3]) for r in texts(logger)]

    for level in [10, 20, 30, 10, 30, 20, 10] * 3:
        logger.setLevel(level)
        assert show(compiled) == show(function)
    logger.setLevel(logging.NOTSET)
    logging.disable(logging.INFO)
    assert show(compiled) == show(function)
    logging.disable(logging.NOTSET)
    logger.disabled = True
    assert show(compiled) == show(function) and show(function)[1] == []
    logger.disabled = False
    logger.setLevel(10)
    assert len(show(function)[1]) == 2
    assert show(compiled) == show(function)


@WITHOUT_STRESS
def test_a_call_that_is_off_needs_nothing(logger):
    def function(x):
        y = x + 1
        logger.debug("tensor %s", y)
        return y * 2

    assert shape_of(function, ones()) == (1, 0)
    logger.setLevel(logging.DEBUG)
    graphs, breaks = shape_of(function, ones())
    assert graphs == 2 and breaks > 0


@pytest.mark.parametrize("level", [1, 2, 3])
def test_the_caller_of_a_log_call(logger, level):
    def function(x):
        y = x + 1
        logger.info("in %s", "the function", stacklevel=level)
        return inner(y) * 2

    def inner(y):
        y = y * 2
        logger.warning("in the callee", stacklevel=level, stack_info=True, extra={"n": 3})
        logger.exception("nothing is handled", stacklevel=level)
        return y

    def show(each):
        return each(ones()).tolist(), texts(logger)

    plain = same_as_plain(show, function)
    if level == 1:
        assert [entry[4] for entry in plain[1]] == ["function", "inner", "inner"]


@WITHOUT_STRESS
def test_log_calls_stay_in_one_graph(logger):
    adapter = logging.LoggerAdapter(logger, {"who": "me"})

    def function(x):
        logger.info("one")
        y = x + 1
        logging.getLogger("test_output.logger").error("two %s", y.shape)
        logger.log(logging.WARNING, "three")
        adapter.info("four")
        return y * 2

    assert shape_of(function, ones()) == (1, 0)
    compiled = minidynamo.compile(function, fullgraph=True)
    logger.records.clear()
    compiled(ones())
    found = texts(logger)
    function(ones())
    assert [entry[:2] + entry[4:] for entry in found] == [entry[:2] + entry[4:] for entry in texts(logger)]
    assert len(found) == 4


def test_handlers_and_filters_run(logger):
    state = State()

    def keep(record):
        state.n += 1
        return state.n % 2 == 0

    logger.addFilter(keep)
    try:

        def function(x):
            for i in range(4):
                logger.info("at %d", i)
                x = x + state.n
            return x

        def show(each):
            state.n = 0
            return each(ones()).tolist(), [entry[1] for entry in texts(logger)]

        assert same_as_plain(show, function)[1] == ["at 1", "at 3"]
    finally:
        logger.removeFilter(keep)


def test_in_an_except_block(logger):
    def function(x):
        try:
            x = x + 1
            raise KeyError("k")
        except KeyError:
            logger.exception("caught")
            return x * 2

    def show(each):
        result = each(ones()).tolist()
        return result, [(r.getMessage(), r.lineno, repr(r.exc_info[1])) for r in logger.records], logger.records.clear()

    assert len(same_as_plain(show, function)[1]) == 1


def test_no_reference_is_kept():
    out = io.StringIO()
    state = State()
    stream = Stream(lambda text, frame: None)

    def function(x, what):
        state.kept = what
        print("a", what, file=out)
        print("b", what, file=stream)
        return x + 1

    compiled = minidynamo.compile(function)
    what, x = WithRepr(), ones()
    for _ in range(20):
        compiled(x, what)
    before = sys.getrefcount(what), sys.getrefcount(x), sys.getrefcount(out), sys.getrefcount(stream)
    for _ in range(50):
        compiled(x, what)
    assert (sys.getrefcount(what), sys.getrefcount(x), sys.getrefcount(out), sys.getrefcount(stream)) == before


class WithRepr:
    def __repr__(self):
        return "text"
