#include "executor/window_step.h"

#include <cstring>

#include "graph/views.h"
#include "tensor/parallel/threads.h"
#include "tensor/simd/copy.h"
#include "tensor/simd/loops.h"

namespace md {
namespace {

class WindowStep : public Step {
 public:
  WindowStep(Window from, Window to, std::string text, const Node* changing)
      : from_(std::move(from)), to_(std::move(to)), text_(std::move(text)), changing_(changing) {
    find_form();
  }

  void run(RunState& state) const override {
    switch (form_) {
      case Form::Element:
        std::memmove(address_of(to_, state), address_of(from_, state), item_size(to_.spec.dtype));
        return;
      case Form::Dense:
        return copy_dense(address_of(from_, state), address_of(to_, state));
      case Form::Any:
        return copy_elements(tensor_of(from_, state), tensor_of(to_, state));
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
    find_form();
    return true;
  }
  std::unique_ptr<Step> copy() const override { return std::make_unique<WindowStep>(*this); }

 private:
  enum class Form : uint8_t {
    Element,  // single elements of one dtype
    Dense,    // elements one after another, in the same order
    Any,
  };

  void find_form() {
    int64_t count = from_.spec.numel().value();
    bool same_count = count == to_.spec.numel().value();
    if (same_count && count == 1 && from_.spec.dtype == to_.spec.dtype) {
      form_ = Form::Element;
    } else {
      form_ = same_count && from_.spec.is_contiguous() && to_.spec.is_contiguous() ? Form::Dense : Form::Any;
    }
  }
  void copy_dense(const std::byte* from, std::byte* to) const {
    auto from_item = static_cast<int64_t>(item_size(from_.spec.dtype));
    auto to_item = static_cast<int64_t>(item_size(to_.spec.dtype));
    ConvertLoop convert = loops().convert[static_cast<int>(from_.spec.dtype)][static_cast<int>(to_.spec.dtype)];
    double ns = 0.1 * static_cast<double>(to_item);
    parallel_for(from_.spec.numel().value(), ns, [&](int64_t begin, int64_t end) {
      convert(from + begin * from_item, to + begin * to_item, end - begin);
    });
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
  Form form_ = Form::Any;
  std::string text_;
  const Node* changing_;  // outlives the step
};

}  // namespace

std::unique_ptr<Step> copy_window(Window from, Window to, std::string text, const Node* changing) {
  return std::make_unique<WindowStep>(std::move(from), std::move(to), std::move(text), changing);
}

}  // namespace md
