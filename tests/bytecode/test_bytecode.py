"""The normaliser on every code object of the standard library, against dis."""

import dis
import sys
import sysconfig
import types
import warnings
from bisect import bisect_left
from pathlib import Path

import pytest

from minidynamo import _C

bytecode = _C._bytecode
STDLIB = Path(sysconfig.get_paths()["stdlib"])
VERSION = sys.version_info[:2]
NEVER_FALLS = {"RETURN_VALUE", "RETURN_CONST", "RERAISE", "RAISE_VARARGS", "JUMP_FORWARD", "JUMP_BACKWARD",
               "JUMP_BACKWARD_NO_INTERRUPT", "INTERPRETER_EXIT"}  # fmt: skip


def all_code(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from all_code(constant)


def compiled(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            return None  # invalid files that the standard library's own tests use


def raw_instructions(code):
    """[(first unit of the EXTENDED_ARG chain, opcode's unit, name, arg, target unit or None)]"""
    rows, start = [], None
    for i in dis.get_instructions(code):
        unit = i.offset // 2
        if start is None:
            start = unit
        if i.opname == "EXTENDED_ARG":
            continue
        jumps = i.opcode in dis.hasjrel and i.opname != "END_ASYNC_FOR"  # which only names its SEND
        target = i.argval // 2 if jumps or i.opcode in dis.hasjabs else None
        rows.append((start, unit, i.opname, i.opcode, i.arg, target))
        start = None
    return rows


def covered_by_entry(code, units):
    """Each entry of the exception table with the range of the rows whose opcode it covers."""
    for entry in dis._parse_exception_table(code):
        yield entry, range(bisect_left(units, entry.start // 2), bisect_left(units, entry.end // 2))


def expected_depths(code):
    """Depth on entry by first unit, computed only from dis.stack_effect and the exception table."""
    rows = raw_instructions(code)
    position = {row[0]: k for k, row in enumerate(rows)}
    position.update({row[1]: k for k, row in enumerate(rows)})
    handler = {}
    for entry, covered in covered_by_entry(code, [row[1] for row in rows]):
        for k in covered:
            handler[k] = (position[entry.target // 2], entry.depth + entry.lasti + 1)
    depths, work = {0: 0}, [0]

    def reach(k, depth):
        if k < len(rows) and k not in depths:
            depths[k] = depth
            work.append(k)

    while work:
        k = work.pop()
        _, _, name, opcode, arg, target = rows[k]
        if k in handler:
            reach(*handler[k])
        argument = arg if opcode >= dis.HAVE_ARGUMENT else None
        if target is not None:
            reach(position[target], depths[k] + dis.stack_effect(opcode, argument, jump=True))
        if name not in NEVER_FALLS:
            effect = dis.stack_effect(opcode, argument, jump=False)
            if name == "RETURN_GENERATOR":
                effect = 1  # the value that the first send pushes
            reach(k + 1, depths[k] + effect)
    return {rows[k][0]: depth for k, depth in depths.items()}, rows


def check_code(code):
    rows = bytecode.instructions(code)
    names = [row[0] for row in rows]
    assert "UNKNOWN" not in names, (code, bytecode.print(code))
    assert max(row[6] for row in rows) <= code.co_stacksize, code
    depths, raw = expected_depths(code)
    for k, (op, arg, _, unit, lasti, resumable, depth, has_target) in enumerate(rows):
        if has_target:
            assert rows[arg][5], (code, k, "a target is not resumable")
        if depth >= 0 and resumable:
            assert depths[unit] == depth, (code, k, op, bytecode.print(code))
        if resumable:
            assert bytecode.index_of_unit(code, unit) == k
            assert bytecode.index_of_unit(code, lasti) == k
    check_targets(code, rows, raw)
    check_handlers(code, rows)


def check_targets(code, rows, raw):
    units = {row[4]: row for row in rows if row[7]}
    for _, unit, name, _, _, target in raw:
        if target is None:
            continue
        destination = rows[units[unit][1]]
        if name == "FOR_ITER" and VERSION >= (3, 12):
            # After END_FOR and, on 3.13, POP_TOP; dis reports END_FOR itself.
            target += 2 if VERSION >= (3, 13) else 1
        assert destination[3] == target, (code, unit, name)
    assert len(units) == sum(row[5] is not None for row in raw), code


def check_handlers(code, rows):
    expected = {}
    for entry, covered in covered_by_entry(code, [row[4] for row in rows]):
        for k in covered:
            expected[k] = entry.target // 2, entry.depth, entry.lasti
    for begin, end, target, depth, lasti in bytecode.exception_table(code):
        for k in range(begin, end):
            assert expected.pop(k) == (rows[target][3], depth, lasti), (code, k)
            assert bytecode.handler_at(code, k) == target
    assert not expected, (code, expected)


def check_files(paths):
    count = 0
    for path in paths:
        module = compiled(path)
        for code in all_code(module) if module else ():
            check_code(code)
            count += 1
    return count


def test_part_of_the_standard_library():
    names = ["contextlib.py", "ast.py", "dataclasses.py", "functools.py", "typing.py", "inspect.py", "re/_parser.py",
             "asyncio/tasks.py", "asyncio/streams.py", "test/test_generators.py", "test/test_patma.py",
             "test/test_coroutines.py", "test/test_except_star.py", "test/test_with.py", "test/test_fstring.py"]  # fmt: skip
    present = [STDLIB / name for name in names if (STDLIB / name).exists()]  # Debian's Python comes without tests
    assert check_files(present) > (1000 if len(present) == len(names) else 500)


@pytest.mark.slow
@pytest.mark.skipif(not (STDLIB / "test").is_dir(), reason="this Python has no test directory")
def test_all_of_the_standard_library():
    paths = (path for path in STDLIB.rglob("*.py") if "site-packages" not in path.parts)
    assert check_files(paths) > 20000


def code_of(source, name=None):
    module = compile(source, "<snippet>", "exec")
    return next(c for c in all_code(module) if c.co_name == (name or c.co_name) and c is not module)


def test_calls_are_one_instruction():
    code = code_of("def f(a):\n    return a.method(1, key=2) + g(a)\n")
    names = [row[0] for row in bytecode.instructions(code)]
    assert "KW_NAMES" not in names and "PRECALL" not in names
    assert "LOAD_METHOD" in names and names.count("LOAD_GLOBAL") == 1 and names.count("PUSH_NULL") == 1


def test_extended_arguments():
    source = (
        "def f(x):\n    while x:\n" + "".join(f"        x = x + {1000 + i}\n" for i in range(400)) + "    return x\n"
    )
    code = code_of(source)
    rows = bytecode.instructions(code)
    assert any(row[3] != row[4] for row in rows)
    check_code(code)
    heads = [k for k in range(len(rows)) if bytecode.is_loop_head(code, k)]
    assert len(heads) == 1


def index_of(code, opcode, occurrence=0):
    found = [k for k, row in enumerate(bytecode.instructions(code)) if row[0] == opcode]
    return found[occurrence]


def test_live_locals():
    code = code_of("def f(a, b):\n    c = a + 1\n    g()\n    return c\n")
    assert bytecode.live_locals(code, 0) == ["a"]
    assert bytecode.live_locals(code, index_of(code, "CALL")) == ["c"]


def test_live_locals_on_exception_edges():
    code = code_of("def f(a, b):\n    try:\n        a = g()\n    except E:\n        return a\n    return b\n")
    # Before the store, the handler still sees the old value.
    assert bytecode.live_locals(code, index_of(code, "CALL")) == ["a", "b"]
    assert bytecode.live_locals(code, index_of(code, "PUSH_EXC_INFO")) == ["a"]


def test_cells_are_always_live():
    code = code_of("def f(a):\n    def inner(): return a\n    g()\n    return inner\n", "f")
    assert "a" in bytecode.live_locals(code, index_of(code, "RETURN_VALUE"))
    names = [row[0] for row in bytecode.instructions(code)]
    assert "LOAD_CLOSURE" in names and "MAKE_CELL" in names


def test_observers_of_locals():
    assert bytecode.observes_locals(code_of("def f(a):\n    return locals()\n"))
    assert not bytecode.observes_locals(code_of("def f(a):\n    return globals()\n"))


def test_bytecode_dies_with_its_code():
    import gc
    import weakref

    code = code_of("def f(a):\n    return a\n")
    assert bytecode.print(code).count("\n") == len(bytecode.instructions(code))
    reference = weakref.ref(code)
    del code
    gc.collect()
    assert reference() is None


def test_bad_input():
    with pytest.raises(TypeError):
        bytecode.instructions(len)
    with pytest.raises(IndexError):
        bytecode.live_locals(test_bad_input.__code__, 10**6)
