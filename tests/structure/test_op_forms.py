"""Every op that a program can call has a form in which it is measured; reports and cut runs are read rightly."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import minidynamo  # noqa: F401

numpy = pytest.importorskip("numpy")
sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import op_forms  # noqa: E402
import ops  # noqa: E402

ROWS = {row.name: row for row in op_forms.rows()}


def test_every_row_has_a_form_or_a_reason():
    without = {row.name for row in ROWS.values() if row.name not in op_forms.REASONS and not op_forms.has_form(row)}
    assert not without
    assert set(op_forms.REASONS) <= set(ROWS)


def test_forms_have_keys_of_their_own_and_every_layout():
    forms = list(op_forms.forms_of(ROWS["sum"]))
    assert len({form.key for form in forms}) == len(forms)
    assert {form.dtype for form in forms} == set(op_forms.DTYPES)
    assert {form.size for form in forms} == set(op_forms.SIZES)
    assert {"first dim", "middle dim", "last dim", "first and last dim", "whole, transposed"} <= {
        form.layout for form in forms
    }
    layouts = {form.layout for form in op_forms.forms_of(ROWS["add"], ["medium"], ["float32"])}
    assert {"one transposed", "rows with one row", "short last dim", "every other", "in place, contiguous"} <= layouts


def test_results_that_grow_fast_have_small_operands():
    shapes = op_forms.Shapes(ROWS["kron"])
    assert shapes.growth == pytest.approx(2, abs=0.1)
    assert shapes.elements("medium") ** 2 <= op_forms.LARGEST_RESULT


@pytest.mark.parametrize("layout", ["contiguous", "transposed", "every other", "part of rows", "expanded"])
def test_operands_have_the_same_numbers_in_numpy(layout):
    value = op_forms.Values((4, 6), layout)
    tensor, array = op_forms.make(value, "float32", minidynamo), op_forms.make_array(value, "float32")
    assert tuple(tensor.shape) == array.shape == (4, 6)
    assert tensor.tolist() == array.tolist()
    assert tensor.is_contiguous() == (layout == "contiguous")


def test_numbers_of_an_index_stand_once_along_its_dim():
    index = op_forms.numbers("index", (5, 7), "float32", 7, 0)
    assert (numpy.sort(index, 1) == numpy.arange(7)).all()


def test_forms_are_measured_and_a_wrong_answer_is_not():
    pytest.importorskip("torch")
    enabled = minidynamo.is_grad_enabled()
    bench = ops.Bench(rounds=1)
    try:
        for name in ("add", "sum", "scatter_add"):
            form = next(iter(op_forms.forms_of(ROWS[name], ["small"], ["float32"])))
            record = bench.record(form)
            assert set(record["ratios"]) == {"eager", "compiled"} and min(record["ratios"].values()) > 0, record
        form = next(iter(op_forms.forms_of(ROWS["neg"], ["small"], ["float32"])))
        bench._result = lambda form, library, domain: library.ones(3) * (1 + (library is minidynamo))
        assert bench.record(form)["skipped"].startswith("answers differ")
    finally:
        bench.theirs.set_grad_enabled(True)
        minidynamo.set_grad_enabled(enabled)


def record(row, **ratios):
    seconds = {"torch": 1e-6} | {name: 1e-6 / each for name, each in ratios.items()}
    found = {"key": f"{row} | contiguous", "row": row, "category": "Write", "layout": "contiguous"}
    return {**found, "size": "small", "dtype": "float32", "ratios": ratios, "seconds": seconds}


def test_report_has_the_mean_and_the_shares():
    records = [record("one", eager=4.0), record("two", eager=0.25), {**record("three"), "skipped": "torch: no"}]
    del records[2]["ratios"]
    text = "\n".join(ops.report(records))
    assert "3 forms of 3 rows, 2 measured." in text
    assert "| all | 2 | 1.00 | 50.0 % | 50.0 % |" in text
    assert "- 0.25 two | contiguous: 4 us, torch 1 us" in text
    assert "torch does not take it: 1" in text and "Rows of which no form is measured: three" in text
    assert "- 0.25 eager: two" in "\n".join(ops.low_forms(records))


def test_a_run_that_was_cut_goes_on_and_a_form_that_cuts_it_twice_is_left_out(tmp_path):
    path = tmp_path / "ops.jsonl"
    one, two, three = [
        op_forms.Form(name, "Write", "flat", "small", "float32", "", ()) for name in ("one", "two", "three")
    ]
    arguments = ops.parse(["--resume", "--output", str(path)])
    bench = SimpleNamespace(
        modes=["eager"],
        remember=lambda record: None,
        record=lambda form: {**record(form.row, eager=3.0), "key": form.key},
    )
    known = {**record("one", eager=1.0), "key": one.key}
    for times, expected in ((1, [1.0, 3.0, 3.0]), (2, [1.0, None, 3.0])):
        lines = [json.dumps(known), json.dumps(ops.beginning(two, times))]
        path.write_text("\n".join([*lines, '{"k']))
        for _ in range(2):
            records = ops.measure_all(bench, [one, two, three], arguments)
            by_key = {each["key"]: each.get("ratios", {}).get("eager") for each in records}
            assert [by_key[form.key] for form in (one, two, three)] == expected
