// Shape rules of matrix products.
#include "tensor/ops/call_args.h"
#include "tensor/ops/shape_rules.h"
#include "tensor/shapes/shape_support.h"

namespace md {
namespace {

std::string shapes(const TensorSpec& a, const TensorSpec& b) {
  return str_cat(str(a.sizes.span()), " and ", str(b.sizes.span()));
}

// Dtypes must be equal: promotion does not cast the operands of a product.
void check_dtypes(const OpCall& call, const TensorSpec& a, const TensorSpec& b) {
  if (a.dtype != b.dtype) {
    raise_op(ErrorKind::Runtime, call.row.name,
             "expected m1 and m2 to have the same dtype, but got: ", row(a.dtype).name, " != ", row(b.dtype).name);
  }
  if (a.dtype == DType::bool_) raise_op(ErrorKind::NotImplemented, call.row.name, "not implemented for 'bool'");
}

void check_inner(const OpCall& call, const TensorSpec& a, const TensorSpec& b, int b_dim) {
  Dim left = a.sizes[a.rank() - 1];
  Dim right = b.sizes[b_dim];
  if (known_equal(left, right)) return;
  const std::vector<Param>& params = call.row.schema.params;
  bool addmm = params.size() > 2 && params[2].name == "mat2";
  raise_op(ErrorKind::Runtime, call.row.name, "last dim of ", params[addmm ? 1 : 0].name, " ", str(a.sizes.span()),
           " must equal dim ", b_dim - b.rank(), " of ", params[addmm ? 2 : 1].name, " ", str(b.sizes.span()),
           ": mat1 and mat2 shapes cannot be multiplied");
}

void check_rank(const OpCall& call, int arg, int rank, const char* what) {
  const TensorSpec& spec = tensor_arg(call, arg).spec();
  if (spec.rank() == rank) return;
  raise_op(ErrorKind::Runtime, call.row.name, call.row.schema.params[static_cast<size_t>(arg)].name, " must be a ",
           what, ", but its shape is ", str(spec.sizes.span()));
}

}  // namespace

void mm_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  check_rank(call, 0, 2, "matrix");
  check_rank(call, 1, 2, "matrix");
  const TensorSpec& a = tensor_arg(call, 0).spec();
  const TensorSpec& b = tensor_arg(call, 1).spec();
  check_inner(call, a, b, 0);
  check_dtypes(call, a, b);
  push_contiguous(outs, a.dtype, {a.sizes[0], b.sizes[1]});
}

void bmm_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  check_rank(call, 0, 3, "3D tensor");
  check_rank(call, 1, 3, "3D tensor");
  const TensorSpec& a = tensor_arg(call, 0).spec();
  const TensorSpec& b = tensor_arg(call, 1).spec();
  if (!known_equal(a.sizes[0], b.sizes[0])) {
    raise_op(ErrorKind::Runtime, call.row.name, "batch sizes must be equal, but the shapes are ", shapes(a, b));
  }
  check_inner(call, a, b, 1);
  check_dtypes(call, a, b);
  push_contiguous(outs, a.dtype, {a.sizes[0], a.sizes[1], b.sizes[2]});
}

void matmul_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& a = tensor_arg(call, 0).spec();
  const TensorSpec& b = tensor_arg(call, 1).spec();
  if (a.rank() == 0 || b.rank() == 0) {
    raise_op(ErrorKind::Runtime, call.row.name, "both arguments to matmul need to be at least 1D, but they are ",
             a.rank(), "D and ", b.rank(), "D; shapes ", shapes(a, b));
  }
  check_inner(call, a, b, b.rank() == 1 ? 0 : b.rank() - 2);
  check_dtypes(call, a, b);
  // Batch dims are broadcast.
  DimVec sizes;
  for (const TensorSpec* spec : {&a, &b}) {
    int batch = spec->rank() - 2;
    while (sizes.size() < batch) sizes.insert(0, 1);
    for (int i = 0; i < batch; ++i) {
      Dim& into = sizes[sizes.size() - batch + i];
      if (same(into, Dim(1))) {
        into = spec->sizes[i];
        continue;
      }
      if (expands_to(spec->sizes[i], into)) continue;
      if (!known_equal(into, 1)) {
        raise_op(ErrorKind::Runtime, call.row.name, "The size of tensor a (", into.str(),
                 ") must match the size of tensor b (", spec->sizes[i].str(), ") at the batch dims of shapes ",
                 shapes(a, b));
      }
      into = spec->sizes[i];
    }
  }
  if (a.rank() > 1) sizes.push_back(a.sizes[a.rank() - 2]);
  if (b.rank() > 1) sizes.push_back(b.sizes[b.rank() - 1]);
  push_contiguous(outs, a.dtype, std::move(sizes));
}

void addmm_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  check_rank(call, 1, 2, "matrix");
  check_rank(call, 2, 2, "matrix");
  const TensorSpec& self = tensor_arg(call, 0).spec();
  const TensorSpec& a = tensor_arg(call, 1).spec();
  const TensorSpec& b = tensor_arg(call, 2).spec();
  check_inner(call, a, b, 0);
  check_dtypes(call, a, b);
  check_dtypes(call, self, a);
  DimVec sizes{a.sizes[0], b.sizes[1]};
  bool fits = self.rank() <= 2;
  for (int i = 0; fits && i < self.rank(); ++i) {
    fits = expands_to(self.sizes[i], sizes[2 - self.rank() + i]);
  }
  if (!fits) {
    raise_op(ErrorKind::Runtime, call.row.name, "self of shape ", str(self.sizes.span()), " must be expandable to ",
             str(sizes.span()));
  }
  push_contiguous(outs, a.dtype, std::move(sizes));
}

void linear_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& input = tensor_arg(call, 0).spec();
  const TensorSpec& weight = tensor_arg(call, 1).spec();
  if (input.rank() == 0 || weight.rank() == 0 || weight.rank() > 2) {
    raise_op(ErrorKind::Runtime, call.row.name, "input must be at least 1D and weight 1D or 2D, but the shapes are ",
             shapes(input, weight));
  }
  check_inner(call, input, weight, weight.rank() - 1);
  check_dtypes(call, input, weight);
  DimVec sizes = input.sizes;
  sizes.resize(sizes.size() - 1);
  if (weight.rank() == 2) sizes.push_back(weight.sizes[0]);
  if (!arg_is_none(call, 2)) {
    const TensorSpec& bias = tensor_arg(call, 2).spec();
    check_dtypes(call, input, bias);
    bool fits = bias.rank() <= 1;
    if (bias.rank() == 1) {
      fits = weight.rank() == 2 ? expands_to(bias.sizes[0], weight.sizes[0])
                                : known_equal(bias.sizes[0], 1) && !sizes.empty();
    }
    if (!fits) {
      raise_op(ErrorKind::Runtime, call.row.name, "bias of shape ", str(bias.sizes.span()),
               " must be expandable to the result of input ", str(input.sizes.span()), " and weight ",
               str(weight.sizes.span()));
    }
  }
  push_contiguous(outs, input.dtype, std::move(sizes));
}

}  // namespace md
