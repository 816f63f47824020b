#include "tensor/tensor.h"

#include <tuple>

#include "base/error.h"
#include "tensor/fill.h"

namespace md {
namespace {

// numel() and is_contiguous() of a spec, computed from the numbers of a real tensor.
std::pair<int64_t, bool> measured(const int64_t* sizes, const int64_t* strides, int rank) {
  int64_t expected = 1;
  bool contiguous = true, overflows = false, is_empty = false;
  for (int i = rank - 1; i >= 0; --i) {
    contiguous &= sizes[i] == 1 || strides[i] == expected;
    is_empty |= sizes[i] == 0;
    overflows |= __builtin_mul_overflow(expected, sizes[i], &expected);
  }
  if (is_empty) return {0, true};
  if (overflows) raise(ErrorKind::Runtime, "size calculation overflowed");
  return {expected, contiguous};
}

}  // namespace

TensorSpec TensorSpec::contiguous(DType dtype, DimVec sizes) {
  TensorSpec spec;
  spec.dtype = dtype;
  spec.strides = contiguous_strides(sizes.span());
  spec.sizes = std::move(sizes);
  return spec;
}

bool TensorSpec::is_contiguous() const {
  Dim expected = 1;
  bool contiguous = true;
  for (int i = rank() - 1; i >= 0; --i) {
    if (same(sizes[i], Dim(0))) return true;
    if (!contiguous || same(sizes[i], Dim(1))) continue;
    if (known_equal(strides[i], expected)) {
      expected = expected * sizes[i];
    } else if (!known_equal(sizes[i], 1)) {
      contiguous = false;
    }
  }
  // A tensor without elements is contiguous, whatever its strides.
  return contiguous || (any_symbolic(sizes.span()) && known_equal(numel(), 0));
}

Reach reach_of(const TensorSpec& spec) {
  Dim before = 0, end = 1;
  for (int i = 0; i < spec.rank(); ++i) {
    if (spec.sizes[i].value() == 0) return {};
    Dim way = (spec.sizes[i] - 1) * spec.strides[i];
    if (way.value() < 0) {
      before = before - way;
    } else {
      end = end + way;
    }
  }
  return {.low = -before.value(), .end = end.value()};
}

std::string TensorSpec::str() const {
  std::string text = row(dtype).short_name;
  for (const DimVec* dims : {&sizes, &strides}) {
    text += "[";
    for (int i = 0; i < dims->size(); ++i) {
      if (i > 0) text += ", ";
      text += (*dims)[i].str();
    }
    text += "]";
  }
  return text;
}

TensorImpl::TensorImpl(StoragePtr storage, int64_t offset, const TensorSpec& spec, TensorKind kind)
    : kind_(kind), contiguous_(false), spec_(spec), storage_(std::move(storage)), offset_(offset), numel_(0) {
  if (kind_ != TensorKind::Real) return;
  std::tie(numel_, contiguous_) = measured(sizes(), strides(), rank());
  char* first = static_cast<char*>(storage_->data()) + offset_ * static_cast<int64_t>(item_size(spec_.dtype));
  data_.store(first, std::memory_order_relaxed);
}

TensorImpl::TensorImpl(const TensorSpec& spec)
    : kind_(TensorKind::Real), contiguous_(true), spec_(spec), offset_(0), numel_(spec.numel().value()) {}

TensorImpl::TensorImpl(DType dtype, std::span<const int64_t> sizes)
    : kind_(TensorKind::Real), contiguous_(true), offset_(0) {
  int rank = static_cast<int>(sizes.size());
  spec_.dtype = dtype;
  spec_.sizes.resize(rank);
  spec_.strides.resize(rank);
  Dim* extents = spec_.sizes.data();
  Dim* strides = spec_.strides.data();
  // As contiguous_strides: an extent of zero counts as one.
  int64_t step = 1;
  bool is_empty = false, overflows = false;
  for (int i = rank - 1; i >= 0; --i) {
    int64_t size = sizes[static_cast<size_t>(i)];
    extents[i] = size;
    strides[i] = step;
    is_empty |= size == 0;
    overflows |= __builtin_mul_overflow(step, size == 0 ? 1 : size, &step);
  }
  size_t nbytes = 0;
  overflows |= __builtin_mul_overflow(static_cast<size_t>(is_empty ? 0 : step), item_size(dtype), &nbytes);
  if (overflows) raise(ErrorKind::Runtime, "size calculation overflowed: ", md::str(spec_.sizes.span()));
  numel_ = is_empty ? 0 : step;
  storage_ = Storage::allocate(nbytes);
  data_.store(storage_->data(), std::memory_order_relaxed);
}

void Tensor::destroy(TensorImpl* impl) { delete impl; }

Tensor Tensor::empty(DType dtype, std::span<const int64_t> sizes) { return Tensor(new TensorImpl(dtype, sizes)); }

Tensor Tensor::empty(const TensorSpec& spec) {
  Reach reach = reach_of(spec);
  Dim nbytes = Dim(reach.count()) * Dim(static_cast<int64_t>(item_size(spec.dtype)));  // raises on overflow
  return Tensor(
      new TensorImpl(Storage::allocate(static_cast<size_t>(nbytes.value())), -reach.low, spec, TensorKind::Real));
}

Tensor Tensor::view(const Tensor& base, const TensorSpec& spec, int64_t offset) {
  return Tensor(new TensorImpl(base.impl_->storage(), offset, spec, TensorKind::Real));
}

Tensor Tensor::from_storage(StoragePtr storage, int64_t offset, const TensorSpec& spec) {
  return Tensor(new TensorImpl(std::move(storage), offset, spec, TensorKind::Real));
}

Tensor Tensor::fake(const TensorSpec& spec, int64_t offset) {
  return Tensor(new TensorImpl({}, offset, spec, TensorKind::Fake));
}

Tensor Tensor::recording(const TensorSpec& spec, Recorder* recorder, void* value) {
  Tensor tensor(new TensorImpl({}, 0, spec, TensorKind::Recording));
  tensor.impl_->recorder_ = recorder;
  tensor.impl_->recorded_value_ = value;
  return tensor;
}

Tensor Tensor::scalar(DType dtype, const Scalar& value) {
  Tensor tensor = empty(dtype, {});
  store_scalar(dtype, value, tensor.impl_->data());
  return tensor;
}

}  // namespace md
