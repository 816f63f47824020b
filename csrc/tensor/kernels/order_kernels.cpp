// Kernels of sorts and of selections: elements by their rank along a dim.
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "tensor/dtype_dispatch.h"
#include "tensor/kernels/row_order.h"
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

constexpr int64_t kShortRow = 128;  // sorted at once with others
constexpr double kSortNs = 10;      // per element, without threads
constexpr double kSelectNs = 1;

// The tensor with `dim` moved to the end.
Tensor dim_last(const Tensor& tensor, int dim) {
  if (dim + 1 >= tensor->rank()) return tensor;
  TensorSpec spec = tensor.spec();
  Dim size = spec.sizes[dim], stride = spec.strides[dim];
  spec.sizes.erase(dim);
  spec.strides.erase(dim);
  spec.sizes.push_back(size);
  spec.strides.push_back(stride);
  return Tensor::view(tensor, spec, tensor->offset());
}

int64_t extent_of(const Tensor& tensor, int dim) { return tensor->rank() == 0 ? 1 : tensor->sizes()[dim]; }

// A result whose dim is moved to the end: its own memory where that is contiguous, else a copy that store() writes
// back.
class RowsOut {
 public:
  RowsOut(const Tensor& out, int dim) : rows_(dim_last(out, dim)), memory_(rows_) {
    if (rows_->is_contiguous()) return;
    memory_ = Tensor::empty(TensorSpec::contiguous(out->dtype(), rows_.spec().sizes));
    is_copy_ = true;
  }
  template <typename T>
  T* data() const {
    return memory_.data<T>();
  }
  void store() const {
    if (is_copy_) copy_elements(memory_, rows_);
  }

 private:
  Tensor rows_, memory_;
  bool is_copy_ = false;
};

// Rows of n elements, one after another.
template <typename T>
struct Rows {
  const T* data;
  int64_t count, length;

  const T* row(int64_t i) const { return data + i * length; }
};

// Calls body(begin, end, threads) for ranges of rows: several at once, or each row by several threads.
template <typename Body>
void for_rows(int64_t count, int64_t length, double ns_per_element, const Body& body) {
  double row_ns = ns_per_element * static_cast<double>(length);
  int threads = length < kLongRow ? 1 : threads_for(row_ns);
  if (count < threads) return body(int64_t{0}, count, threads);
  parallel_for(count, row_ns, [&](int64_t begin, int64_t end) { body(begin, end, 1); });
}

template <typename T>
constexpr bool is_float = std::is_floating_point_v<T> || std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

template <typename T>
constexpr int dtype_index() {
  int index = 0, found = -1;
#define MD_DTYPE(name, ctype, ...)             \
  if (std::is_same_v<T, ctype>) found = index; \
  ++index;
#include "tensor/dtypes.def"
#undef MD_DTYPE
  return found;
}

// The keys of one row.
template <typename T>
class RowKeys {
 public:
  using Key = KeyOf<T>;
  explicit RowKeys(int64_t length)
      : length_(length), storage_(Storage::allocate(static_cast<size_t>(length + kRoomBehindKeys) * sizeof(Key))) {}
  Key* data() const { return static_cast<Key*>(storage_->data()); }

  void read(const T* row, bool descending, int threads) const {
    parallel_for(length_, threads > 1 ? 1 : 0, [&](int64_t begin, int64_t end) {
      loops().order->keys[dtype_index<T>()](row + begin, end - begin, descending, data() + begin);
    });
  }

  // Ascending keys; returns how many are NaN.
  int64_t read_counting(const T* row, int threads) const {
    if constexpr (!is_float<T>) {
      read(row, false, threads);
      return 0;
    } else {
      constexpr int64_t kPiece = 4096;
      std::atomic<int64_t> total = 0;
      int64_t pieces = (length_ + kPiece - 1) / kPiece;
      parallel_for(pieces, threads > 1 ? kPiece : 0, [&](int64_t begin, int64_t end) {
        int64_t nans = 0;
        for (int64_t piece = begin; piece < end; ++piece) {
          int64_t at = piece * kPiece, size = std::min(kPiece, length_ - at);
          loops().order->keys[dtype_index<T>()](row + at, size, false, data() + at);
          nans += std::count(data() + at, data() + at + size, KeyBits<T>::kNan);
        }
        total.fetch_add(nans, std::memory_order_relaxed);
      });
      return total.load(std::memory_order_relaxed);
    }
  }

 private:
  int64_t length_;
  StoragePtr storage_;
};

// The element of a key; of NaN and of zeros there are several.
template <typename T>
T element_of(KeyOf<T> key) {
  if constexpr (std::is_same_v<T, bool>) {
    return key != 0;
  } else if constexpr (std::is_integral_v<T>) {
    constexpr bool kTurns = std::is_unsigned_v<T> && sizeof(T) == sizeof(key);
    return static_cast<T>(kTurns ? key ^ std::numeric_limits<KeyOf<T>>::min() : key);
  } else {
    using Key = KeyOf<T>;
    Key bits = key ^ ((key >> (sizeof(Key) * 8 - 1)) & KeyBits<T>::kMagnitude);
    if constexpr (sizeof(T) == sizeof(Key)) {
      return std::bit_cast<T>(bits);
    } else {
      return T{static_cast<uint16_t>(bits)};
    }
  }
}

// Whether elements of this key differ.
template <typename T>
bool is_ambiguous(KeyOf<T> key) {
  return is_float<T> && (key == 0 || key == KeyBits<T>::kNan);
}

// The elements of a row that have one key, in their order.
template <typename T>
void copy_equal(const T* row, const KeyOf<T>* keys, int64_t n, KeyOf<T> key, T* dst) {
  for (int64_t i = 0; i < n; ++i) {
    if (keys[i] == key) *dst++ = row[i];
  }
}

template <typename T>
void sort_values_of_row(const T* row, int64_t n, bool descending, T* values, const RowKeys<T>& keys, int threads) {
  using Key = KeyOf<T>;
  Key* sorted = keys.data();
  Key turn = descending ? -1 : 0;
  keys.read(row, descending, threads);
  sort_row(sorted, n, threads);
  parallel_for(n, threads > 1 ? 1 : 0, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) values[i] = element_of<T>(sorted[i] ^ turn);
  });
  if constexpr (is_float<T>) {
    std::array<std::pair<int64_t, int64_t>, 2> ranges;
    constexpr Key kKeys[] = {0, KeyBits<T>::kNan};
    for (size_t i = 0; i < ranges.size(); ++i) {
      auto [first, last] = std::equal_range(sorted, sorted + n, static_cast<Key>(kKeys[i] ^ turn));
      ranges[i] = {first - sorted, last - sorted};
    }
    if (ranges[0].first == ranges[0].second && ranges[1].first == ranges[1].second) return;
    keys.read(row, false, threads);
    for (size_t i = 0; i < ranges.size(); ++i) {
      if (ranges[i].first < ranges[i].second) copy_equal(row, keys.data(), n, kKeys[i], values + ranges[i].first);
    }
  }
}

// What a sort gives of each row: the first `kept` elements, and where they were; either may be null.
template <typename T>
struct Sorted {
  T* values;
  int64_t* indices;
  int64_t kept;
  bool descending;
};

template <typename T>
void sort_one_row(const Rows<T>& rows, int64_t at, const Sorted<T>& out, const RowKeys<T>& keys, int threads) {
  int64_t n = rows.length;
  const T* row = rows.row(at);
  if (out.indices == nullptr) return sort_values_of_row(row, n, out.descending, out.values + at * n, keys, threads);
  keys.read(row, out.descending, threads);
  int64_t* indices = out.indices + at * out.kept;
  order_row(keys.data(), n, out.kept, indices, threads);
  if (out.values == nullptr) return;
  T* values = out.values + at * out.kept;
  parallel_for(out.kept, threads > 1 ? 2 : 0, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) values[i] = row[indices[i]];
  });
}

// Rows that are sorted at once, as columns of a block of keys of 8 bytes: with the place in the lower half of a key
// that leaves room, else beside it.
template <typename T>
void sort_short_rows(const Rows<T>& rows, int64_t first, int64_t count, const Sorted<T>& out) {
  using Key = KeyOf<T>;
  constexpr int64_t kColumns = kOrderColumns<int64_t>;
  constexpr bool kIsNarrow = sizeof(Key) == 4;
  alignas(64) int64_t block[kShortRow * kColumns];
  alignas(64) int64_t beside[kIsNarrow ? 1 : kShortRow * kColumns];
  int64_t n = rows.length;
  if (count < kColumns) std::fill(block, block + n * kColumns, 0);
  RowKeys<T> keys(n);
  for (int64_t column = 0; column < count; ++column) {
    keys.read(rows.row(first + column), out.descending, 1);
    for (int64_t i = 0; i < n; ++i) {
      int64_t key = keys.data()[i];
      block[i * kColumns + column] = kIsNarrow ? key * (int64_t{1} << 32) + i : key;
    }
  }
  const int64_t* places = beside;
  if constexpr (kIsNarrow) {
    loops().order->wide.sort_columns(block, n);
    places = block;
  } else {
    for (int64_t i = 0; i < n * kColumns; ++i) beside[i] = i / kColumns;
    loops().order->sort_places(block, beside, n);
  }
  for (int64_t column = 0; column < count; ++column) {
    const T* row = rows.row(first + column);
    int64_t start = (first + column) * out.kept;
    for (int64_t i = 0; i < out.kept; ++i) {
      int64_t place = places[i * kColumns + column] & UINT32_MAX;
      out.indices[start + i] = place;
      if (out.values != nullptr) out.values[start + i] = row[place];
    }
  }
}

// The same for values alone, as columns of their keys. Where elements of one key differ, the row is sorted again.
template <typename T>
void sort_values_of_short_rows(const Rows<T>& rows, int64_t first, int64_t count, const Sorted<T>& out) {
  using Key = KeyOf<T>;
  constexpr int64_t kColumns = kOrderColumns<Key>;
  alignas(64) Key block[kShortRow * kColumns];
  int64_t n = rows.length;
  if (count < kColumns) std::fill(block, block + n * kColumns, Key{0});
  RowKeys<T> keys(n);
  for (int64_t column = 0; column < count; ++column) {
    keys.read(rows.row(first + column), out.descending, 1);
    for (int64_t i = 0; i < n; ++i) block[i * kColumns + column] = keys.data()[i];
  }
  loops().order->of<Key>().sort_columns(block, n);
  Key turn = out.descending ? -1 : 0;
  for (int64_t column = 0; column < count; ++column) {
    T* values = out.values + (first + column) * n;
    bool differ = false;
    for (int64_t i = 0; i < n; ++i) {
      Key key = block[i * kColumns + column] ^ turn;
      values[i] = element_of<T>(key);
      differ |= is_ambiguous<T>(key);
    }
    if (differ) sort_values_of_row(rows.row(first + column), n, out.descending, values, keys, 1);
  }
}

template <typename T>
void sort_rows(const Rows<T>& rows, const Sorted<T>& out) {
  if (rows.length <= kShortRow && rows.count > 2) {
    bool only_values = out.indices == nullptr;
    int64_t columns = only_values ? kOrderColumns<KeyOf<T>> : kOrderColumns<int64_t>;
    int64_t groups = (rows.count + columns - 1) / columns;
    parallel_for(groups, kSortNs * static_cast<double>(rows.length * columns), [&](int64_t begin, int64_t end) {
      for (int64_t first = begin * columns; first < std::min(rows.count, end * columns); first += columns) {
        int64_t count = std::min(columns, rows.count - first);
        only_values ? sort_values_of_short_rows(rows, first, count, out) : sort_short_rows(rows, first, count, out);
      }
    });
    return;
  }
  for_rows(rows.count, rows.length, kSortNs, [&](int64_t begin, int64_t end, int threads) {
    RowKeys<T> keys(rows.length);
    for (int64_t row = begin; row < end; ++row) sort_one_row(rows, row, out, keys, threads);
  });
}

// Any of the results may be null.
void sort(const OpCall& call, int dim_arg, bool descending, const Tensor* values, const Tensor* indices) {
  const Tensor& self = tensor_arg(call, 0);
  const Tensor& any = values != nullptr ? *values : *indices;
  if (any->numel() == 0) return;
  int dim = wrap_dim(call, int_arg(call, dim_arg), self->rank());
  int64_t length = extent_of(self, dim);
  Tensor slices = as_contiguous(dim_last(self, dim), self->dtype());
  std::optional<RowsOut> to_values, to_indices;
  if (values != nullptr) to_values.emplace(*values, dim);
  if (indices != nullptr) to_indices.emplace(*indices, dim);
  with_type(self->dtype(), [&]<typename T>() {
    Rows<T> rows{slices.data<T>(), self->numel() / length, length};
    sort_rows<T>(rows, {to_values ? to_values->data<T>() : nullptr, to_indices ? to_indices->data<int64_t>() : nullptr,
                        extent_of(any, dim), descending});
  });
  if (to_values) to_values->store();
  if (to_indices) to_indices->store();
}

// ---- selections

// The element of a row at a rank, and its place if that is asked for.
template <typename T>
T at_rank(const T* row, const KeyOf<T>* keys, int64_t n, int64_t rank, int64_t* place, int threads) {
  Ranked<KeyOf<T>> found = select_key(keys, n, rank, threads);
  if (place == nullptr && !is_ambiguous<T>(found.key)) return element_of<T>(found.key);
  int64_t at = place_of_rank(keys, n, found, rank);
  if (place != nullptr) *place = at;
  return row[at];
}

template <typename T>
bool is_nan(T value) {
  auto number = comparable(value);
  return number != number;
}

// The element at a rank of each row, and where it is; rank_of(n) is the rank in a row with n NaNs.
template <typename T, typename RankOf>
void take_rank(const Rows<T>& rows, const RankOf& rank_of, T* values, int64_t* indices) {
  int64_t n = rows.length;
  if (n <= kShortRow && rows.count > 2) {
    StoragePtr sorted = Storage::allocate(static_cast<size_t>(rows.count * n) * sizeof(T));
    StoragePtr places = Storage::allocate(static_cast<size_t>(rows.count * n) * sizeof(int64_t));
    T* elements = static_cast<T*>(sorted->data());
    auto* from = static_cast<int64_t*>(places->data());
    sort_rows<T>(rows, {elements, from, n, false});
    for (int64_t row = 0; row < rows.count; ++row) {
      int64_t nans = 0, start = row * n;
      while (nans < n && is_nan(elements[start + n - 1 - nans])) ++nans;
      int64_t at = start + rank_of(nans);
      values[row] = elements[at];
      indices[row] = from[at];
    }
    return;
  }
  for_rows(rows.count, n, kSelectNs, [&](int64_t begin, int64_t end, int threads) {
    RowKeys<T> keys(n);
    for (int64_t row = begin; row < end; ++row) {
      int64_t nans = keys.read_counting(rows.row(row), threads);
      values[row] = at_rank(rows.row(row), keys.data(), n, rank_of(nans), &indices[row], threads);
    }
  });
}

// Along dim_arg: outs are values and indices.
template <typename RankOf>
void select_along(const OpCall& call, int dim_arg, std::span<Tensor> outs, const RankOf& rank_of) {
  if (outs[0]->numel() == 0) return;
  const Tensor& self = tensor_arg(call, 0);
  int dim = wrap_dim(call, int_arg(call, dim_arg), self->rank());
  int64_t length = extent_of(self, dim);
  Tensor slices = as_contiguous(dim_last(self, dim), self->dtype());
  with_type(self->dtype(), [&]<typename T>() {
    take_rank<T>(
        {slices.data<T>(), self->numel() / length, length}, [&](int64_t nans) { return rank_of(length, nans); },
        outs[0].data<T>(), outs[1].data<int64_t>());
  });
}

// Several ranks of each row.
struct Ranks {
  const int64_t* data;
  int64_t count;
  bool are_shared;  // by all rows

  const int64_t* of_row(int64_t row) const { return are_shared ? data : data + row * count; }
};

// One selection each while they are few, else a sort.
template <typename T>
void take_ranks_of_row(const T* row, int64_t n, const int64_t* ranks, int64_t count, T* values, const RowKeys<T>& keys,
                       int threads) {
  constexpr int64_t kFew = 8;
  std::vector<int64_t> wanted(ranks, ranks + count);
  std::ranges::sort(wanted);
  wanted.erase(std::ranges::unique(wanted).begin(), wanted.end());
  std::vector<T> found(wanted.size());
  if (wanted.size() <= kFew && n > kShortRow) {
    keys.read(row, false, threads);
    for (size_t i = 0; i < wanted.size(); ++i) found[i] = at_rank(row, keys.data(), n, wanted[i], nullptr, threads);
  } else {
    StoragePtr sorted = Storage::allocate(static_cast<size_t>(n) * sizeof(T));
    T* elements = static_cast<T*>(sorted->data());
    sort_values_of_row(row, n, false, elements, keys, threads);
    for (size_t i = 0; i < wanted.size(); ++i) found[i] = elements[wanted[i]];
  }
  for (int64_t i = 0; i < count; ++i) {
    values[i] = found[static_cast<size_t>(std::ranges::lower_bound(wanted, ranks[i]) - wanted.begin())];
  }
}

// Sorts many at a time.
template <typename T>
void take_ranks_of_short_rows(const Rows<T>& rows, const Ranks& ranks, T* values) {
  constexpr int64_t kElements = 32768;
  int64_t n = rows.length, most = std::min(rows.count, std::max<int64_t>(kElements / n, 1));
  StoragePtr sorted = Storage::allocate(static_cast<size_t>(most * n) * sizeof(T));
  T* elements = static_cast<T*>(sorted->data());
  for (int64_t first = 0; first < rows.count; first += most) {
    int64_t count = std::min(most, rows.count - first);
    sort_rows<T>({rows.row(first), count, n}, {elements, nullptr, n, false});
    for (int64_t row = 0; row < count; ++row)
      for (int64_t i = 0; i < ranks.count; ++i) *values++ = elements[row * n + ranks.of_row(first + row)[i]];
  }
}

void take_ranks(const OpCall& call, int dim, const Ranks& ranks, const Tensor& out) {
  if (out->numel() == 0) return;
  const Tensor& self = tensor_arg(call, 0);
  int64_t length = extent_of(self, dim), count = self->numel() / std::max<int64_t>(length, 1);
  for (int64_t i = 0; i < ranks.count * (ranks.are_shared ? 1 : count); ++i) {
    if (ranks.data[i] < 0 || ranks.data[i] >= length) {
      raise_op(ErrorKind::Index, call.row.name, "rank ", ranks.data[i], " is out of bounds for dimension ", dim,
               " with size ", length, operand_shapes(call));
    }
  }
  Tensor slices = as_contiguous(dim_last(self, dim), self->dtype());
  RowsOut to(out, dim);
  with_type(self->dtype(), [&]<typename T>() {
    Rows<T> rows{slices.data<T>(), count, length};
    if (length <= kShortRow && count > 2) return take_ranks_of_short_rows(rows, ranks, to.data<T>());
    for_rows(count, length, kSelectNs, [&](int64_t begin, int64_t end, int threads) {
      RowKeys<T> keys(length);
      for (int64_t row = begin; row < end; ++row) {
        take_ranks_of_row(rows.row(row), length, ranks.of_row(row), ranks.count, to.data<T>() + row * ranks.count, keys,
                          threads);
      }
    });
  });
  to.store();
}

}  // namespace

void sort_kernel(const OpCall& call, std::span<Tensor> outs) { sort(call, 1, bool_arg(call, 2), &outs[0], &outs[1]); }
void sorted_values_kernel(const OpCall& call, std::span<Tensor> outs) {
  sort(call, 1, bool_arg(call, 2), &outs[0], nullptr);
}
void argsort_kernel(const OpCall& call, std::span<Tensor> outs) { sort(call, 1, bool_arg(call, 2), nullptr, &outs[0]); }
void topk_kernel(const OpCall& call, std::span<Tensor> outs) { sort(call, 2, bool_arg(call, 3), &outs[0], &outs[1]); }

void kthvalue_kernel(const OpCall& call, std::span<Tensor> outs) {
  int64_t rank = int_arg(call, 1) - 1;
  select_along(call, 2, outs, [&](int64_t, int64_t) { return rank; });
}

// The lower of the middle elements; the first NaN if there is one, unless they are left out.
void middle_kernel(const OpCall& call, std::span<Tensor> outs) {
  bool skip_nan = bool_arg(call, 3);
  select_along(call, 1, outs, [&](int64_t length, int64_t nans) {
    if (nans > 0 && !skip_nan) return length - nans;
    return std::max<int64_t>(length - nans - 1, 0) / 2;
  });
}

void take_ranks_kernel(const OpCall& call, std::span<Tensor> outs) {
  std::vector<int64_t> ranks;
  for (Dim rank : dims_arg(call, 1)) ranks.push_back(rank.value());
  int dim = wrap_dim(call, int_arg(call, 2), tensor_arg(call, 0)->rank());
  take_ranks(call, dim, {ranks.data(), static_cast<int64_t>(ranks.size()), true}, outs[0]);
}

void take_ranks_of_rows_kernel(const OpCall& call, std::span<Tensor> outs) {
  Tensor ranks = as_contiguous(tensor_arg(call, 1), DType::int64);
  int dim = tensor_arg(call, 0)->rank() - 1;
  take_ranks(call, dim, {ranks.data<int64_t>(), ranks->sizes()[ranks->rank() - 1], false}, outs[0]);
}

}  // namespace md
