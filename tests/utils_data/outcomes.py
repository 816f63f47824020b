"""What a program gives with minidynamo and with torch, in a form that can be compared."""

import warnings

import minidynamo


def plain(value):
    """Tensors as (dtype, shape, elements), containers with their types, other values as they are."""
    kind = type(value)
    if kind.__name__ == "Tensor":
        return str(value.dtype).rpartition(".")[2], tuple(value.shape), value.tolist()
    if isinstance(value, dict):
        return kind.__name__, {key: plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return kind.__name__, [plain(each) for each in value]
    return kind.__name__, repr(value).replace("minidynamo", "torch")


def outcome(program, library):
    """("returned", value, warnings) or ("raised", type, text, warnings) of program(library)."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            result = ("returned", plain(program(library)))
        except Exception as error:
            result = ("raised", type(error).__name__, str(error).replace("minidynamo", "torch"))
    return *result, [(each.category.__name__, str(each.message)) for each in seen]


def check_same(program, torch):
    assert outcome(program, minidynamo) == outcome(program, torch)
