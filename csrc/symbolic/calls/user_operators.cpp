// Operators of the user's classes: their methods are inlined where Python would call them first.
#include "symbolic/calls/user_operators.h"

#include "snapshot/operator_methods.h"
#include "symbolic/attributes/attributes.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/calls/calls.h"
#include "symbolic/exceptions/exceptions.h"
#include "symbolic/facts/class_relations.h"
#include "symbolic/facts/value_facts.h"

namespace md {

namespace {

ValuePtr method_of(Walk& walk, const ValuePtr& self, const char* name) {
  return type_attribute(walk, self, check(PyUnicode_InternFromString(name)).get());
}
// The method if it is the user's Python, which can be inlined; null: another one, or none.
ValuePtr python_method(Walk& walk, const ValuePtr& self, const char* name) {
  return python_method(walk, self, check(PyUnicode_InternFromString(name)).get());
}

// What is inlined gives NotImplemented to the driver, or ends the region before the operator.
bool inline_method(Walk& walk, const ValuePtr& self, const ValuePtr& other, const char* name, OperatorTry tried,
                   const ValuePtr& left, const ValuePtr& right) {
  ValuePtr method = name == nullptr ? nullptr : python_method(walk, self, name);
  if (!method) return false;
  auto operands = make_value<SequenceValue>(
      false, std::vector<ValuePtr>{left, right, walk.values().integer(static_cast<int64_t>(tried))});
  inline_function(walk, method, {{self, other}, {}}, ContinuationKind::PushOperator, operands);
  walk.frames().drop_below_callee(2);
  return true;
}

bool has_method(Walk& walk, const ValuePtr& value, const char* name) {
  return name != nullptr && method_of(walk, value, name);
}

// int, float, None ... answer NotImplemented for an operand of a class that is not theirs.
bool declines(PyTypeObject* type, PyTypeObject* other) {
  for (PyTypeObject* number : {&PyLong_Type, &PyFloat_Type, &PyComplex_Type})
    if (PyType_IsSubtype(other, number)) return false;
  return type == &PyLong_Type || type == &PyFloat_Type || type == &PyBool_Type || type == &PyComplex_Type ||
         type == Py_TYPE(Py_None);
}

// What is compared with its own kind alone.
bool declines_comparison(PyTypeObject* type, PyTypeObject* other) {
  bool is_known = type == &PyUnicode_Type || type == &PyBytes_Type || type == &PyTuple_Type || type == &PyList_Type ||
                  type == &PyDict_Type;
  return is_known && !PyType_IsSubtype(other, type);
}

// Whether the left operand's method was inlined; nothing: it has none.
std::optional<bool> inline_of_left(Walk& walk, const ValuePtr& left, const ValuePtr& right,
                                   const OperatorMethods& names) {
  if (inline_method(walk, left, right, names.in_place, OperatorTry::InPlace, left, right)) return true;
  if (has_method(walk, left, names.in_place)) return false;
  if (inline_method(walk, left, right, names.plain, OperatorTry::Plain, left, right)) return true;
  if (has_method(walk, left, names.plain)) return false;
  return std::nullopt;
}

bool is_operand_of_user(const ValuePtr& value) {
  // A Counter, or another subclass of dict that the walk made.
  bool is_dict = value->kind == ValueKind::Dict && PyType_HasFeature(type_of(value), Py_TPFLAGS_HEAPTYPE);
  return is_dict || is_user_object(value);
}

// The methods of both operands, called one after another until one does not give NotImplemented (PEP 207, and binary_op1 of
// CPython's abstract.c with slot_nb_* of typeobject.c).
class OperatorCalls {
 public:
  OperatorCalls(Walk& walk, const Instruction& at, ValuePtr left, ValuePtr right)
      : walk_(walk),
        at_(at),
        names_(operator_methods(at)),
        compares_(at.op == Opcode::COMPARE_OP),
        left_(std::move(left)),
        right_(std::move(right)) {}

  ValuePtr run() {
    PyTypeObject *left = walk_.values().exact_type(left_), *right = walk_.values().exact_type(right_);
    bool reflects = compares_ || left != right;
    ValuePtr result = ask(left_, right_, names_.in_place);
    if (!result && left != right && is_object_of(walk_, right_, left) && (compares_ || overrides())) {
      result = ask(right_, left_, names_.reflected);
      reflects = false;
    }
    if (!result) result = ask(left_, right_, names_.plain);
    if (!result && reflects) result = ask(right_, left_, names_.reflected);
    return result ? result : nobody_knows();
  }

 private:
  // Null: NotImplemented, or there is no such method.
  ValuePtr ask(const ValuePtr& self, const ValuePtr& other, const char* name) {
    if (name == nullptr) return nullptr;
    if (!is_operand_of_user(self)) {
      PyTypeObject *type = walk_.values().exact_type(self), *of_other = walk_.values().exact_type(other);
      if (!declines(type, of_other) && !(compares_ && declines_comparison(type, of_other))) give_up();
      return nullptr;
    }
    if (ValuePtr method = python_method(walk_, self, name)) {
      ValuePtr result = call_now(walk_, method, {{self, other}, {}});
      return same_object(walk_, result, walk_.values().constant(Py_NotImplemented)) ? nullptr : result;
    }
    if (!has_method(walk_, self, name)) return nullptr;
    if (!compares_ || !inherits(walk_, self, &PyBaseObject_Type, {name})) give_up();
    return ask_object(self, other, name);
  }

  // object knows of itself that it equals itself, and has no order; its __ne__ turns round what the class's __eq__ says.
  ValuePtr ask_object(const ValuePtr& self, const ValuePtr& other, std::string_view name) {
    if (name == "__eq__") return same_object(walk_, self, other) ? walk_.values().boolean(true) : nullptr;
    if (name != "__ne__") return nullptr;
    ValuePtr equal = ask(self, other, "__eq__");
    return equal ? walk_.values().boolean(!truth_of(equal)) : nullptr;
  }

  bool overrides() {
    ValuePtr of_right = method_of(walk_, right_, names_.reflected), of_left = method_of(walk_, left_, names_.reflected);
    return of_right && (!of_left || !same_object(walk_, of_right, of_left));
  }

  bool truth_of(const ValuePtr& value) {
    std::optional<bool> truth = md::truth_of(walk_, value);
    if (!truth) give_up();
    return *truth;
  }

  ValuePtr nobody_knows() {
    if (compares_ && (at_.arg == Py_EQ || at_.arg == Py_NE))
      return walk_.values().boolean(same_object(walk_, left_, right_) == (at_.arg == Py_EQ));
    const char* text = compares_ ? "'%s' not supported between instances of '%.100s' and '%.100s'"
                                 : "unsupported operand type(s) for %s: '%.100s' and '%.100s'";
    const char *left = walk_.values().exact_type(left_)->tp_name, *right = walk_.values().exact_type(right_)->tp_name;
    raise_known(walk_, PyExc_TypeError,
                {walk_.values().constant(check(PyUnicode_FromFormat(text, names_.sign, left, right)))});
  }

  [[noreturn]] void give_up() {
    graph_break(BreakReason::unknown_operator,
                str_cat(names_.sign, " of ", describe(left_), " and ", describe(right_)));
  }

  Walk& walk_;
  const Instruction& at_;
  OperatorMethods names_;
  bool compares_;
  ValuePtr left_, right_;
};

bool call_operator(Walk& walk, const Instruction& at) {
  ValuePtr result = OperatorCalls(walk, at, walk.frames().peek(2), walk.frames().peek(1)).run();
  if (at.op == Opcode::COMPARE_OP && at.arg2 != 0) {
    std::optional<bool> truth = truth_by_methods(walk, result);
    if (!truth) graph_break(BreakReason::unknown_truth, describe(result));
    result = walk.values().boolean(*truth);
  }
  walk.frames().pop_many(2);
  walk.frames().push(std::move(result));
  return true;
}

}  // namespace

bool is_user_object(const ValuePtr& value) {
  auto* object = as<ObjectValue>(value);
  return has_user_type(value) && (object == nullptr || !PyType_Check(object->object.get()));
}

std::optional<bool> equal_by_methods(Walk& walk, const ValuePtr& left, const ValuePtr& right) {
  static constexpr Instruction kEqual{
      .op = Opcode::COMPARE_OP, .resumable = false, .arg = Py_EQ, .arg2 = 0, .unit = 0, .lasti = 0};
  if (!is_operand_of_user(left) && !is_operand_of_user(right)) return known_equal(walk, left, right);
  if (is_tensor(left) || is_tensor(right)) return std::nullopt;
  return truth_of(walk, OperatorCalls(walk, kEqual, left, right).run());
}

void break_if_changed(Walk& walk, int64_t step, const ValuePtr& container, const std::vector<ValuePtr>& elements) {
  if (walk.step_number() == step) return;
  auto now = elements_of(walk, container);
  if (!now || *now != elements)
    graph_break(BreakReason::unknown_comparison, "elements of a container that changes meanwhile");
}

bool inline_left_operator(Walk& walk, const Instruction& at) {
  ValuePtr right = walk.frames().peek(1), left = walk.frames().peek(2);
  if (!is_user_object(left) || walk.is_declined_operator()) return false;
  if (is_object_of(walk, right, walk.values().exact_type(left))) return false;
  return inline_of_left(walk, left, right, operator_methods(at)).value_or(false);
}

bool inline_operator(Walk& walk, const Instruction& at) {
  ValuePtr right = walk.frames().peek(1), left = walk.frames().peek(2);
  bool left_user = is_operand_of_user(left), right_user = is_operand_of_user(right);
  if (!left_user && !right_user) return false;
  if (is_tensor(left) || is_tensor(right) || left->kind == ValueKind::Null) return false;
  PyTypeObject *left_type = walk.values().exact_type(left), *right_type = walk.values().exact_type(right);
  // The method of a subclass on the right may come first.
  bool is_subclass_right = left_type != right_type && is_object_of(walk, right, left_type);
  if (is_subclass_right && !left_user) return false;
  if (is_subclass_right || walk.is_declined_operator()) return call_operator(walk, at);
  OperatorMethods names = operator_methods(at);
  // object has no order: its methods give NotImplemented.
  bool is_order = at.op == Opcode::COMPARE_OP && at.arg != Py_EQ && at.arg != Py_NE;
  // object's __ne__ calls the __eq__ of the class.
  auto inverts_eq = [&](const ValuePtr& value) {
    return at.op == Opcode::COMPARE_OP && at.arg == Py_NE && is_operand_of_user(value) &&
           inherits(walk, value, &PyBaseObject_Type, {"__ne__"}) && python_method(walk, value, "__eq__");
  };
  if (inverts_eq(left) || (!left_user && declines(left_type, right_type) && inverts_eq(right)))
    return call_operator(walk, at);
  bool has_own = !is_order || !left_user || !inherits(walk, left, &PyBaseObject_Type, {names.plain});
  if (left_user && has_own) {
    if (std::optional<bool> inlined = inline_of_left(walk, left, right, names)) return *inlined;
  } else if (has_own && !declines(left_type, right_type)) {
    return false;
  }
  if (!right_user || (left_type == right_type && at.op == Opcode::BINARY_OP)) return false;
  return inline_method(walk, right, left, names.reflected, OperatorTry::Reflected, left, right);
}

bool inline_unary(Walk& walk, const char* name) {
  ValuePtr value = walk.frames().peek();
  if (!is_user_object(value)) return false;
  ValuePtr method = python_method(walk, value, name);
  if (!method) return false;
  inline_function(walk, method, {{value}, {}}, ContinuationKind::Push, nullptr);
  walk.frames().drop_below_callee(1);
  return true;
}

bool inline_item(Walk& walk, const ValuePtr& container, std::vector<ValuePtr> args, const char* name, int operands) {
  if (!is_user_object(container)) return false;
  ValuePtr method = python_method(walk, container, name);
  if (!method) return false;
  args.insert(args.begin(), container);
  inline_function(walk, method, {std::move(args), {}}, ContinuationKind::Discard, nullptr);
  walk.frames().drop_below_callee(operands);
  return true;
}

std::optional<bool> truth_by_methods(Walk& walk, ValuePtr value) {
  static PyObject* const kBool = PyUnicode_InternFromString("__bool__");
  static PyObject* const kLen = PyUnicode_InternFromString("__len__");
  if (std::optional<bool> truth = truth_of(walk, value)) return truth;
  if (value->kind != ValueKind::Object && value->kind != ValueKind::Instance) return std::nullopt;
  ValuePtr method = type_attribute(walk, value, kBool);
  bool tells_truth = static_cast<bool>(method);
  if (!method) method = type_attribute(walk, value, kLen);
  if (!method || !is_python_function(method)) return std::nullopt;
  ValuePtr result = call_now(walk, method, {{value}, {}});
  if (!walk.values().is_exactly(result, tells_truth ? &PyBool_Type : &PyLong_Type)) raise_here();
  if (tells_truth) return truth_of(walk, result);
  std::optional<int64_t> length = int_of(walk, result);
  if (!length || *length < 0) raise_here();
  return *length != 0;
}

}  // namespace md
