"""Functions that capture calls once, on recording tensors, instead of tracing their code.

Each operation on a recording tensor becomes a node of the graph. Opaque functions become one node that calls them.
"""

from __future__ import annotations

from .. import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any


class CannotCapture(Exception):
    """Ends the captured region at the call; `reason` is the name of a row of graph_breaks.def."""

    def __init__(self, reason: str, context: str) -> None:
        super().__init__(reason, context)
        self.reason = reason
        self.context = context


def call_nonstrict(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """The function called by nonstrict_trace(function); capture calls trace_nonstrict in its place."""
    return function(*args, **kwargs)


def trace_nonstrict(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    name = getattr(function, "__qualname__", type(function).__name__)
    version = _C._random_version()
    try:
        result = function(*args, **kwargs)
    except CannotCapture:
        raise
    except Exception as error:
        raise CannotCapture("traced_call", f"{name} raised {type(error).__name__}: {error}") from error
    if _C._random_version() != version:
        raise CannotCapture("traced_call", f"{name} draws random numbers that no argument has a part in")
    return result


def trace_opaque(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """One node for a function under allow_in_graph: its results are determined by running it on fake tensors.

    A result that is an argument, or a view of one or of another result, is that view of it in the graph too.
    """
    name = getattr(function, "__name__", type(function).__name__)
    template, tensors = flatten((args, kwargs))
    given = [_C._fake_of(tensor) for tensor in tensors]
    views = _C._FakeViews()
    try:
        fake_args, fake_kwargs = unflatten(template, given)
        result = views.watch(function, *fake_args, **fake_kwargs)
    except Exception as error:
        raise CannotCapture("traced_call", f"{name} raised {type(error).__name__} on fakes: {error}") from error
    result_template, fakes = flatten(result)
    if not all(map(_C._is_fake, fakes)):
        raise CannotCapture("traced_call", f"{name} returns a tensor that it has not made of its arguments")
    origins = _Origins(views, given, fakes)

    def run(*tensors: _C.Tensor) -> tuple[_C.Tensor, ...]:
        args, kwargs = unflatten(template, tensors)
        results = flatten(function(*args, **kwargs))[1]
        if len(results) != len(fakes):
            raise RuntimeError(f"{name} returned {len(results)} tensors, but {len(fakes)} on tensors without data")
        made = origins.made(results)
        for number, viewed in enumerate(origins.views_of(tensors, made)):
            if viewed is not results[number] and not _C._is_one_window(viewed, results[number]):
                raise RuntimeError(f"{name}: result {number} is another view than on tensors without data")
        return tuple(made)

    written = [position for position, fake in enumerate(given) if views.is_written(fake)]
    made = _C._record_call_out(name, run, tensors, origins.made_fakes, written)
    return unflatten(result_template, origins.views_of(tensors, made))


class _Origins:
    """The aliasing of a function's results: each is (a view of) an argument or a tensor created by the function."""

    def __init__(self, views: _C._FakeViews, given: list[_C.Tensor], fakes: list[_C.Tensor]) -> None:
        self.made_fakes: list[_C.Tensor] = []
        # By created tensor: the result that it is, or a view of it and its own sizes and strides.
        self._direct: list[tuple[int, tuple[_C.Size, tuple[int, ...]] | None]] = []
        # For each result: of an argument?, the index among arguments or created tensors, views.
        self._origins: list[tuple[bool, int, _C._Views]] = []
        places = {views.root(fake): (True, position) for position, fake in enumerate(given)}
        for number, fake in enumerate(fakes):
            if not views.views(fake) and views.root(fake) not in places:
                places[views.root(fake)] = False, len(self.made_fakes)
                self.made_fakes.append(fake)
                self._direct.append((number, None))
        for number, fake in enumerate(fakes):
            if views.root(fake) not in places:
                places[views.root(fake)] = False, len(self.made_fakes)
                base = views.root_tensor(fake)
                self.made_fakes.append(base)
                self._direct.append((number, (base.shape, base.stride())))
            self._origins.append((*places[views.root(fake)], views.views(fake)))

    def made(self, results: list[_C.Tensor]) -> list[_C.Tensor]:
        """The tensors created by a run; one that is not a result itself shares memory with one that is."""
        return [
            results[number] if window is None else results[number].as_strided(*window, 0)
            for number, window in self._direct
        ]

    def views_of(self, tensors: Sequence[_C.Tensor], made: list[_C.Tensor]) -> list[_C.Tensor]:
        return [views.of((tensors if given else made)[position]) for given, position, views in self._origins]


class _Leaf:
    """Placeholder for the tensor of this number in a template."""

    def __init__(self, index: int) -> None:
        self.index = index


def flatten(value: Any, kind: type = _C.Tensor) -> tuple[Any, list[Any]]:
    """(template, tensors) of nested lists, tuples and dicts, without duplicate tensors."""
    tensors: list[Any] = []
    leaves: dict[int, _Leaf] = {}

    def replace(value: Any) -> Any:
        if isinstance(value, kind):
            if id(value) not in leaves:
                leaves[id(value)] = _Leaf(len(tensors))
                tensors.append(value)
            return leaves[id(value)]
        if type(value) in (list, tuple):
            return type(value)(map(replace, value))
        if type(value) is dict:
            return {key: replace(item) for key, item in value.items()}
        return value

    return replace(value), tensors


def unflatten(template: Any, tensors: Sequence[Any]) -> Any:
    if isinstance(template, _Leaf):
        return tensors[template.index]
    if type(template) in (list, tuple):
        return type(template)(unflatten(item, tensors) for item in template)
    if type(template) is dict:
        return {key: unflatten(item, tensors) for key, item in template.items()}
    return template
