// Operators of the user's classes: their methods are inlined where Python would call them first.
#include "symbolic/user_operators.h"

#include "snapshot/operator_methods.h"

namespace md {

namespace {

ValuePtr method_of(Walk& walk, const ValuePtr& self, const char* name) {
  return walk.type_attribute(self, check(PyUnicode_InternFromString(name)).get());
}
// The method if it is the user's Python, which can be inlined; null: another one, or none.
ValuePtr python_method(Walk& walk, const ValuePtr& self, const char* name) {
  ValuePtr method = method_of(walk, self, name);
  return method && walk.is_python_function(method) ? method : nullptr;
}

// What is inlined gives NotImplemented to the driver, or ends the region before the operator.
bool inline_method(Walk& walk, const ValuePtr& self, const ValuePtr& other, const char* name, OperatorTry tried,
                   const ValuePtr& left, const ValuePtr& right) {
  ValuePtr method = name == nullptr ? nullptr : python_method(walk, self, name);
  if (!method) return false;
  auto operands =
      make_value<SequenceValue>(false, std::vector<ValuePtr>{left, right, walk.integer(static_cast<int64_t>(tried))});
  walk.inline_function(method, {{self, other}, {}}, ContinuationKind::PushOperator, operands);
  walk.drop_below_callee(2);
  return true;
}

bool has_method(Walk& walk, const ValuePtr& value, const char* name) {
  return name != nullptr && method_of(walk, value, name);
}

// int, float, None ... answer NotImplemented for an operand of a class that is not theirs.
bool declines_strangers(PyTypeObject* type) {
  return type == &PyLong_Type || type == &PyFloat_Type || type == &PyBool_Type || type == &PyComplex_Type ||
         type == Py_TYPE(Py_None);
}

}  // namespace

bool is_user_object(const ValuePtr& value) {
  auto* object = as<ObjectValue>(value);
  return has_user_type(value) && (object == nullptr || !PyType_Check(object->object.get()));
}

bool inline_operator(Walk& walk, const Instruction& at) {
  ValuePtr right = walk.peek(1), left = walk.peek(2);
  auto is_user = [](const ValuePtr& value) {
    // A Counter, or another subclass of dict that the walk made.
    bool is_dict = value->kind == ValueKind::Dict && PyType_HasFeature(type_of(value), Py_TPFLAGS_HEAPTYPE);
    return is_dict || is_user_object(value);
  };
  bool left_user = is_user(left), right_user = is_user(right);
  if (!left_user && !right_user) return false;
  if (walk.is_tensor(left) || walk.is_tensor(right) || left->kind == ValueKind::Null) return false;
  PyTypeObject *left_type = walk.exact_type(left), *right_type = walk.exact_type(right);
  // The method of a subclass on the right comes first if it is its own.
  if (left_type != right_type && PyType_IsSubtype(right_type, left_type)) return false;
  OperatorMethods names = operator_methods(at);
  // object has no order: its methods give NotImplemented.
  bool is_order = at.op == Opcode::COMPARE_OP && at.arg != Py_EQ && at.arg != Py_NE;
  bool has_own = !is_order || !left_user || !walk.inherits(left, &PyBaseObject_Type, {names.plain});
  if (left_user && has_own) {
    if (inline_method(walk, left, right, names.in_place, OperatorTry::InPlace, left, right)) return true;
    if (has_method(walk, left, names.in_place)) return false;
    if (inline_method(walk, left, right, names.plain, OperatorTry::Plain, left, right)) return true;
    if (has_method(walk, left, names.plain)) return false;
  } else if (has_own && !declines_strangers(left_type)) {
    return false;
  }
  if (!right_user || (left_type == right_type && at.op == Opcode::BINARY_OP)) return false;
  return inline_method(walk, right, left, names.reflected, OperatorTry::Reflected, left, right);
}

bool inline_unary(Walk& walk, const char* name) {
  ValuePtr value = walk.peek();
  if (!is_user_object(value)) return false;
  ValuePtr method = python_method(walk, value, name);
  if (!method) return false;
  walk.inline_function(method, {{value}, {}}, ContinuationKind::Push, nullptr);
  walk.drop_below_callee(1);
  return true;
}

bool inline_item(Walk& walk, const ValuePtr& container, std::vector<ValuePtr> args, const char* name, int operands) {
  if (!is_user_object(container)) return false;
  ValuePtr method = python_method(walk, container, name);
  if (!method) return false;
  args.insert(args.begin(), container);
  walk.inline_function(method, {std::move(args), {}}, ContinuationKind::Discard, nullptr);
  walk.drop_below_callee(operands);
  return true;
}

}  // namespace md
