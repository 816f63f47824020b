"""Functions that capture calls once, on recording tensors, instead of following their code.

Each operation on a recording tensor becomes a node of the graph. Opaque functions become one node that calls them.
"""

from .. import _C


class CannotCapture(Exception):
    """Ends the captured region at the call; `reason` is the name of a row of graph_breaks.def."""

    def __init__(self, reason, context):
        super().__init__(reason, context)
        self.reason = reason
        self.context = context


def call_nonstrict(function, /, *args, **kwargs):
    """What nonstrict_trace(function) calls; capture calls trace_nonstrict in its place."""
    return function(*args, **kwargs)


def trace_nonstrict(function, /, *args, **kwargs):
    name = getattr(function, "__qualname__", type(function).__name__)
    position = _C._random_position()
    try:
        result = function(*args, **kwargs)
    except CannotCapture:
        raise
    except Exception as error:
        raise CannotCapture("traced_call", f"{name} raised {type(error).__name__}: {error}") from error
    if _C._random_position() != position:
        raise CannotCapture("traced_call", f"{name} draws random numbers that no argument has a part in")
    return result


def trace_opaque(function, /, *args, **kwargs):
    """One node for a function under allow_in_graph: its result is found by running it on fake tensors."""
    name = getattr(function, "__name__", type(function).__name__)
    template, tensors = flatten((args, kwargs))
    given = [_C._fake_of(tensor) for tensor in tensors]
    try:
        fake_args, fake_kwargs = unflatten(template, given)
        result = function(*fake_args, **fake_kwargs)
    except Exception as error:
        raise CannotCapture("traced_call", f"{name} raised {type(error).__name__} on fakes: {error}") from error
    result_template, fakes = flatten(result)
    # An argument that is returned is that argument; only what is new comes out of the node.
    origins = [next((i for i, each in enumerate(given) if each is fake), None) for fake in fakes]
    new = [number for number, origin in enumerate(origins) if origin is None]
    if not new:
        raise CannotCapture("traced_call", f"{name} returns no new tensor")

    def run(*tensors):
        args, kwargs = unflatten(template, tensors)
        results = flatten(function(*args, **kwargs))[1]
        return tuple(results[number] for number in new)

    made = iter(_C._record_call_out(name, run, tensors, [fakes[number] for number in new]))
    return unflatten(result_template, [next(made) if origin is None else tensors[origin] for origin in origins])


class _Leaf:
    """Stands for the tensor of this number in a template."""

    def __init__(self, index):
        self.index = index


def flatten(value):
    """(template, tensors) of nested lists, tuples and dicts."""
    tensors = []

    def replace(value):
        if isinstance(value, _C.Tensor):
            tensors.append(value)
            return _Leaf(len(tensors) - 1)
        if type(value) in (list, tuple):
            return type(value)(map(replace, value))
        if type(value) is dict:
            return {key: replace(item) for key, item in value.items()}
        return value

    return replace(value), tensors


def unflatten(template, tensors):
    if isinstance(template, _Leaf):
        return tensors[template.index]
    if type(template) in (list, tuple):
        return type(template)(unflatten(item, tensors) for item in template)
    if type(template) is dict:
        return {key: unflatten(item, tensors) for key, item in template.items()}
    return template
