// Operations on slices along one dim: each slice is read into a buffer of float or double, changed, and written back.
#pragma once
#include <algorithm>

#include "tensor/parallel/threads.h"
#include "tensor/simd/element_walk.h"
#include "tensor/simd/loops.h"
#include "tensor/storage.h"

namespace md {

// float64 computes in double, integers in int64_t (or uint64_t), everything else in float.
template <typename T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, double>) {
    return DType::float64;
  } else if constexpr (std::is_same_v<T, int64_t>) {
    return DType::int64;
  } else if constexpr (std::is_same_v<T, uint64_t>) {
    return DType::uint64;
  } else {
    return DType::float32;
  }
}

// The slices of src along one dim, and their destination in dst, which is contiguous with src's sizes. Pieces of a
// slice are read as values of T and written back from there.
template <typename T>
class DimSlices {
 public:
  DimSlices(const Tensor& src, const Tensor& dst, int dim)
      : src_(src), dst_(dst), length_(src->rank() == 0 ? 1 : src->sizes()[dim]), starts_(starts_of(src, dim)) {
    for (int i = dim + 1; i < src->rank(); ++i) inside_ *= dst->sizes()[i];
    int64_t step = src->rank() == 0 ? 1 : src->strides()[dim];
    slice_.add(item_size(src->dtype()), &step);
    slice_.add(item_size(dst->dtype()), &inside_);
    slice_.finish(false);
  }

  int64_t count() const { return starts_.count(); }
  int64_t length() const { return length_; }

  // Where the values of a piece are computed: in dst where its elements are adjacent values of T, else in buffer.
  T* values_of(int64_t slice, int64_t begin, T* buffer) const {
    bool in_place = inside_ == 1 && dst_->dtype() == dtype_of<T>();
    return in_place ? dst_.template data<T>() + first_of(slice) + begin : buffer;
  }

  // raw has room for n elements of 8 bytes.
  void read(int64_t slice, int64_t begin, int64_t n, void* raw, T* values) const {
    void* buffer = src_->dtype() == dtype_of<T>() ? values : raw;
    const void* elements = slice_.read(0, src_.template data<char>() + starts_.offset(0, slice), begin, n, buffer);
    if (elements != values) load_(elements, values, n);
  }

  void write(int64_t slice, int64_t begin, int64_t n, void* raw, const T* values) const {
    char* place = dst_.template data<char>() + static_cast<size_t>(first_of(slice)) * item_size(dst_->dtype());
    void* target = slice_.write_place(1, place, begin, n, raw);
    if (target != values) save_(values, target, n);
    if (target == raw) slice_.write_back(1, place, begin, n, target);
  }

 private:
  // The index in dst of a slice's first element.
  int64_t first_of(int64_t slice) const { return slice / inside_ * inside_ * length_ + slice % inside_; }

  // The starts of the slices in dst's order: all dims but `dim`.
  static ElementWalk starts_of(const Tensor& src, int dim) {
    int64_t sizes[ElementWalk::kMaxRank], strides[ElementWalk::kMaxRank];
    int rank = 0;
    for (int i = 0; i < src->rank(); ++i) {
      if (i == dim) continue;
      sizes[rank] = src->sizes()[i];
      strides[rank++] = src->strides()[i];
    }
    ElementWalk starts({sizes, static_cast<size_t>(rank)});
    starts.add(item_size(src->dtype()), strides);
    starts.finish(false);
    return starts;
  }

  const Tensor& src_;
  const Tensor& dst_;
  int64_t length_;
  int64_t inside_ = 1;  // number of slices that are adjacent in dst
  ElementWalk starts_;
  ElementWalk slice_{{&length_, 1}};
  ConvertLoop load_ = loops().convert[static_cast<int>(src_->dtype())][static_cast<int>(dtype_of<T>())];
  ConvertLoop save_ = loops().convert[static_cast<int>(dtype_of<T>())][static_cast<int>(dst_->dtype())];
};

// dst is contiguous with src's sizes. change(values, n) works in place on the n elements along dim.
template <typename T, typename Change>
void for_slices(const Tensor& src, const Tensor& dst, int dim, double ns_per_item, const Change& change) {
  if (dst->numel() == 0) return;
  DimSlices<T> slices(src, dst, dim);
  int64_t n = slices.length();
  parallel_for(slices.count(), ns_per_item * static_cast<double>(n), [&](int64_t begin, int64_t end) {
    StoragePtr raw = Storage::allocate(static_cast<size_t>(n) * 8);
    StoragePtr row = Storage::allocate(static_cast<size_t>(n) * sizeof(T));
    for (int64_t i = begin; i < end; ++i) {
      T* values = slices.values_of(i, 0, static_cast<T*>(row->data()));
      slices.read(i, 0, n, raw->data(), values);
      change(values, n);
      slices.write(i, 0, n, raw->data(), values);
    }
  });
}

// Buffer size of scan_slices(): a long slice in another dtype needs no buffer of its length.
inline constexpr int64_t kScanPiece = 2048;

// As for_slices, for operations that only need the preceding elements: change(piece, n, carry) receives the pieces of
// each slice in order; `carry`, initialised with `start` for each slice, is passed from piece to piece.
template <typename T, typename Carry, typename Change>
void scan_slices(const Tensor& src, const Tensor& dst, int dim, double ns_per_item, const Carry& start,
                 const Change& change) {
  if (dst->numel() == 0) return;
  DimSlices<T> slices(src, dst, dim);
  int64_t piece = std::min(slices.length(), kScanPiece);
  parallel_for(slices.count(), ns_per_item * static_cast<double>(slices.length()), [&](int64_t begin, int64_t end) {
    StoragePtr raw = Storage::allocate(static_cast<size_t>(piece) * 8);
    StoragePtr row = Storage::allocate(static_cast<size_t>(piece) * sizeof(T));
    for (int64_t i = begin; i < end; ++i) {
      Carry carry = start;
      for (int64_t at = 0; at < slices.length(); at += piece) {
        int64_t n = std::min(piece, slices.length() - at);
        T* values = slices.values_of(i, at, static_cast<T*>(row->data()));
        slices.read(i, at, n, raw->data(), values);
        change(values, n, carry);
        slices.write(i, at, n, raw->data(), values);
      }
    }
  });
}

}  // namespace md
