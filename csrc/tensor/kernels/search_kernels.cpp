// Searches for elements: argmax, argmin, max and min along a dim, and positions in sorted sequences.
#include <algorithm>
#include <cstring>

#include "tensor/dtype_dispatch.h"
#include "tensor/kernels/column_tiles.h"
#include "tensor/kernels/reduction.h"
#include "tensor/kernels/turned_rows.h"
#include "tensor/numeric_cast.h"
#include "tensor/ops/call_args.h"
#include "tensor/ops/kernels.h"
#include "tensor/ops/shape_rules.h"
#include "tensor/parallel/threads.h"
#include "tensor/simd/copy.h"
#include "tensor/simd/loops.h"
#include "tensor/simd/order_table.h"

namespace md {
namespace {

// The first of the best elements; the first NaN wins.
template <typename T>
int64_t find_best(const ReductionSpace& space, const char* data, bool largest) {
  alignas(64) char gathered[ElementWalk::kTileBytes];
  const ElementWalk& walk = space.inner();
  decltype(comparable(T{})) best{};
  int64_t best_index = -1;
  for (int64_t at = 0; at < walk.count();) {
    int64_t n = walk.tile_length(at, walk.count());
    const T* tile = static_cast<const T*>(walk.read(0, data, at, n, gathered));
    for (int64_t i = 0; i < n; ++i) {
      auto value = comparable(tile[i]);
      if (best_index < 0 || (largest ? value > best : value < best)) {
        best = value;
        best_index = at + i;
      } else if (value != value) {
        return at + i;
      }
      if (best != best) return best_index;
    }
    at += n;
  }
  return best_index;
}

// A contiguous run: the best value of each block with vectorised code, then its index in the best block.
template <typename T>
int64_t find_in_run(const ReductionSpace& space, const char* data, bool largest) {
  constexpr int64_t kBlock = 4096;
  const LoopTable& table = loops();
  int dtype = static_cast<int>(space.input()->dtype());
  if (!space.inner().is_dense(0) || table.find[dtype] == nullptr) return find_best<T>(space, data, largest);
  const T* values = reinterpret_cast<const T*>(data);
  T best{};
  int64_t best_block = -1;
  for (int64_t at = 0; at < space.length(); at += kBlock) {
    T value{};
    table.extreme[dtype][largest](values + at, std::min(kBlock, space.length() - at), &value);
    auto compared = comparable(value);
    if (best_block >= 0 && !(largest ? compared > comparable(best) : compared < comparable(best)) &&
        !(compared != compared)) {
      continue;
    }
    best = value;
    best_block = at;
    if (compared != compared) break;
  }
  return best_block + table.find[dtype](values + best_block, std::min(kBlock, space.length() - best_block), &best);
}

using Finder = int64_t (*)(const ReductionSpace&, const char*, bool);

Finder finder(DType dtype) {
  return with_type(dtype, []<typename T>() -> Finder { return find_in_run<T>; });
}

// Results that are next to each other, row by row of their elements: the best of each column, then the first row that
// has it.
class ColumnSearch {
 public:
  ColumnSearch(const ReductionSpace& space, bool largest)
      : space_(space),
        largest_(largest),
        item_(static_cast<int64_t>(item_size(space.input()->dtype()))),
        better_(pointwise_loop(static_cast<int>(largest ? Pointwise::maximum : Pointwise::minimum), dtype())),
        equal_(pointwise_loop(static_cast<int>(Pointwise::eq), dtype())) {}

  bool is_possible() const { return space_.columns() > 0 && better_ != nullptr && equal_ != nullptr; }

  // The rows of the best elements of `columns` results, the first of whose elements is at data.
  void find(const char* data, int64_t columns, int64_t* rows) {
    std::memcpy(best_, data, static_cast<size_t>(columns * item_));
    for (int64_t i = 1; i < space_.length(); ++i) {
      const void* operands[] = {best_, data + space_.inner().offset(0, i)};
      better_(operands, best_, columns, nullptr);
    }
    if (space_.length() <= kFewRows) return find_in_few(data, columns, rows);
    std::fill_n(rows, columns, int64_t{-1});
    int64_t left = columns;
    for (int64_t i = 0; i < space_.length() && left > 0; ++i) left -= note_equal(data, i, columns, rows);
    // NaN is not equal to itself.
    if (left > 0) find_others(data, columns, rows);
  }

 private:
  static constexpr int64_t kFewRows = 16;
  DType dtype() const { return space_.input()->dtype(); }

  // From the last row to the first, as bytes: no branch for each element.
  void find_in_few(const char* data, int64_t columns, int64_t* rows) {
    constexpr uint8_t kNone = 0xff;
    alignas(64) uint8_t found[kTileColumns];
    std::fill_n(found, columns, kNone);
    for (int64_t row = space_.length() - 1; row >= 0; --row) {
      const void* operands[] = {data + space_.inner().offset(0, row), best_};
      equal_(operands, are_equal_, columns, nullptr);
      for (int64_t i = 0; i < columns; ++i) {
        auto mask = static_cast<uint8_t>(-static_cast<int>(are_equal_[i]));
        found[i] = static_cast<uint8_t>((found[i] & ~mask) | (static_cast<uint8_t>(row) & mask));
      }
    }
    for (int64_t i = 0; i < columns; ++i) rows[i] = found[i];
    if (!is_floating(dtype()) || std::memchr(found, kNone, static_cast<size_t>(columns)) == nullptr) return;
    for (int64_t i = 0; i < columns; ++i) rows[i] = found[i] == kNone ? -1 : found[i];
    find_others(data, columns, rows);
  }

  void find_others(const char* data, int64_t columns, int64_t* rows) const {
    Finder find_one = finder(dtype());
    for (int64_t i = 0; i < columns; ++i)
      if (rows[i] < 0) rows[i] = find_one(space_, data + i * item_, largest_);
  }

  int64_t note_equal(const char* data, int64_t row, int64_t columns, int64_t* rows) {
    const void* operands[] = {data + space_.inner().offset(0, row), best_};
    equal_(operands, are_equal_, columns, nullptr);
    constexpr int64_t kWord = 8;
    int64_t noted = 0;
    for (int64_t at = 0; at < columns; at += kWord) {
      uint64_t any = 0;
      std::memcpy(&any, are_equal_ + at, static_cast<size_t>(std::min(kWord, columns - at)));
      if (any == 0) continue;
      for (int64_t i = at; i < std::min(at + kWord, columns); ++i) {
        bool is_first = are_equal_[i] && rows[i] < 0;
        rows[i] = is_first ? row : rows[i];
        noted += is_first;
      }
    }
    return noted;
  }

  const ReductionSpace& space_;
  bool largest_;
  int64_t item_;
  PointwiseLoop better_, equal_;
  alignas(64) char best_[kTileColumns * 8];
  alignas(64) bool are_equal_[kTileColumns];
};

// The elements of adjacent results that are in these rows.
template <typename Word>
void take_rows(const ReductionSpace& space, const char* data, const int64_t* rows, int64_t columns, void* values) {
  for (int64_t i = 0; i < columns; ++i) {
    const char* place = data + space.inner().offset(0, rows[i]) + i * static_cast<int64_t>(sizeof(Word));
    static_cast<Word*>(values)[i] = *reinterpret_cast<const Word*>(place);
  }
}

auto row_taker(size_t item) {
  return item == 8   ? take_rows<uint64_t>
         : item == 4 ? take_rows<uint32_t>
         : item == 2 ? take_rows<uint16_t>
                     : take_rows<uint8_t>;
}

// Indices of the best elements into `indices`, and these elements into values unless it is null.
void search_columns(const ReductionSpace& space, bool largest, const Tensor* values, const Tensor& indices) {
  auto item = static_cast<int64_t>(item_size(space.input()->dtype()));
  auto* take = row_taker(static_cast<size_t>(item));
  for_column_tiles(space.results() / space.columns(), space.columns(), 0.5 * static_cast<double>(space.length()), [&] {
    return [&, item, take, columns = ColumnSearch(space, largest)](const ColumnTile& tile) mutable {
      int64_t result = tile.slice * space.columns() + tile.first;
      int64_t* rows = indices.data<int64_t>() + result;
      const char* data = space.result_data(result);
      columns.find(data, tile.count, rows);
      if (values != nullptr) take(space, data, rows, tile.count, values->data<char>() + result * item);
    };
  });
}

bool search_short_rows(const Tensor& self, const std::vector<bool>& reduced, bool largest, const Tensor* values,
                       const Tensor& indices) {
  int64_t length = short_row_length(self, reduced);
  if (length == 0 || pointwise_loop(static_cast<int>(Pointwise::maximum), self->dtype()) == nullptr) return false;
  for_turned_rows(self, length, [&](const Tensor& columns, int64_t first) {
    ReductionSpace space(columns, columns_reduced());
    int64_t count = space.results();
    Tensor found = values == nullptr ? Tensor() : stretch_of(*values, first, count);
    search_columns(space, largest, values == nullptr ? nullptr : &found, stretch_of(indices, first, count));
  });
  return true;
}

// Bools as the numbers that are their bytes: for these there are loops.
Tensor with_ordered_dtype(const Tensor& tensor) {
  if (tensor->dtype() != DType::bool_) return tensor;
  TensorSpec spec = tensor.spec();
  spec.dtype = DType::uint8;
  return Tensor::view(tensor, spec, tensor->offset());
}

// values may be null: indices only.
void search(const OpCall& call, bool largest, const Tensor* values, const Tensor& indices) {
  Tensor self = with_ordered_dtype(tensor_arg(call, 0));
  std::vector<bool> reduced = reduced_dims(call, call.args[1], self->rank());
  if (search_short_rows(self, reduced, largest, values, indices)) return;
  // Of several dims the first of equal elements is the one in row-major order.
  bool is_one = std::ranges::count(reduced, true) == 1;
  ReductionSpace space(self, reduced, is_one ? ReductionSpace::Order::OfMemory : ReductionSpace::Order::RowMajor);
  if (indices->numel() > 0 && space.length() > 0 && ColumnSearch(space, largest).is_possible())
    return search_columns(space, largest, values, indices);
  Finder find = finder(self->dtype());
  size_t item = item_size(self->dtype());
  parallel_for(indices->numel(), static_cast<double>(space.length()), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const char* data = space.result_data(i);
      int64_t index = find(space, data, largest);
      indices.data<int64_t>()[i] = index;
      if (values == nullptr) continue;
      std::memcpy(values->data<char>() + static_cast<size_t>(i) * item, data + space.inner().offset(0, index), item);
    }
  });
}

// Each row of values among its boundaries.
void search_lines(const Tensor& boundaries, const Tensor& values, bool right, const Tensor& out) {
  constexpr int64_t kPiece = 1024;
  int64_t extent = boundaries->sizes()[boundaries->rank() - 1];
  int64_t line = boundaries->rank() == 1 ? values->numel() : values->sizes()[values->rank() - 1];
  int64_t pieces = (line + kPiece - 1) / kPiece, lines = values->numel() / line;
  PlaceLoop places = loops().order->places[static_cast<int>(boundaries->dtype())];
  auto item = static_cast<int64_t>(item_size(boundaries->dtype()));
  double ns = 5.0 * static_cast<double>(std::min(line, kPiece));
  parallel_for(lines * pieces, ns, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t start = i % pieces * kPiece, first = i / pieces * line + start;
      const char* sorted = boundaries.data<char>() + (boundaries->rank() == 1 ? 0 : i / pieces * extent * item);
      places(sorted, extent, values.data<char>() + first * item, std::min(kPiece, line - start), right,
             out.data<int64_t>() + first);
    }
  });
}

}  // namespace

void search_sorted_kernel(const OpCall& call, std::span<Tensor> outs) {
  if (outs[0]->numel() == 0) return;
  Tensor boundaries = as_contiguous(tensor_arg(call, 0), tensor_arg(call, 0)->dtype());
  Tensor values = as_contiguous(tensor_arg(call, 1), boundaries->dtype());
  bool right = bool_arg(call, 2);
  search_lines(boundaries, values, right, outs[0]);
}

void argmax_kernel(const OpCall& call, std::span<Tensor> outs) { search(call, true, nullptr, outs[0]); }
void argmin_kernel(const OpCall& call, std::span<Tensor> outs) { search(call, false, nullptr, outs[0]); }
void max_dim_kernel(const OpCall& call, std::span<Tensor> outs) { search(call, true, &outs[0], outs[1]); }
void min_dim_kernel(const OpCall& call, std::span<Tensor> outs) { search(call, false, &outs[0], outs[1]); }

}  // namespace md
