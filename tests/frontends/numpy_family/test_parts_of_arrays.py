"""`flat`, `flags` and `view(dtype)` of arrays: as NumPy's in values, dtypes, strides, memory, writes and exceptions."""

import itertools

import numpy as np
import pytest
from compared import is_captured, mismatch

import minidynamo

FEW_CODES = ["?", "i1", "u2", "i4", "f2", "f8", "F", "D"]


def array_of(code, shape=(3, 4)):
    return (np.arange(int(np.prod(shape))).reshape(shape) * 3 % 11 - 2).astype(code)


def layouts(code):
    whole = array_of(code, (4, 6))
    return {
        "vector": array_of(code, (7,)),
        "matrix": array_of(code),
        "fortran": np.asfortranarray(array_of(code)),
        "turned": whole.T,
        "gaps": whole[:, ::2],
        "backwards": whole[::-1, 1:4],
        "row": whole[1],
        "column": whole[:, 1],
        "cube": array_of(code, (2, 3, 2)),
        "one": array_of(code, (1, 1)),
        "nothing": array_of(code, (0, 3)),
        "no axes": np.array(3).astype(code),
        "scalar": np.array(3).astype(code)[()],
        "repeated": np.broadcast_to(array_of(code, (3,)), (2, 3)),
    }


LAYOUTS = list(layouts("f8"))
FEW_LAYOUTS = ["vector", "matrix", "fortran", "gaps", "nothing", "no axes"]


def written(key, value):
    def write(x):
        x.flat[key] = value
        return x * 1

    return write


def all_elements(x):
    found = []
    for element in x.flat:
        found.append(element * 2)
    return found


def iterated_and_written(x):
    total = 0
    for place, element in enumerate(x.flat):
        x.flat[-1 - place] = element + 1
        total = total + element
    return total, x


def iterated_in_part(x):
    flat = x.flat
    first = [element for element, _ in zip(flat, range(2))]
    return first, next(flat, None), flat.index


def iterated_twice(x):
    flat = x.flat
    return [element * 1 for element in flat], [element * 1 for element in flat], flat[0]


def kept(x):
    flat = x.flat
    y = x * 2
    return y, flat.base is x, len(flat)


def written_where(x):
    x.flat[x.flat[:] > 2] = 0
    return x


def diagonal(x):
    x.flat[:: x.shape[1] + 1] = x.flat[1] * 2
    return x


READS = {
    "first": lambda x: x.flat[0] * 2,
    "last": lambda x: x.flat[-1],
    "middle": lambda x: (x.flat[3], x.flat[-3] + x.flat[2]),
    "all": lambda x: x.flat[:],
    "slice": lambda x: x.flat[1:6:2] * 2,
    "backwards": lambda x: x.flat[::-1] * 1,
    "ints": lambda x: x.flat[np.array([0, 2, 1])],
    "mask": lambda x: x.flat[(x > 1).reshape(-1)],
    "list": lambda x: x.flat[[0, 1]],
    "length": lambda x: len(x.flat) * x,
    "truth": lambda x: 1 if x.flat else 2,
    "copy": lambda x: x.flat.copy() * 2,
    "base": lambda x: x.flat.base * 2,
    "base itself": lambda x: x.flat.base is x,
    "of a result": lambda x: (x * 2).flat[1:3],
    "two": lambda x: x.flat is x.flat,
    "type": lambda x: type(x.flat) is np.flatiter,
    "as_array": lambda x: np.array(x.flat),
    "list_of": lambda x: list(x.flat),
    "sum_of": lambda x: sum(x.flat),
    "compared": lambda x: x.flat == x.flat[0],
    "index": lambda x: x.flat.index,
    "tuple": lambda x: x.flat[1, 2],
    "none": lambda x: x.flat[None],
    "beyond": lambda x: x.flat[99],
    "text": lambda x: x.flat["a"],
    "returned": lambda x: x.flat.__next__(),
    "all_elements": all_elements,
    "iterated_and_written": iterated_and_written,
    "iterated_in_part": iterated_in_part,
    "iterated_twice": iterated_twice,
    "kept": kept,
    "written_where": written_where,
    "diagonal": diagonal,
}
KEYS = {"int": 1, "negative": -2, "slice": slice(1, 4), "all": slice(None), "steps": slice(None, None, 2)}
VALUES = {
    "number": 1, "float": 2.5, "bool": True, "complex": 1 + 2j, "element": np.float64(3.5), "large": 300, "list": [1, 2, 3],
    "three": np.array([7, 8, 9]), "floats": np.array([0.5, 1.5, 2.5]), "short": np.array([5]), "long": np.arange(40),
    "no axes": np.array(4.5), "matrix": np.ones((3, 1)), "complexes": np.array([1j, 2j, 3j]), "text": "a", "none": None,
}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", READS)
def test_flat_reads(name, layout):
    for code in ("i4", "D") if name not in ("written_where", "mask") else ("i4", "f8"):
        assert not mismatch(READS[name], [layouts(code)[layout]])


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("key", KEYS)
def test_flat_writes(key, value):
    for code, layout in itertools.product(["i1", "f8", "D"], ["vector", "fortran", "repeated"]):
        assert not mismatch(written(KEYS[key], VALUES[value]), [layouts(code)[layout]])


FLAGS = """c_contiguous f_contiguous contiguous fortran forc fnc aligned writeable owndata behaved carray farray
writebackifcopy num""".split()
ITEMS = """C_CONTIGUOUS F_CONTIGUOUS CONTIGUOUS FORTRAN C F FORC FNC ALIGNED A WRITEABLE W OWNDATA O BEHAVED B CARRAY CA FARRAY
FA WRITEBACKIFCOPY X c_contiguous nothing""".split()
MADE = {
    "itself": lambda x: x,
    "result": lambda x: x * 2,
    "turned": lambda x: x.T,
    "part": lambda x: x[..., 1:],
    "copy": lambda x: x.copy(),
    "wider": lambda x: np.broadcast_to(x, (2, *x.shape)),
    "total": lambda x: x.sum(),
}


# Of nothing, the strides are any, and so is what follows from them.
@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != "nothing"])
@pytest.mark.parametrize("made", MADE)
def test_flags(layout, made):
    make, array = MADE[made], layouts("f8")[layout]
    for name in FLAGS:
        if name in ("owndata", "num") and made not in ("itself",):
            continue
        assert not mismatch(lambda x, name=name: (getattr(make(x).flags, name), x + 1), [array])
    for name in ITEMS:
        if name in ("OWNDATA", "O") and made not in ("itself",):
            continue
        assert not mismatch(lambda x, name=name: (make(x).flags[name], x + 1), [array])


def test_a_flag_is_guarded():
    def which(x):
        return (x + 1 if x.flags.writeable else x - 1), x.flags.c_contiguous

    compiled = minidynamo.compile(which, fullgraph=True)
    x = array_of("f8")
    for _ in range(2):
        for writeable in (True, False):
            x.flags.writeable = writeable
            found, is_contiguous = compiled(x)
            assert np.array_equal(found, which(x)[0]) and is_contiguous
    assert not compiled(np.asfortranarray(array_of("f8")))[1]


def test_a_flag_that_is_set_is_set():
    def freeze(x):
        y = x * 2
        y.flags.writeable = False
        return y

    def frozen(x):
        x.flags.writeable = False
        x[0] = 1

    assert not mismatch(freeze, [array_of("f8")])
    assert not mismatch(frozen, [array_of("f8")])


def test_kept_objects_are_numpys():
    def keep(x):
        y = x * 2
        return x.flat, x.flags, y.flat, y

    x = array_of("f8")
    flat, flags, flat_of_result, y = minidynamo.compile(keep)(x)
    assert type(flat) is np.flatiter and flat.base is x and flags == x.flags
    assert flat_of_result.base is y and list(flat_of_result) == list((x * 2).flat)


@pytest.mark.parametrize("layout", FEW_LAYOUTS)
@pytest.mark.parametrize("to", FEW_CODES)
@pytest.mark.parametrize("code", FEW_CODES)
def test_views_in_another_dtype(code, to, layout):
    def of_both(x):
        return x.view(to), x.view(to).copy(), (x * 1).view(to)[..., :1].copy()

    assert not mismatch(of_both, [layouts(code)[layout]])


def through_view(code, change):
    def write(x):
        change(x.view(code))
        return x * 1

    return write


def read_after_write(x):
    bits = x.view(f"i{x.itemsize}")
    before = bits + 1
    x[...] = x[::-1].copy()
    return before, bits, bits ^ 1


def parts_written(z):
    parts = z.view(z.real.dtype)
    parts[1::2] = 0
    z += 1
    return parts * 2


def flip_sign(x):
    bits = x.view("i8" if x.itemsize == 8 else "i4")
    bits ^= np.array(-1, bits.dtype) << (8 * bits.itemsize - 1)
    return x


def last_bit(x):
    bits = x.view("i8")
    bits[1:] ^= 1
    return x * 2


CHANGES = {
    "whole": lambda v: v.__setitem__(Ellipsis, 1),
    "one": lambda v: v.__setitem__(0, 0),
    "part": lambda v: v.__setitem__(slice(1, 3), v[:2] * 0 + 1),
    "in place": lambda v: v.__ixor__(1) if v.dtype.kind in "iu" else v.__iadd__(1),
    "backwards": lambda v: v.__setitem__(slice(None, None, -1), v.copy()),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("to", ["u1", "i4", "f8", "F", "D"])
@pytest.mark.parametrize("code", ["i4", "f8", "F", "D"])
def test_writes_through_views_in_another_dtype(code, to, change):
    function = through_view(to, CHANGES[change])
    with np.errstate(all="ignore"):
        for layout in ("matrix", "gaps", "fortran"):
            array = layouts(code)[layout]
            assert not mismatch(function, [array])
            assert not mismatch(lambda x: function(x + x), [array])


@pytest.mark.parametrize("layout", ["vector", "matrix", "gaps", "backwards"])
def test_programs_of_bits(layout):
    for code in ("f4", "f8"):
        assert not mismatch(flip_sign, [layouts(code)[layout]])
        assert not mismatch(read_after_write, [layouts(code)[layout]])
    for code in ("F", "D"):
        assert not mismatch(parts_written, [layouts(code)["vector"]])


def test_views_are_captured():
    x = array_of("f8", (8,))
    for function in (
        last_bit, read_after_write, lambda x: x.flat[1:3] * 2, lambda x: x.view("i8") >> 3, lambda x: x.view("u1").sum(),
        lambda x: x.view("D").real * 2, lambda x: x.flags.c_contiguous and x * 2, lambda x: x.flat[0] + x.flat[-1],
        kept, all_elements, written(slice(1, 3), 2.5), written(0, 1.0), lambda x: len(x.flat) * x,
    ):  # fmt: skip
        assert is_captured(function, [x])


def test_wider_elements_that_are_not_aligned():
    whole = np.arange(12, dtype="i4")
    compiled = minidynamo.compile(lambda x: x.view("i8") + 1)
    for first in (0, 1, 2, 1, 0):
        x = whole[first : first + 8]
        assert np.array_equal(compiled(x), x.view("i8") + 1)
    assert not mismatch(lambda x: x[1:7].view("i8") * 2, [whole[:8]])
    assert not mismatch(lambda x: x[2:6].view("i8") * 2, [whole[:8]])
