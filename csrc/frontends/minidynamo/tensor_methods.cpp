// Methods of Tensor that are not ops: reading values, conversions, gradient flags, pickling.
#include <cstring>
#include <iterator>

#include "cpython/imports.h"
#include "frontends/device_object.h"
#include "frontends/dtype_object.h"
#include "frontends/eager.h"
#include "frontends/foreign_tensors.h"
#include "frontends/minidynamo/dlpack.h"
#include "frontends/minidynamo/fast_call.h"
#include "frontends/minidynamo/op_dispatch.h"
#include "frontends/minidynamo/op_functions.h"
#include "frontends/minidynamo/tensor_data.h"
#include "frontends/minidynamo/tensor_dlpack.h"
#include "frontends/minidynamo/tensor_elements.h"
#include "frontends/minidynamo/tensor_gradients.h"
#include "frontends/minidynamo/tensor_interchange.h"
#include "frontends/minidynamo/tensor_object.h"
#include "frontends/minidynamo/tensor_slots.h"
#include "frontends/tensor_conversions.h"
#include "frontends/tensor_facts.h"
#include "tensor/shapes/memory_format.h"

namespace md {
namespace {

// ---- facts: one trampoline per row that is a method ----

constexpr size_t kMostFacts = 64;

template <size_t kFact>
PyObject* call_fact(PyObject* self, PyObject* const* args, Py_ssize_t arg_count, PyObject* kw_names) {
  return guarded([&] {
    size_t total = static_cast<size_t>(arg_count + (kw_names == nullptr ? 0 : PyTuple_GET_SIZE(kw_names)));
    return tensor_facts()[kFact].value(tensor_of(self).spec(), {args, total}, kw_names);
  });
}

template <size_t... kFacts>
void push_fact_methods(std::vector<PyMethodDef>& methods, std::index_sequence<kFacts...>) {
  constexpr FastCall kTrampolines[] = {call_fact<kFacts>...};
  std::span<const TensorFact> facts = tensor_facts();
  MD_ASSERT(facts.size() <= sizeof...(kFacts));
  for (size_t i = 0; i < facts.size(); ++i) {
    if (facts[i].is_method) methods.push_back(fast_method(facts[i].name, kTrampolines[i], facts[i].doc));
  }
}

// ---- conversions ----

Ref in_memory_format(PyObject* self, const Conversion& conversion) {
  const Tensor& tensor = tensor_of(self);
  bool same = tensor->dtype() == conversion.dtype;
  bool lies = suggested_format(tensor.spec()) == conversion.memory_format;
  if (same && !conversion.copy && lies) return Ref::share(self);
  Tensor cast = same ? tensor : apply_named("cast", {tensor, conversion.dtype});
  return wrap_tensor(apply_named("clone", {cast, std::string(conversion.memory_format)}));
}

Ref converted(PyObject* self, const Conversion& conversion) {
  if (!conversion.memory_format.empty()) return in_memory_format(self, conversion);
  const Tensor& tensor = tensor_of(self);
  bool same = tensor->dtype() == conversion.dtype;
  if (same && !conversion.copy) return Ref::share(self);
  return wrap_tensor(same ? apply_named("clone", {tensor}) : apply_named("cast", {tensor, conversion.dtype}));
}

template <size_t kMethodIndex>
PyObject* convert(PyObject* self, PyObject* const* args, Py_ssize_t arg_count, PyObject* kw_names) {
  return guarded([&] {
    const ConversionMethod& method = named_conversions()[kMethodIndex];
    BorrowedRef format = read_args(method.name, {"*", "memory_format?"}, args, arg_count, kw_names)[0];
    Conversion conversion{.dtype = method.dtype ? *method.dtype : tensor_of(self)->dtype()};
    if (format) set_memory_format(conversion, method.name, format);
    return converted(self, conversion);
  });
}

constexpr size_t kMostConversions = 16;

template <size_t... kIndexes>
void push_conversion_methods(std::vector<PyMethodDef>& methods, std::index_sequence<kIndexes...>) {
  constexpr FastCall kTrampolines[] = {convert<kIndexes>...};
  std::span<const ConversionMethod> table = named_conversions();
  MD_ASSERT(table.size() <= sizeof...(kIndexes));
  for (size_t i = 0; i < table.size(); ++i) {
    methods.push_back(
        fast_method(table[i].name, kTrampolines[i], "The tensor converted; itself when nothing changes."));
  }
}

PyObject* to(PyObject* self, PyObject* const* args, Py_ssize_t arg_count, PyObject* kw_names) {
  return guarded([&] {
    size_t total = static_cast<size_t>(arg_count + (kw_names == nullptr ? 0 : PyTuple_GET_SIZE(kw_names)));
    return converted(self, parse_to_call(tensor_of(self).spec(), {args, total}, kw_names));
  });
}

PyObject* type_as(PyObject* self, PyObject* const* args, Py_ssize_t arg_count, PyObject* kw_names) {
  return guarded([&] {
    BorrowedRef other = read_args("type_as", {"other"}, args, arg_count, kw_names)[0];
    if (!is_tensor(other)) {
      raise_no_tensor("type_as", "other", other);
    }
    return converted(self, {.dtype = tensor_of(other)->dtype()});
  });
}

// ---- comparisons of whole tensors ----

const Tensor& other_tensor(const char* method, BorrowedRef other) {
  if (is_tensor(other)) return tensor_of(other);
  raise_no_tensor(method, "other", other);
}

double tolerance(const char* name, BorrowedRef value, double when_left_out) {
  if (!value) return when_left_out;
  if (!PyFloat_Check(value.get()) && !PyLong_Check(value.get())) {
    raise(ErrorKind::Type, "allclose(): argument '", name, "' must be float, not ", value.type()->tp_name);
  }
  double number = PyFloat_AsDouble(value);
  if (number == -1.0 && PyErr_Occurred()) throw PythonError();
  return number;
}

bool all_true(const Tensor& tensor) {
  return PyObject_IsTrue(tensor_to_number(apply_named("all", {tensor}), "all")) == 1;
}

PyObject* equal(PyObject* self, PyObject* const* args, Py_ssize_t arg_count, PyObject* kw_names) {
  return guarded([&] {
    const Tensor& a = tensor_of(self);
    const Tensor& b = other_tensor("equal", read_args("equal", {"other"}, args, arg_count, kw_names)[0]);
    bool result = same(a.spec().sizes, b.spec().sizes) && all_true(apply_named("eq", {a, b}));
    return Ref::share(result ? Py_True : Py_False);
  });
}

// |a - b| <= atol + rtol * |b|, or the same infinity, or both NaN if equal_nan.
Tensor is_close(const Tensor& a, const Tensor& b, double rtol, double atol, bool equal_nan) {
  Tensor close = apply_named("eq", {a, b});
  if (equal_nan) {
    Tensor both_nan = apply_named("logical_and", {apply_named("isnan", {a}), apply_named("isnan", {b})});
    close = apply_named("logical_or", {close, both_nan});
  }
  bool is_bool = a->dtype() == DType::bool_;
  if (is_bool) return close;
  Tensor distance = apply_named("abs", {apply_named("sub", {a, b})});
  Tensor allowed = apply_named("add", {apply_named("mul", {apply_named("abs", {b}), Scalar(rtol)}), Scalar(atol)});
  Tensor near =
      apply_named("logical_and", {apply_named("le", {distance, allowed}), apply_named("isfinite", {distance})});
  return apply_named("logical_or", {close, near});
}

PyObject* allclose(PyObject* self, PyObject* const* args, Py_ssize_t arg_count, PyObject* kw_names) {
  return guarded([&] {
    std::vector<PyObject*> values =
        read_args("allclose", {"other", "rtol?", "atol?", "equal_nan?"}, args, arg_count, kw_names);
    const Tensor& a = tensor_of(self);
    const Tensor& b = other_tensor("allclose", values[0]);
    if (a->dtype() != b->dtype()) {
      raise(ErrorKind::Runtime, "allclose(): ", row(a->dtype()).name, " did not match ", row(b->dtype()).name);
    }
    Tensor close = is_close(a, b, tolerance("rtol", values[1], 1e-5), tolerance("atol", values[2], 1e-8),
                            read_bool("allclose", "equal_nan", values[3], false));
    return Ref::share(all_true(close) ? Py_True : Py_False);
  });
}

// ---- in-place views: the object becomes the view ----

struct InPlaceView {
  const char* name;
  const char* op;
};
constexpr InPlaceView kInPlaceViews[] = {{"t_", "t"},
                                         {"squeeze_", "squeeze"},
                                         {"unsqueeze_", "unsqueeze"},
                                         {"transpose_", "transpose"},
                                         {"swapaxes_", "transpose"},
                                         {"swapdims_", "transpose"}};

template <size_t kView>
PyObject* view_in_place(PyObject* self, PyObject* const* args, Py_ssize_t arg_count, PyObject* kw_names) {
  return guarded([&] {
    require_no_leaf_write(self);
    Ref view = check(dispatch(*find_op(kInPlaceViews[kView].op), self, args, arg_count, kw_names));
    replace_tensor(self, tensor_of(view));
    return Ref::share(self);
  });
}

template <size_t... kViews>
void push_in_place_views(std::vector<PyMethodDef>& methods, std::index_sequence<kViews...>) {
  constexpr FastCall kTrampolines[] = {view_in_place<kViews>...};
  for (size_t i = 0; i < sizeof...(kViews); ++i) {
    methods.push_back(fast_method(kInPlaceViews[i].name, kTrampolines[i],
                                  "The tensor itself, which becomes the view that the method without _ gives."));
  }
}

// ---- reading values ----

PyObject* item(PyObject* self, PyObject*) {
  return guarded([&] { return tensor_to_number(tensor_of(self), "item"); });
}
PyObject* to_complex(PyObject* self, PyObject*) {
  return guarded([&] {
    if (tensor_of(self)->numel() != 1)
      raise(ErrorKind::Value, "only one element tensors can be converted to Python scalars");
    Py_complex number = PyComplex_AsCComplex(tensor_to_number(tensor_of(self), "__complex__"));
    if (number.real == -1.0 && PyErr_Occurred()) throw PythonError();
    return check(PyComplex_FromCComplex(number));
  });
}
PyObject* is_traced(PyObject* self, PyObject*) { return PyBool_FromLong(tensor_of(self)->kind() != TensorKind::Real); }
PyObject* tolist(PyObject* self, PyObject*) {
  return guarded([&] { return tensor_to_list(tensor_of(self)); });
}
PyObject* data_ptr(PyObject* self, PyObject*) {
  return guarded([&] {
    require_data(tensor_of(self), "data_ptr");
    tensor_of(self)->storage()->mark_shared_with_outside();  // the address permits writes by others
    return check(PyLong_FromVoidPtr(tensor_of(self)->data()));
  });
}
PyObject* storage_offset(PyObject* self, PyObject*) { return PyLong_FromLongLong(tensor_of(self)->offset()); }

PyObject* numpy(PyObject* self, PyObject* const* args, Py_ssize_t arg_count, PyObject* kw_names) {
  return guarded([&] {
    BorrowedRef force = read_args("numpy", {"*", "force?"}, args, arg_count, kw_names)[0];
    return tensor_to_numpy(self, read_bool("numpy", "force", force, false));
  });
}

PyObject* array(PyObject* self, PyObject* const* args, Py_ssize_t arg_count, PyObject* kw_names) {
  return guarded([&] {
    std::vector<PyObject*> values = read_args("__array__", {"dtype?", "copy?"}, args, arg_count, kw_names);
    return tensor_to_array(self, values[0], values[1]);
  });
}

PyObject* dlpack_device(PyObject*, PyObject*) { return Py_BuildValue("(ii)", dlpack::kCpu, 0); }

bool asks_for_other_device(BorrowedRef device) {
  if (!device || device.get() == Py_None) return false;
  int type = 0, id = 0;
  if (!PyTuple_Check(device.get())) raise(ErrorKind::Type, "__dlpack__(): argument 'dl_device' must be a tuple");
  if (!PyArg_ParseTuple(device.get(), "ii", &type, &id)) throw PythonError();
  return type != dlpack::kCpu;
}

bool takes_versioned(BorrowedRef version) {
  if (!version || version.get() == Py_None) return false;
  int major = 0, minor = 0;
  if (!PyTuple_Check(version.get())) raise(ErrorKind::Type, "__dlpack__(): argument 'max_version' must be a tuple");
  if (!PyArg_ParseTuple(version.get(), "ii", &major, &minor)) throw PythonError();
  return major >= 1;
}

PyObject* to_dlpack(PyObject* self, PyObject* const* args, Py_ssize_t arg_count, PyObject* kw_names) {
  return guarded([&] {
    std::vector<PyObject*> values =
        read_args("__dlpack__", {"*", "stream?", "max_version?", "dl_device?", "copy?"}, args, arg_count, kw_names);
    if (values[0] != nullptr && values[0] != Py_None) {
      raise(ErrorKind::Runtime, "__dlpack__(): argument 'stream' must be None: the data is on the CPU");
    }
    if (asks_for_other_device(values[2])) {
      PyErr_SetString(PyExc_BufferError, "__dlpack__(): the data is on the CPU and stays there");
      throw PythonError();
    }
    bool copy = values[3] != nullptr && values[3] != Py_None && read_bool("__dlpack__", "copy", values[3], false);
    Tensor tensor = copy ? apply_named("clone", {tensor_of(self)}) : tensor_of(self);
    return tensor_to_dlpack(tensor, takes_versioned(values[1]), copy);
  });
}

// A 0-d tensor is formatted as its number.
PyObject* format(PyObject* self, PyObject* spec) {
  return guarded([&] {
    const Tensor& tensor = tensor_of(self);
    if (tensor->rank() == 0 && tensor->kind() == TensorKind::Real) {
      return check(PyObject_Format(tensor_to_number(tensor, "__format__"), spec));
    }
    if (PyUnicode_Check(spec) && PyUnicode_GetLength(spec) == 0) return check(PyObject_Str(self));
    raise(ErrorKind::Type, "unsupported format string passed to Tensor.__format__");
  });
}

// ---- gradients ----

PyObject* requires_grad_(PyObject* self, PyObject* const* args, Py_ssize_t arg_count, PyObject* kw_names) {
  return guarded([&] {
    BorrowedRef value = read_args("requires_grad_", {"requires_grad?"}, args, arg_count, kw_names)[0];
    set_requires_grad(self, read_bool("requires_grad_", "requires_grad", value, true),
                      "only Tensors of floating point dtype can require gradients");
    return Ref::share(self);
  });
}

// ---- copies ----

PyObject* new_tensor(PyObject* self, PyObject* const* args, Py_ssize_t arg_count, PyObject* kw_names) {
  return guarded([&] { return leaf_from_call("new_tensor", tensor_of(self)->dtype(), args, arg_count, kw_names); });
}

PyObject* reduce_ex(PyObject* self, PyObject*) {
  return guarded([&] {
    const Tensor& tensor = tensor_of(self);
    require_data(tensor, "__reduce_ex__");
    Ref rebuild = imported("minidynamo._C", "_rebuild_tensor");
    Ref bytes = tensor_to_bytes(tensor);
    Ref shape = find_tensor_fact("shape")->value(tensor.spec(), {}, nullptr);
    return check(Py_BuildValue("(O(ONOONO))", rebuild.get(), Py_TYPE(self), bytes.release(),
                               dtype_to_python(tensor->dtype()).get(), check(PySequence_Tuple(shape)).get(),
                               PyBool_FromLong(tensor.requires_grad()),
                               as_tensor_object(self)->dict ? as_tensor_object(self)->dict : Py_None));
  });
}

PyObject* make_subclass(PyObject*, PyObject* const* args, Py_ssize_t arg_count, PyObject* kw_names) {
  return guarded([&] {
    std::vector<PyObject*> values =
        read_args("_make_subclass", {"cls", "data", "require_grad?"}, args, arg_count, kw_names);
    bool is_subclass =
        PyType_Check(values[0]) && PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(values[0]), &tensor_type);
    if (!is_subclass) raise(ErrorKind::Type, "_make_subclass(): argument 'cls' must be a subclass of Tensor");
    if (!is_tensor(values[1])) {
      raise_no_tensor("_make_subclass", "data", values[1]);
    }
    Ref made = wrap_tensor_as(reinterpret_cast<PyTypeObject*>(values[0]), alias_of(tensor_of(values[1])));
    set_requires_grad(made, read_bool("_make_subclass", "require_grad", values[2], false),
                      "Only Tensors of floating point and complex dtype can require gradients");
    return made;
  });
}

// ---- attributes ----

PyObject* get_fact(PyObject* self, void* fact) {
  return guarded([&] { return static_cast<const TensorFact*>(fact)->value(tensor_of(self).spec(), {}, nullptr); });
}

int set_requires_grad_attribute(PyObject* self, PyObject* value, void*) {
  try {
    if (value == nullptr) raise(ErrorKind::Attribute, "requires_grad cannot be deleted");
    if (!PyBool_Check(value)) raise(ErrorKind::Runtime, "requires_grad must be a bool");
    set_requires_grad(self, value == Py_True, "only Tensors of floating point dtype can require gradients");
    return 0;
  } catch (...) {
    set_error_from_current_exception();
    return -1;
  }
}

PyObject* get_view(PyObject* self, void* name) {
  return guarded([&] { return view_attribute(self, static_cast<const char*>(name)); });
}
PyObject* get_data(PyObject* self, void*) {
  return guarded([&] { return wrap_tensor(alias_of(tensor_of(self))); });
}
PyObject* get_array_priority(PyObject*, void*) { return PyLong_FromLong(1000); }
PyObject* get_version(PyObject* self, void*) {
  return guarded([&] {
    const Tensor& tensor = tensor_of(self);
    if (tensor->kind() != TensorKind::Real) return check(PyLong_FromLong(0));
    return check(PyLong_FromUnsignedLongLong(tensor->version()));
  });
}
PyObject* increment_version(PyObject* self, PyObject*) {
  return guarded([&] {
    const Tensor& tensor = tensor_of(self);
    if (tensor->kind() == TensorKind::Real) tensor->storage()->bump_version();
    return Ref::share(Py_None);
  });
}

void push_own_methods(std::vector<PyMethodDef>& methods) {
  methods.push_back(
      {"__complex__", to_complex, METH_NOARGS, "__complex__() -> complex\n\nThe only element, as a complex number."});
  methods.push_back({"item", item, METH_NOARGS, "item() -> number\n\nThe only element, as a Python number."});
  methods.push_back({"_increment_version", increment_version, METH_NOARGS, "Counts a write that nothing else counts."});
  methods.push_back({"_is_traced", is_traced, METH_NOARGS, "Whether it is fake or recording: it has no values."});
  methods.push_back({"tolist", tolist, METH_NOARGS, "tolist() -> list or number\n\nThe elements as nested lists."});
  methods.push_back({"data_ptr", data_ptr, METH_NOARGS, "data_ptr() -> int\n\nThe address of the first element."});
  methods.push_back({"storage_offset", storage_offset, METH_NOARGS, "storage_offset() -> int\n\nIn elements."});
  methods.push_back(fast_method("equal", equal, "equal(other) -> bool\n\nThe same sizes and elements."));
  methods.push_back(fast_method("allclose", allclose,
                                "allclose(other, rtol=1e-05, atol=1e-08, equal_nan=False) -> bool\n\n"
                                "Whether all |self - other| <= atol + rtol * |other|."));
  methods.push_back(
      fast_method("numpy", numpy, "numpy(*, force=False) -> numpy.ndarray\n\nAn array over the same memory."));
  methods.push_back(fast_method("__array__", array, nullptr));
  methods.push_back(fast_method("__dlpack__", to_dlpack,
                                "__dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None) -> capsule\n\n"
                                "The memory as a DLPack capsule, for one consumer."));
  methods.push_back(
      {"__dlpack_device__", dlpack_device, METH_NOARGS, "__dlpack_device__() -> tuple\n\n(1, 0), the CPU."});
  methods.push_back({"__format__", format, METH_O, nullptr});
  methods.push_back(
      fast_method("to", to,
                  "to(dtype) / to(device, dtype=None) / to(other), non_blocking=False, copy=False -> Tensor\n\n"
                  "The tensor converted; itself when nothing changes."));
  methods.push_back(fast_method("type_as", type_as, "type_as(other) -> Tensor\n\nThe tensor in the dtype of another."));
  methods.push_back(
      fast_method("requires_grad_", requires_grad_,
                  "requires_grad_(requires_grad=True) -> Tensor\n\nSets requires_grad and gives the tensor back."));
  methods.push_back(fast_method("new_tensor", new_tensor,
                                "new_tensor(data, *, dtype=None, device=None, requires_grad=False) -> Tensor\n\n"
                                "A tensor from numbers or nested sequences, in the dtype of self."));
  for (const PyMethodDef& method : gradient_methods()) methods.push_back(method);
  methods.push_back({"__reduce_ex__", reduce_ex, METH_O, nullptr});
  PyMethodDef subclass =
      fast_method("_make_subclass", make_subclass,
                  "_make_subclass(cls, data, require_grad=False) -> Tensor\n\nA cls over the memory of a tensor.");
  subclass.ml_flags |= METH_STATIC;
  methods.push_back(subclass);
}

}  // namespace

PyMethodDef* tensor_methods() {
  static auto* methods = [] {
    auto* all = new std::vector<PyMethodDef>(op_method_defs());
    size_t op_count = all->size();
    push_fact_methods(*all, std::make_index_sequence<kMostFacts>());
    push_conversion_methods(*all, std::make_index_sequence<kMostConversions>());
    push_own_methods(*all);
    push_in_place_views(*all, std::make_index_sequence<std::size(kInPlaceViews)>());
    for (size_t i = op_count; i < all->size(); ++i) {
      PyMethodDef& def = (*all)[i];
      def.ml_doc = doc_with_signature(def.ml_name, def.ml_doc, !(def.ml_flags & METH_STATIC));
    }
    all->push_back({nullptr, nullptr, 0, nullptr});
    return all;
  }();
  return methods->data();
}

PyGetSetDef* tensor_getset() {
  static auto* attributes = [] {
    auto* all = new std::vector<PyGetSetDef>;
    for (const TensorFact& fact : tensor_facts()) {
      if (fact.is_method) continue;
      bool settable = std::strcmp(fact.name, "requires_grad") == 0;
      all->push_back({fact.name, get_fact, settable ? set_requires_grad_attribute : nullptr, fact.doc,
                      const_cast<TensorFact*>(&fact)});
    }
    for (const char* name : {"T", "mT", "H", "mH"}) {
      all->push_back({name, get_view, nullptr, "A transposed view.", const_cast<char*>(name)});
    }
    all->push_back({"real", get_view, nullptr, "The real parts.", const_cast<char*>("real")});
    all->push_back({"imag", get_view, nullptr, "The imaginary parts of complex numbers.", const_cast<char*>("imag")});
    all->push_back({"data", get_data, nullptr, "A tensor over the same memory that requires no grad.", nullptr});
    all->push_back({"grad", get_grad, set_grad, "The gradient that backward() accumulated, or None.", nullptr});
    all->push_back({"grad_fn", get_grad_fn, nullptr, "The node that computed it; None for a leaf.", nullptr});
    all->push_back({"is_leaf", get_is_leaf, nullptr, "Whether no op with gradients made it.", nullptr});
    all->push_back(
        {"retains_grad", get_retains_grad, nullptr, "Whether backward() sets grad though it is no leaf.", nullptr});
    all->push_back({"output_nr", get_output_nr, nullptr, "Which result of grad_fn it is.", nullptr});
    all->push_back(
        {"_base", get_base, nullptr, "The tensor that it is a view of, as far as gradients need that.", nullptr});
    all->push_back({"_version", get_version, nullptr, "How often its storage was written in place.", nullptr});
    all->push_back({"__array_priority__", get_array_priority, nullptr, nullptr, nullptr});
    all->push_back({"__dict__", tensor_get_dict, tensor_set_dict, nullptr, nullptr});
    all->push_back({nullptr, nullptr, nullptr, nullptr, nullptr});
    return all;
  }();
  return attributes->data();
}

}  // namespace md
