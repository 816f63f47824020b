"""Writes small functions of two numbers of any magnitude, and of tensors combined with them."""

WHOLE = [0, 1, -1, 2, 3, 4, 5, 7, 10, 64, 100, 2**31, 2**53 + 1, 2**63 - 1, 2**63, -(2**63), 10**30, True, False]
FLOATS = [0.0, -0.0, 1.0, 1.5, 2.0, -3.25, 0.1, 1e16, 1e300, float("inf"), float("-inf"), float("nan"), 5e-324]

LITERALS = ["0", "1", "2", "-1", "3", "1.5", "0.0", "True", "2.0"]
BINARY = ["+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^"]
COMPARISONS = ["<", "<=", "==", "!=", ">", ">=", "is", "is not"]
# From one number to another: texts times numbers would not fit into memory.
UNARY = [
    "-{}", "+{}", "~{}", "not {}", "abs({})", "int({})", "float({})", "bool({})", "complex({})", "round({})",
    "round({}, 1)", "hash(int({}))", "pow({}, 2)", "divmod({}, 3)[1]", "sum([{}, 1])", "max({}, 2)", "min({}, 2.5)",
    "sorted([{}, 3, 2.5])[0]", "int(str({}))", "len(repr({}))", "int(hex({}), 16)", "len(bin({}))", "ord(chr({}))",
    "len('%s' % ({}))", "len(type({}).__name__)", "({}).real", "({}).is_integer()", "({}).conjugate()",
    "int({}).bit_length()", "isinstance({}, int)", "isinstance({}, bool)", "[10, 20, 30][{}]", "ord('abc'[{}])",
    "range(5)[{}]", "({}, 2)[0]", "{{1: 5, 2: 6}}.get({}, 7)", "operator.index({})", "math.floor({})", "math.trunc({})",
    "math.sqrt({})", "math.log({})", "math.exp({})", "math.pow({}, 2)", "math.fmod({}, 3)", "math.gcd({}, 6)",
    "math.isnan({})", "math.isfinite({})", "math.copysign(1.0, {})",
]  # fmt: skip
# Over the numbers a and b.
TEXTS = [
    "str(a)",
    "f'{a}'",
    "f'{a:.2f} {b:5}'",
    "f'{a!r:>12}{b}'",
    "'%s %r' % (a, b)",
    "'{}:{:g}'.format(a, b)",
    "hex(a)",
]
# Over floats x, integers i and one number.
OF_TENSORS = [
    "x * {}", "x + {}", "{} - x", "x / {}", "x // {}", "x % {}", "x ** {}", "x > {}", "i * {}", "i + {}", "i // {}",
    "i % {}", "i ** {}", "i & {}", "i << {}", "i == {}", "x.add(x, alpha={})", "x.pow({})", "x.clamp({})",
    "x.clamp(max={})", "x.roll({})", "x.reshape({}, -1)", "x.masked_fill(x > 0, {})", "x.clone().fill_({})",
    "i.clone().fill_({})", "i.clone().add_({})", "x[{}]", "x[:{}]", "x.sum() + {}", "x.sum().item() * {}",
    "i.sum().item() + {}", "int(i.sum()) // {}", "float(x.sum()) / {}", "x.size(0) * {}", "x.shape[0] // {}",
    "minidynamo.full((2,), {})", "minidynamo.full_like(x, {})", "minidynamo.where(x > 0, x, {})",
    "minidynamo.where(x > 0, {}, x)", "minidynamo.tensor({})", "minidynamo.tensor([{}, 1])",
    "minidynamo.arange(min({}, 9))[:3]", "minidynamo.zeros(int({}) % 4)", "minidynamo.maximum(x, x * {})",
    "minidynamo.lerp(x, x + 1, {})", "minidynamo.eye(2) * {}", "minidynamo.nn.functional.softplus(x, beta={})",
    "minidynamo.nn.functional.leaky_relu(x, {})",
]  # fmt: skip


class ArithmeticWriter:
    """Writes one function f(x, i, n, m, out); `random` has choice, randint and random."""

    def __init__(self, random):
        self.random = random
        self.lines = []
        self.numbers = ["n", "m"]
        self.tensors = []
        self.fresh = 0

    def number(self, depth=2):
        random = self.random
        if depth == 0 or random.random() < 0.3:
            return random.choice(self.numbers if random.random() < 0.75 else LITERALS)
        if random.random() < 0.45:
            return f"({random.choice(UNARY).format(self.number(depth - 1))})"
        operator, right = random.choice(BINARY), self.number(depth - 1)
        # Programs that take hours in eager Python are useless.
        if operator in ("**", "<<"):
            right = random.choice(["0", "1", "2", "-1", "3", "0.5", f"({right} % 5)"])
        return f"({self.number(depth - 1)} {operator} {right})"

    def condition(self):
        if self.random.random() < 0.2:
            return self.number(1)
        text = f"{self.number(1)} {self.random.choice(COMPARISONS)} {self.number(1)}"
        return text if self.random.random() < 0.8 else f"{text} and {self.number(1)} < 3"

    def statement(self, indent=1, depth=2):
        simple = [self.compute] * 9 + [self.meet] * 6 + [self.say] * 2 + [self.pause] + [self.keep] * 2 + [self.change]
        nested = [self.branch, self.branch, self.loop, self.catch] if depth > 0 else []
        self.random.choice(simple + nested)(indent, depth)

    def line(self, indent, text):
        self.lines.append("    " * indent + text)

    def set_new(self, indent, names, text):
        self.fresh += 1
        self.line(indent, f"v{self.fresh} = {text}")
        if indent == 1:
            names.append(f"v{self.fresh}")

    def compute(self, indent, _):
        self.set_new(indent, self.numbers, self.number())

    def meet(self, indent, _):
        self.set_new(indent, self.tensors, self.random.choice(OF_TENSORS).format(self.number(1)))

    def say(self, indent, _):
        self.line(indent, f"a, b = {self.number()}, {self.number(1)}")
        self.line(indent, f"print({self.random.choice(TEXTS)}, a)")

    def pause(self, indent, _):
        self.line(indent, "minidynamo._dynamo.graph_break()")

    def keep(self, indent, _):
        self.line(indent, f"a, b = {self.number()}, {self.number(1)}")
        self.line(indent, f"out.append({self.random.choice([*TEXTS, 'a', 'b'])})")

    def change(self, indent, _):
        self.line(indent, f"{self.random.choice(self.numbers)} {self.random.choice('+-*')}= {self.number(1)}")

    def branch(self, indent, depth):
        self.line(indent, f"if {self.condition()}:")
        self.statement(indent + 1, depth - 1)
        if self.random.random() < 0.4:
            self.line(indent, "else:")
            self.statement(indent + 1, depth - 1)

    def loop(self, indent, depth):
        times = self.random.choice(["3", "2", "min(abs(int(n)), 3)", "len(out) + 1"])
        self.line(indent, f"for _ in range({times}):")
        self.statement(indent + 1, depth - 1)

    def catch(self, indent, depth):
        self.line(indent, "try:")
        self.statement(indent + 1, depth - 1)
        self.line(indent, "except (ArithmeticError, ValueError, TypeError) as error:")
        self.line(indent + 1, "print(type(error).__name__, error)")

    def write(self):
        for _ in range(self.random.randint(2, 7)):
            self.statement()
        shown = [name for name in self.numbers + self.tensors if self.random.random() < 0.5]
        self.line(1, f"return [{', '.join(shown)}]")
        return "def f(x, i, n, m, out):\n" + "\n".join(self.lines) + "\n"


def choose_numbers(random):
    """The numbers from which the arguments n and m of one function are drawn."""
    of_n = random.choice([WHOLE, WHOLE, FLOATS, FLOATS, WHOLE + FLOATS])
    of_m = random.choice([WHOLE, FLOATS, WHOLE + FLOATS])
    return tuple(values[1:10] if random.random() < 0.5 else values for values in (of_n, of_m))
