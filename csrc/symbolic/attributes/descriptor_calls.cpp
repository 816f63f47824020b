// staticmethod, classmethod and property of functions, as decorators in the body of a class.
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/calls/calls.h"
#include "symbolic/facts/copied_names.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/trace/registry.h"

namespace md {

namespace {

bool is_function(Tracer& tracer, const ValuePtr& value) { return tracer.values().is_exactly(value, &PyFunction_Type); }

// Names are copied from the first part.
ValuePtr make(Tracer& tracer, PyTypeObject* type, std::vector<ValuePtr> parts) {
  auto made = make_value<ConstructedValue>(tracer.values().constant(reinterpret_cast<PyObject*>(type)),
                                           std::move(parts), std::vector<std::pair<Ref, ValuePtr>>{});
  if (!made->positional.empty()) made->copied = names_to_copy(tracer, type, made->positional[0]);
  made->creation_step = tracer.step_number();
  return made;
}

// The constructor reads attributes of the wrapped object: for a function, that runs no code.
template <PyTypeObject* type>
ValuePtr make_wrapper(Tracer& tracer, const CallArgs& args) {
  require_count(args, 1, 1);
  if (!is_function(tracer, args.positional[0])) graph_break(BreakReason::object_creation, type->tp_name);
  return make(tracer, type, args.positional);
}

constexpr const char* kParts[] = {"fget", "fset", "fdel"};

ValuePtr make_property(Tracer& tracer, const CallArgs& args) {
  std::vector<ValuePtr> parts = args.positional;
  if (parts.size() > std::size(kParts)) graph_break(BreakReason::object_creation, "property");
  for (const auto& [name, value] : args.keywords) {
    size_t at = 0;
    while (at < std::size(kParts) && PyUnicode_CompareWithASCIIString(name, kParts[at]) != 0) ++at;
    if (at == std::size(kParts)) graph_break(BreakReason::object_creation, "property");
    if (at < args.positional.size()) raise_here();
    while (parts.size() <= at) parts.push_back(tracer.values().none());
    parts[at] = value;
  }
  for (const ValuePtr& part : parts)
    if (!same_object(tracer, part, tracer.values().none()) && !is_function(tracer, part))
      graph_break(BreakReason::object_creation, "property");
  return make(tracer, &PyProperty_Type, std::move(parts));
}

// property.setter(self, function) and similar: another property, with this part replaced.
template <size_t at>
ValuePtr copy_property(Tracer& tracer, const CallArgs& args) {
  require_count(args, 2, 2);
  auto* made = as<ConstructedValue>(args.positional[0]);
  if (made == nullptr || type_of(args.positional[0]) != &PyProperty_Type || !is_function(tracer, args.positional[1]))
    graph_break(BreakReason::object_creation, "property");
  std::vector<ValuePtr> parts = made->positional;
  while (parts.size() <= at) parts.push_back(tracer.values().none());
  parts[at] = args.positional[1];
  return make(tracer, &PyProperty_Type, std::move(parts));
}

// function.__get__(function, object, type=None)
ValuePtr bind_function(Tracer& tracer, const CallArgs& args) {
  require_count(args, 2, 3);
  const ValuePtr &function = args.positional[0], &object = args.positional[1];
  if (!is_python_function(function)) raise_here();
  if (!same_object(tracer, object, tracer.values().none())) return make_value<BoundMethodValue>(function, object);
  if (args.positional.size() == 2 || same_object(tracer, args.positional[2], tracer.values().none())) raise_here();
  return function;
}

void add_descriptor_calls() {
  static PyObject* const kGet = PyUnicode_InternFromString("__get__");
  register_call(_PyType_Lookup(&PyFunction_Type, kGet), bind_function);
  register_call(reinterpret_cast<PyObject*>(&PyStaticMethod_Type), make_wrapper<&PyStaticMethod_Type>);
  register_call(reinterpret_cast<PyObject*>(&PyClassMethod_Type), make_wrapper<&PyClassMethod_Type>);
  register_call(reinterpret_cast<PyObject*>(&PyProperty_Type), make_property);
  constexpr std::pair<const char*, CallHandler> kCopies[] = {
      {"getter", copy_property<0>}, {"setter", copy_property<1>}, {"deleter", copy_property<2>}};
  for (const auto& [name, handler] : kCopies)
    register_call(check(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyProperty_Type), name)).get(), handler);
}

const CallRegistration call_registration(add_descriptor_calls);

}  // namespace

}  // namespace md
