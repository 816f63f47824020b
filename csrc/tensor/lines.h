// Work along one dim: each line of elements is read into a row of float or double, changed, and written back.
#pragma once
#include "tensor/element_walk.h"
#include "tensor/loops.h"
#include "tensor/storage.h"
#include "tensor/threads.h"

namespace md {

// float64 computes in double, everything else in float, integers in int64_t.
template <typename T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, double>) {
    return DType::float64;
  } else if constexpr (std::is_same_v<T, int64_t>) {
    return DType::int64;
  } else {
    return DType::float32;
  }
}

// dst is contiguous with src's sizes. change(line, n) works in place on n elements along dim.
template <typename T, typename Change>
void for_lines(const Tensor& src, const Tensor& dst, int dim, double ns_per_item, const Change& change) {
  if (dst->numel() == 0) return;
  int rank = src->rank();
  int64_t length = rank == 0 ? 1 : src->sizes()[dim];
  int64_t inside = 1;  // lines that lie side by side in dst
  for (int i = dim + 1; i < rank; ++i) inside *= dst->sizes()[i];
  ConvertLoop load = loops().convert[static_cast<int>(src->dtype())][static_cast<int>(dtype_of<T>())];
  ConvertLoop save = loops().convert[static_cast<int>(dtype_of<T>())][static_cast<int>(dst->dtype())];
  // The source's lines in dst's order: dims before and after, without dim.
  int64_t sizes[ElementWalk::kMaxRank], strides[ElementWalk::kMaxRank];
  int outer_rank = 0;
  for (int i = 0; i < rank; ++i) {
    if (i == dim) continue;
    sizes[outer_rank] = src->sizes()[i];
    strides[outer_rank++] = src->strides()[i];
  }
  ElementWalk starts({sizes, static_cast<size_t>(outer_rank)});
  starts.add(item_size(src->dtype()), strides);
  starts.finish(false);
  int64_t step = rank == 0 ? 1 : src->strides()[dim];
  ElementWalk line({&length, 1});
  line.add(item_size(src->dtype()), &step);
  line.add(item_size(dst->dtype()), &inside);
  line.finish(false);
  size_t item = item_size(dst->dtype());
  parallel_for(starts.count(), ns_per_item * static_cast<double>(length), [&](int64_t begin, int64_t end) {
    StoragePtr raw = Storage::allocate(static_cast<size_t>(length) * 8);
    StoragePtr row = Storage::allocate(static_cast<size_t>(length) * sizeof(T));
    T* values = static_cast<T*>(row->data());
    for (int64_t i = begin; i < end; ++i) {
      load(line.read(0, src.data<char>() + starts.offset(0, i), 0, length, raw->data()), values, length);
      change(values, length);
      char* place = dst.data<char>() + static_cast<size_t>(i / inside * inside * length + i % inside) * item;
      void* target = line.write_place(1, place, 0, length, raw->data());
      save(values, target, length);
      if (target == raw->data()) line.write_back(1, place, 0, length, target);
    }
  });
}

}  // namespace md
