#include "executor/loops/fused_pointwise.h"

#include "executor/loops/loop_builder.h"
#include "executor/loops/loop_op.h"

namespace md {
namespace {

class FusedPointwise : public Step {
 public:
  FusedPointwise(LoopProgram program, std::string names, Work work)
      : program_(std::move(program)), names_(std::move(names)), work_(work) {}
  void run(RunState& state) const override { run_loop(program_, state); }
  std::string describe() const override { return names_; }
  std::string kernel() const override {
    std::string text = str_cat("one pass of ", program_.code.size(), program_.code.size() == 1 ? " loop" : " loops",
                               " over tiles of ", program_.tile, " elements (", loops().name, ")");
    if (program_.machine_code == nullptr) return text;
    return text + str_cat("; machine code of ", program_.machine_operations, " operations, ",
                          program_.machine_code->nbytes(), " bytes");
  }
  Work work() const override { return work_; }

 private:
  LoopProgram program_;
  std::string names_;
  Work work_;
};

}  // namespace

bool can_loop(const Node& node) { return as_loop_op(node).has_value(); }
bool can_fold_rows(const Node& node) { return as_row_fold(node).has_value(); }

LoweredStep lower_to_loop(const Group& group, LoweringContext& context) {
  BuiltLoop built = build_loop(group, context);
  if (built.ok) {
    built.lowered.step = std::make_unique<FusedPointwise>(std::move(built.program), std::move(built.names), built.work);
  }
  return std::move(built.lowered);
}

}  // namespace md
