"""Side by side measurements: one process for each contender, timed in turn, so that noise hits all of them alike.

A worker checks its results before anything is timed. Reported are the minimum and the median over the rounds and the
median of what each round's ratio is, as a Markdown table and, with --json, a file.
"""

import argparse
import importlib.util
import json
import os
import platform
import select
import statistics
import subprocess
import sys
import time
import timeit

SPIN_SECONDS = 0.03  # OpenBLAS's threads wait that long for more work before they sleep
SAMPLE_SECONDS = 2e-3  # of calls in a row, the same for all: a longer sample would meet more of the machine's noise


def parse_arguments(description, rounds, **flags):
    """flags: {name: help} of switches that only this script has."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--rounds", type=int, default=rounds, help=f"rounds of each contender, {rounds} by default")
    parser.add_argument("--threads", nargs="+", default=["1,2"], help="numbers of threads: 1,2 or 1 2, the default")
    parser.add_argument("--only", default="", help="only contenders whose name contains this")
    parser.add_argument("--rows", default="", help="only rows whose name contains this")
    for name, text in flags.items():
        parser.add_argument(f"--{name}", action="store_true", help=text)
    parser.add_argument("--json", help="file to write all results to")
    parser.add_argument("--worker", nargs="*", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    arguments.threads = ",".join(arguments.threads)
    return arguments


def available(contenders, only):
    """The names whose module is installed; says which are left out."""
    names = []
    for name, module in contenders.items():
        if only not in name:
            continue
        if module is None or importlib.util.find_spec(module) is not None:
            names.append(name)
        else:
            print(f"{name}: {module} is not installed, left out", file=sys.stderr)
    return names


def environment(threads, **more):
    """The environment of a worker."""
    return {
        **os.environ,
        "OMP_NUM_THREADS": str(threads),
        "MKL_NUM_THREADS": str(threads),
        "OPENBLAS_NUM_THREADS": str(threads),
        "NUMBA_NUM_THREADS": str(threads),
        "NUMEXPR_MAX_THREADS": str(threads),
        **more,
    }


def path_of_build(directory):
    """The PYTHONPATH of a worker that imports minidynamo from a directory."""
    return os.pathsep.join([os.path.abspath(directory), *filter(None, [os.environ.get("PYTHONPATH")])])


class Worker:
    """A process that answers each line with a line of JSON."""

    def __init__(self, script, arguments, env):
        self.name = arguments[0]
        self.process = subprocess.Popen(
            [sys.executable, script, "--worker", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=env,
        )

    def ask(self, question, seconds=None):
        """Raises TimeoutError after `seconds`; the worker is of no use then."""
        self.process.stdin.write(f"{question}\n")
        self.process.stdin.flush()
        if seconds is not None and not select.select([self.process.stdout], [], [], seconds)[0]:
            self.process.kill()
            raise TimeoutError(f"no answer of {self.name} after {seconds} s")
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the worker of {self.name} ended with status {self.process.wait()}")
        return json.loads(answer)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def serve(answer, output=None):
    """The worker's side: answers questions from stdin until it is closed."""
    for question in sys.stdin:
        print(json.dumps(answer(question.strip())), file=output, flush=True)


def interleave(workers, questions, rounds, pause=0.0):
    """Asks every worker every question in turn, `rounds` times; returns {question: {worker: answers}}.

    pause: seconds before each, for libraries whose threads go on spinning after their work.
    """
    answers = {question: {worker.name: [] for worker in workers} for question in questions}
    for _ in range(rounds):
        for question in questions:
            for worker in workers:
                time.sleep(pause)
                answer = worker.ask(question)
                if answer is not None:
                    answers[question][worker.name].append(answer)
    return answers


class Timers:
    """One timer for each question: make(question) returns what is timed, its result checked.

    With one thread it is the thread's processor time, so that what other programs take does not count.
    """

    def __init__(self, make, threads):
        self.make = make
        self.clock = time.thread_time if threads == 1 else time.perf_counter
        self.known = {}

    def sample(self, question):
        """Seconds of a call."""
        if question not in self.known:
            self.known[question] = self._timer(self.make(question))
        timer, calls = self.known[question]
        timer.timeit(1)  # wakes the threads
        return timer.timeit(calls) / calls

    def _timer(self, call):
        timer = timeit.Timer("call()", timer=self.clock, globals={"call": call})
        timer.timeit(2)
        once = min(timer.repeat(3, 3)) / 3
        return timer, max(1, round(SAMPLE_SECONDS / max(once, 1e-8)))


def compare_answers(script, arguments, contenders, questions, base):
    """Measures and prints a table for each question and number of threads; writes the file of --json.

    contenders: {name: its module}; base: the one that the others are compared with.
    """
    results = {}
    names = available(contenders, arguments.only)
    wanted = [question for question in questions if arguments.rows in question]
    for threads in map(int, arguments.threads.split(",")):
        workers = [Worker(script, [name, str(threads)], environment(threads)) for name in names]
        answers = interleave(workers, wanted, arguments.rounds, SPIN_SECONDS if threads > 1 else 0.0)
        for worker in workers:
            worker.close()
        for question, samples in answers.items():
            rows = summarise_all(samples, base)
            title = title_of(question, threads)
            print_table(title, rows, base, "us", 1e6)
            results[title] = rows
    write_json(arguments.json, results)


def title_of(question, threads):
    return f"{question}, {threads} thread{'s'[: threads > 1]}"


def summarise(samples, base):
    """Of one contender; base: the samples of the one that it is compared with."""
    return {
        "min": min(samples),
        "median": statistics.median(samples),
        "rounds": len(samples),
        # A contender that used up its time took part in the first rounds only.
        "ratio": statistics.median(ours / theirs for ours, theirs in zip(samples, base, strict=False)),
    }


def summarise_all(samples, base):
    """samples: {name: times}; base: the name that all are compared with."""
    return {name: summarise(times, samples.get(base, times)) for name, times in samples.items()}


def print_table(title, rows, base, unit, scale):
    """rows: {name: summary}; the ratio is the median of the rounds' ratios."""
    compared = base in rows
    print(f"\n### {title}\n")
    print(f"| | min, {unit} | median, {unit} |" + (f" / {base} |" if compared else ""))
    print("| --- | ---: | ---: |" + (" ---: |" if compared else ""))
    for name, summary in rows.items():
        line = f"| {name} | {summary['min'] * scale:.3g} | {summary['median'] * scale:.3g} |"
        print(line + (f" {summary['ratio']:.3g} |" if compared else ""))
    sys.stdout.flush()


def seconds_of_a_call(function, arguments, sample=5e-3):
    """The time of a call, over as many in a row as fill the sample, in seconds."""
    count = 1
    while True:
        start = time.perf_counter()
        for _ in range(count):
            function(*arguments)
        passed = time.perf_counter() - start
        if passed >= sample:
            return passed / count
        count = max(2 * count, int(count * sample / max(passed, 1e-9)))


def least_seconds(function, arguments, sample):
    """The least time of a call, of as many as fill the sample, in seconds."""
    least, passed = float("inf"), 0.0
    while passed < sample:
        start = time.perf_counter()
        function(*arguments)
        now = time.perf_counter() - start
        least, passed = min(least, now), passed + now
    return least


def write_json(path, results):
    if path:
        with open(path, "w") as file:
            json.dump({"machine": machine(), "results": results}, file, indent=1)


def machine():
    return {
        "date": time.strftime("%Y-%m-%d"),
        "python": platform.python_version(),
        "processor": _processor(),
        "cpus": os.cpu_count(),
    }


def _processor():
    with open("/proc/cpuinfo") as lines:
        for line in lines:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()
