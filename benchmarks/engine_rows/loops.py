"""Loops over elements and slices, recurrences, a decoder: python benchmarks/engine_rows/loops.py [--rows TEXT]

Each row is a function, called uncompiled and compiled in turn: the first call's milliseconds over the uncompiled one,
the ratio of the later calls, and for some the microseconds that a step takes over its kernels: those of a compiled
function that is one step, without what a compiled call of one small operation takes.
"""

import time
from dataclasses import dataclass

from sections import Figure, Section, run_alone
from sections import Row as Case

MOST_FIRST_MS = 100  # that the first call may take over an uncompiled one
MOST_STEP_US = 1.5  # that a step may take over its kernels
CALLS = 200  # of a step


@dataclass
class Row(Case):
    """contenders: name -> a function that returns the function to be timed. make: returns the arguments of a call, that
    it may write into; steps: of the innermost loop."""

    make: object = None
    steps: int = 1
    clock: object = time.perf_counter

    def begin(self, calls):
        first = {name: {"first": self.seconds_of(call, 1)} for name, call in calls.items()}
        results = [calls[name](*self.make()) for name in ("uncompiled", "compiled") if name in calls]
        if not results[0].allclose(results[-1], rtol=1e-4, atol=1e-5):
            raise AssertionError("the compiled loop returns something else")
        return first

    def sample(self, calls):
        times = {"one step": CALLS, "one operation": CALLS}
        return {name: {"seconds": self.seconds_of(call, times.get(name, 1))} for name, call in calls.items()}

    def seconds_of(self, call, times):
        arguments = self.make()
        begin = self.clock()
        for _ in range(times):
            call(*arguments)
        return (self.clock() - begin) / times


def row(name, function, make, steps, step=None):
    """step: one step of the function, of the same arguments."""
    contenders = {"uncompiled": lambda: function, "compiled": lambda: compiled(function)}
    if step is not None:
        contenders |= {"one step": lambda: compiled(step), "one operation": lambda: compiled(one_operation)}
    return Row(name, contenders, make=make, steps=steps)


def compiled(function):
    import minidynamo

    return minidynamo.compile(function)


def one_operation(x, *others):
    return x[..., :1] + 1.0


def lu(A):
    n = A.shape[0]
    for i in range(n):
        for j in range(i):
            A[i, j] = (A[i, j] - A[i, :j] @ A[:j, j]) / A[j, j]
        for j in range(i, n):
            A[i, j] = A[i, j] - A[i, :i] @ A[:i, j]
    return A


def cholesky(A):
    n = A.shape[0]
    A[0, 0] = A[0, 0].sqrt()
    for i in range(1, n):
        for j in range(i):
            A[i, j] = (A[i, j] - A[i, :j] @ A[j, :j]) / A[j, j]
        A[i, i] = (A[i, i] - A[i, :i] @ A[i, :i]).sqrt()
    return A


def seidel_2d(A):
    n = A.shape[0]
    for _ in range(2):
        for i in range(1, n - 1):
            A[i, 1:-1] = A[i, 1:-1] + (
                A[i - 1, :-2] + A[i - 1, 1:-1] + A[i - 1, 2:] + A[i, 2:] + A[i + 1, :-2] + A[i + 1, 1:-1] + A[i + 1, 2:]
            )
            for j in range(1, n - 1):
                A[i, j] = (A[i, j] + A[i, j - 1]) / 9.0
    return A


def durbin(r, y):
    n = r.shape[0]
    alpha, beta = -r[0], 1.0
    y[0] = -r[0]
    for k in range(1, n):
        beta = beta * (1.0 - alpha * alpha)
        alpha = -(r[k] + r[:k].flip(0) @ y[:k]) / beta
        y[:k] = y[:k] + alpha * y[:k].flip(0)
        y[k] = alpha
    return y


def gramschmidt(A, Q, R):
    n = A.shape[1]
    for k in range(n):
        R[k, k] = (A[:, k] @ A[:, k]).sqrt()
        Q[:, k] = A[:, k] / R[k, k]
        for j in range(k + 1, n):
            R[k, j] = Q[:, k] @ A[:, j]
            A[:, j] = A[:, j] - Q[:, k] * R[k, j]
    return Q


def trmm(A, B):
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            B[i, j] = B[i, j] + A[i + 1 :, i] @ B[i + 1 :, j]
    return B * 1.5


def adi(u, v, p, q):
    n = u.shape[0]
    a, b, c = -0.25, 1.5, -0.25
    for _ in range(2):
        for j in range(1, n - 1):
            p[:, j] = -c / (a * p[:, j - 1] + b)
            q[:, j] = (u[:, j] * 0.5 - a * q[:, j - 1]) / (a * p[:, j - 1] + b)
        for j in range(n - 2, 0, -1):
            v[j, :] = p[:, j] * v[j + 1, :] + q[:, j]
    return v


def step_of_recurrence(x, w):
    return (x * w + 1.0).tanh() * 0.5 + x * 0.25


def recurrence(x, w):
    for _ in range(10_000):
        x = (x * w + 1.0).tanh() * 0.5 + x * 0.25
    return x


def step_of_residual(x, b):
    y = (x * 0.999 + b).tanh() * 0.999 + 0.0001 * x
    return y, (y - x).abs().max()


def residual(x, b):
    change, steps = 1.0, 0
    while change > 1e-6 and steps < 1000:
        y = (x * 0.999 + b).tanh() * 0.999 + 0.0001 * x
        change = (y - x).abs().max().item() + 1e-5
        x = y
        steps += 1
    return x


def step_of_decoder(x, w1, w2, cache):
    h = (x @ w1).tanh()
    cache[128] = h[0]
    scores = (h @ cache[:129].transpose(0, 1)).softmax(-1)
    return x + (scores @ cache[:129]) @ w2


def decoder(x, w1, w2, cache):
    for t in range(256):
        h = (x @ w1).tanh()
        cache[t] = h[0]
        scores = (h @ cache[: t + 1].transpose(0, 1)).softmax(-1)
        x = x + (scores @ cache[: t + 1]) @ w2
    return x


def _numbers(*sizes):
    import minidynamo

    count = 1
    for size in sizes:
        count *= size
    return (minidynamo.arange(count).reshape(*sizes) % 17) * 0.05 + 0.1


def _dominant(n):
    import minidynamo

    return _numbers(n, n) + minidynamo.eye(n) * n


def _independent(m, n):
    import minidynamo

    columns = _numbers(m, n)
    columns[:n] += minidynamo.eye(n) * 3
    return columns


LOOPS = [
    row("lu 40", lu, lambda: (_dominant(40),), 1600),
    row("cholesky 40", cholesky, lambda: (_dominant(40),), 800),
    row("seidel_2d 40", seidel_2d, lambda: (_numbers(40, 40),), 2 * 38 * 38),
    row("durbin 200", durbin, lambda: (_numbers(200) * 0.01, _numbers(200) * 0), 200),
    row("gramschmidt 60x40", gramschmidt, lambda: (_independent(60, 40), _numbers(60, 40), _numbers(40, 40)), 780),
    row("trmm 40", trmm, lambda: (_numbers(40, 40), _numbers(40, 40)), 1600),
    row("adi 100", adi, lambda: tuple(_numbers(100, 100) for _ in range(4)), 2 * 2 * 98),
    row("recurrence 10,000 of 64", recurrence, lambda: (_numbers(64), _numbers(64)), 10_000, step_of_recurrence),
    row("residual of 64", residual, lambda: (_numbers(64), _numbers(64)), 1000, step_of_residual),
    row(
        "decoder 256",
        decoder,
        lambda: (_numbers(1, 64), _numbers(64, 64) * 0.1, _numbers(64, 64) * 0.1, _numbers(256, 64)),
        256,
        step_of_decoder,
    ),
]


def figures(row, times):
    compiled, uncompiled = times.least("compiled"), times.least("uncompiled")
    yield Figure(
        "first call over uncompiled, ms", (times.once["compiled"]["first"] - uncompiled) * 1e3, MOST_FIRST_MS, True
    )
    yield Figure("uncompiled / compiled", uncompiled / compiled, 1.0)
    steps = STEPS[row]
    yield Figure("us a step, uncompiled", uncompiled / steps * 1e6)
    yield Figure("us a step, compiled", compiled / steps * 1e6)
    if times.has("one step"):
        kernels = times.least("one step") - times.least("one operation")
        yield Figure("us a step over its kernels", (compiled / steps - kernels) * 1e6, MOST_STEP_US, True)


STEPS = {each.name: each.steps for each in LOOPS}
SECTION = Section(lambda threads: LOOPS, figures, ours=("compiled", "seconds"), rounds=7)

if __name__ == "__main__":
    run_alone(__file__)
