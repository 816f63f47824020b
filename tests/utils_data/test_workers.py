"""Worker processes of a DataLoader: what they send, how they fail and end, and that nothing is left behind."""

import gc
import multiprocessing
import os
import pickle
import random
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import pytest

import minidynamo as md
from minidynamo.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset, get_worker_info

pytestmark = pytest.mark.counts_python_runs
DTYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 uint16 uint32 uint64".split()


@pytest.fixture(autouse=True)
def nothing_left():
    """No process, no descriptor and no mapped file is left when a test is over."""
    gc.collect()
    before = own_descriptors()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "This DataLoader will create")
        warnings.filterwarnings("ignore", category=DeprecationWarning)  # of fork() beside threads
        yield
    gc.collect()
    assert multiprocessing.active_children() == []
    assert mapped_files() == 0
    assert own_descriptors() <= before


def own_descriptors():
    """Those of sockets and of files without names."""
    count = 0
    for name in os.listdir("/proc/self/fd"):
        try:
            count += os.readlink(f"/proc/self/fd/{name}").startswith(("socket:", "/memfd:"))
        except FileNotFoundError:
            pass
    return count


def mapped_files():
    return sum("/memfd:minidynamo" in line for line in Path("/proc/self/maps").read_text().splitlines())


class Rows(Dataset):
    """Samples of 4 KiB, which go through shared memory, with their numbers."""

    def __init__(self, count=12):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return md.full((1024,), float(i)), i


class Stream(IterableDataset):
    """Unequal parts: worker w has 3 + 2 w numbers."""

    def __iter__(self):
        info = get_worker_info()
        return iter(range(5)) if info is None else iter(range(100 * info.id, 100 * info.id + 3 + 2 * info.id))


class Calls(Dataset):
    """Samples are the results of functions, called in the worker."""

    def __init__(self, functions):
        self.functions = functions

    def __len__(self):
        return len(self.functions)

    def __getitem__(self, i):
        return self.functions[i]()


def calls(functions, **options):
    return DataLoader(Calls(functions), None, num_workers=options.pop("workers", 1), **options)


def numbers(loader):
    return [batch[1].tolist() for batch in loader]


@pytest.mark.parametrize("method", [None, "fork", "spawn", "forkserver"])
def test_each_start_method(method):
    loader = DataLoader(Rows(), 4, num_workers=2, multiprocessing_context=method)
    found = list(loader)
    assert [batch[1].tolist() for batch in found] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    assert all(md.equal(rows, n.float()[:, None].expand(4, 1024)) for rows, n in found)
    assert mapped_files() == 0


def test_a_context_as_an_object():
    assert (
        len(list(DataLoader(Rows(), 4, num_workers=1, multiprocessing_context=multiprocessing.get_context("fork"))))
        == 3
    )


@pytest.mark.parametrize("options", [{}, {"prefetch_factor": 1}, {"prefetch_factor": 50}, {"persistent_workers": True}])
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_the_order_is_that_of_the_sampler(workers, options):
    loader = DataLoader(Rows(29), 2, sampler=list(range(28, -1, -1)), num_workers=workers, **options)
    wanted = numbers(DataLoader(Rows(29), 2, sampler=list(range(28, -1, -1))))
    assert numbers(loader) == wanted
    assert numbers(loader) == wanted


def test_rows_of_tensors():
    rows = TensorDataset(md.arange(4000.0).reshape(10, 400), md.arange(10))
    one, other = (DataLoader(rows, 4, sampler=[3, 1, 2, 9, 9, 0], num_workers=n) for n in (0, 2))
    for a, b in zip(one, other, strict=True):
        assert all(md.equal(x, y) for x, y in zip(a, b, strict=True))
    del a, b


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0, 3), (5,), (700, 3), (2, 1, 1000)])
def test_dtypes_and_shapes(dtype, shape):
    def sample():
        count = 1
        for size in shape:
            count *= size
        return (md.arange(count) % 2).reshape(shape).to(getattr(md, dtype))

    (found,) = calls([sample], workers=1)
    assert (found.dtype, tuple(found.shape), found.tolist()) == (sample().dtype, shape, sample().tolist())
    assert found.is_contiguous()


def test_other_objects():
    sent = {
        "text": "x" * 100_000,
        "strided": md.arange(4000).reshape(2, 2000).t(),
        "grad": md.ones(1000).requires_grad_(),
        "nested": [[1, None], {"a": b"bytes" * 1000}],
        "shared": [md.ones(1000)] * 2,
    }
    (found,) = calls([lambda: sent], workers=1)
    assert found["text"] == sent["text"] and found["nested"] == sent["nested"]
    assert md.equal(found["strided"], sent["strided"])
    assert found["grad"].requires_grad
    assert found["shared"][0] is found["shared"][1]
    del found


def test_arrays_of_numpy():
    np = pytest.importorskip("numpy")
    sent = [np.arange(5000).reshape(50, 100), np.ones((3, 2)), np.asfortranarray(np.ones((50, 60)))]
    (found,) = calls([lambda: sent], workers=1, collate_fn=list)
    assert all((a == b).all() and a.flags.writeable for a, b in zip(found, sent))
    del found


def test_a_batch_may_be_written_and_outlives_the_loader():
    loader = DataLoader(Rows(), 4, num_workers=2)
    iterator = iter(loader)
    rows, _ = next(iterator)
    row = rows[2]
    del iterator, loader, rows
    gc.collect()
    assert multiprocessing.active_children() == [] and mapped_files() == 0
    row.add_(1)
    assert row.sum().item() == 3 * 1024
    copy = md.ones(1024)
    copy.copy_(row)
    del row
    assert mapped_files() == 0


def test_more_batches_than_descriptors():
    found = list(DataLoader(Rows(3000), 1, num_workers=1))
    assert len(found) == 3000 and len(os.listdir("/proc/self/fd")) < 100
    del found


def test_streams():
    assert [batch.tolist() for batch in DataLoader(Stream(), 2, num_workers=1)] == [[0, 1], [2]]
    found = [n for batch in DataLoader(Stream(), 2, num_workers=3) for n in batch.tolist()]
    assert sorted(found) == [0, 1, 2, *range(100, 105), *range(200, 207)]
    loader = DataLoader(Stream(), None, num_workers=2, persistent_workers=True)
    for _ in range(3):
        assert sorted(loader) == [0, 1, 2, *range(100, 105)]
    assert sorted(DataLoader(Stream(), 2, num_workers=2, drop_last=True, collate_fn=sum)) == [1, 201, 205]
    del loader


def test_out_of_order():
    others = multiprocessing.get_context("fork").Event()

    def slow():
        others.wait(60)
        return "slow"

    def fast():
        return "fast"

    def last():
        others.set()
        return "last"

    jobs = [slow, fast, fast, last]
    assert list(calls(jobs, workers=2)) == ["slow", "fast", "fast", "last"]
    others.clear()
    found = list(calls(jobs, workers=2, in_order=False))
    assert found[0] == "fast" and sorted(found) == ["fast", "fast", "last", "slow"]


def test_worker_info_and_seeds():
    def look():
        info = get_worker_info()
        drawn = random.random(), md.rand(3).tolist()
        return [info.id, info.num_workers, info.seed, type(info.dataset), *drawn]

    def run(seed):
        loader = calls([look] * 4, workers=2, generator=md.Generator().manual_seed(seed))
        return list(loader)

    first = run(3)
    assert [row[:2] for row in first] == [[0, 2], [1, 2]] * 2 and first[0][3] is Calls
    assert first[1][2] == first[0][2] + 1 and 0 <= first[0][2] < 2**63
    assert first[0][4:] != first[1][4:] != first[2][4:]
    assert run(3) == first != run(4)
    assert get_worker_info() is None
    with pytest.raises(AttributeError):
        list(calls([lambda: setattr(get_worker_info(), "id", 3)], workers=1))


def test_worker_init_fn():
    def start(worker_id):
        random.seed(worker_id)

    loader = calls([random.random] * 2, workers=2, worker_init_fn=start)
    assert list(loader) == [random.Random(0).random(), random.Random(1).random()]

    def fail(worker_id):
        raise ValueError(f"no {worker_id}")

    with pytest.raises(ValueError, match="(?s)Caught ValueError in DataLoader worker process 0.*in fail.*no 0"):
        next(iter(DataLoader(Rows(), num_workers=2, worker_init_fn=fail)))


class TwoArguments(Exception):
    def __init__(self, one, two):
        super().__init__(one, two)


def raising(error):
    def fail():
        raise error

    return fail


class Unpicklable(Exception):
    def __reduce__(self):
        raise TypeError("not this one")


@pytest.mark.parametrize(
    "error, raised",
    [
        (ValueError("seven"), ValueError),
        (KeyError("seven"), KeyError),
        (StopIteration("seven"), StopIteration),
        (TwoArguments("seven", 2), RuntimeError),
        (UnicodeDecodeError("utf-8", b"seven", 0, 1, "seven"), RuntimeError),
        (Unpicklable("seven"), Unpicklable),
        (type("Local", (Exception,), {})("seven"), RuntimeError),
    ],
    ids=lambda value: getattr(value, "__name__", None) or type(value).__name__,
)
def test_errors_of_a_worker(error, raised):
    iterator = iter(calls([raising(error), int], workers=1))
    with pytest.raises(raised) as caught:
        next(iterator)
    text = str(caught.value)
    assert text.startswith(
        f"Caught {type(error).__name__} in DataLoader worker process 0.\nOriginal Traceback (most recent call last):\n"
    )
    assert "in fail\n" in text and "seven" in text
    assert next(iterator) == 0  # the worker lives on
    del iterator, caught


def test_a_batch_that_cannot_be_sent():
    with pytest.raises((AttributeError, TypeError, RuntimeError), match="Caught .* in DataLoader worker process 0"):
        list(calls([lambda: threading.Lock()], workers=1))


@pytest.mark.parametrize(
    "death, cause",
    [
        (lambda: os._exit(3), "exited unexpectedly with exit code 3"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "is killed by signal: Killed"),
        (lambda: sys.exit(4), "exited unexpectedly with exit code 4"),
    ],
    ids=["exit", "killed", "SystemExit"],
)
def test_a_worker_that_dies(death, cause):
    iterator = iter(calls([int, int, death, int], workers=2))
    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly") as caught:
        list(iterator)
    assert cause in str(caught.value.__cause__)
    assert multiprocessing.active_children() == []
    del iterator, caught


def test_timeout():
    loader = calls([lambda: time.sleep(1)], workers=1, timeout=0.2)
    with pytest.raises(RuntimeError, match="DataLoader timed out after 0.2 seconds"):
        list(loader)


@pytest.mark.parametrize("persistent", [False, True])
def test_an_iterator_that_is_dropped(persistent):
    loader = DataLoader(Rows(1000), 2, num_workers=2, persistent_workers=persistent)
    iterator = iter(loader)
    next(iterator)
    assert len(multiprocessing.active_children()) == 2
    del iterator, loader
    gc.collect()
    assert multiprocessing.active_children() == []


def test_workers_that_persist():
    loader = calls([os.getpid] * 10, workers=2, persistent_workers=True)
    first = set(loader)
    next(iter(loader))  # answers to what is left of this iteration are dropped
    assert set(loader) == first and len(first) == 2
    again = calls([os.getpid] * 10, workers=2)
    assert not set(again) & set(again)
    del loader


def test_loaders_beside_each_other():
    one, other = (iter(DataLoader(Rows(), 3, num_workers=2)) for _ in range(2))
    for _ in range(4):
        assert next(one)[1].tolist() == next(other)[1].tolist()
    assert next(one, None) is None and next(other, None) is None


def test_indices_longer_than_a_message():
    (found,) = DataLoader(range(300_000), 300_000, num_workers=1)
    assert found.shape == (300_000,) and found[-1].item() == 299_999


def test_iterators_are_not_pickled():
    with pytest.raises(NotImplementedError):
        pickle.dumps(iter(DataLoader(Rows())))


def test_a_dataset_that_cannot_be_pickled():
    class Local(Rows):
        pass

    refused = pytest.raises((AttributeError, pickle.PicklingError), match="local object")
    with pytest.warns(UserWarning, match="Got pickle error"), refused:
        iter(DataLoader(Local(), num_workers=1, multiprocessing_context="spawn"))


PROGRAM = """
import os, sys, time
import minidynamo as md
from minidynamo.utils.data import mapped_memory
from minidynamo.utils.data import DataLoader, Dataset

class Rows(Dataset):
    def __len__(self):
        return 10**6
    def __getitem__(self, i):
        time.sleep({pause})
        return md.full((1024,), float(i)), os.getpid()

loader = DataLoader(Rows(), 4, num_workers=2)
try:
    for i, batch in enumerate(loader):
        if i == 2:
            print("RUNNING", *set(batch[1].tolist()), flush=True)
        if i == {last}:
            break
except KeyboardInterrupt:
    print("INTERRUPTED", flush=True)
"""


def start(pause=0.01, last=-1, tail=""):
    program = PROGRAM.format(pause=pause, last=last) + tail
    environment = {**os.environ, "PYTHONPATH": str(Path(md.__file__).parent.parent)}
    command = [sys.executable, "-c", program]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env=environment, start_new_session=True, **pipes)


def session_is_empty(session, seconds=20):
    """Whether all processes of a session end within some seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            os.killpg(session, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def test_control_c():
    running = start()
    assert running.stdout.readline().startswith("RUNNING")
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does: to all processes
    out, err = running.communicate(timeout=60)
    assert "INTERRUPTED" in out and "Traceback" not in err and running.returncode == 0
    assert session_is_empty(running.pid)


def test_a_main_process_that_is_killed():
    running = start()
    assert running.stdout.readline().startswith("RUNNING")
    running.kill()
    running.communicate(timeout=60)
    assert session_is_empty(running.pid)


def test_a_program_that_ends_with_an_open_iterator():
    running = start(last=4, tail="\nkept = iter(loader)\nbatch = next(kept)\n")
    out, err = running.communicate(timeout=60)
    assert running.returncode == 0 and err == ""
    assert session_is_empty(running.pid)
