"""disable, allow_in_graph and related functions, graph_break and skip_frame, the query functions, C functions and
listed modules."""

import collections
import json
import math
import os
import random
import re
import time

import minidynamo as torch
from minidynamo import compiler
from minidynamo._dynamo import allow_in_graph, graph_break, nonstrict_trace, skip_frame

from .registry import RUNS, program, whole


def helper(x):
    return x * 3


disabled = compiler.disable(helper)


@program()
def disable_in_call_form(x, log):
    return disabled(x + 1) - 1  # break


@compiler.disable
def decorated(x, log):
    log.append(compiler.is_compiling())
    return x * 3


@program()
def disable_as_decorator(x, log):
    return decorated(x + 1, log) - 1  # break


@compiler.disable(reason="it is odd")
def with_a_reason(x):
    return x * 3


@program()
def disable_with_a_reason(x, log):
    return with_a_reason(x + 1) - 1  # break


@compiler.disable(recursive=False)
def frame_only(x):
    y = helper(x)
    return y + helper(y)


@program()
def disable_of_the_frame_only(x, log):
    return frame_only(x + 1) - 1  # break


@compiler.disable(recursive=False)
def breaking_below(x, log):
    def inner(y):
        y = y + 1
        graph_break()
        log.append("inner")
        return y * 2

    return inner(x) + 1


@program()
def breaks_below_a_frame_that_is_disabled(x, log):
    return breaking_below(x + 1, log) - 1  # break


class Disabled:
    @compiler.disable
    def method(self, x):
        return x * 3

    @staticmethod
    @compiler.disable
    def static(x):
        return x * 4

    @property
    @compiler.disable
    def value(self):
        return 5


@program()
def disabled_methods(x, log):
    made = Disabled()
    return made.method(x + 1) + made.static(x) + made.value  # break


@program()
def a_disabled_function_is_an_argument(x, log):
    def apply(function, y):
        return function(y + 1) * 2  # break

    return apply(disabled, x) + 1


@program()
def a_disabled_function_in_map(x, log):
    return [y + 1 for y in map(disabled, [x, x + 1])]  # break


@program()
def disable_created_inside(x, log):
    own = compiler.disable(lambda y: y * 2)
    return own(x + 1) + 1  # break


@program(raises=KeyError)
def a_disabled_function_raises(x, log):
    return fails_deep(x + 1)  # break


@compiler.disable
def fails_deep(x):
    y = helper(x)
    raise KeyError(len(y))


@program()
def a_disabled_function_raises_and_is_caught(x, log):
    try:
        x = x + 1
        return fails_deep(x)  # break
    except KeyError as error:
        return x * error.args[0]


@program()
def a_disabled_function_in_a_loop_with_else(x, log):
    for i in range(3):
        x = disabled(x) - i  # break
    else:
        x = x + 1
    return x


@program()
def graph_break_with_a_message(x, log):
    x = x + 1
    graph_break(msg="asked for")  # break
    return x * 2


@program()
def graph_break_as_an_argument(x, log):
    return helper(x + 1), graph_break(), x * 2  # break


def skipped(x):
    y = helper(x + 1)
    skip_frame("left to Python")  # break
    return helper(y) + 1


@program()
def skip_frame_in_a_callee(x, log):
    y = x * 2
    return skipped(y) + y


@program()
def skip_frame_in_the_function(x, log):
    y = helper(x + 1)
    skip_frame()  # break
    for _ in range(3):
        y = helper(y)
    return y


@allow_in_graph
def allowed(x, y):
    return x * y + len(x.shape)


@whole()
def allow_in_graph_of_a_function(x, log):
    return allowed(x + 1, x) * 2


@nonstrict_trace
def traced(pair, log):
    return {"sum": pair[0] + pair[1], "first": pair[0]}


@whole()
def nonstrict_trace_with_a_tree(x, log):
    found = traced((x, x + 1), 3)
    return found["sum"] * found["first"]


@compiler.assume_constant_result
def size_of_things():
    return 7


@whole()
def a_constant_result(x, log):
    return x * size_of_things()


@whole()
def asking_decides_a_branch(x, log):
    return x + 1 if isinstance(compiler.is_compiling(), bool) else x


@program()
def a_c_function(x, log):
    y = x + 1
    log.append(os.getpid() > 0)  # break
    return y * 2


@program()
def the_time(x, log):
    y = x + 1
    before = time.perf_counter()  # break
    y = y * 2
    return y, time.perf_counter() >= before


@whole()
def functions_of_math(x, log):
    return x * math.sqrt(4) + math.floor(2.5) * math.pi


@whole()
def regular_expressions(x, log):
    y = x + 1
    log.append(re.sub("a", "b", "banana"))
    return y * 2


@program()
def json_there_and_back(x, log):
    y = x + 1
    log.append(json.loads(json.dumps({"k": [1, 2]})))  # break
    return y * log[0]["k"][1]


@program()
def random_numbers(x, log):
    y = x + 1
    random.seed(3)  # break
    log.append(random.randint(0, 100))
    return y * 2


@whole()
def named_tuples(x, log):
    pair = Pair(x, x + 1)
    return pair.left * pair.right, pair._replace(left=x)


Pair = collections.namedtuple("Pair", "left right")


@program()
def eval_of_a_string(x, log):
    y = x + 1
    log.append(eval("1 + 2"))  # break
    return y * 2


@whole()
def the_names_of_the_locals(x, log):
    y = x + 1
    log.extend(sorted(locals()))
    return y * 2


@whole()
def an_import_inside(x, log):
    y = x + 1
    import colorsys

    return y * colorsys.hls_to_rgb(0.5, 0.5, 0.5)[0]


@program()
def a_file_is_read(x, log):
    y = x + 1
    with open(os.devnull) as file:  # break
        log.append(file.read())
    return y * 2


@program()
def a_print_of_a_tensor(x, log):
    y = x + 1
    print(y.shape, y)  # break
    return y * 2


@whole()
def a_print_of_known_values(x, log):
    y = x + 1
    print("shape", len(y.shape), 3.5, sep="|")
    return y * 2


@program(fullgraph=RUNS)
def a_tensor_as_a_number(x, log):
    y = x.sum()
    return x * int(y) + float(y)  # break, except under fullgraph, where the numbers stay in the graph


@whole()
def a_tensor_as_an_index(x, log):
    i = x.argmax()
    return torch.stack([x, x + 1, x + 2])[i] * 2


@program(fullgraph=RUNS)
def a_tensor_as_a_length(x, log):
    n = x.abs().max().item()  # break, except under fullgraph, where the number stays in the graph
    return torch.zeros(int(n)) + 1


@whole()
def hash_and_identity_of_a_tensor(x, log):
    y = x + 1
    found = {y: "y"}
    return found[y], y * 2, y in found
