"""Samples of torch's operators and modules that require grad: results and gradients, plain beside compiled, float64.

`python torch_gradient_database.py [name ...]` prints all differences, and how many samples were recorded as one node.
"""

import itertools
import sys
import warnings
from collections import Counter

import torch
import torch_database as database
from compiled_torch import copy_of, seed
from database_translation import unseeded
from torch.utils._pytree import tree_leaves

import minidynamo

MODULE = "CompiledFunctionBackward"


def tensors_of(value):
    return [part for part in tree_leaves(value) if isinstance(part, torch.Tensor)]


def leaves_of(arguments):
    return [part for part in tensors_of(arguments) if part.requires_grad]


def goes_back(result):
    return result.requires_grad and result.grad_fn is not None


def gradients(results, leaves):
    """Of a sum of all results that have a history, with drawn weights."""
    generator = torch.Generator().manual_seed(5)
    given = [torch.randn(each.shape, generator=generator, dtype=torch.float64).to(each.dtype) for each in results]
    return torch.autograd.grad(results, leaves, given, allow_unused=True)


def run(call, arguments):
    """(results, gradients of the leaves, exception)."""
    positional, keywords = copy_of(arguments)
    leaves = leaves_of((positional, keywords))
    seed(1)
    try:
        results = tensors_of(call(positional, keywords))
        recorded = [each for each in results if goes_back(each)]
        return results, gradients(recorded, leaves) if recorded and leaves else (), None
    except Exception as error:
        return [], (), error


def difference(found, expected, tolerance):
    (results, slopes, error), (torch_results, torch_slopes, torch_error) = found, expected
    if (error is None) != (torch_error is None):
        return f"{error!r}, torch: {torch_error!r}"
    if len(results) != len(torch_results):
        return f"{len(results)} results, torch: {len(torch_results)}"
    for number, (a, b) in enumerate(zip(results, torch_results, strict=True)):
        if a.requires_grad != b.requires_grad:
            return f"result {number} requires_grad={a.requires_grad}, torch: {b.requires_grad}"
    for number, (a, b) in enumerate(zip(slopes, torch_slopes, strict=True)):
        if (a is None) != (b is None):
            return f"gradient {number} is {'not ' if a is not None else ''}there, torch's is"
        if a is None or b.layout != torch.strided:
            continue
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"gradient {number} {a.dtype} {tuple(a.shape)}, torch: {b.dtype} {tuple(b.shape)}"
        # Some arguments of a sample are in another dtype than the operator's.
        bound = max(tolerance, 16 * torch.finfo(b.dtype).eps)
        if not torch.allclose(a, b, rtol=bound, atol=bound, equal_nan=True):
            return f"gradient {number} of {b.dtype} differs by {(a - b).abs().max().item():.3g}"
    return ""


def compare(call, arguments, tolerance=1e-7):
    """(a difference or "", whether all results with a history are of compiled nodes)."""
    expected = run(call, arguments)
    minidynamo._dynamo.reset()
    compiled = minidynamo.compile(call)
    found = run(lambda positional, keywords: compiled(positional, keywords), arguments)
    text = difference(found, expected, tolerance)
    if text:
        return text, False
    nodes = {node.name() for result in found[0] if goes_back(result) for node in behind(result.grad_fn)}
    return "", MODULE in nodes and not nodes - {MODULE, "torch::autograd::AccumulateGrad", "AsStridedBackward0"}


def behind(node):
    seen, waiting = {node}, [node]
    while waiting:
        for each, _ in waiting.pop().next_functions:
            if each is not None and each not in seen:
                seen.add(each)
                waiting.append(each)
    return seen


def outcomes(op, only=lambda number: True):
    """(number, difference, whether recorded) of the operator's samples that `only` selects."""
    if not op.supports_autograd or torch.float64 not in op.dtypes:
        return
    function = unseeded(op.op)

    def call(positional, keywords):
        return function(*positional, **keywords)

    seed(0)
    for number, sample in enumerate(op.sample_inputs("cpu", torch.float64, requires_grad=True)):
        if only(number):
            arguments = ((sample.input, *sample.args), dict(sample.kwargs))
            if any(part.layout != torch.strided for part in tensors_of(arguments)):
                continue
            yield number, *compare(call, arguments)


def module_outcomes(info, only=lambda number: True):
    """The same of a module in training mode; its parameters are leaves as well."""
    seed(0)
    inputs = info.module_inputs_func(info, device="cpu", dtype=torch.float64, requires_grad=True, training=True)
    for number, sample in enumerate(inputs):
        if not only(number) or sample.forward_input is None:
            continue
        made = sample.constructor_input

        def call(positional, keywords, made=made):
            seed(0)
            module = info.module_cls(*made.args, **made.kwargs).double().train()
            return module, positional, keywords

        given = sample.forward_input
        yield number, *compare_module(call, (tuple(given.args), dict(given.kwargs)))


def compare_module(make, arguments, tolerance=1e-7):
    def steps(compiles):
        module, positional, keywords = make(*copy_of(arguments))
        run_module = minidynamo.compile(module) if compiles else module
        leaves = [*leaves_of((positional, keywords)), *(p for p in module.parameters() if p.requires_grad)]
        seed(1)
        try:
            results = tensors_of(run_module(*positional, **keywords))
            recorded = [each for each in results if goes_back(each)]
            return results, gradients(recorded, leaves) if recorded and leaves else (), None
        except Exception as error:
            return [], (), error

    expected = steps(False)
    minidynamo._dynamo.reset()
    found = steps(True)
    text = difference(found, expected, tolerance)
    nodes = {node.name() for result in found[0] if goes_back(result) for node in behind(result.grad_fn)}
    return text, not text and MODULE in nodes


def report(wanted):
    warnings.simplefilter("ignore")
    table = Counter()
    sources = itertools.chain(
        ((name, lambda op=op: outcomes(op)) for name, op in database.entries().items()),
        ((name, lambda info=info: module_outcomes(info)) for name, info in database.modules().items()),
    )
    for name, found in sources:
        if not wanted(name):
            continue
        shown = 0
        for number, text, recorded in found():
            table["different" if text else "recorded" if recorded else "left"] += 1
            if text and shown < 2:
                shown += 1
                print(f"{name} #{number}: {text[:300]}", flush=True)
    print(dict(table))


if __name__ == "__main__":
    names = set(sys.argv[1:])
    report(lambda name: not names or name in names)
