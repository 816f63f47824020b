"""Ops called with slightly wrong arguments: rows of the table, composites, functional layers and linear algebra.

A valid sample is changed: other dtypes, sizes, layouts, numbers and indices, including values far out of range. Required are: no
crash, the same eager and compiled, and torch's outcome where it is installed: an equal result, or an exception of the same class.
The short form is in the suite; `python -m tests.drawn calls` makes any number of calls, under tools/asan.sh with sanitizers.
"""

import itertools
import math
import os
import random
import warnings
from collections import Counter

import pytest

np = pytest.importorskip("numpy")
from composite_samples import BREAKING, FUNCTIONS, METHODS  # noqa: E402
from linalg_samples import SAMPLES as LINALG  # noqa: E402
from op_samples import ROWS, SAMPLES, UNDETERMINED, Data, Named, variants  # noqa: E402

import minidynamo as md  # noqa: E402

torch = None
try:
    if "MINIDYNAMO_FUZZ_WITHOUT_TORCH" not in os.environ:
        import torch
except ImportError:
    pass

ERRORS = (
    TypeError,
    ValueError,
    RuntimeError,
    IndexError,
    NotImplementedError,
    MemoryError,
    OverflowError,
    AssertionError,
)
DTYPES = ("float32", "float64", "bfloat16", "float16", "int64", "int32", "int16", "int8", "uint8", "bool")
LAYOUTS = ("plain", "transposed", "strided", "expanded", "offset", "reversed")
HOSTILE = (-1, 0, 1, 2, 3, -2, -3, 7, -(2**31), 2**44, 2**62, -(2**62), 2**63 - 1, -(2**63))
SPECIAL = (0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 1e-45, 3e38)
# With numbers that are too large torch itself runs forever, or takes gigabytes.
SMALL_NUMBERS = {
    "arange.start",
    "tensor_split",
    "hsplit",
    "vsplit",
    "dsplit",
    "repeat_interleave",
    "combinations",
    "matrix_power",
    "vander",
    "multi_dot",
}
# These are documented for "float, double, cfloat and cdouble", and are arbitrary for nearly singular matrices.
DECOMPOSITIONS = set(
    "cholesky cond det eigh eigvalsh inv lstsq matrix_power matrix_rank pinv qr slogdet solve solve_triangular svd svdvals"
    " tensorinv tensorsolve inverse logdet pinverse cholesky_inverse cholesky_solve".split()
)
# Random or uninitialised numbers have no value to compare, either.
NO_VALUES = {
    *UNDETERMINED,
    *DECOMPOSITIONS,
    "rand",
    "randn",
    "rand_like",
    "randn_like",
    "randint",
    "randint.low",
    "randint_like",
    "randint_like.low",
    "randperm",
    "multinomial",
}


def entries():
    """(name, samples, {variant: name of the owner})."""
    for row in ROWS:
        if row["name"] in SAMPLES:
            found = [variant for variant in variants(row) if variant != "in_place"]
            if found:
                yield row["name"], SAMPLES[row["name"]], found[0]
    for table, variant in ((FUNCTIONS, "function"), (METHODS, "method"), (BREAKING, "function")):
        yield from ((name, samples, variant) for name, samples in table.items())
    yield from ((name, samples, "linalg") for name, samples in LINALG.items())


ENTRIES = list(entries())


def owner_of(library, variant):
    return {
        "function": library,
        "method": library.Tensor,
        "functional": library.nn.functional,
        "linalg": library.linalg,
    }[variant]


class Fuzzed:
    """A tensor with a layout: `base` holds its memory, `arranged` returns the view."""

    def __init__(self, shape, dtype, layout, values):
        self.shape, self.dtype, self.layout, self.values = shape, dtype, layout, values

    def make(self, library):
        return self.arranged(library.tensor(self.base(), dtype=library.float64).to(getattr(library, self.dtype)))

    def base(self):
        shape = {
            "transposed": self.shape[::-1],
            "strided": tuple(2 * size for size in self.shape),
            "expanded": (1, *self.shape[1:]) if self.shape else (),
            "offset": (self.shape[0] + 1, *self.shape[1:]) if self.shape else (),
        }.get(self.layout, self.shape)
        numbers = itertools.islice(itertools.cycle(self.values or [0.0]), math.prod(shape))
        return np.array(list(numbers), dtype=np.float64).reshape(shape)

    def arranged(self, tensor):
        if not self.shape:
            return tensor
        if self.layout == "transposed":
            return tensor.permute(*range(tensor.ndim)[::-1])
        if self.layout == "strided":
            return tensor[tuple(slice(None, None, 2) for _ in self.shape)]
        if self.layout == "expanded":
            return tensor.expand(self.shape)
        return tensor[1:] if self.layout == "offset" else tensor

    def __repr__(self):
        return f"{self.dtype}{self.shape} {self.layout} {self.values[:12]}"


def fuzzed(data, rng):
    """A tensor argument, changed at random."""
    numbers = data.numbers()
    shape, values = data.shape, [float(value.real) for value in (numbers if isinstance(numbers, list) else [numbers])]
    dtype = data.dtype or {"b": "bool", "i": "int64"}.get(data.kind, "float32")
    if rng.random() < 0.2:
        dtype = rng.choice(DTYPES)
    change = rng.random()
    if change < 0.06:
        shape = ()
    elif change < 0.12:
        shape = (*shape, rng.choice([0, 1, 2]))
    elif change < 0.18 and shape:
        shape = shape[1:]
    elif change < 0.26 and shape:
        at = rng.randrange(len(shape))
        shape = (*shape[:at], rng.choice([0, 1, 2, 5]), *shape[at + 1 :])
    if rng.random() < 0.15 and values:
        extremes = SPECIAL if dtype not in DTYPES[4:] else (-1, 0, 1, 100, -100)
        values[rng.randrange(len(values))] = float(rng.choice(extremes))
    if dtype in DTYPES[4:]:
        values = [float(int(v)) if math.isfinite(v) else 0.0 for v in values]
        if dtype == "uint8":
            values = [abs(value) for value in values]
    layout = rng.choice(LAYOUTS) if rng.random() < 0.4 else "plain"
    return Fuzzed(tuple(shape), dtype, layout, values)


def changed(value, rng, large):
    """An argument, changed at random."""
    if isinstance(value, Data):
        return fuzzed(value, rng)
    if isinstance(value, (list, tuple)):
        parts = [changed(part, rng, large) for part in value]
        if parts and rng.random() < 0.05:
            parts.pop()
        if parts and rng.random() < 0.05:
            parts.append(parts[0])
        return type(value)(parts)
    if isinstance(value, Named):
        return Named(rng.choice(DTYPES)) if rng.random() < 0.3 else value
    if rng.random() > 0.15:
        return value
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return rng.choice([number for number in HOSTILE if large or abs(number) < 9])
    if isinstance(value, float):
        return rng.choice(SPECIAL)
    return rng.choice([value, "no such word"]) if isinstance(value, str) else value


def made(value, library):
    if isinstance(value, Fuzzed):
        return value.make(library)
    if isinstance(value, Named):
        return getattr(library, value.name)
    if isinstance(value, (list, tuple)):
        return type(value)(made(part, library) for part in value)
    return value


def outcome(call, args, keywords, library):
    try:
        args = [made(value, library) for value in args]
        keywords = {name: made(value, library) for name, value in keywords.items()}
        md.manual_seed(3)
        return call(*args, **keywords), None
    except ERRORS as error:
        return None, error


def their_outcome(call, args, keywords):
    """torch's outcome, and whether it warned that such arguments are deprecated."""
    torch.set_warn_always(True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = outcome(call, args, keywords, torch)
    texts = [str(warning.message) for warning in caught]
    return *found, any("deprecated" in text and not text.startswith(f"torch.{call.__name__} ") for text in texts)


def tensors(result):
    parts = list(result) if isinstance(result, (tuple, list)) else [result]
    return [part for part in parts if hasattr(part, "dtype")]


def shapes(result):
    return [tuple(part.shape) for part in tensors(result)]


def array_of(tensor):
    if tensor.is_complex():
        return np.array(tensor.detach().tolist(), dtype=np.complex128).reshape(tuple(tensor.shape))
    return np.array(tensor.detach().double().tolist(), dtype=np.float64).reshape(tuple(tensor.shape))


def difference(ours, theirs, name, exact):
    """The difference between two results, or None."""
    ours, theirs = tensors(ours), tensors(theirs)
    if len(ours) != len(theirs):
        return f"{len(ours)} tensors, not {len(theirs)}"
    for a, b in zip(ours, theirs, strict=True):
        if tuple(a.shape) != tuple(b.shape) or str(a.dtype).split(".")[1] != str(b.dtype).split(".")[1]:
            return f"{a.dtype}{tuple(a.shape)}, not {b.dtype}{tuple(b.shape)}"
        # A view may have more elements than its memory, and one without elements more rows.
        if name in NO_VALUES or not 0 < math.prod(a.shape) <= 2**24:
            continue
        tolerance = {"bfloat16": 0.05, "float16": 0.01, "float32": 1e-4, "complex64": 1e-4}.get(
            str(a.dtype).split(".")[1], 1e-8
        )
        x, y = array_of(a), array_of(b)
        with np.errstate(all="ignore"):
            close = np.isclose(x, y, rtol=tolerance, atol=tolerance, equal_nan=True) | (x == y)
        if not close.all() and not (not exact and unspecified(x, y)):
            return f"{x.reshape(-1)[:8].tolist()}, not {y.reshape(-1)[:8].tolist()}"
    return None


def unspecified(x, y):
    """Results for infinities and NaN in intermediate values, and for floats beyond every integer, differ between
    implementations."""
    return (
        not (np.isfinite(x).all() and np.isfinite(y).all()) or (np.abs(y) >= 2**31).any() or (np.abs(x) >= 2**31).any()
    )


def has_absurd_sizes(value):
    """torch creates tensors without elements whose other sizes no memory could hold."""
    if isinstance(value, (list, tuple)):
        return any(has_absurd_sizes(part) for part in value)
    return any(has_absurd_sizes(part) for part in value.values()) if isinstance(value, dict) else is_absurd(value)


def is_of_no_elements(args, keywords):
    given = [value for value in (*args, *keywords.values()) if isinstance(value, Fuzzed)]
    return bool(given) and not any(math.prod(value.shape) for value in given)


def has_no_numbers(value):
    return isinstance(value, Fuzzed) and not np.isfinite(array_of(value.make(md))).all()


def fills_memory(name, args):
    """range(-(2**31), 1) and kin are right, and larger than machines."""
    sequences = ("arange", "range", "tril_indices", "triu_indices")
    return name in sequences and any(isinstance(value, int) and 2**31 <= abs(value) <= 2**40 for value in args)


def crashes_torch(name, args):
    """torch.lu_unpack() reads pivots that are not there, torch.range() divides by a step that is rounded to 0, and the
    eigenvalues of matrices with NaN are looked for without end."""
    if name == "range":
        return any(isinstance(value, float) for value in args)
    if name in ("eig", "eigvals"):
        return has_no_numbers(args[0])
    return name == "lu_unpack" and args[1].shape != (*args[0].shape[:-2], min(args[0].shape[-2:], default=0))


def is_absurd(value):
    return isinstance(value, int) and abs(value) > 2**40


SAME = (
    {RuntimeError, NotImplementedError},
    {RuntimeError, MemoryError},
    {RuntimeError, OverflowError},
    {RuntimeError, IndexError},
    {RuntimeError, ValueError},
    {TypeError, OverflowError},
    {TypeError, RuntimeError},
    {IndexError, ValueError},
    {TypeError, ValueError},
    {TypeError, IndexError},
)


def same_class(error, theirs):
    if type(error).__name__ == type(theirs).__name__.lstrip("_"):
        return True
    kinds = {type(error), type(theirs)}
    return (
        isinstance(error, type(theirs))
        or len(kinds) == 1
        or any(kinds <= allowed for allowed in SAME)
        or issubclass(type(theirs), type(error))
    )


def is_undocumented(variant, name, args, keywords):
    """Calls that torch accepts although its documentation does not mention or forbids them."""
    if name in DECOMPOSITIONS:
        return any(isinstance(value, Fuzzed) and value.dtype not in ("float32", "float64") for value in args)
    if name == "vecdot":
        return not -len(args[0].shape) <= keywords.get("dim", -1) < len(args[0].shape)
    if name.startswith("addcmul"):  # "otherwise an integer"
        return isinstance(keywords.get("value"), float) and args[0].dtype in DTYPES[4:]
    if name == "lerp":  # a 0-d weight of another dtype is accepted, no other tensor
        return len({value.dtype for value in args if isinstance(value, Fuzzed)}) > 1
    if name in ("scatter", "scatter_add"):  # a LongTensor
        return args[2].dtype not in ("int32", "int64")
    if name == "take_along_dim":  # "similar to NumPy's", which raises
        size = args[0].shape[keywords.get("dim", args[2] if len(args) > 2 else None)]
        return any(not -size <= value < size for value in args[1].values)
    return False


def are_extreme(line, chosen, k=1, dim=-1, largest=True, *_, **__):
    wanted = np.sort(line)[-k:] if largest else np.sort(line)[:k]
    return len(chosen) == k and np.array_equal(np.sort(chosen), wanted[:k], equal_nan=True)


def is_lower_nanmedian(line, chosen, *_, **__):
    return is_lower_median(line if np.isnan(line).all() else line[~np.isnan(line)], chosen)


def is_lower_median(line, chosen, *_, **__):
    return np.array_equal(chosen, np.sort(line)[(len(line) - 1) // 2 :][:1], equal_nan=True)


def is_kth(line, chosen, k, *_, **__):
    return np.array_equal(chosen, np.sort(line)[k - 1 : k], equal_nan=True)


def is_most_frequent(line, chosen, *_, **__):
    values, counts = np.unique(line, return_counts=True)
    return any(np.array_equal(chosen, [value], equal_nan=True) for value in values[counts == counts.max()])


# Among equal or equally frequent values any one may be selected: the position of dim among the arguments, its default,
# and the condition on a slice and the values selected from it.
CHOSEN = {
    "topk": (2, -1, are_extreme),
    "median": (1, None, is_lower_median),
    "nanmedian": (1, None, is_lower_nanmedian),
    "mode": (1, -1, is_most_frequent),
    "kthvalue": (2, -1, is_kth),
}


def is_chosen(ours, theirs, name, args, keywords):
    """Whether the values and indices are a valid selection from the slices of the argument."""
    at, default, holds = CHOSEN[name]
    if not math.prod(args[0].shape):
        return args[0].dtype in DTYPES[4:]  # an empty slice has no value
    dim = keywords.get("dim", args[at] if len(args) > at else default)
    if dim is None or not args[0].shape or shapes(ours) != shapes(theirs):
        return False
    keeps = tensors(ours)[0].ndim == len(args[0].shape)
    values, indices = (array_of(part if keeps else part.unsqueeze(dim)) for part in tensors(ours))
    lines = array_of(args[0].make(md))
    if not np.array_equal(np.take_along_axis(lines, indices.astype(np.int64), dim), values, equal_nan=True):
        return False
    lines, values, indices = (
        np.moveaxis(part, dim, -1).reshape(-1, part.shape[dim]) for part in (lines, values, indices)
    )
    return all(
        len(set(places)) == len(places) and holds(line, chosen, *args[1:], **keywords)
        for line, chosen, places in zip(lines, values, indices, strict=True)
    )


def is_histogram(ours, theirs, name, args, keywords):
    """torch's float32 overflows between the bins of large numbers."""
    lines, bins = array_of(args[0].make(md)), len(ours)
    span = tuple(float(keywords.get(key, args[at] if len(args) > at else 0)) for at, key in ((2, "min"), (3, "max")))
    counts = np.histogram(lines, bins, span if span[0] != span[1] else None)[0]
    return shapes(ours) == shapes(theirs) and np.array_equal(array_of(ours), counts)


def is_broadcast_solution(ours, theirs, name, args, keywords):
    """torch treats some matrices of right-hand sides as batches of vectors."""
    (*stack, _, n), (*other, _, k) = args[0].shape, args[1].shape
    return shapes(ours)[0] == (*np.broadcast_shapes(tuple(stack), tuple(other)), n, k)


def is_reflected(ours, theirs, name, args, keywords):
    """Where the rank is lower than the sizes, the last reflections are of what rounding left."""
    if shapes(ours) != shapes(theirs):
        return False
    factors, rank = ours[0].double(), min(ours[0].shape[-2:])
    whole = md.linalg.householder_product(factors[..., :rank], ours[1].double())
    given = whole @ factors[..., :rank, :].triu()
    return np.allclose(array_of(given), array_of(args[0].make(md)), rtol=1e-4, atol=1e-4)


def is_factored(ours, theirs, name, args, keywords):
    """The largest element of a column may be one of several, and NaN."""
    if shapes(ours) != shapes(theirs):
        return False
    factors = ours if len(ours) == 3 and ours[0].dim() == ours[1].dim() else md.lu_unpack(ours[0], ours[1])
    given = factors[0] @ factors[1] @ factors[2] if factors[0].numel() else factors[1] @ factors[2]
    return has_no_numbers(args[0]) or np.allclose(array_of(given), array_of(args[0].make(md)), rtol=1e-4, atol=1e-4)


def are_eigenvectors(ours, theirs, name, args, keywords):
    """Vectors are unique but for a factor, and values but for their order."""
    values, vectors = (array_of(part).astype(complex) for part in ours)
    given = array_of(args[0].make(md))
    return (
        shapes(ours) == shapes(theirs)
        and np.allclose(given @ vectors, vectors * values[..., None, :], rtol=1e-3, atol=1e-3)
        and np.allclose(np.linalg.norm(vectors, axis=-2), 1.0, atol=1e-4)
    )


def is_of_absurd_offset(ours, theirs, name, args, keywords):
    """torch's sums of sizes and offsets overflow."""
    return has_absurd_sizes((args, keywords))


def is_of_extremes(ours, theirs, name, args, keywords):
    """The squares of some elements are infinite in float32, in which torch has norms."""
    return np.abs(array_of(args[0].make(md))).max() > 1e19


def is_of_spread_weights(ours, theirs, name, args, keywords):
    """torch reads weights in the order of memory."""
    return any(not value.make(md).is_contiguous() for value in args[1:3] if isinstance(value, Fuzzed))


# Conditions on a correct result that differs from torch's.
VALID = {
    **dict.fromkeys(CHOSEN, is_chosen),
    "histc": is_histogram,
    "lstsq": is_broadcast_solution,
    "geqrf": is_reflected,
    **dict.fromkeys(("lu", "lu_factor", "lu_factor_ex"), is_factored),
    **dict.fromkeys(("tril_indices", "triu_indices"), is_of_absurd_offset),
    "eig": are_eigenvectors,
    **dict.fromkeys(("renorm", "renorm_"), is_of_extremes),
    "native_group_norm": is_of_spread_weights,
}


class Session:
    """Draws calls from a seed and counts their outcomes."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.counts = Counter()
        self.differing = []

    def step(self, number):
        name, samples, variant = self.rng.choice(ENTRIES)
        args, keywords = self.rng.choice(samples)
        large = name not in SMALL_NUMBERS
        args = [changed(value, self.rng, large) for value in args]
        keywords = {key: changed(value, self.rng, large) for key, value in keywords.items()}
        if fills_memory(name, args):
            return
        python_name = name.partition(".")[0]
        call = getattr(owner_of(md, variant), python_name)
        ours, error = outcome(call, args, keywords, md)
        self.counts["raised" if error else "returned"] += 1
        what = (variant, name, args, keywords)
        if number % 4 == 0:
            md._dynamo.reset()
            captured, captured_error = outcome(md.compile(lambda *a, **k: call(*a, **k)), args, keywords, md)
            assert type(error) is type(captured_error), (what, error, captured_error)
            if error is None:
                assert difference(captured, ours, name, False) is None, (what, captured, ours)
            self.counts["compiled"] += 1
        if torch is not None and hasattr(owner_of(torch, variant), python_name) and not crashes_torch(name, args):
            self.compare(
                what, ours, error, *their_outcome(getattr(owner_of(torch, variant), python_name), args, keywords)
            )

    def compare(self, what, ours, error, theirs, their_error, deprecated):
        name = what[1]
        if error is None and their_error is not None:
            self.counts["taken here alone"] += 1  # mixed dtypes, sizes as separate arguments: torch accepts less
        elif error is not None and their_error is None:
            if all(tensor.numel() == 0 for tensor in tensors(theirs)) or is_of_no_elements(*what[2:]):
                self.counts["of no elements"] += 1  # torch does not check the other arguments, nor some dtypes
            elif "bytes as bools" in str(error):
                self.counts["bytes as bools"] += 1  # of which all but 0 and 1 are undefined
            elif "out of bounds for storage" in str(error):
                self.counts["places behind a tensor"] += 1  # torch copies the whole memory for as_strided_scatter()
            elif "more than one element of the written-to tensor refers" in str(error):
                self.counts["overlapping writes"] += 1  # some of torch's functions do not check
            elif any(not hasattr(md, str(tensor.dtype).split(".")[1]) for tensor in tensors(theirs)):
                self.counts["of a dtype that torch alone has"] += 1
            elif deprecated:
                self.counts["deprecated"] += 1
            elif is_undocumented(*what):
                self.counts["undocumented"] += 1
            elif isinstance(error, md.linalg.LinAlgError):
                self.counts["singular here alone"] += 1  # torch divides by the zero
            elif not (has_absurd_sizes(what[2:]) and isinstance(error, (RuntimeError, MemoryError))):
                self.differing.append((what, error, "a result"))
        elif error is not None:
            if not same_class(error, their_error):
                self.differing.append((what, error, their_error))
        else:
            found = difference(ours, theirs, name, False)
            if found and not (name in VALID and VALID[name](ours, theirs, *what[1:])):
                self.differing.append((what, found, ""))
        self.counts["compared"] += 1


def run(count, seed):
    session = Session(seed)
    for number in range(count):
        session.step(number)
    return session


def test_short():
    session = run(600, 1)
    assert session.counts["returned"] > 100 and session.counts["raised"] > 50, session.counts
    assert not session.differing, session.differing


def run_calls(count, seed):
    session = run(count, seed)
    assert not session.differing, session.differing
