"""Threads with a small C stack: Python executes what does not fit, and nothing overflows."""

import subprocess
import sys
import textwrap

import pytest

KIB = 1024

# The code that a thread runs with f, g ... of the prelude.
STAGES = {
    "capture": "md.compile(lambda x: (x * 2).relu().sum())(md.ones(10)).item()",
    "capture of a large function": "md.compile(large)(md.ones(10)).item()",
    "capture with a break": "md.compile(with_break)(md.ones(10)).item()",
    "capture of a module": "md.compile(model)(md.ones(2, 8)).shape[0]",
    "capture of inlined calls": "md.compile(nested)(md.ones(3), 100).item()",
    "captured elsewhere": "compiled(md.ones(10)).item()",
    "captured elsewhere, a module": "compiled_model(md.ones(2, 8)).shape[0]",
    "captured elsewhere, deep": "compiled_nested(md.ones(3), 100).item()",
    "recapture": "[compiled(md.ones(n + 2)).item() for n in range(20)][-1]",
    "eager": "(md.ones(1000) * 2).relu().sum().item()",
    "eager products": "(md.ones(70, 70) @ md.ones(70, 70)).sum().item()",
    "eager convolution": "md.nn.functional.conv2d(md.ones(1, 3, 20, 20), md.ones(4, 3, 3, 3)).sum().item()",
    "eager sort": "md.arange(5000).flip(0).sort()[0][7].item()",
    "eager softmax": "md.ones(100, 100).softmax(-1).sum().round().item()",
    "eager attention": "md.nn.functional.scaled_dot_product_attention(*[md.ones(1, 2, 40, 16)] * 3).sum().item()",
    "eager random": "int(md.rand(5000).sum().item() > 0)",
    "eager float64": "(md.ones(1000, dtype=md.float64).exp().log() * 2).cumsum(0)[-1].round().item()",
    "text": "len(str(md.ones(30, 30)))",
    "dynamic sizes": "[sized(md.ones(n + 2)).item() for n in range(10)][-1]",
}

PROGRAM = """
import sys, threading
import minidynamo as md

def large(x):
    for i in range(200):
        x = (x + i).relu() * 0.5
    return x.sum()

def with_break(x):
    x = x + 1
    print(end="")
    return x.sum()

def nested(x, n):
    return x.sum() if n == 0 else nested(x * 1, n - 1)

model = md.nn.Sequential(md.nn.Linear(8, 16), md.nn.ReLU(), md.nn.Linear(16, 4))
compiled, compiled_model = md.compile(lambda x: (x * 2).relu().sum()), md.compile(model)
compiled_nested, sized = md.compile(nested), md.compile(lambda x: (x @ x).sum(), dynamic=True)
compiled(md.ones(10)), compiled_model(md.ones(2, 8)), compiled_nested(md.ones(3), 100)

def work():
    return {stage}

found = []
def in_thread(size):
    threading.stack_size(size)
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join()

for size in {sizes}:
    in_thread(size)
found.append(work())
in_thread({sizes}[0])
print(found.count(found[0]) == len(found) == len({sizes}) + 2, found)
"""


@pytest.mark.parametrize("stage", STAGES)
def test_stages(stage):
    program = PROGRAM.format(stage=STAGES[stage], sizes=[64 * KIB, 128 * KIB, 256 * KIB, 512 * KIB])
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=240)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith("True"), ended.stdout


# Frames below C code deep on a large stack have as little room as those on a small one.
def test_deep_below_c_code():
    program = textwrap.dedent("""
        import sys, threading
        import minidynamo as md
        sys.setrecursionlimit(10**6)
        f = md.compile(lambda x: (x * 2).sum())

        def below(n):
            if n == 0:
                return f(md.ones(3)).item() + md.compile(lambda x: (x * n).sum())(md.ones(3)).item()
            return max([n], key=lambda _: found.append(below(n - 1)) or 0)

        found = []
        def work():
            below(DEPTH)
            print(found[0], len(found))

        threading.stack_size(2**20)
        for DEPTH in (10, 200, 400):
            found.clear()
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
    """)
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=240)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.splitlines() == ["6.0 10", "6.0 200", "6.0 400"]
