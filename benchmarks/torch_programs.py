"""Programs over torch's own tensors, unchanged: eager, minidynamo.compile and, with --inductor, torch.compile.

python benchmarks/torch_programs.py [--threads 1,2] [--rounds N] [--rows WORDS] [--inductor] [--json FILE]

One process for each number of threads, in which the contenders take turns; the ratio is the median over the rounds of
eager's time by the contender's. "first" is the first call in a process that has made one product, less eager's.
"""

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import time

from harness import environment, seconds_of_a_call, write_json


def three_operations(torch):
    return lambda x, y: torch.relu(x * y + 1), (torch.randn(3), torch.randn(3))


def mlp(torch):
    nn = torch.nn
    layers = [nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 4)]
    return nn.Sequential(*layers).eval(), (torch.randn(4, 16),)


def convolutions(torch):
    nn = torch.nn
    layers = [
        *(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.AdaptiveAvgPool2d(1)),
        *(nn.Flatten(), nn.Linear(16, 10)),
    ]
    return nn.Sequential(*layers).eval(), (torch.randn(1, 3, 16, 16),)


def transformer_blocks(torch):
    nn, functional = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.heads = heads
            self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            batch, length, width = x.shape
            parts = self.qkv(self.before(x)).split(width, dim=2)
            q, k, v = [part.view(batch, length, self.heads, -1).transpose(1, 2) for part in parts]
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).reshape(batch, length, width))
            return x + self.down(functional.gelu(self.up(self.between(x))))

    return nn.Sequential(*[Block(64, 4) for _ in range(4)]).eval(), (torch.randn(1, 16, 64),)


def hundred_layers(torch):
    nn = torch.nn
    layers = [layer for _ in range(100) for layer in (nn.Linear(16, 16), nn.ReLU())]
    return nn.Sequential(*layers).eval(), (torch.randn(1, 16),)


def recurrence(torch):
    cell = torch.nn.GRUCell(16, 32).eval()

    def run(sequence):
        state = torch.zeros(sequence.shape[1], 32)
        for x in sequence:
            state = cell(x, state)
        return state

    return run, (torch.randn(20, 2, 16),)


# The least ratio to eager that each is meant to have; None: a row without one.
PROGRAMS = {
    "three operations": (three_operations, 5),
    "MLP": (mlp, 8),
    "convolutions": (convolutions, 3),
    "4 transformer blocks": (transformer_blocks, 3),
    "100 Linear and ReLU": (hundred_layers, 20),
    "20 steps of a GRUCell": (recurrence, None),
}


def measure(name, rounds, with_inductor):
    import torch

    import minidynamo

    torch.manual_seed(0)
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    with torch.no_grad():
        warm = torch.randn(8, 8) @ torch.randn(8, 8)
        minidynamo.compile(lambda x: x @ x)(warm)
        program, arguments = PROGRAMS[name][0](torch)
        contenders = {"eager": program, "minidynamo": minidynamo.compile(program)}
        if with_inductor:
            contenders["torch.compile"] = torch.compile(program)
        expected, first = program(*arguments), {}
        for contender, function in contenders.items():
            start = time.perf_counter()
            found = function(*arguments)
            first[contender] = time.perf_counter() - start
            torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
            for _ in range(3):
                function(*arguments)
        times = {contender: [] for contender in contenders}
        for _ in range(rounds):
            for contender, function in contenders.items():
                times[contender].append(seconds_of_a_call(function, arguments))
    results = {}
    for contender, samples in times.items():
        ratio = statistics.median(eager / own for eager, own in zip(times["eager"], samples))
        results[contender] = {
            "us": min(samples) * 1e6,
            "ratio": ratio,
            "first ms": (first[contender] - first["eager"]) * 1e3,
        }
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rows", default="")
    parser.add_argument("--inductor", action="store_true", help="torch.compile too")
    parser.add_argument("--json", help="file to write all results to")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if importlib.util.find_spec("torch") is None:
        return print("skipped: torch is not installed")
    if options.worker:
        return print(json.dumps(measure(options.worker, options.rounds, options.inductor)))
    results = {}
    for threads in map(int, options.threads.split(",")):
        for name, (_, target) in PROGRAMS.items():
            if options.rows not in name:
                continue
            command = [sys.executable, __file__, "--worker", name, "--rounds", str(options.rounds)]
            command += ["--inductor"] if options.inductor else []
            run = subprocess.run(command, env=environment(threads), capture_output=True, text=True, check=True)
            found = results[f"{name}, {threads}"] = json.loads(run.stdout.splitlines()[-1])
            texts = [
                f"{contender} {row['us']:.3g} us, {row['ratio']:.3g} times eager, first {row['first ms']:.3g} ms more"
                for contender, row in found.items()
                if contender != "eager"
            ]
            wanted = f" (wanted: {target})" if target else ""
            print(f"[{threads}] {name}{wanted}: eager {found['eager']['us']:.3g} us; " + "; ".join(texts), flush=True)
    if options.json:
        write_json(options.json, results)
    return None


if __name__ == "__main__":
    sys.exit(main())
