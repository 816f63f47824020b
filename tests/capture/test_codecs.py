"""Codecs and their error handlers: those of the program run when the program runs them, however they are reached."""

import codecs
import encodings
import os

import pytest

import minidynamo

X = minidynamo.ones(2)

# Texts and bytes with and without characters that some codec cannot represent.
TEXTS = ["", "plain", "a\xff", "a\u20ac", "\U0001f600!", "a\udcffb", "\ud800"]
BYTES = [b"", b"plain", b"a\xff", b"\xe2\x82\xac", b"\xed\xa0\x80", b"a\0b\0", b"\xff\xfe\0\0a\0\0\0", b"\x00\xd8"]
BUILT_IN = ["utf-8", "UTF8", "utf_16", "UTF-32", "ascii", "US-ASCII", "latin-1", "iso-8859-1", "ISO8859_1", "Latin1"]
OTHERS = ["utf-16-le", "cp1252", "latin2", "unicode_escape", "rot13", "no such codec", "utf\0", "hex"]
ERRORS = ["strict", "ignore", "replace", "surrogateescape", "backslashreplace", "xmlcharrefreplace", "surrogatepass"]
ERRORS += ["namereplace", "no such handler", ""]

ENCODERS = {
    "method": lambda text, name, errors: text.encode(name, errors),
    "method by keywords": lambda text, name, errors: text.encode(errors=errors, encoding=name),
    "str.encode": lambda text, name, errors: str.encode(text, name, errors),
    "bytes": lambda text, name, errors: bytes(text, name, errors),
    "bytes by keywords": lambda text, name, errors: bytes(text, errors=errors, encoding=name),
    "bytearray": lambda text, name, errors: bytearray(text, name, errors),
    "codecs.encode": lambda text, name, errors: codecs.encode(text, name, errors),
    "codecs.getencoder": lambda text, name, errors: codecs.getencoder(name)(text, errors),
}
DECODERS = {
    "method": lambda data, name, errors: data.decode(name, errors),
    "method by keywords": lambda data, name, errors: data.decode(errors=errors, encoding=name),
    "bytes.decode": lambda data, name, errors: bytes.decode(data, name, errors),
    "str": lambda data, name, errors: str(data, name, errors),
    "str by keywords": lambda data, name, errors: str(data, errors=errors, encoding=name),
    "codecs.decode": lambda data, name, errors: codecs.decode(data, name, errors),
    "codecs.getdecoder": lambda data, name, errors: codecs.getdecoder(name)(data, errors),
}


def outcome(function, *args):
    try:
        return function(*args)[0]
    except Exception as error:
        return type(error), str(error)


def folds(convert):
    """Returns the function with the operands of the conversion as constants, which capture knows; it has not been
    captured yet."""

    def make(value, name, errors):
        minidynamo._dynamo.reset()

        def function(x):
            return convert(value, name, errors), x + 1

        return function

    return make


@pytest.mark.parametrize(
    "way", [*(("encode", way) for way in ENCODERS), *(("decode", way) for way in DECODERS)], ids=str
)
def test_conversions(way):
    convert = (ENCODERS if way[0] == "encode" else DECODERS)[way[1]]
    for value in TEXTS if way[0] == "encode" else BYTES:
        for name in BUILT_IN + OTHERS:
            for errors in ERRORS:
                plain = folds(convert)(value, name, errors)
                compiled = minidynamo.compile(plain)
                wanted = outcome(plain, X)
                assert outcome(compiled, X) == wanted == outcome(compiled, X), (value, name, errors)


@pytest.fixture
def handler():
    """Registers handlers that count their calls; unregisters them at the end."""
    saved = {name: codecs.lookup_error(name) for name in ERRORS[:8]}
    seen = []

    def register(name, mark):
        def handle(error):
            seen.append(mark)
            return (f"<{mark}{len(seen)}>", error.end)

        codecs.register_error(name, handle)

    register.seen = seen
    yield register
    for name, original in saved.items():
        codecs.register_error(name, original)


ENCODE = [
    (ENCODERS[way], text, name)
    for way in ENCODERS
    for text in ("ok", "a\xff\udc80")
    for name in ("ascii", "utf-8", "utf-16")
]
DECODE = [
    (DECODERS[way], data, name)
    for way in DECODERS
    for data in (b"ok", b"a\xff")
    for name in ("ascii", "utf-8", "utf-16")
]


@pytest.mark.parametrize("errors", ["counting", *ERRORS[:8]])
def test_handlers_of_the_program(handler, errors):
    for convert, value, name in ENCODE + DECODE:
        plain = folds(convert)(value, name, errors)
        compiled = minidynamo.compile(plain)
        rows = []
        for function in (plain, compiled):
            handler.seen.clear()
            results = []
            for mark in "aab":
                # Registered again between calls.
                handler(errors, mark)
                results.append(outcome(function, X))
            rows.append((results, list(handler.seen)))
        assert rows[0] == rows[1], (value, name)


@pytest.mark.parametrize("errors", ERRORS[:8])
def test_a_handler_that_is_registered_later(handler, errors):
    for convert, value, name in ENCODE + DECODE:
        original = codecs.lookup_error(errors)
        plain = folds(convert)(value, name, errors)
        compiled = minidynamo.compile(plain)
        rows = []
        for function in (plain, compiled):
            handler.seen.clear()
            results = [outcome(function, X)]
            handler(errors, "late")
            results.append(outcome(function, X))
            codecs.register_error(errors, original)
            results.append(outcome(function, X))
            rows.append((results, list(handler.seen)))
        assert rows[0] == rows[1], (value, name)


class OwnCodec:
    """A codec of this name that counts its calls, registered for a block."""

    def __init__(self, name, mark):
        self.name, self.mark, self.calls = name, mark, 0

    def encode(self, text, errors="strict"):
        self.calls += 1
        return f"{self.mark}{self.calls}".encode(), len(text)

    def decode(self, data, errors="strict"):
        self.calls += 1
        return f"{self.mark}{self.calls}", len(data)

    def search(self, name):
        return codecs.CodecInfo(self.encode, self.decode, name=name) if name == self.name else None

    def __enter__(self):
        # The object that was registered must be unregistered.
        self.registered = self.search
        codecs.register(self.registered)
        return self

    def __exit__(self, *exception):
        codecs.unregister(self.registered)


@pytest.mark.parametrize(
    "way", [*(("encode", way) for way in ENCODERS), *(("decode", way) for way in DECODERS)], ids=str
)
@pytest.mark.parametrize("spelled", ["ours_", "OURS_", "ours!"])
def test_codecs_of_the_program(way, spelled):
    convert = (ENCODERS if way[0] == "encode" else DECODERS)[way[1]]
    plain = folds(convert)("text" if way[0] == "encode" else b"text", spelled, "strict")
    compiled = minidynamo.compile(plain)
    rows = []
    for function in (plain, compiled):
        row = [outcome(function, X)]
        for mark in "ab":
            # Unregistered and registered again, as a new object.
            with OwnCodec("ours_", mark) as codec:
                row += [outcome(function, X), outcome(function, X), codec.calls]
            row.append(outcome(function, X))
        rows.append(row)
    assert rows[0] == rows[1]


def test_a_codec_that_replaces_another():
    """The names for which the interpreter does no look-up keep their codecs; others do not."""
    for name in ("ascii", "utf-8", "latin-1", "utf-16", "cp1252", "latin2"):

        def function(x, name=name):
            return ("a".encode(name), b"a".decode(name)) if name != "utf-16" else ("a".encode(name),), x + 1

        compiled = minidynamo.compile(function)
        rows = []
        for each in (function, compiled):
            row = [outcome(each, X)]
            codecs.unregister(encodings.search_function)
            try:
                with OwnCodec(encodings.normalize_encoding(name).lower(), "own"):
                    row.append(outcome(each, X))
            finally:
                codecs.register(encodings.search_function)
            row.append(outcome(each, X))
            rows.append(row)
        assert rows[0] == rows[1], name


class Counter:
    count = 0

    def __call__(self, error):
        self.count += 1
        return f"<{self.count}>", error.end


def test_a_handler_sees_earlier_writes():
    counter = Counter()
    codecs.register_error("counter", counter)

    def function(x):
        counter.count = 10
        first = "\xff\xff".encode("ascii", "counter")
        counter.count += 100
        return first, "\xff".encode("ascii", "counter"), counter.count, x + 1

    wanted = (b"<11>", b"<112>", 112)
    assert function(X)[:3] == wanted
    compiled = minidynamo.compile(function)
    assert [compiled(X)[:3] for _ in range(3)] == [wanted] * 3


def test_names_of_files():
    def function(x, name):
        return os.fsencode(name), os.fsdecode(name.encode("utf-8", "surrogateescape")), x + 1

    compiled = minidynamo.compile(function)
    for name in ("a", "\xe9", "\udcff"):
        assert compiled(X, name)[:2] == function(X, name)[:2]


@pytest.mark.counts_regions
@pytest.mark.parametrize(
    "convert",
    [
        lambda: "a\u20ac".encode(),
        lambda: "a".encode("ASCII", "strict"),
        lambda: "a\xff".encode("latin-1"),
        lambda: "a\xff".encode("ascii", "replace"),
        lambda: "a\xff".encode("ascii", errors="xmlcharrefreplace"),
        lambda: "\U0001f600".encode("utf-16"),
        lambda: b"a\xe2\x82\xac".decode(),
        lambda: b"\xff".decode("utf-8", "ignore"),
        lambda: b"\xff".decode("latin_1"),
        lambda: str(b"abc", "utf-8"),
        lambda: bytes("abc", "ascii"),
    ],
)
def test_conversions_without_a_registry_are_captured(convert):
    minidynamo._dynamo.reset()
    compiled = minidynamo.compile(lambda x: (convert(), x + 1), fullgraph=True)
    assert compiled(X)[0] == convert()
