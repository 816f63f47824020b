"""Every row of the op table in every variant: eager, compiled, in place and with out=; against torch where it is
installed."""

import cmath

import pytest
from op_samples import ROWS, SAMPLES, UNDETERMINED, WITHOUT_VARIANTS, case_id, cases, python_name, realize, variants

import minidynamo as md

torch = None
try:
    import torch
except ImportError:
    pass

ERRORS = (TypeError, ValueError, RuntimeError, IndexError)
NO_GRAPH = {
    "as_strided",
    "narrow.tensor",
    "linspace.tensors",
}  # the shape depends on data, or the result on the storage


@pytest.fixture(autouse=True)
def fresh():
    md._dynamo.reset()  # the functions compiled below share their code


def test_every_row_has_samples():
    assert {row["name"] for row in ROWS} - WITHOUT_VARIANTS == set(SAMPLES)


def made(case, library=md):
    _, _, args, keywords = case
    return [realize(value, library) for value in args], {name: realize(v, library) for name, v in keywords.items()}


def flat(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


def dtype_name(tensor):
    return str(tensor.dtype).split(".")[1]


def facts(tensor):
    return dtype_name(tensor), tuple(tensor.shape), tensor.stride()


def assert_equal(a, b, exact=True, strides=True):
    assert len(flat(a)) == len(flat(b))
    for x, y in zip(flat(a), flat(b), strict=True):
        assert facts(x)[:2] == facts(y)[:2]
        assert x.numel() == 0 or x.stride() == y.stride() or not strides
        ours, theirs = x.reshape(-1).tolist(), y.reshape(-1).tolist()
        for u, v in zip(ours, theirs, strict=True):
            close = cmath.isclose(u, v, rel_tol=2e-5, abs_tol=2e-6)
            assert u == v or (u != u and v != v) or (not exact and close), (ours, theirs)


def outcome(call, args, keywords):
    md.manual_seed(11)
    try:
        return call(*args, **keywords), None
    except ERRORS as error:
        return None, error


def assert_same_outcome(a, b, exact=True, values=True, strides=True):
    (result, error), (other, other_error) = a, b
    assert (error is None) == (other_error is None), (error, other_error)
    if error is not None:
        classes = {type(error), type(other_error)}
        assert len(classes) == 1 or classes == {RuntimeError, NotImplementedError}, (error, other_error)
    elif values:
        assert_equal(result, other, exact, strides)
    else:
        assert [facts(t) for t in flat(result)] == [facts(t) for t in flat(other)]


def compiled(call):
    return md.compile(lambda *args, **keywords: call(*args, **keywords))


CASES = cases()
IDS = [case_id(case) for case in CASES]


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_variants_eager_and_compiled(case):
    row = case[0]
    values = row["name"] not in UNDETERMINED
    calls = {name: variant for name, variant in variants(row).items() if name != "in_place"}
    if not calls:
        assert row["in_place"]
        return
    first = None
    for name, variant in calls.items():
        args, keywords = made(case)
        if name == "method" and not isinstance(args[0], md.Tensor):
            continue  # where(condition, ...) and a number on the left have no method
        eager = outcome(variant, args, keywords)
        assert eager[1] is None, eager[1]
        first = first or eager
        assert_same_outcome(eager, first, values=values)
        captured = outcome(compiled(variant), args, keywords)
        assert type(captured[0]) is type(eager[0])
        # Fused loops contract a * b + c: equal up to rounding.
        assert_same_outcome(captured, eager, exact=False, values=values)


@pytest.mark.parametrize("case", cases(lambda row: row["name"] not in NO_GRAPH), ids=case_id)
def test_no_row_breaks_the_graph(case):
    args, keywords = made(case)
    for name, variant in variants(case[0]).items():
        if name in ("method", "in_place") and not isinstance(args[0], md.Tensor):
            continue
        eager = outcome(variant, *made(case))
        if eager[1] is not None:
            continue  # an in-place variant whose dtype cannot hold the result
        args, keywords = made(case)
        md.compile(lambda *a, variant=variant, **k: variant(*a, **k), fullgraph=True)(*args, **keywords)


@pytest.mark.parametrize("case", cases(lambda row: row["in_place"]), ids=case_id)
def test_in_place_variants(case):
    row = case[0]
    variant = variants(row)["in_place"]
    args, keywords = made(case)
    if not isinstance(args[0], md.Tensor):
        return
    written = outcome(variant, args, keywords)
    assert written[1] is not None or written[0] is args[0]
    again, keywords = made(case)
    captured = outcome(compiled(variant), again, keywords)
    assert_same_outcome(captured, written, exact=False)
    assert captured[1] is not None or captured[0] is again[0]
    assert_equal(again[0], args[0], exact=False)  # unchanged if it raised
    if "function" in variants(row) and written[1] is None:
        fresh, keywords = made(case)
        plain = variants(row)["function"](*fresh, **keywords)
        assert_equal(plain.to(args[0].dtype), written[0].contiguous() if plain.is_contiguous() else written[0])
    if torch is not None and hasattr(torch.Tensor, python_name(row) + "_"):
        theirs, keywords = made(case, torch)
        assert_same_outcome(
            written, outcome(getattr(torch.Tensor, python_name(row) + "_"), theirs, keywords), exact=False
        )


def fresh_outs(result, library=md):
    made = [library.empty(tuple(t.shape), dtype=getattr(library, dtype_name(t))) for t in flat(result)]
    return made if isinstance(result, (tuple, list)) else made[0]


@pytest.mark.parametrize("case", cases(lambda row: row["out"] and row["name"] not in UNDETERMINED), ids=case_id)
def test_out_variants(case):
    call = variants(case[0])["function"]
    args, keywords = made(case)
    plain, error = outcome(call, args, keywords)
    assert error is None
    for form in (call, compiled(call)):
        outs = fresh_outs(plain)
        written, error = outcome(form, args, {**keywords, "out": tuple(outs) if isinstance(outs, list) else outs})
        assert error is None, error
        for given, out in zip(flat(outs), flat(written), strict=True):
            assert given is out
        assert type(written) is type(plain)
        assert_equal([t.contiguous() for t in flat(written)], [t.contiguous() for t in flat(plain)], exact=False)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_against_torch(case):
    if torch is None:
        pytest.skip("torch is not installed")
    row = case[0]
    compared = 0
    for name, variant in variants(row).items():
        theirs = variants(row, torch).get(name)
        args, keywords = made(case)
        if theirs is None or name == "in_place" or (name == "method" and not isinstance(args[0], md.Tensor)):
            continue
        values = row["kind"] != "Random" and row["name"] not in UNDETERMINED
        assert_same_outcome(
            outcome(variant, args, keywords),
            outcome(theirs, *made(case, torch)),
            exact=False,
            values=values,
            strides=row["name"] != "where.condition",  # torch's are columns of one tensor
        )
        compared += 1
    assert compared > 0 or row["in_place"]
