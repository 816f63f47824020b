"""Wrong calls over what is captured: NumPy's exception, in type and text, at the user's line; earlier writes are kept."""

import mmap
import multiprocessing.shared_memory
import os
import signal
import threading
import time
import traceback

import numpy as np
import pytest
from compared import copied

import minidynamo

X = np.arange(12.0).reshape(3, 4)
READ_ONLY = np.arange(4.0)
READ_ONLY.flags.writeable = False
# 2^31 elements in eight bytes.
WIDE = np.lib.stride_tricks.as_strided(np.array([1.0]), (1 << 31,), (0,))
ARRAYS = {
    "matrix": X,
    "ints": np.arange(12).reshape(3, 4),
    "bools": X > 3,
    "bytes": np.arange(4, dtype="u1"),
    "element": np.array(2.5),
    "scalar": np.float64(2.5),
    "empty": np.zeros((0, 4)),
    "read-only": READ_ONLY,
    "wide": WIDE,
}


def stored(x):
    x[0] = 5
    x[9] = 1


def stored_text(x):
    x[0] = "a"


def stored_shape(x):
    x[:1] = [1.0, 2.0, 3.0, 4.0, 5.0]


def stored_after(x):
    x += 1
    return x + np.ones(7)


def stored_int(x):
    x[0] = 300


def stored_nan(x):
    x[0] = float("nan")


def added_floats(x):
    x += 0.5


def added_wide(x):
    x += np.ones((2, *x.shape))


def divided(x):
    x //= 0
    x /= 2


def shifted(x):
    x <<= 1.5


def in_a_loop(x):
    for i in range(5):
        x[i] = i
    return x


def caught(x):
    try:
        x[0] = 3
        x @ np.ones(9)
    except ValueError as error:
        return str(error), x


CALLS = {
    "shapes": lambda x: x + np.ones(7),
    "shapes of a product": lambda x: x @ np.ones(9),
    "product of elements": lambda x: x @ 2.0,
    "dot": lambda x: np.dot(x, np.ones((5, 5))),
    "tensordot": lambda x: np.tensordot(x, np.ones(5), axes=1),
    "einsum": lambda x: np.einsum("ij,kj->ik", x, np.ones(3)),
    "einsum labels": lambda x: np.einsum("ii->q", x),
    "axis": lambda x: x.sum(axis=5),
    "negative axis": lambda x: np.max(x, axis=-4),
    "axis twice": lambda x: x.sum(axis=(0, 0)),
    "axis of a float": lambda x: x.mean(axis=1.0),
    "axis of text": lambda x: np.argmax(x, "a"),
    "cumsum axis": lambda x: np.cumsum(x, axis=2),
    "of nothing": lambda x: x[:0].max(),
    "argmin of nothing": lambda x: np.argmin(x[:0]),
    "mean of nothing": lambda x: x[:0].mean(),
    "dtype": lambda x: x.astype("no"),
    "dtype of a sum": lambda x: np.sum(x, dtype="q8"),
    "keyword": lambda x: np.sum(x, axes=0),
    "arguments": lambda x: np.exp(x, x, x, x),
    "no arguments": lambda x: np.exp(),
    "out": lambda x: np.add(x, 1, out=np.zeros(7)),
    "out of ints": lambda x: np.add(x, 0.5, out=np.zeros(x.shape, int)),
    "out of a list": lambda x: np.add(x, 1, out=[1]),
    "read-only out": lambda x: np.add(x, 1, out=x),
    "reshape": lambda x: x.reshape(5, 7),
    "reshape twice -1": lambda x: x.reshape(-1, -1),
    "reshape to text": lambda x: x.reshape("a"),
    "transpose": lambda x: x.transpose(0, 0),
    "swapaxes": lambda x: x.swapaxes(0, 4),
    "moveaxis": lambda x: np.moveaxis(x, 3, 0),
    "squeeze": lambda x: x.squeeze(0),
    "expand_dims": lambda x: np.expand_dims(x, 7),
    "broadcast_to": lambda x: np.broadcast_to(x, (5, 7)),
    "concatenate": lambda x: np.concatenate([x, np.ones((7, 7, 7))]),
    "concatenate nothing": lambda x: np.concatenate([]),
    "stack": lambda x: np.stack([x, np.ones(9)]),
    "split": lambda x: np.split(x, 5),
    "repeat": lambda x: np.repeat(x, -1),
    "tile": lambda x: np.tile(x, "a"),
    "roll": lambda x: np.roll(x, 1, axis=6),
    "take": lambda x: np.take(x, np.array([99])),
    "index": lambda x: x[99],
    "indices": lambda x: x[np.array([0, 99])],
    "too many": lambda x: x[0, 0, 0, 0],
    "mask": lambda x: x[np.array([True] * 9)],
    "float index": lambda x: x[1.0],
    "text index": lambda x: x["a"],
    "float indices": lambda x: x[np.array([0.5])],
    "slice": lambda x: x["a":],
    "step of 0": lambda x: x[::0],
    "iterate": lambda x: [row for row in x],
    "unpack": lambda x: (lambda a, b: a)(*x),
    "truth": lambda x: 1 if x > 1 else 2,
    "int": lambda x: int(x),
    "float": lambda x: float(x),
    "item": lambda x: x.item(77),
    "len": lambda x: len(x),
    "fill": lambda x: x.fill("a"),
    "copyto": lambda x: np.copyto(x, np.ones(9)),
    "where": lambda x: np.where(x > 1, x, np.ones(9)),
    "select": lambda x: np.select([x > 1], [x, x]),
    "clip": lambda x: np.clip(x, np.ones(9), 3),
    "clip by nothing": lambda x: x.clip(),
    "sort": lambda x: np.sort(x, axis=7),
    "power of ints": lambda x: x**-1,
    "invert": lambda x: ~x,
    "negative": lambda x: -x,
    "minus": lambda x: x - x,
    "shift": lambda x: x << 1,
    "or": lambda x: x | 1,
    "integer overflow": lambda x: x + 300,
    "large": lambda x: x * 10**30,
    "division": lambda x: x // 0,
    "logarithm": lambda x: np.log(x - 1) > 0,
    "zeros": lambda x: np.zeros((-1, 2)),
    "zeros of text": lambda x: np.zeros("a"),
    "full": lambda x: np.full((2, 2), "a", dtype=float),
    "arange": lambda x: np.arange(0, 5, 0),
    "linspace": lambda x: np.linspace(0, 1, -3),
    "eye": lambda x: np.eye(-1),
    "array": lambda x: np.array([[1.0], [1.0, 2.0]]),
    "diag": lambda x: np.diag(np.ones((2, 2, 2))),
    "trace": lambda x: np.trace(x),
    "norm": lambda x: np.linalg.norm(x, ord="a"),
    "reduce": lambda x: np.add.reduce(x, axis=4),
    "accumulate": lambda x: np.add.accumulate(x, axis=4),
    "attribute": lambda x: x.nothing,
    "view": lambda x: x.view("c32"),
    "None": lambda x: x + None,
    "text": lambda x: x * "a",
    "object": lambda x: np.add(x, object()),
    "list": lambda x: x + [1, 2, 3, 4, 5, 6, 7],
    **{
        each.__name__: each
        for each in (stored, stored_text, stored_shape, stored_after, stored_int, stored_nan, added_floats, added_wide)
    },
    **{each.__name__: each for each in (divided, shifted, in_a_loop, caught)},
}
# Of 2^31 elements, only what looks at few of them.
OF_WIDE = (
    "shapes of a product,axis,negative axis,axis twice,axis of a float,dtype,keyword,no arguments,reshape,reshape twice -1,"
    "transpose,swapaxes,moveaxis,squeeze,expand_dims,broadcast_to,index,indices,too many,mask,float index,text index,"
    "float indices,slice,step of 0,len,of nothing,argmin of nothing,attribute,stored_text,zeros,diag,item"
).split(",")


def shown(value):
    if isinstance(value, (tuple, list)):
        return [shown(each) for each in value]
    if not isinstance(value, (np.ndarray, np.generic)):
        return value
    few = value if value.size < 100 else value[..., :2][:2]
    return type(value), value.dtype, value.shape, few.tolist().__repr__()


def outcome(function, arguments):
    """What is returned, or what is raised at which line of the user's, and what becomes of the arguments."""
    try:
        with np.errstate(all="ignore"):
            result = shown(function(*arguments))
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        code = getattr(function, "__wrapped__", function).__code__
        lines = [frame.lineno for frame in frames if (frame.filename, frame.name) == (code.co_filename, code.co_name)]
        result = type(error), str(error), lines
    return result, shown(arguments)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("array", ARRAYS)
@pytest.mark.parametrize("name", CALLS)
def test_wrong_calls(name, array):
    function, argument = CALLS[name], ARRAYS[array]
    is_wide = argument.size > 1 << 30
    if is_wide and name not in OF_WIDE:
        pytest.skip("would read 2^31 elements, here or in NumPy")

    def anew():
        new = argument if is_wide else copied(argument)
        if array == "read-only":
            new.flags.writeable = False
        return [new]

    expected = outcome(function, anew())
    compiled = minidynamo.compile(function)
    for _ in range(2):
        assert outcome(compiled, anew()) == expected


def computed(x):
    y = x * 2 + 1
    x[1] = 7
    return y.sum(), x.max()


def test_memory_of_files_and_of_other_processes(tmp_path):
    path = tmp_path / "numbers"
    for mode in ("r+", "c", "r"):
        results = []
        for function in (computed, minidynamo.compile(computed)):
            np.arange(100.0).tofile(path)
            results.append(outcome(function, [np.memmap(path, dtype="f8", mode=mode).view(np.ndarray)]))
        assert results[0] == results[1]
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        compiled = minidynamo.compile(computed)
        array = np.frombuffer(memory, "f8")
        compiled(array)
        assert compiled(array) == computed(array)
        # The capture keeps no view of the buffer.
        del array
    shared = multiprocessing.shared_memory.SharedMemory(create=True, size=800)
    try:
        array = np.ndarray((100,), "f8", shared.buf)
        array[:] = 3
        compiled(array)
        assert compiled(array) == computed(array)
        del array
        shared.close()
    finally:
        shared.unlink()


def test_buffers_that_are_resized_after_a_call():
    buffer = bytearray(np.arange(10.0).tobytes())
    compiled = minidynamo.compile(computed)
    assert compiled(np.frombuffer(buffer, "f8")) == (100.0, 9.0)
    buffer += b"12345678"
    assert compiled(np.frombuffer(buffer, "f8"))[1] > 0


def test_arrays_that_are_resized_between_calls():
    compiled = minidynamo.compile(lambda x: (x * 2 + 1).sum())
    x = np.ones(5)
    assert compiled(x) == 15
    x.resize((3, 4), refcheck=False)
    assert compiled(x) == 5 * 3 + 7
    x.resize(0, refcheck=False)
    assert compiled(x) == 0


def run_beside(work, disturb, seconds=1.0):
    """Calls both in a loop, in two threads; exceptions of the first are returned."""
    done, errors = threading.Event(), []

    def disturbing():
        while not done.is_set():
            disturb()

    thread = threading.Thread(target=disturbing)
    thread.start()
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            try:
                work()
            except Exception as error:
                errors.append(error)
    finally:
        done.set()
        thread.join()
    return errors


def test_another_thread_writes_meanwhile():
    compiled = minidynamo.compile(lambda x: (x * 2 + 1).max())
    x = np.ones(1000)
    assert not run_beside(lambda: compiled(x), lambda: x.fill(2))
    assert compiled(x) == 5


# NumPy holds the GIL or the memory while it computes: a plan that runs without the GIL reads what is freed only where NumPy would.
def test_another_thread_resizes_meanwhile():
    compiled = minidynamo.compile(lambda x: (x * 2 + 1).sum() + x.size)
    x = np.ones(64)
    sizes = iter(range(10**9))

    def resize():
        x.resize(64 + next(sizes) % 3, refcheck=False)

    errors = run_beside(lambda: compiled(x), resize)
    assert not errors
    x.resize(64, refcheck=False)
    x.fill(1)
    assert compiled(x) == 64 * 3 + 64


def test_two_threads_call_one_function():
    @minidynamo.compile
    def function(x, k):
        y = x * k
        y[0] = 0
        return y.sum()

    wrong = []

    def call(k):
        x = np.full(2000, 2.0)
        wrong.extend(found for _ in range(500) if (found := function(x, k)) != 1999 * 2 * k)

    threads = [threading.Thread(target=call, args=(k,)) for k in (1, 2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_signal_during_a_loop():
    @minidynamo.compile
    def function(x):
        for _ in range(10**7):
            x += 1
            x *= 0.5
        return x

    x = np.ones(10_000)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        function(x)
    timer.join()
    # Nothing is half written.
    assert (x == x[0]).all()
    assert np.isfinite(minidynamo.compile(lambda x: x + 1)(x)).all()
