"""f-strings, formatting and string methods on known values."""

from differential import snippet, whole

from minidynamo import tensor


@whole()
def f_string(x):
    return x, f"{len(x)} values"


@whole()
def f_string_formats(x):
    n, value = 42, 3.14159
    return x, f"{n:5d}|{value:.2f}|{n!r:>6}|{'a'!s}|{n:#x}|{value:{10}.{3}}"


@whole()
def f_string_debug(x):
    n = 3
    return x, f"{n=} {n + 1=}"


@whole()
def f_string_key(x):
    table = {"w0": x, "w1": x + 1}
    return [table[f"w{i}"] for i in range(2)]


@snippet()
def f_string_of_tensor(x):
    return f"{x + 1}"


@snippet()
def str_and_repr_of_tensor(x):
    return str(x + 1), repr(x)


@whole()
def f_string_of_shape(x):
    return x, f"{tuple(x.shape)}"


@snippet()
def percent_format(x):
    return x, "%d %s %.1f" % (1, "a", 2.5), "%(k)s" % {"k": 3}


@snippet()
def format_method(x):
    return x, "{} {1}".replace("{1}", "{}").format(1, "b"), "{a:>4}".format(a=2)


@whole()
def concatenation(x):
    return x, "a" + "b" * 3, "ab"


@snippet()
def methods(x):
    return (
        x,
        " aB ".strip().upper(),
        "a,b".split(","),
        "-".join(["a", "b"]),
        "abc".replace("b", "x"),
        "abc".startswith("ab"),
        "abc".endswith(("x", "c")),
        "abc".find("c"),
        "a" in "abc",
        "abc".title(),
        "7".zfill(3),
        "ab".center(6, "*"),
        "a-b-c".partition("-"),
        "12".isdigit(),
    )


@whole()
def indexing(x):
    return x, "abc"[0], "abc"[-1], "abcdef"[1:4], "abc"[::-1]


@whole()
def comparison(x):
    return x, "a" < "b", "a" == "a", "abc" != "abd", max("b", "c")


@whole()
def conversions(x):
    return x, str(3), str(2.5), int("12"), float("1.5"), int("ff", 16), ord("a"), chr(98), repr("q"), str(None)


@snippet(raises=ValueError)
def bad_number(x):
    return x + int("abc")


@whole()
def encode_decode(x):
    return x, "é".encode(), b"abc".decode(), "é".encode("latin-1")


@snippet()
def translate(x):
    return x, "abc".translate(str.maketrans("a", "z"))


@whole(lambda: (tensor([1.0]), "abc"), lambda: (tensor([1.0]), "abcd"))
def string_argument(x, text):
    return x * len(text), text.upper()


@whole()
def format_builtin(x):
    return x, format(3.14159, ".3f"), format(255, "x")


@whole()
def splitlines_and_iteration(x):
    return x, "a\nb".splitlines(), [c for c in "xyz"], list("ab"), dict(enumerate("ab"))
