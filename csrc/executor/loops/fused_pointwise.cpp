#include "executor/loops/fused_pointwise.h"

#include "executor/loops/loop_builder.h"
#include "executor/loops/loop_op.h"

namespace md {
namespace {

class FusedPointwise : public Step {
 public:
  explicit FusedPointwise(BuiltLoop built)
      : program_(std::move(built.program)),
        names_(std::make_shared<const Names>(Names{std::move(built.names), std::move(built.form_text)})),
        form_(std::move(built.form)),
        work_(built.work) {}
  void run(RunState& state) const override { run_loop(program_, state); }
  std::string describe() const override {
    return str_cat(names_->nodes, " (", program_.rows, " x ", program_.row_length, names_->form, ")");
  }
  std::string kernel() const override {
    std::string text = str_cat("one pass of ", program_.code.size(), program_.code.size() == 1 ? " loop" : " loops",
                               " over tiles of ", program_.tile, " elements (", loops().name, ")");
    if (program_.machine_code == nullptr) return text;
    return text + str_cat("; machine code of ", program_.machine_operations, " operations, ",
                          program_.machine_code->nbytes(), " bytes");
  }
  Work work() const override { return work_; }
  size_t nbytes() const override { return program_.machine_code_nbytes(); }
  bool take_sizes(const Layout& layout, StepMemory& memory) override {
    return form_ == nullptr || md::take_sizes(*form_, layout, program_, memory, work_);
  }
  bool take_offsets(const Layout& layout, StepMemory& memory) override {
    return form_ == nullptr || md::take_offsets(*form_, layout, program_, memory);
  }
  std::unique_ptr<Step> copy() const override { return std::make_unique<FusedPointwise>(*this); }

 private:
  struct Names {
    std::string nodes, form;
  };
  LoopProgram program_;
  std::shared_ptr<const Names> names_;
  LoopFormPtr form_;  // null: its sizes do not change
  Work work_;
};

}  // namespace

bool can_loop(const Node& node) { return as_loop_op(node).has_value(); }
bool is_cheap_in_loop(const Node& node) {
  std::optional<LoopOp> op = as_loop_op(node);
  return op && !op->is_costly;
}
bool can_fold_rows(const Node& node) { return as_row_fold(node).has_value(); }

LoweredStep lower_to_loop(const Group& group, LoweringContext& context) {
  BuiltLoop built = build_loop(group, context);
  context.has_failed_loop = context.has_failed_loop || !built.ok;
  if (built.ok) {
    LoweredStep lowered = std::move(built.lowered);
    lowered.step = std::make_unique<FusedPointwise>(std::move(built));
    return lowered;
  }
  return std::move(built.lowered);
}

}  // namespace md
