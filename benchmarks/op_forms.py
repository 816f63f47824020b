"""The forms in which ops are measured, made from the op table and the signatures of the composite operations.

A form is a call of one row: an expression, its operands with their layouts, a size and a dtype. What a parameter may be
given follows from its name and type; of the combinations those are kept that minidynamo accepts on small operands.
"""

import dataclasses
import functools
import importlib
import importlib.util
import inspect
import itertools
import math
import re
import warnings
import zlib

SIZES = ("small", "medium", "large")
DTYPES = ("float32", "float64", "bfloat16", "int32", "int64", "uint8", "bool")
PLAIN = "float32"  # the dtype of every layout and size; the others have every layout in the medium size
ELEMENTS = {"small": 24, "medium": 2**14, "large": 2**20}
MATRICES = {"small": (4, 1), "medium": (64, 1), "large": (256, 1)}  # rows, batch
BATCHES = {"small": (2, 4), "medium": (4, 256), "large": (16, 512)}
IMAGES = {
    "small": (1, 4, 8),
    "medium": (2, 16, 32),
    "large": (4, 32, 64),
}  # batch, channels, elements of an image = n^2
LARGEST_RESULT = 2**22  # elements
PROBES = (24, 256)  # elements of the operands from whose results the size of others is foretold
TRIED = 48  # combinations of arguments
KEPT = 1  # of them, for each scene
KEPT_OF = {"Loss": 2, "Convolution": 2}  # classes and numbers; whole and depthwise
SEED = 20

# Rows without a form, and why.
REASONS = {
    "as_subclass": "another class of the same tensor",
    "broadcast_shapes": "no tensors",
    "cuda": "another device",
    "to_sparse": "sparse",
    "to_dense": "sparse",
    "is_coalesced": "sparse",
    "istft": "the inverse of stft only",
    "stft": "its arguments depend on each other",
    "multi_head_attention_forward": "its arguments depend on each other",
    "ctc_loss": "its arguments depend on each other",
    "lu_unpack": "takes factors",
    "lu_solve": "takes factors",
    "linalg.lu_solve": "takes factors",
    "resize_": "changes the tensor that is measured",
    "resize_as_": "changes the tensor that is measured",
    "modulo": "an operator",
    "fold": "its arguments depend on each other",
    "affine_grid": "its arguments depend on each other",
    "embedding_bag": "its arguments depend on each other",
    "native_group_norm": "its arguments depend on each other",
    "linalg.tensorinv": "its arguments depend on each other",
    "normal": "takes means or sizes, as randn",
    "range": "arange by another name",
    "new_empty_strided": "strides that depend on the sizes",
    "empty_permuted": "dims that depend on the sizes",
    "apply_": "calls a Python function for each element",
    "map_": "calls a Python function for each element",
    "map2_": "calls a Python function for each element",
    "is_nonzero": "takes one element",
    "new": "takes sizes or data, as zeros and tensor",
    "pin_memory": "raises without an accelerator",
    "record_stream": "raises without an accelerator",
    "set_": "changes the tensor that is measured",
    "share_memory_": "raises",
    "view.dtype": "dtypes of another width depend on the sizes",
}


@dataclasses.dataclass(frozen=True)
class Values:
    """A tensor: kind is the dtype's own numbers, "index", "mask" or the name of another dtype."""

    shape: tuple
    layout: str = "contiguous"
    kind: str = "own"
    high: int = 0  # of an index

    def describe(self):
        kind = "" if self.kind == "own" else f"{self.kind} "
        layout = "" if self.layout == "contiguous" else f" {self.layout}"
        return f"{kind}{'x'.join(map(str, self.shape)) or 'one number'}{layout}"


@dataclasses.dataclass(frozen=True)
class Scene:
    """What the operands of a form look like."""

    name: str
    shape: tuple
    layout: str = "contiguous"
    dim: int | tuple | None = None  # None: not given
    other: str | tuple | None = None  # the shape or layout of the operands behind the first
    images: bool = False

    @property
    def first(self):
        return Values(self.shape, self.layout)

    @property
    def second(self):
        if isinstance(self.other, tuple):
            return Values(self.other)
        return Values(self.shape, self.other or self.layout)

    @property
    def axis(self):
        return self.dim if isinstance(self.dim, int) else -1

    @property
    def length(self):
        return self.shape[self.axis] if self.shape else 1


@dataclasses.dataclass(frozen=True)
class Form:
    row: str
    category: str
    layout: str
    size: str
    dtype: str
    expression: str  # of `torch` and the operands
    operands: tuple  # (name, Values) pairs
    in_place: bool = False

    @property
    def key(self):
        operands = ", ".join(f"{name}: {value.describe()}" for name, value in self.operands)
        return f"{self.row} | {self.layout} | {self.size} | {self.dtype} | {self.expression} | {operands}"


@dataclasses.dataclass(frozen=True)
class Parameter:
    name: str
    type: str  # "" of a composite operation
    required: bool
    keyword_only: bool = False


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    call: str  # "torch.sum", or ".view" of a method
    kind: str
    parameters: tuple
    in_place: str = ""  # the name of its method that writes

    def has(self, *names):
        return any(parameter.name in names for parameter in self.parameters)


def rows():
    """Every row that a program can call."""
    from minidynamo import _C, _composites, fft, linalg
    from minidynamo.nn import functional

    table, schemas = {}, {}
    for row in _C._op_rows():
        schemas[row["name"]] = parameters_of_schema(row["schema"])
        name = row["name"].partition(".")[0]
        writes = f".{name}_" if row["in_place"] else ""
        call = (
            f"torch.{name}" if row["function"] else
            f"torch.nn.functional.{name}" if row["functional"] else
            f".{name}" if row["method"] else writes
        )  # fmt: skip
        parameters = parameters_of_schema(row["schema"])
        if not call and row["operator"]:
            call = f"torch.{name}"
        if call:
            table[row["name"]] = Row(row["name"], call, row["kind"], parameters, writes)
    found = dict(table)
    functions, methods = _composites.functions, _composites.methods

    def add(name, call, function, writes=""):
        if name in table:
            name = name + ", composite"
        parameters = parameters_of(function)
        base = name.removesuffix("_copy")
        if any(parameter.name == "*args" for parameter in parameters):
            parameters = schemas[base] if base in schemas else parameters_of(functions.get(base, function))
        found[name] = Row(name, call, kind_of(name, parameters), parameters, writes)

    for name, function in functions.items():
        if not name.endswith("_"):
            add(name, f"torch.{name}", function, f".{name}_" if f"{name}_" in methods else "")
    for name, function in methods.items():
        if name not in functions and name.rstrip("_") not in {*functions, *table}:
            add(name, f".{name}", function)
    for name, function in functional.COMPOSITES.items():
        if not name.endswith("_"):
            add(name, f"torch.nn.functional.{name}", function)
    for name in linalg.__all__:
        if inspect.isfunction(getattr(linalg, name)):
            add(f"linalg.{name}", f"torch.linalg.{name}", getattr(linalg, name))
    for name in dir(fft):
        function = getattr(fft, name)
        if inspect.isfunction(function) and re.fullmatch(r"i?[rh]?fft\w*", name):
            add(f"fft.{name}", f"torch.fft.{name}", function)
    return list(found.values())


def parameters_of_schema(schema):
    inside = schema[schema.index("(") + 1 : schema.index(") ->")]
    keyword_only, found = False, []
    for part in filter(None, inside.split(", ")):
        if part == "*":
            keyword_only = True
            continue
        kind, _, name = part.partition(" ")
        name, _, default = name.partition("=")
        found.append(Parameter(name, kind, not default and not (kind.endswith("?") and keyword_only), keyword_only))
    return tuple(found)


def parameters_of(function):
    found = []
    for parameter in inspect.signature(function).parameters.values():
        star = "*" if parameter.kind == parameter.VAR_POSITIONAL else ""
        if parameter.kind != parameter.VAR_KEYWORD:
            required = bool(star) or parameter.default is parameter.empty
            keyword_only = parameter.kind == parameter.KEYWORD_ONLY
            found.append(Parameter(star + parameter.name, "", required, keyword_only))
    return tuple(found)


TABLE_KINDS = {
    *("PointwiseUnary", "PointwiseBinary", "PointwiseTernary", "Compare", "Reduction", "Matmul", "Softmax", "Gather"),
    *("Write", "Cast"),
}
IMAGE_NAMES = {
    *("kernel_size", "output_size", "num_groups", "running_mean", "groups", "upscale_factor", "downscale_factor"),
    *("scale_factor", "grid", "theta"),
}
MATRIX_NAMES = {"A", "batch1", "mat", "L", "LU_data", "tau", "mat2", "matrices"}


def kind_of(name, parameters):
    """The category of a composite operation."""
    names = {parameter.name for parameter in parameters}
    if name.startswith("linalg."):
        return "Decomposition"
    if name.startswith("fft."):
        return "Fourier transform"
    if names & IMAGE_NAMES:
        return "Convolution" if "weight" in names and "stride" in names else "Image"
    if names & {"target", "anchor"}:
        return "Loss"
    if "query" in names:
        return "Attention"
    if names & MATRIX_NAMES:
        return "Matrix"
    if "generator" in names or name.endswith("_"):
        return "Random"
    if "normalized_shape" in names or "dim" in names and not names & {"tensors", "indices", "index", "src"}:
        return "Composite along a dim"
    return "Composite"


def square(n):
    side = max(1, math.isqrt(n))
    return (side, max(1, n // side))


def cube(n):
    side = max(2, round(n ** (1 / 3)))
    return (side, side, max(2, n // side**2))


def element_scenes(row, n):
    """For what treats elements one by one, or a matrix of them."""
    shape = square(n)
    several = sum(parameter.type in ("Tensor", "Number", "") and parameter.required for parameter in row.parameters) > 1
    yield Scene("contiguous", shape)
    yield Scene("transposed", shape, "transposed")
    yield Scene("every other", shape, "every other")
    yield Scene("part of rows", shape, "part of rows")
    yield Scene("short last dim", (max(1, n // 3), 3))
    yield Scene("vector", (n,))
    if row.kind == "Composite":
        yield Scene("square", (shape[0], shape[0]))
        yield Scene("three dims", cube(n))
        yield Scene("batch of 3 x 3", (max(1, n // 9), 3, 3))
    if several:
        yield Scene("one transposed", shape, other="transposed")
        yield Scene("rows with one row", shape, other=(shape[1],))
        yield Scene("rows with one column", shape, other=(shape[0], 1))
        yield Scene("column with row", (shape[0], 1), other=(1, shape[1]))
        yield Scene("expanded operand", shape, other="expanded")
        yield Scene("one number", shape, other=())


def dim_scenes(row, n):
    two, three = square(n), cube(n)
    yield Scene("whole", two)
    yield Scene("whole, transposed", two, "transposed")
    yield Scene("whole, every other", two, "every other")
    yield Scene("last dim", two, dim=1)
    yield Scene("first dim", two, dim=0)
    yield Scene("middle dim", three, dim=1)
    yield Scene("short last dim", (max(1, n // 3), 3), dim=1)
    yield Scene("short first dim", (3, max(1, n // 3)), dim=0)
    yield Scene("long rows", (3, max(1, n // 3)), dim=1)
    yield Scene("first and last dim", three, dim=(0, 2))
    yield Scene("last two dims", three, dim=(1, 2))
    yield Scene("last dim, transposed", two, "transposed", dim=1)
    yield Scene("first dim, transposed", two, "transposed", dim=0)
    yield Scene("last dim, every other", two, "every other", dim=1)
    yield Scene("last dim, part of rows", two, "part of rows", dim=1)
    yield Scene("last dim, expanded", two, "expanded", dim=1)


def matrix_scenes(row, size):
    rows_, _ = MATRICES[size]
    side, batch = BATCHES[size]
    yield Scene("square", (rows_, rows_))
    yield Scene("transposed", (rows_, rows_), "transposed")
    yield Scene("second transposed", (rows_, rows_), other="transposed")
    yield Scene("part of rows", (rows_, rows_), "part of rows")
    yield Scene("with a vector", (rows_, rows_), other=(rows_,))
    yield Scene("vectors", (rows_ * rows_,))
    yield Scene("tall", (rows_ * 8, rows_), other=(rows_, 8))
    yield Scene("batch of small", (batch, side, side))
    yield Scene("batch of small, transposed", (batch, side, side), "transposed")
    yield Scene("batch of 3 x 3", (batch, 3, 3))
    yield Scene("batch", (8, max(2, rows_ // 4), max(2, rows_ // 4)))


def image_scenes(row, size):
    batch, channels, side = IMAGES[size]
    for space in ((side * side,), (side, side), (side, max(4, side // 8), 4)):
        name = f"{len(space)} dims"
        yield Scene(name, (batch, channels, *space), images=True)
        yield Scene(f"{name}, channels last", (batch, channels, *space), "channels last", images=True)
        yield Scene(f"{name}, part of rows", (batch, channels, *space), "part of rows", images=True)


def loss_scenes(row, n):
    rows_, columns = square(n)
    yield Scene("rows", (rows_, columns))
    yield Scene("short rows", (max(1, n // 3), 3))
    yield Scene("long rows", (3, max(1, n // 3)))
    yield Scene("transposed", (rows_, columns), "transposed")
    yield Scene("part of rows", (rows_, columns), "part of rows")


def attention_scenes(row, size):
    heads, length, width = {"small": (2, 4, 8), "medium": (4, 32, 32), "large": (8, 128, 64)}[size]
    yield Scene("heads", (1, heads, length, width))
    yield Scene("heads, transposed", (1, heads, length, width), "channels last")


def scenes(row, size, n):
    if row.kind in ("Decomposition", "Matrix", "Matmul"):
        return matrix_scenes(row, size)
    if row.kind in ("Image", "Convolution"):
        return image_scenes(row, size)
    if row.kind == "Loss":
        return loss_scenes(row, n)
    if row.kind == "Attention":
        return attention_scenes(row, size)
    if row.has("dim", "dims", "dimension"):
        return dim_scenes(row, n)
    return element_scenes(row, n)


# What a parameter may be given, by its name. Alternatives are tried in order.
def side_of(scene):
    return scene.shape[-1]


def classes(scene):
    """Of a loss: numbers of classes, or numbers like those of the input."""
    return [
        scene.first,
        Values(scene.shape[:-1], kind="index", high=scene.shape[-1]),
        Values(scene.shape[:1], kind="sign"),
    ]


def indices(scene):
    return [
        Values(scene.shape, kind="index", high=scene.length if scene.dim is not None else math.prod(scene.shape)),
        Values((scene.length,), kind="index", high=scene.length),
        1,
    ]


def sources(scene):
    shape = [*scene.shape]
    del shape[scene.axis]
    return [scene.first, Values(tuple(shape)), Values((scene.length,)), Values((min(scene.shape),)), 2.0]


def weights(scene):
    """Of a layer."""
    if scene.images:
        channels, space = scene.shape[1], len(scene.shape) - 2
        kernel = (3,) * space
        return [Values((channels, channels, *kernel)), Values((channels, 1, *kernel)), Values((channels,))]
    side = side_of(scene)
    return [Values((side, side)), scene.second, Values((side,)), Values((side, side, side))]


def channel_numbers(scene):
    return [Values((scene.shape[1] if len(scene.shape) > 1 else scene.shape[0],), kind="positive")]


def halves(scene):
    length = scene.length
    return [[length // 2, length - length // 2]]


def dims_of(scene):
    order = tuple(reversed(range(len(scene.shape))))
    return [scene.dim] if scene.dim is not None else [order, 1, 0]


def sizes_of(scene):
    whole = math.prod(scene.shape)
    shape = tuple(scene.shape)
    return [shape, (whole,), tuple(reversed(shape)), 2, (1, -1)]


BY_NAME = {
    "index": indices,
    "indices": lambda s: [
        Values(s.shape, kind="index", high=s.length),
        [Values((s.shape[0],), kind="index", high=s.shape[0])],
    ],
    **dict.fromkeys(("src", "source"), sources),
    **dict.fromkeys(("mask", "condition"), lambda s: [Values(s.shape, s.layout, "mask")]),
    **dict.fromkeys(("tensors", "*tensors", "matrices", "*matrices"), lambda s: [[s.first, s.second]]),
    **dict.fromkeys(("dim", "dims", "dimension", "dim0"), dims_of),
    "dim1": lambda s: [(s.dim + 1) % len(s.shape) if isinstance(s.dim, int) else -1, 0],
    **dict.fromkeys(("size", "*size", "*sizes", "shape", "sizes"), sizes_of),
    **dict.fromkeys(("repeats", "*dims"), lambda s: [(2,) * len(s.shape), 2]),
    "split_size": lambda s: [max(1, s.length // 2)],
    "split_sizes": halves,
    "indices_or_sections": lambda s: [2],
    "chunks": lambda s: [2],
    "shifts": lambda s: [1, (1, 2)],
    "k": lambda s: [max(1, min(8, s.length // 2))],
    "decimals": lambda s: [2],
    "rounding_mode": lambda s: ["floor", None],
    "reduce": lambda s: ["add", "sum", "amax"],
    "approximate": lambda s: ["none"],
    "weight": weights,
    "bias": lambda s: [Values((side_of(s),))],
    **dict.fromkeys(("running_mean", "running_var"), channel_numbers),
    "normalized_shape": lambda s: [(s.shape[-1],)],
    "num_groups": lambda s: [2],
    **dict.fromkeys(("groups", "upscale_factor", "downscale_factor"), lambda s: [2]),
    "kernel_size": lambda s: [3, 2],
    "output_size": lambda s: [3, s.shape[2:]],
    "grid": lambda s: [Values((*s.shape[:1], *s.shape[2:], 2))],
    "theta": lambda s: [Values((2, 2, 3))],
    "scale_factor": lambda s: [2],
    "norm_type": lambda s: [2],
    **dict.fromkeys(("target", "targets"), classes),
    "var": lambda s: [Values(s.shape, kind="positive")],
    **dict.fromkeys(("vec", "vec2", "vec1"), lambda s: [Values((side_of(s),)), s.second]),
    "start": lambda s: [1, 0.0, Values((), kind="index", high=2)],
    "length": lambda s: [max(1, s.length - 2)],
    "step": lambda s: [1],
    "end": lambda s: [s.second, math.prod(s.shape)],
    **dict.fromkeys(("steps", "high", "n", "num_samples", "row", "col"), lambda s: [min(s.shape), math.prod(s.shape)]),
    "low": lambda s: [1],
    "fill_value": lambda s: [2, 1.5],
    "value": lambda s: [2, s.first],
    "unbiased": lambda s: [False],
    "p": lambda s: [2, "fro", 0.3, 1],
    "maxnorm": lambda s: [1.0],
    "q": lambda s: [0.3],
    "pad": lambda s: [(1, 1), (1, 1, 1, 1)],
    "sorted_sequence": lambda s: [Values((s.shape[-1],), kind="rising")],
    "boundaries": lambda s: [Values((s.shape[-1],), kind="rising")],
    "test_elements": lambda s: [Values((16,))],
    "destination": lambda s: [0, 1],
    "memory_format": lambda s: [],
    "equation": lambda s: ["ij,jk->ik", "ij,ij->i", "bij,bjk->bik"],
    "*operands": lambda s: [[s.first, s.second]],
    "storage_offset": lambda s: [0],
    "stride": lambda s: [tuple(math.prod(s.shape[i + 1 :]) for i in range(len(s.shape)))],
    "tau": lambda s: [Values((*s.shape[:-2], s.shape[-1]))],
    "threshold": lambda s: [0.1],
    "upper": lambda s: [True],
    **dict.fromkeys(("N",), lambda s: [s.shape[0]]),
    "C": lambda s: [s.shape[1]],
    "HxW": lambda s: [math.prod(s.shape[2:])],
    "group": lambda s: [2],
    "eps": lambda s: [1e-5],
    "ord": lambda s: [2],
    "dtype": lambda s: [],
    "shapes": lambda s: [],
    "values": lambda s: [s.second, Values((s.shape[0],)), 2.0],
    "*limits": lambda s: [[2, 9]],
    "max": lambda s: [0.5],
}  # fmt: skip


def alternatives(row, parameter, scene, position):
    name, kind = parameter.name, parameter.type
    if name == "source" and kind.startswith("int") or name == "source" and row.has("destination"):
        return [scene.dim if isinstance(scene.dim, int) else len(scene.shape) - 1]
    if kind.startswith("int") and name == "index":
        return [1]
    if name == "value" and row.kind == "Attention":
        return [scene.first]
    if name == "groups" and row.kind == "Convolution":
        return [1, scene.shape[1]]
    if name == "weight" and kind in ("Number", "Tensor") and row.kind.startswith("Pointwise"):
        return [scene.second]
    if name == "values" and row.kind.startswith("Pointwise"):
        return [scene.second]
    if name == "end" and kind == "Tensor":
        return [scene.second]
    if name == "value" and kind == "Number" and row.kind.startswith("Pointwise"):
        return [scene.second]
    if row.kind in ("Matmul",) and name in ("weight",):
        return [Values((scene.shape[-1],) * 2, scene.other if isinstance(scene.other, str) else "contiguous")]
    if position and row.kind in ("Composite", "Matrix") and name in ("input",):
        return [scene.second]
    if name in BY_NAME and not (
        position == 0 and name in ("indices", "source", "n", "row", "size") and kind == "Tensor"
    ):
        return BY_NAME[name](scene)
    if kind == "Tensor[]":
        return [[scene.first, scene.second]]
    if kind.startswith("Scalar"):
        return [2]
    if kind.startswith("bool"):
        return [True]
    if kind.startswith("int"):
        return [1]
    if name.startswith("*") or kind.startswith(("str", "dtype")):
        return []
    shape = scene.first if position == 0 else scene.second
    found = [shape]
    if position == 0 and not kind.endswith("?"):
        # Where numbers are no use.
        found += [Values(shape.shape, shape.layout, kind, 9) for kind in ("index", "complex")]
        found.append(Values((max(1, math.prod(shape.shape) // 2), 2)))
    return found


def argument_lists(row, scene):
    """Combinations of arguments, as (positional, keywords)."""
    names, choices = [], []
    for position, parameter in enumerate(row.parameters):
        layer = row.kind == "Convolution" and parameter.name == "groups"
        given = (
            parameter.required
            or layer
            or parameter.name in ("min", "scale_factor", "repeats")
            or (parameter.name in ("dim", "dims", "dimension") and scene.dim is not None)
        )
        if parameter.name == "min" and parameter.type == "":
            given = False
        if parameter.name == "weight" and row.kind == "Loss" or parameter.name == "bias" and not parameter.required:
            given = False
        if not given:
            continue
        found = (
            [None]
            if parameter.name == "bias" and parameter.type == "Tensor?"
            else alternatives(row, parameter, scene, position)
        )
        if parameter.name == "min":
            found = [0.25]
        if not found:
            return
        names.append(parameter)
        choices.append(found)
    for chosen in itertools.islice(itertools.product(*choices), TRIED):
        yield list(zip(names, chosen, strict=True))


LETTERS = "abcdefghij"


def expression_of(call, arguments, row):
    """The text of a call, and its operands."""
    operands, parts, seen_gap = [], [], False

    def text(value):
        if isinstance(value, Values):
            name = LETTERS[len(operands)]
            operands.append((name, value))
            return name
        if isinstance(value, list):
            return f"[{', '.join(map(text, value))}]"
        return repr(value)

    positions = {parameter.name: position for position, parameter in enumerate(row.parameters)}
    for number, (parameter, value) in enumerate(arguments):
        seen_gap = seen_gap or positions[parameter.name] != number or parameter.keyword_only
        if parameter.name.startswith("*"):
            parts += [text(part) for part in value] if isinstance(value, list) else [text(value)]
        else:
            parts.append(f"{parameter.name}={text(value)}" if seen_gap else text(value))
    if call.startswith("."):
        return f"{parts[0]}{call}({', '.join(parts[1:])})", tuple(operands)
    return f"{call}({', '.join(parts)})", tuple(operands)


def elements_of(result):
    if isinstance(result, (tuple, list)):
        return sum(map(elements_of, result))
    return result.numel() if hasattr(result, "numel") else 1


def attempt(expression, operands, dtype, library):
    """What the call gives, or None."""
    for domain in (0, 1):
        try:
            names = {name: make(value, dtype, library, domain) for name, value in operands}
            return evaluate(expression, names, library)
        except Exception:
            continue
    return None


def evaluate(expression, names, library):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(expression, {"torch": library, **names})  # noqa: S307


def taken(call, arguments, row, libraries):
    """What a call on small operands gives, of the last library; None if one of them does not take it."""
    if call.startswith(".") and not arguments:
        return None
    expression, operands = expression_of(call, arguments, row)
    for dtype in (PLAIN, "int64", "bool"):
        for library in libraries:
            result = attempt(expression, operands, dtype, library)
            if result is None:
                break
        else:
            return result
    return None


def has_form(row):
    """Whether some call of the row is known."""
    ours = importlib.import_module("minidynamo")
    return any(
        taken(row.call, arguments, row, [ours]) is not None
        for scene in scenes(row, "small", PROBES[0])
        for arguments in argument_lists(row, scene)
    )


class Shapes:
    """Which arguments a row takes, found on small operands, and how its results grow with them.

    Those that torch takes as well come first, where it is installed.
    """

    def __init__(self, row):
        self.row, self.call = row, row.call
        self.kept = {}  # scene's name: numbers of combinations
        self.growth = 1.0
        self.base = 1
        ours = importlib.import_module("minidynamo")
        tries = [(row.call, [ours])]
        if importlib.util.find_spec("torch"):
            both = [ours, importlib.import_module("torch")]
            method = "." + row.call.rpartition(".")[2]
            tries = [(row.call, both), (method, both), *tries]
        for self.call, libraries in tries:
            self._find(libraries)
            if self.kept:
                break
        self._foretell(ours)

    def _find(self, libraries):
        for scene in scenes(self.row, "small", PROBES[0]):
            kept, first = [], None
            for number, arguments in enumerate(argument_lists(self.row, scene)):
                if kept and arguments and arguments[0][1] != first:
                    break
                if taken(self.call, arguments, self.row, libraries) is not None:
                    kept.append(number)
                    first = arguments[0][1] if arguments else None
                if len(kept) == KEPT_OF.get(self.row.kind, KEPT):
                    break
            if kept:
                self.kept[scene.name] = kept

    def _foretell(self, library):
        sizes = []
        for n in PROBES:
            size = 0
            for scene in scenes(self.row, "small", n):
                if scene.name in self.kept:
                    for number, arguments in enumerate(argument_lists(self.row, scene)):
                        if number == self.kept[scene.name][0]:
                            result = taken(self.call, arguments, self.row, [library])
                            size = max(size, 0 if result is None else elements_of(result))
                            break
            sizes.append(max(1, size))
        self.growth = max(0.0, math.log(sizes[1] / sizes[0]) / math.log(PROBES[1] / PROBES[0]))
        self.base = sizes[1]

    def elements(self, size):
        """Of the operands, so that results are not too large."""
        n = ELEMENTS[size]
        if self.growth > 1.3:
            most = PROBES[1] * (LARGEST_RESULT / 4 / self.base) ** (1 / self.growth)
            n = min(n, int(most) if size == "large" else int(most) // 4 if size == "medium" else n)
        return max(n, PROBES[0])


def is_measured(row, place, size, dtype):
    """Whether the scene at this place is measured in a size and dtype. Views are the same for every dtype, and of the
    composite operations, which the rows of the table compute, the first scenes stand for the others."""
    if dtype == PLAIN:
        return row.kind != "View" or size != "large"
    if row.kind in ("View", "Creation"):
        return False
    if size != "medium":
        return (dtype, size) == ("bfloat16", "large") and row.kind in TABLE_KINDS
    return row.kind in TABLE_KINDS or place < 2


def forms_of(row, sizes=SIZES, dtypes=DTYPES):
    """The forms of a row; none if its arguments are unknown."""
    if row.name in REASONS:
        return
    shapes, seen = Shapes(row), set()
    for size in sizes:
        for place, scene in enumerate(scenes(row, size, shapes.elements(size))):
            for number, arguments in enumerate(argument_lists(row, scene)):
                if number not in shapes.kept.get(scene.name, ()):
                    continue
                expression, operands = expression_of(shapes.call, arguments, row)
                if (size, expression, operands) in seen:
                    continue
                seen.add((size, expression, operands))
                for dtype in dtypes:
                    if not is_measured(row, place, size, dtype):
                        continue
                    yield Form(row.name, row.kind, scene.name, size, dtype, expression, operands)
                    if (
                        row.in_place
                        and scene.name in ("contiguous", "transposed", "last dim")
                        and shapes.call != row.in_place
                    ):
                        text, others = expression_of(row.in_place, arguments, row)
                        yield Form(row.name, row.kind, f"in place, {scene.name}", size, dtype, text, others, True)


# Operands. Numbers are spread evenly and shuffled: no two of a float32 tensor are equal.
DOMAINS = ((-0.95, 0.95), (0.05, 0.95), (1.05, 1.95))


@functools.lru_cache(maxsize=24)
def numbers(kind, shape, dtype, high, domain):
    import numpy

    rng = numpy.random.default_rng([SEED, zlib.crc32(repr((kind, shape)).encode())])
    count = math.prod(shape)
    if kind == "index":
        if high == count:
            return rng.permutation(count).reshape(shape)
        # Along a dim as long as the numbers are high, each stands once: what is written there is determined.
        places = [rng.permutation(length) for length in shape]
        return sum(numpy.ix_(*places), numpy.zeros(shape, int)) % max(1, high)
    if kind == "mask":
        return rng.random(shape) < 0.5
    if kind == "sign":
        return numpy.where(rng.random(shape) < 0.5, -1.0, 1.0)
    if kind == "complex":
        return rng.random(shape) + 1j * rng.random(shape)
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if dtype in ("int32", "int64", "uint8"):
        found = rng.integers(1, 12, shape)
    else:
        low, top = DOMAINS[1] if kind == "positive" and domain == 0 else DOMAINS[domain]
        found = low + (top - low) * rng.permutation(count).reshape(shape) / max(1, count)
        if found.ndim >= 2 and found.shape[-1] == found.shape[-2] <= 64:
            # Far from singular, and symmetric in no way.
            found = found + numpy.eye(found.shape[-1]) * 2 * (domain == 0)
    return numpy.sort(found, -1) if kind == "rising" else found


def dtype_of(value, dtype):
    if value.kind == "complex":
        return "complex128" if dtype == "float64" else "complex64"
    return {"index": "int64", "mask": "bool", "sign": PLAIN if dtype == "bool" else dtype}.get(value.kind, dtype)


def layout_of(array, value):
    """The same numbers in a base array, and how the operand is seen in it."""
    import numpy

    if value.layout == "transposed" and array.ndim >= 2:
        return array.swapaxes(-1, -2), lambda base: base.transpose(-1, -2)
    if value.layout == "every other" and array.ndim:
        return numpy.repeat(array, 2, -1), lambda base: base[..., ::2]
    if value.layout == "part of rows" and array.ndim:
        return numpy.concatenate([array, array[..., :1]], -1), lambda base: base[..., :-1]
    if value.layout == "expanded" and array.ndim >= 2:
        return array[..., :1, :], lambda base: base.expand(value.shape)
    if value.layout == "channels last" and array.ndim >= 3:
        order = (0, *range(2, array.ndim), 1)
        return array.transpose(order), lambda base: base.permute(0, array.ndim - 1, *range(1, array.ndim - 1))
    return array, lambda base: base


def make(value, dtype, library, domain=0):
    import numpy

    array, view = layout_of(numbers(value.kind, value.shape, dtype, value.high, domain), value)
    wanted = dtype_of(value, dtype)
    base = library.from_numpy(numpy.array(array, order="C"))
    return view(base.to(getattr(library, wanted)))


def make_array(value, dtype, domain=0):
    """The operand as an array of NumPy; of its dtype, of float32 for bfloat16."""
    import numpy

    array = numbers(value.kind, value.shape, dtype, value.high, domain)
    wanted = dtype_of(value, dtype)
    base = numpy.array(layout_of(array, value)[0], order="C", dtype=PLAIN if wanted == "bfloat16" else wanted)
    if value.layout == "transposed" and array.ndim >= 2:
        return base.swapaxes(-1, -2)
    if value.layout == "every other" and array.ndim:
        return base[..., ::2]
    if value.layout == "part of rows" and array.ndim:
        return base[..., :-1]
    if value.layout == "expanded" and array.ndim >= 2:
        return numpy.broadcast_to(base, value.shape)
    if value.layout == "channels last" and array.ndim >= 3:
        return numpy.moveaxis(base, -1, 1)
    return base
