"""load_inline(): functions in C++, their parameters and results, their errors, and when they are built."""

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import minidynamo
from minidynamo.utils import cpp_extension
from minidynamo.utils.cpp_extension import load_inline

SOURCE = """\
#include <cmath>
#include <numeric>

torch::Tensor twice(const torch::Tensor& x) {
  torch::Tensor input = x.contiguous(), output = torch::empty_like(input);
  const float* in = input.const_data_ptr<float>();
  float* out = output.data_ptr();
  for (int64_t i = 0; i < input.numel(); ++i) out[i] = 2 * in[i];
  return output;
}
void add_in_place(torch::Tensor x, double value) {
  auto a = x.accessor<float, 2>();
  for (int64_t i = 0; i < a.size(0); ++i)
    for (int64_t j = 0; j < a.size(1); ++j) a[i][j] += static_cast<float>(value);
}
std::string describe(torch::Tensor x) {
  std::ostringstream text;
  text << x.dtype() << x.sizes() << x.strides() << x.dim() << x.numel() << x.element_size() << x.is_contiguous()
       << x.device();
  return text.str();
}
std::tuple<int64_t, double, bool, std::string> echo(int64_t i, double d, bool b, std::string s) { return {i, d, b, s}; }
std::vector<int64_t> lengths(std::vector<torch::Tensor> xs, std::optional<int64_t> more) {
  std::vector<int64_t> result;
  for (auto& x : xs) result.push_back(x.numel() + more.value_or(0));
  return result;
}
std::optional<torch::Tensor> maybe(bool give) {
  if (give) return torch::zeros({2, 3}, torch::kInt64);
  return std::nullopt;
}
torch::Tensor nothing() { return torch::Tensor(); }
int small(int8_t value) { return value; }
float first(torch::Tensor x) { return x.item<float>(); }
int64_t size_at(torch::Tensor x, int64_t dim) { return x.size(dim); }
void check(bool value) { TORCH_CHECK(value, "value is ", value, ", not ", 1); }
void check_bare(int64_t n) { TORCH_CHECK(n > 3); }
void fail(int64_t how) {
  if (how == 0) throw std::runtime_error("runtime");
  if (how == 1) throw std::invalid_argument("argument");
  if (how == 2) throw std::out_of_range("range");
  if (how == 3) throw std::bad_alloc();
  if (how == 4) throw 3;
  torch::zeros({-1});
}
std::vector<torch::Tensor> made() {
  auto options = torch::TensorOptions().dtype(torch::kFloat64).device(torch::kCPU);
  return {torch::ones({2}, options), torch::full({1}, 2.5), torch::zeros({2, 2}).reshape({4}).to(torch::kInt32),
          torch::ones_like(torch::zeros({1}, torch::kBool)), torch::empty({0}), torch::ones({2, 2}).view({-1})};
}
void* pointer(torch::Tensor x) { return x.data_ptr(); }
bool same_pointer(torch::Tensor x) { return pointer(x) == x.const_data_ptr<float>(); }
"""
FUNCTIONS = """twice add_in_place describe echo lengths maybe nothing small first size_at check check_bare fail made
same_pointer""".split()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("extensions")


@pytest.fixture(scope="module")
def module(folder):
    return load_inline("all_of_it", SOURCE, functions=FUNCTIONS, build_directory=folder)


def ones(*sizes):
    return minidynamo.ones(sizes)


def test_tensors_in_and_out(module):
    x = minidynamo.arange(6, dtype=minidynamo.float32).reshape(2, 3)
    assert module.twice(x).tolist() == (x * 2).tolist()
    assert module.twice(x.t()).tolist() == (x.t() * 2).tolist()
    assert module.describe(x[:, 1:]) == "Float[2, 2][3, 1]2440cpu"
    assert module.describe(minidynamo.tensor(1)) == "Long[][]0181cpu"
    assert module.nothing() is None and module.maybe(False) is None
    assert module.maybe(True).tolist() == [[0, 0, 0], [0, 0, 0]]
    assert module.same_pointer(x)
    assert [(tensor.dtype, tensor.tolist()) for tensor in module.made()] == [
        (minidynamo.float64, [1.0, 1.0]),
        (minidynamo.float32, [2.5]),
        (minidynamo.int32, [0, 0, 0, 0]),
        (minidynamo.bool, [True]),
        (minidynamo.float32, []),
        (minidynamo.float32, [1.0] * 4),
    ]


def test_writes_are_seen(module):
    x = ones(2, 2)
    weights = ones(2, 2)
    product = minidynamo.compile(lambda x: x @ weights)
    assert product(x).tolist() == [[2.0, 2.0], [2.0, 2.0]]
    module.add_in_place(weights.t(), 1)
    # Packed copies of the weights are not used again.
    assert product(x).tolist() == [[4.0, 4.0], [4.0, 4.0]]


def test_numbers_strings_and_lists(module):
    assert module.echo(-(2**63), 2, True, "ä\0b") == (-(2**63), 2.0, True, "ä\0b")
    assert module.lengths([ones(2), ones(3)], None) == [2, 3]
    assert module.lengths((), 1) == []
    assert module.lengths([ones(2)], 10) == [12]
    assert module.small(-128) == -128
    assert module.first(ones(1, 1)) == 1.0
    assert module.size_at(ones(2, 3), -1) == 3


def test_wrong_arguments(module):
    for call, error, text in (
        (lambda: module.twice(), TypeError, "1 positional arguments are expected, 0 were given"),
        (lambda: module.twice(ones(1), 2), TypeError, "2 were given"),
        (lambda: module.twice(x=ones(1)), TypeError, "keyword"),
        (lambda: module.twice(3), TypeError, "expected .*Tensor, got int"),
        (lambda: module.twice(None), TypeError, "expected Tensor, got NoneType"),
        (lambda: module.echo(1.5, 2.0, True, ""), TypeError, "expected int, got float"),
        (lambda: module.echo(True, 2.0, True, ""), TypeError, "expected int, got bool"),
        (lambda: module.echo(1, "2", True, ""), TypeError, "expected float, got str"),
        (lambda: module.echo(1, 2.0, 1, ""), TypeError, "expected bool, got int"),
        (lambda: module.echo(1, 2.0, True, b""), TypeError, "expected str, got bytes"),
        (lambda: module.echo(2**63, 2.0, True, ""), OverflowError, "does not fit into 64 bits"),
        (lambda: module.small(128), OverflowError, "128 does not fit into 8 bits"),
        (lambda: module.lengths(ones(2), None), TypeError, "expected a list or tuple, got .*Tensor"),
        (lambda: module.lengths([ones(2), 3], None), TypeError, "expected .*Tensor, got int"),
        (lambda: module.twice(minidynamo.arange(2)), RuntimeError, "expected scalar type Float but found Long"),
        (lambda: module.add_in_place(ones(2), 1.0), RuntimeError, "TensorAccessor expected 2 dims but tensor has 1"),
        (lambda: module.first(ones(2)), RuntimeError, "item"),
        (lambda: module.size_at(ones(2), 1), IndexError, "Dimension out of range"),
        (lambda: module.size_at(minidynamo.tensor(1.0), 0), IndexError, "Dimension out of range"),
    ):
        with pytest.raises(error, match=text):
            call()


def test_read_only_memory_is_not_written(module):
    tensor = minidynamo.from_dlpack(read_only())
    with pytest.raises(RuntimeError, match="read-only"):
        module.add_in_place(tensor, 1.0)
    assert module.twice(tensor).tolist() == [[2.0, 2.0]]


def read_only():
    numpy = pytest.importorskip("numpy")
    array = numpy.ones((1, 2), dtype=numpy.float32)
    array.flags.writeable = False
    return array


def test_exceptions(module):
    with pytest.raises(RuntimeError, match="^value is 0, not 1$"):
        module.check(False)
    with pytest.raises(RuntimeError, match="^Expected n > 3 to be true, but got false.$"):
        module.check_bare(3)
    for how, error in enumerate((RuntimeError, ValueError, IndexError, MemoryError, RuntimeError, RuntimeError)):
        with pytest.raises(error):
            module.fail(how)


@pytest.mark.counts_regions
def test_a_call_breaks_the_graph_and_is_an_operator_under_custom_op(module):
    def function(x):
        return module.twice(x + 1) * 3

    report = minidynamo._dynamo.explain(function)(ones(2))
    assert [reason.gb_id for reason in report.break_reasons] == ["MD0007"] and report.graph_count == 2

    @minidynamo.library.custom_op("cpptest::twice", mutates_args=())
    def twice(x: minidynamo.Tensor) -> minidynamo.Tensor:
        return module.twice(x)

    twice.register_fake(lambda x: x.new_empty(x.size()))
    compiled = minidynamo.compile(lambda x: twice(x + 1) * 3, fullgraph=True)
    assert compiled(ones(2)).tolist() == function(ones(2)).tolist() == [12.0, 12.0]


@pytest.mark.counts_regions
def test_traced_tensors_have_no_data(module):
    nonstrict = minidynamo._dynamo.nonstrict_trace(lambda x: module.twice(x))
    traced = minidynamo.compile(lambda x: nonstrict(x), fullgraph=True)
    with pytest.raises(Exception, match="without data: the call is traced"):
        traced(ones(2))


SMALL = "int64_t one() { return %s; }"


def files(folder):
    return sorted(path.name for path in Path(folder).iterdir())


def test_a_build_is_cached_by_its_sources_and_flags(tmp_path, capfd, monkeypatch):
    def build(value, **options):
        return load_inline("small", SMALL % value, functions="one", build_directory=tmp_path, **options)

    assert build(1, verbose=True).one() == 1
    assert "-std=c++17" in capfd.readouterr().err
    first = files(tmp_path)
    assert len(first) == 1
    monkeypatch.setattr(cpp_extension, "_build", lambda *args: pytest.fail("built again"))
    assert build(1, verbose=True).one() == 1
    assert "up to date" in capfd.readouterr().err
    monkeypatch.undo()
    # Under the same name: the module that was loaded before is unaffected.
    older = build(1)
    assert build(2).one() == 2 and older.one() == 1
    assert len(files(tmp_path)) == 2
    assert build("VALUE", extra_cflags=["-DVALUE=7"]).one() == 7
    assert build("VALUE", extra_cflags=["-DVALUE=8"]).one() == 8
    assert len(files(tmp_path)) == 4 and first[0] in files(tmp_path)


def test_docstrings_lists_of_sources_and_headers(tmp_path):
    module = load_inline(
        "parts",
        ["int64_t one() { return 1; }", "int64_t two() { return one() + one(); }"],
        functions={"one": 'Gives "one" \\ 1.\n?', "two": "Zwei: ä."},
        build_directory=tmp_path,
    )
    assert (module.one(), module.two()) == (1, 2)
    assert module.one.__doc__ == 'Gives "one" \\ 1.\n?' and module.two.__doc__ == "Zwei: ä."
    source = "#include <torch/extension.h>\nint64_t one() { return 1; }"
    module = load_inline("bare", source, functions=["one"], build_directory=tmp_path, no_implicit_headers=True)
    assert module.one() == 1


def test_the_cache_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("MINIDYNAMO_EXTENSIONS_DIR", str(tmp_path / "a" / "b"))
    assert load_inline("small", SMALL % 3, functions="one").one() == 3
    assert len(files(tmp_path / "a" / "b")) == 1
    monkeypatch.delenv("MINIDYNAMO_EXTENSIONS_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert cpp_extension._cache_folder() == tmp_path / "cache" / "minidynamo" / "extensions"


def test_a_compile_error_shows_what_the_compiler_says(tmp_path):
    with pytest.raises(RuntimeError, match="Error building extension 'wrong'.*\n(.*\n)*.*error:.*nonsense"):
        load_inline("wrong", "int64_t one() { return nonsense; }", functions="one", build_directory=tmp_path)
    assert files(tmp_path) == []
    with pytest.raises(RuntimeError, match="missing"):
        load_inline("wrong", "", functions="missing", build_directory=tmp_path)
    with pytest.raises(RuntimeError, match="parameters and results are tensors"):
        load_inline("wrong", "char* odd() { return nullptr; }", functions="odd", build_directory=tmp_path)


def test_without_a_compiler(tmp_path, monkeypatch):
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RuntimeError, match=r"no C\+\+ compiler was found \(looked for c\+\+, g\+\+, clang\+\+\)"):
        load_inline("small", SMALL % 1, functions="one", build_directory=tmp_path)
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(RuntimeError, match="looked for no-such-compiler"):
        load_inline("small", SMALL % 1, functions="one", build_directory=tmp_path)


def test_the_compiler_is_chosen_by_cxx(tmp_path, monkeypatch):
    monkeypatch.setenv("CXX", f"{shutil.which('c++')} -DVALUE=5")
    assert load_inline("small", SMALL % "VALUE", functions="one", build_directory=tmp_path).one() == 5


def test_misuse(tmp_path):
    for options, error, text in (
        ({"cuda_sources": "x"}, RuntimeError, "CPUs only"),
        ({"with_cuda": True}, RuntimeError, "CPUs only"),
        ({"name": "a-b"}, ValueError, "identifier"),
        ({"name": 3}, ValueError, "identifier"),
        ({"functions": ["a b"]}, ValueError, "'a b'"),
        ({"functions": []}, ValueError, "no function"),
        ({"cpp_sources": [3]}, TypeError, "cpp_sources"),
        ({"is_python_module": False}, ValueError, "is_python_module"),
    ):
        given = {"name": "small", "cpp_sources": SMALL % 1, "functions": "one", "build_directory": tmp_path, **options}
        with pytest.raises(error, match=text):
            load_inline(**given)


def test_warnings_of_a_strict_compiler(tmp_path):
    """The header compiles without warnings."""
    flags = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    load_inline("strict", SOURCE, functions=FUNCTIONS, build_directory=tmp_path, extra_cflags=flags)


def test_in_a_separate_process(folder, module):
    """The build is reused, and the module is the first thing that is called."""
    script = f"""
        import sys
        from minidynamo.utils import cpp_extension
        cpp_extension._build = lambda *args: sys.exit("built again")
        source = open({str(folder / "source")!r}).read()
        module = cpp_extension.load_inline("all_of_it", source, functions={FUNCTIONS!r}, build_directory={str(folder)!r})
        import minidynamo
        print(module.twice(minidynamo.ones(2)).tolist())
    """
    (folder / "source").write_text(SOURCE)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, env=os.environ, check=False
    )
    assert done.stdout == "[2.0, 2.0]\n", done.stderr
