"""The benchmarks over public models: how rows are judged, and that each of them runs from a command line."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

numpy = pytest.importorskip("numpy")
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

import compiled_and_eager  # noqa: E402
import public  # noqa: E402
import steps  # noqa: E402

MODEL = """
import torch

def models():
    torch.manual_seed(1)
    yield "small", torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU()).eval(), {"input": torch.ones(2, 8)}
"""


def row(model, products, **seconds):
    contenders = {
        name.replace("_", " ").replace("  ", ", "): {"min": value, "first": 1.0, "peak": 2**20}
        for name, value in seconds.items()
    }
    lost = [[900, "linear", "own", 1000, 0.1]]
    return {"model": model, "batch": 1, "threads": 1, "products": products, "contenders": contenders, "lost": lost}


def test_a_row_is_compared_with_the_best_that_a_user_could_pick():
    measured = row("a", 0.9, torch_eager=4.0, OpenVINO=1.0, minidynamo=2.0, minidynamo__frozen=1.6)
    assert public.ratio(measured) == 1.0 / 1.6
    assert public.ratio(measured, "minidynamo") == 0.5
    assert public.ratio(measured, torch_only=True) == 4.0 / 1.6
    assert public.ratio(measured, "minidynamo alone") is None
    measured["contenders"]["OpenVINO"] = {"failed": "does not take it"}
    assert public.ratio(measured) == 2.5


def test_the_report_has_both_strata_and_the_worst_rows(tmp_path):
    path = tmp_path / "rows.jsonl"
    head = {"date": "2026-01-01", "processor": "one", "cpus": 2, "python": "3.11", "versions": "torch 2"}
    rows = [row("a", 0.9, torch_eager=1.0, minidynamo=2.0), row("b", 0.1, torch_eager=3.0, minidynamo=1.0)]
    rows[1]["contenders"]["OpenVINO"] = {"failed": "does not take it"}
    path.write_text("\n".join(json.dumps(each) for each in [head, *rows]))
    text = public.report(path)
    assert "### Products and convolutions rule: 1 rows" in text and "### They do not: 1 rows" in text
    assert "| the better of ours | the best of all peers | 0.50 |" in text
    assert text.index("- a, batch 1, 1 threads: 0.5 ") < text.index("- b, batch 1, 1 threads: 3.0 ")
    assert "  - 1 of 1 us, 10 % of the bound: linear; own" in text
    assert "- b, batch 1: OpenVINO: does not take it" in text


def test_results_of_another_shape_or_size_differ(tmp_path):
    one, other, third = (tmp_path / f"{name}.npz" for name in "abc")
    numpy.savez(one, numpy.array([1.0, 2.0]))
    numpy.savez(other, numpy.array([1.0, 2.5]))
    numpy.savez(third, numpy.array([1.0]))
    assert public.difference(one, one) == 0
    assert public.difference(one, other) == 0.25
    assert public.difference(one, third) == float("inf")


def test_a_step_is_below_the_rule_from_20_us_on():
    assert steps.is_below({"us": 20.0, "part": 0.69})
    assert not steps.is_below({"us": 20.0, "part": 0.7})
    assert not steps.is_below({"us": 19.9, "part": 0.1})
    assert steps.kind_of({"text": "linear + relu -> relu (1 x 64)"}) == "linear + relu"
    assert steps.kind_of({"text": "kernel sort (3)"}) == "kernel sort"


def test_lone_operations_are_read_from_the_file_of_all_forms(tmp_path):
    path = tmp_path / "ops.jsonl"
    records = [{"threads": 1}, {"key": "abs", "seconds": {"eager": 2.0, "compiled": 1.0, "torch": 1.0}}, {"key": "x"}]
    path.write_text("\n".join(map(json.dumps, records)))
    assert compiled_and_eager.of_operations(path) == {"abs": 2.0}
    assert "1 below 0.95" in compiled_and_eager.summary([2.0, 0.9])


def run(script, *arguments):
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, BENCHMARKS / script, *arguments], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("script, known", [("compiled_and_eager.py", "1 rows: "), ("steps.py", "steps lose")])
def test_own_programs_are_measured(script, known, tmp_path):
    path = tmp_path / "rows.json"
    text = run(script, "--rows", "softmax, 256x1024, float32", "--json", str(path))
    assert known in text and json.loads(path.read_text())


@pytest.mark.slow
def test_models_of_a_directory_are_measured(tmp_path):
    pytest.importorskip("torch")
    (tmp_path / "ours.py").write_text(MODEL)
    output = tmp_path / "rows.jsonl"
    options = ["--code", str(tmp_path), "--models", "ours/", "--batches", "2", "--rounds", "3", "--output", str(output)]
    text = run("public.py", *options, "--contenders", "minidynamo", "--cache", str(tmp_path / "cache"))
    assert "ours/small, batch 2, 1 threads: " in text
    (measured,) = [json.loads(line) for line in output.read_text().splitlines()[1:]]
    assert set(measured["contenders"]) == {"torch eager", "minidynamo", "minidynamo, frozen", "minidynamo alone"}
    assert all("min" in facts for facts in measured["contenders"].values()), measured
    assert measured["breaks"] == 0 and 0 <= measured["products"] <= 1
    before = output.read_text()
    run("public.py", *options, "--resume")
    assert output.read_text() == before
