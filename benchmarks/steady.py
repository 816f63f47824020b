"""The table of workloads, each contender's time when all is compiled: python benchmarks/steady.py [--headline]

For each row all contenders are timed in turn, in processes that live on. Results are checked against NumPy in float64
before anything is timed. `limit` is the time that the machine would need to copy the row's bytes once or for its matrix
products (see roofline.py), for calls that of an eager Python call. peak is the resident memory of the process through
compilation and the first calls. report.py makes the table.
"""

import ctypes
import gc
import os
import sys
import tempfile
import time
import timeit
import warnings

import report
import roofline
from harness import (
    SPIN_SECONDS,
    Worker,
    available,
    environment,
    interleave,
    machine,
    parse_arguments,
    serve,
    write_json,
)
from peers import OURS, PEERS
from workloads import ROWS
from workloads.table import arrays_in, map_arrays

SAMPLE_SECONDS = 4e-3  # of a round, the same for all
STRETCH_SECONDS = 1e-4  # of calls in a row: a longer stretch would meet more of the machine's noise
PEER_SECONDS = 1.0  # of samples of one contender in one row; those that are slow get fewer rounds, but
FEWEST_ROUNDS = 3  # unless a call takes more than
SLOW_SECONDS = 0.5
COMPILE_SECONDS = 90  # a contender that has no result by then is left out of the row
ROUNDS = 10
CACHE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "build", "benchmarks")


def rounded(values, dtype):
    """float64 of what the values are in `dtype`: the reference and the contenders have the same inputs."""
    import numpy

    if values.dtype != numpy.float64 or dtype == "float64":
        return values
    single = values.astype(numpy.float32)
    if dtype == "bfloat16":  # to nearest, ties to even
        bits = single.view(numpy.uint32)
        bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & numpy.uint32(0xFFFF0000)
        single = bits.view(numpy.float32)
    return single.astype(numpy.float64)


def write_case(row, path):
    """Writes inputs, weights and reference; returns the bytes that have to be moved."""
    import numpy

    rng = numpy.random.default_rng(0)
    inputs = map_arrays(lambda values: rounded(values, row.dtype), row.inputs(rng))
    weights = row.weights and map_arrays(lambda values: rounded(values, row.dtype), row.weights(rng))
    results = outputs_of(row.reference(*inputs, *([weights] if weights else [])))
    numpy.save(path, numpy.array([inputs, weights, results], dtype=object), allow_pickle=True)
    return row.moved or sum(stored_bytes(values, row.dtype) for values in arrays_in([inputs, weights, results]))


def stored_bytes(values, dtype):
    sizes = {"bfloat16": 2, "float32": 4, "float64": 8}
    return values.size * (sizes[dtype] if values.dtype.kind == "f" else values.itemsize)


def outputs_of(result):
    return list(result) if isinstance(result, list | tuple) else [result]


class Case:
    """One row of one contender: compiled, checked, ready to be timed."""

    def __init__(self, peer, row, path):
        import numpy

        inputs, weights, _ = numpy.load(path, allow_pickle=True)
        self.callee, self.arguments = peer.prepare(row, inputs, weights)
        del inputs, weights
        give_back_memory()
        reset_peak()
        start, before = time.perf_counter(), time.process_time()
        result = self.callee(*self.arguments)
        peer.ready(result)
        self.first, self.first_used = time.perf_counter() - start, time.process_time() - before
        names = [f"a{i}" for i in range(len(self.arguments))]
        call = peer.call.format(f"callee({', '.join(names)})")
        around = {"callee": self.callee, "ready": peer.ready, **dict(zip(names, self.arguments, strict=True))}
        self.timer = timeit.Timer(call, globals=around)
        self.once = self.timer.timeit(1)
        is_slow = self.once > SLOW_SECONDS
        if not is_slow:
            self.once = min(self.once, *self.timer.repeat(5, 1))
        self.peak = peak_bytes()
        result = peer.read_all(self.callee(*self.arguments))
        self.error = largest_error(result, numpy.load(path, allow_pickle=True)[2])
        if self.once < 1e-4:
            self.once = min(self.timer.repeat(5, 50)) / 50
        self.calls = max(1, round(STRETCH_SECONDS / self.once))
        self.stretches = max(1, round(SAMPLE_SECONDS / (self.once * self.calls)))
        calls = self.calls * self.stretches + 1
        self.left = 1 if is_slow else max(FEWEST_ROUNDS, int(PEER_SECONDS / (self.once * calls)))
        self.notes = peer.notes()

    def sample(self):
        """Seconds of a call: in the best stretch of calls, in the mean, and of all processors."""
        if not self.left:
            return None
        self.left -= 1
        if self.left:
            self.timer.timeit(1)  # wakes the threads
        before = time.process_time()
        stretches = self.timer.repeat(self.stretches, self.calls)
        used = time.process_time() - before
        calls = self.calls * self.stretches
        return [min(stretches) / self.calls, sum(stretches) / calls, used / calls]


def largest_error(results, expected):
    """Relative to the largest magnitude of each of the expected results."""
    import numpy

    if results[0] is None:  # nothing to compare
        return 0.0
    errors = []
    for got, wanted in zip(results, expected, strict=True):
        if got.shape != wanted.shape:
            raise AssertionError(f"the result has the shape {got.shape}, not {wanted.shape}")
        errors.append(numpy.abs(got - wanted).max() / numpy.abs(wanted).max())
    return float(numpy.max(errors))


def give_back_memory():
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)


def reset_peak():
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def peak_bytes():
    with open("/proc/self/status") as lines:
        for line in lines:
            if line.startswith("VmHWM"):
                return int(line.split()[1]) * 1024
    return 0


class Bench:
    """The worker's side: "+row=path" prepares a row, "row" times a sample, "-row" forgets it."""

    def __init__(self, peer):
        self.peer = peer
        self.case = None

    def answer(self, question):
        if question.startswith("-"):
            self.case = None
            self.peer.forget()
            give_back_memory()
            return {}
        if not question.startswith("+"):
            return self.case.sample()
        name, _, path = question[1:].rpartition("=")
        row = ROWS[name]
        try:
            self.case = Case(self.peer, row, path)
        except Exception as error:
            return {"failed": f"{type(error).__name__}: {error}"[:400]}
        facts = {"first": self.case.first, "peak": self.case.peak, "error": self.case.error, **self.case.notes}
        if not self.case.error <= row.largest_error:
            facts["failed"] = f"wrong: the largest error is {self.case.error:.2g} of the largest magnitude"
        return facts


def work(name, threads):
    warnings.simplefilter("ignore")
    peer = PEERS[name]
    peer.start(int(threads))
    output, sys.stdout = sys.stdout, sys.stderr  # what a compiler prints is no answer
    bench = Bench(peer)
    serve(bench.answer, output)


class Contenders:
    """The workers of one number of threads; one that hangs or dies is started again for the next row."""

    def __init__(self, names, threads):
        self.names, self.threads = names, threads
        self.workers = {}

    def worker(self, name):
        if name not in self.workers:
            more = {"TORCHINDUCTOR_CACHE_DIR": f"{CACHE}/inductor", "NUMBA_CACHE_DIR": f"{CACHE}/numba"}
            more["TF_CPP_MIN_LOG_LEVEL"] = "2"
            self.workers[name] = Worker(__file__, [name, str(self.threads)], environment(self.threads, **more))
        return self.workers[name]

    def ask(self, name, question):
        try:
            return self.worker(name).ask(question, COMPILE_SECONDS)
        except (TimeoutError, RuntimeError, BrokenPipeError) as error:
            del self.workers[name]
            return {"failed": str(error)}

    def measure(self, row, path, rounds):
        """{name: {"min", "median", ...} or {"failed": why}}."""
        facts = {}
        for name in self.names:
            if PEERS[name].takes(row):
                facts[name] = self.ask(name, f"+{row.name}={path}")
        sound = [name for name, found in facts.items() if "failed" not in found]
        workers = [self.workers[name] for name in sound]
        pause = SPIN_SECONDS if self.threads > 1 else 0.0
        samples = interleave(workers, [row.name], rounds, pause)[row.name]
        for name in facts:
            if name in self.workers:
                self.ask(name, f"-{row.name}")
        for name in sound:
            facts[name] |= report.summarise_row(samples[name], samples.get(OURS))
        return facts

    def close(self):
        for worker in self.workers.values():
            worker.close()


def wanted_rows(arguments):
    """Those whose name or group contains --rows, or one of its parts between semicolons."""
    for row in ROWS.values():
        if arguments.headline and not row.is_headline or row.is_curve and not arguments.curves:
            continue
        if any(part in row.name or part in row.group for part in arguments.rows.split(";")):
            yield row


def measure_threads(threads, names, arguments):
    started = time.perf_counter()
    contenders = Contenders(names, threads)
    roof = roofline.measure(threads)
    results = {"roof": roof, "rows": {}}
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "case.npy")
        for row in wanted_rows(arguments):
            moved = write_case(row, path)
            facts = contenders.measure(row, path, arguments.rounds)
            results["rows"][row.name] = {
                "moved": moved,
                "products": row.products,
                "limit": roofline.limit_seconds(roof, moved, row.products, row.dtype),
                "contenders": facts,
            }
            line = report.row_line(row, results["rows"][row.name], threads)
            print(f"{time.perf_counter() - started:5.0f} s {line}", file=sys.stderr, flush=True)
    contenders.close()
    return results


def main(description=__doc__, rounds=ROUNDS, rows=""):
    """rows: what --rows is without the option."""
    arguments = parse_arguments(
        description,
        rounds=rounds,
        headline="only the most telling rows, with the last number of threads: less than two minutes",
        curves="also the sizes that are only in the plots",
    )
    if arguments.worker:
        work(*arguments.worker)
        return
    arguments.rows = arguments.rows or rows
    os.makedirs(CACHE, exist_ok=True)
    names = available({name: peer.module for name, peer in PEERS.items()}, arguments.only)
    results = {"versions": report.versions(names)}
    threads_wanted = arguments.threads.split(",")
    for threads in threads_wanted[-1:] if arguments.headline else threads_wanted:
        results[threads] = measure_threads(int(threads), names, arguments)
        write_json(arguments.json, results)
    print(report.markdown(results, machine()))


if __name__ == "__main__":
    main()
