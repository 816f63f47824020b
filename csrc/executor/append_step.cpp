#include "executor/append_step.h"

#include <memory>

#include "tensor/simd/room.h"

namespace md {
namespace {

// The first operand is read as the tensor that the caller passed, which tells whether it has room: the plan has no
// address of it.
class AppendStep : public Step {
 public:
  AppendStep(const Append& append, const BufferAssignment& places)
      : name_(std::make_shared<const std::string>(append.node->name)),
        result_(places.number({const_cast<Node*>(append.node), 0})),
        append_(append) {
    for (const ValueRef& part : std::get<std::vector<ValueRef>>(append.node->operands[0])) {
      bool is_input = part.node->kind == NodeKind::TensorInput;
      parts_.push_back({.input = is_input ? places.input_position(*part.node) : -1, .value = places.number(part)});
    }
    set_sizes(places.layout());
  }

  void run(RunState& state) const override {
    const TensorSpec& spec = state.layout->places[static_cast<size_t>(result_)].spec;
    std::vector<Tensor> parts;
    parts.reserve(parts_.size());
    for (const Part& part : parts_)
      parts.push_back(part.input >= 0 ? state.inputs[static_cast<size_t>(part.input)].tensor
                                      : state.handle(part.value));
    int64_t total = spec.sizes[append_.dim].value();
    int64_t capacity = is_spread_ ? capacity_ : capacity_for(parts[0], append_.dim, total);
    Joined joined = join_in_room(parts, append_.dim, capacity, spec);
    size_t buffer = static_cast<size_t>(state.layout->places[static_cast<size_t>(result_)].buffer);
    state.base[buffer] = joined.memory.data<std::byte>();
    state.made[static_cast<size_t>(result_)] = joined.memory;
    TensorSpec seen = TensorSpec::contiguous(spec.dtype, spec.sizes);
    seen.requires_grad = spec.requires_grad;
    state.results[static_cast<size_t>(result_)] = as_result(std::move(joined), seen);
  }

  std::string describe() const override {
    std::string room = is_spread_ ? str_cat(", room for ", capacity_) : std::string();
    return str_cat("append ", append_.dim, " -> ", *name_, room);
  }
  std::string kernel() const override { return "a copy of what is appended, where there is room"; }
  Work work() const override { return work_; }
  bool take_sizes(const Layout& layout, StepMemory&) override {
    set_sizes(layout);
    return true;
  }
  std::unique_ptr<Step> copy() const override { return std::make_unique<AppendStep>(*this); }

 private:
  struct Part {
    int input = -1;  // position among the graph's inputs
    int value = -1;
  };

  void set_sizes(const Layout& layout) {
    const TensorSpec& spec = layout.places[static_cast<size_t>(result_)].spec;
    is_spread_ = append_.is_spread();
    capacity_ = capacity_of(append_, spec);
    work_.bytes = 2 * static_cast<double>(spec.numel().value()) * static_cast<double>(item_size(spec.dtype));
  }

  std::shared_ptr<const std::string> name_;
  int result_;
  Append append_;
  std::vector<Part> parts_;
  bool is_spread_ = false;
  int64_t capacity_ = 0;
  Work work_;
};

}  // namespace

LoweredStep lower_append(const Append& append, LoweringContext& context) {
  LoweredStep lowered;
  for (const ValueRef& part : std::get<std::vector<ValueRef>>(append.node->operands[0]))
    if (part.node != append.input) lowered.touched.push_back(context.places.number(part));
  lowered.touched.push_back(context.places.number({const_cast<Node*>(append.node), 0}));
  lowered.step = std::make_unique<AppendStep>(append, context.places);
  return lowered;
}

}  // namespace md
