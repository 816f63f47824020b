// Matrix products of every dtype, layout and size class against a simple loop; products in pieces, packed weights.
#include "tensor/gemm/split_matmul.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <thread>
#include <utility>

#include "base/error.h"
#include "check.h"
#include "tensor/gemm/gemm.h"
#include "tensor/gemm/packed_gemm.h"
#include "tensor/gemm/packed_weights.h"
#include "tensor/gemm/widened_primitive.h"
#include "tensor/parallel/threads.h"
#include "tensor/simd/loops.h"
#include "tensor_values.h"

namespace {

using namespace md_test;

std::vector<double> plain_product(const Tensor& a, const Tensor& b, int64_t m, int64_t k, int64_t n) {
  std::vector<double> x = values(a), y = values(b), c(static_cast<size_t>(m * n), 0.0);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t q = 0; q < k; ++q)
        c[static_cast<size_t>(i * n + j)] += x[static_cast<size_t>(i * k + q)] * y[static_cast<size_t>(q * n + j)];
    }
  }
  return c;
}

double tolerance(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return 1e-12;
    case DType::float32:
      return 2e-5;
    case DType::float16:
      return 2e-2;
    case DType::bfloat16:
      return 1e-1;
    default:
      return 0;
  }
}

Tensor matrix(DType dtype, int64_t rows, int64_t columns, bool transposed, uint64_t seed) {
  std::vector<double> elements = noise(rows * columns, seed);
  if (!transposed) return make(dtype, {rows, columns}, elements);
  return call1("t", {make(dtype, {columns, rows}, elements)});
}

TEST(layouts) {
  constexpr DType kTypes[] = {DType::float32, DType::float64, DType::bfloat16, DType::float16,
                              DType::int32,   DType::int64,   DType::uint8};
  constexpr int64_t kShapes[][3] = {{1, 1, 1}, {2, 3, 4}, {1, 7, 33},  {33, 7, 1},   {1, 1, 5},
                                    {5, 1, 1}, {5, 1, 7}, {17, 65, 9}, {64, 64, 64}, {40, 100, 33}};
  for (DType dtype : kTypes) {
    for (const auto& [m, k, n] : kShapes) {
      for (int layout = 0; layout < 4; ++layout) {
        Tensor a = matrix(dtype, m, k, layout & 1, 3);
        Tensor b = matrix(dtype, k, n, layout & 2, 4);
        Tensor c = call1("mm", {a, b});
        std::vector<double> expected = plain_product(a, b, m, k, n);
        if (dtype == DType::uint8) {
          for (double& value : expected) value = static_cast<double>(static_cast<uint8_t>(static_cast<int64_t>(value)));
        }
        bool equal = close(values(c), expected, tolerance(dtype));
        if (!equal) std::cerr << row(dtype).name << " " << m << "x" << k << "x" << n << " layout " << layout << "\n";
        CHECK(equal);
      }
    }
  }
}

TEST(batches) {
  for (DType dtype : {DType::float32, DType::float64}) {
    Tensor a = make(dtype, {2, 3, 4, 5}, noise(120));
    Tensor b = make(dtype, {3, 5, 6}, noise(90, 2));
    Tensor c = call1("matmul", {a, b});
    CHECK(str(c.spec().sizes.span()) == "(2, 3, 4, 6)");
    for (int64_t i = 0; i < 6; ++i) {
      Tensor left = call1("select", {call1("reshape", {a, DimVec{6, 4, 5}}), integer(0), integer(i)});
      Tensor right = call1("select", {b, integer(0), integer(i % 3)});
      Tensor part = call1("select", {call1("reshape", {c, DimVec{6, 4, 6}}), integer(0), integer(i)});
      CHECK(close(values(part), plain_product(left, right, 4, 5, 6), 1e-5));
    }
    Tensor expanded = call1("expand", {make(dtype, {1, 40, 30}, noise(1200)), DimVec{3, -1, -1}});
    Tensor other = make(dtype, {3, 30, 20}, noise(1800, 5));
    Tensor product = call1("bmm", {expanded, other});
    Tensor last = call1("select", {product, integer(0), integer(2)});
    CHECK(close(values(last),
                plain_product(call1("select", {expanded, integer(0), integer(2)}),
                              call1("select", {other, integer(0), integer(2)}), 40, 30, 20),
                1e-5));
  }
  Tensor vector = make(DType::float32, {5}, noise(5));
  CHECK(call1("matmul", {vector, vector})->rank() == 0);
  CHECK(call1("matmul", {make(DType::float32, {2, 4, 5}, noise(40)), vector})->numel() == 8);
  CHECK(close(values(call1("matmul", {make(DType::float32, {2, 0}, {0}), make(DType::float32, {0, 3}, {0})})),
              std::vector<double>(6, 0.0), 0));
}

TEST(linear_and_addmm) {
  for (DType dtype : {DType::float32, DType::float64, DType::bfloat16}) {
    Tensor x = make(dtype, {2, 20, 30}, noise(1200));
    Tensor w = make(dtype, {40, 30}, noise(1200, 2));
    Tensor bias = make(dtype, {40}, noise(40, 3));
    std::vector<double> expected = plain_product(call1("reshape", {x, DimVec{40, 30}}), call1("t", {w}), 40, 30, 40);
    std::vector<double> b = values(bias);
    for (size_t i = 0; i < expected.size(); ++i) expected[i] += b[i % 40];
    CHECK(close(values(call1("linear", {x, w, bias})), expected, tolerance(dtype)));
    Tensor self = make(dtype, {20, 1}, noise(20, 6));
    Tensor a = call1("select", {x, integer(0), integer(1)});
    std::vector<double> product = plain_product(a, call1("t", {w}), 20, 30, 40);
    std::vector<double> s = values(self);
    for (size_t i = 0; i < product.size(); ++i) product[i] = 2 * s[i / 40] + 0.5 * product[i];
    CHECK(close(values(call1("addmm", {self, a, call1("t", {w}), Scalar(2.0), Scalar(0.5)})), product,
                2 * tolerance(dtype)));
  }
}

MatmulSpec plain_spec(int64_t m, int64_t k, int64_t n) {
  MatmulSpec spec;
  spec.m = m;
  spec.n = n;
  spec.k = k;
  spec.a_strides = {0, k, 1};
  spec.b_strides = {0, n, 1};
  spec.c_strides = {0, n, 1};
  return spec;
}

Tensor run(const SplitMatmul& product, const Tensor& a, const void* b, const Tensor& bias) {
  Tensor out = Tensor::empty(product.spec().dtype, std::vector<int64_t>{product.spec().m, product.spec().n});
  product.run({.a = a->data(), .b = b, .bias = bias.defined() ? bias->data() : nullptr, .c = out->data()});
  return out;
}

// Every way to run a product gives it: own loops, primitives, a packed b, one piece and many, one thread and two.
TEST(pieces) {
  constexpr int64_t kShapes[][3] = {{1, 40, 32},     {24, 40, 32},   {24, 40, 1},      {3, 5, 7},
                                    {64, 256, 1024}, {300, 100, 70}, {130, 513, 1030}, {1, 1024, 1024}};
  for (DType dtype : {DType::float32, DType::float64, DType::bfloat16}) {
    for (const auto& [m, k, n] : kShapes) {
      Tensor a = matrix(dtype, m, k, false, 1), b = matrix(dtype, k, n, false, 2), bias = make(dtype, {n}, noise(n, 3));
      std::vector<double> expected = plain_product(a, b, m, k, n), added = values(bias);
      for (size_t i = 0; i < expected.size(); ++i) expected[i] += added[i % static_cast<size_t>(n)];
      MatmulSpec spec = plain_spec(m, k, n);
      spec.dtype = dtype;
      spec.has_bias = true;
      for (int threads : {1, 2}) {
        set_num_threads(threads);
        for (bool packs : {false, true}) {
          spec.packs_weights = packs;
          SplitMatmulPtr product = SplitMatmul::make(spec);
          if (product == nullptr) continue;  // a processor without fast oneDNN code
          StoragePtr packed = packs ? Storage::allocate(product->packed_bytes()) : StoragePtr();
          if (packs) product->pack(b->data(), packed->data());
          Tensor c = run(*product, a, packs ? packed->data() : b->data(), bias);
          CHECK(close(values(c), expected, tolerance(dtype) * std::sqrt(static_cast<double>(k))));
        }
      }
    }
  }
}

constexpr GemmMethod kMethods[] = {GemmMethod::Stream, GemmMethod::Dots, GemmMethod::Tiles, GemmMethod::Panels};

template <typename T>
bool supports(GemmMethod method, const GemmProblem<T>& problem) {
  switch (method) {
    case GemmMethod::Stream:
      return problem.b_step == 1 && problem.n >= loops_of<T>().gemm.vector;
    case GemmMethod::Dots:
      return problem.a_step == 1 && problem.b_row == 1;
    case GemmMethod::Tiles:
      return problem.b_step == 1;
    case GemmMethod::Panels:
      return true;
  }
  return false;
}

// By rows and by columns split at odd places.
template <typename T>
void run_in_parts(GemmMethod method, const GemmProblem<T>& problem) {
  int64_t row = problem.m * 2 / 3, column = problem.n * 3 / 5;
  for (auto [i, rows] : {std::pair{int64_t{0}, row}, {row, problem.m - row}}) {
    for (auto [j, columns] : {std::pair{int64_t{0}, column}, {column, problem.n - column}}) {
      if (rows == 0 || columns == 0) continue;
      GemmProblem<T> part = problem;
      part.m = rows;
      part.n = columns;
      part.a += i * problem.a_row;
      part.b += j * problem.b_step;
      part.c += i * problem.c_row + j;
      gemm_by(method, part);
    }
  }
}

// Rows of the result have a column more, which is not written.
template <typename T>
void check_methods(DType dtype, int64_t m, int64_t k, int64_t n, int layout) {
  Tensor a = matrix(dtype, m, k, layout & 1, 1), b = matrix(dtype, k, n, layout & 2, 2);
  std::vector<double> expected = plain_product(a, b, m, k, n);
  constexpr T kUntouched = 12345;
  std::vector<T> whole(static_cast<size_t>(m * (n + 1)), kUntouched), parts = whole;
  GemmProblem<T> problem = {.m = m,
                            .n = n,
                            .k = k,
                            .a = a.data<T>(),
                            .a_row = (layout & 1) != 0 ? 1 : k,
                            .a_step = (layout & 1) != 0 ? m : 1,
                            .b = b.data<T>(),
                            .b_row = (layout & 2) != 0 ? 1 : n,
                            .b_step = (layout & 2) != 0 ? k : 1,
                            .c = nullptr,
                            .c_row = n + 1};
  for (GemmMethod method : kMethods) {
    if (!supports(method, problem)) continue;
    problem.c = whole.data();
    gemm_by(method, problem);
    problem.c = parts.data();
    run_in_parts(method, problem);
    CHECK(std::memcmp(whole.data(), parts.data(), whole.size() * sizeof(T)) == 0);
    std::vector<double> found;
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) found.push_back(static_cast<double>(whole[static_cast<size_t>(i * (n + 1) + j)]));
      CHECK(whole[static_cast<size_t>(i * (n + 1) + n)] == kUntouched);
    }
    bool equal = close(found, expected, tolerance(dtype) * std::sqrt(static_cast<double>(k)));
    if (!equal) std::cerr << name_of(method) << " " << m << "x" << k << "x" << n << " layout " << layout << "\n";
    CHECK(equal);
  }
}

// Every method at every level, as a whole and in parts: the same bits, and nothing beside the result is written.
TEST(methods) {
  constexpr int64_t kShapes[][3] = {{1, 1, 1},     {1, 400, 33},   {2, 5, 64},    {3, 385, 17},
                                    {4, 16, 48},   {8, 769, 100},  {13, 31, 9},   {16, 384, 96},
                                    {17, 50, 130}, {47, 390, 241}, {160, 70, 55}, {310, 400, 19}};
  for (const char* level : {"baseline", "avx2", "avx512"}) {
    try {
      use_instruction_level(level);
    } catch (const Error&) {
      continue;
    }
    for (const auto& [m, k, n] : kShapes) {
      for (int layout = 0; layout < 4; ++layout) {
        check_methods<float>(DType::float32, m, k, n, layout);
        check_methods<double>(DType::float64, m, k, n, layout);
      }
    }
  }
}

// Products of any number of rows share a packed b.
TEST(packed_layouts) {
  SplitMatmulPtr few, many;
  MatmulSpec spec = plain_spec(32, 256, 1024);
  spec.packs_weights = true;
  few = SplitMatmul::make(spec);
  spec = plain_spec(512, 256, 1024);
  spec.packs_weights = true;
  many = SplitMatmul::make(spec);
  if (few == nullptr || many == nullptr) return;
  CHECK(few->packed_layout() == many->packed_layout());
  CHECK(few->packed_bytes() == many->packed_bytes());
}

// A weight is packed when it has been met unchanged, never while the outside may write to it.
TEST(packed_weights) {
  MatmulSpec spec = plain_spec(32, 256, 128);
  spec.packs_weights = true;
  SplitMatmulPtr product = SplitMatmul::make(spec);
  if (product == nullptr) return;
  size_t before = packed_weights_bytes();
  {
    Tensor b = matrix(DType::float32, 256, 128, false, 2);
    auto find = [&] { return find_packed(*b->storage().get(), b->data(), *product); };
    CHECK(!find() && !find());
    StoragePtr packed = find();
    CHECK(packed && find().get() == packed.get());
    CHECK(packed_weights_bytes() == before + product->packed_bytes());
    b->storage()->bump_version();
    CHECK(!find());
    CHECK(packed_weights_bytes() == before);
    for (int i = 0; i < 8; ++i) find();
    StoragePtr again = find();
    CHECK(again && again.get() != packed.get());
    b->storage()->mark_shared_with_outside();
    CHECK(!find());
  }
  CHECK(packed_weights_bytes() == before);
}

// b in place, or packed by the product; a and b may be column-major.
void check_primitive(const OnednnPackingPtr& product, const MatmulSpec& spec, bool a_by_columns, bool b_by_columns) {
  CHECK(product != nullptr);
  if (product == nullptr) return;
  Tensor a = matrix(spec.dtype, spec.m, spec.k, a_by_columns, 1),
         b = matrix(spec.dtype, spec.k, spec.n, b_by_columns, 2);
  Tensor bias = make(spec.dtype, {spec.n}, noise(spec.n, 3));
  Tensor out = Tensor::empty(spec.dtype, std::vector<int64_t>{spec.m, spec.n});
  StoragePtr packed = spec.packs_weights ? Storage::allocate(product->packed_bytes()) : StoragePtr();
  if (packed) product->pack(b->data(), packed->data());
  const void* inputs[] = {a->data(), packed ? packed->data() : b->data(), bias->data()};
  execute(*product, {inputs, spec.has_bias ? size_t{3} : size_t{2}}, out->data());
  std::vector<double> expected = plain_product(a, b, spec.m, spec.k, spec.n), added = values(bias);
  for (size_t i = 0; spec.has_bias && i < expected.size(); ++i) expected[i] += added[i % added.size()];
  CHECK(close(values(out), expected, tolerance(spec.dtype) * std::sqrt(static_cast<double>(spec.k))));
}

// What stands in where oneDNN has nothing, or copies the weights at each call, is right on every processor.
TEST(stand_ins) {
  constexpr int64_t kShapes[][3] = {{1, 1, 1}, {1, 40, 32}, {5, 385, 25}, {33, 70, 96}, {160, 800, 130}};
  for (const auto& [m, k, n] : kShapes) {
    for (int choice = 0; choice < 8; ++choice) {
      bool a_by_columns = (choice & 1) != 0, b_by_columns = (choice & 2) != 0;
      MatmulSpec spec = plain_spec(m, k, n);
      if (a_by_columns) spec.a_strides = {0, 1, m};
      if (b_by_columns) spec.b_strides = {0, 1, k};
      spec.has_bias = (choice & 4) != 0;
      for (bool packs : {false, true}) {
        spec.packs_weights = packs;
        for (DType dtype : {DType::bfloat16, DType::float16}) {
          spec.dtype = dtype;
          check_primitive(make_widened_matmul(spec), spec, a_by_columns, b_by_columns);
        }
        spec.dtype = DType::float32;
        if (packs) check_primitive(make_packed_gemm(spec), spec, a_by_columns, b_by_columns);
      }
    }
  }
  CHECK(make_widened_matmul(plain_spec(2, 2, 2)) == nullptr);
  CHECK(make_packed_gemm(plain_spec(2, 2, 2)) == nullptr);
}

// Many threads, one product.
TEST(shared_products) {
  Tensor a = matrix(DType::float32, 24, 40, false, 1), b = matrix(DType::float32, 40, 32, false, 2);
  SplitMatmulPtr product = SplitMatmul::make(plain_spec(24, 40, 32));
  if (product == nullptr) return;
  std::vector<double> expected = plain_product(a, b, 24, 40, 32);
  std::vector<std::thread> threads;
  std::vector<int> right(4, 0);
  for (size_t t = 0; t < right.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) right[t] += close(values(run(*product, a, b->data(), {})), expected, 1e-4);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int count : right) CHECK(count == 50);
  CHECK(make_matmul({.dtype = DType::float64, .m = 2, .n = 2, .k = 2}) == nullptr);
}

TEST(with_two_threads) {
  set_num_threads(2);
  Tensor a = matrix(DType::float32, 200, 300, false, 1), b = matrix(DType::float32, 300, 150, true, 2);
  CHECK(close(values(call1("mm", {a, b})), plain_product(a, b, 200, 300, 150), 1e-4));
}

// A child of a process that has run on two threads computes, with the primitives and packed weights it inherited.
TEST(fork) {
  set_num_threads(2);
  Tensor a = matrix(DType::float32, 256, 256, false, 1), b = matrix(DType::float32, 256, 256, false, 2);
  MatmulSpec spec = plain_spec(256, 256, 256);
  spec.packs_weights = true;
  SplitMatmulPtr product = SplitMatmul::make(spec);
  if (product == nullptr) return;
  StoragePtr packed = Storage::allocate(product->packed_bytes());
  product->pack(b->data(), packed->data());
  auto run = [&] { return values(::run(*product, a, packed->data(), {})); };
  std::vector<double> expected = run();
  CHECK(close(values(call1("mm", {a, b})), expected, 1e-4));
  pid_t child = fork();
  if (child == 0) {
    alarm(20);
    bool equal = close(run(), expected, 1e-4) && close(values(call1("mm", {a, b})), expected, 1e-4);
    _exit(equal ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
