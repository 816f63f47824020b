// What the classes of targets cost: the negative of each chosen logarithm.
#include "tensor/dtype_dispatch.h"
#include "tensor/numeric_cast.h"
#include "tensor/ops/call_args.h"
#include "tensor/ops/kernels.h"
#include "tensor/parallel/threads.h"
#include "tensor/simd/copy.h"
#include "tensor/simd/loops.h"

namespace md {
namespace {

struct ClassDims {
  int64_t classes, inside;  // elements of a class that are adjacent
  int64_t ignored;
};

template <typename T>
void take_losses(const ClassDims& dims, const Tensor& input, const Tensor& target, std::span<Tensor> outs) {
  const T* logs = input.data<const T>();
  const int64_t* targets = target.data<const int64_t>();
  T *losses = outs[0].data<T>(), *kept = outs[1].data<T>();
  int64_t* places = outs[2].data<int64_t>();
  const T zero = numeric_cast<T>(0), one = numeric_cast<T>(1);
  parallel_for(target->numel(), 3, [&](int64_t begin, int64_t end) {
    int64_t row = begin / dims.inside, column = begin % dims.inside;
    for (int64_t i = begin; i < end; ++i) {
      bool is_kept = targets[i] != dims.ignored;
      int64_t place = is_kept ? targets[i] : 0;
      T log = is_kept ? logs[(row * dims.classes + place) * dims.inside + column] : zero;
      places[i] = place;
      kept[i] = is_kept ? one : zero;
      losses[i] = is_kept ? numeric_cast<T>(-comparable(log)) : zero;
      if (++column == dims.inside) {
        column = 0;
        ++row;
      }
    }
  });
}

}  // namespace

void class_losses_kernel(const OpCall& call, std::span<Tensor> outs) {
  Tensor input = as_contiguous(tensor_arg(call, 0), tensor_arg(call, 0)->dtype());
  Tensor target = as_contiguous(tensor_arg(call, 1), DType::int64);
  int dim = static_cast<int>(int_arg(call, 2));
  ClassDims dims = {input->sizes()[dim], 1, int_arg(call, 3)};
  for (int i = dim + 1; i < input->rank(); ++i) dims.inside *= input->sizes()[i];
  const int64_t* targets = target.data<const int64_t>();
  if (!loops().indices_fit(targets, target->numel(), dims.classes)) {
    for (int64_t i = 0; i < target->numel(); ++i)
      if (targets[i] != dims.ignored && (targets[i] < 0 || targets[i] >= dims.classes))
        raise(ErrorKind::Index, "Target ", targets[i], " is out of bounds.");
  }
  with_type(input->dtype(), [&]<typename T>() { take_losses<T>(dims, input, target, outs); });
}

}  // namespace md
