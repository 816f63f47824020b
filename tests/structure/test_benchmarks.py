"""The benchmarks' workloads return correct results in one graph, and the evaluation of measurements is correct."""

import json
import math
import os
import subprocess
import sys
import xml.etree.ElementTree
from pathlib import Path
from types import SimpleNamespace

import pytest

import minidynamo

numpy = pytest.importorskip("numpy")
sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import engine  # noqa: E402
import harness  # noqa: E402
import instructions  # noqa: E402
import plots  # noqa: E402
import report  # noqa: E402
import roofline  # noqa: E402
import steady  # noqa: E402
import training  # noqa: E402
from peers import PEERS  # noqa: E402
from sections import Bench, Figure, NoSuchCall, Row, Section, Times  # noqa: E402
from workloads import ROWS, graphs  # noqa: E402

LARGE = ("10^7", "10^5", "10^6", "4096x", "batch 32", "512x1024x1024", "128^3", "edges")
SMALL = [row for row in [*ROWS.values(), *graphs.ROWS] if not any(part in row.name for part in LARGE)]


@pytest.mark.counts_regions
@pytest.mark.parametrize("row", SMALL, ids=lambda row: row.name)
def test_workload_is_one_graph_and_right(row, tmp_path):
    path = tmp_path / "case.npy"
    assert steady.write_case(row, path) > 0
    peer = PEERS["minidynamo eager" if row.is_eager else "minidynamo"]
    peer.forget()
    inputs, weights, expected = numpy.load(path, allow_pickle=True)
    with minidynamo.no_grad():
        callee, arguments = peer.prepare(row, inputs, weights)
        for _ in range(2):
            results = peer.read_all(callee(*arguments))
            assert steady.largest_error(results, expected) <= row.largest_error
    assert peer.notes()["breaks"] == (row.family == "call with one graph break")
    peer.forget()


def test_a_wrong_result_is_seen():
    right = [numpy.array([1.0, 2.0])]
    assert steady.largest_error([numpy.array([1.0, 2.5])], right) == 0.25
    assert math.isnan(steady.largest_error([numpy.array([1.0, math.nan])], right))
    with pytest.raises(AssertionError, match="shape"):
        steady.largest_error([numpy.array([1.0])], right)


def test_limit_is_the_longer_of_copying_and_of_products():
    roof = {"copy": [[1024, 4e9], [4096, 2e9]], "products": {"float32": 1e9}}
    assert roofline.copy_rate_at(roof["copy"], 2048) == pytest.approx(3e9)
    assert roofline.copy_rate_at(roof["copy"], 1) == 4e9
    assert roofline.copy_rate_at(roof["copy"], 1e9) == 2e9
    assert roofline.limit_seconds(roof, 4096, 0, "float32") == pytest.approx(4096 / 2e9)
    assert roofline.limit_seconds(roof, 4096, 1e6, "float32") == pytest.approx(1e-3)


def measured(ours, **peers):
    contenders = {"minidynamo": {"min": ours, "peak": 2**20}}
    contenders |= {name.replace("_", " "): {"min": seconds} for name, seconds in peers.items()}
    return {"moved": 8, "products": 0, "limit": 1e-9, "contenders": contenders}


def test_table_compares_with_the_best_peer():
    rows = {
        "softmax, 256x1024, float32": measured(1e-6, torch_eager=4e-6, NumPy=9e-6),
        "cumsum, 4096x1024, float32": measured(4e-6, JAX=1e-6),
    }
    rows["cumsum, 4096x1024, float32"]["contenders"]["MLX"] = {"failed": "too slow"}
    text = report.markdown({"versions": {"numpy": "2"}, "1": {"rows": rows}}, harness.machine())
    assert "| softmax, 256x1024, float32 | 1 us | torch eager | 4 us | 4.00 | 1.1 |" in text
    assert "| cumsum, 4096x1024, float32 | 4 us | JAX | 1 us | 0.25 **below 0.9** | 1 |" in text
    assert "Geometric mean 1.00 over 2 rows; 1 reach their aim, 1 are below 0.9" in text
    assert "- cumsum, 4096x1024, float32: MLX: too slow" in text


def test_plot_has_a_line_for_each_contender():
    rows = {f"gelu chain, 10^{power}, float32": measured(10.0**-power, NumPy=2 * 10.0**-power) for power in (3, 5, 7)}
    families = plots.curves(rows)
    assert set(families) == {"gelu chain"}
    tree = xml.etree.ElementTree.fromstring(plots.drawing("gelu chain", families["gelu chain"]))
    lines = tree.findall("{*}polyline")
    assert len(lines) == 3
    assert all(len(line.get("points").split()) == 3 for line in lines)


def test_a_worker_that_hangs_is_ended(tmp_path):
    script = tmp_path / "worker.py"
    script.write_text(
        "import sys, time\nfor line in sys.stdin:\n    print(1 if 'quick' in line else time.sleep(60), flush=True)\n"
    )
    worker = harness.Worker(str(script), ["sleeper"], harness.environment(1))
    assert worker.ask("quick", 30) == 1
    with pytest.raises(TimeoutError, match="sleeper"):
        worker.ask("slow", 0.2)
    assert worker.process.wait(30) != 0


def test_instructions_are_known_of_each_call():
    for version, known in json.loads(Path(instructions.PATH).read_text()).items():
        assert sorted(known) == sorted(instructions.ROWS), version


def test_instructions_cannot_be_counted_without_valgrind():
    command = [sys.executable, instructions.__file__]
    done = subprocess.run(command, env={**os.environ, "PATH": ""}, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (77, "valgrind is not installed\n")


def test_engine_compares_two_builds_and_plain_python(tmp_path, capsys):
    file = tmp_path / "engine.json"
    here = str(Path(minidynamo.__file__).parents[1])
    engine.main(argv=f"--sections writes --rows every --rounds 1 --again 0 --before {here} --json {file}".split(" "))
    lines = capsys.readouterr().out.splitlines()
    assert "## writes, 1 thread" in lines
    assert any(line.startswith("| every other element | numpy / compiled | ") for line in lines)
    (found,) = json.loads(file.read_text())["results"]["writes, 1"].values()
    assert found["least"]["now"]["compiled"]["seconds"] > 0
    assert set(found["least"]["before"]) == {"compiled"}
    assert {"numpy / compiled", "before / now"} <= set(found["figures"])
    ratio = found["least"]["before"]["compiled"]["seconds"] / found["least"]["now"]["compiled"]["seconds"]
    assert found["figures"]["before / now"] == ratio


@pytest.mark.parametrize("name", engine.SECTIONS)
def test_rows_of_the_engine_have_names_of_their_own(name):
    section = engine.section_of(name)
    for threads in section.threads:
        names = [row.name for row in section.rows(threads)]
        assert names and len(set(names)) == len(names)


def test_engine_says_what_is_skipped_and_what_is_missed(capsys):
    def absent():
        import no_such_library  # noqa: F401

    def unknown():
        raise NoSuchCall

    def failing():
        raise ValueError("wrong")

    rows = [
        Row("slow", {"minidynamo": lambda: lambda: sum(range(20_000)), "peer": lambda: int}),
        Row("alone", {"minidynamo": lambda: int, "peer": absent, "other": unknown}),
        Row("broken", {"minidynamo": failing}),
    ]

    def figures(row, times):
        if times.has("peer"):
            yield Figure("peer / ours", times.least("peer") / times.least("minidynamo"), 0.95)

    section, found = Section(lambda threads: rows, figures), {}
    bench = Bench(section, 1, "")
    assert bench.answer("?") == ["slow", "alone", "broken"]
    builds = engine.Builds({engine.NOW: lambda: SimpleNamespace(ask=bench.answer)})
    for row in rows:
        found[row.name] = engine.measure_row(builds, section, row.name, 2, 1)
    engine.print_section("section", section, 1, found)
    text = capsys.readouterr().out
    assert "| at least 0.95 | **missed** |" in text
    assert "3 rows, 1 figures with a target, 1 missed." in text
    assert "- peer: skipped, no_such_library is not installed (1 rows)" in text
    assert "- other: skipped, it has no such call (1 rows)" in text
    assert "- now: skipped, ValueError: wrong (1 rows)" in text


def test_engine_keeps_the_better_measurement_of_a_figure():
    most = [Figure("ms", value, 5, at_most=True) for value in (7, 4)]
    assert not most[0].is_met and most[0].better(most[1]).is_met and most[1].better(most[0]).is_met
    least = [Figure("ratio", value, 0.95) for value in (0.9, 1.2)]
    assert not least[0].is_met and least[0].better(least[1]).is_met and least[1].better(least[0]).is_met
    times = Times({}, [{"a": {"seconds": 2.0}}, {"a": {"seconds": 1.0}}])
    assert times.least("a") == 1.0 and not times.has("a", "b") and times.least("b") == math.inf


@pytest.mark.parametrize("row", training.WORKLOADS)
def test_training_steps_of_all_kinds_agree(row):
    def losses(step, batch):
        return [step(*batch).item() for _ in range(3)]

    made = [training.WORKLOADS[row](minidynamo) for _ in range(2)]
    steps = [make(minidynamo, each) for make, each in zip((training.uncompiled, training.hand_written_step), made)]
    stock, written = (losses(step, each.batch) for step, each in zip(steps, made))
    assert training.agrees(written, stock)
    pytest.importorskip("jax")
    workload = training.training_jax.WORKLOADS[row]()
    assert training.agrees(losses(training.training_jax.compiled_step(workload), workload.batch), stock)


class Answering:
    """A worker whose answer is known, or that has ended."""

    def __init__(self, name, answer):
        self.name, self.answer = name, answer

    def ask(self, question):
        if self.answer is None:
            raise RuntimeError("the worker ended with status 1")
        return self.answer


def test_contenders_that_fail_are_skipped_with_the_reason(capsys):
    sound = {"losses": [1.0, 0.5], "first": 1.0, "memory": 1}
    workers = [
        Answering("torch", sound),
        Answering("JAX", {"failed": "TypeError: no"}),
        Answering("other", {**sound, "losses": [1.0, 0.6]}),
        Answering("gone", None),
    ]
    assert training.begin(workers, "mlp") == {"torch": sound}
    assert capsys.readouterr().err.splitlines() == [
        "mlp: JAX: skipped: TypeError: no",
        "mlp: other: skipped: other losses: [1.0, 0.6], not [1.0, 0.5]",
        "mlp: gone: skipped: the worker ended with status 1",
    ]
    with pytest.raises(RuntimeError, match="torch: TypeError: no"):
        training.begin([Answering("torch", {"failed": "TypeError: no"})], "mlp")


def test_training_is_compared_with_the_best_peer_of_each_row(capsys):
    seconds = {"mlp": {"torch": 3.0, "JAX": 2.0, training.OURS: 1.0}, "cnn": {"torch": 1.0, training.OURS: 2.0}}
    results = {row: {name: {"min": least} for name, least in each.items()} for row, each in seconds.items()}
    training.print_comparison(results, 2, training.OURS, training.PEERS)
    training.print_comparison(results, 2, training.OUR_MODEL, [training.THEIR_MODEL])
    assert capsys.readouterr().out == (
        "\nminidynamo.compile(step) beside the best peer, 2 rows, 2 threads: geometric mean 1.00, below 0.95: cnn 0.50\n"
    )


@pytest.mark.parametrize(
    "given, threads", [([], "1,2"), (["--threads", "1", "2"], "1,2"), (["--threads", "2,4"], "2,4")]
)
def test_threads_are_given_as_a_list_or_one_by_one(monkeypatch, given, threads):
    monkeypatch.setattr(sys, "argv", ["benchmark.py", *given])
    assert harness.parse_arguments("text", 1).threads == threads
