"""What public models and their libraries write around tensors: containers of modules, outputs, configurations, contexts."""

import collections
import contextvars
import copy
import dataclasses
import enum
import functools
import inspect
import io
import itertools
import logging
import operator
import types
import typing
import warnings

from differential import snippet, whole
from differential import whole_on_311 as whole_311

import minidynamo
from minidynamo import nn, ones, tensor

log = logging.getLogger("corpus.model_code")
log.setLevel(logging.ERROR)


def one():
    return (tensor([1.0, 2.0]),)


def two():
    return tensor([1.0, 2.0]), tensor([3.0, 4.0])


def the_same_twice():
    x = tensor([1.0, 2.0])
    return x, x


def _linear(scale):
    layer = nn.Linear(2, 2)
    with minidynamo.no_grad():
        layer.weight.fill_(scale)
        layer.bias.fill_(1.0)
    return layer


LAYERS = nn.Sequential(_linear(0.5), nn.ReLU(), _linear(2.0))
MODULES = nn.ModuleList([_linear(0.5), nn.ReLU(), _linear(-1.0)])
FEWER = nn.ModuleList([_linear(0.25)])
BY_NAME = nn.ModuleDict({"first": _linear(0.5), "second": nn.ReLU()})
PARAMETERS = nn.ParameterList([nn.Parameter(ones(2)), nn.Parameter(ones(2) * 3)])


def lists_of_modules():
    return [lambda: (tensor([1.0, 2.0]), MODULES), lambda: (tensor([1.0, 2.0]), FEWER)]


@whole(*lists_of_modules())
def modules_at_negative_and_sliced_places(x, modules):
    return modules[-1](x), [m(x) for m in modules[:2]], len(modules[1:]), LAYERS[-1](x), LAYERS[:2](x), LAYERS[0:3:2](x)


@whole(*lists_of_modules())
def modules_in_reverse(x, modules):
    for module in reversed(modules):
        x = module(x)
    return x, [type(m).__name__ for m in reversed(LAYERS)]


@whole(*lists_of_modules())
def modules_reduced_by_a_function(x, modules):
    return functools.reduce(lambda value, module: module(value), modules, x), functools.reduce(operator.add, [x, x, x])


@snippet(lambda: (tensor([1.0]), [[1], [2, 3]]), lambda: (tensor([1.0]), [[4], [5]]))
def a_reduction_of_user_iterables(x, lists):
    class Twice:
        def __iter__(self):
            yield from lists[0]
            yield from lists[-1]

    return x, functools.reduce(lambda a, b: a * 10 + b, Twice()), functools.reduce(operator.add, lists, [])


@snippet(raises=TypeError)
def a_reduction_of_nothing(x):
    return x, functools.reduce(operator.add, nn.ModuleList())


@whole(one)
def modules_and_parameters_by_name(x):
    for name, module in BY_NAME.items():
        x = module(x) + len(name)
    return (
        x,
        "first" in BY_NAME,
        list(BY_NAME),
        BY_NAME["second"](-x),
        [p.shape for p in PARAMETERS],
        PARAMETERS[-1] + x,
    )


class Getter(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = _linear(0.5)

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("inner"), name)

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        object.__setattr__(self, "last_set", name)

    def __call__(self, x, *rest):
        return super().__call__(x) if not rest else self.forward(x, *rest)

    def forward(self, x, scale=1):
        self.calls = scale
        return self.inner(x) * scale


GETTER = Getter()


@whole(one)
def a_module_with_its_own_attributes_and_call(x):
    result = GETTER(x), GETTER(x, 3)
    return result, GETTER.calls, GETTER.last_set, GETTER.in_features, GETTER.weight.shape


class Functions(types.ModuleType):
    def scaled(self, x):
        return x * self.factor

    def __getattr__(self, name):
        if name.startswith("times"):
            return lambda x: x * int(name[5:])
        raise AttributeError(name)


FUNCTIONS = Functions("functions")
FUNCTIONS.factor = 3
LAZY = types.ModuleType("lazy")
LAZY.__getattr__ = lambda name: len(name)


@whole(one)
def modules_that_are_objects(x):
    return FUNCTIONS.scaled(x), FUNCTIONS.times7(x), LAZY.abc, hasattr(FUNCTIONS, "absent"), getattr(LAZY, "other")


class Output(collections.OrderedDict):
    """As ModelOutput of transformers."""

    def __post_init__(self):
        for field in dataclasses.fields(self):
            if getattr(self, field.name) is not None:
                self[field.name] = getattr(self, field.name)

    def __getitem__(self, key):
        return dict(self.items())[key] if isinstance(key, str) else self.to_tuple()[key]

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        super().__setattr__(key, value)

    def to_tuple(self):
        return tuple(self[key] for key in self.keys())


@dataclasses.dataclass
class Prediction(Output):
    loss: object = None
    logits: object = None
    states: tuple = None


@whole_311(one)
def outputs_with_fields(x):
    out = Prediction(logits=x * 2, states=(x, x + 1))
    out["loss"] = x.sum()
    names = [field.name for field in dataclasses.fields(out)]
    return out.logits, out[0], len(out), list(out), names, out.to_tuple()[-1], sorted(vars(out))


@whole(one)
def generators_in_builtins(x):
    shapes = ((2,), (2,))
    return (
        x * sum(n for shape in shapes for n in shape),
        all(len(shape) == 1 for shape in shapes),
        any(shape == (3,) for shape in shapes),
        tuple(x + i for i in range(2)),
        sum((x * i for i in range(3)), x),
    )


@whole(lambda: (tensor([1.0]), 2), lambda: (tensor([1.0]), 3))
def tensors_of_lists(x, n):
    return minidynamo.tensor([n, 1]), minidynamo.tensor([[x.sum(), 1.0], [2.0, n]]), x.new_tensor([1, 2])


DEPTH = contextvars.ContextVar("depth", default=0)


@whole(one)
def context_variables(x):
    token = DEPTH.set(DEPTH.get() + 1)
    try:
        return x * DEPTH.get(), DEPTH.get(None)
    finally:
        DEPTH.reset(token)


class Layer:
    def forward(self, x, *, mask=None, scale=1.0):
        return x * scale

    __call__ = forward


LAYER = Layer()


@whole_311(lambda: (tensor([1.0]), {"scale": 2.0, "other": 1}), lambda: (tensor([1.0]), {"mask": None}))
def keywords_filtered_by_a_signature(x, kwargs):
    known = inspect.signature(LAYER.forward).parameters
    return LAYER(x, **{name: value for name, value in kwargs.items() if name in known}), list(known)


def _counting(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        wrapper.calls += 1
        return function(*args, **{k: v for k, v in kwargs.items() if v is not None})

    wrapper.calls = 0
    return wrapper


@_counting
def _scaled(x, by=2):
    return x * by


@whole(lambda: (tensor([1.0]), None), lambda: (tensor([1.0]), 4))
def wrapped_functions(x, by):
    before, name = _scaled.calls, _scaled.__name__
    return _scaled(x, by=by), _scaled.calls - before, name, _scaled.__wrapped__(x)


WARNED = set()


@whole(one, state="WARNED")
def warnings_given_once(x):
    for name in ("a", "b", "a"):
        if name not in WARNED:
            WARNED.add(name)
            warnings.warn(f"{name} is deprecated", UserWarning, stacklevel=2)
    log.debug("shape %s", x.shape)
    log.info("not shown")
    return x + len(WARNED)


@whole(lambda: (tensor([1.0]), 2), lambda: (tensor([1.0]), None), lambda: (tensor([1.0]), (1, 2)))
def instances_of_unions(x, value):
    return (
        x,
        isinstance(value, int | tuple),
        isinstance(value, typing.Union[int, None]),
        isinstance(x, (nn.Module, type(x))),
    )


@dataclasses.dataclass
class Config:
    width: int = 4
    name: str = "small"
    extra: dict = dataclasses.field(default_factory=dict)

    def to_dict(self):
        return {**self.__dict__, "kind": type(self).__name__}


@whole_311(lambda: (tensor([1.0]), Config()), lambda: (tensor([1.0]), Config(8, "large")))
def configurations(x, config):
    other = copy.copy(config)
    other.width = config.width * 2
    text = f"{config.name}: {config.width:>4} {config!r}"
    return (
        x * other.width,
        text,
        "{width}-{name}".format(**config.to_dict()),
        config.width,
        getattr(config, "depth", 12),
    )


@whole(one)
def hashes_and_ids_of_modules(x):
    known = {id(LAYERS): "layers", id(MODULES): "modules"}
    return (
        x,
        known[id(LAYERS)],
        LAYERS == MODULES,
        LAYERS == LAYERS,
        {LAYERS, LAYERS, MODULES} == {MODULES, LAYERS},
        hash(LAYERS) == hash(LAYERS),
    )


@whole(one)
def parameters_as_keys(x):
    weight, bias = LAYERS[0].weight, LAYERS[0].bias
    groups = {weight: 0.1, bias: 0.0}
    return (
        x + groups[weight],
        len({weight, bias, weight}),
        weight in groups,
        {p: n for n, p in LAYERS[0].named_parameters()}[bias],
    )


@whole(one)
def kinds_of_tensors(x):
    return (
        x,
        isinstance(x, minidynamo.FloatTensor),
        x.is_cuda,
        x.is_sparse,
        x.is_quantized,
        x.is_floating_point(),
        isinstance(x, nn.Parameter),
    )


class Holder:
    def __init__(self, rows):
        self.held = ones(rows, 2)


@whole(lambda: (tensor([1.0]), Holder(2)), lambda: (tensor([1.0]), Holder(3)))
def lengths_of_attributes(x, holder):
    return x * len(holder.held), len(holder.held[0]), holder.held.shape[0]


@whole(
    lambda: (lambda h: (h, h.held))(Holder(2)),
    lambda: (lambda h: (h, h.held))(Holder(3)),
    lambda: (Holder(2), ones(2, 2)),
)
def a_tensor_reached_by_two_paths_and_written(holder, held):
    held.add_(1)
    return holder.held * 2, holder.held is held


@snippet(lambda: (lambda h: (h, h.held[:1]))(Holder(2)), lambda: (lambda h: (h, ones(1, 2)))(Holder(2)))
def a_view_of_a_tensor_reached_otherwise_and_written(holder, held):
    held.add_(1)
    return holder.held * 2


@whole(two, the_same_twice)
def a_tensor_searched_by_identity(x, y):
    held = [x, y]
    return held.index(x), x in held, [y, x].count(y) if x is y else 1, [x] == [x], (x, 1) == (x, 1)


@snippet(two, the_same_twice)
def a_tensor_removed_from_a_list(x, y):
    held = [x, y]
    held.remove(x)
    return held, len(held)


@snippet(lambda: (tensor([1.0]), tensor([2.0])), lambda: (tensor([2.0]), tensor([2.0])))
def a_tensor_searched_by_its_data(x, y):
    return [y].index(x) if x in [y] else -1


@snippet(two, raises=RuntimeError)
def a_tensor_of_two_elements_searched_by_its_data(x, y):
    return x in [y, x]


class Permission(enum.IntFlag):
    READ = 4
    WRITE = 2
    RUN = 1


class Mode(enum.Flag):
    FIRST = enum.auto()
    SECOND = enum.auto()
    BOTH = FIRST | SECOND


class Lazy(enum.Flag):
    A = 1
    B = 2
    C = 4


class Own(enum.IntFlag):
    A = 1
    B = 2

    @classmethod
    def _missing_(cls, value):
        return cls.A


@whole(lambda: (tensor([1.0]), Permission.READ), lambda: (tensor([1.0]), Permission.WRITE))
def combined_flags(x, flag):
    both = flag | Permission.RUN
    return x * both, both & Permission.RUN, flag in both, ~flag, Permission(6), both ^ flag, both.value, repr(both)


@whole(one)
def flags_combined_for_the_first_time(x):
    both = Lazy.A | Lazy.C
    return (
        x * both.value,
        both is Lazy.A | Lazy.C,
        Lazy.A in both,
        bool(Lazy.A & Lazy.B),
        Mode.FIRST | Mode.SECOND is Mode.BOTH,
        list(Lazy),
    )


@snippet(one, raises=ValueError)
def a_flag_of_no_value(x):
    return x, Lazy(64)


@snippet(one)
def flags_with_their_own_way_to_make_members(x):
    return x, Own(8), Own.A | Own.B


class Options(typing.TypedDict):
    scale: float
    value: object


class Partial(typing.TypedDict, total=False):
    scale: float


@whole(one)
def typed_dicts(x):
    options = Options(scale=2.0, value=x)
    return (
        x * options["scale"],
        options,
        type(options) is dict,
        Partial(),
        Options({"scale": 1.0}, value=3),
        sorted(options),
    )


@snippet(one, raises=TypeError)
def a_typed_dict_of_two_dicts(x):
    return x, Options({}, {})


@whole(lambda: (tensor([1.0]), [1, 2]), lambda: (tensor([1.0]), [3]))
def generators_sent_to_and_closed(x, sent):
    def accumulate():
        total = 0
        while True:
            total += yield total

    def limited():
        count = yield from (1, 2)
        return (yield count)

    running, other = accumulate(), limited()
    next(running)
    totals = [running.send(n) for n in sent]
    running.close()
    return x * totals[-1], totals, next(running, "closed"), [*other]


@snippet(lambda: (tensor([1.0]), [1, 2]), lambda: (tensor([1.0]), [3]))
def generators_driven_by_hand(x, sent):
    def accumulate():
        total = 0
        try:
            while True:
                total += yield total
        except ValueError:
            yield -total
        finally:
            sent.append(total)

    def outer():
        result = yield from accumulate()
        return result

    running = outer()
    next(running)
    totals = [running.send(n) for n in list(sent)]
    totals.append(running.throw(ValueError()))
    running.close()
    return x * totals[-1], totals, next(running, "closed")


@snippet(one)
def a_generator_left_suspended(x):
    def numbers():
        yield from (1, 2, 3)

    running = numbers()
    return x * next(running), running


def _counter():
    return tensor([1.0]), itertools.count(3)


def _started():
    def numbers():
        yield from range(5, 9)

    running = numbers()
    next(running)
    return tensor([1.0]), running


@snippet(_counter, lambda: (tensor([1.0]), itertools.count(0.5)), lambda: (tensor([1.0]), iter([7, 8, 9])), _started)
def iterators_of_the_caller(x, numbers):
    return x * next(numbers), next(numbers, None)


@snippet(lambda: (tensor([1.0]), io.StringIO("ab\nc\n")), lambda: (tensor([1.0]), io.StringIO("abc")))
def files_of_the_caller(x, file):
    return x * len(next(file)), file.readline(), [len(line) for line in file]


@snippet(two, the_same_twice)
def extremes_of_tensors(x, y):
    return min(x.sum(), y.sum()), max(x.unbind()), max([x, y], key=lambda t: t.shape[0]), min(x)


@snippet(lambda: (tensor([3.0, 1.0]),), lambda: (tensor([1.0, 2.0]),))
def sorted_tensors(x):
    return sorted(x.unbind()), sorted([x, x * 2], key=lambda t: -t.shape[0])[0]


class Scaling(nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factors = [factor]

    def forward(self, x):
        return x * self.factors[0]


WITHOUT_PARAMETERS = nn.Sequential(nn.ReLU(), Scaling(3))


class Stateful:
    def __init__(self, held):
        self.held, self.seen = held, 0

    def __getstate__(self):
        self.seen += 1
        return {"held": self.held}

    def __setstate__(self, state):
        self.held, self.seen = state["held"], -1


@whole(one)
def copies_of_modules_without_parameters(x):
    clone, shallow = copy.deepcopy(WITHOUT_PARAMETERS), copy.copy(WITHOUT_PARAMETERS)
    clone[1].factors[0] = 5
    return clone(x), WITHOUT_PARAMETERS(x), clone[1].factors, shallow[1] is WITHOUT_PARAMETERS[1], clone.training


@whole(lambda: (tensor([1.0]), {1, 2}), lambda: (tensor([1.0]), {"a"}), lambda: (tensor([1.0]), frozenset({3})))
def copies_of_sets(x, held):
    made = {(1, 2), "b"}
    clone = copy.deepcopy({"held": held, "made": made})
    return x, clone, clone["held"] is held, copy.copy(held) == held, clone["made"] is made


@whole(lambda: (tensor([1.0]), Stateful([1])))
def copies_of_objects_with_their_own_state(x, stateful):
    clone, shallow = copy.deepcopy(stateful), copy.copy(stateful)
    return x * stateful.seen, clone.seen, clone.held == [1], clone.held is stateful.held, shallow.held is stateful.held


@snippet(one)
def deep_copies_of_modules_and_tensors(x):
    clone = copy.deepcopy(LAYERS)
    first, second = copy.deepcopy([x, x])
    return clone(x), clone[0].weight is LAYERS[0].weight, first is second, first is x, copy.deepcopy(Holder(2)).held


@whole(one)
def arithmetic_of_an_id(x):
    return x + id(LAYERS) * 0


class Tagged(int):
    def __new__(cls, value, tag=None):
        self = int.__new__(cls, value)
        self.tag = tag
        return self


class Name(str):
    pass


@snippet(lambda: (tensor([1.0]), 3), lambda: (tensor([1.0]), 4))
def numbers_and_texts_of_user_classes(x, n):
    tagged = Tagged(n, tag="t")
    return x * tagged, tagged.tag, type(tagged + 1) is int, Name("abc").upper(), tagged
