"""The contenders: how each makes arrays, compiles a workload's function, and waits for its result.

A contender takes part in the rows that have a form in its language and a dtype that it knows.
"""

import importlib
import importlib.util
import os
import types
import warnings

import numpy
from workloads.table import map_arrays


class Peer:
    """name: as in tables. module: what has to be installed. language: which form of a row it takes."""

    name = ""
    module: str | None = None
    language = ""
    dtypes: tuple[str, ...] = ("float32", "float64", "bfloat16")
    groups: tuple[str, ...] | None = None  # only rows of these
    call = "{}"  # how a call is timed; `ready` is at hand
    counts = True  # as a peer that is to be beaten
    compiles = False

    def takes(self, row):
        if self.groups is not None and row.group not in self.groups or row.is_eager and self.compiles:
            return False
        return self.language in row.forms and row.dtype in self.dtypes

    def start(self, threads):
        """Called once, in the worker's process."""

    def array(self, values, dtype):
        """values: float64, bool or integers. dtype: of floating results."""
        raise NotImplementedError

    def library(self):
        """What the builders of this language are given."""
        raise NotImplementedError

    def prepare(self, row, inputs, weights):
        """The function to time and its arguments."""
        arguments = map_arrays(lambda values: self.array(values, row.dtype), inputs)
        if weights is not None:
            arguments.append({name: self.array(values, row.dtype) for name, values in weights.items()})
        return self.compile(row.forms[self.language](self.library())), arguments

    def compile(self, function):
        return function

    def ready(self, result):
        """Waits until the result is there."""

    def read(self, result):
        return numpy.asarray(result, dtype=numpy.float64)

    def read_all(self, result):
        """Its outputs as arrays of float64."""
        return [self.read(part) for part in (result if isinstance(result, list | tuple) else [result])]

    def notes(self):
        """What is to be remembered of the row besides its times."""
        return {}

    def forget(self):
        """Drops what was compiled."""


class Python(Peer):
    """The same function on one float: what the call itself costs."""

    name = "Python, a float"
    language = "python"
    counts = False

    def array(self, values, dtype):
        return float(values.flat[0])

    def library(self):
        return None

    def read(self, result):
        return None


class NumPy(Peer):
    name = "NumPy"
    module = "numpy"
    language = "numpy"
    dtypes = ("float32", "float64")

    def array(self, values, dtype):
        return values.astype(dtype) if values.dtype == numpy.float64 else values

    def library(self):
        from workloads.special import softmax

        names = {**vars(numpy), "softmax": softmax}
        if importlib.util.find_spec("scipy"):
            names["erf"] = importlib.import_module("scipy.special").erf
        return types.SimpleNamespace(**names)  # a look-up in it costs no more than in a module


class NumExpr(NumPy):
    name = "numexpr"
    module = "numexpr"
    language = "numexpr"

    def library(self):
        import numexpr

        return numexpr

    def start(self, threads):
        self.library().set_num_threads(threads)

    def prepare(self, row, inputs, weights):
        numexpr = self.library()
        arguments = [self.array(values, row.dtype) for values in inputs]
        names = {f"a{i}": values for i, values in enumerate(arguments)}
        numexpr.evaluate(row.forms[self.language](numexpr), local_dict=names)
        return (lambda *arrays: numexpr.re_evaluate(local_dict=names)), arguments


class Numba(NumPy):
    name = "Numba"
    compiles = True
    module = "numba"
    language = "numba"
    fewest = 20_000  # elements for which threads are worth while

    def start(self, threads):
        import numba

        warnings.simplefilter("ignore", numba.NumbaPerformanceWarning)
        numba.set_num_threads(threads)
        self.threads = threads

    def prepare(self, row, inputs, weights):
        import numba

        elements = max(values.size for values in inputs)
        jit = numba.njit(
            parallel=self.threads > 1 and elements >= self.fewest, fastmath=True, error_model="numpy", cache=True
        )
        return row.forms["numba"](jit), [self.array(values, row.dtype) for values in inputs]


class Jax(Peer):
    name = "JAX"
    compiles = True
    module = "jax"
    language = "jax"
    call = "ready({})"

    def start(self, threads):
        # XLA has no other limit on its threads than the processors that the process may use.
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
        import jax

        jax.config.update("jax_platforms", "cpu")
        jax.config.update("jax_enable_x64", True)
        self.ready = jax.block_until_ready

    def library(self):
        import jax
        import jax.numpy

        def convolution(x, weight):
            return jax.lax.conv_general_dilated(x, weight, (1, 1), "SAME", dimension_numbers=("NCHW", "OIHW", "NCHW"))

        names = {name: getattr(jax.numpy, name) for name in dir(jax.numpy) if not name.startswith("_")}
        names |= {"erf": jax.scipy.special.erf, "softmax": jax.nn.softmax, "nn": jax.nn, "scipy": jax.scipy}
        return types.SimpleNamespace(**names, convolution=convolution)

    def array(self, values, dtype):
        import jax.numpy

        if values.dtype == numpy.int64:
            return jax.numpy.asarray(values.astype(numpy.int32))
        return jax.numpy.asarray(values, dtype=dtype if values.dtype == numpy.float64 else None)

    def compile(self, function):
        import jax

        return jax.jit(function)

    def forget(self):
        import jax

        jax.clear_caches()


class Mlx(Peer):
    name = "MLX"
    compiles = True
    module = "mlx"
    language = "mlx"
    dtypes = ("float32", "bfloat16")  # its float64 functions are as exact as float32
    call = "ready({})"

    def start(self, threads):
        import mlx.core

        mlx.core.set_default_device(mlx.core.cpu)
        self.ready = mlx.core.eval

    def library(self):
        import mlx.core

        return mlx.core

    def array(self, values, dtype):
        core = self.library()
        if values.dtype == numpy.int64:
            return core.array(values.astype(numpy.int32))
        if values.dtype != numpy.float64:
            return core.array(values)
        # From float64 by float32: it makes no bfloat16 of float64.
        return (
            core.array(values, dtype=core.float64)
            if dtype == "float64"
            else core.array(values.astype(numpy.float32)).astype(getattr(core, dtype))
        )

    def compile(self, function):
        return self.library().compile(function)

    def read(self, result):
        core = self.library()
        return numpy.array(result.astype(core.float64), dtype=numpy.float64)

    def forget(self):
        self.library().clear_cache()


class Torchlike(Peer):
    language = "torch"

    def library(self):
        return __import__(self.module)

    def start(self, threads):
        library = self.library()
        library.set_num_threads(threads)
        library.set_grad_enabled(False)

    def array(self, values, dtype):
        library = self.library()
        tensor = library.from_numpy(numpy.ascontiguousarray(values))
        if values.dtype != numpy.float64:
            return tensor.clone()
        return tensor.to(getattr(library, dtype), copy=True)

    def prepare(self, row, inputs, weights):
        library = self.library()
        function = row.forms["torch"](library)
        if weights is not None:
            function.to(getattr(library, row.dtype))
            state = {name: self.array(values, row.dtype) for name, values in weights.items()}
            missing = set(function.load_state_dict(state, strict=False).missing_keys)
            if any(not name.endswith("num_batches_tracked") for name in missing):
                raise AssertionError(f"{row.name}: no weights for {missing}")
            function.eval()
        return self.compile(function), map_arrays(lambda values: self.array(values, row.dtype), inputs)

    def read(self, result):
        return result.to(self.library().float64).numpy()


class Minidynamo(Torchlike):
    name = "minidynamo"
    compiles = True
    module = "minidynamo"
    counts = False

    def start(self, threads):
        super().start(threads)
        import minidynamo._dynamo  # noqa: F401

    def compile(self, function):
        return self.library().compile(function)

    def notes(self):
        from minidynamo._dynamo.utils import counters

        return {"breaks": sum(counters["graph_break"].values())}

    def forget(self):
        from minidynamo._dynamo.utils import counters

        counters.clear()
        self.library()._dynamo.reset()
        self.library().empty_cache()


class MinidynamoEager(Minidynamo):
    name = "minidynamo eager"
    compiles = False
    groups = ("calls",)

    def compile(self, function):
        return function


class TorchEager(Torchlike):
    name = "torch eager"
    module = "torch"

    def start(self, threads):
        super().start(threads)
        import torch._dynamo  # noqa: F401


class TorchCompiled(TorchEager):
    name = "torch.compile"
    compiles = True

    def compile(self, function):
        return self.library().compile(function, dynamic=False)

    def forget(self):
        self.library()._dynamo.reset()


class TorchFrozen(TorchCompiled):
    """With the weights as constants of the graph."""

    name = "torch.compile, frozen"

    def takes(self, row):
        return row.weights is not None and super().takes(row)

    def start(self, threads):
        super().start(threads)
        import torch._inductor.config

        torch._inductor.config.freezing = True


OURS = Minidynamo.name
OURS_EAGER = MinidynamoEager.name
PEERS = {
    peer.name: peer
    for peer in (
        Minidynamo(),
        MinidynamoEager(),
        Python(),
        NumPy(),
        NumExpr(),
        Numba(),
        Jax(),
        Mlx(),
        TorchEager(),
        TorchCompiled(),
        TorchFrozen(),
    )
}
