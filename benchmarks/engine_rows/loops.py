"""Loops over elements and slices, recurrences, a decoder: python benchmarks/engine_rows/loops.py [--rows TEXT]

Each row is a function, called uncompiled and compiled in turn: the first call's milliseconds over the uncompiled one,
the ratio of the later calls (above 1: the compiled one is faster), and microseconds of a step. Minima of rounds.
"""

import argparse
import time
from dataclasses import dataclass


@dataclass
class Row:
    """make: returns the arguments of a call, which the function may write into; steps: of the innermost loop."""

    name: str
    function: object
    make: object
    steps: int

    @property
    def contenders(self):
        """name -> a function that returns the call to be timed."""
        import minidynamo

        def call(function):
            arguments = self.make()
            return lambda: function(*arguments)

        return {
            "uncompiled": lambda: lambda: call(self.function),
            "compiled": lambda: (lambda compiled: lambda: call(compiled))(minidynamo.compile(self.function)),
        }


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


def recurrence(x, w):
    for _ in range(10_000):
        x = (x * w + 1.0).tanh() * 0.5 + x * 0.25
    return x


def residual(x, b):
    change, steps = 1.0, 0
    while change > 1e-6 and steps < 1000:
        y = (x * 0.999 + b).tanh() * 0.999 + 0.0001 * x
        change = (y - x).abs().max().item() + 1e-5
        x = y
        steps += 1
    return x


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


ROWS = [
    Row("lu 40", lu, lambda: (_dominant(40),), 1600),
    Row("cholesky 40", cholesky, lambda: (_dominant(40),), 800),
    Row("seidel_2d 40", seidel_2d, lambda: (_numbers(40, 40),), 2 * 38 * 38),
    Row("durbin 200", durbin, lambda: (_numbers(200) * 0.01, _numbers(200) * 0), 200),
    Row("gramschmidt 60x40", gramschmidt, lambda: (_independent(60, 40), _numbers(60, 40), _numbers(40, 40)), 780),
    Row("trmm 40", trmm, lambda: (_numbers(40, 40), _numbers(40, 40)), 1600),
    Row("adi 100", adi, lambda: tuple(_numbers(100, 100) for _ in range(4)), 2 * 2 * 98),
    Row("recurrence 10,000 of 64", recurrence, lambda: (_numbers(64), _numbers(64)), 10_000),
    Row("residual of 64", residual, lambda: (_numbers(64), _numbers(64)), 1000),
    Row(
        "decoder 256",
        decoder,
        lambda: (_numbers(1, 64), _numbers(64, 64) * 0.1, _numbers(64, 64) * 0.1, _numbers(256, 64)),
        256,
    ),
]


def seconds(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def measure(row, rounds):
    import minidynamo

    minidynamo._dynamo.reset()
    makers = {name: make() for name, make in row.contenders.items()}
    firsts = {name: seconds(make()) for name, make in makers.items()}
    assert row.function(*row.make()).allclose(minidynamo.compile(row.function)(*row.make()), rtol=1e-4, atol=1e-5)
    best = dict.fromkeys(makers, float("inf"))
    for _ in range(rounds):
        for name, make in makers.items():
            best[name] = min(best[name], seconds(make()))
    return {
        "first_ms": (firsts["compiled"] - best["uncompiled"]) * 1e3,
        "ratio": best["uncompiled"] / best["compiled"],
        "us": {name: best[name] / row.steps * 1e6 for name in best},
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default="", help="only rows whose name contains this")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    print("| loop | first call over uncompiled, ms | uncompiled / compiled | us a step, uncompiled | compiled |")
    print("|---|---|---|---|---|")
    for row in ROWS:
        if options.rows not in row.name:
            continue
        found = measure(row, options.rounds)
        us = found["us"]
        print(
            f"| {row.name} | {found['first_ms']:.1f} | {found['ratio']:.2f} | {us['uncompiled']:.2f} "
            f"| {us['compiled']:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
