"""Programs of loops drawn at random (breaks, else, nested loops, exceptions, generators, side effects) behave as in
eager Python, whichever loops are unrolled."""

import linecache
import random

import pytest
from loop_programs import mix, outcome

import minidynamo as md
from minidynamo._dynamo import config

ITERABLES = (
    "range({n})",
    "range({a}, {n} + {a})",
    "range({n}, 0, -1)",
    "[0.5, {a}.0, -1.5]",
    "[x * k for k in range({n})]",
    "numbers({n}, log)",
    "(1, {a}, 3, 2)",
    "reversed(range({n}))",
    "map(abs, range(-{a}, 2))",
    "iter([{a}, 2, 1])",
    "{{'p': {a}, 'q': 2}}.values()",
)
PAIRS = ("enumerate({0})", "zip({0}, {1})", "enumerate(zip({0}, {1}))")
# {v}: a number, or a tensor of four elements; {k}: a counter; {d}: a number from 1 to 3.
STATEMENTS = (
    "x = mix(x, w)",
    "x = mix(x, w) + {v}",
    "x = x * 0.5 + {v}",
    "s = s + x.sum()",
    "{k} += 1",
    "{k} = {k} * 2 % 7",
    "{k} -= {d}",
    "log.append({k})",
    "log.append(len(rows))",
    "rows.append(x * {k})",
    "state['x'] = x",
    "state[{k} % 3] = {k}",
    "x = x + state['x']",
    "x = x + rows[-1] if rows else x",
    "x[{k} % 4] = s * 0.125",
    "out[{k} % 4] = x[{d}]",
    "x = x + out[{k} % 4 :].sum()",
    "x = x + out[: {k} % 5].sum()",
    "x = md.cat([x[{d}:], x[:{d}]])",
    "s = s + x[{k} % 4]",
    "x = helper(x, {k})",
    "x = x + md.rand(4)",
    "md._dynamo.graph_break()",
    "w, x = x, w",
    "x = mix(x, out[{k}])",  # may raise IndexError
)


class Writer:
    def __init__(self, rng):
        self.rng = rng
        self.lines = []
        self.names = 0

    def line(self, depth, text):
        self.lines.append("    " * depth + text)

    def iterable(self):
        return self.rng.choice(ITERABLES).format(n=self.rng.choice(["n", 2, 5, 9, "k % 5"]), a=self.rng.randint(1, 3))

    def statement(self, depth, numbers, in_loop):
        rng = self.rng
        text = rng.choice(STATEMENTS).format(
            v=rng.choice([*numbers, "k", "2", "0.5"]), k=rng.choice(["k", "m"]), d=rng.randint(1, 3)
        )
        kind = rng.random()
        if kind < 0.1:
            self.line(depth, f"if {rng.choice(['k % 3 == 1', 'm > 3', 'x.sum() > 2', 'k == m', 'len(log) > 5'])}:")
            choices = [text, "raise ValueError('at %d' % k)"]
            if in_loop:
                choices += ["break", "continue"] * 2
            self.line(depth + 1, rng.choice(choices))
        elif kind < 0.17:
            self.line(depth, "try:")
            self.line(depth + 1, text)
            self.line(depth + 1, f"if k % {rng.randint(2, 4)} == 0: raise KeyError(k)")
            self.line(depth, "except (KeyError, IndexError) as error:")
            self.line(depth + 1, "log.append(str(error))")
            if rng.random() < 0.5:
                self.line(depth, "finally:")
                self.line(depth + 1, "m += 1")
        else:
            self.line(depth, text)

    def block(self, depth, numbers, in_loop, nesting):
        for _ in range(self.rng.randint(1, 3)):
            self.statement(depth, numbers, in_loop)
        if nesting > 0:
            for _ in range(self.rng.choice([0, 1, 1, 2])):
                self.loop(depth, numbers, nesting - 1)
                self.statement(depth, numbers, in_loop)

    def loop(self, depth, numbers, nesting):
        rng = self.rng
        self.names += 1
        name = f"i{self.names}"
        kind = rng.random()
        if kind < 0.2:
            self.line(depth, f"{name} = 0")
            self.line(depth, f"while {name} < {rng.choice(['n', 3, 6])}:")
            self.line(depth + 1, f"{name} += 1")
            inside = [name]
        elif kind < 0.5:
            text = rng.choice(PAIRS)
            self.line(depth, f"for {name}, {name}b in {text.format(self.iterable(), self.iterable())}:")
            inside = [] if text.startswith("enumerate(zip") else [name, f"{name}b"]
        else:
            self.line(depth, f"for {name} in {self.iterable()}:")
            inside = [name]
        self.line(depth + 1, "x = mix(x, w) * 0.5")
        self.line(depth + 1, "k += 1")
        self.block(depth + 1, numbers + inside, True, nesting)
        if rng.random() < 0.3:
            self.line(depth, "else:")
            self.statement(depth + 1, numbers, False)

    def program(self):
        self.line(0, "def helper(x, k):")
        self.line(1, "for step in range(3):")
        self.line(2, "x = mix(x, x) + step * k")
        self.line(1, "return x")
        self.line(0, "def numbers(n, log):")
        self.line(1, "for k in range(n):")
        self.line(2, "log.append(k)")
        self.line(2, "yield k")
        self.line(0, "def program(x, w, n, log):")
        self.line(1, "s, k, m, rows, state = 0.0, 0, 1, [], {'x': w}")
        self.line(1, "out = md.zeros(4)")
        for _ in range(self.rng.randint(1, 2)):
            self.loop(1, [], self.rng.randint(0, 2))
        self.line(1, "return x, w, s, k, m, rows, out, log")
        return "\n".join(self.lines)


def check_drawn(seed):
    rng = random.Random(seed)
    source = Writer(rng).program()
    file = f"<loops {seed}>"
    linecache.cache[file] = len(source), None, source.splitlines(True), file
    names = {"md": md, "mix": mix}
    exec(compile(source, file, "exec"), names)
    function = names["program"]
    limit = rng.choice([80, 150, 400, 100_000])
    checked = rng.choice([0, 0, 2])
    try:
        md._dynamo.reset()
        with config.patch(
            walk_limit=limit,
            check_captures=checked,
            **({"snapshot_stress": rng.randint(1, 9)} if rng.random() < 0.1 else {}),
        ):
            compiled = md.compile(function, backend=rng.choice(["onednn", "onednn", "eager"]))
            for n in (rng.randint(0, 12), 4, 9, rng.randint(20, 40)):
                assert outcome(compiled, n) == outcome(function, n)
    except BaseException as error:
        error.add_note(f"seed {seed}, limit {limit}, checked {checked}\n{source}")
        raise
    finally:
        del linecache.cache[file]


@pytest.mark.parametrize("start", range(0, 200, 20))
def test_programs(start):
    for seed in range(start, start + 20):
        check_drawn(seed)
