"""Gradients of functions as functions: grad, vjp, jvp, Jacobians and Hessians, which may be nested.

Each call passes the function tensors of its own over the elements of its arguments, so that what a closure holds is
constant to it. A result has a history only with respect to what requires gradients outside of the call.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

import minidynamo

from .. import _C
from .._C import Tensor
from ..autograd.engine import grad as _autograd_grad
from ..utils import _pytree as pytree

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_Argnums = int | tuple[int, ...]


class _Level:
    """One call: its own tensors over those of the arguments, and whether results have a history."""

    def __init__(self) -> None:
        self.outside_records = minidynamo.is_grad_enabled()
        self.variables: list[Tensor] = []
        self.leaves: list[Tensor] = []
        self.records = False

    def _variable(self, value: Any) -> Tensor:
        if not isinstance(value, Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(value)}")
        if self.outside_records and value.requires_grad:
            variable = value.view_as(value)
        else:
            variable = value.detach().requires_grad_()
            self.leaves.append(variable)
        self.variables.append(variable)
        return variable

    def enter(self, tree: Any) -> Any:
        with minidynamo.enable_grad():
            return pytree.tree_map(self._variable, tree)

    def note(self, *tensors: Tensor) -> None:
        """Results record if one of these depends on something outside."""
        if self.outside_records and not self.records:
            self.records = _C._depends_on_others([each for each in tensors if each.requires_grad], self.leaves)

    def leave(self, tree: Any) -> Any:
        def left(value: Any) -> Tensor:
            if not isinstance(value, Tensor):
                raise RuntimeError(f"Expected tensors, got unsupported type {type(value)}")
            depends = value.requires_grad and self.outside_records and _C._depends_on_others([value], self.leaves)
            return value if depends or not value.requires_grad else value.detach()

        return pytree.tree_map(left, tree)

    def gradients(self, outputs: Sequence[Tensor], starts: Any, **options: Any) -> tuple[Tensor, ...]:
        """Of the outputs that depend on something, zeros where nothing flows."""
        pairs = [(output, start) for output, start in zip(outputs, starts) if output.requires_grad]
        if not pairs:
            return tuple([minidynamo.zeros_like(each) for each in self.variables])
        roots, given = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        return _autograd_grad(roots, self.variables, given, materialize_grads=True, **options)


def _wrapped_argnum(argnum: Any, count: int) -> int:
    if not isinstance(argnum, int):
        raise RuntimeError(f"argnum must be int, got: {type(argnum)}")
    if -count <= argnum < count:
        return argnum % count
    raise RuntimeError(f"Got argnum={argnum}, but only {count} positional inputs")


def _checked_argnums(argnums: Any, count: int) -> _Argnums:
    if isinstance(argnums, int):
        return _wrapped_argnum(argnums, count)
    if not isinstance(argnums, tuple):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    wrapped = tuple([_wrapped_argnum(each, count) for each in argnums])
    if not wrapped:
        raise RuntimeError("argnums must be non-empty")
    if len(set(wrapped)) != len(wrapped):
        raise RuntimeError(f"argnums elements must be unique, got {wrapped}")
    return wrapped


def _chosen(args: tuple[Any, ...], argnums: Any) -> Any:
    """The argument of one number, a tuple of those of several."""
    checked = _checked_argnums(argnums, len(args))
    return args[checked] if isinstance(checked, int) else tuple([args[each] for each in checked])


def _replaced(args: tuple[Any, ...], argnums: Any, values: Any) -> tuple[Any, ...]:
    checked = _checked_argnums(argnums, len(args))
    if isinstance(checked, int):
        checked, values = (checked,), (values,)
    by_place = dict(zip(checked, values))
    return tuple([by_place.get(place, each) for place, each in enumerate(args)])


def _split_aux(output: Any, has_aux: bool, caller: str) -> tuple[Any, Any]:
    if not has_aux:
        return output, None
    if not (isinstance(output, tuple) and len(output) == 2):
        raise RuntimeError(f"{caller}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return output


def grad_and_value(
    func: Callable[..., Any], argnums: _Argnums = 0, has_aux: bool = False
) -> Callable[..., tuple[Any, Any]]:
    """A function that returns (the gradients of func, its value), or (gradients, (value, aux)) where func gives (value,
    aux).

    func's value is a tensor without dims. Gradients have the structure of the argument that `argnums` names, or are a
    tuple of those of several. Raises RuntimeError for a value of another kind and for an argnum that is not there.
    """

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        level = _Level()
        own = level.enter(_chosen(args, argnums))
        with minidynamo.enable_grad():
            output = func(*_replaced(args, argnums, own), **kwargs)
            value, aux = _split_aux(output, has_aux, "grad_and_value(f)(*args)")
            _check_scalar(value)
            level.note(value)
            found = level.gradients([value], [None], create_graph=level.records)
        gradients = level.leave(pytree.tree_unflatten(found, pytree.tree_structure(own)))
        if has_aux:
            return gradients, (level.leave(value), level.leave(aux))
        return gradients, level.leave(value)

    return wrapper


def _check_scalar(value: Any) -> None:
    if not isinstance(value, Tensor):
        raise RuntimeError(f"grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {type(value)}")
    if value.dim() != 0:
        raise RuntimeError(
            "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with"
            f" {value.dim()} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
        )


def grad(func: Callable[..., Any], argnums: _Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that returns the gradients of func, or (gradients, aux) where func gives (value, aux). See
    grad_and_value."""
    with_value = grad_and_value(func, argnums, has_aux)

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        gradients, rest = with_value(*args, **kwargs)
        return (gradients, rest[1]) if has_aux else gradients

    return wrapper


def _check_outputs(outputs: list[Any], caller: str, shown: str) -> None:
    if not outputs or (len(outputs) == 1 and outputs[0] is None):
        raise RuntimeError(f"{shown}: Expected f to be a function that has non-empty output (got output = {outputs})")
    for output in outputs:
        if not isinstance(output, Tensor):
            raise RuntimeError(
                f"{shown}: expected {caller} to return only tensors, got unsupported type {type(output)}"
            )


def _spec_text(spec: pytree.TreeSpec) -> str:
    class Star:
        def __repr__(self) -> str:
            return "*"

    return repr(pytree.tree_unflatten([Star() for _ in range(spec.num_leaves)], spec))


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """(func(*primals), a function of cotangents), and aux as a third where func gives (output, aux).

    The function takes cotangents in the structure of the output and gives a tuple of gradients, one for each of the
    primals.
    """
    level = _Level()
    own = level.enter(primals)
    with minidynamo.enable_grad():
        output, aux = _split_aux(func(*own), has_aux, "vjp(f, *primals)")
        outputs, spec = pytree.tree_flatten(output)
        _check_outputs(outputs, "f(*primals)", "vjp(f, *primals)")
        for each in outputs:
            if not (each.dtype.is_floating_point or each.dtype.is_complex):
                raise RuntimeError(
                    "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype"
                    f" {each.dtype}"
                )
        level.note(*outputs)
    structure = pytree.tree_structure(own)

    def vjp_fn(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        given, given_spec = pytree.tree_flatten(cotangents)
        if given_spec != spec:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function."
                f" cotangents: {_spec_text(given_spec)}, primal output: {_spec_text(spec)}"
            )
        level.outside_records = minidynamo.is_grad_enabled() if create_graph is None else create_graph
        level.note(*given)
        found = level.gradients(outputs, given, retain_graph=retain_graph, create_graph=level.records)
        return level.leave(pytree.tree_unflatten(found, structure))

    left = level.leave(output)
    return (left, vjp_fn, level.leave(aux)) if has_aux else (left, vjp_fn)


_JVP = "jvp(f, primals, tangents)"


def _check_tangents(primals: Any, tangents: Any) -> tuple[list[Tensor], list[Tensor]]:
    if not isinstance(primals, tuple):
        raise RuntimeError(f"{_JVP}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    flat, spec = pytree.tree_flatten(primals)
    given, given_spec = pytree.tree_flatten(tangents)
    if spec != given_spec:
        raise RuntimeError(
            f"{_JVP}: Expected primals and tangents to have the same python structure. For example, if primals is a"
            " tuple of 3"
            f" tensors, tangents also must be. Got primals with structure {spec} and tangents with structure"
            f" {given_spec}"
        )
    for what, values in (("primals", flat), ("tangents", given)):
        if not values:
            raise RuntimeError(f"{_JVP}: Expected {what} to contain at least one Tensor.")
        for each in values:
            if not isinstance(each, Tensor):
                raise RuntimeError(f"{_JVP}: Expected {what} to only contain Tensors, got {type(each)}")
    return flat, given


def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """(func(*primals), the derivative along the tangents), and aux as a third where func gives (output, aux). By two
    backwards.

    Raises RuntimeError if the structures of primals and tangents differ, and, with `strict`, for an independent output.
    """
    _, given = _check_tangents(primals, tangents)
    level = _Level()
    own = level.enter(primals)
    with minidynamo.enable_grad():
        output, aux = _split_aux(func(*own), has_aux, _JVP)
        outputs, spec = pytree.tree_flatten(output)
        _check_outputs(outputs, "f(*primals)", _JVP)
        level.note(*outputs, *given)
        moved = _along(level, outputs, given, strict)
    left = level.leave(output)
    along = level.leave(pytree.tree_unflatten(moved, spec))
    return (left, along, level.leave(aux)) if has_aux else (left, along)


def _along(level: _Level, outputs: list[Tensor], tangents: list[Tensor], strict: bool) -> list[Tensor]:
    """The derivatives of outputs along the tangents of the level's variables."""
    if strict and not all(_depends(output, level) for output in outputs):
        raise RuntimeError(
            "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not"
            " allowed with"
            " strict=True."
        )
    starts = [minidynamo.zeros_like(each, requires_grad=True) for each in outputs]
    slopes = level.gradients(outputs, starts, create_graph=True, retain_graph=True)
    pairs = [(slope, tangent) for slope, tangent in zip(slopes, tangents) if slope.requires_grad]
    if not pairs:
        return [minidynamo.zeros_like(each) for each in outputs]
    roots, given = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    return list(
        _autograd_grad(roots, starts, given, materialize_grads=True, create_graph=level.records, retain_graph=True)
    )


def _depends(output: Tensor, level: _Level) -> bool:
    if not output.requires_grad:
        return False
    found = _autograd_grad(output, level.variables, minidynamo.ones_like(output), retain_graph=True, allow_unused=True)
    return any(each is not None for each in found)


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """(func(*primals), a function of tangents that returns the derivative along them); func runs once."""
    level = _Level()
    own = level.enter(primals)
    with minidynamo.enable_grad():
        output = func(*own)
        outputs, spec = pytree.tree_flatten(output)
        _check_outputs(outputs, "f(*primals)", "linearize(f, *primals)")
        level.note(*outputs)

    def jvp_fn(*tangents: Any) -> Any:
        _, given = _check_tangents(primals, tangents)
        with minidynamo.enable_grad():
            return level.leave(pytree.tree_unflatten(_along(level, outputs, given, False), spec))

    return level.leave(output), jvp_fn


def _check_real(caller: str, values: Any, what: str) -> None:
    for index, each in enumerate(pytree.tree_leaves(values)):
        if isinstance(each, Tensor) and each.dtype.is_complex:
            raise RuntimeError(
                f"{caller}: Expected all {what} to be real but received complex tensor at flattened input idx: {index}"
            )


def _jacobian_of(
    func: Callable[..., Any], argnums: _Argnums, has_aux: bool, caller: str, shown: str
) -> Callable[..., Any]:
    @wraps(func)
    def wrapper(*args: Any) -> Any:
        _check_real(caller, args, "inputs")
        level = _Level()
        own = level.enter(_chosen(args, argnums))
        with minidynamo.enable_grad():
            output, aux = _split_aux(func(*_replaced(args, argnums, own)), has_aux, shown)
            outputs, spec = pytree.tree_flatten(output)
            _check_outputs(outputs, "f(*primals)", shown)
            _check_real(caller, outputs, "outputs")
            level.note(*outputs)
            structure = pytree.tree_structure(own)
            blocks = [pytree.tree_unflatten(_blocks(level, each), structure) for each in outputs]
        found = level.leave(pytree.tree_unflatten(blocks, spec))
        return (found, level.leave(aux)) if has_aux else found

    return wrapper


def _blocks(level: _Level, output: Tensor) -> list[Tensor]:
    """The derivatives of one output with respect to each variable, by a backward for each element."""
    elements = output.reshape(-1)
    rows = [
        level.gradients([elements[place]], [None], create_graph=level.records, retain_graph=True)
        for place in range(output.numel())
    ]
    if not rows:
        return [each.new_zeros(output.shape + each.shape) for each in level.variables]
    return [
        minidynamo.stack(list(column)).reshape(output.shape + each.shape)
        for column, each in zip(zip(*rows), level.variables)
    ]


def jacrev(
    func: Callable[..., Any],
    argnums: _Argnums = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:
    """A function that returns the derivatives of func's outputs: of shape output.shape + argument.shape, in the
    structure of the outputs, in each of them in that of the arguments. With `has_aux` (derivatives, aux). One backward
    for each element."""
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")
    return _jacobian_of(func, argnums, has_aux, "jacrev", "vjp(f, *primals)")


def jacfwd(
    func: Callable[..., Any],
    argnums: _Argnums = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """As jacrev, which it is computed as."""
    return _jacobian_of(func, argnums, has_aux, "jacfwd", _JVP)


def hessian(func: Callable[..., Any], argnums: _Argnums = 0) -> Callable[..., Any]:
    """A function that returns the second derivatives of func: jacfwd(jacrev(func))."""
    return jacfwd(jacrev(func, argnums), argnums)
