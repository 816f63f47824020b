"""custom_op(): an operator with a kernel in Python, opaque to capture."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar, overload

import minidynamo

from .. import _C
from .._dynamo.decorators import disable
from .._dynamo.traced_calls import CannotCapture, flatten, unflatten
from .aten import AtenOperators
from .operator_gradients import apply_with_history
from .schema import Schema, schema_of
from .schema_text import annotation_of, annotation_of_results, parts_of

_Function = TypeVar("_Function", bound=Callable[..., Any])


class _Namespaces:
    """minidynamo.ops: operators by namespace and name."""

    aten: AtenOperators
    prims: _Namespace

    def load_library(self, path: str) -> None:
        """Raises OSError: a library of operators is compiled for torch."""
        raise OSError(
            f"{path}: a library compiled for torch cannot be loaded by minidynamo; define its operators with "
            "library.custom_op"
        )

    def __getattr__(self, name: str) -> _Namespace:
        if name.startswith("__"):
            raise AttributeError(name)
        # An attribute from now on, as in torch: what is missing is the operator.
        found = self.__dict__[name] = _Namespace(name)
        return found


class _Namespace:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"'_OpNamespace' '{self._name}' object has no attribute '{name}'")


ops = _Namespaces()
minidynamo.ops = ops  # an ordinary attribute: capture reads it
ops.aten = AtenOperators()
ops.prims = _Namespace("prims")
ops.prims.__dict__.update(_C._prims)  # the operations that occur only in graphs
_OPERATORS: dict[str, CustomOpDef] = {}
# Fakes that were registered before their operators, by qualified name.
_EARLY_FAKES: dict[str, Callable[..., Any]] = {}


class CustomOpDef:
    """An operator; called like the function that it was created from."""

    def __init__(
        self,
        namespace: str,
        name: str,
        schema: Schema,
        function: Callable[..., Any],
        mutates_args: str | Iterable[str],
        device_types: Iterable[str] | None,
    ) -> None:
        self._namespace = namespace
        self._name = name
        self._qualname = f"{namespace}::{name}"
        self._schema = schema
        self._signature = inspect.signature(function)
        self._init_fn = function
        self._mutates = [parameter.name for parameter in schema.parameters if parameter.mutated]
        # A kernel is opaque: it is not captured, not even where the operator breaks the graph.
        self._kernels = {device: disable(function) for device in device_types or ("default",)}
        self._fake: Callable[..., Any] | None = None
        self._autograd: tuple[Callable[..., Any], Callable[..., Any] | None] | None = None
        self._disabled: set[str] = set()  # devices whose own kernels are not used
        self.__name__ = name
        self.__doc__ = function.__doc__
        self.__module__ = function.__module__

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        arguments = self._bind(args, kwargs)
        tensors = flatten(arguments)[1]
        if any(map(_C._is_recording, tensors)):
            return self._record(arguments)
        if any(map(_C._is_fake, tensors)):
            for tensor in self._written(arguments):
                _C._note_written(tensor)
            return self._call_fake(arguments)
        if self._keeps_history(tensors):
            result = apply_with_history(self, arguments)
        else:
            # Our only frame between the caller and the kernel, here and in captured code.
            result = self._kernel()(**arguments)
        self._finish(result, tensors, self._written(arguments))
        return result

    # ---- registration

    def register_fake(self, fn: _Function, /) -> _Function:
        """fn(*args) returns tensors with the dtypes and shapes of the results; it receives tensors without data."""
        if not callable(fn):
            raise TypeError(f"register_fake(): a function is expected, not {type(fn).__name__}")
        self._fake = fn
        return fn

    @overload
    def register_kernel(self, device_types: str | Iterable[str] | None, fn: _Function, /) -> _Function: ...
    @overload
    def register_kernel(
        self, device_types: str | Iterable[str] | None, fn: None = None, /
    ) -> Callable[[_Function], _Function]: ...
    def register_kernel(self, device_types: str | Iterable[str] | None, fn: Any = None, /) -> Any:
        """Registers another kernel for a device type, None for all; also a decorator."""
        if fn is None:
            return lambda function: self.register_kernel(device_types, function)
        if isinstance(device_types, str):
            device_types = [device_types]
        for device in device_types or ["default"]:
            self._kernels[_device_type(device)] = disable(fn)
        return fn

    def register_autograd(
        self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None
    ) -> None:
        """backward(ctx, *gradients of results) returns a gradient or None for each argument, a list for a list.

        setup_context(ctx, inputs, output) runs behind the operator and saves on ctx what backward needs, as in
        autograd.Function. Without a backward, differentiating a result raises RuntimeError.
        """
        for what, function in (("backward", backward), ("setup_context", setup_context)):
            if not callable(function) and not (what == "setup_context" and function is None):
                raise TypeError(f"register_autograd(): {what} must be a function, not {type(function).__name__}")
        self._autograd = backward, setup_context

    @contextlib.contextmanager
    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> Iterator[None]:
        """Within the block the kernel of this device type is used, or the one for all devices in its place."""
        before = set(self._disabled)
        (self._disabled.discard if enabled else self._disabled.add)(_device_type(device_type))
        try:
            yield
        finally:
            self._disabled = before

    @property
    def default(self) -> CustomOpDef:
        """The operator itself: there are no overloads."""
        return self

    # ---- calls

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self._qualname}() {error}") from None
        bound.apply_defaults()
        for position, parameter in enumerate(self._schema.parameters):
            value = bound.arguments[parameter.name]
            if not parameter.accepts(value):
                raise RuntimeError(
                    f"{self._qualname}() Expected a value of type '{parameter.text}' for argument '{parameter.name}' "
                    f"but instead found type '{type(value).__name__}'.\n"
                    f"Position: {position}\nValue: {value!r}\nDeclaration: {self._qualname}{self._schema}"
                )
        return dict(bound.arguments)

    def _check_result(self, result: Any, inputs: Iterable[_C.Tensor]) -> None:
        returns = self._schema.returns
        values = () if not returns else result if len(returns) > 1 or returns == ["Tensor[]"] else (result,)
        if not returns and result is not None:
            raise RuntimeError(f"{self._qualname}: the schema has no result, but {type(result).__name__} was returned")
        if not isinstance(values, (tuple, list)) or returns != ["Tensor[]"] and len(values) != len(returns):
            raise RuntimeError(
                f"{self._qualname}: the schema {self._schema} has {len(returns)} results, but the operator returned "
                f"{type(result).__name__}"
            )
        for number, value in enumerate(values):
            kind = "Tensor" if returns == ["Tensor[]"] else returns[number]
            if kind == "Tensor" and not isinstance(value, _C.Tensor):
                raise RuntimeError(
                    f"{self._qualname}: result {number} must be a Tensor as {self._schema} says, not "
                    f"{type(value).__name__}"
                )
            for other in (*inputs, *values[:number]):
                if _C._shares_storage(value, other):
                    raise RuntimeError(
                        f"{self._qualname} (with implementation in {self.__module__}): The output of this custom "
                        "operator (1) must not also be an input to this custom operator and (2) may not alias any "
                        "inputs to this custom operator or other returns. Return a clone() of the tensor instead."
                    )

    def _kernel(self) -> Callable[..., Any]:
        own = None if "cpu" in self._disabled else self._kernels.get("cpu")
        kernel = own or self._kernels.get("default")
        if kernel is None:
            raise NotImplementedError(f"{self._qualname}: there is no kernel for the device 'cpu'")
        return kernel

    def _keeps_history(self, tensors: Iterable[_C.Tensor]) -> bool:
        requires_grad = any([tensor.requires_grad for tensor in tensors])  # noqa: C419  a frame less
        return minidynamo.is_grad_enabled() and not self._mutates and requires_grad

    def _written(self, arguments: dict[str, Any]) -> list[_C.Tensor]:
        return flatten([arguments[name] for name in self._mutates])[1]

    def _finish(self, result: Any, tensors: Iterable[_C.Tensor], written: Iterable[_C.Tensor]) -> None:
        for tensor in written:
            _C._note_written(tensor)
        self._check_result(result, tensors)

    def _needs_fake(self) -> bool:
        # Without results no fake is needed.
        return self._fake is None and bool(self._schema.returns or not self._mutates)

    def _call_fake(self, arguments: dict[str, Any]) -> Any:
        if self._fake is not None:
            return _C._call_serving(self._fake, **arguments)
        if self._needs_fake():
            raise RuntimeError(f"There was no fake impl registered for {self!r}. Add one with register_fake.")
        return None

    # ---- capture

    def _trace(self, *args: Any, **kwargs: Any) -> Any:
        """Called by capture in place of the operator, on recording tensors."""
        return self._record(self._bind(args, kwargs))

    def _record(self, arguments: dict[str, Any]) -> Any:
        template, tensors = flatten(arguments)
        if any(not kind.startswith("Tensor") for kind in self._schema.returns):
            raise CannotCapture("traced_call", f"{self._qualname} returns something else than tensors")
        if self._needs_fake():
            raise CannotCapture("missing_fake", f"there was no fake impl registered for {self!r}")
        try:
            result = self._call_fake(unflatten(template, [_C._fake_of(tensor) for tensor in tensors]))
        except Exception as error:
            raise CannotCapture(
                "traced_call", f"the fake of {self._qualname} raised {type(error).__name__}: {error}"
            ) from error
        result_template, fakes = flatten(result)
        self._check_result(result, ())
        self._kernel()
        written = [_position(tensors, tensor) for tensor in self._written(arguments)]

        def run(*tensors: _C.Tensor) -> tuple[_C.Tensor, ...]:
            if self._keeps_history(tensors):
                result = apply_with_history(self, unflatten(template, tensors))
            else:
                result = self._kernel()(**unflatten(template, tensors))
            self._finish(result, tensors, ())
            return tuple(flatten(result)[1])

        return unflatten(result_template, _C._record_call_out(self._qualname, run, tensors, fakes, written))


def _position(tensors: list[_C.Tensor], tensor: _C.Tensor) -> int:
    return next(i for i, each in enumerate(tensors) if each is tensor)


@overload
def custom_op(
    name: str,
    fn: Callable[..., Any],
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Iterable[str] | None = None,
    schema: str | None = None,
    tags: object = None,
) -> CustomOpDef: ...
@overload
def custom_op(
    name: str,
    fn: None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Iterable[str] | None = None,
    schema: str | None = None,
    tags: object = None,
) -> Callable[[Callable[..., Any]], CustomOpDef]: ...
def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Iterable[str] | None = None,
    schema: str | None = None,
    tags: object = None,
) -> CustomOpDef | Callable[[Callable[..., Any]], CustomOpDef]:
    """Creates an operator "namespace::name" from a function of tensors, numbers and strings; also a decorator.

    mutates_args  names of the tensor parameters that the function writes to, or "unknown": all of them
    device_types  the devices that the function is for, such as "cpu"; None: all
    schema        replaces the annotations: "(Tensor x, int n) -> Tensor"
    Raises ValueError for a bad name or schema. The same name again replaces the operator.
    """
    if not isinstance(name, str) or name.count("::") != 1 or not all(name.split("::")):
        raise ValueError(f"custom_op(): the name must be 'namespace::name', not {name!r}")

    def make(function: Callable[..., Any]) -> CustomOpDef:
        found = schema_of(function, mutates_args) if schema is None else _given_schema(function, schema, mutates_args)
        namespace, short = name.split("::")
        devices = [device_types] if isinstance(device_types, str) else device_types
        operator = CustomOpDef(namespace, short, found, function, mutates_args, devices and map(_device_type, devices))
        defined(operator)
        return operator

    return make if fn is None else make(fn)


def defined(operator: CustomOpDef) -> None:
    """Enters an operator under its name, here and in minidynamo.ops."""
    name = operator._qualname
    _OPERATORS[name] = operator
    if name in _EARLY_FAKES:
        operator.register_fake(_EARLY_FAKES.pop(name))
    namespace, short = name.split("::")
    ops.__dict__.setdefault(namespace, _Namespace(namespace)).__dict__[short] = operator
    if _C.frame_evaluation:
        _C._mark_new_call(operator, "traced", operator._trace)


def _given_schema(function: Callable[..., Any], text: str, mutates_args: str | Iterable[str]) -> Schema:
    """The parameters' types by name, from the text of a schema."""
    arguments, arrow, returns = text[text.find("(") :].partition("->")
    if not arrow:
        raise ValueError(f"custom_op(): the schema {text!r} has no '->'")
    hints = {}
    for part in parts_of(arguments.strip().strip("()")):
        if part != "*":
            word, _, parameter = part.partition(" ")
            hints[parameter.partition("=")[0].strip()] = annotation_of(word)
    hints["return"] = annotation_of_results(returns)

    def prototype(*args: object, **kwargs: object) -> None: ...

    signature = inspect.signature(function)
    prototype.__signature__ = signature  # type: ignore[attr-defined]  # inspect reads it
    prototype.__annotations__ = hints
    if set(hints) - {"return"} != set(signature.parameters):
        raise ValueError(f"custom_op(): the schema {text!r} does not have the parameters of the function")
    return schema_of(prototype, mutates_args)


@overload
def register_fake(
    op: CustomOpDef | str, func: _Function, /, *, lib: object = None, allow_override: bool = True
) -> _Function: ...
@overload
def register_fake(
    op: CustomOpDef | str, func: None = None, /, *, lib: object = None, allow_override: bool = True
) -> Callable[[_Function], _Function]: ...
def register_fake(
    op: CustomOpDef | str, func: Any = None, /, *, lib: object = None, allow_override: bool = True
) -> Any:
    """operator.register_fake by the operator or its name; also a decorator.

    A fake of a name that is not defined is kept, and registered when custom_op() defines it.
    """
    if isinstance(op, str) and op not in _OPERATORS:
        if func is None:
            return lambda function: _register_early(op, function)
        return _register_early(op, func)
    operator = _operator(op)
    if func is None:
        return operator.register_fake
    return operator.register_fake(func)


def _register_early(name: str, function: _Function) -> _Function:
    namespace, separator, short = name.partition("::")
    if not (namespace and separator and short):
        raise ValueError(f"Expected an operator's name with one '::', as namespace::name, not {name!r}")
    _EARLY_FAKES[name] = function
    return function


@overload
def register_kernel(
    op: CustomOpDef | str, device_types: str | Iterable[str] | None, func: _Function, /, *, lib: object = None
) -> _Function: ...
@overload
def register_kernel(
    op: CustomOpDef | str, device_types: str | Iterable[str] | None, func: None = None, /, *, lib: object = None
) -> Callable[[_Function], _Function]: ...
def register_kernel(
    op: CustomOpDef | str, device_types: str | Iterable[str] | None, func: Any = None, /, *, lib: object = None
) -> Any:
    """operator.register_kernel by the operator or its name; also a decorator."""
    return _operator(op).register_kernel(device_types, func)


def register_autograd(
    op: CustomOpDef | str,
    backward: Callable[..., Any],
    /,
    *,
    setup_context: Callable[..., Any] | None = None,
    lib: object = None,
) -> None:
    """operator.register_autograd by the operator or its name."""
    _operator(op).register_autograd(backward, setup_context=setup_context)


def _operator(op: CustomOpDef | str) -> CustomOpDef:
    if isinstance(op, CustomOpDef):
        return op
    if op not in _OPERATORS:
        raise RuntimeError(f"there is no custom operator {op!r}")
    return _OPERATORS[op]


def _device_type(name: str) -> str:
    if name not in ("cpu", "default", "cuda", "xpu", "mps"):
        raise ValueError(f"unknown device type {name!r}")
    return name
