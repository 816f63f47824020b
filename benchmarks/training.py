"""Training steps beside torch's: the whole step compiled, the model alone, torch's own model, and uncompiled.

python benchmarks/training.py [--threads 1,2] [--rounds N] [--rows WORDS] [--only WORDS] [--inductor] [--json FILE]

Each contender has a process of its own; they take turns. The losses of five steps must be those of torch's uncompiled
step within 1e-4, else a contender is left out. "first" is its first step in seconds, in a process that imported it.
"""

import sys
import time

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
from workloads.training import WORKLOADS

BASE = "torch"
STEPS = 5


def stock_step(torch, workload, model):
    """The step of the tutorials; model: the one that is called, compiled or not."""
    optimizer = workload.make_optimizer()

    def step(*batch):
        optimizer.zero_grad()
        loss = workload.loss(model, *batch)
        loss.backward()
        if workload.clip is not None:
            torch.nn.utils.clip_grad_norm_(workload.model.parameters(), workload.clip)
        optimizer.step()
        return loss.detach()

    return step


def uncompiled(torch, workload):
    return stock_step(torch, workload, workload.model)


def compiled_model(torch, workload):
    return stock_step(torch, workload, torch.compile(workload.model))


def torch_model(torch, workload):
    import minidynamo

    return stock_step(torch, workload, minidynamo.compile(workload.model))


def compiled_step(torch, workload):
    return torch.compile(stock_step(torch, workload, workload.model))


# By name: the module, how a step is made, and whether it needs --inductor.
CONTENDERS = {
    "torch": ("torch", uncompiled, False),
    "torch.compile(model)": ("torch", compiled_model, True),
    "minidynamo.compile(torch model)": ("torch", torch_model, False),
    "minidynamo, uncompiled": ("minidynamo", uncompiled, False),
    "minidynamo.compile(model)": ("minidynamo", compiled_model, False),
    "minidynamo.compile(step)": ("minidynamo", compiled_step, False),
}


def work(name, threads):
    module, make, _ = CONTENDERS[name]
    torch = __import__(module)
    torch.set_num_threads(int(threads))

    def made(row):
        workload = WORKLOADS[row](torch)
        return make(torch, workload), workload.batch

    def timed(row):
        step, batch = made(row)
        return lambda: step(*batch)

    timers = Timers(timed, int(threads))

    def answer(question):
        if not question.startswith("losses of "):
            return timers.sample(question)
        step, batch = made(question.removeprefix("losses of "))
        start = time.perf_counter()
        losses = [step(*batch).item()]
        first = time.perf_counter() - start
        losses += [step(*batch).item() for _ in range(STEPS - 1)]
        return {"losses": losses, "first": first}

    serve(answer)


def agrees(found, expected):
    return all(abs(a - b) <= 1e-4 * max(1, abs(b)) for a, b in zip(found, expected, strict=True))


def measure(row, workers, rounds, pause):
    begun = {worker.name: worker.ask(f"losses of {row}") for worker in workers}
    expected = begun[BASE]["losses"]
    sound = []
    for worker in workers:
        if agrees(begun[worker.name]["losses"], expected):
            sound.append(worker)
        else:
            print(f"{worker.name}: other losses: {begun[worker.name]['losses']}, not {expected}", file=sys.stderr)
    rows = summarise_all(interleave(sound, [row], rounds, pause)[row], BASE)
    for name, summary in rows.items():
        summary["first"] = begun[name]["first"]
    return rows


def main():
    arguments = parse_arguments(__doc__, 15, inductor="torch.compile too")
    if arguments.worker:
        return work(*arguments.worker)
    taking_part = {name: module for name, (module, _, needs) in CONTENDERS.items() if arguments.inductor or not needs}
    names = [name for name in available(taking_part, "") if name == BASE or arguments.only in name]
    if BASE not in names:
        return print("skipped: torch is not installed")
    results = {}
    for threads in map(int, arguments.threads.split(",")):
        workers = [Worker(__file__, [name, str(threads)], environment(threads)) for name in names]
        for row in WORKLOADS:
            if arguments.rows not in row:
                continue
            rows = measure(row, workers, arguments.rounds, SPIN_SECONDS if threads > 1 else 0.0)
            title = title_of(row, threads)
            print_table(title, rows, BASE, "us", 1e6)
            print("\nfirst step: " + ", ".join(f"{name} {row['first']:.3g} s" for name, row in rows.items()))
            results[title] = rows
        for worker in workers:
            worker.close()
    write_json(arguments.json, results)
    return None


if __name__ == "__main__":
    sys.exit(main())
