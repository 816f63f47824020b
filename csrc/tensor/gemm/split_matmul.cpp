#include "tensor/gemm/split_matmul.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/rounding.h"
#include "tensor/gemm/gemm.h"
#include "tensor/gemm/packed_gemm.h"
#include "tensor/gemm/row_product.h"
#include "tensor/simd/loops.h"
#include "tensor/storage.h"

namespace md {
namespace {

constexpr int64_t kTiny = 16 * 16 * 16;  // number of multiplications below which calling a
                                         // primitive costs more than the product
constexpr double kPieceNs = 20e3;
constexpr int64_t kMostPieces = 8;
constexpr int64_t kLeastRows = 32, kLeastColumns = 64;
constexpr int64_t kLeastOwnColumns = 128;  // of our own loops: each piece packs its rows of a
// Number of elements from which on the columns of a packed matrix are split in two or four.
constexpr int64_t kPackedHalf = 128 * 1024, kPackedQuarter = 512 * 1024;
// Except for narrow numbers with this many rows.
constexpr int64_t kRowsForBands = 128;

// Whether oneDNN multiplies numbers of 16 or 8 bits.
bool is_narrow(const MatmulSpec& spec) { return item_size(spec.dtype) == 2 || spec.precision != Precision::Float32; }

// Multiplications per nanosecond, single-threaded.
double rate(const MatmulSpec& spec) {
  if (spec.precision == Precision::Int8) return 200;
  if (spec.precision == Precision::BFloat16) return 100;
  switch (row(spec.dtype).size) {
    case 8:
      return 20;
    case 4:
      return 50;
    default:
      return 100;
  }
}

double estimate_ns(const MatmulSpec& spec) {
  double m = static_cast<double>(spec.m), n = static_cast<double>(spec.n), k = static_cast<double>(spec.k);
  double bytes = (m * k + k * n + m * n) * static_cast<double>(item_size(spec.dtype));
  return static_cast<double>(spec.batch) * std::max(m * n * k / rate(spec), bytes / 40);
}

// Whether our own loops are the fastest, or the only ones.
bool takes_gemm(const MatmulSpec& spec) {
  if (spec.dtype == DType::float64) return true;
  return spec.dtype == DType::float32 && !is_narrow(spec) && spec.batch == 1 && !spec.packs_weights &&
         gemm_replaces_onednn();
}

// Whether row_product.h supports it and is the fastest.
bool takes_rows(const MatmulSpec& spec) {
  if (spec.packs_weights || is_narrow(spec) || (spec.dtype != DType::float32 && spec.dtype != DType::float64))
    return false;
  bool usable = spec.b_strides[2] == 1 || (spec.b_strides[1] == 1 && spec.a_strides[2] == 1);
  bool row = spec.m == 1 && (spec.b_strides[1] == 1 || !takes_gemm(spec));
  bool vector = row || (spec.n == 1 && spec.a_strides[2] == 1);
  return usable && (vector || spec.m * spec.n * spec.k <= kTiny);
}

// Of few rows: tiles of dot products share what they load, if they are whole.
template <typename T>
bool by_tiles_of_dots(const MatmulSpec& spec) {
  bool contiguous = spec.b_strides[1] == 1 && spec.a_strides[2] == 1;
  return contiguous && spec.m % 2 == 0 && spec.k % loops_of<T>().gemm.vector == 0;
}

// Whether our own loops run it only because a primitive would be made for each of its extents.
bool stands_in_for_primitive(const MatmulSpec& spec, Extents extents) {
  if (extents == Extents::Fixed || spec.dtype != DType::float32 || is_narrow(spec) || takes_rows(spec)) return false;
  return spec.batch > 1 || !gemm_replaces_onednn();
}

// For bfloat16 and float16 oneDNN's block kernels are much faster than its older ones, but need a
// result without gaps between rows.
bool is_better_apart(const MatmulSpec& spec, const MatmulBlock& block) {
  bool writes_rows = item_size(spec.dtype) == 2 || spec.precision == Precision::BFloat16;
  return writes_rows && block.rows > 1 && block.columns < spec.n;
}

}  // namespace

SplitMatmul::Grid SplitMatmul::packed_grid(const MatmulSpec& spec, int64_t wanted) {
  int64_t elements = spec.k * spec.n;
  bool in_bands = is_narrow(spec) && spec.m >= kRowsForBands;
  int64_t parts = in_bands ? 1 : elements >= kPackedQuarter ? 4 : elements >= kPackedHalf ? 2 : 1;
  Grid grid = {1, spec.m, round_up(ceil_div(spec.n, parts), kLeastColumns)};
  int64_t bands = std::clamp<int64_t>(wanted / parts, 1, std::max<int64_t>(spec.m / kLeastRows, 1));
  if (bands > 1) grid.rows = round_up(ceil_div(spec.m, bands), kLeastRows);
  return grid;
}

SplitMatmul::Grid SplitMatmul::choose_grid(const MatmulSpec& spec) {
  int64_t wanted = std::clamp<int64_t>(static_cast<int64_t>(estimate_ns(spec) / kPieceNs), 1, kMostPieces);
  if (spec.packs_weights) return packed_grid(spec, wanted);
  Grid grid = {spec.batch, spec.m, spec.n};
  if (spec.batch > 1) {
    int64_t parts = std::min(spec.batch, wanted);
    grid.matrices = spec.batch_dims.empty() ? ceil_div(spec.batch, parts) : 1;
    wanted /= parts;
  }
  // Each piece copies the columns of b that it reads.
  wanted = std::min<int64_t>(wanted, 4);
  if (spec.m >= spec.n) {
    int64_t parts = std::clamp<int64_t>(spec.m / kLeastRows, 1, wanted);
    if (parts > 1) grid.rows = round_up(ceil_div(spec.m, parts), kLeastRows);
  } else {
    int64_t least = takes_gemm(spec) ? kLeastOwnColumns : kLeastColumns;
    int64_t parts = std::clamp<int64_t>(spec.n / least, 1, wanted);
    if (parts > 1) grid.columns = round_up(ceil_div(spec.n, parts), kLeastColumns);
  }
  return grid;
}

SplitMatmul::SplitMatmul(const MatmulSpec& spec, const Grid& grid, Extents extents)
    : spec_(spec),
      stands_in_(stands_in_for_primitive(spec, extents)),
      engine_(takes_rows(spec)                                          ? Engine::Rows
              : takes_gemm(spec) || (stands_in_ && !spec.packs_weights) ? Engine::Gemm
                                                                        : Engine::Primitive),
      grid_(grid),
      counts_{.matrices = ceil_div(spec.batch, grid.matrices),
              .rows = ceil_div(spec.m, grid.rows),
              .columns = ceil_div(spec.n, grid.columns)} {
  bool by_dots = spec.dtype == DType::float64 ? by_tiles_of_dots<double>(spec) : by_tiles_of_dots<float>(spec);
  if (engine_ == Engine::Rows && by_dots) method_ = GemmMethod::Dots;
  if (engine_ != Engine::Gemm) return;
  method_ = spec.dtype == DType::float64 ? choose_gemm_method(problem_of<double>(whole(), 0, {}))
                                         : choose_gemm_method(problem_of<float>(whole(), 0, {}));
}

SplitMatmulPtr SplitMatmul::make(const MatmulSpec& spec, Extents extents) {
  return make_with(spec, choose_grid(spec), extents);
}

SplitMatmulPtr SplitMatmul::make_by_rows(const MatmulSpec& spec, int64_t rows, Extents extents) {
  return make_with(spec, {.matrices = 1, .rows = rows, .columns = spec.n}, extents);
}

SplitMatmulPtr SplitMatmul::make_with(const MatmulSpec& spec, const Grid& grid, Extents extents) {
  if (spec.batch <= 0 || spec.m <= 0 || spec.n <= 0 || spec.k <= 0) return nullptr;
  if (spec.packs_weights && (spec.batch > 1 || spec.dtype == DType::float64)) return nullptr;
  std::shared_ptr<SplitMatmul> split(new SplitMatmul(spec, grid, extents));
  if (split->engine_ == Engine::Primitive && !split->add_primitives()) return nullptr;
  split->ns_per_piece_ = estimate_ns(spec) / static_cast<double>(split->piece_count());
  return split;
}

MatmulBlock SplitMatmul::block(int64_t piece) const {
  int64_t row = piece % counts_.rows * grid_.rows;
  int64_t matrix = piece / counts_.rows % counts_.matrices * grid_.matrices;
  int64_t column = piece / pieces_of_column() * grid_.columns;
  return {matrix, std::min(grid_.matrices, spec_.batch - matrix), row, std::min(grid_.rows, spec_.m - row),
          column, std::min(grid_.columns, spec_.n - column)};
}

bool SplitMatmul::add_primitives() {
  for (int64_t i = 0; i < counts_.columns; ++i)
    if (!add_primitives_of_column()) return false;
  return true;
}

bool SplitMatmul::add_primitives_of_column() {
  size_t first = primitives_.size();
  for (int64_t i = 0; i < pieces_of_column(); ++i) {
    primitives_.push_back(make_primitive(block(static_cast<int64_t>(primitives_.size()))));
    if (primitives_.back() == nullptr) return false;
  }
  if (!spec_.packs_weights) return true;
  const OnednnPacking& leader = *primitives_[first];
  for (size_t i = first; i < primitives_.size(); ++i) {
    if (primitives_[i]->packed_layout() != leader.packed_layout()) return false;
  }
  packed_at_.push_back(packed_bytes_);
  packed_bytes_ += (leader.packed_bytes() + 63) / 64 * 64;
  packed_layout_ += leader.packed_layout() + ";";
  return true;
}

OnednnPackingPtr SplitMatmul::make_primitive(const MatmulBlock& block) const {
  MatmulSpec part = spec_;
  part.batch = block.matrices;
  part.m = block.rows;
  part.n = block.columns;
  if (is_better_apart(spec_, block)) part.c_strides = {block.rows * block.columns, block.columns, 1};
  return stands_in_ ? make_packed_gemm(part) : make_matmul(part);
}

MatmulOperands SplitMatmul::starts_of(const MatmulBlock& block, size_t packed_at,
                                      const MatmulOperands& operands) const {
  int64_t a = block.first_matrix * spec_.a_strides[0], b = block.first_matrix * spec_.b_strides[0];
  if (!spec_.batch_dims.empty()) {
    a = b = 0;
    int64_t rest = block.first_matrix;
    for (size_t d = spec_.batch_dims.size(); d-- > 0;) {
      const MatmulSpec::BatchDim& dim = spec_.batch_dims[d];
      a += rest % dim.size * dim.a_stride;
      b += rest % dim.size * dim.b_stride;
      rest /= dim.size;
    }
  }
  a += block.first_row * spec_.a_strides[1];
  b += block.first_column * spec_.b_strides[2];
  int64_t c = block.first_matrix * spec_.c_strides[0] + block.first_row * spec_.c_strides[1] + block.first_column;
  int64_t item = static_cast<int64_t>(item_size(spec_.dtype));
  auto at = [](const void* data, int64_t bytes) { return static_cast<const std::byte*>(data) + bytes; };
  return {.a = at(operands.a, a * item),
          .b = at(operands.b, spec_.packs_weights ? static_cast<int64_t>(packed_at) : b * item),
          .bias = operands.bias == nullptr ? nullptr : at(operands.bias, block.first_column * item),
          .c = static_cast<std::byte*>(operands.c) + c * item};
}

// Matrix `matrix` of the block, whose operands start at `starts`.
template <typename T>
GemmProblem<T> SplitMatmul::problem_of(const MatmulBlock& block, int64_t matrix, const MatmulOperands& starts) const {
  auto at = [matrix](auto* first, const std::array<int64_t, 3>& strides) {
    return first == nullptr ? first : first + matrix * strides[0];
  };
  return {.m = block.rows,
          .n = block.columns,
          .k = spec_.k,
          .a = at(static_cast<const T*>(starts.a), spec_.a_strides),
          .a_row = spec_.a_strides[1],
          .a_step = spec_.a_strides[2],
          .b = at(static_cast<const T*>(starts.b), spec_.b_strides),
          .b_row = spec_.b_strides[1],
          .b_step = spec_.b_strides[2],
          .c = at(static_cast<T*>(starts.c), spec_.c_strides),
          .c_row = spec_.c_strides[1]};
}

template <typename T>
void SplitMatmul::run_own_loops_of(const MatmulBlock& block, const MatmulOperands& starts) const {
  const T* bias = static_cast<const T*>(starts.bias);
  for (int64_t i = 0; i < block.matrices; ++i) {
    GemmProblem<T> problem = problem_of<T>(block, i, starts);
    if (engine_ == Engine::Rows && method_ != GemmMethod::Dots) {
      RowProduct rows = {.n = problem.n,
                         .k = problem.k,
                         .a_row = problem.a_row,
                         .a_step = problem.a_step,
                         .b_row = problem.b_row,
                         .b_step = problem.b_step,
                         .c_row = problem.c_row};
      multiply_rows(rows, problem.a, problem.b, problem.c, 0, problem.m);
    } else {
      gemm_by(method_, problem);
    }
    if (bias != nullptr) add_bias(block.rows, block.columns, bias, problem.c, problem.c_row);
  }
}

void SplitMatmul::run_own_loops(const MatmulBlock& block, const MatmulOperands& starts) const {
  spec_.dtype == DType::float64 ? run_own_loops_of<double>(block, starts) : run_own_loops_of<float>(block, starts);
}

// One for each thread that is worth it; more where the result would leave the cache before what follows reads it.
int64_t SplitMatmul::share_count(double ns) const {
  constexpr int64_t kResultBytes = 1 << 20;
  int64_t bytes = spec_.m * spec_.n * static_cast<int64_t>(item_size(spec_.dtype));
  return std::max<int64_t>(threads_for(ns), bytes / kResultBytes);
}

// Whole strips of columns, or whole tiles of rows; the last ones may be empty.
MatmulBlock SplitMatmul::share(int64_t index, int64_t count) const {
  constexpr int64_t kStep = 48;
  bool by_rows = spec_.m >= spec_.n;
  int64_t size = by_rows ? spec_.m : spec_.n;
  int64_t step = count == 1 ? size : round_up(ceil_div(size, count), kStep);
  int64_t first = index * step, length = std::min(step, size - first);
  return by_rows ? MatmulBlock{0, 1, first, length, 0, spec_.n} : MatmulBlock{0, 1, 0, spec_.m, first, length};
}

bool SplitMatmul::is_symmetric(const MatmulOperands& operands) const {
  constexpr int64_t kLeast = 128;  // columns, from which on half of the work is saved
  return operands.a == operands.b && operands.bias == nullptr && method_ == GemmMethod::Panels && spec_.m == spec_.n &&
         spec_.m >= kLeast && spec_.a_strides[1] == spec_.b_strides[2] && spec_.a_strides[2] == spec_.b_strides[1];
}

// Blocks on the diagonal are computed whole.
int64_t SplitMatmul::symmetric_rows() const {
  constexpr int64_t kStep = 48;
  return std::max<int64_t>(round_up(spec_.m / 6, kStep), 2 * kStep);
}

void SplitMatmul::run_lower(int64_t first_row, int64_t rows, const MatmulOperands& operands) const {
  MatmulBlock block = {0, 1, first_row, rows, 0, first_row + rows};
  run_own_loops(block, starts_of(block, 0, operands));
}

namespace {

// Square by square, so that what is read by columns stays in the cache.
template <typename T>
void mirror_rows(T* c, int64_t c_row, int64_t first, int64_t rows, int64_t n) {
  constexpr int64_t kSquare = 32;
  for (int64_t i = first; i < first + rows; i += kSquare) {
    int64_t last = std::min(i + kSquare, first + rows);
    for (int64_t j = first + rows; j < n; j += kSquare) {
      for (int64_t y = i; y < last; ++y)
        for (int64_t x = j; x < std::min(j + kSquare, n); ++x) c[y * c_row + x] = c[x * c_row + y];
    }
  }
}

}  // namespace

void SplitMatmul::mirror(int64_t first_row, int64_t rows, const MatmulOperands& operands) const {
  if (spec_.dtype == DType::float64) {
    mirror_rows(static_cast<double*>(operands.c), spec_.c_strides[1], first_row, rows, spec_.n);
  } else {
    mirror_rows(static_cast<float*>(operands.c), spec_.c_strides[1], first_row, rows, spec_.n);
  }
}

void SplitMatmul::run_piece(int64_t piece, const MatmulBlock& block, const MatmulOperands& starts) const {
  if (engine_ != Engine::Primitive) return run_own_loops(block, starts);
  is_better_apart(spec_, block) ? run_apart(piece, block, starts) : run_primitive(piece, starts);
}

void SplitMatmul::run_primitive(int64_t piece, const MatmulOperands& starts) const {
  const void* inputs[] = {starts.a, starts.b, starts.bias};
  execute(*primitives_[static_cast<size_t>(piece)], {inputs, spec_.has_bias ? size_t{3} : size_t{2}}, starts.c);
}

// The primitive writes without gaps between rows, which are then copied to c.
void SplitMatmul::run_apart(int64_t piece, const MatmulBlock& block, const MatmulOperands& starts) const {
  size_t item = item_size(spec_.dtype), row_bytes = static_cast<size_t>(block.columns) * item;
  StoragePtr apart = Storage::allocate(static_cast<size_t>(block.matrices * block.rows) * row_bytes);
  MatmulOperands into = starts;
  into.c = apart->data();
  run_primitive(piece, into);
  const std::byte* from = static_cast<const std::byte*>(apart->data());
  for (int64_t matrix = 0; matrix < block.matrices; ++matrix) {
    for (int64_t row = 0; row < block.rows; ++row, from += row_bytes) {
      int64_t to = matrix * spec_.c_strides[0] + row * spec_.c_strides[1];
      std::memcpy(static_cast<std::byte*>(starts.c) + to * static_cast<int64_t>(item), from, row_bytes);
    }
  }
}

void SplitMatmul::run_piece(int64_t piece, const MatmulOperands& operands, const void* own_a, void* own_c) const {
  MatmulBlock chosen = block(piece);
  MatmulOperands starts = starts_of(chosen, packed_at(piece), operands);
  if (own_a != nullptr) starts.a = own_a;
  if (own_c != nullptr) starts.c = own_c;
  run_piece(piece, chosen, starts);
}

void SplitMatmul::pack(const void* b, void* packed) const {
  size_t step = static_cast<size_t>(grid_.columns * spec_.b_strides[2]) * item_size(spec_.dtype);
  parallel_for(counts_.columns, static_cast<double>(packed_bytes_), [&](int64_t i, int64_t end) {
    for (; i < end; ++i) {
      auto column = static_cast<size_t>(i);
      primitives_[static_cast<size_t>(i * pieces_of_column())]->pack(
          static_cast<const std::byte*>(b) + column * step, static_cast<std::byte*>(packed) + packed_at_[column]);
    }
  });
}

size_t SplitMatmul::nbytes() const {
  size_t primitives = nbytes_of_primitives(primitives_, std::identity());
  return sizeof(SplitMatmul) + primitives_.size() * sizeof(OnednnPackingPtr) + primitives;
}

std::string SplitMatmul::implementation() const {
  std::string what = engine_ == Engine::Primitive ? primitives_[0]->implementation()
                     : engine_ == Engine::Rows    ? std::string("own rows")
                                                  : str_cat("own blocks by ", name_of(method_));
  return piece_count() == 1 || divides_freely() ? what : str_cat(what, " in ", piece_count(), " pieces");
}

}  // namespace md
