// Special functions: computed in double, and rounded once to the result's dtype; some of float in float.
#include <algorithm>

#include "tensor/ops/call_args.h"
#include "tensor/ops/kernels.h"
#include "tensor/parallel/threads.h"
#include "tensor/simd/copy.h"
#include "tensor/simd/loops.h"
#include "tensor/simd/special_table.h"

namespace md {
namespace {

void apply(Special function, const Tensor& input, const Tensor& out) {
  constexpr int64_t kTile = 256;
  constexpr double kNs = 8;
  // A result without gaps has the strides of its operand where that has none either.
  Tensor self = input;
  if (!same(input->spec().strides, out->spec().strides)) {
    self = Tensor::empty(out->spec());
    copy_elements(input, self);
  }
  const SpecialTable& table = *loops().specials;
  bool is_double = self->dtype() == DType::float64;
  SpecialLoop run = (is_double ? table.loops : table.short_loops)[static_cast<int>(function)];
  FloatSpecialLoop run_floats = table.float_loops[static_cast<int>(function)];
  if (self->dtype() == DType::float32 && run_floats != nullptr) {
    return parallel_for(self->numel(), 2, [&](int64_t begin, int64_t end) {
      run_floats(self.data<const float>() + begin, out.data<float>() + begin, end - begin);
    });
  }
  auto from = static_cast<size_t>(self->dtype()), to = static_cast<size_t>(DType::float64);
  ConvertLoop widen = loops().convert[from][to], narrow = loops().convert[to][from];
  auto item = static_cast<int64_t>(item_size(self->dtype()));
  int64_t count = self->numel();
  parallel_for((count + kTile - 1) / kTile, kNs * kTile, [&](int64_t begin, int64_t end) {
    alignas(64) double values[kTile];
    for (int64_t at = begin * kTile; at < std::min(count, end * kTile); at += kTile) {
      int64_t n = std::min(kTile, count - at);
      widen(self.data<char>() + at * item, values, n);
      run(values, values, n);
      narrow(values, out.data<char>() + at * item, n);
    }
  });
}

}  // namespace

#define MD_SPECIAL(name)                                                     \
  void special_##name##_kernel(const OpCall& call, std::span<Tensor> outs) { \
    apply(Special::name, tensor_arg(call, 0), outs[0]);                      \
  }
#include "tensor/simd/special_functions.def"
#undef MD_SPECIAL

}  // namespace md
