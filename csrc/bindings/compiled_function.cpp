// minidynamo._C.CompiledFunction: returned by compile(). A static CPython type with
// vectorcall; the engine is in eval_frame/.
#include "base/host_hooks.h"
#include "eval_frame/compiled_call.h"
#include "guards/wrapper_callables.h"
#include "snapshot/policy_function.h"
#include "symbolic/calls/calls.h"

#include <structmember.h>

#include <algorithm>
#include <cstddef>

#include "base/inline_array.h"
#include "bindings/backend.h"
#include "bindings/bindings.h"
#include "bindings/compiled_function.h"
#include "cpython/errors.h"
#include "eval_frame/ambient_block.h"
#include "eval_frame/backends.h"
#include "eval_frame/code_cache.h"
#include "symbolic/trace/tracer.h"

namespace md {

namespace {

struct CompiledFunction {
  PyObject_HEAD PyObject* wrapped;  // owned: a function or a bound method
  PyObject* function;               // borrowed from wrapped: the Python function
  PyObject* self;                   // borrowed from wrapped, null for a function
  PyObject* backend;                // owned: "onednn", "eager" or a callable
  PyObject* guard_filter;           // owned: a callable, or null
  PyObject* dict;                   // owned
  PyObject* weak_references;
  vectorcallfunc vectorcall;
  CompileOptions options;
};

CompiledFunction* as_compiled(PyObject* object) { return reinterpret_cast<CompiledFunction*>(object); }

PyObject* call(PyObject* object, PyObject* const* args, size_t nargsf, PyObject* keyword_names) {
  CompiledFunction* self = as_compiled(object);
  if (self->function == nullptr) {
    PyErr_SetString(PyExc_ReferenceError, "this compiled function was cleared by the garbage collector");
    return nullptr;
  }
  if (self->self == nullptr) return call_compiled(self->function, self->options, args, nargsf, keyword_names);
  // A bound method: self comes first.
  Py_ssize_t count = PyVectorcall_NARGS(nargsf) + (keyword_names != nullptr ? PyTuple_GET_SIZE(keyword_names) : 0);
  InlineArray<PyObject*, 8> all(static_cast<size_t>(count) + 1);
  all[0] = self->self;
  std::copy_n(args, count, all.data() + 1);
  return call_compiled(self->function, self->options, all.data(), PyVectorcall_NARGS(nargsf) + 1, keyword_names);
}

int traverse(PyObject* object, visitproc visit, void* arg) {
  CompiledFunction* self = as_compiled(object);
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->wrapped);
  Py_VISIT(self->backend);
  Py_VISIT(self->guard_filter);
  Py_VISIT(self->dict);
  return 0;
}

int clear(PyObject* object) {
  CompiledFunction* self = as_compiled(object);
  if (self->backend != nullptr) let_go_of_backend(self->options.backend);
  self->function = self->self = nullptr;
  Py_CLEAR(self->backend);
  Py_CLEAR(self->guard_filter);
  Py_CLEAR(self->wrapped);
  Py_CLEAR(self->dict);
  return 0;
}

void deallocate(PyObject* object) {
  PyObject_GC_UnTrack(object);
  if (as_compiled(object)->weak_references != nullptr) PyObject_ClearWeakRefs(object);
  clear(object);
  PyTypeObject* type = Py_TYPE(object);
  type->tp_free(object);
  Py_DECREF(type);
}

// Copies __name__, __qualname__, __doc__, __module__ and __dict__ and sets __wrapped__, as
// functools.update_wrapper does.
void copy_metadata(CompiledFunction* self, PyObject* name) {
  self->dict = check(PyDict_New()).release();
  Ref functions_dict = Ref::steal(PyObject_GetAttrString(self->wrapped, "__dict__"));
  if (functions_dict && PyDict_Check(functions_dict.get())) check_status(PyDict_Update(self->dict, functions_dict));
  PyErr_Clear();
  for (const char* attribute : {"__module__", "__name__", "__qualname__", "__doc__"}) {
    Ref value = Ref::steal(PyObject_GetAttrString(self->wrapped, attribute));
    if (!value) {
      PyErr_Clear();
      continue;
    }
    check_status(PyDict_SetItemString(self->dict, attribute, value));
  }
  if (name != Py_None) check_status(PyDict_SetItemString(self->dict, "__name__", name));
  check_status(PyDict_SetItemString(self->dict, "__wrapped__", self->wrapped));
}

CompileOptions options_from(PyObject* fullgraph, PyObject* dynamic, PyObject* recompile_limit) {
  CompileOptions options;
  options.fullgraph = fullgraph == Py_True;
  options.dynamic = dynamic == Py_None   ? DynamicShapes::Automatic
                    : dynamic == Py_True ? DynamicShapes::Always
                                         : DynamicShapes::Never;
  if (recompile_limit != Py_None) {
    options.recompile_limit = PyLong_AsLongLong(recompile_limit);
    if (PyErr_Occurred()) throw PythonError();
  }
  return options;
}

Precision one_of(const char* option, const char* wanted, std::initializer_list<Precision> values) {
  std::string names;
  for (Precision value : values) {
    if (std::string_view(wanted) == name_of(value)) return value;
    names += str_cat(names.empty() ? "'" : " or '", name_of(value), "'");
  }
  raise(ErrorKind::Value, "compile(): ", option, " must be ", names, ", not '", wanted, "'");
}

Ref create(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  static const char* names[] = {"function",        "fullgraph", "backend",      "dynamic",  "options",
                                "recompile_limit", "name",      "guard_filter", "isolated", "freezes",
                                "precision",       "weights",   nullptr};
  PyObject *wrapped, *fullgraph = Py_False, *backend = nullptr, *dynamic = Py_None, *options = Py_None,
                     *limit = Py_None, *name = Py_None, *guard_filter = Py_None, *isolated = Py_False,
                     *freezes = Py_False;
  const char *precision = name_of(Precision::Float32), *weights = precision;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|$O!OOOOOOO!O!ss:CompiledFunction", const_cast<char**>(names),
                                   &wrapped, &PyBool_Type, &fullgraph, &backend, &dynamic, &options, &limit, &name,
                                   &guard_filter, &PyBool_Type, &isolated, &PyBool_Type, &freezes, &precision,
                                   &weights))
    throw PythonError();
  PyObject* function = PyMethod_Check(wrapped) ? PyMethod_GET_FUNCTION(wrapped) : wrapped;
  if (!PyFunction_Check(function))
    raise(ErrorKind::Type, "CompiledFunction() takes a Python function or a bound method of one, not ",
          Py_TYPE(wrapped)->tp_name);
  Ref default_backend = backend == nullptr ? check(PyUnicode_InternFromString("onednn")) : Ref::share(backend);
  CompileOptions compile_options = options_from(fullgraph, dynamic, limit);
  BorrowedRef filter = guard_filter != Py_None ? guard_filter : nullptr;
  ReducedPrecision reduced = {.products = one_of("precision", precision, {Precision::Float32, Precision::BFloat16}),
                              .weights = one_of("weights", weights, {Precision::Float32, Precision::Int8})};
  BackendIdentity identity{default_backend, Ref::share(filter), isolated == Py_True, freezes == Py_True, reduced};
  compile_options.backend = backend_number(identity);
  Ref object = check(type->tp_alloc(type, 0));
  CompiledFunction* self = as_compiled(object);
  self->wrapped = Py_NewRef(wrapped);
  self->function = function;
  self->self = PyMethod_Check(wrapped) ? PyMethod_GET_SELF(wrapped) : nullptr;
  self->backend = Ref(default_backend).release();
  self->options = compile_options;
  self->vectorcall = call;
  self->guard_filter = Py_XNewRef(filter.get());
  hold_backend(compile_options.backend, std::move(identity));
  copy_metadata(self, name);
  return object;
}

PyObject* create_or_null(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  try {
    return create(type, args, keywords).release();
  } catch (...) {
    set_error_from_current_exception();
    return nullptr;
  }
}

PyObject* bind_to(PyObject* object, PyObject* instance, PyObject*) {
  if (instance == nullptr || instance == Py_None) return Py_NewRef(object);
  return PyMethod_New(object, instance);
}

PyObject* represent(PyObject* object) { return PyUnicode_FromFormat("<compiled %R>", as_compiled(object)->wrapped); }

// Pickled and copied by name, as functions are.
PyObject* reduce(PyObject* object, PyObject*) { return PyObject_GetAttrString(object, "__qualname__"); }

// Backends have no configuration of their own.
PyObject* get_compiler_config(PyObject*, PyObject*) { return Py_NewRef(Py_None); }

PyObject* get_wrapped(PyObject* object, void*) {
  PyObject* wrapped = as_compiled(object)->wrapped;
  return Py_NewRef(wrapped == nullptr ? Py_None : wrapped);
}

// The attribute of the wrapped function named by the closure.
PyObject* get_of_function(PyObject* object, void* name) {
  PyObject* function = as_compiled(object)->function;
  if (function != nullptr) return PyObject_GetAttrString(function, static_cast<const char*>(name));
  PyErr_SetString(PyExc_ReferenceError, "this compiled function was cleared by the garbage collector");
  return nullptr;
}

int set_of_function(PyObject* object, PyObject* value, void* name) {
  PyObject* function = as_compiled(object)->function;
  if (function == nullptr) return 0;
  return value != nullptr ? PyObject_SetAttrString(function, static_cast<const char*>(name), value)
                          : PyObject_DelAttrString(function, static_cast<const char*>(name));
}

constexpr PyGetSetDef function_field(const char* name) {
  return {name, get_of_function, set_of_function, nullptr, const_cast<char*>(name)};
}

PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr},
                         {"get_compiler_config", get_compiler_config, METH_NOARGS, nullptr},
                         {nullptr, nullptr, 0, nullptr}};
PyMemberDef members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(CompiledFunction, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(CompiledFunction, weak_references), READONLY, nullptr},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(CompiledFunction, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyGetSetDef fields[] = {{"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
                        {"_torchdynamo_orig_callable", get_wrapped, nullptr, nullptr, nullptr},
                        function_field("__code__"),
                        function_field("__defaults__"),
                        function_field("__kwdefaults__"),
                        function_field("__globals__"),
                        function_field("__builtins__"),
                        function_field("__closure__"),
                        function_field("__annotations__"),
#if PY_VERSION_HEX >= 0x030C0000
                        function_field("__type_params__"),
#endif
#if PY_VERSION_HEX >= 0x030E0000
                        function_field("__annotate__"),
#endif
                        {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(create_or_null)},
                       {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                       {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(clear)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
                       {Py_tp_descr_get, reinterpret_cast<void*>(bind_to)},
                       {Py_tp_repr, reinterpret_cast<void*>(represent)},
                       {Py_tp_methods, methods},
                       {Py_tp_members, members},
                       {Py_tp_getset, fields},
                       {0, nullptr}};
PyType_Spec spec = {"minidynamo._C.CompiledFunction", sizeof(CompiledFunction), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, slots};

BorrowedRef function_inside(PyObject* object) {
  CompiledFunction* self = as_compiled(object);
  return self->self == nullptr ? self->function : nullptr;
}

// Compiled inside compiled: the callee's fullgraph applies inside it and cannot be undone there.
const Policy* policy_inside(PyObject* object, const Policy* caller) {
  const CompileOptions& options = as_compiled(object)->options;
  if (!options.fullgraph || caller->fullgraph) return caller;
  Policy policy = *caller;
  policy.fullgraph = true;
  return intern(policy);
}

const Policy* policy_inside_decorated(PyObject* wrapper, const Policy* caller) {
  return policy_inside(policy_change(wrapper), caller);
}

BorrowedRef function_inside_decorated(PyObject* wrapper) { return wrapped_function(wrapper); }

const WrapperType* find_wrapper(PyTypeObject* type) {
  static const WrapperType rows[] = {
      {compiled_function_type(), function_inside, policy_inside, false},
      {policy_function_type(), function_inside_decorated, policy_inside_decorated, true}};
  auto found = std::ranges::find(rows, type, &WrapperType::type);
  return found != std::end(rows) ? found : nullptr;
}

}  // namespace

PyTypeObject* compiled_function_type() {
  static PyObject* const type = check(PyType_FromSpec(&spec)).release();
  return reinterpret_cast<PyTypeObject*>(type);
}

const CompileOptions& compile_options_of(BorrowedRef compiled) {
  if (compiled.type() != compiled_function_type()) raise(ErrorKind::Type, "a CompiledFunction is expected");
  return as_compiled(compiled)->options;
}

namespace {

// Forces the backend of a compiled function, or None, on all others; returns the previous one.
pybind11::object exchange_forced_handle(const pybind11::object& compiled) {
  static auto* current = new pybind11::object(pybind11::none());
  bool is_handle = Py_TYPE(compiled.ptr()) == compiled_function_type();
  if (!is_handle && !compiled.is_none()) raise(ErrorKind::Type, "a CompiledFunction or None is expected");
  exchange_forced_backend(is_handle ? as_compiled(compiled.ptr())->options.backend : 0);
  return std::exchange(*current, compiled);
}

}  // namespace

void bind_compiled_function(pybind11::module_& module) {
  module.attr("CompiledFunction") = pybind11::handle(reinterpret_cast<PyObject*>(compiled_function_type()));
  // For `with optimize(...)`: the block ends when the object is destroyed.
  module.def("_enter_ambient", [](const pybind11::object& compiled) {
    if (Py_TYPE(compiled.ptr()) != compiled_function_type())
      raise(ErrorKind::Type, "_enter_ambient() takes a CompiledFunction");
    return std::make_unique<AmbientBlock>(as_compiled(compiled.ptr())->options);
  });
  module.def("_exchange_forced_backend", &exchange_forced_handle);
  // Drops what was captured for a backend.
  module.def("_drop_captures",
             [](const pybind11::object& backend) { CodeCache::drop_backend(backend_id(backend.ptr())); });
  pybind11::class_<AmbientBlock> registered(module, "_AmbientBlock");
  host_hooks.plan_from_callable = plan_from_callable;
  host_hooks.drop_backend = CodeCache::drop_backend_soon;
  host_hooks.find_wrapper_type = find_wrapper;
}

}  // namespace md
