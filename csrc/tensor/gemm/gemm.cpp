#include "tensor/gemm/gemm.h"

#include <algorithm>

#include "tensor/parallel/threads.h"
#include "tensor/simd/loops.h"
#include "tensor/storage.h"

namespace md {
namespace {

constexpr int64_t kColumns = 4096;       // of b, packed at a time
constexpr int64_t kBesideBytes = 16384;  // an unpacked b of up to this many bytes stays in the L1 cache
constexpr int64_t kPackRowsFrom = 160;   // an a with fewer rows and columns is not packed

template <typename T>
class Gemm {
 public:
  explicit Gemm(const GemmProblem<T>& problem)
      : problem_(problem),
        loops_(loops_of<T>().gemm),
        packs_b_(problem.b_step != 1 || problem.n % loops_.vector != 0 ||
                 problem.k * problem.n * static_cast<int64_t>(sizeof(T)) > kBesideBytes),
        packs_a_(problem.a_step != 1 || std::max(problem.m, problem.k) >= kPackRowsFrom) {}

  void run() {
    int64_t columns = std::min(problem_.n, kColumns / loops_.strip * loops_.strip);
    int64_t strips = (columns + loops_.strip - 1) / loops_.strip;
    StoragePtr storage;
    if (packs_b_) {
      storage = allocate(strips * loops_.strip * std::min(problem_.k, kGemmDepth));
      packed_b_ = static_cast<T*>(storage->data());
    }
    for (int64_t j = 0; j < problem_.n; j += columns) {
      for (int64_t p = 0; p < problem_.k; p += kGemmDepth) {
        run_slab(j, std::min(problem_.n - j, columns), p, std::min(problem_.k - p, kGemmDepth));
      }
    }
  }

 private:
  static StoragePtr allocate(int64_t items) { return Storage::allocate(static_cast<size_t>(items) * sizeof(T)); }
  // Of n * k multiplications.
  static double cost(int64_t n, int64_t k) {
    return static_cast<double>(n) * static_cast<double>(k) * sizeof(T) / 4 / 60;
  }

  void pack(const T* b, int64_t n, int64_t depth, int64_t strips) {
    int64_t width = loops_.strip;
    parallel_for(strips, 0.3 * static_cast<double>(width * depth), [&](int64_t begin, int64_t end) {
      loops_.pack_columns(b + begin * width * problem_.b_step, problem_.b_row, problem_.b_step, depth,
                          std::min(n, end * width) - begin * width, packed_b_ + begin * width * depth);
    });
  }

  // Columns [first, first + n) with rows [p, p + depth) of b.
  void run_slab(int64_t first, int64_t n, int64_t p, int64_t depth) {
    int64_t width = loops_.strip;
    int64_t strips = (n + width - 1) / width;
    const T* b = problem_.b + p * problem_.b_row + first * problem_.b_step;
    if (packs_b_) pack(b, n, depth, strips);
    GemmBlock<T> slab{.m = problem_.m,
                      .n = n,
                      .depth = depth,
                      .a = problem_.a + p * problem_.a_step,
                      .a_row = problem_.a_row,
                      .a_step = problem_.a_step,
                      .packed_a = nullptr,
                      .b = packs_b_ ? packed_b_ : b,
                      .b_row = packs_b_ ? width : problem_.b_row,
                      .b_is_packed = packs_b_,
                      .c = problem_.c + first,
                      .c_row = problem_.c_row,
                      .add = p > 0};
    split(slab, strips);
  }

  // Splits among threads: by rows, or by columns if there are few rows.
  void split(const GemmBlock<T>& slab, int64_t strips) const {
    constexpr int64_t kRows = 8;
    int64_t bands = (slab.m + kRows - 1) / kRows;
    if (bands >= strips) {
      parallel_for(bands, cost(slab.n, slab.depth) * kRows, [&](int64_t begin, int64_t end) {
        GemmBlock<T> part = slab;
        part.m = std::min(slab.m, end * kRows) - begin * kRows;
        part.a += begin * kRows * slab.a_row;
        part.c += begin * kRows * slab.c_row;
        run_block(part);
      });
    } else {
      parallel_for(strips, cost(slab.m, slab.depth) * static_cast<double>(loops_.strip),
                   [&](int64_t begin, int64_t end) {
                     GemmBlock<T> part = slab;
                     part.n = std::min(slab.n, end * loops_.strip) - begin * loops_.strip;
                     part.b += begin * loops_.strip * (packs_b_ ? slab.depth : 1);
                     part.c += begin * loops_.strip;
                     run_block(part);
                   });
    }
  }

  void run_block(GemmBlock<T>& block) const {
    StoragePtr storage;
    if (packs_a_) {
      storage = allocate(std::min(block.m, kGemmRows) * block.depth);
      block.packed_a = static_cast<T*>(storage->data());
    }
    loops_.rows(block);
  }

  const GemmProblem<T>& problem_;
  const GemmLoops<T>& loops_;
  bool packs_b_, packs_a_;
  T* packed_b_ = nullptr;
};

}  // namespace

void gemm(const GemmProblem<float>& problem) { Gemm<float>(problem).run(); }
void gemm(const GemmProblem<double>& problem) { Gemm<double>(problem).run(); }

}  // namespace md
