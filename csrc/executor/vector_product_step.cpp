#include "executor/vector_product_step.h"

#include <array>

#include "tensor/ops/kernels.h"
#include "tensor/simd/element_walk.h"
#include "tensor/simd/loops.h"

namespace md {
namespace {

struct Vector {
  int value;
  int64_t stride = 1;  // in elements
};

// Elements one after another: the vector's own, or copies of them.
template <typename T>
class Elements {
 public:
  Elements(const RunState& state, const Vector& vector, int64_t length)
      : elements_(reinterpret_cast<const T*>(state.address(vector.value))) {
    if (vector.stride == 1 || length <= 1) return;
    T* copy = few_.data();
    if (length > static_cast<int64_t>(few_.size())) {
      many_.resize(static_cast<size_t>(length));
      copy = many_.data();
    }
    constexpr auto kItem = static_cast<int64_t>(sizeof(T));
    copy_items(kItem, elements_, vector.stride * kItem, copy, kItem, length);
    elements_ = copy;
  }
  const T* get() const { return elements_; }

 private:
  const T* elements_;
  std::array<T, 256> few_;
  std::vector<T> many_;
};

class VectorProductStep : public Step {
 public:
  VectorProductStep(const Node& node, int left, int right, int out, const Layout& layout)
      : name_(std::make_shared<const std::string>(node.name)),
        dtype_(node.outs[0].spec.dtype),
        left_{left},
        right_{right},
        out_(out) {
    read(layout);
  }

  void run(RunState& state) const override {
    dtype_ == DType::float32 ? multiply<float>(state) : multiply<double>(state);
  }
  std::string describe() const override { return "product of vectors -> " + *name_; }
  std::string kernel() const override { return str_cat("own loop over ", length_, " elements (", loops().name, ")"); }
  Work work() const override {
    double elements = static_cast<double>(length_);
    return {.bytes = 2 * elements * static_cast<double>(item_size(dtype_)), .flops = 2 * elements, .dtype = dtype_};
  }
  bool take_sizes(const Layout& layout, StepMemory&) override {
    read(layout);
    return true;
  }
  bool take_offsets(const Layout&, StepMemory&) override { return true; }
  std::unique_ptr<Step> copy() const override { return std::make_unique<VectorProductStep>(*this); }

 private:
  void read(const Layout& layout) {
    for (Vector* vector : {&left_, &right_}) {
      const TensorSpec& spec = layout.places[static_cast<size_t>(vector->value)].spec;
      vector->stride = spec.strides[0].value();
      length_ = spec.sizes[0].value();
    }
  }
  template <typename T>
  void multiply(const RunState& state) const {
    Elements<T> left(state, left_, length_), right(state, right_, length_);
    loops_of<T>().dots(left.get(), right.get(), 0, 1, length_, reinterpret_cast<T*>(state.address(out_)));
  }

  std::shared_ptr<const std::string> name_;
  DType dtype_;
  Vector left_, right_;
  int out_;
  int64_t length_ = 0;
};

}  // namespace

LoweredStep lower_vector_product(const Node& node, LoweringContext& context) {
  LoweredStep lowered;
  if (node.op->kernel != matmul_kernel) return lowered;
  ValueRef left = std::get<ValueRef>(node.operands[0]), right = std::get<ValueRef>(node.operands[1]);
  DType dtype = node.outs[0].spec.dtype;
  bool are_vectors = context.graph.info(left).spec.rank() == 1 && context.graph.info(right).spec.rank() == 1;
  if (!are_vectors || (dtype != DType::float32 && dtype != DType::float64)) return lowered;
  int a = context.places.number(left), b = context.places.number(right);
  int out = context.places.number({const_cast<Node*>(&node), 0});
  lowered.touched = {a, b, out};
  lowered.step = std::make_unique<VectorProductStep>(node, a, b, out, context.places.layout());
  return lowered;
}

}  // namespace md
