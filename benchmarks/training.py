"""Training steps beside torch's and JAX's: the whole step compiled, the model alone, torch's own model, and uncompiled.

python benchmarks/training.py [--threads 1 2] [--rounds N] [--rows WORDS] [--only WORDS] [--no-inductor] [--json FILE]

Each contender has a process of its own for each row; they take turns. The losses of five steps must be those of torch's
uncompiled step within 1e-4, else a contender is skipped, as is one that is not installed or fails; the reason is said.
"first step" is in seconds, in a process that imported the library, without caches of earlier runs; "memory" is by how
much the process grew, at the most, from before the first step to the end of the fifth: what compiling takes included.
"""

import gc
import math
import os
import statistics
import sys
import tempfile
import time
import warnings

from harness import (
    SPIN_SECONDS,
    Timers,
    Worker,
    available,
    environment,
    interleave,
    parse_arguments,
    print_table,
    serve,
    summarise_all,
    title_of,
    write_json,
)
from workloads import training_jax
from workloads.training import WORKLOADS
from workloads.training_whole import hand_written_step

BASE = "torch"
OURS, OUR_MODEL, THEIR_MODEL = "minidynamo.compile(step)", "minidynamo.compile(model)", "torch.compile(model)"
LEAST = 0.95  # of the best peer's rate
STEPS = 5


def stock_step(torch, workload, model):
    """The step of the tutorials; model: the one that is called, compiled or not."""
    optimizer = workload.make_optimizer(torch)

    def step(*batch):
        optimizer.zero_grad()
        loss = workload.loss(model, *batch)
        loss.backward()
        if workload.clip is not None:
            torch.nn.utils.clip_grad_norm_(workload.model.parameters(), workload.clip)
        optimizer.step()
        return loss.detach()

    return step


class Contender:
    """module: what has to be installed; make(library, workload): the step. compiles: by torch.compile."""

    workloads = WORKLOADS

    def __init__(self, module, make, compiles=False):
        self.module, self.make, self.compiles = module, make, compiles

    def start(self, threads):
        """Called once, in the worker's process."""
        self.library = __import__(self.module)
        self.library.set_num_threads(threads)

    def step_of(self, row):
        """The step and its batch."""
        workload = self.workloads[row](self.library)
        return self.make(self.library, workload), workload.batch


class Jax(Contender):
    workloads = training_jax.WORKLOADS

    def start(self, threads):
        # XLA has no other limit on its threads than the processors that the process may use.
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
        import jax

        jax.config.update("jax_platforms", "cpu")

    def step_of(self, row):
        workload = self.workloads[row]()
        return self.make(workload), workload.batch


def uncompiled(torch, workload):
    return stock_step(torch, workload, workload.model)


def compiled_model(torch, workload):
    return stock_step(torch, workload, torch.compile(workload.model))


def torch_model(torch, workload):
    import minidynamo

    return stock_step(torch, workload, minidynamo.compile(workload.model))


def compiled_step(torch, workload):
    return torch.compile(stock_step(torch, workload, workload.model))


def whole_step(torch, workload):
    """What torch.compile takes whole: the opt-in setting, and no stock optimizer, which breaks the graph."""
    import torch._dynamo

    torch._dynamo.config.trace_autograd_ops = True
    return torch.compile(hand_written_step(torch, workload), fullgraph=True)


CONTENDERS = {
    BASE: Contender("torch", uncompiled),
    THEIR_MODEL: Contender("torch", compiled_model, compiles=True),
    "torch.compile(step)": Contender("torch", compiled_step, compiles=True),
    "torch.compile(hand-written step)": Contender("torch", whole_step, compiles=True),
    "JAX": Jax("jax", training_jax.compiled_step),
    "minidynamo.compile(torch model)": Contender("torch", torch_model),
    "minidynamo, uncompiled": Contender("minidynamo", uncompiled),
    OUR_MODEL: Contender("minidynamo", compiled_model),
    OURS: Contender("minidynamo", compiled_step),
}
PEERS = [name for name in CONTENDERS if not name.startswith("minidynamo")]


class Contest:
    """The worker's side: a step, begun once and timed from then on."""

    def __init__(self, name, threads):
        self.contender = CONTENDERS[name]
        self.contender.start(threads)
        self.timers = Timers(lambda question: self.call, threads)
        if threads == 1:
            # JAX computes in threads of its own: with one thread the processor time of all of them counts.
            self.timers.clock = time.process_time

    def answer(self, question):
        kind, _, row = question.partition(" of ")
        if kind != "losses":
            return self.timers.sample(question)
        try:
            return self.begin(row)
        except Exception as error:
            return {"failed": f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0][:200]}"}

    def begin(self, row):
        step, batch = self.contender.step_of(row)
        gc.collect()
        forget_peak()
        before = memory("VmRSS")
        start = time.perf_counter()
        losses = [step(*batch).item()]
        first = time.perf_counter() - start
        losses += [step(*batch).item() for _ in range(STEPS - 1)]
        self.call = lambda: step(*batch)
        return {"losses": losses, "first": first, "memory": memory("VmHWM") - before}


def forget_peak():
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def memory(kind):
    """Bytes: VmRSS, what is resident now, or VmHWM, the most since the peak was forgotten."""
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(kind))


def agrees(found, expected):
    return all(abs(a - b) <= 1e-4 * max(1, abs(b)) for a, b in zip(found, expected, strict=True))


def reason_to_skip(begun, expected):
    """A text, or None."""
    if "failed" in begun:
        return begun["failed"]
    return None if agrees(begun["losses"], expected) else f"other losses: {begun['losses']}, not {expected}"


def begin(workers, row):
    """{name: losses, first step and memory} of those that take part; says why others do not."""
    begun = {}
    for worker in workers:
        try:
            begun[worker.name] = worker.ask(f"losses of {row}")
        except RuntimeError as error:
            begun[worker.name] = {"failed": str(error)}
    if "failed" in begun[BASE]:
        raise RuntimeError(f"{BASE}: {begun[BASE]['failed']}")
    reasons = {name: reason_to_skip(found, begun[BASE]["losses"]) for name, found in begun.items()}
    for name, reason in reasons.items():
        if reason is not None:
            print(f"{row}: {name}: skipped: {reason}", file=sys.stderr, flush=True)
    return {name: found for name, found in begun.items() if reasons[name] is None}


def measure(row, names, threads, rounds):
    with tempfile.TemporaryDirectory() as caches:
        return measure_with(caches, row, names, threads, rounds)


def measure_with(caches, row, names, threads, rounds):
    """caches: a directory in which each contender finds what it has compiled in this run, and nothing else."""
    workers = []
    for number, name in enumerate(names):
        env = environment(threads, TORCHINDUCTOR_CACHE_DIR=f"{caches}/{number}")
        workers.append(Worker(__file__, [name, str(threads)], env))
    try:
        begun = begin(workers, row)
        sound = [worker for worker in workers if worker.name in begun]
        question, pause = f"time of {row}", SPIN_SECONDS if threads > 1 else 0.0
        rows = summarise_all(interleave(sound, [question], rounds, pause)[question], BASE)
    finally:
        for worker in workers:
            worker.close()
    for name, summary in rows.items():
        summary |= {"first": begun[name]["first"], "memory": begun[name]["memory"]}
    return rows


def print_beginning(rows):
    print("\n| | first step, s | memory, MB |\n| --- | ---: | ---: |")
    for name, row in rows.items():
        print(f"| {name} | {row['first']:.3g} | {row['memory'] / 1e6:.1f} |")
    sys.stdout.flush()


def print_comparison(results, threads, ours, peers):
    """ours beside the best of the peers of each row, by the minima; results: {row: its rows}."""
    ratios = {}
    for row, rows in results.items():
        least = [rows[name]["min"] for name in peers if name in rows]
        if ours in rows and least:
            ratios[row] = min(least) / rows[ours]["min"]
    if not ratios:
        return
    beside = peers[0] if len(peers) == 1 else "the best peer"
    mean = math.exp(statistics.fmean(map(math.log, ratios.values())))
    slow = ", ".join(f"{row} {ratio:.2f}" for row, ratio in ratios.items() if ratio < LEAST) or "none"
    print(
        f"\n{ours} beside {beside}, {title_of(f'{len(ratios)} rows', threads)}: geometric mean {mean:.2f}, below ",
        end="",
    )
    print(f"{LEAST}: {slow}", flush=True)


def main():
    arguments = parse_arguments(
        __doc__, 15, **{"no-inductor": "without torch.compile, which takes up to minutes a row"}
    )
    if arguments.worker:
        warnings.simplefilter("ignore")
        name, threads = arguments.worker
        return serve(Contest(name, int(threads)).answer)
    wanted = {name: each.module for name, each in CONTENDERS.items() if not (arguments.no_inductor and each.compiles)}
    names = [name for name in available(wanted, "") if name == BASE or arguments.only in name]
    if BASE not in names:
        return print("skipped: torch is not installed")
    written = {}
    for threads in map(int, arguments.threads.split(",")):
        results = {}
        for row in WORKLOADS:
            if arguments.rows not in row:
                continue
            results[row] = measure(row, names, threads, arguments.rounds)
            print_table(title_of(row, threads), results[row], BASE, "us", 1e6)
            print_beginning(results[row])
            written[title_of(row, threads)] = results[row]
        print_comparison(results, threads, OURS, PEERS)
        print_comparison(results, threads, OUR_MODEL, [THEIR_MODEL])
    write_json(arguments.json, written)
    return None


if __name__ == "__main__":
    sys.exit(main())
