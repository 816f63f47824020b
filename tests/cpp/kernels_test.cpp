// Kernels against simple loops: every layout, dtype and instruction level.
#include <functional>
#include <limits>

#include "check.h"
#include "tensor/kernels/pointwise_fast_path.h"
#include "tensor/parallel/threads.h"
#include "tensor/simd/loops.h"
#include "tensor/simd/pointwise.h"
#include "tensor_values.h"

namespace {

using namespace md_test;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double tolerance(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return 1e-14;
    case DType::float32:
      return 1e-6;
    case DType::float16:
      return 1e-3;
    case DType::bfloat16:
      return 8e-3;
    default:
      return 0;
  }
}

constexpr DType kFloats[] = {DType::float32, DType::float64, DType::float16, DType::bfloat16};

struct UnaryCase {
  const char* op;
  double (*expected)(double);
};
constexpr UnaryCase kUnary[] = {
    {"neg", [](double x) { return -x; }},
    {"abs", [](double x) { return std::fabs(x); }},
    {"exp", [](double x) { return std::exp(x); }},
    {"exp2", [](double x) { return std::exp2(x); }},
    {"log", [](double x) { return std::log(x); }},
    {"sqrt", [](double x) { return std::sqrt(x); }},
    {"sin", [](double x) { return std::sin(x); }},
    {"cos", [](double x) { return std::cos(x); }},
    {"tanh", [](double x) { return std::tanh(x); }},
    {"erf", [](double x) { return std::erf(x); }},
    {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"relu", [](double x) { return x < 0 ? 0 : x; }},
    {"gelu", [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }},
    {"silu", [](double x) { return x / (1 + std::exp(-x)); }},
    {"floor", [](double x) { return std::floor(x); }},
    {"ceil", [](double x) { return std::ceil(x); }},
    {"round", [](double x) { return std::nearbyint(x); }},
    {"trunc", [](double x) { return std::trunc(x); }},
    {"expm1", [](double x) { return std::expm1(x); }},
    {"log1p", [](double x) { return std::log1p(x); }},
    {"reciprocal", [](double x) { return 1 / x; }},
    {"square", [](double x) { return x * x; }},
    {"sign", [](double x) { return static_cast<double>((x > 0) - (x < 0)); }},
};

void check_unary() {
  std::vector<double> elements = noise(700);
  for (double special : {0.0, -0.0, kInf, -kInf, kNan, 1e30, -1e30, 0.5, 1.5, 2.5}) elements.push_back(special);
  for (DType dtype : kFloats) {
    for (const UnaryCase& test : kUnary) {
      Tensor x = make(dtype, {static_cast<int64_t>(elements.size())}, elements);
      std::vector<double> expected;
      for (double value : values(x)) expected.push_back(test.expected(value));
      // Rounded to the dtype.
      std::vector<double> rounded = values(make(dtype, {static_cast<int64_t>(expected.size())}, expected));
      bool equal = close(values(call1(test.op, {x})), rounded, 4 * tolerance(dtype));
      if (!equal) std::cerr << test.op << " " << row(dtype).name << "\n";
      CHECK(equal);
    }
  }
}

struct BinaryCase {
  const char* op;
  double (*expected)(double, double);
};
constexpr BinaryCase kBinary[] = {
    {"add", [](double x, double y) { return x + y; }},
    {"sub", [](double x, double y) { return x - y; }},
    {"mul", [](double x, double y) { return x * y; }},
    {"maximum", [](double x, double y) { return std::isnan(x)   ? x
                                                : std::isnan(y) ? y
                                                                : std::max(x, y); }},
    {"minimum", [](double x, double y) { return std::isnan(x)   ? x
                                                : std::isnan(y) ? y
                                                                : std::min(x, y); }},
    {"lt", [](double x, double y) { return double(x < y); }},
    {"eq", [](double x, double y) { return double(x == y); }},
    {"logical_and", [](double x, double y) { return double(x != 0 && y != 0); }},
};

// Layouts of a [6, 5, 8] tensor.
std::vector<Tensor> layouts(DType dtype, uint64_t seed) {
  std::vector<Tensor> result;
  result.push_back(make(dtype, {6, 5, 8}, noise(240, seed)));
  result.push_back(call1("permute", {make(dtype, {8, 6, 5}, noise(240, seed)), DimVec{1, 2, 0}}));
  result.push_back(call1("transpose", {make(dtype, {5, 6, 8}, noise(240, seed)), integer(0), integer(1)}));
  result.push_back(call1("expand", {make(dtype, {5, 1}, noise(5, seed)), DimVec{6, 5, 8}}));
  result.push_back(call1("slice", {make(dtype, {6, 5, 16}, noise(480, seed)), integer(2), Arg(), Arg(), integer(2)}));
  return result;
}

void check_binary() {
  for (DType dtype : {DType::float32, DType::float64, DType::float16, DType::int64, DType::int32, DType::int8,
                      DType::uint8, DType::uint16}) {
    std::vector<Tensor> left = layouts(dtype, 1), right = layouts(dtype, 2);
    left.push_back(make(dtype, {8}, noise(8, 3)));
    right.push_back(make(dtype, {6, 1, 1}, noise(6, 3)));
    right.push_back(make(dtype, {}, {1}));
    for (const BinaryCase& test : kBinary) {
      for (const Tensor& a : left) {
        for (const Tensor& b : right) {
          Tensor out = call1(test.op, {a, b});
          std::vector<int64_t> sizes(out->sizes(), out->sizes() + out->rank());
          DimVec dims = out.spec().sizes;
          std::vector<double> x = values(call1("expand", {a, dims})), y = values(call1("expand", {b, dims})), expected;
          for (size_t i = 0; i < x.size(); ++i) expected.push_back(test.expected(x[i], y[i]));
          std::vector<double> rounded = values(make(out->dtype(), sizes, expected));
          CHECK(close(values(out), rounded, tolerance(dtype)));
        }
      }
    }
  }
}

void check_numbers() {
  Tensor x = make(DType::float32, {3}, {1, 2, 3});
  Tensor i = make(DType::int64, {4}, {-7, 7, -8, 8});
  using V = std::vector<double>;
  CHECK(values(call1("add", {x, Scalar(2.5)})) == (V{3.5, 4.5, 5.5}));
  CHECK(values(call1("add", {x, Scalar(2.0), Scalar(3.0)})) == (V{7, 8, 9}));
  CHECK(values(call1("sub", {Scalar(1.0), x})) == (V{0, -1, -2}));
  CHECK(values(call1("div", {Scalar(6.0), x})) == (V{6, 3, 2}));
  CHECK(values(call1("floor_divide", {i, integer(2)})) == (V{-4, 3, -4, 4}));
  CHECK(values(call1("remainder", {i, integer(3)})) == (V{2, 1, 1, 2}));
  CHECK(values(call1("remainder", {i, integer(-3)})) == (V{-1, -2, -2, -1}));
  CHECK(values(call1("div.rounding", {i, integer(2), std::string("trunc")})) == (V{-3, 3, -4, 4}));
  CHECK(values(call1("pow", {i, integer(2)})) == (V{49, 49, 64, 64}));
  CHECK(values(call1("pow", {Scalar(2.0), x})) == (V{2, 4, 8}));
  CHECK(values(call1("clamp", {x, Scalar(1.5), Scalar(2.5)})) == (V{1.5, 2, 2.5}));
  CHECK(values(call1("clamp", {x, Arg(), Scalar(2.0)})) == (V{1, 2, 2}));
  CHECK(values(call1("where", {call1("gt", {x, Scalar(1.5)}), x, Scalar(0.0)})) == (V{0, 2, 3}));
  CHECK(values(call1("where", {call1("gt", {x, Scalar(1.5)}), Scalar(1.0), Scalar(0.0)})) == (V{0, 1, 1}));
  CHECK(values(call1("where", {make(DType::bool_, {}, {1}), Scalar(int64_t{4}), Scalar(int64_t{5})})) == (V{4}));
  CHECK_THROWS(call1("floor_divide", {i, integer(0)}), Error, "ZeroDivisionError");
  CHECK_THROWS(call1("remainder", {i, make(DType::int64, {4}, {1, 1, 0, 1})}), Error, "ZeroDivisionError");
  Tensor low = make(DType::int64, {1}, {0});
  low.data<int64_t>()[0] = INT64_MIN;
  CHECK(call1("floor_divide", {low, integer(-1)}).data<int64_t>()[0] == INT64_MIN);
  CHECK(call1("remainder", {low, integer(-1)}).data<int64_t>()[0] == 0);
  CHECK(call1("neg", {low}).data<int64_t>()[0] == INT64_MIN);
  CHECK(call1("bitwise_left_shift", {i, integer(70)}).data<int64_t>()[0] == 0);
  CHECK(std::isnan(values(call1("clamp", {make(DType::float32, {1}, {kNan}), Scalar(0.0), Scalar(1.0)}))[0]));
}

// As many elements as vectors have, and some more.
template <typename T>
Tensor repeated(DType dtype, std::initializer_list<T> elements) {
  constexpr int64_t kTimes = 13;
  Tensor result = Tensor::empty(dtype, std::vector<int64_t>{kTimes * static_cast<int64_t>(elements.size())});
  T* to = result.data<T>();
  for (int64_t i = 0; i < kTimes; ++i) to = std::copy(elements.begin(), elements.end(), to);
  return result;
}

template <typename T>
bool holds(const Tensor& tensor, std::initializer_list<T> elements) {
  Tensor expected = repeated<T>(tensor->dtype(), elements);
  return tensor->numel() == expected->numel() &&
         std::equal(tensor.data<T>(), tensor.data<T>() + tensor->numel(), expected.data<T>());
}

void check_unsigned() {
  constexpr uint64_t kTop = uint64_t{1} << 63;
  Tensor wide = repeated<uint64_t>(DType::uint64, {kTop + 4096, UINT64_MAX, 3, 0});
  Tensor other = repeated<uint64_t>(DType::uint64, {7, kTop, 70, 5});
  CHECK(holds<uint64_t>(call1("floor_divide", {wide, other}), {(kTop + 4096) / 7, 1, 0, 0}));
  CHECK(holds<uint64_t>(call1("remainder", {wide, other}), {(kTop + 4096) % 7, kTop - 1, 3, 0}));
  CHECK(holds<uint64_t>(call1("bitwise_right_shift", {wide, other}), {(kTop + 4096) >> 7, 0, 0, 0}));
  CHECK(holds<uint64_t>(call1("bitwise_left_shift", {wide, other}), {uint64_t{4096} << 7, 0, 0, 0}));
  CHECK(holds<uint64_t>(call1("maximum", {wide, other}), {kTop + 4096, UINT64_MAX, 70, 5}));
  CHECK(holds<bool>(call1("lt", {wide, other}), {false, false, true, true}));
  CHECK(holds<uint64_t>(call1("add", {wide, Scalar::natural(kTop)}), {4096, kTop - 1, kTop + 3, kTop}));
  CHECK(*call1("amax", {wide, DimVec{0}}).data<uint64_t>() == UINT64_MAX);
  CHECK(holds<double>(call1("cast", {wide, DType::float64}), {0x1p63 + 4096, 0x1p64, 3, 0}));
  CHECK(holds<float>(call1("cast", {wide, DType::float32}), {0x1p63f, 0x1p64f, 3, 0}));
  CHECK(holds<uint32_t>(call1("cast", {wide, DType::uint32}), {4096, UINT32_MAX, 3, 0}));
  CHECK(holds<int8_t>(call1("cast", {wide, DType::int8}), {0, -1, 3, 0}));
  Tensor floats = repeated<double>(DType::float64, {0x1p63 + 4096, -1, 3e9, 2.5});
  CHECK(holds<uint64_t>(call1("cast", {floats, DType::uint64}), {kTop + 4096, UINT64_MAX, 3000000000, 2}));
  Tensor whole = repeated<double>(DType::float64, {-1, 3e9, 2.5});
  CHECK(holds<uint32_t>(call1("cast", {whole, DType::uint32}), {UINT32_MAX, 3000000000, 2}));
  Tensor half = repeated<uint32_t>(DType::uint32, {UINT32_MAX, 7, 1u << 31});
  CHECK(holds<uint32_t>(call1("floor_divide", {half, integer(3)}), {UINT32_MAX / 3, 2, (1u << 31) / 3}));
  CHECK(holds<int64_t>(call1("cast", {half, DType::int64}), {UINT32_MAX, 7, int64_t{1} << 31}));
  CHECK(holds<double>(call1("cast", {half, DType::float64}), {0x1p32 - 1, 7, 0x1p31}));
  CHECK(*call1("sum", {half}).data<int64_t>() == 13 * (int64_t{UINT32_MAX} + 7 + (int64_t{1} << 31)));
  Tensor narrow = repeated<uint16_t>(DType::uint16, {65535, 7});
  CHECK(holds<uint16_t>(call1("mul", {narrow, narrow}), {1, 49}));
  CHECK(holds<float>(call1("cast", {narrow, DType::float32}), {65535, 7}));
  CHECK(holds<int32_t>(call1("cast", {narrow, DType::int32}), {65535, 7}));
}

double fold(const std::vector<double>& x, size_t begin, size_t step, size_t n, double start,
            const std::function<double(double, double)>& f) {
  double total = start;
  for (size_t i = 0; i < n; ++i) total = f(total, x[begin + i * step]);
  return total;
}

void check_reductions() {
  for (DType dtype :
       {DType::float32, DType::float64, DType::float16, DType::bfloat16, DType::int32, DType::uint8, DType::uint16}) {
    for (const Tensor& x : layouts(dtype, 4)) {
      std::vector<double> elements = values(x);
      for (int dim = 0; dim < 3; ++dim) {
        size_t extents[] = {6, 5, 8}, steps[] = {40, 8, 1};
        std::vector<double> sums, largest, firsts;
        for (size_t i = 0; i < 240; ++i) {
          if (i / steps[dim] % extents[dim] != 0) continue;
          sums.push_back(fold(elements, i, steps[dim], extents[dim], 0, [](double a, double b) { return a + b; }));
          largest.push_back(
              fold(elements, i, steps[dim], extents[dim], -kInf, [](double a, double b) { return std::max(a, b); }));
          size_t first = 0;
          while (elements[i + first * steps[dim]] != largest.back()) ++first;
          firsts.push_back(static_cast<double>(first));
        }
        CHECK(close(values(call1("sum", {x, DimVec{dim}})), sums, 20 * tolerance(dtype)));
        CHECK(close(values(call1("amax", {x, DimVec{dim - 3}})), largest, 0));
        CHECK(close(values(call1("argmax", {x, integer(dim)})), firsts, 0));
        std::vector<Tensor> both = call("max.dim", {x, integer(dim), Scalar(true)});
        CHECK(close(values(both[0]), largest, 0) && close(values(both[1]), firsts, 0) && both[0]->rank() == 3);
      }
      double total = fold(elements, 0, 1, 240, 0, [](double a, double b) { return a + b; });
      CHECK(close(values(call1("sum", {x})), {total}, 50 * tolerance(dtype)));
      if (!is_floating(dtype)) continue;
      CHECK(close(values(call1("mean", {x})), {total / 240}, 20 * tolerance(dtype)));
      double squares =
          fold(elements, 0, 1, 240, 0, [&](double a, double b) { return a + (b - total / 240) * (b - total / 240); });
      CHECK(close(values(call1("var", {x})), {squares / 239}, 20 * tolerance(dtype)));
      CHECK(close(values(call1("std.unbiased", {x, Arg(), Scalar(false)})), {std::sqrt(squares / 240)},
                  20 * tolerance(dtype)));
    }
  }
  std::vector<double> with_nan = noise(300);
  with_nan[150] = kNan;
  Tensor x = make(DType::float32, {300}, with_nan);
  CHECK(std::isnan(values(call1("amax", {x}))[0]) && std::isnan(values(call1("min", {x}))[0]) &&
        values(call1("argmin", {x}))[0] == 150);
  Tensor empty = Tensor::empty(DType::float32, std::vector<int64_t>{0, 3});
  CHECK(values(call1("sum", {empty, DimVec{0}})) == std::vector<double>(3, 0.0));
  CHECK(values(call1("prod", {empty})) == std::vector<double>{1});
  CHECK(std::isnan(values(call1("mean", {empty}))[0]) && std::isnan(values(call1("var", {empty}))[0]));
  CHECK(values(call1("all", {empty}))[0] == 1 && values(call1("any", {empty}))[0] == 0);
  Tensor large = make(DType::float32, {1 << 20}, {0.1});
  CHECK(close(values(call1("sum", {large})), {0.1 * (1 << 20)}, 1e-6));
  CHECK(close(values(call1("sum", {call1("reshape", {large, DimVec{1 << 16, 16}}), DimVec{0}})),
              std::vector<double>(16, 0.1 * (1 << 16)), 1e-5));
  CHECK(values(call1("sum", {make(DType::bool_, {5}, {1})}))[0] == 5);
  CHECK(values(call1("cumsum", {make(DType::int32, {2, 3}, {1, 2, 3, 4, 5, 6}), integer(0)})) ==
        (std::vector<double>{1, 2, 3, 5, 7, 9}));
}

void check_lines() {
  for (const Tensor& x : layouts(DType::float32, 7)) {
    std::vector<double> elements = values(x);
    size_t extents[] = {6, 5, 8}, steps[] = {40, 8, 1};
    for (int dim = 0; dim < 3; ++dim) {
      std::vector<double> expected(240), logs(240);
      for (size_t i = 0; i < 240; ++i) {
        size_t start = i - i / steps[dim] % extents[dim] * steps[dim];
        double total =
            fold(elements, start, steps[dim], extents[dim], 0, [](double a, double b) { return a + std::exp(b); });
        expected[i] = std::exp(elements[i]) / total;
        logs[i] = elements[i] - std::log(total);
      }
      CHECK(close(values(call1("softmax", {x, integer(dim)})), expected, 1e-6));
      CHECK(close(values(call1("log_softmax", {x, integer(dim)})), logs, 1e-5));
    }
    Tensor normal = call1("layer_norm", {x, DimVec{8}});
    CHECK(close(values(call1("mean", {normal, DimVec{2}})), std::vector<double>(30, 0.0), 1e-3));
  }
}

TEST(views_and_copies) {
  Tensor x = call1("arange", {integer(24)});
  Tensor m = call1("view", {x, DimVec{2, -1, 4}});
  CHECK(m->storage().get() == x->storage().get());
  Tensor p = call1("permute", {m, DimVec{2, 0, 1}});
  CHECK(values(p)[1] == 4 && !p->is_contiguous());
  CHECK_THROWS(call1("view", {p, DimVec{24}}), Error, "Use .reshape(...) instead");
  Tensor flat = call1("reshape", {p, DimVec{-1}});
  CHECK(flat->storage().get() != x->storage().get() && values(flat) == values(p));
  CHECK(call1("reshape", {m, DimVec{24}})->storage().get() == x->storage().get());
  CHECK(call1("contiguous", {m})->storage().get() == x->storage().get());
  CHECK(values(call1("contiguous", {p})) == values(p));
  CHECK(call1("to", {x, DType::int64})->storage().get() == x->storage().get());
  CHECK(values(call1("to", {p, DType::float16})) == values(p));
  CHECK(call1("clone", {p}).spec().str() == p.spec().str());
  std::vector<Tensor> parts = call("split", {m, integer(2), integer(-1)});
  CHECK(parts.size() == 2 && values(call1("cat", {parts, integer(2)})) == values(m));
  std::vector<Tensor> rows = call("unbind", {m, integer(1)});
  CHECK(rows.size() == 3 && values(call1("stack", {rows, integer(1)})) == values(m));
  CHECK(call("chunk", {x, integer(5)}).size() == 5 && values(call("split.sizes", {x, DimVec{20, 4}})[1])[0] == 20);
  CHECK(values(call1("slice", {x, integer(0), integer(-5), Arg(), integer(2)})) == (std::vector<double>{19, 21, 23}));
  CHECK(values(call1("select", {m, integer(1), integer(-1)}))[0] == 8);
  CHECK(values(call1("index_select", {m, integer(2), make(DType::int64, {2}, {3, 0})}))[1] == 0);
  CHECK_THROWS(call1("index_select", {m, integer(2), make(DType::int64, {1}, {4})}), Error, "out of range");
  CHECK(values(call1("gather", {call1("view", {x, DimVec{4, 6}}), integer(1), make(DType::int64, {2, 1}, {5, 0})})) ==
        (std::vector<double>{5, 6}));
  CHECK(values(call1("embedding", {make(DType::int32, {2}, {1, 0}), call1("view", {x, DimVec{12, 2}})})) ==
        (std::vector<double>{2, 3, 0, 1}));
  CHECK(values(call1("tril", {make(DType::float32, {2, 3}, {1})})) == (std::vector<double>{1, 0, 0, 1, 1, 0}));
  CHECK(values(call1("triu", {make(DType::float32, {3, 2}, {1}), integer(-1)})) ==
        (std::vector<double>{1, 1, 1, 1, 0, 1}));
  CHECK(values(call1("masked_fill", {make(DType::float32, {2, 2}, {1}), make(DType::bool_, {2}, {0, 1}),
                                     Scalar(-kInf)})) == (std::vector<double>{1, -kInf, 1, -kInf}));
  CHECK(values(call1("linspace", {Scalar(0.0), Scalar(1.0), integer(5)})) ==
        (std::vector<double>{0, 0.25, 0.5, 0.75, 1}));
  CHECK(values(call1("eye", {integer(2), integer(3), DType::int64})) == (std::vector<double>{1, 0, 0, 0, 1, 0}));
  CHECK(values(call1("arange.start", {Scalar(1.0), Scalar(2.0), Scalar(0.25)})) ==
        (std::vector<double>{1, 1.25, 1.5, 1.75}));
  CHECK(values(call1("full", {DimVec{2}, Scalar(true)}))[1] == 1 &&
        call1("full", {DimVec{2}, Scalar(true)})->dtype() == DType::bool_);
}

constexpr DType kComplex[] = {DType::complex64, DType::complex128};

// Parts are cast as numbers of their own; a real number has no imaginary part, and a complex one that becomes real loses it.
void check_casts_of_complex_numbers(const std::vector<double>& elements) {
  std::vector<double> reversed(elements.rbegin(), elements.rend());
  auto sizes = std::vector<int64_t>{static_cast<int64_t>(elements.size())};
  auto cast = [](const Tensor& x, DType to) { return call1("cast", {x, to}); };
  for (DType from : kComplex) {
    Tensor re = make(part_dtype(from), sizes, elements), im = make(part_dtype(from), sizes, reversed);
    Tensor z = call1("complex", {re, im});
    for (DType to : kComplex) {
      Tensor y = cast(z, to);
      CHECK(values(call1("real_part", {y})) == values(cast(re, part_dtype(to))));
      CHECK(values(call1("imag_part", {y})) == values(cast(im, part_dtype(to))));
    }
    for (int real = 0; real < kDTypeCount; ++real) {
      auto to = static_cast<DType>(real);
      if (is_complex(to)) continue;
      CHECK(values(cast(z, to)) == values(cast(re, to)));
      Tensor x = make(to, sizes, elements), y = cast(x, from);
      CHECK(values(call1("real_part", {y})) == values(cast(x, part_dtype(from))));
      CHECK(values(call1("imag_part", {y})) == std::vector<double>(elements.size(), 0));
    }
  }
}

void check_casts() {
  std::vector<double> elements = {0, 1, -1, 2.5, -2.5, 100, 127, 255, 0.49, -0.0};
  check_casts_of_complex_numbers(elements);
  for (int from = 0; from < kDTypeCount; ++from) {
    for (int to = 0; to < kDTypeCount; ++to) {
      // No Scalar holds a complex number.
      if (is_complex(static_cast<DType>(from)) || is_complex(static_cast<DType>(to))) continue;
      Tensor x = make(static_cast<DType>(from), {10}, elements);
      Tensor y = call1("cast", {x, static_cast<DType>(to)});
      for (int64_t i = 0; i < 10; ++i) {
        Tensor one = call1("select", {x, integer(0), integer(i)});
        Tensor expected = Tensor::scalar(static_cast<DType>(to), load_scalar(x->dtype(), one->data()));
        CHECK(values(y)[static_cast<size_t>(i)] == values(expected)[0]);
      }
    }
  }
  // The vectorised conversions of half precision agree with the scalar ones for all values.
  Tensor all = Tensor::empty(DType::float16, std::vector<int64_t>{65536});
  for (int i = 0; i < 65536; ++i) all.data<Half>()[i].bits = static_cast<uint16_t>(i);
  Tensor wide = call1("cast", {all, DType::float32});
  Tensor back = call1("cast", {wide, DType::float16});
  for (int i = 0; i < 65536; ++i) {
    if ((i & 0x7fff) > 0x7c00) continue;
    if (wide.data<float>()[i] != all.data<Half>()[i].to_float() || back.data<Half>()[i].bits != i) CHECK(i < 0);
  }
  std::vector<double> spread = noise(4000, 9);
  for (size_t i = 0; i < spread.size(); ++i) spread[i] *= std::ldexp(1.0, static_cast<int>(i % 60) - 40);
  Tensor floats = make(DType::float32, {4000}, spread);
  Tensor halves = call1("cast", {floats, DType::float16});
  Tensor brains = call1("cast", {floats, DType::bfloat16});
  for (int i = 0; i < 4000; ++i) {
    if (halves.data<Half>()[i].bits != Half::from_float(floats.data<float>()[i]).bits) CHECK(i < 0);
    if (brains.data<BFloat16>()[i].bits != BFloat16::from_float(floats.data<float>()[i]).bits) CHECK(i < 0);
  }
}

TEST(fast_path) {
  Tensor a = make(DType::float32, {3}, {1, 2, 3}), b = make(DType::float32, {3}, {4, 5, 6}), out;
  CHECK(run_pointwise_fast(*find_op("add"), a, b, out) && values(out) == (std::vector<double>{5, 7, 9}));
  CHECK(run_pointwise_fast(*find_op("mul"), a, Scalar(2.0), out) && values(out) == (std::vector<double>{2, 4, 6}));
  CHECK(run_pointwise_fast(*find_op("sub"), Scalar(4.0), a, out) && values(out) == (std::vector<double>{3, 2, 1}));
  CHECK(run_pointwise_fast(*find_op("lt"), a, Scalar(2.0), out) && out->dtype() == DType::bool_);
  CHECK(run_pointwise_fast(*find_op("relu"), a, out));
  CHECK(!run_pointwise_fast(*find_op("add"), a, make(DType::float32, {1}, {4}), out));
  CHECK(!run_pointwise_fast(*find_op("sum"), a, out));
  CHECK(!run_pointwise_fast(*find_op("pow"), a, Scalar(2.0), out));
}

void at_each_level(void (*check)()) {
  set_num_threads(2);
  for (const char* level : {"baseline", "avx2", "avx512"}) {
    try {
      use_instruction_level(level);
    } catch (const Error&) {
      continue;  // not supported by this processor
    }
    check();
  }
}

TEST(unary) { at_each_level(check_unary); }

TEST(unsigned_numbers) { at_each_level(check_unsigned); }

TEST(binary) { at_each_level(check_binary); }

TEST(numbers) { at_each_level(check_numbers); }

TEST(reductions) { at_each_level(check_reductions); }

TEST(lines) { at_each_level(check_lines); }

TEST(casts) { at_each_level(check_casts); }

}  // namespace
