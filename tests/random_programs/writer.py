"""Writes small functions over tensors, numbers and containers, with control flow, breaks, exceptions and mutation.

Every program ends: loops are over finite things or count down. A program may raise; then it must raise when compiled as well.
"""

PREAMBLE = """
import minidynamo
from minidynamo._dynamo import graph_break

TOTAL = 0


class Box:
    scale = 2

    def __init__(self, value, count=1):
        self.value = value
        self.count = count

    def grow(self, by=1):
        self.count += by
        return self.value * self.count

    def peek(self, by=1):
        return self.value * by + self.scale

    @property
    def doubled(self):
        return self.value * 2

    def __call__(self, other):
        return self.value + other

    def __len__(self):
        return self.count % 4

    def __eq__(self, other):
        return isinstance(other, Box) and self.count == other.count

    def __add__(self, other):
        return Box(self.value + 1, self.count + (other.count if isinstance(other, Box) else 1))


class Child(Box):
    scale = 3

    def grow(self, by=2):
        return super().grow(by) - 1

    @classmethod
    def made(cls, value):
        return cls(value, 5)

    @staticmethod
    def shifted(value):
        return value + 0.5
"""

# Expressions of one type; {t} {i} {f} {b} {s} {l} {q} {d} {o} stand for expressions of a type:
# tensor, int, float, bool, str, list of ints, list of tensors, dict of tensors, Box.
EXPRESSIONS = {
    "t": ["{t} + {t}", "{t} * {i}", "{t} - {f}", "{t} / 2", "-{t}", "{i} - {t}", "{t} * {b}", "{t}.relu()", "{t}.abs()",
          "minidynamo.sin({t})", "minidynamo.maximum({t}, {t})", "{t}.clone()", "{t}.reshape(-1).reshape({t}.shape)",
          "({t} if {b} else {t})", "{t}.sum() + {t}", "{t}[0] + {t}", "{q}[0]", "{q}[-1]", "{d}['a']",
          "{d}.get('b', {t})", "{o}.value", "{o}.peek()", "{o}.peek(by={i})", "{o}.doubled", "{o}({t})", "{o}.grow()",
          "sum({q})", "helper({t})", "helper({t}, {i})", "helper({t}, flag={b})", "helper({t}, *[{i}], extra={i})",
          "minidynamo.where({t} > 0, {t}, {t})", "{t}.T.T", "{t}.clamp(-1.0, 1.0)", "Child.shifted({t})",
          "Child.made({t}).value", "(lambda p, k=2: p * k)({t})", "max({q}, key=lambda v: float(v.sum()))",
          "minidynamo.stack({q})[0]", "{t}.to(minidynamo.float64).to(minidynamo.float32)", "{t}.detach()", "abs({t})",
          "next(iter({q}))", "[{t}, {t}][{b}]", "{t}.mean(0, keepdim=True) + {t}", "{t}.softmax(-1)"],
    "i": ["{i} + {i}", "{i} - {i}", "{i} * 2", "{i} // 3", "{i} % 5", "len({l})", "len({q})", "len({d})", "{t}.dim()",
          "{t}.shape[0]", "{t}.numel()", "max({i}, {i})", "min({l} + [1])", "sum({l})", "abs({i})", "{o}.count", "len({o})",
          "int({f})", "({i} if {b} else {i})", "{l}[0]", "{l}[-1]", "{l}.count({i})", "len({s})", "{i} & 3", "-{i}",
          "int({t}.sum() > 0)", "hash({i}) % 3", "{i} ** 2 % 7", "divmod({i}, 3)[1]", "len({{{i}, {i}}})", "ord({s}[0])",
          "sorted({l} + [3], reverse={b})[0]", "[*{l}, {i}][-1]", "functools_total({l})"],
    "f": ["{f} + 0.5", "{f} * {i}", "float({i})", "round({f}, 1)", "{i} / 2", "abs({f})", "min({f}, 1.5)", "({f} if {b} else -{f})"],
    "b": ["{i} > 2", "{i} == {i}", "{f} < 1.0", "not {b}", "({b} and {b})", "({b} or {b})", "{i} in {l}", "{l} == {l}",
          "isinstance({o}, Child)", "{t}.sum() > 0", "'a' in {d}", "{t}.shape == {t}.shape", "{s} == {s}", "bool({l})",
          "{o} == {o}", "{o} is {o}", "{t} is {t}", "any(v > 1 for v in {l})", "all([v < 9 for v in {l}])", "bool({o})",
          "1 < {i} < 5", "hasattr({o}, 'count')", "callable({o})", "{t}.is_floating_point()", "{i} is None"],
    "s": ["{s} + 'x'", "f'{{{i}}}:{{{b}}}'", "str({i})", "{s}.upper()", "'-'.join([{s}, {s}])", "repr({l})", "{s}[::-1]",
          "'%s!' % {i}", "f'{{{f}:.2f}}'", "{s} * 2", "type({o}).__name__", "str({t}.shape)", "'{{}}'.format({i})"],
    "l": ["[{i}, {i}]", "[v + 1 for v in {l}]", "{l} + [{i}]", "{l}[1:]", "list(range({i} % 4))", "sorted({l})",
          "[v for v in {l} if v % 2]", "list(reversed({l}))", "[a * b for a, b in zip({l}, {l})]", "{l} * 2", "list(map(abs, {l}))",
          "[k + v for k, v in enumerate({l})]", "list({l})", "[*{l}, *{l}]", "list(filter(None, {l}))"],
    "q": ["[{t}, {t}]", "{q} + [{t}]", "[v * 2 for v in {q}]", "{q}[1:] + [{t}]", "list({d}.values())", "[{t}] * 2",
          "[p + q for p, q in zip({q}, {q})]", "list({q})", "[v for v in {q} if v.dim() > 0]", "list(reversed({q}))"],
    "d": ["{{'a': {t}, 'b': {t}}}", "dict({d})", "{{**{d}, 'c': {t}}}", "{{k: v + 1 for k, v in {d}.items()}}", "dict(a={t})",
          "{d} | {{'e': {t}}}"],
    "o": ["Box({t})", "Child({t}, {i})", "Child.made({t})", "({o} if {b} else {o})", "{o} + {o}"],
}  # fmt: skip

LITERALS = {
    "t": ["minidynamo.ones(3)", "minidynamo.tensor([1.0, -2.0, 0.5])", "minidynamo.full((3,), 2.0)"],
    "i": ["0", "1", "2", "3", "-1", "7"],
    "f": ["0.5", "-1.25", "2.0"],
    "b": ["True", "False"],
    "s": ["'a'", "'word'"],
    "l": ["[1, 2, 3]", "[5]"],
    "q": ["[minidynamo.ones(3)]"],
    "d": ["{'a': minidynamo.ones(3)}"],
    "o": ["Box(minidynamo.ones(3))"],
}

PARAMETERS = {"x": "t", "y": "t", "n": "i", "items": "l", "tensors": "q", "table": "d", "box": "o"}


class Writer:
    """Writes one program; `random` has choice, randint and random."""

    def __init__(self, random):
        self.random = random
        self.lines = []
        self.names = {}  # variables that are surely set: name to type
        self.indent = 1
        self.budget = 40
        self.fresh = 0
        self.loops = 0
        self.in_callee = False

    def line(self, text):
        self.lines.append("    " * self.indent + text)

    def new_name(self):
        self.fresh += 1
        return f"v{self.fresh}"

    def expression(self, kind, depth=2):
        names = [name for name, known in self.names.items() if known == kind]
        if depth == 0 or self.random.random() < 0.35:
            return (
                self.random.choice(names)
                if names and self.random.random() < 0.9
                else self.random.choice(LITERALS[kind])
            )
        template = self.random.choice(EXPRESSIONS[kind])
        if self.in_callee and "helper(" in template:
            return self.expression(kind, depth - 1)
        text = ""
        position = 0
        while position < len(template):
            two = template[position : position + 2]
            if two in ("{{", "}}"):
                text += two[0]
                position += 2
            elif template[position] == "{":
                part = self.expression(template[position + 1], depth - 1)
                # Quotes inside an f-string are not nested before 3.12.
                text += part if not template.startswith("f'") else part.replace("'", '"')
                position += 3
            else:
                text += template[position]
                position += 1
        return f"({text})" if " " in text and not text.startswith("f'") else text

    def block(self, size):
        """Statements one level deeper; what they define is forgotten afterwards."""
        known = dict(self.names)
        self.indent += 1
        for _ in range(size):
            self.statement()
        self.indent -= 1
        self.names = {name: kind for name, kind in known.items() if name in self.names}

    def statement(self):
        self.budget -= 1
        if self.budget < 0 or self.indent > 4:
            return self.assign()
        writers = [self.assign] * 5 + [
            self.augment, self.augment, self.branch, self.branch, self.loop, self.loop, self.countdown, self.catch,
            self.context, self.say, self.say, self.pause, self.change_container, self.change_container, self.change_object,
            self.unpack, self.nest, self.leave, self.complain, self.change_global, self.forget, self.write_tensor,
            self.generate, self.match,
        ]  # fmt: skip
        self.random.choice(writers)()

    def assign(self):
        kind = self.random.choice("tttttiifbslqdo")
        text = self.expression(kind)
        same = [name for name, known in self.names.items() if known == kind]
        name = self.random.choice(same) if same and self.random.random() < 0.5 else self.new_name()
        self.line(f"{name} = {text}")
        self.names[name] = kind

    def pick(self, kind):
        names = [name for name, known in self.names.items() if known == kind]
        return self.random.choice(names) if names else None

    def augment(self):
        kind = self.random.choice("tiifl")
        name = self.pick(kind)
        if name is None:
            return self.assign()
        operator = "+" if kind == "l" else self.random.choice("+-*")
        self.line(f"{name} {operator}= {self.expression(kind)}")

    def branch(self):
        self.line(f"if {self.expression('b')}:")
        self.block(self.random.randint(1, 3))
        if self.random.random() < 0.4:
            self.line(f"elif {self.expression('b')}:")
            self.block(1)
        if self.random.random() < 0.5:
            self.line("else:")
            self.block(self.random.randint(1, 2))

    def loop(self):
        name = self.new_name()
        over, kind = self.random.choice([("range({i} % 4)", "i"), ("{l}", "i"), ("{q}", "t"), ("{d}.values()", "t"),
                                         ("list({d})", "s"), ("range(3)", "i"), ("reversed({l})", "i")])  # fmt: skip
        # A copy, so that a loop that changes what it goes over ends.
        text = over.replace("{i}", self.expression("i")).replace("{l}", f"list({self.expression('l')})[:3]")
        text = text.replace("{q}", f"list({self.expression('q')})[:3]").replace("{d}", f"dict({self.expression('d')})")
        if self.random.random() < 0.2:
            index = self.new_name()
            self.line(f"for {index}, {name} in enumerate({text}):")
            self.names[index] = "i"
        else:
            index = None
            self.line(f"for {name} in {text}:")
        self.names[name] = kind
        self.loop_body()
        for made in (name, index):
            self.names.pop(made, None)

    def loop_body(self):
        self.loops += 1
        self.block(self.random.randint(1, 3))
        if self.random.random() < 0.3:
            self.indent += 1
            self.line(f"if {self.expression('b')}:")
            self.line("    " + self.random.choice(["break", "continue"]))
            self.indent -= 1
        self.loops -= 1
        if self.random.random() < 0.2:
            self.line("else:")
            self.block(1)

    def countdown(self):
        name = self.new_name()
        self.line(f"{name} = {self.random.randint(1, 4)}")
        self.line(f"while {name} > 0:")
        self.indent += 1
        self.line(f"{name} -= 1")
        self.indent -= 1
        self.names[name] = "i"
        self.loops += 1
        # Not in scope of the body: nothing there may set the counter back.
        del self.names[name]
        self.block(self.random.randint(1, 2))
        self.loops -= 1
        self.names[name] = "i"

    def catch(self):
        self.line("try:")
        self.block(self.random.randint(1, 2))
        self.indent += 1
        self.line(self.random.choice([
            "raise ValueError('planned')", f"{self.expression('l')}[9]", f"{self.expression('d')}['missing']",
            f"{self.expression('i')} // ({self.expression('i')} * 0)", f"assert {self.expression('b')}, 'asserted'", "pass",
            f"{self.expression('t')} + None", f"{self.expression('t')}.reshape(5)", f"{self.expression('o')}.absent",
        ]))  # fmt: skip
        self.indent -= 1
        if self.random.random() < 0.8:
            caught = self.random.choice(["Exception", "(ValueError, LookupError)", "ZeroDivisionError", "ValueError"])
            self.line(f"except {caught} as error:")
            self.indent += 1
            self.line(self.random.choice(["print(type(error).__name__)", "pass", "graph_break()"]))
            self.indent -= 1
            self.block(1)
            if self.random.random() < 0.3:
                self.line("finally:")
                self.block(1)
        else:
            self.line("finally:")
            self.block(1)

    def context(self):
        self.line(
            self.random.choice(
                ["with minidynamo.no_grad():", "with contextlib.suppress(LookupError):", "with Noted('c'):"]
            )
        )
        self.block(self.random.randint(1, 2))

    def say(self):
        kind = self.random.choice("iisbfl")
        self.line(f"print({self.expression(kind)})")

    def pause(self):
        self.line("graph_break()")

    def change_container(self):
        name = self.pick(self.random.choice("lqd"))
        if name is None:
            return self.assign()
        changes = {
            "l": ["{n}.append({i})", "{n}.insert(0, {i})", "{n}.extend({l})", "{n}.sort()", "{n}.reverse()", "{n}[0] = {i}",
                  "{n}.pop()", "del {n}[0]", "{n}.clear()", "{n}[1:] = {l}", "{n}.remove({i})"],
            "q": ["{n}.append({t})", "{n}[-1] = {t}", "{n}.pop()", "{n}.extend({q})", "{n}.insert(1, {t})"],
            "d": ["{n}['a'] = {t}", "{n}['z'] = {t}", "{n}.pop('a')", "{n}.update({d})", "del {n}['b']", "{n}.setdefault('q', {t})",
                  "{n}.pop('none', None)"],
        }  # fmt: skip
        text = self.random.choice(changes[self.names[name]]).replace("{n}", name)
        for kind in "iltqd":
            text = text.replace("{%s}" % kind, self.expression(kind, 1))
        self.line(text)

    def change_object(self):
        name = self.pick("o")
        if name is None:
            return self.assign()
        attribute, kind = self.random.choice([("count", "i"), ("value", "t"), ("note", "s")])
        self.line(f"{name}.{attribute} = {self.expression(kind)}")
        if self.random.random() < 0.2:
            self.line(f"{name}.count += 1")

    def unpack(self):
        first, second = self.new_name(), self.new_name()
        if self.random.random() < 0.5:
            self.line(f"{first}, {second} = {self.expression('t')}, {self.expression('i')}")
            self.names[first], self.names[second] = "t", "i"
        else:
            self.line(f"{first}, *{second} = [{self.expression('i')}, *{self.expression('l')}]")
            self.names[first], self.names[second] = "i", "l"

    def nest(self):
        """A closure that reads and writes a variable of the function."""
        name, outer = self.new_name(), self.pick("t")
        if outer is None or self.indent > 1 or outer in PARAMETERS or self.in_callee:
            return self.assign()
        self.line(f"def {name}(a, k=1):")
        self.indent += 1
        self.line(f"nonlocal {outer}")
        self.line(f"{outer} = {outer} + a * k")
        if self.random.random() < 0.4:
            self.line("graph_break()")
        self.line(f"return {outer} * 2")
        self.indent -= 1
        result = self.new_name()
        self.line(
            f"{result} = {name}({self.expression('t')}) + {name}({self.expression('t')}, k={self.expression('i')})"
        )
        self.names[result] = "t"

    def leave(self):
        if self.loops and self.random.random() < 0.5:
            self.line(f"if {self.expression('b')}:")
            self.line("    " + self.random.choice(["break", "continue"]))
        else:
            self.line(f"if {self.expression('b')}:")
            self.line(f"    return {self.expression(self.random.choice('til'))}")

    def complain(self):
        if self.random.random() < 0.6:
            return self.assign()
        self.line(f"if {self.expression('b')}:")
        error = self.random.choice(["ValueError", "KeyError", "RuntimeError"])
        self.line(f"    raise {error}({self.expression('s')})")

    def change_global(self):
        if self.in_callee:
            return self.assign()
        self.line(f"TOTAL {self.random.choice(['+=', '='])} {self.expression('i')}")

    def forget(self):
        own = [name for name in self.names if name.startswith("v")]
        if not own or self.loops or self.indent > 1:
            return self.assign()
        name = self.random.choice(own)
        if any(f"nonlocal {name}" in line for line in self.lines):
            return self.assign()
        self.line(f"del {name}")
        del self.names[name]

    def write_tensor(self):
        name = self.pick("t")
        if name is None:
            return self.assign()
        self.line(self.random.choice([
            f"{name} = {name} + 1", f"{name} *= 2", f"{name} += {self.expression('t')}", f"{name} = {name}.clone()",
        ]))  # fmt: skip

    def generate(self):
        name = self.new_name()
        self.line(f"{name} = list(counts({self.expression('i')} % 4))")
        self.names[name] = "l"

    def match(self):
        self.line(f"match {self.expression(self.random.choice('ilo'))}:")
        self.indent += 1
        for pattern in ("0 | 1", "[first, *_]", "Box(count=1)"):
            if self.random.random() < 0.6:
                self.line(f"case {pattern}:")
                self.block(1)
        self.line("case _:")
        self.block(1)
        self.indent -= 1


HELPERS = """
import contextlib


class Noted:
    def __init__(self, name):
        self.name = name

    def __enter__(self):
        print("enter", self.name)
        return self

    def __exit__(self, kind, error, traceback):
        print("exit", self.name, kind and kind.__name__)
        return False


def functools_total(numbers):
    total = 0
    for number in numbers:
        total += number
    return total


def counts(stop):
    for number in range(stop):
        yield number * 2

"""


def write_program(random):
    """The source of a module whose `program` takes the arguments of make_arguments."""
    helper = Writer(random)
    helper.in_callee = True
    helper.names = {"x": "t", "k": "i", "flag": "b"}
    helper.budget = 4
    for _ in range(random.randint(0, 3)):
        helper.statement()
    helper.line(f"return {helper.expression('t')} * k")

    main = Writer(random)
    main.names = dict(PARAMETERS)
    for _ in range(random.randint(3, 9)):
        main.statement()
    kinds = [random.choice("tttilqdosbf") for _ in range(random.randint(1, 3))]
    main.line(f"return {', '.join(main.expression(kind) for kind in kinds)},")

    return "\n".join([
        PREAMBLE, HELPERS, "def helper(x, k=2, *rest, flag=False, **named):", *helper.lines, "", "",
        f"def program({', '.join(PARAMETERS)}):", "    global TOTAL", *main.lines, "",
    ])  # fmt: skip
