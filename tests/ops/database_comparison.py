"""Finds the differences between two results, one of minidynamo and one of torch."""

import torch
from database_translation import converted, parts_of, to_torch

import minidynamo as md

# Relative to the largest element of torch's result. 16-bit results: `is_near_half`.
TOLERANCES = {"float64": 1e-10, "float32": 1e-4}


# Of 16-bit floats the product is rounded, and so is its sum with the bias.
ROUNDED_TWICE = ("nn.functional.linear",)


def tolerance_of_database(op, dtype):
    """(atol, rtol), the largest that torch's own tests allow for this operator and dtype; (0, 0) if they specify none."""
    if op.name in ROUNDED_TWICE and dtype in (torch.float16, torch.bfloat16):
        return 8 * torch.finfo(dtype).eps, 2 * torch.finfo(dtype).eps
    allowed = [
        wrapper.d[dtype]
        for entry in op.decorators
        for wrapper in getattr(entry, "decorators", [entry])
        if dtype in getattr(wrapper, "d", ())
    ]
    # A precision alone is an atol.
    pairs = [(each, 0.0) if isinstance(each, float) else (each.atol, each.rtol) for each in allowed]
    return tuple(max((pair[part] for pair in pairs), default=0.0) for part in (0, 1))


def unit_in_last_place(values, dtype):
    """For each element, as a double: the distance to the next number of the dtype."""
    _, exponent = torch.frexp(values.abs().double())
    smallest = torch.finfo(dtype).smallest_normal
    unit = torch.ldexp(torch.tensor(torch.finfo(dtype).eps, dtype=torch.float64), exponent - 1)
    return unit.clamp(min=smallest * torch.finfo(dtype).eps)


def is_near_half(ours, theirs, exact, dtype, allowed):
    """Within one unit in the last place or the database's own tolerance, or no further from the exact result than torch's.

    `exact()` returns torch's result of the same call in float64, or None if there is none.
    """
    atol, rtol = allowed
    bound = torch.maximum(unit_in_last_place(theirs, dtype), atol + rtol * theirs.abs())
    if bool(((ours - theirs).abs() <= bound).all()):
        return True
    best = exact()
    if best is None or best.shape != ours.shape:
        return False
    finite = best.isfinite()
    if not bool(finite.any()) or not torch.equal(ours[~finite], theirs[~finite]):
        return False
    ours, theirs, best = ours[finite], theirs[finite], best[finite]
    unit = unit_in_last_place(best.abs().max(), dtype)
    return bool((ours - best).abs().max() <= (theirs - best).abs().max() + unit / 2)


def difference_of_values(ours, theirs, exact, allowed):
    if theirs.is_complex():
        return difference_of_values(torch.view_as_real(ours), torch.view_as_real(theirs), lambda: None, allowed)
    if not theirs.is_floating_point():
        return "" if torch.equal(ours, theirs) else "values"
    dtype, (ours, theirs) = theirs.dtype, (ours.double(), theirs.double())
    if not torch.equal(ours.isnan(), theirs.isnan()):
        return "NaN at other places"
    ours, theirs = ours.nan_to_num(0.0, torch.inf, -torch.inf), theirs.nan_to_num(0.0, torch.inf, -torch.inf)
    infinite = ours.isinf() | theirs.isinf()
    if not torch.equal(ours[infinite], theirs[infinite]):
        return "infinities"
    if ours.numel() == 0 or torch.equal(ours, theirs):
        return ""
    apart = (ours - theirs)[~infinite].abs()
    error, largest = apart.max().item(), theirs[~infinite].abs().max().item()
    if dtype.itemsize == 2:
        finite = ~infinite
        if is_near_half(ours[finite], theirs[finite], lambda: chosen(exact(), finite), dtype, allowed):
            return ""
    elif error <= TOLERANCES[str(dtype).removeprefix("torch.")] * max(largest, 1e-30):
        return ""
    return f"values, by {error:.3g} of {largest:.3g}"


def chosen(whole, mask):
    return whole.double()[mask] if whole is not None and whole.shape == mask.shape else None


def difference(ours, theirs, values=True, exact=lambda: None, allowed=(0.0, 0.0)):
    """The difference between two results; "" if none. `exact()`: torch's result of the same call in float64."""
    ours, theirs = parts_of(ours), parts_of(theirs)
    if len(ours) != len(theirs):
        return f"{len(ours)} results, torch gives {len(theirs)}"
    for number, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        if not isinstance(b, torch.Tensor):
            same = converted(b) == a or (a != a and b != b) if not isinstance(b, float) else abs(a - b) <= 1e-6 * abs(b)
            if not same and (values or type(a) is not type(b)):
                return f"{a!r}, torch gives {b!r}"
            continue
        if not isinstance(a, md.Tensor):
            return f"a {type(a).__name__}, torch gives a tensor"
        dtype = str(b.dtype).removeprefix("torch.")
        if str(a.dtype).rpartition(".")[2] != dtype:
            return f"{a.dtype}, torch gives {dtype}"
        if tuple(a.shape) != tuple(b.shape):
            return f"sizes {tuple(a.shape)}, torch gives {tuple(b.shape)}"
        if values:
            part = lambda number=number: part_of(exact(), number)  # noqa: E731
            found = difference_of_values(to_torch(a), b.detach().resolve_conj(), part, allowed)
            if found:
                return found
    return ""


def part_of(result, number):
    parts = parts_of(result)
    return parts[number] if number < len(parts) and isinstance(parts[number], torch.Tensor) else None


# An index may name any of several equal elements: (operator, which positional argument is its dim).
POSITIONS = {"sort": 0, "argsort": 0, "mode": 0, "topk": 1, "kthvalue": 1}


def chosen_dim(name, sample):
    """The argument `dim` of a function of POSITIONS."""
    return sample.args[POSITIONS[name]] if len(sample.args) > POSITIONS[name] else sample.kwargs.get("dim", -1)


def is_held(values, dtype):
    """By element: whether the integer dtype holds the number. What others become is left open."""
    limits, values = torch.iinfo(dtype), values.double()
    return (values >= limits.min) & (values < limits.max)


def agrees_where_held(name, sample, ours, theirs):
    """Whether integers made of floats are equal wherever these are held."""
    if name not in ("int", "long", "short", "char", "byte") or not sample.input.is_floating_point():
        return False
    held = is_held(sample.input, theirs.dtype)
    return torch.equal(to_torch(ours)[held], theirs[held])


def choose_alike(tensor, dim, ours, theirs):
    """Whether two tensors of indices along dim choose equal elements."""
    if ours.dtype != torch.int64 or tensor.dim() == 0:
        return False
    if ours.dim() < tensor.dim():
        ours, theirs = ours.unsqueeze(dim), theirs.unsqueeze(dim)
    return torch.equal(tensor.take_along_dim(ours, dim), tensor.take_along_dim(theirs, dim))


def names_equal_elements(name, sample, ours, theirs):
    """Whether two results differ only in which of several equal elements they name."""
    if name not in POSITIONS:
        return False
    given = chosen_dim(name, sample)
    if sample.input.dim() == 0 or not isinstance(given, int) or isinstance(given, bool):
        return False
    ours, theirs = [to_torch(part) for part in parts_of(ours)], parts_of(theirs)
    if any(not torch.equal(a, b) for a, b in zip(ours[:-1], theirs[:-1], strict=True)):
        return False
    return choose_alike(sample.input, given, ours[-1], theirs[-1])


def class_of(error):
    """The name of the class of an exception: each library has its own LinAlgError."""
    return type(error).__name__.lstrip("_")


def difference_of_errors(ours, theirs, result=None):
    """For a call that at least one of two libraries rejects; "" if both do, with the same class of exception."""
    if ours is not None and theirs is not None and class_of(ours) == class_of(theirs):
        return ""
    mine = f"{class_of(ours)}: {str(ours)[:140]}" if ours is not None else "is taken"
    torchs = f"{class_of(theirs)}: {str(theirs)[:140]}" if theirs is not None else "takes it"
    return f"{mine}; torch: {torchs}"


def are_eigenvectors(name, sample, ours, theirs):
    """Whether both give eigenvalues and eigenvectors of a general matrix: in any order, of any phase."""
    if name not in ("linalg.eig", "linalg.eigvals") or sample.input.numel() == 0:
        return False
    (values, *vectors), (wanted, *_) = ([to_torch(part) for part in parts_of(ours)], parts_of(theirs))
    tolerance = 1e-3 if values.dtype == torch.complex64 else 1e-8
    apart = (values.unsqueeze(-1) - wanted.unsqueeze(-2)).abs()
    size = wanted.abs().amax().clamp(min=1e-30)
    if apart.amin(-1).amax() > tolerance * size or apart.amin(-2).amax() > tolerance * size:
        return False
    if not vectors:
        return True
    (v,) = vectors
    residual = sample.input.to(v.dtype) @ v - v * values.unsqueeze(-2)
    return bool(residual.abs().amax() <= tolerance * size)
