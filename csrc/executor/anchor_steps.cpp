#include "executor/anchor_steps.h"

#include <algorithm>
#include <optional>

#include "executor/fused_pointwise.h"
#include "executor/matmul_problem.h"
#include "tensor/fill.h"
#include "tensor/onednn.h"
#include "tensor/pointwise.h"

namespace md {
namespace {

constexpr size_t kMaxPostOps = 8;

// An operand of a primitive: a value in memory, or a number.
struct PrimitiveOperand {
  int value = -1;
  int input = -1;  // a scalar input
  DType dtype = DType::float32;
  uint64_t bits = 0;  // a constant
};

class PrimitiveStep : public Step {
 public:
  PrimitiveStep(OnednnPrimitivePtr primitive, std::vector<PrimitiveOperand> operands, int result, int scratch,
                std::string name, Work work)
      : primitive_(std::move(primitive)),
        operands_(std::move(operands)),
        result_(result),
        scratch_(scratch),
        name_(std::move(name)),
        work_(work) {}

  void run(RunState& state) const override {
    const void* inputs[3 + kMaxPostOps];
    uint64_t numbers[3 + kMaxPostOps];
    for (size_t i = 0; i < operands_.size(); ++i) inputs[i] = address(state, operands_[i], numbers[i]);
    void* scratch = scratch_ < 0 ? nullptr : place(state, scratch_);
    primitive_->execute({inputs, operands_.size()}, place(state, result_), scratch);
  }
  std::string describe() const override { return name_ + " [" + primitive_->implementation() + "]"; }
  std::string kernel() const override { return str_cat("oneDNN ", primitive_->implementation()); }
  Work work() const override { return work_; }

 private:
  static std::byte* place(const RunState& state, int value) {
    return state.address(state.layout->places[static_cast<size_t>(value)]);
  }
  static const void* address(const RunState& state, const PrimitiveOperand& operand, uint64_t& number) {
    if (operand.value >= 0) return place(state, operand.value);
    number = operand.bits;
    if (operand.input >= 0)
      store_scalar(operand.dtype, state.inputs[static_cast<size_t>(operand.input)].scalar, &number);
    return &number;
  }

  OnednnPrimitivePtr primitive_;
  std::vector<PrimitiveOperand> operands_;
  int result_;
  int scratch_;
  std::string name_;
  Work work_;
};

// A pointwise node as a post-op on the group's last result.
struct PostNode {
  PostOp op;
  const Operand* operand = nullptr;  // the second operand, if any
};

// What the primitive computes as the op itself does, for NaN and infinities too. Not relu, maximum and minimum, which
// turn NaN into a number there, nor functions that go through an exponential, which saturates.
constexpr Pointwise kExactPostOps[] = {
    Pointwise::add, Pointwise::sub, Pointwise::mul, Pointwise::div, Pointwise::abs, Pointwise::square, Pointwise::sqrt,
};

bool is_exact_post_op(Pointwise function) {
  return onednn_has_post_op(function) &&
         std::find(std::begin(kExactPostOps), std::end(kExactPostOps), function) != std::end(kExactPostOps);
}

bool commutes(Pointwise function) { return function == Pointwise::add || function == Pointwise::mul; }

bool is_value_of(const Operand& operand, const Node& node) {
  const auto* value = std::get_if<ValueRef>(&operand);
  return value != nullptr && value->node == &node;
}

// Row by row without gaps. oneDNN 3.12 takes a transposed operand of a binary post-op and reads it in the wrong order.
bool is_dense(std::span<const int64_t> sizes, std::span<const int64_t> strides) {
  int64_t expected = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 1) continue;
    if (strides[i] != expected) return false;
    expected *= sizes[i];
  }
  return true;
}

// Extents and strides of the second operand over [batch, m, n]; false when it has none.
bool describe_operand(const Operand& operand, const Node& result, const MatmulProblem& problem, PostOp& op) {
  const auto* value = std::get_if<ValueRef>(&operand);
  bool is_number = std::holds_alternative<Scalar>(operand) || (value != nullptr && value->node->outs[0].is_scalar);
  if (is_number) {
    op.sizes = {1, 1, 1};
    op.strides = {1, 1, 1};
    return true;
  }
  if (value == nullptr) return false;
  const TensorSpec& spec = value->node->outs[static_cast<size_t>(value->out)].spec;
  if (spec.dtype != result.outs[0].spec.dtype) return false;
  std::optional<MergedOperand> merged = merge_operand(spec, result.outs[0].spec, problem.splits);
  if (!merged) return false;
  op.sizes = merged->sizes;
  op.strides = merged->strides;
  return is_dense(op.sizes, op.strides);
}

std::optional<PostNode> as_post_op(const MatmulProblem& problem, const Node& tail, const Node& node) {
  if (node.kind != NodeKind::Op || node.op->pointwise < 0 || node.outs.size() != 1) return std::nullopt;
  const TensorSpec& spec = node.outs[0].spec;
  if (spec.dtype != tail.outs[0].spec.dtype || !same(spec.sizes, tail.outs[0].spec.sizes) || !spec.is_contiguous()) {
    return std::nullopt;
  }
  std::vector<Arg> args;
  for (const Operand& operand : node.operands) {
    args.push_back(to_arg(operand, [](ValueRef value) -> Arg {
      const ValueInfo& info = value.node->outs[static_cast<size_t>(value.out)];
      return info.is_scalar ? Tensor() : Tensor::fake(info.spec);
    }));
  }
  PointwiseForm form = pointwise_form(*node.op, args);
  if (form.row < 0 || form.operand_count > 2) return std::nullopt;
  PostNode post;
  post.op.function = static_cast<Pointwise>(form.row);
  if (!is_exact_post_op(post.op.function)) return std::nullopt;
  if (form.param >= 0) {
    const auto* param = std::get_if<Scalar>(&node.operands[static_cast<size_t>(form.param)]);
    if (param == nullptr) return std::nullopt;
    post.op.alpha = static_cast<float>(param->as_double());
  }
  const Operand& first = node.operands[static_cast<size_t>(form.operands[0])];
  if (form.operand_count == 1) return is_value_of(first, tail) ? std::optional(post) : std::nullopt;
  const Operand& second = node.operands[static_cast<size_t>(form.operands[1])];
  bool swapped = !is_value_of(first, tail);
  if (swapped && !commutes(post.op.function)) return std::nullopt;
  post.operand = swapped ? &first : &second;
  if (is_value_of(*post.operand, tail) || !is_value_of(swapped ? second : first, tail)) return std::nullopt;
  if (!describe_operand(*post.operand, node, problem, post.op)) return std::nullopt;
  return post;
}

// Builds the primitive of one matmul group.
class MatmulBuilder {
 public:
  MatmulBuilder(const Group& group, LoweringContext& context)
      : group_(group), context_(context), problem_(*as_matmul(*group.nodes[0])) {}

  LoweredStep build() {
    add_value(problem_.a);
    add_value(problem_.b);
    if (problem_.bias.node != nullptr) add_value(problem_.bias);
    for (size_t i = 1; i < group_.nodes.size(); ++i) add_post_op(*group_.nodes[i - 1], *group_.nodes[i]);
    OnednnPrimitivePtr primitive = make_matmul(problem_.spec);
    LoweredStep lowered;
    if (primitive == nullptr) {
      lowered.note = "oneDNN has no such matmul";
      return lowered;
    }
    int scratch = -1;
    if (primitive->scratchpad_bytes() > 0) {
      scratch = context_.places.add_scratch(static_cast<int64_t>(primitive->scratchpad_bytes()));
      touched_.push_back(scratch);
    }
    int result = context_.places.number({const_cast<Node*>(group_.nodes.back()), 0});
    touched_.push_back(result);
    lowered.touched = std::move(touched_);
    lowered.step = std::make_unique<PrimitiveStep>(std::move(primitive), std::move(operands_), result, scratch,
                                                   describe(), work());
    return lowered;
  }

 private:
  void add_value(ValueRef value) {
    operands_.push_back({.value = context_.places.number(value)});
    touched_.push_back(operands_.back().value);
  }

  void add_post_op(const Node& tail, const Node& node) {
    PostNode post = *as_post_op(problem_, tail, node);
    if (post.operand != nullptr) add_operand(*post.operand, node.outs[0].spec.dtype);
    problem_.spec.post_ops.push_back(std::move(post.op));
  }

  void add_operand(const Operand& operand, DType dtype) {
    const auto* value = std::get_if<ValueRef>(&operand);
    if (value != nullptr && !context_.graph.info(*value).is_scalar) return add_value(*value);
    PrimitiveOperand number = {.dtype = dtype};
    if (value != nullptr) {
      number.input = context_.places.input_position(*value->node);
    } else {
      store_scalar(dtype, std::get<Scalar>(operand), &number.bits);
    }
    operands_.push_back(number);
  }

  Work work() const {
    const MatmulSpec& spec = problem_.spec;
    double m = static_cast<double>(spec.m), n = static_cast<double>(spec.n), k = static_cast<double>(spec.k);
    double batch = static_cast<double>(spec.batch);
    double item = static_cast<double>(item_size(spec.dtype));
    return {.bytes = batch * (m * k + k * n + m * n) * item, .flops = 2 * batch * m * n * k};
  }

  std::string describe() const {
    const MatmulSpec& spec = problem_.spec;
    std::string text = group_.nodes[0]->op->name;
    for (size_t i = 1; i < group_.nodes.size(); ++i) text += " + " + group_.nodes[i]->op->name;
    return text + str_cat(" -> ", group_.nodes.back()->name, " (", spec.batch, " x ", spec.m, " x ", spec.n, " x ",
                          spec.k, ")");
  }

  const Group& group_;
  LoweringContext& context_;
  MatmulProblem problem_;
  std::vector<PrimitiveOperand> operands_;
  std::vector<int> touched_;
};

bool matmul_starts(const Node& node) { return as_matmul(node).has_value(); }

bool matmul_absorbs(const Group& group, const Node& node) {
  if (group.nodes.size() > kMaxPostOps) return false;
  return as_post_op(*as_matmul(*group.nodes[0]), *group.nodes.back(), node).has_value();
}

LoweredStep build_matmul(const Group& group, LoweringContext& context) { return MatmulBuilder(group, context).build(); }

// THE fusion table: what starts a group, what may follow, and how the group becomes a step. The first row that starts wins.
struct FusionRow {
  const char* name;
  bool (*starts)(const Node& node);
  bool (*absorbs)(const Group& group, const Node& node);
  LoweredStep (*build)(const Group& group, LoweringContext& context);
};
constexpr FusionRow kFusions[] = {
    {"matmul with bias, activation and binary post-ops", matmul_starts, matmul_absorbs, build_matmul},
};

const FusionRow* find_row(const Node& node) {
  auto found =
      std::find_if(std::begin(kFusions), std::end(kFusions), [&](const FusionRow& row) { return row.starts(node); });
  return found == std::end(kFusions) ? nullptr : found;
}

}  // namespace

bool is_anchor(const Node& node) { return find_row(node) != nullptr; }

bool anchor_absorbs(const Group& group, const Node& node) {
  const FusionRow* row = find_row(*group.nodes[0]);
  return row != nullptr && row->absorbs(group, node);
}

LoweredStep lower_anchor(const Group& group, LoweringContext& context) {
  return find_row(*group.nodes[0])->build(group, context);
}

}  // namespace md
