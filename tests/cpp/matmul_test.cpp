// Matrix products of every dtype, layout and size class against a plain loop; primitives with post-ops.
#include "tensor/onednn.h"

#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "check.h"
#include "tensor/threads.h"
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

void test_layouts() {
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

void test_batches() {
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

void test_linear_and_addmm() {
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

void test_primitives() {
  Tensor a = make(DType::float32, {24, 40}, noise(960)), b = make(DType::float32, {40, 32}, noise(1280, 2));
  Tensor bias = make(DType::float32, {32}, noise(32, 3)), residual = make(DType::float32, {24, 32}, noise(768, 4));
  MatmulSpec spec = plain_spec(24, 40, 32);
  spec.has_bias = true;
  spec.post_ops = {{Pointwise::relu, 0, {}, {}}, {Pointwise::add, 0, {1, 24, 32}, {768, 32, 1}}};
  OnednnPrimitivePtr primitive = make_matmul(spec);
  if (primitive == nullptr) return;  // a processor for which oneDNN has no fast code
  CHECK(make_matmul(spec) == primitive);
  Tensor linear = call1("linear", {a, call1("t", {b}), bias});
  Tensor expected = call1("add", {call1("relu", {linear}), residual});
  auto run = [&](const OnednnPrimitive& chosen, const void* weights) {
    Tensor out = Tensor::empty(DType::float32, std::vector<int64_t>{24, 32});
    const void* inputs[] = {a->data(), weights, bias->data(), residual->data()};
    execute(chosen, inputs, out->data());
    return out;
  };
  CHECK(close(values(run(*primitive, b->data())), values(expected), 1e-5));
  // Many threads, one primitive.
  std::vector<std::thread> threads;
  std::vector<int> right(4, 0);
  for (size_t t = 0; t < right.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) right[t] += close(values(run(*primitive, b->data())), values(expected), 1e-5);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int count : right) CHECK(count == 50);
  // Weights packed once.
  spec.packed_b = true;
  OnednnPrimitivePtr packing = make_matmul(spec);
  CHECK(packing != nullptr);
  StoragePtr packed = Storage::allocate(packing->packed_b_bytes());
  packing->pack_b(b->data(), packed->data());
  CHECK(close(values(run(*packing, packed->data())), values(expected), 1e-5));
  CHECK(make_matmul({.dtype = DType::float64, .m = 2, .n = 2, .k = 2}) == nullptr);
}

void test_other_primitives() {
  OnednnLayout layout{DType::float32, {6, 32}, {32, 1}};
  Tensor x = make(DType::float32, {6, 32}, noise(192)), y = make(DType::float32, {32}, noise(32, 2));
  auto run = [&](const OnednnPrimitivePtr& primitive, std::vector<const void*> inputs, std::vector<int64_t> sizes) {
    Tensor out = Tensor::empty(DType::float32, sizes);
    if (primitive != nullptr) execute(*primitive, inputs, out->data());
    return out;
  };
  OnednnPrimitivePtr tanh = make_eltwise(Pointwise::tanh, 0, layout, layout, 1);
  if (tanh != nullptr) CHECK(close(values(run(tanh, {x->data()}, {6, 32})), values(call1("tanh", {x})), 1e-5));
  OnednnPrimitivePtr add = make_binary(Pointwise::add, layout, {DType::float32, {1, 32}, {32, 1}}, layout, {}, 1);
  if (add != nullptr)
    CHECK(close(values(run(add, {x->data(), y->data()}, {6, 32})), values(call1("add", {x, y})), 1e-6));
  OnednnPrimitivePtr softmax = make_softmax(false, 1, layout, layout, 1);
  if (softmax != nullptr)
    CHECK(close(values(run(softmax, {x->data()}, {6, 32})), values(call1("softmax", {x, integer(1)})), 1e-5));
  OnednnPrimitivePtr sum = make_reduction(OnednnReduction::Sum, layout, {DType::float32, {6, 1}, {1, 1}}, 1);
  if (sum != nullptr) CHECK(close(values(run(sum, {x->data()}, {6, 1})), values(call1("sum", {x, DimVec{1}})), 1e-5));
  CHECK(make_eltwise(Pointwise::sin, 0, layout, layout, 1) == nullptr);
}

// A child of a process that has run on two threads computes, with the primitives and packed weights it inherited.
void test_fork() {
  set_num_threads(2);
  Tensor a = matrix(DType::float32, 256, 256, false, 1), b = matrix(DType::float32, 256, 256, false, 2);
  MatmulSpec spec = plain_spec(256, 256, 256);
  spec.threads = 2;
  spec.packed_b = true;
  OnednnPrimitivePtr primitive = make_matmul(spec);
  if (primitive == nullptr) return;
  StoragePtr packed = Storage::allocate(primitive->packed_b_bytes());
  primitive->pack_b(b->data(), packed->data());
  auto run = [&] {
    Tensor out = Tensor::empty(DType::float32, std::vector<int64_t>{256, 256});
    const void* inputs[] = {a->data(), packed->data()};
    execute(*primitive, inputs, out->data());
    return values(out);
  };
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

int main() {
  test_layouts();
  test_batches();
  test_linear_and_addmm();
  test_primitives();
  test_other_primitives();
  set_num_threads(2);
  Tensor a = matrix(DType::float32, 200, 300, false, 1), b = matrix(DType::float32, 300, 150, true, 2);
  CHECK(close(values(call1("mm", {a, b})), plain_product(a, b, 200, 300, 150), 1e-4));
  test_fork();
  return md_test::result();
}
