"""Makers of tensors and branches on their sizes, as three tables: the expression that creates a tensor from a number k, the
statements that read its size, and the origin of k.

write(maker, decision, entry) returns the text of a program `program(k)`; each is a separate Python program, so that eager Python
determines the expected result for k.
"""

import math
import random
import re
import textwrap

# Expressions over k, x = arange(24.0), m = arange(24.0).reshape(8, 3) and t = ones(1).
MAKERS = {
    "zeros": "zeros(k)",
    "rows": "ones(k, 3)",
    "columns": "ones(3, k)",
    "square": "ones(k, k)",
    "one_more": "zeros(k + 1)",
    "twice": "zeros(2 * k)",
    "half": "zeros(k // 2)",
    "rest": "zeros(k % 3)",
    "list_of_sizes": "zeros([k, 2])",
    "full": "full((k, 2), 1.5)",
    "arange": "arange(k)",
    "arange_from": "arange(1, k + 1, 2)",
    "linspace": "linspace(0, 1, k)",
    "eye": "eye(k)",
    "empty": "empty(k).fill_(2)",
    "rand": "rand(k) * 0",
    "randint": "randint(0, 1, (k, 2))",
    "head": "x[:k]",
    "tail": "x[k:]",
    "middle": "x[1:k]",
    "last": "x[-k:]",
    "steps": "x[:: k + 1]",
    "rows_of": "m[:k]",
    "columns_of": "m[:, :k]",
    "narrow": "x.narrow(0, 0, k)",
    "expand": "t.expand(k)",
    "expand_rows": "x[:3].expand(k, 3)",
    "repeat": "x[:2].repeat(k)",
    "repeat_rows": "x[:2].repeat(k, 1)",
    "split": "x.split(k + 1)[0]",
    "last_split": "x.split(k + 1)[-1]",
    "chunk": "x.chunk(k + 1)[0]",
    "turned": "zeros(k, 3).t()",
    "joined": "cat([x[:k], t])",
    "stacked": "stack([x[:k], x[:k]])",
    "padded": "nn.functional.pad(t, (0, k))",
    "new_zeros": "x.new_zeros(k)",
    "like": "zeros_like(x[:k])",
    "reshaped": "x[: 2 * k].reshape(k, 2)",
    "unsqueezed": "x[:k].unsqueeze(0)",
    "product": "ones(k, 3) @ ones(3, 2)",
    "outer": "outer(x[:k], x[:2])",
    "tril": "tril(ones(k, 3))",
    "gathered": "x[arange(k)]",
    "shifted": "zeros(k) + x[:k]",
    "numbers": "tensor([1.0] * k)",
}

# Statements over y, k and x that store their findings in r.
DECISIONS = {
    "len_above": "if len(y) > 4: y = y + 1\nr = y",
    "len_below": "r = 'few' if len(y) < 3 else 'many'",
    "size_is": "r = 1 if y.shape[0] == 3 else 2",
    "size_is_not": "r = y.size(0) != 2",
    "between": "r = 1 < y.shape[-1] <= 4",
    "assert_equal": "assert y.shape[0] == k\nr = y",
    "assert_more": "assert y.shape[0] >= 2, 'few'\nr = y",
    "truth": "r = bool(y.size(0))",
    "negation": "r = not y.size(0)",
    "condition": "if y.size(0): r = 'some'\nelse: r = 'none'",
    "conjunction": "r = y.shape[0] and 5, y.shape[0] or 7",
    "numel": "r = 'large' if y.numel() >= 6 else 'small'",
    "numel_odd": "r = y.numel() % 2",
    "numel_odd_truth": "r = 'odd' if y.numel() % 2 else 'even'",
    "contiguous": "r = y.is_contiguous(), y.t().is_contiguous() if y.dim() == 2 else None",
    "strides": "r = y.stride(), y.stride(0)",
    "storage_offset": "r = y.storage_offset()",
    "loop": "r = []\nfor i in range(y.size(0)): r.append(i)",
    "loop_of_ops": "r = y * 1.0\nfor i in range(y.shape[-1]): r = r + i",
    "loop_over_rows": "r = 0\nfor row in y: r = r + row",
    "while_loop": "n, r = y.size(0), 0\nwhile n > 1: n, r = n // 2, r + 1",
    "halving": "r = []\nn = len(y)\nwhile n: r, n = r + [n % 2], n >> 1",
    "comprehension": "r = [y[i] for i in range(len(y))]",
    "indices": "r = [i for i, row in enumerate(y)]",
    "list_of": "r = list(y)",
    "unpacked": "try: a, b, *c = y\nexcept ValueError as error: r = str(error)\nelse: r = a, b, len(c)",
    "shape_equal": "r = y.shape == (3,), y.shape == (3, 3)",
    "shape_in": "r = y.shape[0] in (2, 5)",
    "shape_list": "r = list(y.shape), tuple(y.shape), len(y.shape)",
    "key": "r = {2: 'a', 3: 'b', 4: 'c'}.get(len(y))",
    "new_key": "r = {len(y): 1, 3: 2}",
    "set_of": "r = {len(y), 3, 5}",
    "item": "r = 'abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz'[len(y)]",
    "list_item": "r = list(range(60))[y.shape[0]]",
    "list_slice": "r = list(range(60))[: y.shape[0]]",
    "list_times": "r = [0] * len(y), 'x' * len(y)",
    "text": "r = f'{len(y)} {y.shape}', str(y.size(0)), repr(y.shape)",
    "format": "r = '%d' % y.size(0) if y.size(0) else 'none'",
    "smallest": "r = min(y.shape[0], 4), max(y.shape[0], 2), min(y.shape)",
    "clamped": "r = y[: min(len(y), 3)]",
    "sorted": "r = sorted([y.shape[0], 3, 1])",
    "sum": "r = sum(range(y.size(0)))",
    "any": "r = any(size == 1 for size in y.shape), all(size > 1 for size in y.shape)",
    "divmod": "r = divmod(y.size(0), 3), y.size(0) // 2, -y.size(0)",
    "power": "r = 2 ** y.size(0), y.size(0) ** 2",
    "bits": "r = y.size(0) << 1, y.size(0) & 1, y.size(0) | 8, ~y.size(0)",
    "quotient": "r = y.size(0) / 2, y.size(0) * 0.5",
    "inverse": "try: r = 1 / y.size(0)\nexcept ZeroDivisionError as error: r = str(error)",
    "modulo": "try: r = 7 % y.size(0)\nexcept ZeroDivisionError as error: r = str(error)",
    "root": "r = math.sqrt(y.size(0)) > 1.8, math.ceil(y.size(0) / 2), math.log2(y.size(0) + 1)",
    "converted": "r = int(y.size(0)), float(y.size(0)), abs(y.size(0) - 3), bool(y.size(0) - 2)",
    "type": "r = type(y.size(0)), isinstance(len(y), int), y.size(0) is None",
    "sum_with_three": "r = y + ones(3)",
    "product_with_rows": "r = y * ones(2, 1)",
    "broadcast": "r = torch.broadcast_to(y, (2, *y.shape))",
    "expand": "r = y.expand(4, *y.shape[1:])",
    "cat": "r = torch.cat([y, y[:1]])",
    "cat_with_two": "r = torch.cat([y, torch.zeros(2)])",
    "stack": "r = torch.stack([y, y * 2])",
    "where": "r = torch.where(y > 0, y, ones(1))",
    "reshape_pairs": "r = y.reshape(-1, 2)",
    "reshape_whole": "r = y.reshape(-1)",
    "view_three": "r = y.view(3, -1)",
    "flatten": "r = y.flatten()",
    "squeeze": "r = y.squeeze(), y.squeeze(0)",
    "unsqueeze": "r = y.unsqueeze(1)",
    "transpose": "r = y.transpose(0, -1), y.transpose(0, -1).contiguous()",
    "diff": "r = torch.diff(y)",
    "chunk": "r = y.chunk(2)",
    "split": "r = y.split(2)",
    "tensor_split": "r = torch.tensor_split(y, 3)",
    "unbind": "r = y.unbind()",
    "first": "r = y[0]",
    "at_three": "r = y[3]",
    "at_last": "r = y[-1], y[..., -1]",
    "slice_head": "r = y[:4]",
    "slice_tail": "r = y[2:]",
    "slice_middle": "r = y[1:-1]",
    "slice_last": "r = y[-3:]",
    "slice_steps": "r = y[::2]",
    "narrow": "r = y.narrow(0, 1, 2)",
    "select": "r = y.select(0, 2)",
    "index": "r = y[torch.tensor([0, 1])]",
    "mean": "r = y.float().mean(0), y.float().mean()",
    "var": "r = y.float().var(0)",
    "amax": "r = y.amax(0)",
    "argmax": "r = y.argmax()",
    "softmax": "r = y.float().softmax(0)",
    "cumsum": "r = y.cumsum(0)",
    "sort": "r = y.sort(0)",
    "topk": "r = y.topk(2, 0)",
    "flip": "r = y.flip(0), y.roll(1, 0)",
    "matmul": "r = y.float() @ ones(3)",
    "matmul_rows": "r = ones(2, 3) @ y.float()",
    "unfold": "r = y.unfold(0, 2, 1)",
    "pad": "r = torch.nn.functional.pad(y, (1, 1))",
    "circular": "r = torch.nn.functional.pad(y.reshape(1, 1, -1), (1, 1), mode='circular')",
    "median": "r = y.float().median()",
    "histc": "r = torch.histc(y.float(), 3)",
    "cov": "r = torch.cov(y.float())",
    "trapezoid": "r = torch.trapezoid(y.float())",
    "meshgrid": "r = torch.meshgrid(y.reshape(-1), x[:2], indexing='ij')",
    "hstack": "r = torch.hstack([y, y])",
    "write_head": "y = y.clone()\ny[:2] = 7\nr = y",
    "write_last": "y = y.clone()\ny[-1] = 7\nr = y",
    "write_rows": "y = y.clone()\ny[1:] += 1\nr = y",
    "copy_from": "y = y.clone()\ny.copy_(torch.arange(y.shape[-1]))\nr = y",
    "assigned_size": "z = torch.zeros(8)\nz[: len(y)] = 1\nr = z",
    "other_size": "r = y.shape[0] == x[:3].shape[0], y.shape[-1] < x[:5].shape[0]",
    "made_of_size": "z = torch.ones(len(y), 2)\nr = 'tall' if z.shape[0] > z.shape[1] else 'wide'",
    "two_sizes": "r = y.shape[0] * y.shape[-1] > 8, y.shape[0] + 1 == y.shape[-1]",
    "equal": "r = torch.equal(y, y[:2])",
    "callee": "def ask(z): return 'a' if len(z) > 2 else 'b'\nr = ask(y), [ask(z) for z in (y, y[1:])]",
    "handler": "try:\n    if len(y) < 3: raise ValueError(len(y))\n    r = y\nexcept ValueError as error: r = error.args",
    "with_block": "with torch.no_grad():\n    r = y * 2 if len(y) != 4 else y * 3",
    "match": "match len(y):\n    case 2: r = 'two'\n    case 3 | 4: r = 'some'\n    case _: r = 'other'",
    "stop_at": "r = 0\nfor i in range(8):\n    if i >= len(y): break\n    r = r + y[i]",
    "zip": "r = [i for i, _ in zip(range(len(y)), range(4))]",
    "reversed": "r = list(reversed(range(len(y)))), range(len(y))[::2]",
    "dict_of": "r = dict(n=len(y), more=len(y) > 3)",
    "stored": "box = [len(y)]\nr = 'more' if box[0] > 3 else 'less'",
    "returned": "r = len(y) > 3, len(y) == k, y.shape[0] - k",
}

# The origin of k: `k` is the argument, {maker} the expression, {decision} the statements.
ENTRIES = {
    "after_a_break": "torch._dynamo.graph_break()\ny = {maker}\n{decision}\nreturn r",
    "break_between": "y = {maker}\ntorch._dynamo.graph_break()\n{decision}\nreturn r",
    "after_print": "print(end='', file=None if k < 0 else stream, sep=str(x[0]))\ny = {maker}\n{decision}\nreturn r",
    "after_item": "k = torch.tensor(k).item()\ny = {maker}\n{decision}\nreturn r",
    "after_a_call": "k = same(k)\ny = {maker}\n{decision}\nreturn r",
    "after_a_pair": "k, n = same((k, k + 1))\ny = {maker}\nr = None\n{decision}\nreturn r, n > 3",
    "callee": """\
def inner(k):
    torch._dynamo.graph_break()
    y = {maker}
    {decision}
    return r
return inner(k)""",
    "made_in_callee": """\
def make(k):
    torch._dynamo.graph_break()
    return {maker}
y = make(k)
{decision}
return r""",
    "asked_in_callee": """\
def ask(y, k):
    {decision}
    return r
torch._dynamo.graph_break()
return ask({maker}, k)""",
    "in_a_loop": """\
found = []
for k in (k, k + 1):
    torch._dynamo.graph_break()
    y = {maker}
    {decision}
    found.append(r)
return found""",
    "over_an_iterator": """\
found = []
for k in iter([k, max(k - 1, 0)]):
    y = {maker}
    {decision}
    found.append(r)
return found""",
    "in_a_container": "box = same([k])\ny = {maker_of_box}\n{decision}\nreturn r",
    "in_an_object": "box.k = k\nsame(box)\nk = box.k\ny = {maker}\n{decision}\nreturn r",
    "a_size": "torch._dynamo.graph_break()\nk = torch.zeros(k).shape[0]\ny = {maker}\n{decision}\nreturn r",
    "at_entry": "y = {maker}\n{decision}\nreturn r",
    "of_an_argument": "k = sized.shape[0]\ny = {maker}\n{decision}\nreturn r",
}
# How an entry is compiled: (options of compile(), config flags, whether the tensor of k elements is marked).
WAYS = {
    "automatic": ({}, {}, False),
    "dynamic": ({"dynamic": True}, {}, False),
    "marked": ({}, {}, True),
    "numbers_in_graphs": ({}, {"capture_scalar_outputs": True}, False),
    "without_nesting": ({}, {"nested_graph_breaks": False}, False),
    "from_the_start": ({}, {"assume_static_by_default": False}, False),
    "eager": ({"backend": "eager"}, {}, False),
}
VALUES = (3, 2, 5, 0, 1, 4, 8, 3)

HEADER = """\
import io, math
import minidynamo as torch
from minidynamo import *
from minidynamo import nn
x, m, t = arange(24.0), arange(24.0).reshape(8, 3), ones(1)
stream = io.StringIO()
class Box: pass
box = Box()
@torch._dynamo.disable
def same(value): return value
def program(k, sized):
"""


def write(maker, decision, entry):
    """The source of one program."""
    lines = ENTRIES[entry].split("\n")
    text = []
    for line in lines:
        at = len(line) - len(line.lstrip())
        if line.strip() == "{decision}":
            text.append(textwrap.indent(DECISIONS[decision], " " * at))
        else:
            of_box = re.sub(r"\bk\b", "box[0]", MAKERS[maker]) if "{maker_of_box}" in line else ""
            text.append(line.replace("{maker_of_box}", of_box).replace("{maker}", MAKERS[maker]))
    return HEADER + textwrap.indent("\n".join(text), "    ")


def combinations():
    """All combinations: (maker, decision, entry, way)."""
    return [(m, d, e, w) for m in MAKERS for d in DECISIONS for e in ENTRIES for w in WAYS]


def drawn(count, seed):
    """Each maker with each decision, under entries and ways drawn at random, repeated until there are this many."""
    source = random.Random(seed)
    pairs = [(maker, decision) for maker in MAKERS for decision in DECISIONS]
    found = []
    for _ in range(math.ceil(count / len(pairs))):
        source.shuffle(pairs)
        found += [(*pair, source.choice(list(ENTRIES)), source.choice(list(WAYS))) for pair in pairs]
    return found[:count]
