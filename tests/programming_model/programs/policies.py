"""error_on_graph_break, fullgraph and nested compile: which setting applies, and when its error is raised."""

import minidynamo as torch
from minidynamo._dynamo import error_on_graph_break, graph_break

from .registry import RUNS, program, whole


def breaks(x):
    x = x + 1
    graph_break()  # break, error
    return x * 2


def notes(x, log, what):
    x = x + 1
    graph_break()  # break
    log.append(what)
    return x


allowed = error_on_graph_break(False)(breaks)
forbidden = error_on_graph_break(True)(breaks)


@program(strict=RUNS)
def a_block_that_allows(x, log):
    with error_on_graph_break(False):
        x = breaks(x)
    return x * 2


@program(default=[])
def a_block_that_forbids(x, log):
    x = x + 1
    with error_on_graph_break(True):
        x = breaks(x)
    return x


@program(strict=RUNS)
def a_function_that_allows(x, log):
    return allowed(x) + 1


@program(default=[])
def a_function_that_forbids(x, log):
    return forbidden(x) + 1


@program(strict=RUNS)
def allows_inside_of_forbids(x, log):
    with error_on_graph_break(True):
        x = x + 1
        with error_on_graph_break(False):
            x = breaks(x)
        x = x * 2
    return x


@program(default=[])
def forbids_inside_of_allows(x, log):
    with error_on_graph_break(False):
        x = x + 1
        with error_on_graph_break(True):
            x = breaks(x)
    return x


@program(default=["first"], strict=["first"])
def forbids_after_a_break_that_is_allowed(x, log):
    with error_on_graph_break(False):
        x = notes(x, log, "first")
    with error_on_graph_break(True):
        x = breaks(x)
    return x


@program(default=RUNS, strict=["first"])
def restored_after_the_block(x, log):
    with error_on_graph_break(False):
        x = notes(x, log, "first")
    x = x + 1
    graph_break()  # error
    log.append("not under True")
    return x


@program(default=RUNS, strict=[])
def restored_when_the_block_raises(x, log):
    try:
        with error_on_graph_break(True):
            raise KeyError("k")
    except KeyError:
        x = x + 1
    graph_break()  # break, error
    return x


class Manager:
    def __init__(self, log):
        self.log = log

    def __enter__(self):
        self.log.append("enter")

    def __exit__(self, kind, error, trace):
        self.log.append(f"exit {kind.__name__}" if kind else "exit")


@program(default=["enter", "exit Unsupported", "finally"], strict=[])
def the_error_leaves_through_with_and_finally(x, log):
    x = x + 1
    graph_break()  # break
    try:
        with Manager(log):
            graph_break()
            with error_on_graph_break(True):
                x = x * 2
                graph_break()  # error
    finally:
        log.append("finally")
    return x


@program(strict=RUNS)
def decided_by_the_callee_of_a_callee(x, log):
    def middle(y):
        return allowed(y + 1) * 2

    return middle(x) + 1


class AllowingLayer:
    @error_on_graph_break(False)
    def forward(self, y):
        y = y + 1
        graph_break()  # break
        return y * 2


class ForbiddingLayer:
    @error_on_graph_break(True)
    def forward(self, y):
        y = y + 1
        graph_break()  # break, error
        return y * 2


@program(strict=RUNS)
def a_method_that_allows(x, log):
    return AllowingLayer().forward(x) + 1


@program(default=[])
def a_method_that_forbids(x, log):
    return ForbiddingLayer().forward(x) + 1


@error_on_graph_break(False)
class Allowing:
    def __init__(self, x):
        self.x = x + 1
        graph_break()  # break

    def __call__(self, y):
        graph_break()
        return self.x + y

    @property
    def value(self):
        graph_break()
        return self.x


@program(strict=RUNS)
def a_class_that_allows(x, log):
    made = Allowing(x)
    return made(x) + made.value


@program(strict=RUNS)
def settings_one_in_another_twice(x, log):
    with error_on_graph_break(True):
        with error_on_graph_break(False):
            x = breaks(x)
            with error_on_graph_break(True):
                x = x + 5
            x = breaks(x)
        x = x * 2
    return x


@program(strict=RUNS)
def a_setting_in_a_loop(x, log):
    for i in range(3):
        with error_on_graph_break(False):
            x = x + i
            graph_break()  # break
        x = x * 2
    return x


@program(default=[0, 1], strict=[0, 1])
def a_setting_that_changes_in_a_loop(x, log):
    for i in range(4):
        with error_on_graph_break(i == 2):
            x = x + i
            graph_break()  # break, error
        log.append(i)
    return x


@program(strict=RUNS)
def entered_by_hand(x, log):
    setting = error_on_graph_break(False)
    setting.__enter__()
    x = breaks(x)
    setting.__exit__(None, None, None)
    return x * 2


@program(strict=RUNS)
def a_setting_left_by_return(x, log):
    def callee(y):
        with error_on_graph_break(False):
            y = y + 1
            graph_break()  # break
            return y * 2

    return callee(x) - 1


@program(default=["caught"], strict=[])
def the_error_is_seen_by_a_handler_after_a_break(x, log):
    try:
        x = x + 1
        graph_break()  # break
        x = forbidden(x)
    except RuntimeError:
        log.append("caught")
        raise
    return x


@program(default=[])
def the_error_is_raised_where_its_region_starts(x, log):
    x = x + 1
    graph_break()  # break
    try:
        x = forbidden(x)
    except RuntimeError:
        log.append("not caught: the region starts before the try")
        raise
    return x


@program(strict=RUNS)
def in_a_generator_that_is_resumed_under_false(x, log):
    def numbers():
        yield x + 1
        graph_break()  # break
        yield x + 2

    total = x
    with error_on_graph_break(False):
        for y in numbers():
            total = total + y
    return total


compiled_breaks = torch.compile(breaks, backend="eager")
compiled_whole = torch.compile(breaks, backend="eager", fullgraph=True)


@program()
def a_compiled_function_in_a_compiled_one(x, log):
    return compiled_breaks(x) + 1


@program(default=[])
def fullgraph_inside_of_a_compiled_function(x, log):
    x = x + 1
    return compiled_whole(x) + 1


@program(default=[])
def fullgraph_does_not_see_a_block_that_allows(x, log):
    with error_on_graph_break(False):
        return compiled_whole(x) + 1


@program(default=["first"], strict=[])
def fullgraph_inside_after_a_break(x, log):
    x = notes(x, log, "first")
    return compiled_whole(x) + 1


@program(strict=RUNS)
def a_compiled_function_in_a_block_that_allows(x, log):
    with error_on_graph_break(False):
        return compiled_breaks(x) + 1


@torch.compile(backend="eager", fullgraph=True)
def whole_inside(x):
    return x * 2 + 1


@whole()
def fullgraph_inside_that_holds(x, log):
    return whole_inside(x) + 1


@program()
def fullgraph_inside_that_holds_between_breaks(x, log):
    x = x + 1
    graph_break()  # break
    x = whole_inside(x)
    graph_break()
    return x + 1


@whole()
def settings_without_a_break(x, log):
    with error_on_graph_break(True):
        x = x + 1
        with error_on_graph_break(False):
            x = x * 2
    return error_on_graph_break(True)(lambda y: y + 1)(x)


@torch.compiler.disable
def disabled(x):
    return x * 3


@program(default=[])
def a_disabled_function_in_a_block_that_forbids(x, log):
    with error_on_graph_break(True):
        x = x + 1
        return disabled(x)  # error, break


@torch.compiler.disable
def calls_back(x):
    return breaks(x) + allowed(x)


@program()
def nothing_counts_below_a_disabled_function(x, log):
    return calls_back(x) + 1  # break


@torch.compiler.disable(recursive=False)
def only_its_frame_is_disabled(x):
    return forbidden(x) + 1


@program(default=[])
def it_counts_below_a_frame_that_is_disabled(x, log):
    return only_its_frame_is_disabled(x + 1) + 1  # break


@program(default=RUNS, strict=[])
def a_branch_on_a_tensor(x, log):
    with error_on_graph_break(False):
        x = x + 1
    if x.sum() > 0:  # break, error
        return x * 2
    return x
