#include "frontends/tensor_facts.h"

#include <string>

#include "base/error.h"
#include "cpython/text.h"
#include "frontends/device_object.h"
#include "frontends/dtype_object.h"
#include "frontends/layout_object.h"
#include "frontends/memory_format_object.h"
#include "frontends/size_object.h"
#include "tensor/shapes/memory_format.h"

namespace md {
namespace {

using Args = std::span<PyObject* const>;

Ref python_bool(bool value) { return Ref::share(value ? Py_True : Py_False); }
Ref python_int(int64_t value) { return check(PyLong_FromLongLong(value)); }

void require_no_args(const char* name, Args args, PyObject* kw_names) {
  size_t keywords = kw_names == nullptr ? 0 : PyTuple_GET_SIZE(kw_names);
  if (!args.empty() || keywords > 0) {
    raise(ErrorKind::Type, name, "() takes no arguments (", args.size() + keywords, " given)");
  }
}

// args: positional values, then keyword values. None counts as omitted.
std::optional<int64_t> optional_dim(const char* name, Args args, PyObject* kw_names) {
  size_t keywords = kw_names == nullptr ? 0 : PyTuple_GET_SIZE(kw_names);
  for (size_t i = 0; i < keywords; ++i) {
    std::string keyword = text_of(PyTuple_GET_ITEM(kw_names, static_cast<Py_ssize_t>(i)));
    if (keyword != "dim") {
      raise(ErrorKind::Type, name, "() got an unexpected keyword argument '", keyword, "'");
    }
  }
  if (args.size() > 1) {
    raise(ErrorKind::Type, name, "() takes at most 1 argument: 'dim' (", args.size(), " given)");
  }
  if (args.empty() || args[0] == Py_None) return std::nullopt;
  if (PyBool_Check(args[0]) || !PyIndex_Check(args[0])) {
    raise(ErrorKind::Type, name, "(): argument 'dim' must be int, not ", Py_TYPE(args[0])->tp_name);
  }
  Py_ssize_t dim = PyNumber_AsSsize_t(args[0], PyExc_IndexError);
  if (dim == -1 && PyErr_Occurred()) throw PythonError();
  return dim;
}

int wrap_dim(const char* name, int64_t dim, int rank) {
  int64_t bound = rank == 0 ? 1 : rank;
  if (dim < -bound || dim >= bound) {
    raise(ErrorKind::Index, name, "(): Dimension out of range (expected to be in range of [", -bound, ", ", bound - 1,
          "], but got ", dim, ")");
  }
  return static_cast<int>(dim < 0 ? dim + bound : dim);
}

Ref one_or_all(const char* name, const TensorSpec& spec, const DimVec& dims, Args args, PyObject* kw_names,
               Ref (*all)(std::span<const Dim>)) {
  std::optional<int64_t> dim = optional_dim(name, args, kw_names);
  if (!dim) return all(dims.span());
  int at = wrap_dim(name, *dim, spec.rank());
  if (spec.rank() == 0) {
    raise(ErrorKind::Index, name, "(): Dimension specified as ", *dim, " but tensor has no dimensions");
  }
  return python_int(dims[at].value());
}

Ref tuple_from_dims(std::span<const Dim> dims) {
  Ref tuple = check(PyTuple_New(static_cast<Py_ssize_t>(dims.size())));
  for (size_t i = 0; i < dims.size(); ++i) {
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), python_int(dims[i].value()).release());
  }
  return tuple;
}

Ref shape(const TensorSpec& spec, Args, PyObject*) { return size_from_dims(spec.sizes.span()); }
Ref dtype(const TensorSpec& spec, Args, PyObject*) { return Ref::share(dtype_to_python(spec.dtype)); }
Ref device(const TensorSpec&, Args, PyObject*) { return Ref::share(cpu_device()); }
Ref layout(const TensorSpec&, Args, PyObject*) { return Ref::share(layout_object("strided")); }
Ref rank(const TensorSpec& spec, Args, PyObject*) { return python_int(spec.rank()); }
Ref requires_grad(const TensorSpec& spec, Args, PyObject*) { return python_bool(spec.requires_grad); }
Ref itemsize(const TensorSpec& spec, Args, PyObject*) {
  return python_int(static_cast<int64_t>(item_size(spec.dtype)));
}
Ref nbytes(const TensorSpec& spec, Args, PyObject*) {
  return python_int(spec.numel().value() * static_cast<int64_t>(item_size(spec.dtype)));
}
Ref no(const TensorSpec&, Args, PyObject*) { return python_bool(false); }
Ref yes(const TensorSpec&, Args, PyObject*) { return python_bool(true); }

Ref size(const TensorSpec& spec, Args args, PyObject* kw_names) {
  return one_or_all("size", spec, spec.sizes, args, kw_names, size_from_dims);
}
Ref stride(const TensorSpec& spec, Args args, PyObject* kw_names) {
  return one_or_all("stride", spec, spec.strides, args, kw_names, tuple_from_dims);
}
Ref dim(const TensorSpec& spec, Args args, PyObject* kw_names) {
  require_no_args("dim", args, kw_names);
  return python_int(spec.rank());
}
Ref numel(const TensorSpec& spec, Args args, PyObject* kw_names) {
  require_no_args("numel", args, kw_names);
  return python_int(spec.numel().value());
}
Ref element_size(const TensorSpec& spec, Args args, PyObject* kw_names) {
  require_no_args("element_size", args, kw_names);
  return itemsize(spec, args, kw_names);
}
Ref is_contiguous(const TensorSpec& spec, Args args, PyObject* kw_names) {
  if (args.empty()) return python_bool(spec.is_contiguous());
  size_t keywords = kw_names == nullptr ? 0 : PyTuple_GET_SIZE(kw_names);
  bool named = keywords == 1 && text_of(PyTuple_GET_ITEM(kw_names, 0)) == "memory_format";
  std::string_view format = memory_format_name(args[0]);
  if (args.size() != 1 || !named || format.empty()) {
    raise(ErrorKind::Type, "is_contiguous() takes one argument, memory_format, given by name");
  }
  return python_bool(lies_in_format(spec, format));
}
Ref is_floating_point(const TensorSpec& spec, Args args, PyObject* kw_names) {
  require_no_args("is_floating_point", args, kw_names);
  return python_bool(is_floating(spec.dtype));
}
Ref is_complex_dtype(const TensorSpec& spec, Args args, PyObject* kw_names) {
  require_no_args("is_complex", args, kw_names);
  return python_bool(is_complex(spec.dtype));
}
Ref is_signed(const TensorSpec& spec, Args args, PyObject* kw_names) {
  require_no_args("is_signed", args, kw_names);
  return python_bool(spec.dtype != DType::bool_ && spec.dtype != DType::uint8);
}
template <const char* name>
Ref never(const TensorSpec&, Args args, PyObject* kw_names) {
  require_no_args(name, args, kw_names);
  return python_bool(false);
}
constexpr char kIsConj[] = "is_conj", kIsNeg[] = "is_neg", kIsPinned[] = "is_pinned", kIsShared[] = "is_shared",
               kIsDistributed[] = "is_distributed";
Ref get_device(const TensorSpec&, Args args, PyObject* kw_names) {
  require_no_args("get_device", args, kw_names);
  return python_int(-1);
}

using Sizes = TensorFact::Sizes;

constexpr TensorFact kFacts[] = {
    {"shape", false, Sizes::Nothing, shape, "The sizes, as a minidynamo.Size."},
    {"dtype", false, Sizes::Nothing, dtype, "The type of the elements."},
    {"device", false, Sizes::Nothing, device, "Where the elements are: device(type='cpu')."},
    {"layout", false, Sizes::Nothing, layout, "How the elements are kept: always minidynamo.strided."},
    {"ndim", false, Sizes::Nothing, rank, "The number of dimensions."},
    {"requires_grad", false, Sizes::Nothing, requires_grad,
     "Whether gradients are wanted; settable on floating tensors."},
    {"itemsize", false, Sizes::Nothing, itemsize, "Bytes of one element."},
    {"nbytes", false, Sizes::Bytes, nbytes, "Bytes of all elements."},
    {"is_cpu", false, Sizes::Nothing, yes, "Always True."},
    {"is_cuda", false, Sizes::Nothing, no, "Always False."},
    {"is_sparse", false, Sizes::Nothing, no, "Always False."},
    {"is_quantized", false, Sizes::Nothing, no, "Always False."},
    {"is_meta", false, Sizes::Nothing, no, "Always False."},
    {"is_xpu", false, Sizes::Nothing, no, "Always False."},
    {"is_mps", false, Sizes::Nothing, no, "Always False."},
    {"is_mtia", false, Sizes::Nothing, no, "Always False."},
    {"is_ipu", false, Sizes::Nothing, no, "Always False."},
    {"is_xla", false, Sizes::Nothing, no, "Always False."},
    {"is_maia", false, Sizes::Nothing, no, "Always False."},
    {"is_vulkan", false, Sizes::Nothing, no, "Always False."},
    {"is_mkldnn", false, Sizes::Nothing, no, "Always False."},
    {"is_nested", false, Sizes::Nothing, no, "Always False."},
    {"is_sparse_csr", false, Sizes::Nothing, no, "Always False."},
    {"size", true, Sizes::All, size, "size(dim=None) -> Size or int\n\nThe sizes, or the size of one dimension."},
    {"stride", true, Sizes::Nothing, stride,
     "stride(dim=None) -> tuple or int\n\nThe strides in elements, or one of them."},
    {"dim", true, Sizes::Nothing, dim, "dim() -> int\n\nThe number of dimensions."},
    {"ndimension", true, Sizes::Nothing, dim, "ndimension() -> int\n\nThe number of dimensions."},
    {"numel", true, Sizes::Count, numel, "numel() -> int\n\nThe number of elements."},
    {"nelement", true, Sizes::Count, numel, "nelement() -> int\n\nThe number of elements."},
    {"element_size", true, Sizes::Nothing, element_size, "element_size() -> int\n\nBytes of one element."},
    {"is_contiguous", true, Sizes::Nothing, is_contiguous,
     "is_contiguous(*, memory_format=contiguous_format) -> bool\n\nWhether the elements lie in row-major order, or in "
     "a format."},
    {"is_floating_point", true, Sizes::Nothing, is_floating_point, "is_floating_point() -> bool"},
    {"is_complex", true, Sizes::Nothing, is_complex_dtype, "is_complex() -> bool"},
    {"is_signed", true, Sizes::Nothing, is_signed, "is_signed() -> bool"},
    {kIsConj, true, Sizes::Nothing, never<kIsConj>, "is_conj() -> bool\n\nAlways False."},
    {kIsNeg, true, Sizes::Nothing, never<kIsNeg>, "is_neg() -> bool\n\nAlways False."},
    {kIsPinned, true, Sizes::Nothing, never<kIsPinned>, "is_pinned() -> bool\n\nAlways False."},
    {kIsShared, true, Sizes::Nothing, never<kIsShared>, "is_shared() -> bool\n\nAlways False."},
    {kIsDistributed, true, Sizes::Nothing, never<kIsDistributed>, "is_distributed() -> bool\n\nAlways False."},
    {"get_device", true, Sizes::Nothing, get_device, "get_device() -> int\n\nAlways -1, the CPU's number."},
};

constexpr ViewAttribute kViewAttributes[] = {{"T", "t"},           {"mT", "mT"},       {"H", "H"},
                                             {"mH", "mH"},         {"data", "detach"}, {"real", "real_part"},
                                             {"imag", "imag_part"}};

}  // namespace

std::span<const TensorFact> tensor_facts() { return kFacts; }
std::span<const ViewAttribute> view_attributes() { return kViewAttributes; }

const TensorFact* find_tensor_fact(std::string_view name) {
  for (const TensorFact& fact : kFacts) {
    if (name == fact.name) return &fact;
  }
  return nullptr;
}

const OpRow* find_tensor_view_attribute(std::string_view name) {
  for (const ViewAttribute& attribute : kViewAttributes) {
    if (name == attribute.name) return find_op(attribute.op);
  }
  return nullptr;
}

}  // namespace md
