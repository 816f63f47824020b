"""Pure functions of the standard library on known values: cmath, fractions, decimal, re, struct, string methods, formats."""

import base64
import binascii
import cmath
import collections
import datetime
import decimal
import enum
import fractions
import hashlib
import json
import keyword
import math
import numbers
import operator
import os.path
import pathlib
import re
import string
import struct
import sys
import textwrap
import zlib

from differential import snippet
from differential import whole_on_311 as whole

from minidynamo import tensor

NUMBER = re.compile(r"(?P<name>[a-z]+)\.(\d+)")


@whole()
def complex_functions(x):
    return x, cmath.sqrt(-4), cmath.phase(1j), cmath.polar(1 + 1j), cmath.isnan(1j), cmath.exp(0j)


@whole()
def rational(x):
    half = fractions.Fraction(1, 2)
    return x * float(half + half), half.numerator, half < 1


@whole()
def rational_returned(x):
    return x, fractions.Fraction(1, 3) * 2


@snippet()
def decimal_numbers(x):
    return x, decimal.Decimal("1.1") + decimal.Decimal("2.2"), int(decimal.Decimal(3))


@whole()
def pattern_matched(x):
    match = re.match(r"([a-z]+)(\d*)", "abc12")
    return x * len(match.group(1)), match.groups(), match.span(), match[2]


@whole()
def pattern_compiled(x):
    match = NUMBER.match("layer.12.weight")
    return x, match.group("name"), match.groupdict(), NUMBER.pattern


@whole()
def pattern_without_a_match(x):
    if NUMBER.match("12"):
        return x + 1
    return x + 2 if re.search("b", "abc") else x


@whole()
def pattern_functions(x):
    return (
        x,
        re.sub(r"\d+", "n", "a1b22"),
        re.split(r"[,;]", "a,b;c"),
        re.findall(r"\w+", "two words"),
        re.fullmatch("a", "ab"),
        re.escape("a.b"),
    )


@snippet()
def pattern_replaced_by_a_function(x):
    return x, re.sub(r"\d", lambda m: str(int(m.group()) + 1), "a1b2")


@snippet()
def pattern_iterated(x):
    return x, [m.group() for m in re.finditer("a.", "abac")]


@whole()
def packed(x):
    data = struct.pack("<if", 3, 0.5)
    return x, data, struct.unpack("<if", data), len(data), struct.calcsize("<q")


@whole()
def bytes_methods(x):
    data = b"a,b,c"
    return x, data.split(b","), data.decode(), data.hex(), data[0], data[1:3], bytes([1, 2]), b"".join([b"a", b"b"])


@whole()
def bytes_constructed(x):
    return x, bytes(3), bytes("é", "utf-8"), "é".encode(), int.from_bytes(b"\x01\x00", "big"), (258).to_bytes(2, "big")


@snippet()
def bytearray_written(x):
    data = bytearray(3)
    data[0] = 7
    data.extend(b"ab")
    return x, bytes(data), len(data), data[0]


@snippet()
def bytearray_returned(x):
    data = bytearray(b"ab")
    data += b"c"
    return x, data


@whole()
def string_checks(x):
    return x, "ab".isalpha(), "1".isdigit(), "aB".swapcase(), "a b".title(), "abc".startswith(("a", "b")), "x" in "xyz"


@whole()
def string_parts(x):
    return (
        x,
        "a.b.c".rpartition("."),
        "a-b".partition("-"),
        "a b  c".split(),
        "a\nb".splitlines(),
        "abab".replace("a", "c"),
    )


@whole()
def string_stripped(x):
    return x, "  a ".strip(), "model.weight".removeprefix("model."), "w.bin".removesuffix(".bin"), "xax".strip("x")


@whole()
def string_found(x):
    return x, "abc".find("c"), "abc".index("b"), "abca".count("a"), "abca".rfind("a"), ord("a"), chr(98)


@whole()
def string_joined(x):
    return x, ", ".join(str(n) for n in range(3)), "-".join(["a", "b"]), "ab" * 2, "".join(reversed("abc"))


@whole()
def string_formatted(x):
    name, number = "a", 3.14159
    return (
        x,
        f"{name:>5}|{number:.2f}|{number!r}|{name!s:<3}|{12:05d}|{1000000:,}|{0.5:%}|{255:#x}",
        f"{number:{6}.{2}f}",
    )


@whole()
def string_format_method(x):
    return x, "{0} {name} {0!r}".format(1, name="b"), "{:>{w}}".format("a", w=4), "%s %d %.2f" % ("a", 1, 2.5)


@whole()
def string_format_of_containers(x):
    return x, "{0[1]} {1[a]}".format([1, 2], {"a": 3}), f"{[1, 'a']} {(1,)} { ({'a': 1}) }", str({1: [2]}), repr({1})


@whole()
def string_percent_of_a_dict(x):
    return x, "%(a)s %(b)03d" % {"a": 1, "b": 2}


@whole()
def string_translated(x):
    return x, "abc".translate(str.maketrans("ab", "xy")), "a1".translate({ord("1"): None})


@whole()
def string_template(x):
    return x, string.capwords("a b"), string.Template("$a").template


class Angle:
    def __init__(self, degrees):
        self.degrees = degrees

    def __format__(self, spec):
        return f"{self.degrees:{spec or '.1f'}} deg"

    def __str__(self):
        return "an angle"

    def __repr__(self):
        return f"Angle({self.degrees})"


@whole()
def users_format(x):
    a = Angle(1.5)
    return x, f"{a}", f"{a:.3f}", format(a), f"{a!r}", f"{a!s:>10}", str(a), repr(a)


@snippet()
def users_format_in_methods(x):
    return x, "{} {!r}".format(Angle(2.0), Angle(3)), "%s" % Angle(1), f"{[Angle(1)]}"


@whole()
def users_repr_in_containers(x):
    return x, repr([Angle(1), (Angle(2),)]), str({"a": Angle(3)})


@whole()
def path_functions(x):
    return x, os.path.join("a", "b"), os.path.dirname("/a/b"), os.path.splitext("m.bin")[1], os.path.normpath("a/../b")


@whole()
def path_objects(x):
    return x, (pathlib.PurePosixPath("a") / "b.txt").suffix


@whole()
def environment_read(x):
    return (
        x,
        os.environ.get("MINIDYNAMO_NEVER_SET"),
        os.environ.get("MINIDYNAMO_NEVER_SET", "d"),
        os.getenv("NEVER", "e"),
    )


@whole()
def versions_compared(x):
    if sys.version_info >= (3, 8):
        return x + 1
    return x


@whole()
def versions_read(x):
    return (
        x,
        sys.version_info[0] == 3,
        sys.version_info.major,
        sys.byteorder,
        sys.maxsize > 2**32,
        sys.float_info.max > 1,
    )


@whole()
def number_tower(x):
    return x, isinstance(3, numbers.Number), isinstance(3.0, numbers.Integral), isinstance("a", numbers.Real)


@whole()
def integer_methods(x):
    return (
        x,
        (5).bit_length(),
        (5).bit_count(),
        (0.5).as_integer_ratio(),
        (2.0).is_integer(),
        (0.5).hex(),
        (3).conjugate(),
    )


@whole()
def float_parsed(x):
    return x, float("1e3"), float("inf"), int("ff", 16), int("0b11", 0), float("-0.0"), complex("1+2j"), bool("")


@whole()
def number_texts(x):
    return x, bin(5), hex(255), oct(8), repr(0.1), ascii("é"), str(1e20), hash(7), hash("a") == hash("a"), divmod(-7, 3)


@whole()
def rounded(x):
    return x, round(2.5), round(-1.234, 2), round(12345, -2), math.trunc(2.7), math.ceil(2.1), abs(-3), pow(2, 10, 1000)


@whole()
def math_more(x):
    return (
        x,
        math.lcm(4, 6),
        math.isqrt(17),
        math.copysign(1, -0.0),
        math.frexp(8.0),
        math.modf(2.5),
        math.log2(8),
        math.nan,
    )


@whole()
def keyword_checked(x):
    return x, keyword.iskeyword("for"), "abc".isidentifier()


@snippet()
def checksums(x):
    return x, zlib.crc32(b"a"), hashlib.sha256(b"a").hexdigest()[:8]


@whole()
def encoded(x):
    return x, base64.b64encode(b"abc"), binascii.hexlify(b"ab")


@snippet()
def json_text(x):
    return x, json.dumps({"a": [1, 2.5, None]}), json.loads('{"a": [1]}')


@whole()
def text_wrapped(x):
    return x, textwrap.dedent("  a\n  b"), textwrap.indent("a", "> ")


@snippet()
def dates(x):
    return x, datetime.date(2020, 1, 2).isoformat(), datetime.timedelta(hours=1).total_seconds()


class Color(enum.IntEnum):
    RED = 1
    BLUE = 2


class Mode(str, enum.Enum):
    TRAIN = "train"
    EVAL = "eval"


class Access(enum.Flag):
    READ = enum.auto()
    WRITE = enum.auto()
    BOTH = READ | WRITE


class Bits(enum.IntFlag):
    A = 1
    B = 2


@whole()
def int_enum_as_number(x):
    return x * Color.BLUE + Color.RED, Color.RED + 1, Color.RED < Color.BLUE, [10, 20, 30][Color.BLUE], int(Color.RED)


@whole()
def int_enum_compared(x):
    return x, Color.RED == 1, Color.RED is Color(1), Color.RED in (1, 3), Color["BLUE"], max(Color), list(Color)


@whole(lambda: (tensor([1.0]), Color.RED), lambda: (tensor([1.0]), Color.BLUE), lambda: (tensor([1.0]), 1))
def int_enum_searched(x, color):
    return (
        x * 2,
        color in (Color.BLUE, Color.RED),
        color in [3, 1],
        1 in (color, 3),
        [Color.BLUE, color].index(color),
        (color, 2) == (Color.RED, Color.BLUE),
        {"k": color} == {"k": 1},
    )


@snippet()
def int_enum_as_size(x):
    return x.reshape(Color.RED, 3), range(Color.BLUE), x[Color.RED]


@whole()
def string_enum_compared(x):
    return (
        x,
        Mode.TRAIN == "train",
        Mode("eval") is Mode.EVAL,
        Mode.TRAIN.upper(),
        Mode.TRAIN.value,
        Mode.EVAL != "train",
    )


@snippet()
def string_enum_as_key(x):
    return x * {"train": 2, "eval": 3}[Mode.TRAIN], {Mode.EVAL: x}[Mode.EVAL], Mode.TRAIN in ("train",)


@whole()
def string_enum_formatted(x):
    return x, f"{Mode.TRAIN.value}", Mode.TRAIN.name, Mode.EVAL + "!", Mode.TRAIN.startswith("t")


@whole()
def flags_combined(x):
    return x, Access.READ | Access.WRITE, Access.BOTH & Access.READ, bool(Access.READ & Access.WRITE)


@whole()
def flags_tested(x):
    return x, Access.READ in Access.BOTH, (Access.READ | Access.WRITE) is Access.BOTH, ~Access.READ, Access.READ.value


@whole()
def int_flags(x):
    return x, Bits.A | Bits.B, Bits.A | 4, Bits.A & 1, (Bits.A | Bits.B) == 3


@whole()
def enum_members_iterated(x):
    return (
        x,
        [c.name for c in Color],
        {m.value: m for m in Mode},
        len(Color),
        Color.RED.name,
        isinstance(Color.RED, int),
    )


Size = collections.namedtuple("Size", "height width")


@whole()
def operator_functions(x):
    items = [1, 2, 3]
    operator.setitem(items, 0, 9)
    operator.delitem(items, 1)
    return x, items, operator.index(3), operator.truth([]), operator.concat([1], [2]), operator.countOf([1, 1], 1)


@snippet()
def operator_in_place(x):
    items = [1]
    return (
        operator.iadd(items, [2]),
        operator.imul(3, 4),
        operator.indexOf([5, 6], 6),
        operator.abs(-3),
        operator.inv(2),
        x,
    )


@whole()
def operator_call(x):
    return operator.getitem({"a": x}, "a"), operator.contains("abc", "a"), operator.call(max, 1, 2)


@whole()
def named_tuple_functions(x):
    s = Size(2, width=3)
    return x * s.width, s._asdict(), s._replace(height=5), Size._fields, s + (1,), Size._make([1, 2]), s == (2, 3)


@snippet()
def named_tuple_class_created_inside(x):
    Pair = collections.namedtuple("Pair", ["a", "b"])
    return Pair(x, 1).a + 1


@whole()
def unions_of_types(x):
    return x, isinstance(3, int | str), isinstance(x, int | None), isinstance(None, int | None)


@snippet()
def enum_members_as_text(x):
    return (
        x,
        "%s %s" % (Mode.TRAIN, Color.RED),
        "%s" % Mode.TRAIN,
        "{} {}".format(Mode.EVAL, Color.BLUE),
        str(Mode.TRAIN),
    )


@snippet()
def enum_members_kept(x):
    table = {Mode.TRAIN: x, Color.RED: 1}
    return table, [Mode.EVAL], {Color.BLUE}, (Mode.TRAIN,), f"{Mode.EVAL!r}", hash(Color.RED), repr(Color.RED)


class Odd(enum.IntEnum):
    ONE = 1

    def __add__(self, other):
        return "added"

    def __eq__(self, other):
        return "equal"

    __hash__ = enum.IntEnum.__hash__

    def __index__(self):
        return 2

    def __pow__(self, other, modulo=None):
        return "power"


@snippet()
def enum_members_with_user_operators(x):
    return x, Odd.ONE + 1, Odd.ONE == 1, Odd.ONE - 1, pow(Odd.ONE, 2), int(Odd.ONE), [10, 20, 30][Odd.ONE], hex(Odd.ONE)


class Word(enum.StrEnum):
    ON = "on"
    OFF = "off"


@whole()
def members_shown(x):
    return (
        x,
        f"{Color.RED} {Color.RED!r} {Color.RED:03d} {Color.RED!s:>4}",
        f"{Word.ON} {Word.ON!r} {Word.ON:>5}",
        f"{Mode.TRAIN!r}",
        str(Color.BLUE) + str(Word.OFF),
        repr(Word.OFF),
        "%s %d %5.1f %s %r" % (Color.RED, Color.BLUE, Color.RED, Word.ON, Mode.EVAL),
        "{} {:>4} {!r}".format(Color.RED, Word.ON, Mode.EVAL),
        "%s" % Word.ON,
    )


@whole()
def members_as_keys(x):
    table = {Mode.TRAIN: x, Color.RED: 1, "eval": 2}
    table[Mode.EVAL] = 3
    table["train"] = x + 1
    return (
        table,
        table["train"],
        table[Mode.EVAL],
        table[1],
        Color.BLUE in table,
        {Color.BLUE, 2, Mode.EVAL, "eval"},
        list(table),
        hash(Color.RED) == hash(1),
    )


@whole()
def members_as_operands_of_tensors(x):
    y = x.reshape(-1)
    return y.reshape(Color.RED, -1), y[Color.RED], y.sum(Color.RED - 1), y.reshape((-1, Color.RED))
