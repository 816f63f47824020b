"""The derivative of each row of the op table against differences of the row itself, in double precision."""

import sys
from pathlib import Path

import pytest

OPS = str(Path(__file__).resolve().parents[1] / "ops")
if OPS not in sys.path:
    sys.path.insert(0, OPS)

from op_samples import UNDETERMINED, Data, case_id, cases, python_name, realize, variants  # noqa: E402

import minidynamo as md  # noqa: E402
import minidynamo.autograd  # noqa: E402

STEP = 1e-6
# Their results are drawn at random.
RANDOM = {row["name"] for row, *_ in cases() if row["kind"] == "Random"}
# What they give depends on the storage, not on the elements alone.
OTHER = UNDETERMINED | {"as_strided", "detach"}
CASES = [case for case in cases(lambda row: row["name"] not in RANDOM | OTHER)]


def in_double(value, leaves):
    """Arguments with floats as leaves in double precision, moved a little so that none are equal or at a kink."""
    if isinstance(value, Data) and value.kind in "fp" and value.dtype in (None, "float32", "float64"):
        given = value.numbers() if isinstance(value.numbers(), list) else [value.numbers()]
        numbers = [number + 0.0137 + 0.00071 * place for place, number in enumerate(given)]
        leaf = md.tensor(numbers, dtype=md.float64).reshape(value.shape).detach().requires_grad_()
        leaves.append(leaf)
        return leaf
    if isinstance(value, list):
        return [in_double(part, leaves) for part in value]
    return realize(value, md)


def moved(value, leaves, steps, factor):
    """The same arguments with each leaf moved along its step."""
    if isinstance(value, md.Tensor):
        at = next((number for number, leaf in enumerate(leaves) if leaf is value), None)
        return value if at is None else (value + steps[at] * factor).detach()
    if isinstance(value, list):
        return [moved(part, leaves, steps, factor) for part in value]
    return value


def floats(result):
    parts = list(result) if isinstance(result, (tuple, list)) else [result]
    return [part for part in parts if isinstance(part, md.Tensor) and part.dtype.is_floating_point]


def numbers(count, seed):
    return [((seed + 3) * (place + 1) * 2654435761 % 1009) / 504.5 - 1 for place in range(count)]


def like(tensor, seed):
    return md.tensor(numbers(tensor.numel(), seed), dtype=md.float64).reshape(tensor.shape)


def total(parts, weights):
    return sum((part.double() * weight).sum() for part, weight in zip(parts, weights, strict=True))


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_derivative_is_the_limit_of_differences(case):
    row, _, args, keywords = case
    call = next((each for name, each in variants(row).items() if name != "in_place" and each is not None), None)
    if call is None:
        pytest.skip("in place only")
    leaves = []
    args = [in_double(value, leaves) for value in args]
    keywords = {name: in_double(value, leaves) for name, value in keywords.items()}
    results = floats(call(*args, **keywords))
    flowing = [part for part in results if part.requires_grad]
    if not flowing:
        return
    weights = [like(part, 7 + number) for number, part in enumerate(results)]
    wanted = [(part, weight) for part, weight in zip(results, weights, strict=True) if part.requires_grad]
    found = md.autograd.grad(
        [part for part, _ in wanted], leaves, [w.to(part.dtype) for part, w in wanted], allow_unused=True
    )
    steps = [like(leaf, number) for number, leaf in enumerate(leaves)]
    sides = []
    for factor in (STEP, -STEP):
        there = [moved(value, leaves, steps, factor) for value in args]
        named = {name: moved(value, leaves, steps, factor) for name, value in keywords.items()}
        sides.append(total(floats(call(*there, **named)), weights).item())
    expected = (sides[0] - sides[1]) / (2 * STEP)
    if expected != expected:
        pytest.skip("no number at this place")
    slope = sum(
        (each.double() * step).sum().item() for each, step in zip(found, steps, strict=True) if each is not None
    )
    assert slope == pytest.approx(expected, rel=2e-5, abs=2e-6)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("case", CASES[::3], ids=case_id)
def test_gradients_have_the_dtype_of_their_tensors(case, dtype):
    row, _, args, keywords = case
    call = next((each for name, each in variants(row).items() if name != "in_place" and each is not None), None)
    leaves = []
    args = [in_double(value, leaves) for value in args]
    keywords = {name: in_double(value, leaves) for name, value in keywords.items()}
    narrow = [leaf.detach().to(getattr(md, dtype)).requires_grad_() for leaf in leaves]

    def replaced(value):
        if isinstance(value, list):
            return [replaced(part) for part in value]
        at = next((number for number, leaf in enumerate(leaves) if leaf is value), None)
        return value if at is None else narrow[at]

    try:
        results = call(
            *[replaced(value) for value in args], **{name: replaced(value) for name, value in keywords.items()}
        )
    except (RuntimeError, TypeError, ValueError, NotImplementedError) as error:
        pytest.skip(f"{python_name(row)} refuses {dtype}: {error}")
    flowing = [part for part in floats(results) if part.requires_grad]
    if not flowing:
        return
    found = md.autograd.grad(flowing, narrow, [md.ones_like(part) for part in flowing], allow_unused=True)
    for leaf, gradient in zip(narrow, found, strict=True):
        assert gradient is None or (gradient.dtype, gradient.shape) == (leaf.dtype, leaf.shape)
