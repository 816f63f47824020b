#include "executor/ceilings.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>

#include "tensor/gemm/onednn.h"
#include "tensor/gemm/split_matmul.h"
#include "tensor/parallel/threads.h"
#include "tensor/storage.h"

namespace md {
namespace {

constexpr int64_t kSmallestSet = 32 << 10, kLargestSet = 128 << 20, kNextSet = 4;  // bytes
constexpr int64_t kLeastCopied = 4 << 20;                                          // in one measurement
constexpr int kCopies = 4, kProducts = 5;  // measurements, of which the fastest counts
constexpr int64_t kProductExtent = 512;
constexpr double kNsOfProduct = 1e6;
// Of which products are computed faster than they are read.
constexpr DType kProductDTypes[] = {DType::float32, DType::float64, DType::bfloat16};

template <typename Body>
double fastest_ns(int times, const Body& body) {
  using Clock = std::chrono::steady_clock;
  double fastest = INFINITY;
  for (int i = 0; i < times; ++i) {
    Clock::time_point start = Clock::now();
    body();
    fastest = std::min(fastest, std::chrono::duration<double, std::nano>(Clock::now() - start).count());
  }
  return std::max(fastest, 1.0);
}

// Each thread copies its own part again and again.
double copy_rate(int64_t working_set, int threads) {
  size_t part = static_cast<size_t>(working_set / 2 / threads);
  size_t half = part * static_cast<size_t>(threads);
  StoragePtr source = Storage::allocate(half), target = Storage::allocate(half);
  std::memset(source->data(), 1, half);
  std::memset(target->data(), 1, half);
  int64_t repeats = std::max<int64_t>(1, kLeastCopied / working_set);
  struct Parts {
    const char* source;
    char* target;
    size_t size;
    int64_t repeats;
  } parts = {static_cast<const char*>(source->data()), static_cast<char*>(target->data()), part, repeats};
  auto copy_parts = [](void* context, int64_t begin, int64_t end) {
    const Parts& parts = *static_cast<const Parts*>(context);
    for (int64_t i = begin; i < end; ++i) {
      size_t at = static_cast<size_t>(i) * parts.size;
      for (int64_t repeat = 0; repeat < parts.repeats; ++repeat) {
        std::memcpy(parts.target + at, parts.source + at, parts.size);
        asm volatile("" ::: "memory");  // or the compiler copies once
      }
    }
  };
  double ns = fastest_ns(kCopies, [&] { ThreadPool::instance().run(threads, threads, copy_parts, &parts); });
  return 2 * static_cast<double>(half) * static_cast<double>(repeats) / ns;
}

double flops_of_product() { return 2 * std::pow(static_cast<double>(kProductExtent), 3); }

// Of unsigned with signed bytes, a product for each thread; 0 where there is no kernel.
double byte_product_rate(int threads) {
  constexpr int64_t n = kProductExtent;
  MatmulSpec spec = {.m = n, .n = n, .k = n, .packs_weights = true, .precision = Precision::Int8};
  spec.a_strides = spec.b_strides = spec.c_strides = {0, n, 1};
  OnednnPackingPtr product = is_fast(spec.precision) ? make_narrow_matmul(spec) : nullptr;
  if (product == nullptr) return 0;
  size_t sum_bytes = static_cast<size_t>(n * n) * sizeof(int32_t);
  StoragePtr a = Storage::allocate(n * n), packed = Storage::allocate(product->packed_bytes());
  StoragePtr sums = Storage::allocate(static_cast<size_t>(threads) * sum_bytes);
  std::memset(a->data(), 0, n * n);
  product->pack(a->data(), packed->data());
  const void* inputs[] = {a->data(), packed->data()};
  double ns = fastest_ns(kProducts, [&] {
    parallel_for(threads, kNsOfProduct, [&](int64_t begin, int64_t end) {
      for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i)
        execute(*product, inputs, static_cast<std::byte*>(sums->data()) + i * sum_bytes);
    });
  });
  return flops_of_product() * threads / ns;
}

// 0 where there is no kernel of this dtype.
double product_rate(DType dtype) {
  constexpr int64_t n = kProductExtent;
  MatmulSpec spec;
  spec.dtype = dtype;
  spec.m = spec.n = spec.k = n;
  spec.a_strides = spec.b_strides = spec.c_strides = {0, n, 1};
  SplitMatmulPtr product = SplitMatmul::make(spec);
  if (product == nullptr) return 0;
  size_t nbytes = static_cast<size_t>(n * n) * item_size(dtype);
  StoragePtr a = Storage::allocate(nbytes), b = Storage::allocate(nbytes), c = Storage::allocate(nbytes);
  std::memset(a->data(), 0, nbytes);
  std::memset(b->data(), 0, nbytes);
  double ns = fastest_ns(kProducts, [&] { product->run({a->data(), b->data(), nullptr, c->data()}); });
  return flops_of_product() / ns;
}

}  // namespace

Ceilings::Ceilings(int threads) {
  for (int64_t set = kSmallestSet; set <= kLargestSet; set *= kNextSet)
    copies_.push_back({static_cast<double>(set), copy_rate(set, threads)});
  for (DType dtype : kProductDTypes) products_.push_back({dtype, product_rate(dtype)});
  products_.push_back({DType::int8, byte_product_rate(threads)});
}

const Ceilings& Ceilings::measured() {
  static std::mutex mutex;
  // By number of threads; never destroyed: reports may be written while the process ends.
  static auto& known = *new std::map<int, std::unique_ptr<const Ceilings>>();
  int threads = get_num_threads();
  std::lock_guard lock(mutex);
  std::unique_ptr<const Ceilings>& found = known[threads];
  if (found == nullptr) found.reset(new Ceilings(threads));
  return *found;
}

// Between two measured sizes in proportion of their logarithms.
double Ceilings::bytes_per_ns(double working_set) const {
  auto above = std::find_if(copies_.begin(), copies_.end(),
                            [&](const CopyRate& copy) { return copy.working_set >= working_set; });
  if (above == copies_.begin()) return above->bytes_per_ns;
  if (above == copies_.end()) return copies_.back().bytes_per_ns;
  const CopyRate& below = above[-1];
  double part = std::log(working_set / below.working_set) / std::log(above->working_set / below.working_set);
  return below.bytes_per_ns + part * (above->bytes_per_ns - below.bytes_per_ns);
}

double Ceilings::flops_per_ns(DType dtype) const {
  for (const ProductRate& product : products_) {
    if (product.dtype == dtype && product.flops_per_ns > 0) return product.flops_per_ns;
  }
  return products_[0].flops_per_ns;
}

double Ceilings::least_ns(const Work& work) const {
  double copying = work.bytes > 0 ? work.bytes / bytes_per_ns(work.bytes) : 0;
  double rate = flops_per_ns(work.dtype);
  return rate > 0 ? std::max(copying, work.flops / rate) : copying;
}

}  // namespace md
