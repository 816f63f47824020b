"""Public models beside what a user could pick for them: torch eager, torch.compile, OpenVINO and ONNX Runtime.

    python benchmarks/public.py [--models WORDS] [--batches 1,8] [--threads 1] [--contenders WORDS] [--code DIR]
                                [--rounds N] [--cache DIR] [--output FILE] [--resume] [--report FILE]

torchvision's, timm's and transformers' models at published sizes with random weights, and those of the files in DIR
(public_models.py). A contender is a process for each model; they take turns, with the same number of threads. Its
results must be torch eager's within 1e-3 of the largest, else it is left out. Ours are compile() over torch's modules,
with and without `freeze`, and "minidynamo alone": the same program with minidynamo in torch's place. Peers' models are
float32 and are kept in the cache. What is missing is skipped with its name. Each line of --output is a row; --resume
goes on where a run was cut, --report prints the tables of such a file.
"""

import argparse
import json
import os
import resource
import statistics
import sys
import tempfile
import time
import warnings
from pathlib import Path

from harness import Worker, environment, least_seconds, machine, serve

ROOT = Path(__file__).resolve().parents[1]
BASE = "torch eager"
LARGEST_ERROR = 1e-3
SAMPLE_SECONDS = 0.05  # of calls in a row
ROW_SECONDS = 25.0  # of samples of one row, all contenders together
FEWEST_ROUNDS = 3
PRODUCTS_RULE = 0.6  # of torch's profile: then products and convolutions rule
PRODUCT_OPERATORS = ("conv", "mm", "linear", "attention", "einsum", "matmul")


class Contender:
    """name: as in tables. modules: what has to be installed. is_peer: whether it is to be beaten."""

    name = ""
    modules: tuple = ()
    is_peer = False
    seconds = 600  # until its first result

    def start(self, threads, cache):
        import torch

        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)
        self.threads, self.cache = threads, cache

    def load(self, row, batch, state):
        """Module and inputs. state: the file of torch eager's weights and inputs, for who cannot make the same."""
        from public_models import made

        return made(row, batch)

    def compile(self, module, inputs, key):
        """What is called with the inputs. key: names files in the cache."""
        return module

    def arrays(self, results):
        return [each.detach().numpy() for each in results]


class TorchEager(Contender):
    name = BASE
    modules = ("torch",)
    is_peer = True

    def load(self, row, batch, state):
        import torch

        module, inputs = super().load(row, batch, state)
        torch.save({"weights": module.state_dict(), "inputs": list(inputs)}, state)
        return module, inputs


class TorchCompiled(TorchEager):
    name = "torch.compile"
    options: dict = {}

    load = Contender.load

    def compile(self, module, inputs, key):
        import torch

        return torch.compile(module, dynamic=False, options=dict(self.options) or None)


class TorchFrozen(TorchCompiled):
    name = "torch.compile, frozen"
    options = {"freezing": True}


class OpenVino(Contender):
    name = "OpenVINO"
    modules = ("torch", "openvino")
    is_peer = True

    def compile(self, module, inputs, key):
        import openvino

        path = self.cache / f"{key}.xml"
        if not path.exists():
            shapes = [list(each.shape) for each in inputs]
            openvino.save_model(
                openvino.convert_model(module, example_input=inputs, input=shapes), path, compress_to_fp16=False
            )
        settings = {
            "INFERENCE_NUM_THREADS": self.threads,
            "INFERENCE_PRECISION_HINT": "f32",
            "PERFORMANCE_HINT": "LATENCY",
        }
        compiled = openvino.Core().compile_model(path, "CPU", settings)
        request = compiled.create_infer_request()
        names = list(range(len(inputs)))

        def call(*arrays):
            found = request.infer(dict(zip(names, arrays)), share_inputs=True, share_outputs=True)
            return [found[i] for i in range(len(compiled.outputs))]

        return call

    def arrays(self, results):
        return [each.copy() for each in results]


class OnnxRuntime(OpenVino):
    name = "ONNX Runtime"
    modules = ("torch", "onnxruntime", "onnx")

    def compile(self, module, inputs, key):
        import onnxruntime
        import torch

        path = self.cache / f"{key}.onnx"
        if not path.exists():
            torch.onnx.export(module, inputs, str(path), dynamo=False)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self.threads
        options.log_severity_level = 4
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        names = [each.name for each in session.get_inputs()]
        return lambda *arrays: session.run(None, dict(zip(names, arrays)))


class Minidynamo(Contender):
    name = "minidynamo"
    modules = ("torch", "minidynamo")
    options: dict = {}

    def compile(self, module, inputs, key):
        import minidynamo

        return minidynamo.compile(module, options=dict(self.options) or None)


class MinidynamoFrozen(Minidynamo):
    name = "minidynamo, frozen"
    options = {"freeze": True}


class MinidynamoAlone(Minidynamo):
    name = "minidynamo alone"
    modules = ("minidynamo",)

    def start(self, threads, cache):
        import minidynamo.compat.torch  # noqa: F401

        super().start(threads, cache)

    def load(self, row, batch, state):
        import torch

        module, _ = super().load(row, batch, state)
        known = torch.load(state)
        module.load_state_dict(known["weights"])
        return module, tuple(known["inputs"])


CONTENDERS = {
    contender.name: contender
    for contender in (
        TorchEager(),
        TorchCompiled(),
        TorchFrozen(),
        OpenVino(),
        OnnxRuntime(),
        Minidynamo(),
        MinidynamoFrozen(),
        MinidynamoAlone(),
    )
}


def product_share(module, inputs):
    """Of the time that torch's profile counts, that of products and convolutions."""
    import torch

    with torch.profiler.profile() as profile:
        module(*inputs)
    times = {event.key: event.self_cpu_time_total for event in profile.key_averages()}
    products = sum(value for key, value in times.items() if any(part in key for part in PRODUCT_OPERATORS))
    return products / max(sum(times.values()), 1)


class Served:
    """The side of the worker: one contender with one model."""

    def __init__(self, contender, threads, cache, code):
        self.contender = contender
        contender.start(threads, cache)
        if "torch" in contender.modules:
            from torch_models import name_operators

            self.library = name_operators(sys.modules["torch"])
        self.code = code

    def answer(self, question):
        kind, *words = json.loads(question)
        try:
            return getattr(self, kind)(*words)
        except Exception as error:  # a contender that does not take the model is left out of the row
            return {"failed": f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"}

    def first(self, name, batch, state, results):
        """Makes and calls it; writes the results."""
        import numpy
        from public_models import public_models

        (row,) = [row for row in public_models(self.code) if row.name == name]
        module, inputs = self.contender.load(row, batch, state)
        self.module, self.tensors = module, inputs
        start = time.perf_counter()
        key = f"{name}-{batch}".replace(" ", "-").replace("/", "-")
        self.call = self.contender.compile(module, inputs, key)
        self.inputs = [each.numpy() for each in inputs] if isinstance(self.contender, OpenVino) else inputs
        found = self.call(*self.inputs)
        passed = time.perf_counter() - start
        numpy.savez(results, *self.contender.arrays(found))
        for _ in range(2):
            self.call(*self.inputs)
        return {"first": passed, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}

    def profile(self):
        return {"products": product_share(self.module, self.tensors)}

    def breaks(self):
        import minidynamo

        explained = minidynamo._dynamo.explain(self.module)(*self.tensors)
        lost = sorted(
            ((step.fastest_ns - step.least_ns, step.text, step.kernel, step.fastest_ns, step.of_the_bound)
             for region in explained.regions if region.plan is not None
             for step in region.plan.steps if step.fastest_ns), reverse=True
        )  # fmt: skip
        return {"breaks": explained.graph_break_count, "graphs": explained.graph_count, "lost": lost[:5]}

    def sample(self):
        return least_seconds(self.call, self.inputs, SAMPLE_SECONDS)


def difference(expected_path, given_path):
    """The largest, relative to the largest number; infinite where shapes differ."""
    import numpy

    with numpy.load(expected_path) as one, numpy.load(given_path) as other:
        if [one[name].shape for name in one] != [other[name].shape for name in other]:
            return float("inf")
        return max(
            float(abs(one[name].astype(float) - other[name]).max() / max(abs(one[name]).max(), 1e-6)) for name in one
        )


def worker_of(name, threads, arguments):
    env = environment(threads, TORCHINDUCTOR_CACHE_DIR=str(arguments.cache / "inductor"))
    return Worker(__file__, [name, str(threads), str(arguments.cache), arguments.code or ""], env)


def measure(row, batch, threads, names, arguments):
    """{"contenders": {name: {"first", "peak", "min", "error"} or {"failed"}}, "products", "breaks"}"""
    facts, workers = {}, {}
    measured = {"model": row.name, "batch": batch, "threads": threads, "contenders": facts}
    with tempfile.TemporaryDirectory() as folder:
        state, expected = f"{folder}/state.pt", f"{folder}/{BASE}.npz"
        for name in names:
            worker = worker_of(name, threads, arguments)
            results = f"{folder}/{name}.npz"
            try:
                question = json.dumps(["first", row.name, batch, state, results])
                facts[name] = worker.ask(question, CONTENDERS[name].seconds)
            except (RuntimeError, TimeoutError) as error:
                facts[name] = {"failed": str(error)}
            if "failed" not in facts[name]:
                facts[name]["error"] = difference(expected, results)
                if not facts[name]["error"] <= LARGEST_ERROR:
                    facts[name]["failed"] = f"differs from torch by {facts[name]['error']:.1e}"
            if "failed" in facts[name]:
                worker.process.kill()
            else:
                workers[name] = worker
            if name == BASE and name not in workers:
                return measured
    take_turns(workers, facts, arguments.rounds)
    measured |= workers[BASE].ask(json.dumps(["profile"]))
    if "minidynamo" in workers:
        measured |= workers["minidynamo"].ask(json.dumps(["breaks"]))
    for worker in workers.values():
        worker.close()
    return measured


def take_turns(workers, facts, rounds):
    times = {name: [] for name in workers}
    end = time.perf_counter() + ROW_SECONDS
    for done in range(rounds):
        if done >= FEWEST_ROUNDS and time.perf_counter() > end:
            break
        for name, worker in workers.items():
            times[name].append(worker.ask(json.dumps(["sample"])))
    for name, samples in times.items():
        facts[name] |= {"min": min(samples), "median": statistics.median(samples)}


def best(facts, is_peer, without=()):
    """(name, seconds) of the fastest that took part, or None."""
    found = [
        (measured["min"], name)
        for name, measured in facts.items()
        if "min" in measured and CONTENDERS[name].is_peer == is_peer and name not in without
    ]
    return min(found)[::-1] if found else None


def ratio(row, ours=None, torch_only=False):
    """How many times as fast as the best peer; ours: the contender, or the better of ours."""
    facts = row["contenders"]
    peer = best(facts, True, ("OpenVINO", "ONNX Runtime") if torch_only else ())
    mine = best(facts, False) if ours is None else (ours, facts.get(ours, {}).get("min"))
    return peer[1] / mine[1] if peer and mine and mine[1] else None


def line(row):
    facts = row["contenders"]
    times = ", ".join(
        f"{name} {known['min'] * 1e3:.2f} ms" if "min" in known else f"{name}: {known['failed']}"
        for name, known in facts.items()
    )
    found = ratio(row)
    return f"{row['model']}, batch {row['batch']}, {row['threads']} threads: {found and round(found, 2)} ({times})"


def quantiles(ratios):
    ordered = sorted(ratios)
    places = [ordered[round(part * (len(ordered) - 1))] for part in (0, 0.1, 0.25, 0.5, 0.75, 0.9, 1)]
    return " ".join(f"{value:.2f}" for value in places)


def stratum_lines(title, rows):
    lines = [f"### {title}: {len(rows)} rows", ""]
    lines.append("| ours | beside | mean | least, 10, 25, 50, 75, 90 %, most | below 0.9 |")
    lines.append("| --- | --- | ---: | --- | ---: |")
    for ours in (None, *(name for name, each in CONTENDERS.items() if not each.is_peer)):
        for torch_only in (False, True):
            found = [each for each in (ratio(row, ours, torch_only) for row in rows) if each]
            if not found:
                continue
            beside = "torch's better one" if torch_only else "the best of all peers"
            mean, below = statistics.geometric_mean(found), sum(each < 0.9 for each in found)
            lines.append(f"| {ours or 'the better of ours'} | {beside} | {mean:.2f} | {quantiles(found)} | {below} |")
    return [*lines, ""]


def worst_lines(rows):
    lines = ["### The worst ten, and where their time is lost", ""]
    for row in sorted((row for row in rows if ratio(row)), key=ratio)[:10]:
        lines.append(f"- {line(row)}")
        for lost, text, kernel, fastest, part in row.get("lost", ()):
            rate = f"{lost / 1e3:.0f} of {fastest / 1e3:.0f} us, {100 * part:.0f} % of the bound"
            lines.append(f"  - {rate}: {text}; {kernel}")
    return [*lines, ""]


def other_lines(rows):
    lines = ["| | first call, s | peak memory, MB | took part |", "| --- | ---: | ---: | ---: |"]
    for name in CONTENDERS:
        known = [row["contenders"][name] for row in rows if name in row["contenders"]]
        took = [each for each in known if "min" in each]
        if took:
            first = statistics.median(each["first"] for each in took)
            peak = statistics.median(each["peak"] for each in took) / 2**20
            lines.append(f"| {name} | {first:.2f} | {peak:.0f} | {len(took)} of {len(known)} |")
    lines += ["", "Medians. Left out:", ""]
    for row in rows:
        for name, known in row["contenders"].items():
            if "failed" in known:
                lines.append(f"- {row['model']}, batch {row['batch']}: {name}: {known['failed']}")
    return lines


def report(path):
    with open(path) as file:
        head, *rows = map(json.loads, file)
    machine_text = f"{head['processor']}, {head['cpus']} processors, CPython {head['python']}"
    lines = [f"{head['date']}, {machine_text}; {head['versions']}", ""]
    for threads in sorted({row["threads"] for row in rows}):
        measured = [row for row in rows if row["threads"] == threads]
        lines += [f"## {threads} thread{'s'[: threads > 1]}", ""]
        for title, ruled in (("Products and convolutions rule", True), ("They do not", False)):
            part = [row for row in measured if "products" in row and (row["products"] >= PRODUCTS_RULE) == ruled]
            lines += stratum_lines(title, part) if part else []
        lines += worst_lines(measured) + other_lines(measured)
    return "\n".join(lines)


def versions():
    import importlib.metadata

    names = ("torch", "torchvision", "timm", "transformers", "openvino", "onnxruntime")
    found = []
    for name in names:
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return ", ".join(found)


def is_installed(name):
    import importlib.util

    return all(importlib.util.find_spec(module) is not None for module in CONTENDERS[name].modules)


def wanted(text, name):
    return not text or any(word in name for word in text.split(","))


def run(arguments):
    if not is_installed(BASE):
        return print("skipped: torch is not installed")
    from public_models import public_models

    names = [name for name in CONTENDERS if name == BASE or wanted(arguments.contenders, name)]
    for name in names:
        if not is_installed(name):
            print(f"{name}: skipped: not all of {', '.join(CONTENDERS[name].modules)} are installed", file=sys.stderr)
    names = [name for name in names if is_installed(name)]
    rows = [row for row in public_models(arguments.code) if wanted(arguments.models, row.name)]
    for package in sorted({row.package for row in rows if not row.is_here}):
        print(f"{package}: skipped: it is not installed", file=sys.stderr)
    arguments.cache.mkdir(parents=True, exist_ok=True)
    done, output = begin(arguments)
    for threads in arguments.threads:
        for batch in arguments.batches:
            for row in rows:
                if not row.is_here or (row.name, batch, threads) in done:
                    continue
                measured = measure(row, batch, threads, names, arguments)
                print(line(measured), flush=True)
                output.write(json.dumps(measured) + "\n")
                output.flush()
    output.close()
    print(report(arguments.output))
    return None


def begin(arguments):
    """What an earlier run has, and the file to append to."""
    if arguments.resume and arguments.output.exists():
        with open(arguments.output) as file:
            _, *rows = map(json.loads, file)
        return {(row["model"], row["batch"], row["threads"]) for row in rows}, open(arguments.output, "a")
    output = open(arguments.output, "w")
    output.write(json.dumps(machine() | {"versions": versions()}) + "\n")
    return set(), output


def numbers(text):
    return [int(each) for each in text.split(",")]


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="", help="only those whose name contains one of these words, with commas")
    parser.add_argument("--contenders", default="", help="likewise; torch eager always takes part")
    parser.add_argument("--batches", type=numbers, default=[1, 8])
    parser.add_argument("--threads", type=numbers, default=[1])
    parser.add_argument("--code", help="a directory of files with more models")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--cache", type=Path, default=ROOT / "build" / "public")
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "public.jsonl")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--report", type=Path)
    parser.add_argument("--worker", nargs="*", help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if arguments.report:
        return print(report(arguments.report))
    if arguments.worker:
        return work(*arguments.worker)
    return run(arguments)


def work(name, threads, cache, code):
    warnings.simplefilter("ignore")
    output = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the libraries print goes to stderr
    serve(Served(CONTENDERS[name], int(threads), Path(cache), code or None).answer, output)


if __name__ == "__main__":
    main(sys.argv[1:])
