// How often each number of a range occurs.
#include <algorithm>
#include <vector>

#include "tensor/ops/call_args.h"
#include "tensor/ops/kernels.h"
#include "tensor/parallel/threads.h"
#include "tensor/simd/copy.h"
#include "tensor/simd/loops.h"

namespace md {
namespace {

constexpr int64_t kFewBins = 4096, kTables = 4;

void count_in(const int64_t* values, int64_t n, int64_t* counts) {
  for (int64_t i = 0; i < n; ++i) ++counts[values[i]];
}

// Equal numbers in a row are counted in different tables: no addition waits for the one before.
void count_in_tables(const int64_t* values, int64_t n, int64_t size, int64_t* counts) {
  std::vector<int64_t> tables(static_cast<size_t>(kTables * size));
  int64_t i = 0;
  for (; i + kTables <= n; i += kTables)
    for (int64_t k = 0; k < kTables; ++k) ++tables[static_cast<size_t>(k * size + values[i + k])];
  count_in(values + i, n - i, tables.data());
  for (int64_t at = 0; at < size; ++at)
    for (int64_t k = 0; k < kTables; ++k) counts[at] += tables[static_cast<size_t>(k * size + at)];
}

}  // namespace

void bin_counts_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Tensor& out = outs[0];
  int64_t size = out->numel();
  Tensor values = as_contiguous(tensor_arg(call, 0), DType::int64);
  const int64_t* data = values.data<const int64_t>();
  int64_t n = values->numel();
  if (!loops().indices_fit(data, n, size))
    raise_op(ErrorKind::Runtime, call.row.name, "a number is not in [0, ", size, ")");
  int64_t* counts = out.data<int64_t>();
  std::fill_n(counts, size, 0);
  // A table for each stretch, if adding up the tables is little work.
  constexpr int64_t kStretch = 1 << 16;
  int64_t stretches = size <= kFewBins ? std::clamp<int64_t>(n / kStretch, 1, 16) : 1;
  if (stretches == 1)
    return size <= kFewBins && n > kTables * size ? count_in_tables(data, n, size, counts) : count_in(data, n, counts);
  std::vector<int64_t> parts(static_cast<size_t>(stretches * size));
  parallel_for(stretches, static_cast<double>(n) / static_cast<double>(stretches), [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      int64_t first = n * part / stretches, last = n * (part + 1) / stretches;
      count_in_tables(data + first, last - first, size, parts.data() + part * size);
    }
  });
  for (int64_t part = 0; part < stretches; ++part)
    for (int64_t at = 0; at < size; ++at) counts[at] += parts[static_cast<size_t>(part * size + at)];
}

}  // namespace md
