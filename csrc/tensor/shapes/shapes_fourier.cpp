// The shape rule of Fourier transforms: by the types of operand and result, which the row's name says.
#include "tensor/ops/call_args.h"
#include "tensor/ops/shape_rules.h"

namespace md {

void fourier_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& x = tensor_arg(call, 0).spec();
  bool from_complex = call.row.has(kTakesComplex), to_real = call.row.schema.find("size") >= 0;
  bool is_wide_float = x.dtype == DType::float32 || x.dtype == DType::float64;
  if (x.rank() < 1 || (from_complex ? !is_complex(x.dtype) : !is_wide_float))
    raise_op(ErrorKind::Runtime, call.row.name, "Unsupported dtype ", row(x.dtype).name, operand_shapes(call));
  DimVec sizes = x.sizes;
  Dim& last = sizes[x.rank() - 1];
  if (to_real) last = dim_arg(call, 1);
  if (!from_complex) last = floor_divide(last, 2) + 1;
  DType dtype = to_real ? part_dtype(x.dtype) : from_complex ? x.dtype : complex_dtype(x.dtype);
  outs.push_back({TensorSpec::contiguous(dtype, std::move(sizes)), 0});
}

}  // namespace md
