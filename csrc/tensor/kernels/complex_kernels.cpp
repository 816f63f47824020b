#include "tensor/kernels/complex_kernels.h"

#include <vector>

#include "tensor/dtype_dispatch.h"
#include "tensor/fill.h"
#include "tensor/kernels/reduction.h"
#include "tensor/numeric_cast.h"
#include "tensor/ops/shape_rules.h"
#include "tensor/parallel/threads.h"
#include "tensor/simd/copy.h"

namespace md {
namespace {

// The arguments with another argument 0, and without a dtype, which it has.
std::vector<Arg> with_self(const OpCall& call, const Tensor& self) {
  std::vector<Arg> args(call.args.begin(), call.args.end());
  args[0] = self;
  int dtype = call.row.schema.find("dtype");
  if (dtype >= 0) args[static_cast<size_t>(dtype)] = Arg();
  return args;
}

Tensor like_parts(const Tensor& out) {
  return Tensor::empty(TensorSpec::contiguous(part_dtype(out->dtype()), out->spec().sizes));
}

void add(const Tensor& a, const Tensor& b, const Tensor& out, bool minus = false) {
  static const OpRow* const rows[] = {find_op("add"), find_op("sub")};
  Arg args[] = {a, b, Scalar(int64_t{1})};
  Tensor result = out;
  pointwise_kernel({*rows[minus], args}, {&result, 1});
}

}  // namespace

Tensor part_of_complex(const Tensor& tensor, int part) {
  TensorSpec spec = tensor.spec();
  spec.dtype = part_dtype(spec.dtype);
  for (Dim& stride : spec.strides) stride = stride * Dim(2);
  return Tensor::view(tensor, spec, offset_in(spec.dtype, tensor->offset(), tensor->dtype()) + part);
}

void run_on_parts(Kernel kernel, const OpCall& call, const Tensor& out) {
  const Tensor& self = tensor_arg(call, 0);
  for (int part : {0, 1}) {
    Tensor result = like_parts(out);
    bool is_zero = part == 1 && !is_complex(self->dtype());
    if (is_zero) {
      zero_kernel(call, {&result, 1});
    } else {
      std::vector<Arg> args = with_self(call, is_complex(self->dtype()) ? part_of_complex(self, part) : self);
      kernel({call.row, args}, {&result, 1});
    }
    copy_elements(result, part_of_complex(out, part));
  }
}

void run_on_sum_of_parts(Kernel kernel, const OpCall& call, const Tensor& out) {
  Tensor results[2];
  for (int part : {0, 1}) {
    results[part] = like_parts(out);
    std::vector<Arg> args = with_self(call, part_of_complex(tensor_arg(call, 0), part));
    kernel({call.row, args}, {&results[part], 1});
  }
  add(results[0], results[1], out);
}

void complex_product(const OpCall& call, const Tensor& out) {
  Tensor self = as_contiguous(tensor_arg(call, 0), out->dtype());
  ReductionSpace space(self, reduced_dims(call, call.args[1], self->rank()));
  with_any_type(out->dtype(), [&]<typename T>() {
    if constexpr (is_complex_type<T>) {
      parallel_for(out->numel(), 2.0 * static_cast<double>(space.length()), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const char* data = space.result_data(i);
          T total{1, 0};
          for (int64_t k = 0; k < space.length(); ++k) {
            T factor = *reinterpret_cast<const T*>(data + space.inner().offset(0, k));
            total = {total.re * factor.re - total.im * factor.im, total.re * factor.im + total.im * factor.re};
          }
          out.data<T>()[i] = total;
        }
      });
    }
  });
}

void multiply_complex(const Tensor& left, const Tensor& right, const Tensor& out,
                      void (*multiply)(const Tensor& left, const Tensor& right, const Tensor& out)) {
  DType dtype = part_dtype(out->dtype());
  Tensor a[2], b[2];
  for (int part : {0, 1}) {
    a[part] = as_contiguous(part_of_complex(left, part), dtype);
    b[part] = as_contiguous(part_of_complex(right, part), dtype);
  }
  Tensor first = like_parts(out), second = like_parts(out);
  for (int part : {0, 1}) {
    multiply(a[0], b[part], first);
    multiply(a[1], b[1 - part], second);
    add(first, second, part_of_complex(out, part), part == 0);
  }
}

void complex_number_kernel(const OpCall& call, std::span<Tensor> outs) {
  double re = scalar_arg(call, 0).as_double(), im = scalar_arg(call, 1).as_double();
  DType dtype = part_dtype(outs[0]->dtype());
  store_scalar(dtype, Scalar(re), outs[0]->data());
  store_scalar(dtype, Scalar(im), outs[0].data<char>() + item_size(dtype));
}

void complex_kernel(const OpCall& call, std::span<Tensor> outs) {
  for (int part : {0, 1}) {
    Tensor target = part_of_complex(outs[0], part);
    Arg args[] = {target, tensor_arg(call, part), Scalar(false)};
    copy_into_kernel({call.row, args}, {&target, 1});
  }
}

}  // namespace md
