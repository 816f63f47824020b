#include "executor/matmul_problem.h"

#include <algorithm>
#include <iterator>

#include "graph/value_info.h"

namespace md {
namespace {

bool has_value(const Operand& operand) { return std::holds_alternative<ValueRef>(operand); }

// Dims merged into one: its extent and stride. nullopt if they have no single stride.
struct MergedDim {
  int64_t size = 1, stride = 0;
};
template <typename SizeOf, typename StrideOf>
std::optional<MergedDim> merge_dims(int count, SizeOf size_of, StrideOf stride_of) {
  MergedDim merged;
  bool started = false;
  for (int d = count - 1; d >= 0; --d) {
    int64_t size = size_of(d), stride = stride_of(d);
    if (size == 1) continue;
    if (started && stride != merged.stride * merged.size) return std::nullopt;
    if (!started) merged.stride = stride;
    started = true;
    merged.size *= size;
  }
  return merged;
}

// Leading dims of an operand of rank >= 2, broadcast to the result's: stride 0 if repeated.
class Batch {
 public:
  Batch(const TensorSpec& operand, const TensorSpec& result)
      : operand_(operand), result_(result), lead_(result.rank() - operand.rank()) {}

  int rank() const { return result_.rank() - 2; }
  int64_t size(int d) const { return result_.sizes[d].value(); }
  int64_t stride(int d) const {
    bool repeated = d < lead_ || operand_.sizes[d - lead_].value() == 1;
    return repeated ? 0 : operand_.strides[d - lead_].value();
  }
  std::optional<MergedDim> merged() const {
    return merge_dims(rank(), [this](int d) { return size(d); }, [this](int d) { return stride(d); });
  }

 private:
  const TensorSpec &operand_, &result_;
  int lead_;
};

void set_batch(MatmulSpec& spec, const Batch& a, const Batch& b) {
  spec.batch = 1;
  for (int d = 0; d < a.rank(); ++d) spec.batch *= a.size(d);
  std::optional<MergedDim> a_batch = a.merged(), b_batch = b.merged();
  if (a_batch && b_batch) {
    spec.a_strides[0] = a_batch->stride;
    spec.b_strides[0] = b_batch->stride;
    return;
  }
  for (int d = 0; d < a.rank(); ++d) spec.batch_dims.push_back({a.size(d), a.stride(d), b.stride(d)});
}

void set_result(MatmulProblem& problem, const TensorSpec& result) {
  MatmulSpec& spec = problem.spec;
  spec.c_strides = {spec.m * spec.n, spec.n, 1};
  spec.dtype = result.dtype;
}

// a[..., k] times b[k, n] given by its strides: all leading dims are rows.
std::optional<MatmulProblem> rows_times_matrix(ValueRef a, ValueRef b, std::array<int64_t, 3> b_strides,
                                               const TensorSpec& result) {
  const TensorSpec& left = spec_of(a);
  int rank = left.rank();
  std::optional<MergedDim> rows = merge_dims(
      rank - 1, [&](int d) { return left.sizes[d].value(); }, [&](int d) { return left.strides[d].value(); });
  if (rank < 2 || !rows) return std::nullopt;
  MatmulProblem problem;
  problem.a = a;
  problem.b = b;
  problem.spec.m = rows->size;
  problem.spec.n = result.sizes[result.rank() - 1].value();
  problem.spec.k = left.sizes[rank - 1].value();
  int64_t row_stride = rows->size == 1 ? problem.spec.k : rows->stride;
  problem.spec.a_strides = {0, row_stride, left.strides[rank - 1].value()};
  problem.spec.b_strides = b_strides;
  return problem;
}

std::array<int64_t, 3> matrix_strides(const TensorSpec& spec) {
  return {0, spec.strides[spec.rank() - 2].value(), spec.strides[spec.rank() - 1].value()};
}

std::optional<MatmulProblem> from_matmul(const Node& node) {
  ValueRef a = std::get<ValueRef>(node.operands[0]);
  ValueRef b = std::get<ValueRef>(node.operands[1]);
  const TensorSpec& result = node.outs[0].spec;
  if (spec_of(a).rank() < 2 || spec_of(b).rank() < 2) return std::nullopt;
  if (spec_of(b).rank() == 2) {
    auto problem = rows_times_matrix(a, b, matrix_strides(spec_of(b)), result);
    if (problem) return problem;
  }
  MatmulProblem problem;
  problem.a = a;
  problem.b = b;
  problem.spec.m = result.sizes[result.rank() - 2].value();
  problem.spec.n = result.sizes[result.rank() - 1].value();
  problem.spec.k = spec_of(a).sizes[spec_of(a).rank() - 1].value();
  problem.spec.a_strides = matrix_strides(spec_of(a));
  problem.spec.b_strides = matrix_strides(spec_of(b));
  set_batch(problem.spec, Batch(spec_of(a), result), Batch(spec_of(b), result));
  return problem;
}

bool is_row_bias(const TensorSpec& bias, const TensorSpec& result) {
  int64_t columns = result.sizes[result.rank() - 1].value();
  return bias.dtype == result.dtype && bias.numel().value() == columns && bias.rank() >= 1 &&
         bias.sizes[bias.rank() - 1].value() == columns && bias.strides[bias.rank() - 1].value() == 1;
}

std::optional<MatmulProblem> from_linear(const Node& node) {
  if (!has_value(node.operands[0]) || spec_of(node.operands[1]).rank() != 2) return std::nullopt;
  const TensorSpec& weight = spec_of(node.operands[1]);
  std::array<int64_t, 3> strides = {0, weight.strides[1].value(), weight.strides[0].value()};
  auto problem = rows_times_matrix(std::get<ValueRef>(node.operands[0]), std::get<ValueRef>(node.operands[1]), strides,
                                   node.outs[0].spec);
  if (problem && has_value(node.operands[2])) {
    if (!is_row_bias(spec_of(node.operands[2]), node.outs[0].spec)) return std::nullopt;
    problem->bias = std::get<ValueRef>(node.operands[2]);
  }
  return problem;
}

std::optional<MatmulProblem> from_addmm(const Node& node) {
  for (size_t scale : {3, 4}) {
    const Scalar* factor = std::get_if<Scalar>(&node.operands[scale]);
    if (factor == nullptr || factor->as_double() != 1) return std::nullopt;
  }
  if (!is_row_bias(spec_of(node.operands[0]), node.outs[0].spec)) return std::nullopt;
  ValueRef b = std::get<ValueRef>(node.operands[2]);
  auto problem =
      rows_times_matrix(std::get<ValueRef>(node.operands[1]), b, matrix_strides(spec_of(b)), node.outs[0].spec);
  if (problem) problem->bias = std::get<ValueRef>(node.operands[0]);
  return problem;
}

struct MatmulForm {
  OpRole op;
  std::optional<MatmulProblem> (*read)(const Node& node);
};
constexpr MatmulForm kForms[] = {
    {OpRole::Matmul, from_matmul}, {OpRole::Linear, from_linear}, {OpRole::Addmm, from_addmm}};

// No primitive supports overlapping rows.
bool is_matrix(const std::array<int64_t, 3>& strides, int64_t rows, int64_t columns) {
  return strides[2] == 1 ? strides[1] >= columns || rows == 1 : strides[1] == 1 && (strides[2] >= rows || columns == 1);
}

// Nor steps backwards from matrix to matrix.
bool goes_forward(const MatmulSpec& spec) {
  auto steps_on = [](int64_t stride) { return stride >= 0; };
  return std::ranges::all_of(spec.a_strides, steps_on) && std::ranges::all_of(spec.b_strides, steps_on) &&
         std::ranges::all_of(spec.batch_dims, [&](const MatmulSpec::BatchDim& dim) {
           return steps_on(dim.a_stride) && steps_on(dim.b_stride);
         });
}

bool has_layout(const MatmulSpec& spec) {
  bool empty = spec.batch == 0 || spec.m == 0 || spec.n == 0 || spec.k == 0;
  return !empty && goes_forward(spec) && is_matrix(spec.a_strides, spec.m, spec.k) &&
         is_matrix(spec.b_strides, spec.k, spec.n);
}

}  // namespace

std::optional<MatmulProblem> as_matmul(const Node& node) {
  if (node.kind != NodeKind::Op || node.op->kind != OpKind::Matmul) return std::nullopt;
  for (const MatmulForm& form : kForms) {
    if (node.op->role() != form.op) continue;
    std::optional<MatmulProblem> problem = form.read(node);
    if (!problem || !node.outs[0].spec.is_contiguous() || !is_floating(node.outs[0].spec.dtype)) return std::nullopt;
    if (spec_of(problem->a).dtype != node.outs[0].spec.dtype || spec_of(problem->b).dtype != node.outs[0].spec.dtype) {
      return std::nullopt;
    }
    set_result(*problem, node.outs[0].spec);
    problem->spec.has_bias = problem->bias.node != nullptr;
    if (!has_layout(problem->spec)) return std::nullopt;
    return problem;
  }
  return std::nullopt;
}

}  // namespace md
