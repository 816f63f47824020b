#include "tensor/simd/copy.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <iterator>

#include "base/error.h"
#include "tensor/parallel/threads.h"
#include "tensor/simd/element_walk.h"
#include "tensor/simd/lane_table.h"
#include "tensor/simd/loops.h"

namespace md {
namespace {

double copy_cost(const Tensor& tensor) { return 0.1 * static_cast<double>(item_size(tensor->dtype())); }

// A few rows of src are dealt out to the elements of each row of dst.
void copy_dealt(const Tensor& src, const Tensor& dst, const ElementWalk& walk) {
  int64_t rows = walk.dealt_rows(), step = walk.dealt_step();
  ElementWalk rest = walk.without_dealt_rows();
  auto width = static_cast<size_t>(std::countr_zero(item_size(dst->dtype())));
  MD_ASSERT(width < std::size(loops().lanes->deal), "no loop deals words of that size");
  DealLoop deal = loops().lanes->deal[width];
  parallel_for(rest.count(), copy_cost(dst) * static_cast<double>(rows), [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end;) {
      int64_t n = std::min(end - at, rest.row_length() - at % rest.row_length());
      deal(src.data<char>() + rest.offset(1, at), step, rows, dst.data<char>() + rest.offset(0, at), n);
      at += n;
    }
  });
}

// Of rows of a few elements: an element of each, or more where they are next to each other, for many rows at once.
void copy_short_rows(const Tensor& src, const Tensor& dst, const ElementWalk& walk) {
  constexpr int64_t kTogether = 512, kMostBytes = 16;
  int64_t item = static_cast<int64_t>(item_size(dst->dtype())), length = walk.row_length();
  int64_t to_step = walk.last_step(0), from_step = walk.last_step(1);
  int64_t most = to_step == item && from_step == item ? kMostBytes / item : 1;
  ElementWalk rest = walk.without_dealt_rows();
  parallel_for(rest.count(), 0.7 * static_cast<double>(length), [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end;) {
      int64_t n = std::min({end - at, rest.row_length() - at % rest.row_length(), kTogether});
      const char* from = src.data<char>() + rest.offset(1, at);
      char* to = dst.data<char>() + rest.offset(0, at);
      for (int64_t i = 0, count; i < length; i += count) {
        count = std::min(most, static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(length - i))));
        copy_items(count * item, from + i * from_step, rest.last_step(1), to + i * to_step, rest.last_step(0), n);
      }
      at += n;
    }
  });
}

// Where the elements that are next to each other in src lie backwards in a dim that is not the one of dst's rows, both
// are walked through it the other way: rows across memory are copied by panels.
void walk_forwards(TensorSpec& src, int64_t& src_offset, TensorSpec& dst, int64_t& dst_offset) {
  for (int i = 0; i < dst.rank(); ++i) {
    if (src.strides[i].value() != -1 || std::abs(dst.strides[i].value()) == 1) continue;
    int64_t last = dst.sizes[i].value() - 1;
    src_offset += last * src.strides[i].value();
    dst_offset += last * dst.strides[i].value();
    src.strides[i] = -src.strides[i].value();
    dst.strides[i] = -dst.strides[i].value();
  }
}

void copy_walked(const Tensor& src, const Tensor& dst);

// Elements correspond by index in the common sizes.
void copy_same_sizes(const Tensor& src, const Tensor& dst) {
  bool is_backwards = false;
  for (int i = 0; i < src->rank(); ++i) is_backwards |= src->strides()[i] == -1 && std::abs(dst->strides()[i]) != 1;
  if (!is_backwards) return copy_walked(src, dst);
  TensorSpec from = src.spec(), to = dst.spec();
  int64_t src_offset = src->offset(), dst_offset = dst->offset();
  walk_forwards(from, src_offset, to, dst_offset);
  copy_walked(Tensor::view(src, from, src_offset), Tensor::view(dst, to, dst_offset));
}

void copy_walked(const Tensor& src, const Tensor& dst) {
  ConvertLoop convert = loops().convert[static_cast<int>(src->dtype())][static_cast<int>(dst->dtype())];
  ElementWalk walk({dst->sizes(), static_cast<size_t>(dst->rank())});
  walk.add(dst);
  walk.add(src);
  walk.finish(true, ElementWalk::Tiles::OfBytes);
  if (walk.is_dense(0) && walk.is_dense(1)) {
    size_t src_item = item_size(src->dtype()), dst_item = item_size(dst->dtype());
    parallel_for(walk.count(), copy_cost(dst), [&](int64_t begin, int64_t end) {
      convert(src.data<char>() + static_cast<size_t>(begin) * src_item,
              dst.data<char>() + static_cast<size_t>(begin) * dst_item, end - begin);
    });
    return;
  }
  if (src->dtype() == dst->dtype()) {
    if (walk.dealt_rows() > 0) return copy_dealt(src, dst, walk);
    if (walk.has_short_rows()) return copy_short_rows(src, dst, walk);
  }
  parallel_for(walk.count(), copy_cost(dst) + 0.5, [&](int64_t begin, int64_t end) {
    alignas(64) char from[ElementWalk::kTileBytes];
    alignas(64) char to[ElementWalk::kTileBytes];
    PanelReader reader(walk);
    bool moves = src->dtype() == dst->dtype() && reader.can_move(1, 0);
    for (int64_t at = begin; at < end;) {
      int64_t n = reader.tile_length(at, end);
      if (moves) {
        reader.move(1, src->data(), 0, dst->data(), at, n);
        at += n;
        continue;
      }
      void* place = walk.write_place(0, dst->data(), at, n, to);
      void* buffer = src->dtype() == dst->dtype() && !reader.keeps(1) ? place : from;
      const void* elements = reader.read(1, src->data(), at, n, buffer);
      if (elements != place) convert(elements, place, n);
      if (place == to) walk.write_back(0, dst->data(), at, n, to);
      at += n;
    }
  });
}

// dst is contiguous with other sizes: elements correspond in row-major order.
void copy_reshaped(const Tensor& src, const Tensor& dst) {
  TensorSpec spec = TensorSpec::contiguous(dst->dtype(), src->spec().sizes);
  copy_same_sizes(src, Tensor::view(dst, spec, dst->offset()));
}

}  // namespace

void copy_elements(const Tensor& src, const Tensor& dst) {
  if (dst->numel() == 0) return;
  if (same(src->spec().sizes, dst->spec().sizes)) return copy_same_sizes(src, dst);
  MD_ASSERT(dst->is_contiguous() && src->numel() == dst->numel(), "copy of ", src.spec().str(), " to ",
            dst.spec().str());
  copy_reshaped(src, dst);
}

Tensor part_of(const Tensor& tensor, int dim, int64_t start, int64_t length) {
  TensorSpec spec = tensor.spec();
  spec.sizes[dim] = length;
  return Tensor::view(tensor, spec, tensor->offset() + start * tensor->strides()[dim]);
}

Tensor as_contiguous(const Tensor& tensor, DType dtype) {
  if (tensor->dtype() == dtype && tensor->is_contiguous()) return tensor;
  Tensor copy = Tensor::empty(TensorSpec::contiguous(dtype, tensor->spec().sizes));
  copy_elements(tensor, copy);
  return copy;
}

}  // namespace md
