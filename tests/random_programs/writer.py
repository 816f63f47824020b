"""Writes small functions over tensors, numbers and containers, with control flow, breaks, exceptions and mutation.

Every program terminates: loops are over finite iterables or count down. A program may raise; then it must raise when compiled as well.
"""

from .phrases import CHANGES, EXPRESSIONS, LITERALS, PREAMBLE, TROUBLES, WRITES

PARAMETERS = {"x": "t", "y": "t", "n": "i", "items": "l", "tensors": "q", "table": "d", "box": "o", "numbers": "e"}


class Writer:
    """Writes one program; `random` has choice, randint and random."""

    def __init__(self, random):
        self.random = random
        self.lines = []
        self.names = {}  # variables that are certainly bound: name to type
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
        text = self.fill(template, depth - 1)
        return f"({text})" if " " in text and not text.startswith("f'") else text

    def fill(self, template, depth):
        """The phrase with an expression for each {kind}; braces come in pairs."""
        text = ""
        position = 0
        while position < len(template):
            two = template[position : position + 2]
            if two in ("{{", "}}"):
                text += two[0]
                position += 2
            elif template[position] == "{":
                part = self.expression(template[position + 1], depth)
                # Quotes inside an f-string are not nested before 3.12.
                text += part if not template.startswith("f'") else part.replace("'", '"')
                position += 3
            else:
                text += template[position]
                position += 1
        return text

    def block(self, size):
        """Statements one level deeper; the names that they define are forgotten afterwards."""
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
            self.generate, self.match, self.change_tensors, self.manage, self.finish, self.collect, self.converse, self.define,
            self.chain, self.spin, self.log, self.repeat,
        ]  # fmt: skip
        self.random.choice(writers)()

    def assign(self):
        kind = self.random.choice("tttttiifbslqdoep")
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
        # A list that doubled in every round of nested loops would not fit into memory.
        self.line(f"{name} {operator}= {self.expression(kind)}{'[:6]' if kind == 'l' else ''}")

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
        # A copy, so that a loop that changes the container it iterates over ends.
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
        self.loop_body((name, index))

    def loop_body(self, made):
        """The body of a for loop and its else; `made` are the variables that are unbound if it never runs."""
        self.loops += 1
        self.block(self.random.randint(1, 3))
        if self.random.random() < 0.3:
            self.indent += 1
            self.line(f"if {self.expression('b')}:")
            self.line("    " + self.random.choice(["break", "continue"]))
            self.indent -= 1
        self.loops -= 1
        for name in made:
            self.names.pop(name, None)
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
        # Not in the scope of the body: no statement there may reset the counter.
        del self.names[name]
        self.block(self.random.randint(1, 2))
        self.loops -= 1
        self.names[name] = "i"

    def catch(self):
        self.line("try:")
        self.block(self.random.randint(1, 2))
        self.indent += 1
        self.line(self.fill(self.random.choice(TROUBLES), 1))
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
                [
                    "with minidynamo.no_grad():",
                    "with contextlib.suppress(LookupError):",
                    "with Noted('c'):",
                    "with Noted('a'), Noted('b'):",
                    "with logged('l'):",
                    "with contextlib.ExitStack():",
                ]
            )
        )
        self.block(self.random.randint(1, 2))

    def say(self):
        kind = self.random.choice("iisbfl")
        self.line(f"print({self.expression(kind)})")

    def pause(self):
        self.line("graph_break()")

    def change_container(self):
        name = self.pick(self.random.choice("lqde"))
        if name is None:
            return self.assign()
        text = self.fill(self.random.choice(CHANGES[self.names[name]]).replace("{n}", name), 1)
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
        self.line(self.fill(self.random.choice(WRITES).replace("{n}", name), 1))

    def change_tensors(self):
        """Writes through a view, observed through the tensor and another view of it."""
        name = self.pick("t")
        if name is None:
            return self.assign()
        view = self.new_name()
        part = self.random.choice(["[1:]", "[:2]", ".view(-1)", ".T", "[::2]", ".unsqueeze(0)[0]", ".detach()", "[:]"])
        self.line(f"{view} = {name}{part}")
        write = self.random.choice([".add_(1)", ".mul_(2)", "[0] = 4.0", ".zero_()", ".copy_({v} * 2)", ".sub_({v})"])
        self.line(f"{self.random.choice([view, name])}{write.replace('{v}', view)}")
        if part in (".view(-1)", ".T", ".unsqueeze(0)[0]", ".detach()", "[:]"):
            self.names[view] = "t"

    def manage(self):
        """A context manager that swallows ValueError."""
        name = self.new_name()
        self.line(f"with {self.expression('o')} as {name}:")
        self.names[name] = "t"
        self.block(self.random.randint(1, 2))
        self.names.pop(name, None)
        if self.random.random() < 0.5:
            self.indent += 1
            self.line(self.fill(self.random.choice(TROUBLES), 1))
            self.indent -= 1

    def finish(self):
        """A finally that runs in any case, and may return, break or raise itself."""
        self.line("try:")
        self.block(self.random.randint(1, 2))
        self.indent += 1
        self.line(self.fill(self.random.choice(TROUBLES), 1))
        self.indent -= 1
        if self.random.random() < 0.4:
            self.line("except ValueError:")
            self.indent += 1
            self.line(self.random.choice(["raise", "raise KeyError('other')", "LOG.append('caught')", "pass"]))
            self.indent -= 1
        self.line("finally:")
        self.block(1)
        self.indent += 1
        choices = [
            "LOG.append('finally')",
            "pass",
            "graph_break()",
            f"if {self.expression('b')}: return {self.expression('i')}",
        ]
        if self.loops:
            choices += [f"if {self.expression('b')}: break", f"if {self.expression('b')}: continue"]
        self.line(self.random.choice(choices))
        self.indent -= 1

    def collect(self):
        """Closures created in a loop, called after it."""
        made, number, result = self.new_name(), self.new_name(), self.new_name()
        self.line(f"{made} = []")
        self.line(f"for {number} in range({self.random.randint(1, 3)}):")
        bound = f"k={number}" if self.random.random() < 0.5 else "k=1"
        body = self.random.choice([f"v + k * {number}", f"paused(v) * {number}", "v * k + n"])
        self.line(f"    {made}.append(lambda v, {bound}: {body})")
        self.line(f"{result} = [g({self.expression('t')}) for g in {made}]")
        self.names[result] = "q"

    def converse(self):
        """A generator that is sent values, and may be closed or thrown into."""
        made, result = self.new_name(), self.new_name()
        self.line(f"def {made}(a):")
        self.line("    got, log = [], LOG")
        self.line("    try:")
        self.line("        while len(got) < 3:")
        if self.random.random() < 0.3:
            self.line("            graph_break()")
        self.line("            got.append((yield a + len(got)))")
        self.line(f"    except {self.random.choice(['KeyError', 'ValueError', 'GeneratorExit'])}:")
        self.line("        log.append('thrown')")
        self.line(f"        {self.random.choice(['return 5', 'raise', 'got.append(1)'])}")
        self.line("    finally:")
        self.line("        log.append(len(got))")
        generator = self.new_name()
        self.line(f"{generator} = {made}({self.expression('t')})")
        self.line(f"{result} = [next({generator}), {generator}.send({self.expression('i')})]")
        self.names[result] = "q"
        if self.random.random() < 0.6:
            self.line(
                self.random.choice([
                    f"{generator}.close()", f"{generator}.throw(KeyError('k'))", f"{result}.extend({generator})",
                    f"for {self.new_name()} in {generator}: LOG.append(3)", f"del {generator}",
                ])
            )  # fmt: skip

    def define(self):
        """A function of the function, with defaults and breaks, called several ways."""
        if self.indent > 2 or self.in_callee:
            return self.assign()
        name = self.new_name()
        saved, self.names, loops, self.loops = self.names, {"a": "t", "k": "i"}, self.loops, 0
        callee, self.in_callee = self.in_callee, True
        self.line(f"def {name}(a, *rest, k={self.expression('i', 0) if saved else 1}, **named):")
        self.block(self.random.randint(1, 2))
        self.indent += 1
        self.line(f"return {self.expression('t')}")
        self.indent -= 1
        self.names, self.loops, self.in_callee = saved, loops, callee
        result = self.new_name()
        call = self.random.choice(
            ["{f}({t}, k={i})", "{f}({t}, *{l})", "{f}({t}, **{d})", "{f}(a={t})", "{f}({t}) + {f}({t}, k={i})"]
        )
        self.line(f"{result} = {self.fill(call.replace('{f}', name), 1)}")
        self.names[result] = "t"

    def chain(self):
        """Exceptions with causes and contexts."""
        self.line("try:")
        self.line("    try:")
        self.line("        " + self.fill(self.random.choice(TROUBLES), 1))
        self.line("    except (ValueError, ZeroDivisionError, LookupError) as inner:")
        self.line(
            "        "
            + self.random.choice(["raise RuntimeError('outer') from inner", "raise RuntimeError('outer')", "raise"])
        )
        self.line("except Exception as outer:")
        self.line("    LOG.append((type(outer.__cause__).__name__, type(outer.__context__).__name__))")
        if self.random.random() < 0.3:
            self.line("    raise")

    def spin(self):
        """while True, left by break."""
        name = self.new_name()
        self.line(f"{name} = 0")
        self.line("while True:")
        self.indent += 1
        self.line(f"{name} += 1")
        self.line(f"if {name} > {self.random.randint(1, 3)} or {self.expression('b')}:")
        self.line("    break")
        self.indent -= 1
        self.loops += 1
        self.block(1)
        self.loops -= 1
        self.names[name] = "i"

    def repeat(self):
        """A loop over a generator that is left early, so that it is closed."""
        name = self.new_name()
        self.line(f"for {name} in guarded({self.expression('i')} % 4):")
        self.indent += 1
        self.line(f"if {name} == {self.random.randint(0, 2)}:")
        self.line(f"    {self.random.choice(['break', 'continue', 'graph_break()', 'LOG.append(0)'])}")
        self.indent -= 1
        self.loops += 1
        self.block(1)
        self.loops -= 1

    def log(self):
        self.line(f"LOG.append({self.expression(self.random.choice('ilsfbe'))})")

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


def write_program(random):
    """The source of a module whose `program` takes the arguments of make_arguments."""
    while True:
        source = _write_program(random)
        try:
            compile(source, "<random program>", "exec")
        except SyntaxError:  # An assignment expression where none is allowed, a break inside finally.
            continue
        return source


def _write_program(random):
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
        PREAMBLE, "def helper(x, k=2, *rest, flag=False, **named):", *helper.lines, "", "",
        f"def program({', '.join(PARAMETERS)}):", "    global TOTAL", *main.lines, "",
    ])  # fmt: skip
