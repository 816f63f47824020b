"""Special values while warnings are ignored: there is no second run by NumPy, and no dims or objects that NumPy has not."""

import warnings

import numpy as np
import pytest
from compared import is_captured, mismatch

import minidynamo
from minidynamo._families.numpy_ufuncs import UFUNCS

FLOATS = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 2.5, -2.5, 0.5, -0.5, 1e-40, 700, -700, 1e30, 5e-324, 1.7e308]
INTEGERS = [0, 1, -1, 2, 3, 5, -5, 7, 63, 64, 65, 127, -128, 100]
UFUNC_NAMES = sorted({*UFUNCS.values(), "sign", "heaviside"} - {"matmul"})


@pytest.mark.parametrize("name", UFUNC_NAMES)
def test_ufuncs_on_special_values(name):
    ufunc = getattr(np, name)
    for code in "?bBhilefd":
        is_float = code in "efd"
        with np.errstate(all="ignore"):
            values = np.array(FLOATS if is_float else INTEGERS, "f8" if is_float else "i8").astype(code)
            if ufunc.nin == 1:
                assert not mismatch(lambda x: ufunc(x), [values])
                continue
            pairs = [np.repeat(values, len(values)), np.tile(values, len(values))]
            for arguments in (pairs, [values, values[3]], [values[1], values]):
                assert not mismatch(lambda x, y: ufunc(x, y), arguments)


@pytest.mark.parametrize("name", ["sign", "heaviside"])
def test_captured(name):
    x = np.array([1.0, np.nan, -2.0])
    ufunc = getattr(np, name)
    with np.errstate(all="ignore"):
        assert is_captured((lambda x: ufunc(x)) if ufunc.nin == 1 else lambda x: ufunc(x, x), [x])


# What is computed and then dropped raises too.
def raised(function):
    def call(x):
        try:
            function(x)
        except Exception as error:
            return type(error).__name__, str(error)
        return "nothing"

    return call


DROPPED = {
    "two ellipses": lambda x: x[..., ...],
    "an index": lambda x: x[7],
    "sizes": lambda x: x.reshape(77),
    "unequal": lambda x: x + x[:2],
    "zeros": lambda x: np.zeros((1,) * 65).sum(),
    "reshape": lambda x: np.ones((1,) * 33).reshape((1,) * 70).sum(),
    "outer": lambda x: np.add.outer(np.ones((1,) * 33), np.ones((1,) * 33)),
    "None": lambda x: x[(None,) * 65],
    "expand_dims": lambda x: np.expand_dims(np.ones((1,) * 64), 0),
    "stack": lambda x: np.stack([np.ones((1,) * 64)] * 2),
    "broadcast_to": lambda x: np.broadcast_to(x, (1,) * 70),
    "clip without its second bound": lambda x: np.clip(x, 2),
    "clip without its first bound": lambda x: np.clip(x, a_max=2),
}


@pytest.mark.parametrize("name", DROPPED)
def test_what_is_dropped_raises(name):
    assert not mismatch(DROPPED[name], [np.arange(5.0)])
    assert not mismatch(raised(DROPPED[name]), [np.arange(5.0)])


# Ways to name the arguments, in NumPy 2.0 or since: what this NumPy refuses stays refused.
SIGNATURES = {
    "clip": lambda x: np.clip(x, 1, 3),
    "clip by name": lambda x: np.clip(x, a_min=1, a_max=3),
    "clip all by name": lambda x: np.clip(a=x, a_max=3, a_min=1),
    "clip by None": lambda x: (np.clip(x, None, 3), np.clip(x, 1, None)),
    "clip by no bound": lambda x: np.clip(x, None, None),
    "clip min and max": lambda x: np.clip(x, min=1, max=3),
    "clip min": lambda x: np.clip(x, min=1),
    "clip of both kinds": lambda x: np.clip(x, 1, max=3),
    "clip twice": lambda x: np.clip(x, 1, 3, min=1),
    "clip out": lambda x: np.clip(x, 1, 3, x),
    "clip out by name": lambda x: np.clip(x, 1, 3, out=x),
    "clip dtype": lambda x: np.clip(x, 1, 3, dtype=np.float32, casting="same_kind"),
    "clip where": lambda x: np.clip(x, 1, 3, out=x, where=x > 2),
    "method": lambda x: (x.clip(1, 3), x.clip(min=1), x.clip(max=3), x.clip(1)),
    "method a_min": lambda x: x.clip(a_min=1),
    "count_nonzero": lambda x: np.count_nonzero(x),
    "count_nonzero axis": lambda x: (np.count_nonzero(x, 0), np.count_nonzero(x, axis=-1), np.count_nonzero(x, None)),
    "count_nonzero keepdims": lambda x: (np.count_nonzero(x, 0, keepdims=True), np.count_nonzero(x, keepdims=True)),
    "count_nonzero all by name": lambda x: np.count_nonzero(a=x, axis=0, keepdims=False),
    "count_nonzero keepdims by position": lambda x: np.count_nonzero(x, 0, True),
    "count_nonzero axes": lambda x: np.count_nonzero(x, (0,)),
    "count_nonzero out": lambda x: np.count_nonzero(x, out=x),
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_arguments_by_position_and_name(name):
    assert not mismatch(SIGNATURES[name], [np.arange(5.0)])
    assert not mismatch(raised(SIGNATURES[name]), [np.arange(5.0)])


SINGLE = {
    "or": lambda t, x: (t | t) is t,
    "and": lambda t, x: (t & t) is np.True_,
    "xor": lambda t, x: (t ^ t) is np.False_,
    "not": lambda t, x: np.logical_not(t) is np.False_,
    "all": lambda t, x: (x == x).all() is np.True_,
    "any": lambda t, x: np.any(x > 9) is not np.True_,
    "two": lambda t, x: (x == x).all() is (x > 3).any(),
    "isnan": lambda t, x: np.isnan(x[0]) is np.False_,
    "of Python": lambda t, x: (x == x).all() is True,
    "floats": lambda t, x: x.sum() is x.sum(),
}


@pytest.mark.parametrize("name", SINGLE)
def test_each_bool_is_one_object(name):
    assert not mismatch(SINGLE[name], [np.True_, np.arange(5.0)])


INDICES = {
    "turned": np.arange(6).reshape(3, 2).T,
    "in C's order": np.arange(6).reshape(2, 3),
    "stepped": np.arange(12).reshape(2, 6)[:, ::2] // 2,
    "a column": np.arange(3)[:, None],
    "a turned mask": (np.arange(30).reshape(6, 5) % 3 == 0).T.copy("F"),
}


AT = {
    "first": lambda x, i: x[i % 4],
    "computed": lambda x, i: x[i % 4] * 2 + 1,
    "last": lambda x, i: x[..., i % 4],
    "middle": lambda x, i: x[:, i % 4],
    "then an int": lambda x, i: x[:, i % 4, 1],
    "an int before": lambda x, i: x[:, 1, i % 4],
    "ints at the front": lambda x, i: x[1, i % 4],
    "two": lambda x, i: x[:, i % 4, i % 3],
    "apart": lambda x, i: x[i % 4, :, i % 3],
    "apart from an int": lambda x, i: x[i % 4, :, 1],
    "an int apart": lambda x, i: x[1, :, i % 4],
    "with a new axis": lambda x, i: x[:, i % 4, None],
    "around a new axis": lambda x, i: x[i % 4, None, 1],
    "a list": lambda x, i: x[:, [0, 2, 1]],
    "a mask": lambda x, i: x[:, np.arange(x.shape[1]) > 2],
    "take": lambda x, i: np.take(x, i % 4, axis=1),
}


def written_at(x, i):
    x[1, :, i % 4] = 3
    x[:, i % 4] += 1
    return x


@pytest.mark.parametrize("name", INDICES)
def test_strides_follow_the_indices(name):
    x = np.arange(120.0).reshape(6, 5, 4).transpose(1, 0, 2)
    index = INDICES[name]
    if index.dtype == bool:
        assert not mismatch(lambda x, i: x[i.copy("F")], [x, index])
        return
    for array in (x.copy(), x, x.copy("F"), x.T, x[:, ::-1].copy()[:, ::2], np.zeros((10, 12, 8))[::2, ::2, ::2]):
        wrong = {place: mismatch(function, [array, index]) for place, function in AT.items()}
        assert not {place: text for place, text in wrong.items() if text}
        assert not mismatch(written_at, [array, index])
    for array in (np.arange(20.0), np.arange(20.0)[::2]):
        assert not mismatch(AT["first"], [array, index])


def test_indices_behind_other_dims_are_captured():
    x, index = np.arange(120.0).reshape(5, 6, 4), np.arange(6).reshape(2, 3)
    assert is_captured(AT["middle"], [x, index]) and is_captured(AT["last"], [x, index])


def test_a_write_that_warns():
    def write(x):
        x[1] = 10
        x[2:] = x[:1]
        return x

    outcomes = []
    for function in (write, minidynamo.compile(write)):
        x = np.arange(10)
        x.flags._warn_on_write = True
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            outcomes.append((function(x).tolist(), [(each.category, each.lineno) for each in caught]))
    assert outcomes[0] == outcomes[1] and len(outcomes[0][1]) == 1


UNHASHABLE = {
    "hash": lambda x: hash(x),
    "key": lambda x: {x: 1},
    "member": lambda x: x in {1, 2},
    "a new one": lambda x: hash(np.ones(3)),
    "an element": lambda x: hash(x.sum()) == hash(float(x.sum())),
}


@pytest.mark.parametrize("name", UNHASHABLE)
def test_hashes(name):
    assert not mismatch(UNHASHABLE[name], [np.arange(3.0)])
    assert not mismatch(raised(UNHASHABLE[name]), [np.arange(3.0)])


SORTS = [
    {"kind": "\xe4"},
    {"kind": "no"},
    {"kind": "stable", "stable": True},
    {"stable": 3},
    {"kind": 3},
    {"kind": "heapsort"},
]


@pytest.mark.parametrize("options", SORTS, ids=str)
def test_kinds_of_sort(options):
    for function in (
        lambda x: np.sort(x, **options),
        lambda x: x.sort(**options),
        lambda x: np.argsort(x, **{"kind": "stable", **options}),
    ):
        assert not mismatch(function, [np.array([3.0, 1.0, 2.0])])
