"""Python signatures of ops, from the schemas that head their doc strings."""

import re

# In the class Tensor, and in the package itself, names such as `float` and `dtype` are something else: see ALIASES.
TYPES = {
    "Tensor": "Tensor",
    "Tensor[]": "Sequence[Tensor]",
    "Scalar": "_float",
    "Number": "Tensor | _complex",
    "int": "_int",
    "int[]": "_int | Sequence[_int]",
    "int[*]": "_int | Sequence[_int]",
    "float": "_float",
    "bool": "_bool",
    "dtype": "_dtype",
    "str": "_str",
    "device": "_device | _str",
    "memory_format": "_memory_format",
    "any": "Any",
}
ALIASES = """from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from builtins import str as _str
from builtins import tuple as _tuple"""
ALIASES_OF_TYPES = """_device = device
_dtype = dtype
_memory_format = memory_format"""


class Parameter:
    def __init__(self, text):
        declared, _, self.default = text.partition("=")
        kind, self.name = declared.rsplit(" ", 1)
        self.optional = kind.endswith("?")
        self.kind = kind.rstrip("?")

    def annotated(self, name=None):
        kind = TYPES[self.kind] + (" | None" if self.optional else "")
        return f"{name or self.name}: {kind}" + (" = ..." if self.default else "")


def split(text):
    """Parts between the commas that stand outside of brackets."""
    return re.split(r", (?![^\[]*\])", text) if text else []


def result_type(text):
    if text == "Tensor[]":
        return "_tuple[Tensor, ...]"
    named = re.findall(r"Tensor (\w+)", text)
    return f"_{'_'.join(named)}" if named else text


def parse(schema):
    """(parameters before "*", parameters after it, result)"""
    inner = schema[schema.index("(") + 1 : schema.rindex(") ->")]
    before, _, after = inner.partition("*, ")
    if inner == "*":
        before = after = ""
    positional = [Parameter(part) for part in split(before.removesuffix(", "))]
    named = [Parameter(part) for part in split(after)]
    return positional, named, result_type(schema[schema.rindex(") -> ") + 5 :])


def signatures(schema, method, takes_out, takes_generator=False):
    """One signature, or two where the sizes may be given one by one."""
    positional, named, result = parse(schema)
    keywords = [parameter.annotated() for parameter in named]
    if takes_generator:
        keywords.append("generator: Generator | None = ...")
    if takes_out:
        out = "Tensor" if result == "Tensor" else "_tuple[Tensor, ...]"
        keywords.append(f"out: {out} | None = ...")
    first = []
    if method:
        positional, first = positional[1:], ["self"]
    elif positional and positional[0].name == "self":
        positional, first = positional[1:], [positional[0].annotated("input")]
    plain = [*first, *(parameter.annotated() for parameter in positional)]
    found = [", ".join([*plain, *(["*", *keywords] if keywords else [])])]
    if positional and positional[-1].kind == "int[*]":
        found.append(", ".join([*first, f"*{positional[-1].name}: _int", *keywords]))
    return [f"({arguments}) -> {result}" for arguments in found]


def schemas_of(doc):
    """The schemas at the head of an op's doc string: parameters have types before their names."""
    head = (doc or "").partition("\n\n")[0].split("\n")
    pattern = re.compile(r"[\w.]+\((?:[A-Za-z]+(?:\[\*?\])?\?? \w+.*|\*, .*)?\) -> (?:Tensor|\()")
    return head if all(pattern.match(line) for line in head) else []


def op_signatures(schemas, method, takes_out, takes_generator=lambda row: False):
    """Of all overloads; takes_out(row) says whether a row has a form with out=, takes_generator(row) with
    generator=."""
    found = []
    for schema in schemas:
        row = schema.partition("(")[0]
        for signature in signatures(schema, method, not method and takes_out(row), not method and takes_generator(row)):
            if signature not in found:
                found.append(signature)
    return found
