"""Operations on lists of tensors, element by element: torch's `_foreach_add` and its like, which optimizers call.

Lists are of equal lengths, at least 1; RuntimeError otherwise. The forms with a trailing _ write into the tensors of
the first list, and return it.
"""

from __future__ import annotations

import minidynamo

from ._C import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

_UNARY = (
    "abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round"
    " rsqrt sigmoid sign sin sinh sqrt tan tanh trunc"
)
_BINARY = "mul div clamp_max clamp_min maximum minimum pow"


def _lists(*given: Any) -> list[Sequence[Any]]:
    """The first list, and the others or a number or tensor as often as the first has tensors."""
    first = given[0]
    if len(first) == 0:
        raise RuntimeError("Tensor list must have at least one tensor.")
    found = [first]
    for each in given[1:]:
        if not isinstance(each, (list, tuple)):
            found.append([each] * len(first))
            continue
        if len(each) != len(first):
            kind = "Tensor lists" if isinstance(each[0] if each else None, Tensor) else "Tensor list"
            if kind == "Tensor lists":
                raise RuntimeError(
                    f"Tensor lists must have the same number of tensors, got {len(first)} and {len(each)}"
                )
            raise RuntimeError(
                f"Tensor list must have same number of elements as scalar list, got {len(first)} and {len(each)}"
            )
        found.append(each)
    return found


def _bounded(function: str) -> Callable[[Tensor, Any], Tensor]:
    """maximum and clamp_min, minimum and clamp_max: of a tensor and a tensor or a number."""
    name = "maximum" if function in ("maximum", "clamp_min") else "minimum"
    bound = "min" if name == "maximum" else "max"

    def run(a: Tensor, b: Any) -> Tensor:
        return getattr(minidynamo, name)(a, b) if isinstance(b, Tensor) else a.clamp(**{bound: b})

    return run


def _power(a: Any, b: Any) -> Tensor:
    return minidynamo.pow(a, b)


def _of(name: str, function: Callable[..., Tensor]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The form that returns a list, and the one that writes."""

    def run(self: Sequence[Tensor], *others: Any) -> list[Tensor]:
        return [function(*parts) for parts in zip(*_lists(self, *others))]

    def write(self: Sequence[Tensor], *others: Any) -> Sequence[Tensor]:
        for target, *parts in zip(*_lists(self, *others)):
            target.copy_(function(target, *parts))
        return self

    for each, what in ((run, f"_foreach_{name}"), (write, f"_foreach_{name}_")):
        each.__name__ = each.__qualname__ = what
        each.__doc__ = f"minidynamo.{name} of each tensor of a list."
    return run, write


# By their names.
FUNCTIONS: dict[str, Callable[..., Any]] = {}


def _enter(name: str, function: Callable[..., Tensor]) -> None:
    FUNCTIONS[f"_foreach_{name}"], FUNCTIONS[f"_foreach_{name}_"] = _of(name, function)


_PLAIN: dict[str, Callable[..., Tensor]] = {"mul": minidynamo.mul, "div": minidynamo.div, "pow": _power}

for _name in _UNARY.split():
    _enter(_name, getattr(minidynamo, _name))
for _name in _BINARY.split():
    _enter(_name, _PLAIN.get(_name) or _bounded(_name))
_enter("lerp", minidynamo.lerp)


def _foreach_add(self: Sequence[Tensor], other: Any, *, alpha: Any = 1) -> list[Tensor]:
    """a + alpha * b for each pair."""
    return [minidynamo.add(a, b, alpha=alpha) for a, b in zip(*_lists(self, other))]


def _foreach_add_(self: Sequence[Tensor], other: Any, *, alpha: Any = 1) -> Sequence[Tensor]:
    """_foreach_add into the first list."""
    for a, b in zip(*_lists(self, other)):
        a.add_(b, alpha=alpha)
    return self


def _foreach_sub(self: Sequence[Tensor], other: Any, *, alpha: Any = 1) -> list[Tensor]:
    """a - alpha * b for each pair."""
    return [minidynamo.sub(a, b, alpha=alpha) for a, b in zip(*_lists(self, other))]


def _foreach_sub_(self: Sequence[Tensor], other: Any, *, alpha: Any = 1) -> Sequence[Tensor]:
    """_foreach_sub into the first list."""
    for a, b in zip(*_lists(self, other)):
        a.sub_(b, alpha=alpha)
    return self


def _values(self: Sequence[Tensor], first: Any, second: Any, given: Any) -> list[Any]:
    """The lists of addcdiv and addcmul; a tensor of numbers in their place is read."""
    scales = given.tolist() if isinstance(given, Tensor) else given
    return _lists(self, first, second, scales)


def _foreach_addcdiv(self: Any, tensor1: Any, tensor2: Any, scalars: Any = 1) -> list[Tensor]:
    """a + scalar * b / c for each."""
    rows = zip(*_values(self, tensor1, tensor2, scalars))
    return [minidynamo.addcdiv(a, b, c, value=scale) for a, b, c, scale in rows]


def _foreach_addcdiv_(self: Any, tensor1: Any, tensor2: Any, scalars: Any = 1) -> Sequence[Tensor]:
    """_foreach_addcdiv into the first list."""
    for a, b, c, scale in zip(*_values(self, tensor1, tensor2, scalars)):
        a.addcdiv_(b, c, value=scale)
    return self


def _foreach_addcmul(self: Any, tensor1: Any, tensor2: Any, scalars: Any = 1) -> list[Tensor]:
    """a + scalar * b * c for each."""
    rows = zip(*_values(self, tensor1, tensor2, scalars))
    return [minidynamo.addcmul(a, b, c, value=scale) for a, b, c, scale in rows]


def _foreach_addcmul_(self: Any, tensor1: Any, tensor2: Any, scalars: Any = 1) -> Sequence[Tensor]:
    """_foreach_addcmul into the first list."""
    for a, b, c, scale in zip(*_values(self, tensor1, tensor2, scalars)):
        a.addcmul_(b, c, value=scale)
    return self


def _foreach_zero_(self: Sequence[Tensor]) -> Sequence[Tensor]:
    """Sets every tensor to 0."""
    for (each,) in zip(*_lists(self)):
        each.zero_()
    return self


def _foreach_copy_(self: Sequence[Tensor], src: Sequence[Tensor], non_blocking: bool = False) -> Sequence[Tensor]:
    """Copies the second list into the first."""
    for target, source in zip(*_lists(self, src)):
        target.copy_(source)
    return self


def _foreach_clone(self: Sequence[Tensor], *, memory_format: Any = None) -> list[Tensor]:
    """A copy of each tensor."""
    return [each.clone() for (each,) in zip(*_lists(self))]


def _foreach_norm(self: Sequence[Tensor], ord: float = 2, dtype: Any = None) -> list[Tensor]:
    """The vector norm of each tensor, over all its elements: 0-d."""
    return [minidynamo.linalg.vector_norm(each, ord, dtype=dtype) for (each,) in zip(*_lists(self))]


def _foreach_max(self: Sequence[Tensor]) -> list[Tensor]:
    """The largest element of each tensor: 0-d."""
    return [each.max() for (each,) in zip(*_lists(self))]


FUNCTIONS.update({name: value for name, value in globals().items() if name.startswith("_foreach_")})
