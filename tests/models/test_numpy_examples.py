"""The examples over NumPy's arrays: compiled functions give what plain ones give, and the programs end well."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

import minidynamo

numpy = pytest.importorskip("numpy")
EXAMPLES = Path(__file__).parents[2] / "examples"


def module_of(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_diffusion(tmp_path):
    example = module_of(EXAMPLES / "diffusion" / "diffuse.py")
    expected, _ = example.run(example.advance, 40, 30, "NumPy")
    heat, _ = example.run(minidynamo.compile(example.advance), 40, 30, "minidynamo")
    assert heat == pytest.approx(expected, rel=1e-12)
    assert 0 <= heat.min() and heat.max() <= 1 and heat[5].mean() > heat[20].mean()
    assert example.draw(heat, tmp_path / "heat.png").stat().st_size > 1000


def test_option_prices():
    example = module_of(EXAMPLES / "option_prices" / "price.py")
    generator = numpy.random.default_rng(3)
    arrays = *generator.uniform(50, 150, (2, 1000)), generator.uniform(0.1, 2, 1000), generator.uniform(0.1, 0.6, 1000)
    for function in (example.black_scholes, example.normal_below):
        some = arrays[: function.__code__.co_argcount]
        before = minidynamo._C.engine_counters()
        found, expected = minidynamo.compile(function, fullgraph=True)(*some), function(*some)
        assert numpy.allclose(found, expected, rtol=1e-11, atol=1e-13)
        # No floating-point exception has left it to NumPy.
        assert minidynamo._C.engine_counters()["plan_failures"] == before["plan_failures"]
    call, put, delta, vega = example.black_scholes(*arrays)
    assert (call >= 0).all() and (put > -1e-4).all() and (vega >= 0).all() and (delta <= 1).all()


@pytest.mark.parametrize(
    "program",
    [["diffusion/diffuse.py", "--size", "32", "--steps", "20"], ["option_prices/price.py", "--options", "50"]],
)
def test_programs(program, tmp_path):
    path = str(EXAMPLES / program[0])
    done = subprocess.run([sys.executable, path, *program[1:]], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and "times as fast" in done.stdout, done.stderr
