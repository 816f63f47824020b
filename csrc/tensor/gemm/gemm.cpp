#include "tensor/gemm/gemm.h"

#include <unistd.h>

#include <algorithm>
#include <limits>

#include "base/rounding.h"
#include "tensor/parallel/threads.h"
#include "tensor/simd/loops.h"
#include "tensor/storage.h"

namespace md {
namespace {

constexpr int64_t kPanelBytes = 384 << 10;  // of b, packed at a time: stays in the L2 cache
constexpr int64_t kRowsBytes = 1 << 20;     // of a, packed at a time
constexpr int64_t kMostStreamRows = 64;     // of a, streamed at a time
static_assert(kPanelBytes + kRowsBytes + kStreamBytes < kMostGemmScratch);

constexpr int64_t kLine = 64;  // bytes

template <typename T>
const ProductLoops<T>& products_of() {
  if constexpr (sizeof(T) == sizeof(float)) {
    return loops().f32_products;
  } else {
    return loops().f64_products;
  }
}

// At least one.
template <typename T>
int64_t whole_strips(int64_t columns) {
  int64_t strip = loops_of<T>().gemm.strip;
  return std::max<int64_t>(columns / strip, 1) * strip;
}

template <typename T>
StoragePtr allocate(int64_t items) {
  return Storage::allocate(static_cast<size_t>(items) * sizeof(T));
}

// Of the last cache, for a matrix that may still be there from its last use.
int64_t far_bytes() {
  static const int64_t bytes = std::clamp<int64_t>(sysconf(_SC_LEVEL3_CACHE_SIZE), 8 << 20, 32 << 20) / 2;
  return bytes;
}

// n is at least a vector.
template <typename T>
void run_stream(const GemmProblem<T>& problem) {
  bool is_far = problem.k * problem.b_row * static_cast<int64_t>(sizeof(T)) > far_bytes();
  StoragePtr sums = allocate<T>(kStreamBytes / static_cast<int64_t>(sizeof(T)));
  for (int64_t i = 0; i < problem.m; i += kMostStreamRows) {
    GemmProblem<T> part = problem;
    part.m = std::min(problem.m - i, kMostStreamRows);
    part.a += i * problem.a_row;
    part.c += i * problem.c_row;
    products_of<T>().stream(part, static_cast<T*>(sums->data()), is_far);
  }
}

template <typename T>
void run_dots(const GemmProblem<T>& problem) {
  products_of<T>().dots(problem);
}

// Some rows at a time: a is packed once for each block of k, b in panels or not at all; then b_step is 1 and n a
// multiple of a vector. Panels of a b with contiguous rows are strips.
template <typename T>
class Panels {
 public:
  Panels(const GemmProblem<T>& problem, bool packs_b)
      : problem_(problem),
        loops_(loops_of<T>().gemm),
        products_(products_of<T>()),
        depth_(std::min(problem.k, kGemmDepth)),
        by_strips_(packs_b && problem.b_step == 1),
        columns_(by_strips_ ? loops_.strip
                            : std::min(whole_strips<T>(kPanelBytes / item_bytes() / depth_),
                                       round_up(problem.n, loops_.strip))),
        rows_(std::min(problem.m, kRowsBytes / item_bytes() / depth_ / kGemmRows * kGemmRows)),
        packed_a_items_(round_up(rows_ * depth_, kLine / item_bytes())),
        packs_b_(packs_b),
        memory_(allocate<T>(packed_a_items_ + (packs_b ? columns_ * depth_ : 0))) {}

  void run() {
    for (int64_t i = 0; i < problem_.m; i += rows_) {
      for (int64_t p = 0; p < problem_.k; p += kGemmDepth) run_rows(i, p);
    }
  }

 private:
  static constexpr int64_t item_bytes() { return static_cast<int64_t>(sizeof(T)); }

  void run_rows(int64_t first, int64_t p) {
    T* packed_a = static_cast<T*>(memory_->data());
    T* packed_b = packed_a + packed_a_items_;
    int64_t rows = std::min(problem_.m - first, rows_), depth = std::min(problem_.k - p, kGemmDepth);
    GemmBlock<T> block{.m = rows,
                       .n = 0,
                       .depth = depth,
                       .a = problem_.a + first * problem_.a_row + p * problem_.a_step,
                       .a_row = problem_.a_row,
                       .a_step = problem_.a_step,
                       .packed_a = packed_a,
                       .b = packed_b,
                       .b_row = packs_b_ ? loops_.strip : problem_.b_row,
                       .b_is_packed = packs_b_,
                       .c = problem_.c + first * problem_.c_row,
                       .c_row = problem_.c_row,
                       .add = p > 0 || problem_.subtract,
                       .subtract = problem_.subtract};
    products_.pack_rows(block);
    if (by_strips_) return run_strips(block, p, packed_b);
    for (int64_t j = 0; j < problem_.n; j += columns_, block.c += columns_) {
      block.n = std::min(problem_.n - j, columns_);
      const T* b = problem_.b + p * problem_.b_row + j * problem_.b_step;
      if (packs_b_) {
        loops_.pack_columns(b, problem_.b_row, problem_.b_step, depth, block.n, packed_b);
      } else {
        block.b = b;
      }
      products_.packed_rows(block);
    }
  }

  void run_strips(GemmBlock<T> block, int64_t p, T* strip) {
    block.n = problem_.n;
    block.b = problem_.b + p * problem_.b_row;
    block.b_row = problem_.b_row;
    block.b_is_packed = false;
    bool is_last = p + block.depth == problem_.k;
    products_.strips(block, strip, is_last ? nullptr : block.b + block.depth * block.b_row);
  }

  const GemmProblem<T>& problem_;
  const GemmLoops<T>& loops_;
  const ProductLoops<T>& products_;
  int64_t depth_;
  bool by_strips_;
  int64_t columns_, rows_, packed_a_items_;
  bool packs_b_;
  StoragePtr memory_;
};

// What a method costs on one thread, in cycles: for each product of vectors, each four bytes of b, each element of c.
// Measured with AVX-512 on 256 x 256 to 4096 x 4096.
struct GemmCost {
  double product, b, c;
};
constexpr GemmCost kStreamCost = {0.66, 0.28, 0};
constexpr GemmCost kDotsCost = {0.64, 0.24, 0.3};
constexpr GemmCost kTilesCost = {0.51, 0.05, 0};
constexpr GemmCost kTilesFromAfarCost = {0.52, 0.28, 0};  // b is not in the L2 cache before
constexpr GemmCost kPanelsCost = {0.53, 0.42, 0};         // of a b with contiguous rows
constexpr GemmCost kPanelsOfColumnsCost = {0.53, 0.4, 0};

// Of the L2 cache, for what is read from it again.
int64_t near_bytes() {
  static const int64_t bytes = std::clamp<int64_t>(sysconf(_SC_LEVEL2_CACHE_SIZE), 256 << 10, 4 << 20) * 5 / 8;
  return bytes;
}

// A matrix whose columns are contiguous, times a column: as a row times the matrix turned round, which reads it in
// order.
template <typename T>
GemmProblem<T> in_order(const GemmProblem<T>& p) {
  bool is_turned = p.n == 1 && p.c_row == 1 && p.a_row == 1 && p.a_step > 1;
  if (!is_turned) return p;
  return {.m = 1,
          .n = p.m,
          .k = p.k,
          .a = p.b,
          .a_row = p.b_step,
          .a_step = p.b_row,
          .b = p.a,
          .b_row = p.a_step,
          .b_step = p.a_row,
          .c = p.c,
          .c_row = p.m,
          .subtract = p.subtract};
}

template <typename T>
class MethodChoice {
 public:
  explicit MethodChoice(const GemmProblem<T>& problem) : problem_(problem), vector_(loops_of<T>().gemm.vector) {}

  GemmMethod choose() {
    const GemmProblem<T>& p = problem_;
    if (p.subtract) return GemmMethod::Panels;
    int64_t by_rows = p.m * ceil_div(p.n, vector_) * p.k, by_columns = p.m * p.n * ceil_div(p.k, vector_);
    bool has_rows = p.b_step == 1 && p.n >= vector_;
    if (has_rows) offer(GemmMethod::Stream, kStreamCost, by_rows);
    if (has_rows && p.n % vector_ == 0) offer_tiles(by_rows / p.m);
    if (p.b_row == 1 && p.a_step == 1) offer(GemmMethod::Dots, kDotsCost, by_columns);
    offer(GemmMethod::Panels, p.b_step == 1 ? kPanelsCost : kPanelsOfColumnsCost, by_rows);
    return best_;
  }

 private:
  // All rows of tiles but the first read a block of b from the L2 cache. A tile takes as long with fewer rows.
  void offer_tiles(int64_t products_of_row) {
    constexpr int64_t kTileRows = 8;
    int64_t row_bytes = problem_.b_row * static_cast<int64_t>(sizeof(T));
    bool is_near = problem_.k * row_bytes <= near_bytes();
    bool stays = problem_.m <= kTileRows || std::min(problem_.k, kGemmDepth) * row_bytes <= near_bytes();
    if (is_near || stays) {
      offer(GemmMethod::Tiles, is_near ? kTilesCost : kTilesFromAfarCost,
            round_up(problem_.m, kTileRows) * products_of_row);
    }
  }
  void offer(GemmMethod method, const GemmCost& cost, int64_t products) {
    double m = static_cast<double>(problem_.m), n = static_cast<double>(problem_.n);
    double words = static_cast<double>(problem_.k) * n * sizeof(T) / 4;
    double cycles = cost.product * static_cast<double>(products) + cost.b * words + cost.c * m * n;
    if (cycles >= least_) return;
    least_ = cycles;
    best_ = method;
  }

  const GemmProblem<T>& problem_;
  int64_t vector_;
  double least_ = std::numeric_limits<double>::infinity();
  GemmMethod best_ = GemmMethod::Panels;
};

template <typename T>
void run_by(GemmMethod method, const GemmProblem<T>& given) {
  const GemmProblem<T> problem = in_order(given);
  switch (method) {
    case GemmMethod::Stream:
      // A part of a product may be narrower than a vector: the sums run in the same order.
      return problem.n < loops_of<T>().gemm.vector ? Panels<T>(problem, true).run() : run_stream(problem);
    case GemmMethod::Dots:
      return run_dots(problem);
    case GemmMethod::Tiles:
      return Panels<T>(problem, problem.n % loops_of<T>().gemm.vector != 0).run();
    case GemmMethod::Panels:
      return Panels<T>(problem, true).run();
  }
}

template <typename T>
void run_on_threads(const GemmProblem<T>& problem) {
  constexpr int64_t kStep = 48;  // whole strips of every level
  GemmMethod method = choose_gemm_method(problem);
  bool by_rows = problem.m > problem.n;
  int64_t size = by_rows ? problem.m : problem.n;
  double ns = static_cast<double>(by_rows ? problem.n : problem.m) * static_cast<double>(problem.k) * sizeof(T) / 240;
  int64_t threads = threads_for(ns * static_cast<double>(size));
  int64_t step = std::max(kStep, ceil_div(ceil_div(size, 2 * threads), kStep) * kStep);
  if (threads <= 1) step = size;
  parallel_for(ceil_div(size, step), ns * static_cast<double>(step), [&](int64_t begin, int64_t end) {
    GemmProblem<T> part = problem;
    int64_t first = begin * step, count = std::min(size, end * step) - first;
    if (by_rows) {
      part.m = count;
      part.a += first * problem.a_row;
      part.c += first * problem.c_row;
    } else {
      part.n = count;
      part.b += first * problem.b_step;
      part.c += first;
    }
    run_by(method, part);
  });
}

}  // namespace

const char* name_of(GemmMethod method) {
  switch (method) {
    case GemmMethod::Stream:
      return "rows";
    case GemmMethod::Dots:
      return "dot products";
    case GemmMethod::Tiles:
      return "tiles";
    case GemmMethod::Panels:
      return "panels";
  }
  return "";
}

bool gemm_replaces_onednn() { return loops().f32.gemm.vector * sizeof(float) >= 32; }

template <typename T>
GemmMethod choose_gemm_method(const GemmProblem<T>& problem) {
  return MethodChoice<T>(in_order(problem)).choose();
}
template GemmMethod choose_gemm_method(const GemmProblem<float>& problem);
template GemmMethod choose_gemm_method(const GemmProblem<double>& problem);

void gemm_by(GemmMethod method, const GemmProblem<float>& problem) { run_by(method, problem); }
void gemm_by(GemmMethod method, const GemmProblem<double>& problem) { run_by(method, problem); }
void gemm(const GemmProblem<float>& problem) { run_on_threads(problem); }
void gemm(const GemmProblem<double>& problem) { run_on_threads(problem); }

}  // namespace md
