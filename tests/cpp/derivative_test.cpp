// The derivatives of all rows are in their language, and flow where dtypes let them.
#include <cmath>
#include <iostream>

#include "autograd/backward.h"
#include "autograd/derivative.h"
#include "autograd/grad_history.h"
#include "autograd/record.h"
#include "autograd/rule_op.h"
#include "check.h"
#include "tensor/ops/write_op.h"
#include "tensor_values.h"

namespace {

using namespace md_test;

// Each parameter that takes part in arithmetic and may be a tensor has a slope, or the row says none.
TEST(each_row_has_one) {
  for (const OpRow* row : op_rows()) {
    const Derivative* derivative = derivative_of(*row);
    if (derivative == nullptr) std::cerr << row->name << " has no derivative\n";
    CHECK(derivative != nullptr);
    if (derivative == nullptr || derivative->is_none || derivative->whole != nullptr) continue;
    CHECK(!derivative->slopes.empty());
    for (size_t i = 0; i < row->schema.params.size(); ++i) {
      const Param& param = row->schema.params[i];
      bool is_operand = param.promotes && (param.type == ParamType::Tensor || param.type == ParamType::TensorList ||
                                           param.type == ParamType::Number);
      if (!is_operand) continue;
      bool has = derivative->slope_of(static_cast<int>(i)) != nullptr;
      if (!has) std::cerr << row->name << " has no slope for " << param.name << "\n";
      CHECK(has);
    }
  }
}

Tensor leaf(std::vector<int64_t> sizes, const std::vector<double>& elements) {
  Tensor tensor = make(DType::float64, std::move(sizes), elements);
  tensor.set_requires_grad(true);
  return tensor;
}

TEST(chain) {
  Tensor x = leaf({3}, {1, 2, 3});
  Tensor y = rule_ops::mul(x, x);
  static const RuleOp exp("exp");
  Tensor z = rule_ops::sum(exp(y));
  CHECK(z.requires_grad() && !is_leaf(z) && is_leaf(x));
  GradEdge root = edge_of(z);
  run_backward({&root, 1}, {make(DType::float64, {}, {1})}, {}, {});
  std::vector<double> gradient = values(gradient_of(x));
  for (int i = 0; i < 3; ++i) {
    double v = i + 1;
    CHECK(std::abs(gradient[static_cast<size_t>(i)] - 2 * v * std::exp(v * v)) < 1e-9 * std::exp(v * v));
  }
  CHECK_THROWS(run_backward({&root, 1}, {make(DType::float64, {}, {1})}, {}, {}), Error, "second time");
}

// A graph of a million nodes is walked and freed without recursion.
TEST(deep) {
  Tensor x = leaf({}, {1});
  Tensor y = x;
  for (int i = 0; i < 1000000; ++i) y = rule_ops::neg(y);
  GradEdge root = edge_of(y);
  run_backward({&root, 1}, {make(DType::float64, {}, {1})}, {}, {});
  CHECK(values(gradient_of(x))[0] == 1);
  root = {};
  y = x;
}

TEST(second_order) {
  Tensor x = leaf({2}, {1.5, -0.5});
  Tensor y = rule_ops::sum(rule_ops::mul(rule_ops::mul(x, x), x));
  GradEdge root = edge_of(y), input = edge_of(x);
  Tensor first = run_backward({&root, 1}, {make(DType::float64, {}, {1})}, {&input, 1},
                              {.keeps_graph = true, .creates_graph = true})[0];
  CHECK(first.requires_grad());
  GradEdge again = edge_of(rule_ops::sum(first));
  Tensor second = run_backward({&again, 1}, {make(DType::float64, {}, {1})}, {&input, 1}, {})[0];
  CHECK(std::abs(values(second)[0] - 9) < 1e-12 && std::abs(values(second)[1] + 3) < 1e-12);
}

// An op that is written into a view changes the history of its base, and of other views.
TEST(views) {
  Tensor x = leaf({4}, {1, 2, 3, 4});
  Tensor base = rule_ops::mul(x, Scalar(1.0));
  static const RuleOp slice("slice");
  auto view_of = [&](int64_t start, int64_t end) { return Tensor(slice(base, whole(0), whole(start), whole(end))); };
  Tensor front = view_of(0, 2), back = view_of(1, 4);
  const OpRow& row = *find_op("mul");
  Arg args[] = {front, Scalar(3.0)};
  CHECK(writes_history(row, args, front));
  WriteHistory history(row, args, front);
  write_op(row, args, front);
  history.finish();
  GradEdge root = edge_of(rule_ops::sum(back));
  run_backward({&root, 1}, {make(DType::float64, {}, {1})}, {}, {});
  CHECK(values(gradient_of(x)) == (std::vector<double>{0, 3, 1, 1}));
}

}  // namespace
