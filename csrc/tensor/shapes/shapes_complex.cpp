// Shape rules of complex numbers: their parts as views, and what is made of parts.
#include "tensor/ops/shape_rules.h"
#include "tensor/ops/write_op.h"
#include "tensor/shapes/shape_support.h"

namespace md {
namespace {

void require_complex(const OpCall& call) {
  if (is_complex(self_spec(call).dtype)) return;
  raise_op(ErrorKind::Runtime, python_name(call.row), "is only supported for complex tensors", operand_shapes(call));
}

// One of the two floats of each element.
OutSpec part_of(const TensorSpec& self, int part) {
  OutSpec out;
  out.spec.dtype = part_dtype(self.dtype);
  out.spec.sizes = self.sizes;
  for (Dim stride : self.strides) out.spec.strides.push_back(stride * Dim(2));
  out.view_offset = part;
  return out;
}

}  // namespace

void real_part_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& self = self_spec(call);
  if (is_complex(self.dtype)) return outs.push_back(part_of(self, 0));
  outs.push_back({self, 0});
}

void imag_part_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  if (!is_complex(self_spec(call).dtype))
    raise_op(ErrorKind::Runtime, "imag", "is not implemented for tensors with non-complex dtypes.");
  outs.push_back(part_of(self_spec(call), 1));
}

void view_as_real_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  require_complex(call);
  OutSpec out = part_of(self_spec(call), 0);
  out.spec.sizes.push_back(2);
  out.spec.strides.push_back(1);
  outs.push_back(std::move(out));
}

void view_as_complex_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& self = self_spec(call);
  int last = self.rank() - 1;
  if (self.dtype != DType::float32 && self.dtype != DType::float64)
    raise_op(ErrorKind::Runtime, call.row.name, "is only supported for floats, but got a tensor of dtype ",
             row(self.dtype).name);
  if (last < 0 || !known_equal(self.sizes[last], 2))
    raise_op(ErrorKind::Runtime, call.row.name, "Tensor must have a last dimension of size 2; shape ",
             str(self.sizes.span()));
  if (!known_equal(self.strides[last], 1))
    raise_op(ErrorKind::Runtime, call.row.name, "Tensor must have a last dimension with stride 1");
  OutSpec out;
  out.spec.dtype = complex_dtype(self.dtype);
  for (int i = 0; i < last; ++i) {
    if (self.strides[i].is_symbolic() || self.strides[i].value() % 2 != 0)
      raise_op(ErrorKind::Runtime, call.row.name,
               "Tensor must have a stride divisible by 2 for all but last dimension");
    out.spec.sizes.push_back(self.sizes[i]);
    out.spec.strides.push_back(self.strides[i].value() / 2);
  }
  const Tensor& tensor = tensor_arg(call, 0);
  if (tensor->kind() == TensorKind::Real && tensor->offset() % 2 != 0)
    raise_op(ErrorKind::Runtime, call.row.name, "Tensor must have a storage_offset divisible by 2");
  outs.push_back(std::move(out));
}

void complex_number_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  DType dtype = arg_as<DType>(call, 2);
  if (!is_complex(dtype))
    raise_op(ErrorKind::Runtime, call.row.name, row(dtype).name, " is no dtype of complex numbers");
  push_contiguous(outs, dtype, {});
}

void complex_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const Tensor* tensors[] = {&tensor_arg(call, 0), &tensor_arg(call, 1)};
  DType dtype = self_spec(call).dtype;
  if (dtype != DType::float32 && dtype != DType::float64)
    raise_op(ErrorKind::Runtime, call.row.name, "Expected both inputs to be Float or Double tensors but got ",
             scalar_type_name(dtype), " and ", scalar_type_name((*tensors[1])->dtype()));
  push_contiguous(outs, complex_dtype(dtype), broadcast_sizes(call, tensors));
}

}  // namespace md
