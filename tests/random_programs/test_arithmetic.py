"""Functions of numbers of any magnitude return the same compiled as in eager Python, call after call."""

import math
import operator
import random

import pytest
from differential import assert_same, observe

import minidynamo

from .arithmetic import ArithmeticWriter, choose_numbers

CALLS = 8


def check_seed(seed):
    drawn = random.Random(seed)
    source = ArithmeticWriter(drawn).write()
    namespace = {"minidynamo": minidynamo, "math": math, "operator": operator}
    exec(compile(source, "<random arithmetic>", "exec"), namespace)  # noqa: S102
    function = namespace["f"]
    minidynamo._dynamo.reset()
    backend, dynamic = (("onednn", None), ("eager", None), ("eager", True), ("eager", False))[seed % 4]
    compiled = minidynamo.compile(function, backend=backend, dynamic=dynamic)
    of_n, of_m = choose_numbers(drawn)
    for _ in range(CALLS):
        n, m = drawn.choice(of_n), drawn.choice(of_m)

        def make(n=n, m=m):
            return minidynamo.tensor([1.0, -2.0, 0.5]), minidynamo.tensor([1, -2, 3]), n, m, []

        plain = observe(function, make())
        seen = observe(compiled, make())
        where = f"seed {seed}, n = {n!r}, m = {m!r}\n{source}"
        assert_same(plain, seen, where, 2e-6 if backend == "onednn" else 0.0)


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize("start", range(0, 400, 40))
def test_functions(start):
    for seed in range(start, start + 40):
        check_seed(seed)
