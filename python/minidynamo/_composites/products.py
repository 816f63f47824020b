"""Products of tensors, composed of matmul and mul."""

from __future__ import annotations

import minidynamo

from .._C import Tensor
from .autocast import as_given, full_precision, is_autocasting, low_precision
from .registry import (
    composite,
    in_place,
    is_inexact,
    is_narrow,
    prims,
    require_held,
    require_tensor,
    require_tensors,
    widened,
    wrapped_dim,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# What the operations that compute distances call them.
PAIR_NORMS = {0: 0, 1: 1, 2: 2, float("inf"): 3}
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def _bad_equation(message: str) -> RuntimeError:
    return RuntimeError(f"[einsum] {message}")


def _subscript_labels(text: str, rank: int | None) -> list[str]:
    """One label per dim; of the dims covered by `...`, "...0" is the last one, "...1" the one before it."""
    labels: list[str] = []
    left, found, right = text.partition("...")
    named = len(left) + len(right)
    for label in left + right:
        if label not in _LETTERS:
            raise _bad_equation(
                f"invalid subscript given at index, subscripts must be in [a-zA-Z]: {label!r} in {text!r}"
            )
    if rank is not None and (named > rank or (named < rank and not found)):
        raise _bad_equation(
            f"the number of subscripts in the equation ({named}) does not match the number of dimensions"
            f" ({rank}) for the"
            f" operand {text!r}{'' if found else ' and no ellipsis was given'}"
        )
    labels.extend(left)
    if found and rank is not None:
        for number in range(rank - named - 1, -1, -1):
            labels.append(f"...{number}")
    labels.extend(right)
    return labels


def _diagonals(operand: Tensor, labels: list[str]) -> tuple[Tensor, list[str]]:
    """Repeated labels are merged into one, by taking the diagonal."""
    at = 0
    while at < len(labels):
        label = labels[at]
        if label in labels[at + 1 :]:
            other = labels.index(label, at + 1)
            if operand.shape[at] != operand.shape[other]:
                raise _bad_equation(
                    f"subscript {label} is repeated for an operand but the sizes don't match, {operand.shape[other]} !="
                    f" {operand.shape[at]}; shape {tuple(operand.shape)}"
                )
            operand = operand.diagonal(0, at, other)
            labels = labels[:at] + labels[at + 1 : other] + labels[other + 1 :] + [label]
        else:
            at = at + 1
    return operand, labels


def _sizes_of(left: Tensor, left_labels: list[str], right: Tensor, right_labels: list[str]) -> dict[str, int]:
    """The broadcast size of each label."""
    sizes: dict[str, int] = {}
    for operand, labels in ((left, left_labels), (right, right_labels)):
        for at, label in enumerate(labels):
            size = operand.shape[at]
            known = sizes.get(label, 1)
            if known != size and known != 1 and size != 1:
                raise _bad_equation(
                    f"operands do not broadcast with remapped shapes: subscript {label} has sizes {known} and {size};"
                    f" shapes {tuple(left.shape)} and {tuple(right.shape)}"
                )
            sizes[label] = size if known == 1 else known
    return sizes


def _contract(
    left: Tensor, left_labels: list[str], right: Tensor, right_labels: list[str], result: list[str], left_over: Any
) -> Any:
    """The product of two operands, summed over labels that occur neither in the output nor in a later operand: one bmm.

    left_over: for each label, the number of remaining operands, including these two, with a size above 1."""
    sizes = _sizes_of(left, left_labels, right, right_labels)
    summed: list[str]
    alone_left: list[str]
    alone_right: list[str]
    summed, alone_left, alone_right = [], [], []
    for label in sizes:
        if label in result:
            continue
        in_left = label in left_labels and left.shape[left_labels.index(label)] != 1
        in_right = label in right_labels and right.shape[right_labels.index(label)] != 1
        if in_left and in_right:
            left_over[label] = left_over[label] - 1
            if left_over[label] == 1:
                summed.append(label)
        elif left_over[label] == 1 and (in_left or in_right):
            (alone_left if in_left else alone_right).append(label)
    # Labels that occur on one side only are summed there first; the sum of integers is int64.
    left, left_labels = _sum_out(left, left_labels, alone_left)
    right, right_labels = _sum_out(right, right_labels, alone_right)
    for label in summed + alone_left + alone_right:
        left_over[label] = 0
    shared = [label for label in left_labels if label in right_labels]
    batch = [label for label in shared if label not in summed]
    rows = [label for label in left_labels if label not in shared]
    columns = [label for label in right_labels if label not in shared]
    left = _arranged(left, left_labels, batch + rows + summed, sizes, batch + summed)
    right = _arranged(right, right_labels, batch + summed + columns, sizes, batch + summed)
    rows_sizes = [left.shape[len(batch) + at] for at in range(len(rows))]
    columns_sizes = [right.shape[len(batch) + len(summed) + at] for at in range(len(columns))]
    lengths = [sizes[label] for label in batch] + rows_sizes + columns_sizes
    count = {"batch": 1, "rows": 1, "summed": 1, "columns": 1}
    for name, parts in (
        ("batch", [sizes[label] for label in batch]),
        ("rows", rows_sizes),
        ("summed", [sizes[label] for label in summed]),
        ("columns", columns_sizes),
    ):
        for size in parts:
            count[name] = count[name] * size
    left = left.reshape(count["batch"], count["rows"], count["summed"])
    right = right.reshape(count["batch"], count["summed"], count["columns"])
    product = left.matmul(right) if summed else left * right
    return product.reshape(lengths), batch + rows + columns


def _sum_out(operand: Tensor, labels: list[str], gone: list[str]) -> tuple[Tensor, list[str]]:
    """The sum over labels. Dims of size 1 are not summed, which keeps the dtype."""
    places = [at for at, label in enumerate(labels) if label in gone]
    if not places:
        return operand, labels
    return operand.sum(places), [label for label in labels if label not in gone]


def _dropped(operand: Tensor, labels: list[str], kept: list[str]) -> tuple[Tensor, list[str]]:
    """Drops the dims of size 1 whose labels are not kept."""
    return operand.reshape([operand.shape[at] for at, label in enumerate(labels) if label in kept]), [
        label for label in labels if label in kept
    ]


def _arranged(operand: Tensor, labels: list[str], order: list[str], sizes: dict[str, int], full: list[str]) -> Tensor:
    operand = operand.permute([labels.index(label) for label in order])
    return operand.expand([sizes[label] if label in full else -1 for label in order])


def _sublist_equation(arguments: tuple[Any, ...]) -> tuple[str, Any]:
    """einsum(x, [0, 1], y, [1, 2], [0, 2]) as an equation."""

    def letters(subscripts: Any) -> str:
        text = ""
        for number in subscripts:
            if number is Ellipsis:
                text = text + "..."
            elif isinstance(number, int) and 0 <= number < 52:
                text = text + _LETTERS[number]
            else:
                raise ValueError(f"einsum(): subscript {number} must be an int in [0, 52) or Ellipsis")
        return text

    operands, parts = [], []
    for at in range(0, len(arguments) - 1, 2):
        operands.append(arguments[at])
        parts.append(letters(arguments[at + 1]))
    equation = ",".join(parts)
    if len(arguments) % 2 == 1:
        equation = equation + "->" + letters(arguments[-1])
    return equation, operands


@composite("function")
def einsum(equation: Any, *operands: Any) -> Tensor:
    """The sum of products described by an equation such as "ij,jk->ik". Letters not on the right are summed over.

    Without "->" the right side consists of the letters that occur once, in alphabetical order, after the dims of "...".
    Operands are contracted from left to right, each pair by one batched matrix product.
    """
    if isinstance(equation, Tensor):
        equation, operands = _sublist_equation((equation, *operands))
    if not isinstance(equation, str):
        raise TypeError(f"einsum(): argument 'equation' must be str, not {type(equation).__name__}")
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    require_tensors("einsum", operands, "operands")
    if not operands:
        raise ValueError("einsum(): must provide at least one operand")
    text = equation.replace(" ", "")
    inputs, arrow, output = text.partition("->")
    subscripts = inputs.split(",")
    if len(subscripts) != len(operands):
        few = "fewer" if len(subscripts) > len(operands) else "more"
        raise _bad_equation(f"{few} operands were provided than specified in the equation {equation!r}")
    terms = []
    ellipsis_rank = 0
    for subscript, operand in zip(subscripts, operands):
        labels = _subscript_labels(subscript, operand.dim())
        ellipsis_rank = max(ellipsis_rank, len([label for label in labels if label.startswith("...")]))
        terms.append(_diagonals(operand, labels))
    result = _output_labels(output if arrow else None, inputs, ellipsis_rank, terms)
    left_over = _operands_along(terms)
    total, labels = terms[0]
    for operand, operand_labels in terms[1:]:
        total, labels = _contract(total, labels, operand, operand_labels, result, left_over)
    gone = [label for at, label in enumerate(labels) if label not in result and total.shape[at] != 1]
    if len(terms) == 1:
        gone = [label for label in labels if label not in result]
    total, labels = _sum_out(total, labels, gone)
    total, labels = _dropped(total, labels, result)
    return total.permute([labels.index(label) for label in result])


def _operands_along(terms: list[Any]) -> dict[str, int]:
    """For each label, the number of operands with a size above 1."""
    counts: dict[str, int] = {}
    for operand, labels in terms:
        for at, label in enumerate(labels):
            counts[label] = counts.get(label, 0) + (1 if operand.shape[at] != 1 else 0)
    return counts


def _output_labels(output: str | None, inputs: str, rank: int, terms: list[Any]) -> list[str]:
    ellipsis = [f"...{number}" for number in range(rank - 1, -1, -1)]
    if output is None:
        named = inputs.replace("...", "").replace(",", "")
        return ellipsis + [label for label in _LETTERS if named.count(label) == 1]
    left, found, right = output.partition("...")
    labels = _subscript_labels(left + right, None)
    known: list[str] = []
    for _, term in terms:
        known = known + term
    for label in labels:
        if labels.count(label) > 1:
            raise _bad_equation(f"output subscript {label} appears more than once in the output")
        if label not in known:
            raise _bad_equation(f"output subscript {label} does not appear in the equation for any input operand")
    return list(left) + (ellipsis if found else []) + list(right)


@composite("function")
def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """Products summed over dims: the last `dims` of a with the first of b, or the pair of lists of dims.

    A size of 1 broadcasts to the other's.
    """
    require_tensor("tensordot", a, "a")
    require_tensor("tensordot", b, "b")
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"[tensordot] expects dims >= 0, but got dims={dims}")
        if dims > min(a.dim(), b.dim()):
            raise RuntimeError(
                f"[tensordot] expects dims < ndim_a or ndim_b, but got dims={dims}; shapes {tuple(a.shape)} and"
                f" {tuple(b.shape)}"
            )
        pairs = list(range(a.dim() - dims, a.dim())), list(range(dims))
    else:
        pairs = (
            [dims[0]] if isinstance(dims[0], int) else list(dims[0]),
            [dims[1]] if isinstance(dims[1], int) else list(dims[1]),
        )
    if len(pairs[0]) != len(pairs[1]):
        raise RuntimeError("[tensordot] both dimension lists should have same length")
    of_a = [wrapped_dim("tensordot", dim, a.dim()) for dim in pairs[0]]
    of_b = [wrapped_dim("tensordot", dim, b.dim()) for dim in pairs[1]]
    rows = [dim for dim in range(a.dim()) if dim not in of_a]
    columns = [dim for dim in range(b.dim()) if dim not in of_b]
    summed = 1
    for one, other in zip(of_a, of_b):
        if b.shape[other] == 1:
            a = a.sum(one, keepdim=True, dtype=a.dtype)
        elif a.shape[one] == 1:
            b = b.sum(other, keepdim=True, dtype=b.dtype)
        elif a.shape[one] != b.shape[other]:
            raise RuntimeError(
                f"[tensordot] contracted dimensions need to match, but first has size {a.shape[one]} in dim {one} and"
                f" second has size {b.shape[other]} in dim {other}; shapes {tuple(a.shape)} and {tuple(b.shape)}"
            )
        summed = summed * a.shape[one]
    sizes = [a.shape[dim] for dim in rows] + [b.shape[dim] for dim in columns]
    height, width = 1, 1
    for dim in rows:
        height = height * a.shape[dim]
    for dim in columns:
        width = width * b.shape[dim]
    if is_autocasting() and height == 1 and width == 1:
        # torch multiplies and sums, where the result is one number.
        return as_given(tensordot, a, b, (of_a, of_b))
    left = a.permute(rows + of_a).reshape(height, summed)
    right = b.permute(of_b + columns).reshape(summed, width)
    return left.matmul(right).reshape(sizes)


@composite("function method")
def kron(input: Tensor, other: Tensor) -> Tensor:
    """The Kronecker product: each element of input times all of other, in blocks."""
    require_tensor("kron", input)
    require_tensor("kron", other, "other")
    rank = max(input.dim(), other.dim())
    of_input = [1] * (rank - input.dim()) + list(input.shape)
    of_other = [1] * (rank - other.dim()) + list(other.shape)
    spread_input, spread_other, sizes = [], [], []
    for at in range(rank):
        spread_input.extend([of_input[at], 1])
        spread_other.extend([1, of_other[at]])
        sizes.append(of_input[at] * of_other[at])
    return (input.reshape(spread_input) * other.reshape(spread_other)).reshape(sizes)


@composite("function method")
def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """The cross product of vectors of three elements along dim: by default the first dim of size 3."""
    if is_autocasting():
        return as_given(cross, input, other, dim)
    require_tensor("cross", input)
    require_tensor("cross", other, "other")
    if input.dim() != other.dim():
        raise RuntimeError(
            f"[cross] inputs must have the same number of dimensions; shapes {tuple(input.shape)} and"
            f" {tuple(other.shape)}"
        )
    if dim is None:
        threes = [at for at, size in enumerate(input.shape) if size == 3]
        if not threes:
            raise RuntimeError(f"[cross] no dimension of size 3 in input; shape {tuple(input.shape)}")
        dim = threes[0]
    at = wrapped_dim("cross", dim, input.dim())
    if input.shape[at] != 3 or other.shape[at] != 3:
        raise RuntimeError(
            f"[cross] inputs dimension {dim} must have length 3. Got {input.shape[at]} and {other.shape[at]}; shapes"
            f" {tuple(input.shape)} and {tuple(other.shape)}"
        )
    input, other = broadcast_pair(input, other)
    a, b = input.unbind(at), other.unbind(at)
    return minidynamo.stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]], at)


def broadcast_pair(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Both expanded to the sizes that they broadcast to."""
    shape = minidynamo.broadcast_shapes(a.shape, b.shape)
    return a.expand(shape), b.expand(shape)


@composite("function")
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str | None = None) -> Tensor:
    """The p-norm distances between the rows of x1 (..., P, M) and those of x2 (..., R, M): (..., P, R)."""
    if is_autocasting():
        return full_precision(cdist, x1, x2, p, compute_mode)
    require_tensor("cdist", x1, "x1")
    require_tensor("cdist", x2, "x2")
    for name, tensor in (("X1", x1), ("X2", x2)):
        if tensor.dim() < 2:
            raise RuntimeError(f"[cdist] {name} should have at least 2 dims; shape {tuple(tensor.shape)}")
        if not tensor.is_floating_point():
            raise RuntimeError(f"[cdist] only supports floating-point dtypes, {name} got: {tensor.dtype}")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(
            f"[cdist] X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}; shapes"
            f" {tuple(x1.shape)} and {tuple(x2.shape)}"
        )
    if p < 0:
        raise RuntimeError(f"[cdist] only supports non-negative p values, got {p}")
    if p in PAIR_NORMS and x1.dtype == x2.dtype and not (x1.requires_grad or x2.requires_grad):
        return _distances(x1, x2, PAIR_NORMS[p])
    difference = x1.unsqueeze(-2) - x2.unsqueeze(-3)
    if x1.shape[-1] == 0:
        return difference.sum(-1)
    return difference.norm(p, -1)


def _distances(x1: Tensor, x2: Tensor, norm: int) -> Tensor:
    """In one pass. It has no slope."""
    dtype = x1.dtype
    if is_narrow(x1):
        x1, x2 = x1.float(), x2.float()
    if x1.shape[:-2] != x2.shape[:-2]:
        batch = minidynamo.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
        x1, x2 = x1.expand(*batch, -1, -1), x2.expand(*batch, -1, -1)
    found = prims.cross_distances(x1, x2, norm)
    return found if found.dtype == dtype else found.to(dtype)


@composite("function method")
def inner(input: Tensor, other: Tensor) -> Tensor:
    """The sums of products over the last dims of both; a product where one is a number."""
    require_tensor("inner", input)
    require_tensor("inner", other, "other")
    if input.dim() == 0 or other.dim() == 0:
        return input * other
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            f"[inner] the last dimension must match on both input tensors but got shapes {tuple(input.shape)} and"
            f" {tuple(other.shape)}"
        )
    return tensordot(input, other, ([-1], [-1]))


@composite("function method")
def vdot(input: Tensor, other: Tensor) -> Tensor:
    """The sum of the products of two vectors."""
    require_tensor("vdot", input)
    return input.dot(other)


@composite("function method")
def trace(input: Tensor) -> Tensor:
    """The sum of the diagonal of a matrix."""
    if is_autocasting():
        return full_precision(trace, input)
    require_tensor("trace", input)
    if input.dim() != 2:
        raise RuntimeError(f"[trace] expected a matrix; shape {tuple(input.shape)}")
    return input.diagonal().sum()


@composite("function method")
def ger(input: Tensor, vec2: Tensor) -> Tensor:
    """outer."""
    require_tensor("ger", input)
    return input.outer(vec2)


def _whole(factor: float, like: Tensor) -> Any:
    if like.dtype is minidynamo.bool:
        return factor != 0
    # torch accepts a negative number for unsigned integers, and wraps it.
    info = minidynamo.iinfo(like.dtype)
    if not -max(info.max, -info.min) <= factor <= info.max:
        raise RuntimeError(f"value cannot be converted to type {info.dtype} without overflow")
    return int(factor)


def _scaled_sum(self: Tensor, product: Tensor, beta: float, alpha: float, dtype: Any = None) -> Tensor:
    """beta * self + alpha * product; in `dtype` if the product was computed from widened factors."""
    if dtype is not None and dtype is not product.dtype:
        return _scaled_sum(widened(self)[0], product, beta, alpha).to(minidynamo.promote_types(self.dtype, dtype))
    if not is_inexact(self):
        # Integers stay integers: factors lose their fractions.
        product = product.to(self.dtype)
        alpha, beta = _whole(alpha, self), _whole(beta, self)
    # With beta = 0, NaNs in self are ignored.
    scaled = product if alpha == 1 else product * alpha
    if beta == 0:
        return scaled.expand(minidynamo.broadcast_shapes(self.shape, scaled.shape))
    return (self if beta == 1 else self * beta) + scaled


@in_place()
@composite("function method")
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta * input + alpha * (batch1 @ batch2), for stacks of matrices."""
    if is_autocasting():
        return low_precision(baddbmm, input, batch1, batch2, beta=beta, alpha=alpha)
    require_tensor("baddbmm", input)
    require_held(widened(input)[0].dtype, beta, alpha)
    return _scaled_sum(input, minidynamo.bmm(*widened(batch1, batch2)), beta, alpha, batch1.dtype)


@composite("function method")
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta * input + alpha times the sum of the products of two stacks of matrices."""
    if is_autocasting():
        return low_precision(addbmm, input, batch1, batch2, beta=beta, alpha=alpha)
    require_tensor("addbmm", input)
    return _scaled_sum(input, minidynamo.bmm(*widened(batch1, batch2)).sum(0), beta, alpha, batch1.dtype)


@composite("method")
def addbmm_(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """The in-place form of addbmm. A smaller input takes the sizes of the result, as torch's does."""
    if is_autocasting():
        return as_given(addbmm_, input, batch1, batch2, beta=beta, alpha=alpha)
    result = addbmm(input, batch1, batch2, beta=beta, alpha=alpha)
    if result.shape == input.shape:
        return input.copy_(result)
    input.data = result.to(input.dtype)
    return input


@in_place()
@composite("function method")
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta * input + alpha * (mat @ vec)."""
    require_tensor("addmv", input)
    require_held(input.dtype, beta, alpha)
    return _scaled_sum(input, minidynamo.mv(*widened(mat, vec)), beta, alpha, mat.dtype)


@in_place()
@composite("function method")
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta * input + alpha * outer(vec1, vec2)."""
    for name, tensor in (("input", input), ("vec1", vec1), ("vec2", vec2)):
        require_tensor("addr", tensor, name)
    # 0-d tensors are treated like any other here.
    dtype = minidynamo.promote_types(input.dtype, minidynamo.promote_types(vec1.dtype, vec2.dtype))
    product = minidynamo.outer(vec1.to(dtype), vec2.to(dtype))
    for name, number in (("beta", beta), ("alpha", alpha)):
        if isinstance(number, bool) and dtype is not minidynamo.bool:
            raise RuntimeError(f"Boolean {name} only supported for Boolean results.")
        if isinstance(number, float) and not (dtype.is_floating_point or dtype.is_complex):
            raise RuntimeError(f"For integral input tensors, argument {name} must not be a floating point number.")
    require_held(dtype, beta, alpha)
    if dtype is minidynamo.bool:
        beta, alpha = bool(beta), bool(alpha)
    return _scaled_sum(input.to(dtype), product, beta, alpha)


@composite("function method")
def matrix_power(input: Tensor, n: int) -> Tensor:
    """The n-th power of square matrices; of their inverses if n is negative."""
    require_tensor("matrix_power", input)
    if input.dim() < 2 or input.shape[-1] != input.shape[-2]:
        raise RuntimeError(f"[matrix_power] A must be batches of square matrices; shape {tuple(input.shape)}")
    if n < 0:
        inverse = minidynamo.linalg.inv(input)
        return inverse if n == -1 else matrix_power(inverse, -n)
    power = minidynamo.eye(input.shape[-1], dtype=input.dtype).expand(input.shape)
    if n == 0:
        # Of input, with a slope of 0.
        return input.masked_fill(minidynamo.ones(input.shape, dtype=minidynamo.bool), 0).contiguous() + power
    result: Any
    base, result = input, None
    while n > 0:
        if n % 2 == 1:
            result = base if result is None else result.matmul(base)
        n = n // 2
        if n > 0:
            base = base.matmul(base)
    return result.clone(memory_format=minidynamo.contiguous_format) if result is input else result
