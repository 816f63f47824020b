#include "tensor/kernels/column_blocks.h"

#include <algorithm>
#include <cstdlib>

namespace md {
namespace {

constexpr int64_t kBlockElements = 1 << 15, kFewestColumns = 32;

int64_t step_of(const Tensor& tensor, int dim) { return std::abs(tensor->strides()[dim]); }

// Whether another dim's elements are closer to each other in memory.
bool is_crossed(const Tensor& tensor, int dim) {
  for (int i = 0; i < tensor->rank(); ++i)
    if (i != dim && tensor->sizes()[i] > 1 && tensor->strides()[i] != 0 && step_of(tensor, i) < step_of(tensor, dim))
      return true;
  return false;
}

}  // namespace

bool ColumnBlocks::pay(const Tensor& self, const Tensor& out, int dim) {
  constexpr int64_t kShort = 16, kLongest = 8192, kFewestElements = 512;
  if (self->rank() < 2 || self->numel() < kFewestElements) return false;
  int64_t length = self->sizes()[dim];
  if (length > kLongest || self->numel() / length < kFewestColumns) return false;
  return length <= kShort || is_crossed(self, dim) || is_crossed(out, dim);
}

ColumnBlocks::ColumnBlocks(const Tensor& self, int dim, BlockLines lines) : dim_(dim), lines_(lines), self_(self) {
  std::vector<int> dims;
  for (int i = 0; i < self->rank(); ++i)
    if (i != dim) dims.push_back(i);
  std::ranges::stable_sort(dims, [&](int a, int b) { return step_of(self, a) > step_of(self, b); });
  int64_t fewest = lines == BlockLines::AsColumns ? kFewestColumns : 1;
  int64_t wanted = std::max(fewest, kBlockElements / std::max<int64_t>(self->sizes()[dim], 1));
  while (!dims.empty() && whole_columns_ * self->sizes()[dims.back()] <= wanted) {
    whole_columns_ *= self->sizes()[dims.back()];
    whole_.insert(whole_.begin(), dims.back());
    dims.pop_back();
  }
  most_columns_ = whole_columns_;
  if (!dims.empty()) {
    cut_dim_ = dims.back();
    dims.pop_back();
    cut_width_ = std::max<int64_t>(wanted / whole_columns_, 1);
    // The last one has the rest too: none is narrow.
    cuts_ = std::max<int64_t>(self->sizes()[cut_dim_] / cut_width_, 1);
    most_columns_ = whole_columns_ * cut_of(cuts_ - 1).size;
  }
  apart_ = dims;
  count_ = cuts_;
  for (int i : apart_) count_ *= self->sizes()[i];
}

ColumnBlocks::Cut ColumnBlocks::cut_of(int64_t block) const {
  int64_t cut = block % cuts_, first = cut * cut_width_;
  return {.first = first, .size = cut + 1 < cuts_ ? cut_width_ : self_->sizes()[cut_dim_] - first};
}

int64_t ColumnBlocks::columns_of(int64_t block) const {
  return cut_dim_ < 0 ? whole_columns_ : whole_columns_ * cut_of(block).size;
}

Tensor ColumnBlocks::part_of(const Tensor& tensor, int64_t block) const {
  TensorSpec spec;
  spec.dtype = tensor->dtype();
  auto add = [&](int dim, int64_t size) {
    spec.sizes.push_back(size);
    spec.strides.push_back(tensor->strides()[dim]);
  };
  int64_t offset = tensor->offset();
  if (lines_ == BlockLines::AsColumns) add(dim_, tensor->sizes()[dim_]);
  if (cut_dim_ >= 0) {
    add(cut_dim_, cut_of(block).size);
    offset += cut_of(block).first * tensor->strides()[cut_dim_];
  }
  for (int dim : whole_) add(dim, tensor->sizes()[dim]);
  if (lines_ == BlockLines::AsRows) add(dim_, tensor->sizes()[dim_]);
  int64_t rest = block / cuts_;
  for (size_t i = apart_.size(); i-- > 0;) {
    int64_t size = self_->sizes()[apart_[i]];
    offset += rest % size * tensor->strides()[apart_[i]];
    rest /= size;
  }
  return Tensor::view(tensor, spec, offset);
}

BlockRoom::BlockRoom(const BlockOperand& operand, const DimVec& largest)
    : computed_(Tensor::empty(TensorSpec::contiguous(operand.dtype, largest))),
      own_(operand.tensor->dtype() == operand.dtype
               ? computed_
               : Tensor::empty(TensorSpec::contiguous(operand.tensor->dtype(), largest))) {}

Tensor BlockRoom::lines(const DimVec& sizes) const {
  return Tensor::view(computed_, TensorSpec::contiguous(computed_->dtype(), sizes), 0);
}

void BlockRoom::load(const Tensor& part, const Tensor& lines) const {
  Tensor copied = Tensor::view(own_, TensorSpec::contiguous(own_->dtype(), lines.spec().sizes), 0);
  copy_elements(part, copied);
  if (copied->dtype() != lines->dtype()) copy_elements(copied, lines);
}

void BlockRoom::store(const Tensor& lines, const Tensor& part) const {
  TensorSpec spec = TensorSpec::contiguous(own_->dtype(), part.spec().sizes);
  if (own_->dtype() != lines->dtype())
    copy_elements(lines, Tensor::view(own_, TensorSpec::contiguous(own_->dtype(), lines.spec().sizes), 0));
  copy_elements(Tensor::view(own_, spec, 0), part);
}

Tensor with_reduced_dim(const Tensor& result, int dim, int rank) {
  if (result->rank() == rank) return result;
  TensorSpec spec = result.spec();
  spec.sizes.insert(dim, 1);
  spec.strides.insert(dim, 1);
  return Tensor::view(result, spec, result->offset());
}

}  // namespace md
