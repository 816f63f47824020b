"""Runs a generator in separate processes, each with a part of its seeds."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PART = 250


@dataclass
class Result:
    name: str
    count: int
    seed: int
    hits: dict = field(default_factory=dict)
    failures: list = field(default_factory=list)  # texts

    def __str__(self):
        row = f"{self.name}: {self.count} from seed {self.seed}, {len(self.failures)} failed"
        total = sum(self.hits.values())
        if total:
            counts = ", ".join(f"{count} {name}" for name, count in self.hits.items())
            row += f"; {counts} hits ({100 * self.hits['uncompared'] / total:.1f} % uncompared)"
        return "\n".join([row, *self.failures])


def run_part(name, count, seed, checked):
    """(numbers of hits by outcome, "" or the failure) of one process."""
    command = [sys.executable, "-m", "tests.drawn.worker", name, str(count), str(seed)]
    environment = os.environ | {"MINIDYNAMO_CHECK_CAPTURES": "10" if checked else "0"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, errors="replace")
    last = done.stdout.strip().rpartition("\n")[2]
    if done.returncode == 0:
        return json.loads(last), ""
    return {}, f"{' '.join(command[1:])} exits with {done.returncode}\n{done.stdout[-4000:]}{done.stderr[-12000:]}"


def run(name, count, seed, checked=False, jobs=1):
    result = Result(name, count, seed)
    starts = range(seed, seed + count, PART)
    with ThreadPoolExecutor(jobs) as pool:
        parts = pool.map(lambda at: run_part(name, min(PART, seed + count - at), at, checked), starts)
        for hits, failure in parts:
            for kind, number in hits.items():
                result.hits[kind] = result.hits.get(kind, 0) + number
            if failure:
                result.failures.append(failure)
    return result
