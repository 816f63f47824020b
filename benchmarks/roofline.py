"""What the machine can do: python benchmarks/roofline.py

Bytes copied per second (read and written) for working sets from the first cache to memory, and floating-point
operations per second in matrix products, the best of the libraries that are installed.
"""

import glob
import importlib.util
import math
import threading
import time

from harness import Worker, environment, parse_arguments, serve, write_json

WORKING_SETS = [2**power for power in range(14, 30)]  # bytes, of both buffers of all threads
COPIED = 2**28  # bytes that a measurement copies, or one working set
LARGE = 2**20  # bytes from which on a call for each copy costs nothing
REPEATS = 5
PRODUCT_SIZES = (512, 1024, 2048)
PRODUCT_SECONDS = 0.3


def copy_rate(working_set, threads):
    """Bytes per second, read and written, of `threads` threads that copy buffers of their own again and again."""
    size = working_set // 2 // threads
    copies = [repeated_copy(size) for _ in range(threads)]
    count = max(1 if size >= LARGE else 512, COPIED // working_set)
    seconds = min(timed_copies(copies, count) for _ in range(REPEATS))
    return 2 * size * count * threads / seconds


def repeated_copy(size):
    """A function that copies one buffer `count` times without the GIL."""
    import numpy

    source, target = numpy.ones(size, numpy.uint8), numpy.ones(size, numpy.uint8)
    if size >= LARGE:

        def copy(count):
            for _ in range(count):
                numpy.copyto(target, source)
    else:
        item = numpy.dtype(f"V{size}")  # one element, which strides of zero repeat: one call for all copies
        strided = numpy.lib.stride_tricks.as_strided

        def copy(count):
            again = strided(target.view(item), (count,), (0,), writeable=True)
            numpy.copyto(again, strided(source.view(item), (count,), (0,)))

    return copy


def timed_copies(copies, count):
    if len(copies) == 1:
        start = time.perf_counter()
        copies[0](count)
        return time.perf_counter() - start
    barrier = threading.Barrier(len(copies) + 1)

    def run(copy):
        barrier.wait()
        copy(count)
        barrier.wait()

    threads = [threading.Thread(target=run, args=(copy,)) for copy in copies]
    for thread in threads:
        thread.start()
    barrier.wait()
    start = time.perf_counter()
    barrier.wait()
    seconds = time.perf_counter() - start
    for thread in threads:
        thread.join()
    return seconds


def product_rates(threads):
    """{dtype: floating-point operations per second}."""
    rates = {}
    for dtype in ("float32", "float64", "bfloat16"):
        found = [
            rate(dtype, threads)
            for module, rate in LIBRARIES.items()
            if importlib.util.find_spec(module) and (module, dtype) != ("numpy", "bfloat16")
        ]
        rates[dtype] = max(found, default=math.nan)
    return rates


def numpy_rate(dtype, threads):
    import numpy

    return best_product(lambda size: numpy.ones((size, size), dtype))


def torch_rate(dtype, threads):
    import torch

    torch.set_num_threads(threads)
    return best_product(lambda size: torch.ones(size, size, dtype=getattr(torch, dtype)))


def minidynamo_rate(dtype, threads):
    import minidynamo

    minidynamo.set_num_threads(threads)
    return best_product(lambda size: minidynamo.ones(size, size, dtype=getattr(minidynamo, dtype)))


LIBRARIES = {"numpy": numpy_rate, "torch": torch_rate, "minidynamo": minidynamo_rate}


def best_product(make):
    best = 0.0
    for size in PRODUCT_SIZES:
        x = make(size)
        end = time.perf_counter() + PRODUCT_SECONDS / len(PRODUCT_SIZES)
        x @ x
        while True:
            start = time.perf_counter()
            x @ x
            now = time.perf_counter()
            best = max(best, 2.0 * size**3 / (now - start))
            if now > end:
                break
    return best


def measure(threads):
    """{"copy": [[bytes, bytes per second], ...], "products": {dtype: operations per second}} with so many threads."""
    worker = Worker(__file__, ["roofline", str(threads)], environment(threads))
    answer = worker.ask("measure")
    worker.close()
    return answer


def work(threads):
    threads = int(threads)
    serve(
        lambda _: {
            "copy": [[size, copy_rate(size, threads)] for size in WORKING_SETS],
            "products": product_rates(threads),
        }
    )


def limit_seconds(roof, moved, products, dtype):
    """The time that the machine needs at least: for the bytes, or for the matrix products, whichever is longer."""
    return max(moved / copy_rate_at(roof["copy"], moved), products / roof["products"][dtype])


def copy_rate_at(ladder, working_set):
    """Between two measured sizes, the rate in proportion of their logarithms."""
    below = [step for step in ladder if step[0] <= working_set]
    above = [step for step in ladder if step[0] > working_set]
    if not below or not above:
        return (below[-1] if below else above[0])[1]
    (size, rate), (next_size, next_rate) = below[-1], above[0]
    part = math.log(working_set / size) / math.log(next_size / size)
    return rate + part * (next_rate - rate)


def caches():
    """{level: bytes} of the first processor's data caches."""
    found = {}
    for index in sorted(glob.glob("/sys/devices/system/cpu/cpu0/cache/index*")):
        with open(f"{index}/type") as kind, open(f"{index}/level") as level, open(f"{index}/size") as size:
            if kind.read().strip() != "Instruction":
                found[int(level.read())] = int(size.read().strip().rstrip("K")) * 1024
    return found


def print_roof(roof, threads):
    print(f"\n### The machine, {threads} thread{'s'[: threads > 1]}\n")
    print("| copying | GB/s |\n| --- | ---: |")
    levels = [(f"level {level}", size * (threads if level < 3 else 1) / 2) for level, size in caches().items()]
    for name, size in [*levels, ("memory", WORKING_SETS[-1])]:
        print(f"| {name}, {size / 1024:.0f} KB | {copy_rate_at(roof['copy'], size) / 1e9:.0f} |")
    print("\n| matrix products | GFLOP/s |\n| --- | ---: |")
    for dtype, rate in roof["products"].items():
        print(f"| {dtype} | {rate / 1e9:.0f} |")


def main():
    arguments = parse_arguments(__doc__, rounds=1)
    if arguments.worker:
        work(arguments.worker[1])
        return
    results = {}
    for threads in map(int, arguments.threads.split(",")):
        results[threads] = measure(threads)
        print_roof(results[threads], threads)
    write_json(arguments.json, results)


if __name__ == "__main__":
    main()
