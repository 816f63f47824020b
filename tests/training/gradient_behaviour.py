"""What tests of programs that go back see of some calls, beside plain code: of one library's tensors, which is given."""

import traceback


def later_backward(library, result):
    """What a backward through the results does behind the function."""
    found = []
    for each in result if isinstance(result, tuple) else (result,):
        if not isinstance(each, library.Tensor) or not each.requires_grad:
            continue
        try:
            each.sum().backward()
            found.append("ran")
        except RuntimeError as error:
            found.append(str(error))
    return found


def behaviour(library, function, program, state, facts, calls=3):
    """Results, gradients, versions and errors of some calls. state: its leaves() and log; facts(value): what is compared
    of a value."""
    seen = []
    for _ in range(calls):
        result = None
        try:
            result = function(state)
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            seen.append((type(error), str(error), [each.line for each in frames if each.name == program.__name__]))
        seen.append(facts(result))
        seen.append([(facts(leaf), facts(leaf.grad), leaf._version) for leaf in state.leaves()])
        seen.append((later_backward(library, result), facts(state.log)))
        seen.append([facts(leaf.grad) for leaf in state.leaves()])
    return seen


def close(one, other):
    if isinstance(one, float) and isinstance(other, float):
        return one == other or abs(one - other) <= 1e-12 * max(1.0, abs(one))
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(close, one, other))
    return one == other
