// Functions of minidynamo that are not ops: tensors from data, dtypes, modes, threads.
#include "frontends/minidynamo/tensor_functions.h"
#include "frontends/minidynamo/grad_node_object.h"
#include "frontends/minidynamo/node_notes.h"
#include "frontends/minidynamo/saved_tensor_object.h"
#include "frontends/minidynamo/tensor_gradients.h"

#include <algorithm>

#include "frontends/autocast.h"
#include "frontends/device_object.h"
#include "frontends/dtype_object.h"
#include "frontends/eager.h"
#include "frontends/family_api.h"
#include "frontends/foreign_tensors.h"
#include "frontends/layout_object.h"
#include "frontends/memory_format_object.h"
#include "frontends/minidynamo/extension_api.h"
#include "frontends/minidynamo/family.h"
#include "frontends/minidynamo/fast_call.h"
#include "frontends/minidynamo/generator_object.h"
#include "frontends/minidynamo/op_functions.h"
#include "frontends/minidynamo/random_bytes.h"
#include "frontends/minidynamo/tensor_buffer.h"
#include "frontends/minidynamo/tensor_data.h"
#include "frontends/minidynamo/tensor_dlpack.h"
#include "frontends/minidynamo/tensor_object.h"
#include "frontends/promotion.h"
#include "frontends/size_object.h"
#include "tensor/kernels/random.h"
#include "tensor/ops/op_row.h"
#include "tensor/parallel/threads.h"
#include "tensor/shapes/memory_format.h"
#include "tensor/tensor_modes.h"

namespace md {
namespace {

// ---- tensors from data ----

PyObject* tensor(PyObject*, PyObject* const* args, Py_ssize_t arg_count, PyObject* kw_names) {
  return guarded([&] { return leaf_from_call("tensor", std::nullopt, args, arg_count, kw_names); });
}

PyObject* as_tensor(PyObject*, PyObject* const* args, Py_ssize_t arg_count, PyObject* kw_names) {
  return guarded([&] {
    std::vector<PyObject*> values = read_args("as_tensor", {"data", "dtype?", "device?"}, args, arg_count, kw_names);
    check_device("as_tensor", values[2]);
    std::optional<DType> dtype = read_dtype("as_tensor", values[1]);
    if (is_tensor(values[0]) && (!dtype || *dtype == tensor_of(values[0])->dtype())) return Ref::share(values[0]);
    return wrap_shared(values[0], tensor_sharing_data(values[0], dtype));
  });
}

PyObject* from_numpy(PyObject*, PyObject* array) {
  return guarded([&] {
    bool is_array = PyObject_HasAttrString(array, "__array_interface__") && PyObject_CheckBuffer(array);
    if (!is_array) raise(ErrorKind::Type, "from_numpy(): expected np.ndarray (got ", Py_TYPE(array)->tp_name, ")");
    bool writable = false;
    Tensor tensor = tensor_over_buffer(array, "from_numpy()", &writable);
    if (!writable) {
      check_status(
          PyErr_WarnEx(PyExc_UserWarning,
                       "The given NumPy array is not writable, and minidynamo has no read-only tensors: writing "
                       "to the tensor would be undefined behavior. Copy the array to be safe.",
                       1));
    }
    return wrap_tensor(std::move(tensor));
  });
}

PyObject* from_dlpack(PyObject*, PyObject* const* args, Py_ssize_t arg_count, PyObject* kw_names) {
  return guarded([&] {
    std::vector<PyObject*> values =
        read_args("from_dlpack", {"ext_tensor", "*", "device?", "copy?"}, args, arg_count, kw_names);
    if (values[1] != nullptr && values[1] != Py_None) check_device("from_dlpack", values[1]);
    bool copy = values[2] != nullptr && values[2] != Py_None && read_bool("from_dlpack", "copy", values[2], false);
    Tensor tensor = tensor_from_dlpack(values[0]);
    return wrap_tensor(copy ? apply_named("clone", {tensor}) : tensor);
  });
}

// ---- memory ----

PyObject* empty_cache_function(PyObject*, PyObject*) {
  empty_cache();
  Py_RETURN_NONE;
}
PyObject* cached_bytes_function(PyObject*, PyObject*) { return PyLong_FromSize_t(cached_bytes()); }
PyObject* get_cache_limit(PyObject*, PyObject*) { return PyLong_FromSize_t(cache_limit()); }
PyObject* set_cache_limit_function(PyObject*, PyObject* value) {
  return guarded([&] {
    if (!PyLong_Check(value) || PyBool_Check(value)) {
      raise(ErrorKind::Type, "set_cache_limit(): argument 'nbytes' must be int, not ", Py_TYPE(value)->tp_name);
    }
    Py_ssize_t nbytes = PyLong_AsSsize_t(value);
    if (nbytes == -1 && PyErr_Occurred()) throw PythonError();
    if (nbytes < 0) raise(ErrorKind::Value, "set_cache_limit(): nbytes must not be negative, got ", nbytes);
    set_cache_limit(static_cast<size_t>(nbytes));
    return Ref::share(Py_None);
  });
}

PyObject* rebuild_tensor(PyObject*, PyObject* args) {
  return guarded([&] {
    PyTypeObject* type = nullptr;
    PyObject *bytes = nullptr, *dtype = nullptr, *shape = nullptr, *dict = nullptr;
    int requires_grad = 0;
    if (!PyArg_ParseTuple(args, "O!SOO!pO:_rebuild_tensor", &PyType_Type, &type, &bytes, &dtype, &PyTuple_Type, &shape,
                          &requires_grad, &dict)) {
      throw PythonError();
    }
    if (!PyType_IsSubtype(type, &tensor_type)) raise(ErrorKind::Type, "_rebuild_tensor(): not a tensor type");
    DimVec sizes;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(shape); ++i) {
      Py_ssize_t size = PyNumber_AsSsize_t(PyTuple_GET_ITEM(shape, i), PyExc_OverflowError);
      if (size == -1 && PyErr_Occurred()) throw PythonError();
      if (size < 0) raise(ErrorKind::Value, "_rebuild_tensor(): a negative size");
      sizes.push_back(size);
    }
    std::optional<DType> read = read_dtype("_rebuild_tensor", dtype);
    if (!read) raise(ErrorKind::Type, "_rebuild_tensor(): no dtype");
    TensorSpec spec = TensorSpec::contiguous(*read, sizes);
    Dim nbytes = spec.numel() * Dim(static_cast<int64_t>(item_size(*read)));
    if (nbytes.value() != PyBytes_GET_SIZE(bytes)) {
      raise(ErrorKind::Value, "_rebuild_tensor(): ", PyBytes_GET_SIZE(bytes), " bytes for ", nbytes.value());
    }
    Tensor tensor = Tensor::empty(spec);
    const char* begin = PyBytes_AS_STRING(bytes);
    std::copy(begin, begin + nbytes.value(), tensor.data<char>());
    if (requires_grad != 0 && is_inexact(*read)) tensor.set_requires_grad(true);
    Ref object = wrap_tensor_as(type, std::move(tensor));
    as_tensor_object(object)->user_leaf = requires_grad != 0;
    if (PyDict_Check(dict)) {
      Ref own = check(PyObject_GetAttrString(object, "__dict__"));
      check_status(PyDict_Update(own, dict));
    }
    return object;
  });
}

PyObject* is_tensor_function(PyObject*, PyObject* object) { return PyBool_FromLong(is_tensor(object)); }

// ---- dtypes ----

PyObject* get_default_dtype(PyObject*, PyObject*) { return Py_NewRef(dtype_to_python(default_dtype()).get()); }

PyObject* set_default_dtype_function(PyObject*, PyObject* value) {
  return guarded([&] {
    if (Py_TYPE(value) != dtype_type()) {
      raise(ErrorKind::Type, "invalid dtype object: only floating-point types are supported as the default type");
    }
    set_default_dtype(*dtype_from_python(value));
    return Ref::share(Py_None);
  });
}

PyObject* promote_types_function(PyObject*, PyObject* const* args, Py_ssize_t arg_count, PyObject* kw_names) {
  return guarded([&] {
    std::vector<PyObject*> values = read_args("promote_types", {"type1", "type2"}, args, arg_count, kw_names);
    std::optional<DType> a = read_dtype("promote_types", values[0]);
    std::optional<DType> b = read_dtype("promote_types", values[1]);
    if (!a || !b) raise(ErrorKind::Type, "promote_types(): both arguments must be minidynamo.dtype, not None");
    return Ref::share(dtype_to_python(promote_types(*a, *b)));
  });
}

PromotionOperand promotion_operand(const char* function, const char* param, BorrowedRef value) {
  if (is_tensor(value)) {
    const Tensor& tensor = tensor_of(value);
    return {.kind = PromotionOperand::Kind::Tensor, .dtype = tensor->dtype(), .rank = tensor->rank()};
  }
  PromotionOperand operand{.kind = PromotionOperand::Kind::Scalar};
  if (PyBool_Check(value.get())) {
    operand.category = DTypeCategory::Bool;
  } else if (PyLong_Check(value.get())) {
    operand.category = DTypeCategory::Integer;
  } else if (PyFloat_Check(value.get())) {
    operand.category = DTypeCategory::Floating;
  } else if (PyComplex_Check(value.get())) {
    operand.category = DTypeCategory::Complex;
  } else {
    raise(ErrorKind::Type, function, "(): argument '", param, "' must be Tensor or Number, not ",
          value.type()->tp_name);
  }
  return operand;
}

PyObject* result_type(PyObject*, PyObject* const* args, Py_ssize_t arg_count, PyObject* kw_names) {
  return guarded([&] {
    std::vector<PyObject*> values = read_args("result_type", {"tensor1", "tensor2"}, args, arg_count, kw_names);
    PromotionOperand operands[] = {promotion_operand("result_type", "tensor1", values[0]),
                                   promotion_operand("result_type", "tensor2", values[1])};
    return Ref::share(dtype_to_python(*common_dtype(operands)));
  });
}

// The only element of a real tensor.
template <typename T>
T element(PyObject* value, DType dtype) {
  Tensor tensor = own_tensor(value);
  if (!tensor.defined() || tensor->dtype() != dtype || tensor->rank() != 0 || tensor->kind() != TensorKind::Real)
    raise(ErrorKind::Type, "takes a number of dtype ", row(dtype).name, " in a tensor");
  return *tensor.data<T>();
}

PyObject* as_size(PyObject*, PyObject* value) {
  return guarded([&] { return check(PyLong_FromLongLong(element<int64_t>(value, DType::int64))); });
}

PyObject* data_holds(PyObject*, PyObject* value) {
  return guarded([&] { return check(PyBool_FromLong(element<bool>(value, DType::bool_))); });
}

PyObject* holds(PyObject*, PyObject* value) {
  return guarded([&] {
    if (!PyBool_Check(value)) raise(ErrorKind::Type, "cond must be a bool, but got ", Py_TYPE(value)->tp_name);
    return Ref::share(value);
  });
}

// ---- modes and threads ----

// Returns whether grad mode was on before.
PyObject* exchange_grad_mode(PyObject*, PyObject* value) {
  return guarded([&] {
    bool enabled = read_bool("set_grad_enabled", "mode", value, true);
    return Ref::share(std::exchange(tensor_modes().grad_enabled, enabled) ? Py_True : Py_False);
  });
}
PyObject* exchange_inference_mode(PyObject*, PyObject* value) {
  return guarded([&] {
    bool enabled = read_bool("inference_mode", "mode", value, true);
    return Ref::share(std::exchange(tensor_modes().inference_mode, enabled) ? Py_True : Py_False);
  });
}
// Sets autocast of this thread but for what `change` leaves; returns what it was.
template <typename Change>
AutocastState changed_autocast(Change change) {
  AutocastState state = tensor_modes().autocast;
  change(state);
  return exchange_autocast(state);
}
PyObject* exchange_autocast_enabled(PyObject*, PyObject* value) {
  return guarded([&] {
    bool enabled = read_bool("set_autocast_enabled", "enabled", value, true);
    AutocastState before = changed_autocast([&](AutocastState& state) { state.enabled = enabled; });
    return Ref::share(before.enabled ? Py_True : Py_False);
  });
}
PyObject* exchange_autocast_cache(PyObject*, PyObject* value) {
  return guarded([&] {
    bool enabled = read_bool("set_autocast_cache_enabled", "enabled", value, true);
    AutocastState before = changed_autocast([&](AutocastState& state) { state.keeps_casts = enabled; });
    return Ref::share(before.keeps_casts ? Py_True : Py_False);
  });
}
PyObject* exchange_autocast_dtype(PyObject*, PyObject* value) {
  return guarded([&] {
    std::optional<DType> dtype = dtype_from_python(value);
    if (!dtype) raise(ErrorKind::Type, "dtype must be a torch.dtype (got ", Py_TYPE(value)->tp_name, ")");
    AutocastState before = changed_autocast([&](AutocastState& state) { state.dtype = *dtype; });
    return Ref::share(dtype_to_python(before.dtype));
  });
}
PyObject* is_autocasting(PyObject*, PyObject*) { return PyBool_FromLong(tensor_modes().autocast.enabled); }
PyObject* is_autocast_cache_enabled(PyObject*, PyObject*) {
  return PyBool_FromLong(tensor_modes().autocast.keeps_casts);
}
PyObject* autocast_dtype_function(PyObject*, PyObject*) {
  return Py_NewRef(dtype_to_python(tensor_modes().autocast.dtype).get());
}
PyObject* clear_autocast_cache(PyObject*, PyObject*) {
  drop_kept_casts();
  Py_RETURN_NONE;
}

PyObject* is_grad_enabled(PyObject*, PyObject*) { return PyBool_FromLong(tensor_modes().grad_enabled); }
PyObject* is_inference_mode_enabled(PyObject*, PyObject*) { return PyBool_FromLong(tensor_modes().inference_mode); }

PyObject* seed_generator(PyObject*, PyObject* value) {
  return guarded([&] {
    manual_seed(seed_from_python(value));
    return Ref::share(Py_None);
  });
}

PyObject* get_rng_state(PyObject*, PyObject*) {
  return guarded([&] { return random_state_to_tensor(random_state()); });
}
PyObject* set_rng_state(PyObject*, PyObject* value) {
  return guarded([&] {
    set_random_state(random_state_from_tensor(value));
    return Ref::share(Py_None);
  });
}
PyObject* initial_seed(PyObject*, PyObject*) { return PyLong_FromUnsignedLongLong(md::initial_seed()); }

PyObject* random_version(PyObject*, PyObject*) { return PyLong_FromUnsignedLongLong(md::random_version()); }

// The type's attributes cannot be set from Python code.
PyObject* add_tensor_methods(PyObject*, PyObject* methods) {
  return guarded([&] {
    if (!PyDict_Check(methods)) raise(ErrorKind::Type, "_add_tensor_methods(): a dict is needed");
    check_status(PyDict_Update(tensor_type.tp_dict, methods));
    PyType_Modified(&tensor_type);
    return Ref::share(Py_None);
  });
}

PyObject* get_threads(PyObject*, PyObject*) { return PyLong_FromLong(get_num_threads()); }

PyObject* set_threads(PyObject*, PyObject* value) {
  return guarded([&] {
    if (!PyLong_Check(value)) {
      raise(ErrorKind::Runtime, "set_num_threads expects an int, but got ", Py_TYPE(value)->tp_name);
    }
    long count = PyLong_AsLong(value);
    if (count == -1 && PyErr_Occurred()) throw PythonError();
    if (count < 1 || count > 1 << 16) raise(ErrorKind::Runtime, "set_num_threads expects a positive integer");
    set_num_threads(static_cast<int>(count));
    return Ref::share(Py_None);
  });
}

// ---- the op table, for documentation, stubs and tests ----

const char* kind_name(OpKind kind) {
  switch (kind) {
    case OpKind::PointwiseUnary:
      return "PointwiseUnary";
    case OpKind::PointwiseBinary:
      return "PointwiseBinary";
    case OpKind::PointwiseTernary:
      return "PointwiseTernary";
    case OpKind::Compare:
      return "Compare";
    case OpKind::Reduction:
      return "Reduction";
    case OpKind::Matmul:
      return "Matmul";
    case OpKind::Decomposition:
      return "Decomposition";
    case OpKind::Softmax:
      return "Softmax";
    case OpKind::View:
      return "View";
    case OpKind::Creation:
      return "Creation";
    case OpKind::Cast:
      return "Cast";
    case OpKind::Gather:
      return "Gather";
    case OpKind::Write:
      return "Write";
    case OpKind::Random:
      return "Random";
    case OpKind::HostCall:
      break;
  }
  return "HostCall";
}

PyObject* list_op_rows(PyObject*, PyObject*) {
  return guarded([&] {
    Ref rows = check(PyList_New(0));
    for (const OpRow* row : op_rows()) {
      Ref entry = check(Py_BuildValue(
          "{s:s,s:s,s:s,s:s,s:O,s:O,s:O,s:O,s:O,s:O,s:O}", "name", row->name.c_str(), "schema",
          row->schema.text.c_str(), "kind", kind_name(row->kind), "doc", row->doc.c_str(), "function",
          (row->variants & kFunction) ? Py_True : Py_False, "method", (row->variants & kMethod) ? Py_True : Py_False,
          "operator", (row->variants & kOperator) ? Py_True : Py_False, "functional",
          (row->variants & kFunctional) ? Py_True : Py_False, "in_place",
          (row->variants & kInPlace) ? Py_True : Py_False, "out", row->takes_out() ? Py_True : Py_False,
          "takes_complex", row->has(kTakesComplex) ? Py_True : Py_False));
      check_status(PyList_Append(rows, entry));
    }
    return rows;
  });
}

PyMethodDef functions[] = {
    {"_op_rows", list_op_rows, METH_NOARGS, "The rows of the op table, as dicts."},
    fast_method("tensor", tensor,
                "tensor(data, *, dtype=None, device=None, requires_grad=False) -> Tensor\n\n"
                "A new tensor with a copy of the data: a number, nested sequences, an array or a tensor."),
    fast_method("as_tensor", as_tensor,
                "as_tensor(data, dtype=None, device=None) -> Tensor\n\n"
                "The data as a tensor, sharing memory with an array or tensor that has the dtype already."),
    {"from_numpy", from_numpy, METH_O, "from_numpy(ndarray) -> Tensor\n\nA tensor over the array's memory."},
    fast_method("from_dlpack", from_dlpack,
                "from_dlpack(ext_tensor, *, device=None, copy=None) -> Tensor\n\n"
                "A tensor over the memory of an object with __dlpack__, or of a capsule."),
    {"empty_cache", empty_cache_function, METH_NOARGS,
     "empty_cache() -> None\n\nGives memory kept for new tensors back to the system."},
    {"cached_bytes", cached_bytes_function, METH_NOARGS,
     "cached_bytes() -> int\n\nBytes kept for new tensors that nothing uses now."},
    {"get_cache_limit", get_cache_limit, METH_NOARGS, "get_cache_limit() -> int"},
    {"set_cache_limit", set_cache_limit_function, METH_O,
     "set_cache_limit(nbytes) -> None\n\nThe most bytes that are kept; what is above is freed."},
    {"_rebuild_tensor", rebuild_tensor, METH_VARARGS, "What a pickled tensor calls."},
    {"is_tensor", is_tensor_function, METH_O, "is_tensor(obj) -> bool"},
    {"get_default_dtype", get_default_dtype, METH_NOARGS, "get_default_dtype() -> dtype"},
    {"set_default_dtype", set_default_dtype_function, METH_O,
     "set_default_dtype(d) -> None\n\nThe dtype of tensors made from Python floats."},
    fast_method("promote_types", promote_types_function, "promote_types(type1, type2) -> dtype"),
    fast_method("result_type", result_type, "result_type(tensor1, tensor2) -> dtype"),
    {"_holds", holds, METH_O, "The bool itself: the condition of a check."},
    {"_data_holds", data_holds, METH_O, "The bool in a tensor: a condition that stays in the graph."},
    {"_as_size", as_size, METH_O, "The integer in a tensor, as a size: it stays in the graph."},
    {"_exchange_grad_mode", exchange_grad_mode, METH_O, "Sets grad mode of this thread; returns what it was."},
    {"_exchange_inference_mode", exchange_inference_mode, METH_O,
     "Sets inference mode of this thread; returns what it was."},
    {"_exchange_autocast_enabled", exchange_autocast_enabled, METH_O,
     "Sets whether autocast is on in this thread; returns what it was."},
    {"_exchange_autocast_dtype", exchange_autocast_dtype, METH_O,
     "Sets the dtype of autocast in this thread; returns what it was."},
    {"_exchange_autocast_cache", exchange_autocast_cache, METH_O,
     "Sets whether autocast of this thread keeps casts of parameters; returns what it was."},
    {"_is_autocasting", is_autocasting, METH_NOARGS, "Whether autocast is on in this thread."},
    {"_autocast_dtype", autocast_dtype_function, METH_NOARGS, "The dtype of autocast in this thread."},
    {"is_autocast_cache_enabled", is_autocast_cache_enabled, METH_NOARGS, "is_autocast_cache_enabled() -> bool"},
    {"clear_autocast_cache", clear_autocast_cache, METH_NOARGS,
     "clear_autocast_cache() -> None\n\nDrops the casts of parameters that autocast of this thread has kept."},
    {"is_grad_enabled", is_grad_enabled, METH_NOARGS, "is_grad_enabled() -> bool"},
    {"is_inference_mode_enabled", is_inference_mode_enabled, METH_NOARGS, "is_inference_mode_enabled() -> bool"},
    {"_random_version", random_version, METH_NOARGS,
     "Equal ones: nothing has been drawn from the generator in between."},
    {"manual_seed", seed_generator, METH_O,
     "manual_seed(seed) -> None\n\nStarts the generator of random numbers anew."},
    {"get_rng_state", get_rng_state, METH_NOARGS,
     "get_rng_state() -> Tensor\n\nThe state of the generator of random numbers, as bytes."},
    {"set_rng_state", set_rng_state, METH_O,
     "set_rng_state(new_state) -> None\n\nThe generator of random numbers goes on from a state."},
    {"initial_seed", initial_seed, METH_NOARGS,
     "initial_seed() -> int\n\nThe seed that the generator of random numbers was started with."},
    {"_add_tensor_methods", add_tensor_methods, METH_O, "Makes the functions of a dict methods of Tensor."},
    {"get_num_threads", get_threads, METH_NOARGS, "get_num_threads() -> int"},
    {"set_num_threads", set_threads, METH_O,
     "set_num_threads(count) -> None\n\nThe most threads that one op or plan uses."},
};

void add_functions(PyObject* module) {
  Ref module_name = check(PyUnicode_FromString("minidynamo"));
  static std::vector<PyMethodDef> of_gradients = gradient_functions();
  static std::vector<PyMethodDef> of_saved = saved_tensor_functions();
  static std::vector<PyMethodDef> of_notes = node_note_functions();
  std::vector<PyMethodDef*> all;
  for (PyMethodDef& def : functions) all.push_back(&def);
  for (std::vector<PyMethodDef>* defs : {&of_gradients, &of_saved, &of_notes})
    for (PyMethodDef& def : *defs) all.push_back(&def);
  for (PyMethodDef* entry : all) {
    PyMethodDef& def = *entry;
    def.ml_doc = doc_with_signature(def.ml_name, def.ml_doc, false);
    Ref function = check(PyCFunction_NewEx(&def, nullptr, module_name));
    check_status(PyModule_AddObjectRef(module, def.ml_name, function));
  }
}

}  // namespace

void add_tensor_functions(PyObject* module) {
  auto add = [&](const char* name, PyObject* object) { check_status(PyModule_AddObjectRef(module, name, object)); };
  auto add_type = [&](const char* name, PyTypeObject* type) { add(name, reinterpret_cast<PyObject*>(type)); };
  ready_tensor_type();
  register_own_family();
  add_type("Tensor", &tensor_type);
  add_type("dtype", dtype_type());
  add("_named_dtypes", named_dtypes());
  add_type("Size", size_type());
  add_type("device", device_type());
  add_type("Generator", generator_type());
  add("_GradNode", grad_node_type());
  add("_SavedTensor", saved_tensor_type());
  add_type("memory_format", memory_format_type());
  add_type("layout", layout_type());
  auto text = [](std::string_view name) {
    return check(PyUnicode_FromStringAndSize(name.data(), static_cast<Py_ssize_t>(name.size())));
  };
  Ref formats = check(PyDict_New());
  for (const MemoryFormatRow& format : kMemoryFormats)
    check_status(PyDict_SetItem(formats, text(format.name), memory_format_object(format.name)));
  add("_memory_formats", formats);
  Ref layouts = check(PyDict_New());
  for (std::string_view name : layout_names()) check_status(PyDict_SetItem(layouts, text(name), layout_object(name)));
  add("_layouts", layouts);
  Ref dtypes = check(PyDict_New());
  for (int i = 0; i < kDTypeCount; ++i)
    check_status(PyDict_SetItemString(dtypes, kDTypes[i].name, dtype_to_python(static_cast<DType>(i))));
  add("_dtypes", dtypes);
  add("_extension_api", extension_api_capsule());
  add("_families", family_api_capsule());
  add("_op_functions", make_op_functions());
  add("_functional", make_functional_functions());
  add("_prims", make_prims_functions());
  add_functions(module);
}

}  // namespace md
