#include "executor/window_step.h"

#include <cstring>

#include "graph/views.h"
#include "tensor/simd/copy.h"

namespace md {
namespace {

class WindowStep : public Step {
 public:
  WindowStep(Window from, Window to, std::string text, const Node* changing)
      : from_(std::move(from)), to_(std::move(to)), text_(std::move(text)), changing_(changing) {
    find_element();
  }

  void run(RunState& state) const override {
    if (is_element_) {
      std::memmove(address_of(to_, state), address_of(from_, state), item_size(to_.spec.dtype));
    } else {
      copy_elements(tensor_of(from_, state), tensor_of(to_, state));
    }
  }
  std::string describe() const override { return text_; }
  std::string kernel() const override { return "a copy of a window"; }
  Work work() const override {
    double elements = static_cast<double>(from_.spec.numel().value());
    return {.bytes = 2 * elements * static_cast<double>(item_size(from_.spec.dtype))};
  }
  bool take_sizes(const Layout& layout, StepMemory&) override {
    if (changing_ == nullptr) return true;
    from_.spec = layout.places[static_cast<size_t>(from_.value)].spec;
    StridedView written = written_view(*changing_);
    to_.spec.sizes = std::move(written.sizes);
    to_.spec.strides = std::move(written.strides);
    to_.offset = written.offset.value();
    find_element();
    return true;
  }
  std::unique_ptr<Step> copy() const override { return std::make_unique<WindowStep>(*this); }

 private:
  void find_element() {
    auto is_one = [](const Window& window) { return window.spec.numel().value() == 1; };
    is_element_ = from_.spec.dtype == to_.spec.dtype && is_one(from_) && is_one(to_);
  }
  static std::byte* address_of(const Window& window, const RunState& state) {
    return state.address(window.value) + window.offset * static_cast<int64_t>(item_size(window.spec.dtype));
  }
  static Tensor tensor_of(const Window& window, const RunState& state) {
    Place place = state.layout->places[static_cast<size_t>(window.value)];
    place.offset += window.offset;
    place.spec = window.spec;
    return state.handle(place);
  }

  Window from_, to_;
  bool is_element_ = false;  // single elements of one dtype
  std::string text_;
  const Node* changing_;  // outlives the step
};

}  // namespace

std::unique_ptr<Step> copy_window(Window from, Window to, std::string text, const Node* changing) {
  return std::make_unique<WindowStep>(std::move(from), std::move(to), std::move(text), changing);
}

}  // namespace md
