// Calls of the wrapper that dataclasses and reprlib put around a __repr__, which shows an object within itself as
// `...`.
//   1. The wrapped function is called instead. That the wrapper records the object meanwhile is unobservable: its set
//      of running objects is empty at the region's start, which is guarded.
//   2. Objects whose repr is running in this trace are known to the trace.
#include <algorithm>

#include "cpython/imports.h"
#include "cpython/text.h"
#include "symbolic/calls/calls.h"
#include "symbolic/effects/pending_writes.h"
#include "symbolic/facts/cells.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/trace/tracer.h"

namespace md {

namespace {

// The code of the inner function of this name that `outer` creates. Null if there is none.
PyCodeObject* code_inside(PyCodeObject* outer, const char* name) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(outer->co_consts); ++i) {
    PyObject* constant = PyTuple_GET_ITEM(outer->co_consts, i);
    if (!PyCode_Check(constant)) continue;
    auto* code = reinterpret_cast<PyCodeObject*>(constant);
    if (PyUnicode_CompareWithASCIIString(code->co_name, name) == 0) return code;
  }
  return nullptr;
}

// Returns true if this is the code object shared by all wrappers that the module creates.
bool is_wrapper_of(PyCodeObject* code, const char* module, const char* maker, const char* between) {
  Ref name = check(PyUnicode_FromString(module));
  Ref loaded = Ref::steal(PyImport_GetModule(name));
  Ref function = loaded ? Ref::steal(PyObject_GetAttrString(loaded, maker)) : Ref();
  PyErr_Clear();
  if (!function || !PyFunction_Check(function.get())) return false;
  auto* outer = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function.get()));
  if (between != nullptr) outer = code_inside(outer, between);
  return outer != nullptr && code_inside(outer, "wrapper") == code;
}

bool is_wrapper(PyCodeObject* code) {
  if (PyUnicode_CompareWithASCIIString(code->co_name, "wrapper") != 0 || code->co_nfreevars < 2) return false;
  return is_wrapper_of(code, "dataclasses", "_recursive_repr", nullptr) ||
         is_wrapper_of(code, "reprlib", "recursive_repr", "decorating_function");
}

// The contents of the function's closure cell of this name. Null if there is no such name, or the cell is empty.
ValuePtr free_value(Tracer& tracer, const ObjectValue& function, const char* name) {
  auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function.object.get()));
  Ref names = check(PyCode_GetFreevars(code));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names.get()); ++i) {
    if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names.get(), i), name) != 0) continue;
    const Source* source = tracer.sources().get(SourceKind::Closure, function.source, nullptr, static_cast<int>(i));
    PyObject* cell = PyTuple_GET_ITEM(PyFunction_GET_CLOSURE(function.object.get()), i);
    ValuePtr traced = cell_at(tracer, source, Ref::share(cell));
    return load_cell(tracer, as<CellValue>(traced));
  }
  return nullptr;
}

}  // namespace

ValuePtr guarded_repr(Tracer& tracer, const ValuePtr& function, const CallArgs& args) {
  auto* known = as<ObjectValue>(function);
  if (known == nullptr || known->source == nullptr || !PyFunction_Check(known->object.get())) return nullptr;
  auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(known->object.get()));
  if (!is_wrapper(code) || args.positional.size() != 1 || !args.keywords.empty()) return nullptr;
  guard_code(tracer, *known);
  ValuePtr inner = free_value(tracer, *known, "user_function"), running = free_value(tracer, *known, "repr_running");
  if (!inner || !running || !is_python_function(inner) || type_of(running) != &PySet_Type) return nullptr;
  Ref shown = set_contents(tracer, running);
  if (!shown || PySet_GET_SIZE(shown.get()) != 0) return nullptr;
  ValuePtr self = args.positional[0];
  bool is_within = std::ranges::any_of(tracer.pending().shown(), [&](const auto& each) {
    return each.first == known->object.get() && same_object(tracer, each.second, self);
  });
  if (is_within) {
    ValuePtr filling = free_value(tracer, *known, "fillvalue");
    return filling ? filling : tracer.values().string("...");
  }
  struct Showing {
    Showing(Tracer& tracer, PyObject* function, ValuePtr self) : tracer(tracer) {
      tracer.pending().shown().emplace_back(function, std::move(self));
    }
    ~Showing() { tracer.pending().shown().pop_back(); }
    Tracer& tracer;
  };
  Showing showing(tracer, known->object.get(), self);
  return call_now(tracer, inner, {{self}, {}});
}

}  // namespace md
