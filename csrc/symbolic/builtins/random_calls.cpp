// Numbers of Python's own generators (random.Random): host calls of the region, whose results are numbers of the graph.
#include <utility>

#include "cpython/imports.h"
#include "cpython/weak_reference.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/calls/calls.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/tensors/host_calls.h"
#include "symbolic/tensors/tensor_numbers.h"
#include "symbolic/trace/registry.h"
#include "symbolic/trace/tracer.h"

namespace md {

namespace {

struct Draw {
  const char* name;
  bool is_int;
};
constexpr Draw kDraws[] = {{"random", false},        {"uniform", false},        {"triangular", false},
                           {"gauss", false},         {"normalvariate", false},  {"lognormvariate", false},
                           {"expovariate", false},   {"gammavariate", false},   {"betavariate", false},
                           {"paretovariate", false}, {"weibullvariate", false}, {"vonmisesvariate", false},
                           {"randint", true},        {"randrange", true},       {"getrandbits", true}};
constexpr int kDrawCount = static_cast<int>(std::size(kDraws));

// The class random.Random and the generator behind the functions of the module, when they were registered. Kept for
// ever.
PyTypeObject* random_class = nullptr;
PyObject* module_generator = nullptr;

// self: (weak reference to the generator, name, arguments). A region does not keep the generator alive.
PyObject* draw(PyObject* self, PyObject*) {
  Ref generator = Ref::share(referent_of(PyTuple_GET_ITEM(self, 0)));
  Ref method = Ref::steal(PyObject_GetAttr(generator, PyTuple_GET_ITEM(self, 1)));
  return method ? PyObject_Call(method, PyTuple_GET_ITEM(self, 2), nullptr) : nullptr;
}

// Numbers of Python, of which the generator keeps nothing.
Ref constant_arguments(Tracer& tracer, const CallArgs& args, size_t first) {
  if (!args.keywords.empty()) return nullptr;
  Ref tuple = check(PyTuple_New(static_cast<Py_ssize_t>(args.positional.size() - first)));
  for (size_t i = first; i < args.positional.size(); ++i) {
    Ref constant = is_tensor(args.positional[i]) ? Ref() : constant_of(tracer, args.positional[i]);
    if (!constant || !(PyFloat_CheckExact(constant.get()) || PyLong_CheckExact(constant.get()))) return nullptr;
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i - first), constant.release());
  }
  return tuple;
}

ValuePtr drawn(Tracer& tracer, const Draw& row, BorrowedRef generator, const CallArgs& args, size_t first) {
  static PyMethodDef definition{"draw", draw, METH_NOARGS, nullptr};
  std::string name = str_cat("Random.", row.name);
  Ref given = captures_numbers(tracer) ? constant_arguments(tracer, args, first) : Ref();
  if (!given) graph_break(BreakReason::builtin_call, name);
  Ref call =
      check(Py_BuildValue("(NsN)", check(PyWeakref_NewRef(generator, nullptr)).release(), row.name, given.release()));
  Ref run = check(PyCFunction_New(&definition, call));
  TensorSpec spec = TensorSpec::contiguous(row.is_int ? DType::int64 : DType::float64, {});
  HostCallRequest request{name, run, {}, {}, {spec}, {}, /*is_number=*/true};
  return number_in_graph(tracer, ValueRef{append_host_call(tracer, request), 0});
}

// A method of a generator.
template <int row>
ValuePtr call_method(Tracer& tracer, const CallArgs& args) {
  auto* generator = args.positional.empty() ? nullptr : as<ObjectValue>(args.positional[0]);
  bool is_known = generator != nullptr && generator->object.type() == random_class &&
                  (generator->source != nullptr || generator->object.get() == module_generator);
  if (!is_known) graph_break(BreakReason::builtin_call, str_cat("Random.", kDraws[row].name));
  tracer.values().exact_type(args.positional[0]);
  return drawn(tracer, kDraws[row], tracer.values().identity_of(args.positional[0]), args, 1);
}

// random() and getrandbits() of the module: methods in C that are bound already.
template <int row>
ValuePtr call_bound(Tracer& tracer, const CallArgs& args) {
  return drawn(tracer, kDraws[row], module_generator, args, 0);
}

template <int... rows>
void add_rows(BorrowedRef names, std::integer_sequence<int, rows...>) {
  auto add = [&](const char* name, CallHandler method, CallHandler bound) {
    Ref of_class = Ref::steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(random_class), name));
    PyErr_Clear();
    if (of_class) register_call(of_class, method);
    PyObject* of_module = PyDict_GetItemString(names, name);
    if (of_module != nullptr && PyCFunction_Check(of_module) && PyCFunction_GET_SELF(of_module) == module_generator)
      register_call(of_module, bound);
  };
  (add(kDraws[rows].name, call_method<rows>, call_bound<rows>), ...);
}

bool add_random_calls() {
  BorrowedRef names = loaded_names("random", "getrandbits");
  if (!names) return false;
  PyObject *type = PyDict_GetItemString(names, "Random"), *generator = PyDict_GetItemString(names, "_inst");
  bool is_known = type != nullptr && PyType_Check(type) && generator != nullptr &&
                  Py_IS_TYPE(generator, reinterpret_cast<PyTypeObject*>(type));
  if (!is_known) return true;  // replaced by the program
  random_class = reinterpret_cast<PyTypeObject*>(Py_NewRef(type));
  module_generator = Py_NewRef(generator);
  add_rows(names, std::make_integer_sequence<int, kDrawCount>());
  return true;
}

const LateCallRegistration call_registration(add_random_calls);

}  // namespace

}  // namespace md
