"""torch: what its functions and methods mean, and samples of its tensors, by which their layout is found."""

from __future__ import annotations

import types

from .. import _C
from . import (
    add_module_wrapper,
    conversions,
    torch_autocast,
    torch_backward,
    torch_foreach,
    torch_functions,
    torch_gradients,
    torch_graphs,
    torch_layers,
    torch_operators,
    torch_optimizer_steps,
    torch_optimizers,
    torch_refused_dtypes,
    torch_rewrites,
    torch_stand_ins,
)
from .torch_modules import OptimizedModule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

_FUNCTIONS = (types.BuiltinFunctionType, types.FunctionType)
_METHODS = (types.MethodDescriptorType, types.FunctionType, types.WrapperDescriptorType)


def load(torch: Any) -> str | None:
    """Registers torch's types and functions. Returns why not, if this torch cannot be captured."""
    add_module_wrapper(torch.nn.Module, OptimizedModule)
    why = _C._torch.prepare(torch)
    if why is None:
        with torch.inference_mode():
            _C._torch.note_inference_mode()
            inference = torch.zeros(3, 4)
        kinds = [torch.Tensor, torch.nn.Parameter]
        why = _C._torch.start(list(_samples(torch, inference)), kinds)
    if why is None:
        _register(torch)
    return why


def _samples(torch: Any, inference: Any) -> Iterator[dict[str, Any]]:
    """Tensors whose words differ, with what torch's accessors say of them; the first is an ordinary one."""
    with torch.no_grad():
        yield _facts(torch, torch.zeros(3, 5))
        for rank in range(9):
            yield _facts(torch, torch.zeros(tuple(range(2, 2 + min(rank, 5))) + (1,) * (rank - 5)), writes=rank + 1)
        whole = torch.zeros(400)
        yield _facts(torch, whole.as_strided((2, 3, 5), (60, 20, 3), 7), has_history=True)
        yield _facts(torch, whole.as_strided((2, 3, 1, 5, 2, 1, 3), (60, 20, 7, 3, 1, 1, 2), 11), has_history=True)
        for dtype in _C._dtypes:
            yield _facts(torch, torch.zeros(6, dtype=getattr(torch, dtype)), writes=2)
        yield _facts(torch, torch.nn.Parameter(torch.zeros(4, 2)), writes=3, has_history=True)
        yield _facts(torch, torch.zeros(7, requires_grad=True), has_history=True)
        yield _facts(torch, inference)
        yield _facts(torch, torch._lazy_clone(torch.zeros(5)), is_lazy=True)


def _facts(
    torch: Any, tensor: Any, *, writes: int = 0, has_history: bool = False, is_lazy: bool = False
) -> dict[str, Any]:
    for _ in range(writes):
        tensor.zero_()
    return {
        "tensor": tensor,
        "impl": tensor._cdata,
        "sizes": tuple(tensor.shape),
        "strides": tensor.stride(),
        "offset": tensor.storage_offset(),
        "version": 0 if tensor.is_inference() else tensor._version,
        "keys": torch._C._dispatch_keys(tensor).raw_repr(),
        "data": 0 if is_lazy else tensor.untyped_storage().data_ptr(),
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "has_history": has_history,
        "is_inference": tensor.is_inference(),
        "is_lazy": is_lazy,
    }


# What runs under torch's compilers and transforms: nothing of it, nor of what it calls, is captured.
_LEFT = (
    *("_higher_order_ops/", "_inductor/", "_subclasses/", "_export/", "export/", "_functorch/_aot_autograd/"),
    *("_functorch/apis.py", "_functorch/autograd_function.py", "_functorch/eager_transforms.py"),
    *("_functorch/predispatch.py", "_functorch/pyfunctorch.py", "_functorch/vmap.py"),
)

# Where is_compiling() is false, as in plain code: torch takes other ways while it compiles, some with other results.
_WITHOUT_MARKS = ("nn/", "optim/")
# Where elements are read as numbers: the counters of optimizers.
_WITH_NUMBERS = ("optim/",)


def _register(torch: Any) -> None:
    _C._torch.set_recorder(torch_gradients.record)
    _C._torch.set_freed_recorder(torch_gradients.record_freed)
    _C._torch.find_accumulators(*torch_gradients.accumulators())
    _C._register_call("requires_grad_", torch.Tensor.requires_grad_)
    for path in _WITHOUT_MARKS:
        _C._ignore_marks_in(f"{torch.__path__[0]}/{path}")
    for path in _WITH_NUMBERS:
        _C._capture_numbers_in(f"{torch.__path__[0]}/{path}")
    _C._capture_numbers_in(torch_optimizer_steps.__file__)
    for path in _LEFT:
        _C._leave_files(f"{torch.__path__[0]}/{path}")
    for name, own in torch_stand_ins.RESULTS.items():
        _C._torch.add_results(own, getattr(torch.return_types, name), own._fields)
    # The first meaning of a callable stays: what differs from ours in more than the name comes first.
    add = _add
    modules = (torch_rewrites, torch_optimizers, torch_optimizer_steps, torch_foreach, torch_backward, torch_autocast)
    rewrites = [row for module in modules for row in module.TABLE]
    for row in (*torch_functions.TABLE, *rewrites):
        row.register(torch, add)
    drawing = [*(getattr(torch, name) for name in torch_functions.DRAWN), *torch_rewrites.CALLED]
    for function in drawing:
        add(function, function.__name__, "HostCall")
    for question in (*torch_backward.ASKED, *torch_autocast.ASKED):
        add(question, question.__name__, "Asked")
    for function, blocks in torch_autocast.BLOCKS:
        add(function, function.__name__, "AutocastBlock", blocks)
    add(torch_rewrites.plain_attention, "scaled_dot_product_attention", "StandIn", torch_layers.attention)
    for name, function in torch_rewrites.PLAIN_RECURRENT.items():
        add(function, name, "StandIn", torch_layers.RECURRENT[name])
    for name, function in torch_layers.stand_ins():
        for fused, _ in _found(torch, ("", "_C._nn"), (name,)):
            add(fused, name, "StandIn", function)
    for places, names, meaning in torch_functions.answers():
        for function, name in _found(torch, places, names):
            add(function, name, *meaning)
    for name in ("is_compiling", "is_dynamo_compiling"):
        _C._register_call("is_compiling_for_library", getattr(torch.compiler, name))
    _C._register_call("is_exporting", torch.compiler.is_exporting)
    _register_ops(torch, add)
    _register_composites(torch, add)
    torch_graphs.name_ops(torch)
    torch_operators.register(torch, drawing)
    for method, plain in torch_optimizers.plain_methods(torch):
        _C._mark_call(method, "replaced", plain)
    for fact, name in torch_functions.fact_methods():
        _add_method(torch, add, name, "Fact", fact)
        asked = getattr(torch, name, None)
        if isinstance(asked, types.BuiltinFunctionType):
            add(asked, name, "Fact", fact)
    for name in _C._torch.conversions:
        _add_method(torch, add, name, "Conversion", name)
    add(torch.Size, "Size", "Sizes")
    add(torch.device, "device", "Asked")
    add(torch.Size.numel, "Size.numel", "CountOfSizes")
    _add_method(torch, add, "item", "Element")
    _add_method(torch, add, "tolist", "Elements")
    conversions.register()


def _add(
    callable: Any, name: str, kind: str, operand: Any = None, *, method: bool = False, counts_writes: bool = True
) -> None:
    own = name.rpartition(".")[2]
    layout = torch_functions.LAYOUTS.get(own, "Computed")
    refused, results = torch_refused_dtypes.refused(own, method), torch_refused_dtypes.refused_results(own)
    # In-place forms have torch's mark in their names.
    options = {"layout": layout, "writes_self": own.endswith("_"), "counts_writes": counts_writes}
    options |= {"refused": refused, "refused_results": results}
    _C._torch.add(callable, name, kind, operand, method=method, **options)


def _found(torch: Any, places: Any, names: Any) -> Iterator[tuple[Any, str]]:
    for place in places:
        for name in names:
            value = _at(torch, place, name)
            if value is not None:
                yield value, name


def _at(torch: Any, place: str, name: str) -> Any:
    """torch.place.name; None if this torch has none."""
    for part in filter(None, place.split(".")):
        torch = getattr(torch, part, None)
    return getattr(torch, name, None)


def _add_method(torch: Any, add: Callable[..., None], name: str, kind: str, operand: Any = None) -> None:
    method = getattr(torch.Tensor, name, None)
    if isinstance(method, _METHODS):
        add(method, name, kind, operand, method=True)


def _register_ops(torch: Any, add: Callable[..., None]) -> None:
    """The rows of the op table, by their names at the same places."""
    for row in _C._op_rows():
        own = row["name"].split(".")[0]
        if own in torch_functions.OTHER_MEANINGS:
            continue
        for name in (own, *torch_functions.ALIASES.get(own, "").split()):
            _register_op(torch, add, row, name)


def _register_op(torch: Any, add: Callable[..., None], row: dict[str, Any], name: str) -> None:
    for place in (torch, torch._C._nn, torch._C._linalg, torch._C._special, torch.nn.functional):
        function = getattr(place, name, None)
        # Functions of nn.functional in Python have parameters of their own (`inplace`), and are inlined.
        if place is torch.nn.functional and isinstance(function, types.FunctionType):
            continue
        if isinstance(function, _FUNCTIONS) and (row["function"] or row["functional"]):
            add(function, name, "Op", row["name"])
    if row["method"]:
        _add_method(torch, add, name, "Op", row["name"])
    if row["in_place"]:
        _add_method(torch, add, f"{name}_", "InPlaceOp", row["name"])
        function = getattr(torch, f"{name}_", None)
        if isinstance(function, _FUNCTIONS):
            add(function, f"{name}_", "InPlaceOp", row["name"])


def _register_composites(torch: Any, add: Callable[..., None]) -> None:
    """Our functions made of others in the place of torch's with the same name."""
    for place, name, ours in torch_functions.composites():
        if name in torch_functions.OTHER_MEANINGS:
            continue
        theirs = _at(torch, place, name)
        if place == "Tensor":
            if isinstance(theirs, _METHODS):
                add(theirs, name, "StandIn", ours, method=True)
        elif isinstance(theirs, _FUNCTIONS):
            add(theirs, name, "StandIn", ours)
