#include "executor/window_step.h"

#include "tensor/simd/copy.h"

namespace md {
namespace {

class WindowStep : public Step {
 public:
  WindowStep(Window from, Window to, std::string text)
      : from_(std::move(from)), to_(std::move(to)), text_(std::move(text)) {
    work_.bytes =
        2 * static_cast<double>(from_.spec.numel().value()) * static_cast<double>(item_size(from_.spec.dtype));
  }

  void run(RunState& state) const override { copy_elements(tensor_of(from_, state), tensor_of(to_, state)); }
  std::string describe() const override { return text_; }
  std::string kernel() const override { return "a copy of a window"; }
  Work work() const override { return work_; }

 private:
  static Tensor tensor_of(const Window& window, const RunState& state) {
    Place place = state.layout->places[static_cast<size_t>(window.value)];
    place.offset += window.offset;
    place.spec = window.spec;
    return state.handle(place);
  }

  Window from_, to_;
  std::string text_;
  Work work_;
};

}  // namespace

std::unique_ptr<Step> copy_window(Window from, Window to, std::string text) {
  return std::make_unique<WindowStep>(std::move(from), std::move(to), std::move(text));
}

}  // namespace md
