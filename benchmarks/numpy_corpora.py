"""Public NumPy programs, sources unchanged: NumPy and minidynamo.compile side by side, on results and time.

python benchmarks/numpy_corpora.py [--numpy-benchmarks DIR] [--from-python-to-numpy DIR] [--kernels NAME,...]

The directories are checkouts of https://github.com/serge-sans-paille/numpy-benchmarks, whose files say in comments how
they are called, and of https://github.com/rougier/from-python-to-numpy, for which PROGRAMS says it; without them the
benchmark says "skipped". Each function runs as numpy_contest.py says. Windows are not drawn: matplotlib is a stand-in.
"""

import importlib
import json
import re
import sys
import types

from numpy_contest import State, compete, contest, parse

# file: (statements that make the arguments, the call that is timed)
PROGRAMS = {
    "addition": ("Z1, Z2 = [random.sample(range(10000), 1000) for _ in range(2)]", "solution_2(Z1, Z2)"),
    "allocations": ("", "solution_4()"),
    "array_list": (
        "L = ArrayList(numpy.arange(4000.0), 4); L._writeable = True",
        "ArrayList.append(L, numpy.arange(6.0))",
    ),
    "boid_numpy": ("flock = Flock(500)", "Flock.run(flock)"),
    "Bridson_sampling": ("", "Bridson_sampling(1.0, 1.0, 0.2, 10)"),
    "fractal_dimension": ("Z = numpy.random.rand(512, 512)", "fractal_dimension(Z, 0.25)"),
    "game_of_life_numpy": ("", "update(0)"),
    "gray_scott": ("", "update(0)"),
    "mandelbrot_numpy_1": ("", "mandelbrot(-2.25, 0.75, -1.25, 1.25, 300, 250, 50)"),
    "mandelbrot_numpy_2": ("", "mandelbrot(-2.25, 0.75, -1.25, 1.25, 300, 250, 50)"),
    "maze_numpy": (
        "Z = build_maze((41, 81)); goal = (Z.shape[0] - 2, Z.shape[1] - 2)",
        "BellmanFord(Z, (1, 1), goal)",
    ),
    "random_walk": ("W = random_walk_fastest(1000)", "find_crossing_2(W, [+1, 0, -1])"),
    "sampling": ("", "Bridson_sampling(1.0, 1.0, 0.2, 10)"),
    "smoke_solver": (
        "fields = [0.1 * numpy.random.rand(66, 66) for _ in range(4)]",
        "vel_step(64, *fields, 0.0, 0.1)",
    ),
    "vectorization": ("X = numpy.arange(1000)", "compute_2(X, X)"),
    "voronoi": ("P = numpy.random.rand(3, 2)", "circumcircle(*P)"),
}


class Nothing:
    """Stands for a drawing library: every attribute, call and item is the same nothing."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *arguments, **options):
        return self

    def __getitem__(self, key):
        return self


def without_drawing():
    for name in ("", ".pyplot", ".path", ".animation", ".collections", ".patches"):
        module = types.ModuleType("matplotlib" + name)
        module.__getattr__ = lambda name: Nothing()
        sys.modules["matplotlib" + name] = module


def said_in_comments(path):
    text = path.read_text()
    setup, run = (re.search(rf"^#{which}: (.*)$", text, re.MULTILINE) for which in ("setup", "run"))
    return setup.group(1), run.group(1)


def rows_of(arguments):
    """{name: (folder of the file, statements, call)}."""
    rows = {}
    if arguments.numpy_benchmarks is not None:
        folder = arguments.numpy_benchmarks / "numpy_benchmarks" / "benchmarks"
        rows |= {path.stem: (folder, *said_in_comments(path)) for path in sorted(folder.glob("[!_]*.py"))}
    if arguments.from_python_to_numpy is not None:
        folder = arguments.from_python_to_numpy / "code"
        rows |= {f"book/{name}": (folder, *row) for name, row in PROGRAMS.items()}
    return rows


def load(name, folder, statements, call):
    """The function of the call and its arguments."""
    import random

    import numpy

    without_drawing()
    sys.path.insert(0, str(folder))
    random.seed(0)
    numpy.random.seed(0)
    scope = dict(vars(importlib.import_module(name.split("/")[-1])), numpy=numpy, random=random)
    exec(statements, scope)
    function_name, rest = call.split("(", 1)
    function = eval(function_name, scope)
    return function, list(eval("(lambda *given: given)(" + rest, scope))


def state_of(function):
    """The arrays of the function's module that own their memory."""
    import numpy

    return State(
        [each for each in function.__globals__.values() if isinstance(each, numpy.ndarray) and each.base is None]
    )


def main():
    arguments = parse(__doc__, "numpy-benchmarks", "from-python-to-numpy")
    rows = rows_of(arguments)
    if not rows:
        print("skipped: neither --numpy-benchmarks DIR nor --from-python-to-numpy DIR is given")
        return
    if arguments.one:
        function, given = load(arguments.one, *rows[arguments.one])
        print(json.dumps(compete(function, given, arguments.seconds, state=state_of(function))))
        return
    contest(arguments.kernels.split(",") if arguments.kernels else rows, arguments.json)


if __name__ == "__main__":
    main()
