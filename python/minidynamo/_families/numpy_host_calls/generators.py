"""Random numbers: each call is made once, in its order, with NumPy's generator and its state."""

from __future__ import annotations

import sys

from .table import add, numpy, refuse

TYPE_CHECKING = False
if TYPE_CHECKING:
    import types
    from collections.abc import Callable
    from typing import Any

# Methods of both kinds of generators whose parameters are numbers, before `size`.
_FLOATS = {
    "normal": ("loc", "scale"),
    "uniform": ("low", "high"),
    "exponential": ("scale",),
    "gamma": ("shape", "scale"),
    "standard_gamma": ("shape",),
    "beta": ("a", "b"),
    "lognormal": ("mean", "sigma"),
    "laplace": ("loc", "scale"),
    "logistic": ("loc", "scale"),
    "gumbel": ("loc", "scale"),
    "rayleigh": ("scale",),
    "chisquare": ("df",),
    "noncentral_chisquare": ("df", "nonc"),
    "f": ("dfnum", "dfden"),
    "standard_t": ("df",),
    "weibull": ("a",),
    "power": ("a",),
    "pareto": ("a",),
    "triangular": ("left", "mode", "right"),
    "vonmises": ("mu", "kappa"),
    "wald": ("mean", "scale"),
    "standard_cauchy": (),
    "standard_exponential": (),
    "standard_normal": (),
}
_INTS = {
    "poisson": ("lam",),
    "binomial": ("n", "p"),
    "negative_binomial": ("n", "p"),
    "geometric": ("p",),
    "zipf": ("a",),
    "logseries": ("p",),
    "hypergeometric": ("ngood", "nbad", "nsample"),
}
_NUMBERS = (int, float, bool)


def _is_number(value: Any) -> bool:
    return type(value) in _NUMBERS


def _shape(name: str, size: Any) -> tuple[int, ...]:
    """The sizes of a new array: without any, the result is a number of Python's."""
    if type(size) is int:
        return (size,)
    if type(size) in (tuple, list) and all(type(each) is int for each in size):
        return tuple(size)
    return refuse(name, "of such a size")


def _new(shape: tuple[int, ...], dtype: Any) -> Any:
    return numpy.empty(shape, dtype)


def _bound(name: str, parameters: tuple[str, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    if len(args) > len(parameters) or not kwargs.keys() <= set(parameters[len(args) :]):
        refuse(name, "with such arguments")
    return {**dict(zip(parameters, args)), **kwargs}


def _drawn(name: str, parameters: tuple[str, ...], dtype: Any) -> Callable[..., Any]:
    """The rule of a method with these parameters, then `size`."""

    def example(function: Any, *args: Any, **kwargs: Any) -> Any:
        given = _bound(name, (*parameters, "size"), args, kwargs)
        size = given.pop("size", None)
        if not all(map(_is_number, given.values())):
            refuse(name, "of parameters that are no numbers")
        return _new(_shape(name, size), dtype)

    return example


def _with_dims(function: Any, *dims: Any) -> Any:
    return _new(_shape("rand", dims if dims else None), float)


def _with_dtype(name: str, parameters: tuple[str, ...], default: Any, allowed: tuple[Any, ...]) -> Callable[..., Any]:
    """The same of one that also has `dtype`."""

    def example(function: Any, *args: Any, **kwargs: Any) -> Any:
        given = _bound(name, parameters, args, kwargs)
        size, dtype = given.pop("size", None), given.pop("dtype", default)
        given.pop("endpoint", None)
        if given.pop("out", None) is not None:
            refuse(name, "with out=")
        if not all(_is_number(each) or each is None for each in given.values()):
            refuse(name, "of parameters that are no numbers")
        if not any(dtype is each for each in allowed) and not (isinstance(dtype, str | numpy.dtype)):
            refuse(name, "of such a dtype")
        return _new(_shape(name, size), numpy.dtype(dtype))

    return example


def _permutation(function: Any, *args: Any, **kwargs: Any) -> Any:
    x = _bound("permutation", ("x", "axis"), args, kwargs).get("x")
    if type(x) is int:
        return _new((x,), numpy.intp)
    if isinstance(x, numpy.ndarray) and x.ndim == 1 and len(args) + len(kwargs) == 1:
        return _new(x.shape, x.dtype)
    return refuse("permutation", "of such an argument")


def _choice(name: str) -> Callable[..., Any]:
    def example(function: Any, *args: Any, **kwargs: Any) -> Any:
        given = _bound(name, ("a", "size", "replace", "p"), args, kwargs)
        a, size = given.get("a"), given.get("size")
        if isinstance(a, numpy.ndarray) and a.ndim == 1:
            return _new(_shape(name, size), a.dtype) if size is not None else a.dtype.type(0)
        if type(a) is int and size is not None:
            return _new(_shape(name, size), numpy.intp)
        return refuse(name, "of such an argument")

    return example


def _seeded(function: Any, *args: Any, **kwargs: Any) -> None:
    given = _bound("seed", ("seed",), args, kwargs)
    if not all(type(each) is int or each is None for each in given.values()):
        refuse("seed", "of what is no int")


def _rules(prefix: str) -> dict[str, Callable[..., Any]]:
    rules = {name: _drawn(prefix + name, names, float) for name, names in _FLOATS.items()}
    rules |= {name: _drawn(prefix + name, names, numpy.int64) for name, names in _INTS.items()}
    return {**rules, "permutation": _permutation, "choice": _choice(prefix + "choice")}


_INTEGERS = (int, bool, *(getattr(numpy, name) for name in "int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()))
_REALS = (float, numpy.float32, numpy.float64)


def load(random: types.ModuleType) -> str | None:
    """Of numpy.random, once it is imported."""
    if "numpy" not in sys.modules:
        return None
    legacy: Any = random.RandomState
    rules = _rules("random.")
    rules |= {"rand": _with_dims, "randn": _with_dims}
    rules |= {name: _drawn(f"random.{name}", (), float) for name in ("random", "random_sample")}
    rules["randint"] = _with_dtype("random.randint", ("low", "high", "size", "dtype"), int, _INTEGERS)
    rules["seed"] = _seeded
    for name, rule in rules.items():
        add(f"random.{name}", getattr(legacy, name), rule, once=True, self_type=legacy)
    for name, rule in {"seed": _seeded, "ranf": rules["random"], "sample": rules["random"]}.items():
        add(f"random.{name}", getattr(random, name), rule, once=True)
    generator: Any = random.Generator
    rules = _rules("Generator.")
    sized = ("size", "dtype", "out")
    rules |= {name: _with_dtype(f"Generator.{name}", sized, float, _REALS) for name in ("random", "standard_normal")}
    rules["integers"] = _with_dtype(
        "Generator.integers", ("low", "high", "size", "dtype", "endpoint"), numpy.int64, _INTEGERS
    )
    del rules["permutation"], rules["standard_exponential"], rules["standard_gamma"]
    for name, rule in rules.items():
        add(f"Generator.{name}", getattr(generator, name), rule, once=True, self_type=generator)
    return None
