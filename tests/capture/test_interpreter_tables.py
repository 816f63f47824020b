"""Tables that the interpreter and the library consult implicitly (modules, builtins, hooks, registries, caches) are written and then
used in one function: the use sees the write.
"""

import sys
import types

import pytest

import minidynamo
from minidynamo import ones

PRELUDE = """
import abc, builtins, codecs, collections, contextlib, copy, copyreg, decimal, functools, gc, importlib, io, linecache, locale
import logging, numbers, operator, os, pickle, random, re, sys, threading, traceback, types, typing, warnings, weakref
import colorsys as real

class Plain:
    def __init__(self, n=0): self.n = n
class Child(Plain): pass
class Abstract(abc.ABC): pass
class Sized: pass
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name != "made_up_module": return None
        seen.append(name)
        return importlib.machinery.ModuleSpec(name, self)
    def create_module(self, spec): return None
    def exec_module(self, module): module.value = 7
seen = []
here = globals()
table = {"colorsys": 1, "len": 2}
def one_more(*args): return 99
@functools.singledispatch
def kind(value): return "any"
@functools.lru_cache
def cached(n): return [n]
"""

# What is done first, what observes it, what is restored at the end.
PROGRAMS = {
    "a module that is blocked": (
        "sys.modules['colorsys'] = None",
        "try:\n import colorsys\n r = 'imported'\nexcept ImportError as e: r = str(e)",
        "sys.modules['colorsys'] = real",
    ),
    "a module that is replaced": (
        "sys.modules['colorsys'] = Plain",
        "import colorsys\nr = colorsys is Plain",
        "sys.modules['colorsys'] = real",
    ),
    "a name out of it": (
        "sys.modules['colorsys'] = types.SimpleNamespace(ONE=5)",
        "from colorsys import ONE\nr = ONE",
        "sys.modules['colorsys'] = real",
    ),
    "a module that is taken out": (
        "sys.modules.pop('colorsys')",
        "import colorsys\nr = colorsys is real, sys.modules['colorsys'] is colorsys",
        "sys.modules['colorsys'] = real",
    ),
    "del of a module": (
        "del sys.modules['colorsys']",
        "import colorsys\nr = colorsys is real",
        "sys.modules['colorsys'] = real",
    ),
    "a new module": (
        "sys.modules['newly_made'] = types.ModuleType('newly_made')",
        "import newly_made\nr = newly_made.__name__",
        "del sys.modules['newly_made']",
    ),
    "a submodule": (
        "sys.modules['os.path'] = 5",
        "import os.path\nfrom os import path\nr = path is os.path",
        "sys.modules['os.path'] = os.path",
    ),
    "through update": (
        "sys.modules.update(colorsys=None)",
        "try: import colorsys\nexcept ImportError as e: r = str(e)",
        "sys.modules['colorsys'] = real",
    ),
    "through setdefault": (
        "sys.modules.setdefault('newly_made', Plain)",
        "import newly_made\nr = newly_made is Plain",
        "del sys.modules['newly_made']",
    ),
    "through a copy": ("table['colorsys'] = None", "import colorsys\nr = colorsys is real", "table['colorsys'] = 1"),
    "an emptied table": ("table.clear()", "import colorsys\nr = colorsys is real, len([1])", "table['len'] = 2"),
    "importlib": (
        "sys.modules['colorsys'] = Plain",
        "r = importlib.import_module('colorsys') is Plain",
        "sys.modules['colorsys'] = real",
    ),
    "__import__": (
        "sys.modules['colorsys'] = Plain",
        "r = __import__('colorsys') is Plain",
        "sys.modules['colorsys'] = real",
    ),
    "another __import__": (
        "old = builtins.__import__\nbuiltins.__import__ = one_more",
        "import colorsys\nr = colorsys",
        "builtins.__import__ = old",
    ),
    "another __import__ in the dict": (
        "old = __builtins__['__import__']\n__builtins__['__import__'] = one_more",
        "import colorsys\nr = colorsys",
        "__builtins__['__import__'] = old",
    ),
    "another len in the dict": (
        "old = __builtins__['len']\n__builtins__['len'] = one_more",
        "r = len([1]), sum([1])",
        "__builtins__['len'] = old",
    ),
    "another len": ("old = builtins.len\nbuiltins.len = one_more", "r = len([1])", "builtins.len = old"),
    "a len in vars": ("old = len\nvars(builtins)['len'] = one_more", "r = len([1])", "vars(builtins)['len'] = old"),
    "a len in globals": ("globals()['len'] = one_more", "r = len([1])", "del globals()['len']"),
    "a new builtin": ("__builtins__['newly'] = 5", "r = newly", "del __builtins__['newly']"),
    "__build_class__": (
        "old = __builtins__['__build_class__']\n__builtins__['__build_class__'] = one_more",
        "class C: pass\nr = C",
        "__builtins__['__build_class__'] = old",
    ),
    "an exception among builtins": (
        "old = __builtins__['KeyError']\n__builtins__['KeyError'] = ValueError",
        "try: raise ValueError(1)\nexcept KeyError as e: r = 'caught'",
        "__builtins__['KeyError'] = old",
    ),
    "a table with the same key": ("table['len'] = one_more", "r = len([1])", "table['len'] = 2"),
    "a module's global": ("here['one_more'] = len", "r = one_more([1])", "here['one_more'] = one_more"),
    "meta_path": (
        "finder = Finder()\nsys.meta_path.append(finder)",
        "import made_up_module\nr = made_up_module.value, list(seen)",
        "sys.meta_path.remove(finder)\ndel sys.modules['made_up_module']\nseen.clear()",
    ),
    "path": (
        "sys.path.insert(0, 'nowhere')\nsys.modules.pop('colorsys')",
        "import colorsys\nr = sys.path[0], colorsys is real",
        "del sys.path[0]\nsys.modules['colorsys'] = real",
    ),
    "stdout": (
        "old = sys.stdout\nsys.stdout = io.StringIO()",
        "print('said')\nr = sys.stdout.getvalue()",
        "sys.stdout = old",
    ),
    "redirected": (
        "out = io.StringIO()",
        "with contextlib.redirect_stdout(out): print('said')\nr = out.getvalue()",
        "pass",
    ),
    "stdout by vars": (
        "old = sys.stdout\nvars(sys)['stdout'] = io.StringIO()",
        "print('said')\nr = sys.stdout.getvalue()",
        "vars(sys)['stdout'] = old",
    ),
    "displayhook": (
        "old = sys.displayhook\nsys.displayhook = seen.append",
        "sys.displayhook(5)\nexec(compile('1 + 1', 'c', 'single'))\nr = list(seen)",
        "sys.displayhook = old\nseen.clear()",
    ),
    "unraisablehook": (
        "old = sys.unraisablehook\nsys.unraisablehook = lambda u: seen.append(u.exc_type)\nclass Bad:\n def __del__(self): raise KeyError(1)",
        "b = Bad()\ndel b\ngc.collect()\nr = list(seen)",
        "sys.unraisablehook = old\nseen.clear()",
    ),
    "excepthook": (
        "old = threading.excepthook\nthreading.excepthook = lambda a: seen.append(a.exc_type)",
        "t = threading.Thread(target=lambda: 1 / 0)\nt.start()\nt.join()\nr = list(seen)",
        "threading.excepthook = old\nseen.clear()",
    ),
    "recursion limit": (
        "old = sys.getrecursionlimit()\nsys.setrecursionlimit(old + 7)",
        "r = sys.getrecursionlimit() - old",
        "sys.setrecursionlimit(old)",
    ),
    "digits of ints": (
        "old = sys.get_int_max_str_digits()\nsys.set_int_max_str_digits(700)",
        "try: r = str(10 ** 1000)\nexcept ValueError as e: r = 'refused'",
        "sys.set_int_max_str_digits(old)",
    ),
    "abc, registered": (
        "before = issubclass(Plain, Abstract)\nAbstract.register(Plain)",
        "r = before, issubclass(Plain, Abstract), isinstance(Child(), Abstract)",
        "pass",
    ),
    "numbers, registered": ("numbers.Number.register(Plain)", "r = isinstance(Plain(), numbers.Number)", "pass"),
    "a method that abc asks for": (
        "Sized.__len__ = lambda self: 3",
        "r = isinstance(Sized(), collections.abc.Sized), len(Sized())",
        "del Sized.__len__",
    ),
    "copyreg": (
        "copyreg.pickle(Plain, lambda p: (Plain, (p.n + 1,)))",
        "r = copy.copy(Plain(1)).n, pickle.loads(pickle.dumps(Plain(1))).n",
        "del copyreg.dispatch_table[Plain]",
    ),
    "dispatch table": (
        "copyreg.dispatch_table[Plain] = lambda p: (Plain, (p.n + 2,))",
        "r = copy.copy(Plain(1)).n, pickle.loads(pickle.dumps(Plain(1))).n",
        "del copyreg.dispatch_table[Plain]",
    ),
    "copy's table": (
        "copy._copy_dispatch[Plain] = lambda p: 'copied'",
        "r = copy.copy(Plain(1))",
        "del copy._copy_dispatch[Plain]",
    ),
    "deepcopy's memo": ("p = Plain(1)\nmemo = {id(p): 'known'}", "r = copy.deepcopy(p, memo)", "pass"),
    "singledispatch": (
        "before = kind(Plain())\nkind.register(Plain, lambda value: 'plain')",
        "r = before, kind(Plain()), kind(Child()), kind(3)",
        "pass",
    ),
    "singledispatch cleared": ("before = kind(3)\nkind._clear_cache()", "r = before, kind(3)", "pass"),
    "lru_cache": (
        "a = cached(1)\ncached.cache_clear()",
        "r = cached(1) is a, cached.cache_info()[:2]",
        "cached.cache_clear()",
    ),
    "warnings' filters": (
        "old = warnings.filters[:]\nwarnings.simplefilter('error')",
        "try: warnings.warn('w')\nexcept UserWarning as e: r = str(e)",
        "warnings.filters[:] = old",
    ),
    "warnings' list": (
        "old = warnings.filters[:]\nwarnings.filters.insert(0, ('error', None, UserWarning, None, 0))\nwarnings._filters_mutated()",
        "try:\n warnings.warn('v')\n r = 'nothing'\nexcept UserWarning as e: r = str(e)",
        "warnings.filters[:] = old\nwarnings._filters_mutated()",
    ),
    "caught warnings": (
        "pass",
        "with warnings.catch_warnings(record=True) as caught:\n warnings.simplefilter('always')\n warnings.warn('w')\nr = [str(w.message) for w in caught]",
        "pass",
    ),
    "showwarning": (
        "old = warnings.showwarning\nwarnings.showwarning = lambda *a, **k: seen.append(str(a[0]))\nf = warnings.filters[:]\nwarnings.simplefilter('always')",
        "warnings.warn('shown')\nr = list(seen)",
        "warnings.showwarning = old\nseen.clear()\nwarnings.filters[:] = f",
    ),
    "linecache": (
        "linecache.cache['made_up.py'] = (9, None, ['first\\n', 'second\\n'], 'made_up.py')",
        "try: exec(compile('\\n1/0', 'made_up.py', 'exec'))\nexcept ZeroDivisionError as e: r = traceback.format_tb(e.__traceback__)[-1].split('\\n')[1]",
        "linecache.cache.pop('made_up.py')",
    ),
    "environ": (
        "os.environ['MD_TEST'] = 'set'",
        "r = os.environ['MD_TEST'], os.getenv('MD_TEST'), os.path.expandvars('$MD_TEST')",
        "del os.environ['MD_TEST']",
    ),
    "environ's dict": (
        "os.environ._data[b'MD_TEST'] = b'set'",
        "r = os.environ['MD_TEST'], 'MD_TEST' in os.environ",
        "del os.environ._data[b'MD_TEST']",
    ),
    "decimal's context": (
        "old = decimal.getcontext().prec\ndecimal.getcontext().prec = 3",
        "r = str(decimal.Decimal(1) / 3)",
        "decimal.getcontext().prec = old",
    ),
    "random state": ("random.seed(5)", "a = random.random()\nrandom.seed(5)\nr = a == random.random()", "pass"),
    "re's cache": ("re.purge()", "r = re.match('a+', 'aa').group(), len(re._cache)", "pass"),
    "logging level": (
        "log = logging.getLogger('md.tables')\nlog.setLevel(10)",
        "a = log.isEnabledFor(10)\nlog.setLevel(40)\nr = a, log.isEnabledFor(10), dict(log._cache)",
        "log.setLevel(0)",
    ),
    "logging cache": (
        "log = logging.getLogger('md.tables')\nlog.setLevel(20)\nlog.isEnabledFor(20)\nlog.level = 50",
        "r = log.isEnabledFor(20), log.isEnabledFor(30), dict(log._cache)",
        "log.setLevel(0)",
    ),
    "logging disabled": (
        "log = logging.getLogger('md.tables')\nlog.disabled = True\nlog.isEnabledFor(50)",
        "r = dict(log._cache)",
        "log.disabled = False",
    ),
    "logging of a class": (
        "class L(logging.Logger):\n def getEffectiveLevel(self): return 5",
        "log = L('x', 50)\nr = log.isEnabledFor(10), dict(log._cache)",
        "pass",
    ),
    "logging, below": (
        "log = logging.getLogger('md.tables.below')\nlogging.getLogger('md.tables').setLevel(35)",
        "r = [log.isEnabledFor(n) for n in (30, 35, 40)], dict(log._cache)",
        "logging.getLogger('md.tables').setLevel(0)",
    ),
    "an adapter": (
        "log = logging.getLogger('md.tables')\nlog.setLevel(20)\na = logging.LoggerAdapter(log, {})",
        "r = a.isEnabledFor(20), a.isEnabledFor(10), dict(log._cache)",
        "log.setLevel(0)",
    ),
    "an adapter that logs": (
        "log = logging.getLogger('md.tables')\nlog.setLevel(30)\na = logging.LoggerAdapter(logging.LoggerAdapter(log, {}), {})",
        "a.info('i')\na.log(10, 'd')\nr = dict(log._cache)",
        "log.setLevel(0)",
    ),
    "an adapter of its own": (
        "class A(logging.LoggerAdapter):\n def process(self, m, k): seen.append(m); return m, k\nlog = logging.getLogger('md.tables')\nlog.setLevel(50)\na = A(log, {})\na.isEnabledFor(20)\nlog.level = 10",
        "a.info('said')\nr = list(seen), dict(log._cache)",
        "log.setLevel(0)\nseen.clear()",
    ),
    "an adapter of something else": (
        "class L:\n def isEnabledFor(self, level): return level > 5\na = logging.LoggerAdapter(L(), {})",
        "r = a.isEnabledFor(3), a.isEnabledFor(7)",
        "pass",
    ),
    "a method of a class": (
        "old = Plain.__init__\nPlain.__init__ = lambda self, n=0: setattr(self, 'n', 'other')",
        "r = Plain().n",
        "Plain.__init__ = old",
    ),
    "a class": ("p = Plain(3)\np.__class__ = Child", "r = type(p) is Child, isinstance(p, Child), p.n", "pass"),
    "bases": (
        "class A: v = 1\nclass B: v = 2\nclass C(A): pass\nC.__bases__ = (B,)",
        "r = C.v, C().v, issubclass(C, A)",
        "pass",
    ),
    "defaults": (
        "old = one_more.__defaults__\none_more.__defaults__ = None",
        "r = one_more()",
        "one_more.__defaults__ = old",
    ),
    "code": ("def g(): return 1\ndef h(): return 2\ng.__code__ = h.__code__", "r = g()", "pass"),
}


def outcome(source, compiles, monkeypatch):
    module = types.ModuleType("tables")
    names = vars(module)
    monkeypatch.setitem(sys.modules, "tables", module)
    exec(source, names)
    function = minidynamo.compile(names["f"]) if compiles else names["f"]
    seen = []
    for _ in range(2):
        try:
            seen.append(repr(function(ones(1))[1]))
        except Exception as error:
            seen.append((type(error).__name__, str(error)))
        seen.append(names["sys"].modules.get("colorsys") is names["real"])
        names["sys"].modules["colorsys"] = names["real"]
    return seen


@pytest.mark.parametrize("program", PROGRAMS)
def test_uses_see_earlier_writes(program, monkeypatch):
    first, use, after = PROGRAMS[program]
    body = f"{first}\ny = x + 1\n{use}"
    in_try = "try:\n" + "\n".join(" " + line for line in body.split("\n")) + "\nfinally:\n"
    body = in_try + "\n".join(" " + line for line in after.split("\n")) + "\nreturn y, r"
    source = PRELUDE + "\ndef f(x):\n r = None\n" + "\n".join(" " + line for line in body.split("\n"))
    wanted = outcome(source, False, monkeypatch)
    assert outcome(source, True, monkeypatch) == wanted, source
    minidynamo._dynamo.reset()
