// Gathers and scatters by index tensors, and whole overwrites. Indices are checked before
// existing elements are overwritten.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <numeric>
#include <type_traits>

#include "tensor/dtype_dispatch.h"
#include "tensor/fill.h"
#include "tensor/kernels/index_writes.h"
#include "tensor/kernels/item_words.h"
#include "tensor/memory_overlap.h"
#include "tensor/numeric_cast.h"
#include "tensor/ops/call_args.h"
#include "tensor/ops/kernels.h"
#include "tensor/ops/shape_rules.h"
#include "tensor/parallel/threads.h"
#include "tensor/prefetch.h"
#include "tensor/shapes/index_layout.h"
#include "tensor/simd/copy.h"
#include "tensor/simd/element_walk.h"
#include "tensor/simd/loops.h"

namespace md {
namespace {

using Offsets = std::vector<int64_t>;

constexpr int64_t kStretch = 512;  // offsets that are known at a time

// In elements, in row-major order of the dims.
Offsets offsets_over(std::span<const int> dims, const Tensor& tensor) {
  Offsets offsets = {0};
  for (int dim : dims) {
    Offsets longer;
    longer.reserve(offsets.size() * static_cast<size_t>(tensor->sizes()[dim]));
    for (int64_t offset : offsets) {
      for (int64_t i = 0; i < tensor->sizes()[dim]; ++i) longer.push_back(offset + i * tensor->strides()[dim]);
    }
    offsets = std::move(longer);
  }
  return offsets;
}

Tensor copy_of(const Tensor& tensor) {
  Tensor copy = Tensor::empty(tensor.spec());
  copy_elements(tensor, copy);
  return copy;
}

int64_t wrapped_index(const OpCall& call, int64_t index, int64_t extent, int dim) {
  if (index < -extent || index >= extent) {
    raise_op(ErrorKind::Index, call.row.name, "index ", index, " is out of bounds for dimension ", dim, " with size ",
             extent);
  }
  return index < 0 ? index + extent : index;
}

// Offsets in `tensor` (self, or the result, which has its sizes) accessed by an index call, as three nested parts:
// element i of the result is at before + indexed + after.
struct IndexedPositions {
  Offsets before, indexed, after;
  bool after_is_run = false;  // after[i] == i
};

// The offsets selected by the index tensors, one range at a time.
class IndexedOffsets {
 public:
  IndexedOffsets(const OpCall& call, const IndexLayout& layout, const Tensor& tensor)
      : call_(call), count_(product(layout.broadcast.span()).value()) {
    for (size_t k = 0; k < layout.dims.size(); ++k) {
      Tensor index = broadcast_to(tensors_arg(call, 1)[k], layout.broadcast, DType::int64);
      int dim = layout.dims[k];
      parts_.push_back({std::move(index), dim, tensor->sizes()[dim], tensor->strides()[dim]});
    }
  }
  int64_t count() const { return count_; }

  // In elements of the tensor. Returns false if an index is out of range; the offset of such an
  // element is still within range.
  bool read(int64_t begin, int64_t n, int64_t* offsets) const {
    bool fits = true;
    for (size_t k = 0; k < parts_.size(); ++k) {
      const Part& part = parts_[k];
      const int64_t* values = part.index.data<const int64_t>() + begin;
      bool inside = true;
      for (int64_t i = 0; i < n; ++i) {
        int64_t place = values[i] < 0 ? values[i] + part.extent : values[i];
        bool is_valid = place >= 0 && place < part.extent;
        inside &= is_valid;
        int64_t offset = (is_valid ? place : 0) * part.stride;
        offsets[i] = k == 0 ? offset : offsets[i] + offset;
      }
      fits &= inside;
    }
    return fits;
  }

  // A single index tensor: the elements themselves.
  bool is_one() const { return parts_.size() == 1; }
  template <typename Word>
  bool take(int64_t begin, int64_t n, const Word* src, Word* dst) const {
    const Part& part = parts_[0];
    const int64_t* values = part.index.template data<const int64_t>() + begin;
    if constexpr (sizeof(Word) == sizeof(uint32_t)) {
      return loops().take_words(src, values, n, part.extent, part.extent, part.stride, dst);
    } else {
      return loops().take_long_words(src, values, n, part.extent, part.extent, part.stride, dst);
    }
  }

  // For an operation that writes `out`: false if an index is out of range. Indices in the same memory are copied first.
  bool prepare_writes(const Tensor& out) {
    are_plain_ = true;
    for (Part& part : parts_) {
      if (ranges_meet(part.index, out)) part.index = copy_of(part.index);
      are_plain_ = are_plain_ && loops().indices_fit(part.index.data<const int64_t>(), count_, part.extent);
    }
    int64_t offsets[kStretch];
    bool fits = true;
    for (int64_t at = 0, n; at < count_ && !are_plain_; at += n) {
      n = std::min(count_ - at, kStretch);
      fits &= read(at, n, offsets);
    }
    return fits;
  }
  // At most kStretch offsets, after prepare_writes().
  const int64_t* checked(int64_t begin, int64_t n, int64_t* offsets) const {
    if (!are_plain_) {
      read(begin, n, offsets);
      return offsets;
    }
    for (size_t k = 0; k < parts_.size(); ++k) {
      const Part& part = parts_[k];
      const int64_t* values = part.index.data<const int64_t>() + begin;
      if (is_one() && part.stride == 1) return values;
      for (int64_t i = 0; i < n; ++i) offsets[i] = values[i] * part.stride + (k == 0 ? 0 : offsets[i]);
    }
    return offsets;
  }

  // Reports the first invalid index.
  void raise_outside() const {
    for (const Part& part : parts_) {
      for (int64_t i = 0; i < count_; ++i)
        wrapped_index(call_, part.index.data<const int64_t>()[i], part.extent, part.dim);
    }
  }

 private:
  struct Part {
    Tensor index;
    int dim;
    int64_t extent, stride;
  };
  const OpCall& call_;
  int64_t count_;
  std::vector<Part> parts_;
  bool are_plain_ = false;  // known to be in range and not negative
};

void prefetch_run(const char* run, int64_t bytes) {
  constexpr int64_t kMost = 1024;
  prefetch(run, std::min(bytes, kMost));
}

constexpr int64_t kRunsAhead = 4;

// Calls visit(first, offsets, n) for ranges of the indices [begin, end).
template <typename Visit>
bool for_each_stretch(const IndexedOffsets& indexed, int64_t begin, int64_t end, const Visit& visit) {
  int64_t offsets[kStretch];
  bool fits = true;
  for (int64_t at = begin, n; at < end; at += n) {
    n = std::min(end - at, kStretch);
    fits &= indexed.read(at, n, offsets);
    visit(at, offsets, n);
  }
  return fits;
}

// The dims around the indexed ones.
IndexedPositions around_indexed(const IndexLayout& layout, const Tensor& tensor) {
  IndexedPositions positions;
  std::vector<int> before, after;
  for (int dim = 0; dim < tensor->rank(); ++dim) {
    if (std::binary_search(layout.dims.begin(), layout.dims.end(), dim)) continue;
    (dim < layout.broadcast_at ? before : after).push_back(dim);
  }
  positions.before = offsets_over(before, tensor);
  positions.after = offsets_over(after, tensor);
  positions.after_is_run = true;
  for (size_t i = 0; i < positions.after.size() && positions.after_is_run; ++i) {
    positions.after_is_run = positions.after[i] == static_cast<int64_t>(i);
  }
  return positions;
}

IndexedPositions positions_of(const OpCall& call, const IndexLayout& layout, const Tensor& tensor) {
  IndexedPositions positions = around_indexed(layout, tensor);
  IndexedOffsets indexed(call, layout, tensor);
  positions.indexed.resize(static_cast<size_t>(indexed.count()));
  std::atomic<bool> fits = true;
  parallel_for(indexed.count(), 0.7, [&](int64_t begin, int64_t end) {
    if (!indexed.read(begin, end - begin, positions.indexed.data() + begin)) fits = false;
  });
  if (!fits) indexed.raise_outside();
  return positions;
}

// Calls visit(offset in elements, offset in the result, length of a run).
template <typename Visit>
void for_each_run(const IndexedPositions& positions, Visit visit) {
  int64_t at = 0;
  int64_t width = static_cast<int64_t>(positions.after.size());
  if (width == 0) return;
  for (int64_t before : positions.before) {
    for (int64_t indexed : positions.indexed) {
      if (positions.after_is_run) {
        visit(before + indexed, at, width);
      } else {
        for (int64_t i = 0; i < width; ++i)
          visit(before + indexed + positions.after[static_cast<size_t>(i)], at + i, 1);
      }
      at += width;
    }
  }
}

// dst[before, indexed] = values in order: single elements. value_step: 0 for a number.
template <typename Word>
void put_elements(const IndexedOffsets& indexed, const Offsets& before, const Word* values, int64_t value_step,
                  Word* dst) {
  int64_t buffer[kStretch];
  for (int64_t first : before) {
    Word* to = dst + first;
    for (int64_t at = 0, n; at < indexed.count(); at += n) {
      n = std::min(indexed.count() - at, kStretch);
      const int64_t* offsets = indexed.checked(at, n, buffer);
      if (value_step == 0) {
        Word value = *values;
        for (int64_t i = 0; i < n; ++i) to[offsets[i]] = value;
      } else {
        for (int64_t i = 0; i < n; ++i) to[offsets[i]] = values[i];
      }
      values += n * value_step;
    }
  }
}

void put_elements(size_t item, const IndexedOffsets& indexed, const Offsets& before, const char* values,
                  int64_t value_step, char* dst) {
  with_word(item, [&]<typename Word>(Word) {
    put_elements(indexed, before, reinterpret_cast<const Word*>(values), value_step, reinterpret_cast<Word*>(dst));
  });
}

// Calls visit(offset in elements, offset in the values, length of a run), in the order of the values.
template <typename Visit>
void for_each_written(const IndexedPositions& around, const IndexedOffsets& indexed, const Visit& visit) {
  int64_t buffer[kStretch], place = 0;
  int64_t width = static_cast<int64_t>(around.after.size());
  for (int64_t before : around.before) {
    for (int64_t at = 0, n; at < indexed.count(); at += n) {
      n = std::min(indexed.count() - at, kStretch);
      const int64_t* offsets = indexed.checked(at, n, buffer);
      for (int64_t i = 0; i < n; ++i, place += width) {
        if (around.after_is_run) {
          visit(before + offsets[i], place, width);
        } else {
          for (int64_t k = 0; k < width; ++k) {
            visit(before + offsets[i] + around.after[static_cast<size_t>(k)], place + k, 1);
          }
        }
      }
    }
  }
}

// dst[before, indexed] = src: single elements, or runs of bytes. Returns false if an index is out of range.
template <typename Word>
bool read_elements(const IndexedOffsets& indexed, const Offsets& before, const Word* src, Word* dst) {
  std::atomic<bool> fits = true;
  for (size_t b = 0; b < before.size(); ++b) {
    const Word* from = src + before[b];
    Word* to = dst + static_cast<int64_t>(b) * indexed.count();
    parallel_for(indexed.count(), 1.0, [&](int64_t begin, int64_t end) {
      auto by_offsets = [&](int64_t at, const int64_t* offsets, int64_t n) {
        for (int64_t i = 0; i < n; ++i) to[at + i] = from[offsets[i]];
      };
      bool all = true;
      if constexpr (sizeof(Word) == 4 || sizeof(Word) == 8) {
        all = indexed.is_one() ? indexed.take(begin, end - begin, from, to + begin)
                               : for_each_stretch(indexed, begin, end, by_offsets);
      } else {
        all = for_each_stretch(indexed, begin, end, by_offsets);
      }
      if (!all) fits = false;
    });
  }
  return fits;
}

bool read_items(size_t item, const IndexedOffsets& indexed, const Offsets& before, const char* src, char* dst) {
  return with_word(item, [&]<typename Word>(Word) {
    return read_elements(indexed, before, reinterpret_cast<const Word*>(src), reinterpret_cast<Word*>(dst));
  });
}

bool read_runs(const IndexedOffsets& indexed, const Offsets& before, size_t run, size_t item, const char* src,
               char* dst) {
  std::atomic<bool> fits = true;
  for (size_t b = 0; b < before.size(); ++b) {
    const char* from = src + before[b] * static_cast<int64_t>(item);
    char* to = dst + static_cast<int64_t>(b) * indexed.count() * static_cast<int64_t>(run);
    parallel_for(indexed.count(), 5 + 0.05 * static_cast<double>(run), [&](int64_t begin, int64_t end) {
      bool all = for_each_stretch(indexed, begin, end, [&](int64_t at, const int64_t* offsets, int64_t n) {
        for (int64_t i = 0; i < n; ++i) {
          if (i + kRunsAhead < n)
            prefetch_run(from + offsets[i + kRunsAhead] * static_cast<int64_t>(item), static_cast<int64_t>(run));
          std::memcpy(to + static_cast<size_t>(at + i) * run, from + offsets[i] * static_cast<int64_t>(item), run);
        }
      });
      if (!all) fits = false;
    });
  }
  return fits;
}

void fill_with(const Tensor& out, const OneElement& element) {
  if (out->numel() == 0) return;
  auto item = static_cast<int64_t>(item_size(out->dtype()));
  if (is_dense(out.spec())) {
    parallel_for(out->numel(), 0.1 * static_cast<double>(item), [&](int64_t begin, int64_t end) {
      copy_items(item, element.bytes, 0, out.data<char>() + begin * item, item, end - begin);
    });
    return;
  }
  TensorSpec spec = out.spec();
  for (Dim& stride : spec.strides) stride = 0;
  Tensor one = Tensor::empty(out->dtype(), {});
  std::memcpy(one->data(), element.bytes, item);
  copy_elements(Tensor::view(one, spec, 0), out);
}

// Where index_fill and similar ops write: positions along a dim of out, negative ones wrapped.
struct Places {
  int dim;
  std::span<const int64_t> positions;
  Tensor index = {};     // owns them if none is negative,
  Offsets wrapped = {};  // or this
};
Places places_of(const OpCall& call, const Tensor& out) {
  int dim = wrap_dim(call, int_arg(call, 1), out->rank());
  int64_t extent = out->rank() == 0 ? 1 : out->sizes()[dim];
  Tensor index = as_contiguous(tensor_arg(call, 2), DType::int64);
  std::span<const int64_t> positions(index.data<const int64_t>(), static_cast<size_t>(index->numel()));
  std::atomic<bool> fits = true;
  parallel_for(index->numel(), 0.15, [&](int64_t begin, int64_t end) {
    if (!loops().indices_fit(positions.data() + begin, end - begin, extent)) fits = false;
  });
  // The indices must not change while out is being written.
  if (fits && !ranges_meet(index, out)) return {dim, positions, std::move(index)};
  Offsets wrapped(positions.begin(), positions.end());
  for (int64_t& value : wrapped) value = wrapped_index(call, value, extent, dim);
  Places places = {dim, {}, {}, std::move(wrapped)};
  places.positions = places.wrapped;
  return places;
}

// out at one position of dim.
Tensor at_position(const Tensor& out, int dim, int64_t position) {
  if (out->rank() == 0) return out;
  TensorSpec spec = out.spec();
  spec.sizes.erase(dim);
  spec.strides.erase(dim);
  return Tensor::view(out, spec, out->offset() + position * out->strides()[dim]);
}

// Elements of a contiguous out at one position, next to each other.
int64_t run_length(const Tensor& out, int dim) {
  int64_t length = 1;
  for (int i = dim + 1; i < out->rank(); ++i) length *= out->sizes()[i];
  return length;
}

// Whether the parts of out at a position are many runs of few elements each.
bool has_short_runs(const Tensor& out, int dim) {
  constexpr int64_t kMostElements = 16;
  if (out->rank() == 0 || !out->is_contiguous() || out->numel() == 0) return false;
  int64_t length = run_length(out, dim);
  return length <= kMostElements && out->numel() / (out->sizes()[dim] * length) > 1;
}

// Where out has such runs: calls write(place in out, number of the run in a contiguous source, length) for each one.
template <typename Write>
void for_each_short_run(const Tensor& out, const Places& places, const Write& write) {
  int64_t extent = out->sizes()[places.dim], length = run_length(out, places.dim);
  int64_t count = static_cast<int64_t>(places.positions.size());
  int64_t bytes = length * static_cast<int64_t>(item_size(out->dtype()));
  parallel_for(out->numel() / (extent * length), 2.0 * static_cast<double>(count), [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; ++at) {
      char* first = out.data<char>() + at * extent * bytes;
      for (int64_t i = 0; i < count; ++i)
        write(first + places.positions[static_cast<size_t>(i)] * bytes, at * count + i, length);
    }
  });
}

void add_short_runs(const Tensor& out, const Places& places, const Tensor& source) {
  auto add = [&]<typename T>() {
    const T* added = source.data<const T>();
    for_each_short_run(out, places, [added](char* place, int64_t run, int64_t n) {
      for (int64_t i = 0; i < n; ++i) add_to(reinterpret_cast<T*>(place)[i], added[run * n + i]);
    });
  };
  is_complex(out->dtype()) ? with_any_type(out->dtype(), add) : with_wrapping_type(out->dtype(), add);
}

// The dims of a tensor as they follow each other in memory, the furthest apart first.
std::vector<int> order_in_memory(const Tensor& tensor) {
  std::vector<int> order(static_cast<size_t>(tensor->rank()));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](int a, int b) { return tensor->strides()[a] > tensor->strides()[b]; });
  return order;
}

Tensor permuted(const Tensor& tensor, std::span<const int> order) {
  TensorSpec spec;
  spec.dtype = tensor->dtype();
  for (int dim : order) {
    spec.sizes.push_back(tensor->sizes()[dim]);
    spec.strides.push_back(tensor->strides()[dim]);
  }
  return Tensor::view(tensor, spec, tensor->offset());
}

// Where the parts of out at a position are many short runs of its memory: calls write(out, places, source), all with
// the dims in the order of out's memory and contiguous; source is null for a call without. False where they are not.
template <typename Write>
bool are_short_runs_written(const Tensor& out, Places& places, const Tensor* source, const Write& write) {
  std::vector<int> order = order_in_memory(out);
  Tensor to = permuted(out, order);
  auto dim = static_cast<int>(std::ranges::find(order, places.dim) - order.begin());
  if (!has_short_runs(to, dim)) return false;
  places.dim = dim;
  write(to, places, source == nullptr ? Tensor() : as_contiguous(permuted(*source, order), out->dtype()));
  return true;
}

// Calls write(part of out, part of the source argument) for each position.
template <typename Write>
void for_each_place(const OpCall& call, const Tensor& out, const Places& places, const Write& write) {
  for (size_t i = 0; i < places.positions.size(); ++i) {
    write(at_position(out, places.dim, places.positions[i]),
          at_position(tensor_arg(call, 3), places.dim, static_cast<int64_t>(i)));
  }
}

struct RowAdder {
  PointwiseLoop add;
  char* out;
  const char* source;
  int64_t length, bytes;  // of a row

  // Adds the source's rows whose position is in [begin, end).
  void add_to(int64_t begin, int64_t end, std::span<const int64_t> positions) const {
    std::array<size_t, kStretch> mine;
    for (size_t at = 0; at < positions.size(); at += mine.size()) {
      size_t count = 0, stop = std::min(at + mine.size(), positions.size());
      for (size_t i = at; i < stop; ++i) {
        mine[count] = i;
        count += positions[i] >= begin && positions[i] < end ? 1 : 0;
      }
      for (size_t k = 0; k < count; ++k) {
        if (size_t next = k + kRunsAhead; next < count) {
          prefetch_run(to(positions, mine[next]), bytes);
          prefetch_run(from(mine[next]), bytes);
        }
        const void* operands[] = {to(positions, mine[k]), from(mine[k])};
        add(operands, to(positions, mine[k]), length, nullptr);
      }
    }
  }
  char* to(std::span<const int64_t> positions, size_t i) const { return out + positions[i] * bytes; }
  const char* from(size_t i) const { return source + static_cast<int64_t>(i) * bytes; }
};

// Adds contiguous rows directly.
bool add_plain_rows(const OpCall& call, const Tensor& out) {
  const Tensor& source = tensor_arg(call, 3);
  const auto* alpha = std::get_if<Scalar>(&call.args[4]);
  bool is_plain = out->rank() > 0 && wrap_dim(call, int_arg(call, 1), out->rank()) == 0 && out->is_contiguous() &&
                  source->is_contiguous() && source->rank() == out->rank() && source->dtype() == out->dtype() &&
                  alpha != nullptr && alpha->as_double() == 1 && out->dtype() != DType::bool_;
  if (!is_plain) return false;
  Places places = places_of(call, out);
  start_from_self(call, out);
  int64_t length = out->sizes()[0] == 0 ? 0 : out->numel() / out->sizes()[0];
  int64_t bytes = length * static_cast<int64_t>(item_size(out->dtype()));
  double ns = static_cast<double>(places.positions.size()) * (10 + 0.1 * static_cast<double>(bytes));
  // Each thread adds to its own rows, in the order of the source, so that the sums do not
  // depend on the number of threads.
  int64_t rows = out->sizes()[0], parts = std::min<int64_t>(threads_for(ns), rows);
  PointwiseLoop add = pointwise_loop(static_cast<int>(Pointwise::add), out->dtype());
  parallel_for(parts, ns / static_cast<double>(std::max<int64_t>(parts, 1)), [&](int64_t begin, int64_t end) {
    RowAdder adder = {add, out.data<char>(), source.data<const char>(), length, bytes};
    adder.add_to(rows * begin / parts, rows * end / parts, places.positions);
  });
  return true;
}

}  // namespace

void copy_into_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Tensor& out = outs[0];
  if (out->numel() == 0) return;
  Tensor src;
  if (arg_is<Tensor>(call, 1)) {
    src = tensor_arg(call, 1);
  } else {
    src = Tensor::empty(out->dtype(), {});
    store_scalar(out->dtype(), scalar_arg(call, 1), src->data());
  }
  TensorSpec spec = out.spec();
  spec.dtype = src->dtype();
  int shift = out->rank() - src->rank();
  for (int i = 0; i < out->rank(); ++i) {
    bool repeated = i < shift || src->sizes()[i - shift] == 1;
    spec.strides[i] = repeated ? Dim(0) : src.spec().strides[i - shift];
  }
  copy_elements(Tensor::view(src, spec, src->offset()), out);
}

void fill_kernel(const OpCall& call, std::span<Tensor> outs) {
  if (const Scalar* number = std::get_if<Scalar>(&call.args[1])) {
    require_fill_fits(call, outs[0], *number);
    return fill_with(outs[0], OneElement(call, *number, outs[0]->dtype(), false));
  }
  fill_with(outs[0], OneElement(call, call.args[1], outs[0]->dtype()));
}

void zero_kernel(const OpCall& call, std::span<Tensor> outs) {
  fill_with(outs[0], OneElement(call, Scalar(int64_t{0}), outs[0]->dtype()));
}

void index_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Tensor& self = tensor_arg(call, 0);
  IndexLayout layout = index_layout(call);
  IndexedPositions around = around_indexed(layout, self);
  size_t item = item_size(self->dtype());
  const char* src = self.data<const char>();
  char* dst = outs[0].data<char>();
  if (outs[0]->numel() > 0 && self->numel() > 0 && around.after_is_run) {
    IndexedOffsets indexed(call, layout, self);
    bool fits = around.after.size() > 1 ? read_runs(indexed, around.before, around.after.size() * item, item, src, dst)
                                        : read_items(item, indexed, around.before, src, dst);
    if (!fits) indexed.raise_outside();
    return;
  }
  IndexedPositions positions = positions_of(call, layout, self);
  for_each_run(positions, [&](int64_t offset, int64_t at, int64_t n) {
    copy_run(item, src + offset * static_cast<int64_t>(item), dst + at * static_cast<int64_t>(item), n);
  });
}

void index_put_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Tensor& out = outs[0];
  IndexLayout layout = index_layout(call);
  IndexedPositions around = around_indexed(layout, out);
  IndexedOffsets indexed(call, layout, out);
  if (!indexed.prepare_writes(out)) indexed.raise_outside();
  size_t item = item_size(out->dtype());
  Tensor values = arg_is<Tensor>(call, 3) ? broadcast_to(tensor_arg(call, 3), layout.sizes, out->dtype()) : Tensor();
  start_from_self(call, out);
  OneElement number(call, values.defined() ? Arg(Scalar(int64_t{0})) : call.args[3], out->dtype());
  const char* first = values.defined() ? values.data<const char>() : number.bytes;
  char* dst = out.data<char>();
  bool accumulate = bool_arg(call, 4);
  if (out->numel() == 0) return;
  if (around.after.size() == 1 && !accumulate) {
    return put_elements(item, indexed, around.before, first, values.defined() ? 1 : 0, dst);
  }
  AddElement add = add_element(out->dtype());
  for_each_written(around, indexed, [&](int64_t offset, int64_t at, int64_t n) {
    int64_t bytes = static_cast<int64_t>(item);
    char* to = dst + offset * bytes;
    const char* from = values.defined() ? first + at * bytes : first;
    if (accumulate) {
      for (int64_t i = 0; i < n; ++i) add(to + i * bytes, values.defined() ? from + i * bytes : from);
    } else if (values.defined()) {
      copy_run(item, from, to, n);
    } else {
      copy_items(bytes, from, 0, to, bytes, n);
    }
  });
}

void scatter_view_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Tensor& out = outs[0];
  start_from_self(call, out);
  TensorSpec spec;
  spec.dtype = out->dtype();
  spec.sizes = dims_arg(call, 2);
  spec.strides = dims_arg(call, 3);
  copy_elements(tensor_arg(call, 1), Tensor::view(out, spec, out->offset() + int_arg(call, 4)));
}

void index_fill_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Tensor& out = outs[0];
  Places places = places_of(call, out);
  OneElement element(call, call.args[3], out->dtype());
  start_from_self(call, out);
  auto fill = [&](const Tensor& to, const Places& where, const Tensor&) {
    with_word(item_size(to->dtype()), [&]<typename Word>(Word value) {
      std::memcpy(&value, element.bytes, sizeof value);
      for_each_short_run(to, where, [value](char* place, int64_t, int64_t n) {
        for (int64_t i = 0; i < n; ++i) reinterpret_cast<Word*>(place)[i] = value;
      });
    });
  };
  if (are_short_runs_written(out, places, nullptr, fill)) return;
  for (int64_t position : places.positions) fill_with(at_position(out, places.dim, position), element);
}

void index_copy_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Tensor& out = outs[0];
  Places places = places_of(call, out);
  start_from_self(call, out);
  auto copy = [](const Tensor& to, const Places& where, const Tensor& source) {
    with_word(item_size(to->dtype()), [&]<typename Word>(Word) {
      const Word* words = source.data<const Word>();
      for_each_short_run(to, where, [words](char* place, int64_t run, int64_t n) {
        for (int64_t i = 0; i < n; ++i) reinterpret_cast<Word*>(place)[i] = words[run * n + i];
      });
    });
  };
  if (are_short_runs_written(out, places, &tensor_arg(call, 3), copy)) return;
  for_each_place(call, out, places, [](const Tensor& part, const Tensor& from) { copy_elements(from, part); });
}

void index_add_kernel(const OpCall& call, std::span<Tensor> outs) {
  require_fits(call, outs[0]->dtype(), scalar_arg(call, 4));
  const Tensor& out = outs[0];
  if (add_plain_rows(call, out)) return;
  Places places = places_of(call, out);
  start_from_self(call, out);
  const auto* alpha = std::get_if<Scalar>(&call.args[4]);
  bool is_plain = alpha != nullptr && alpha->as_double() == 1 && tensor_arg(call, 3)->dtype() == out->dtype();
  if (is_plain && are_short_runs_written(out, places, &tensor_arg(call, 3), add_short_runs)) return;
  static const OpRow* const add = find_op("add");
  for_each_place(call, out, places, [&](Tensor part, const Tensor& source) {
    Arg args[] = {part, source, call.args[4]};
    pointwise_kernel({*add, args}, {&part, 1});
  });
}

}  // namespace md
