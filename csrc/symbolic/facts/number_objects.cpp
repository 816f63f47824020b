#include "symbolic/facts/number_objects.h"

#include "symbolic/attributes/attributes.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/calls/calls.h"
#include "symbolic/calls/user_operators.h"

namespace md {

namespace {

ValuePtr method_in_python(Tracer& tracer, const ValuePtr& value, const char* name) {
  ValuePtr method = type_attribute(tracer, value, check(PyUnicode_InternFromString(name)).get());
  if (method && !is_python_function(method))
    graph_break(BreakReason::tensor_operands, str_cat(name, " of a ", describe(value)));
  return method;
}

}  // namespace

bool is_number_object(const ValuePtr& value) {
  PyTypeObject* type = type_of(value);
  bool may_be = (value->kind == ValueKind::Object || value->kind == ValueKind::Instance) && is_user_object(value) &&
                !PyType_IsSubtype(type, &PyLong_Type) && !PyType_IsSubtype(type, &PyFloat_Type);
  const PyNumberMethods* methods = may_be ? type->tp_as_number : nullptr;
  return methods != nullptr && (methods->nb_index != nullptr || methods->nb_float != nullptr);
}

ValuePtr number_of_object(Tracer& tracer, const ValuePtr& value, NumberUse use) {
  if (!is_number_object(value)) return value;
  tracer.values().exact_type(value);
  // A sequence would be expanded, and a buffer would be read, instead of being converted to a number.
  static PyObject* const kItem = PyUnicode_InternFromString("__getitem__");
  PyTypeObject* type = type_of(value);
  bool has_buffer = type->tp_as_buffer != nullptr && type->tp_as_buffer->bf_getbuffer != nullptr;
  bool is_sequence = static_cast<bool>(type_attribute(tracer, value, kItem));
  ValuePtr index = method_in_python(tracer, value, "__index__");
  ValuePtr real = use == NumberUse::Any ? method_in_python(tracer, value, "__float__") : nullptr;
  if (has_buffer || is_sequence || (index && real))
    graph_break(BreakReason::tensor_operands, str_cat("the number that a ", describe(value), " is"));
  if (!index && !real) return value;
  ValuePtr number = call_now(tracer, index ? index : real, {{value}, {}});
  if (!tracer.values().is_exactly(number, index ? &PyLong_Type : &PyFloat_Type)) raise_here();
  return number;
}

}  // namespace md
