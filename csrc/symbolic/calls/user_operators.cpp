// Operators of user-defined classes: their methods are inlined where Python would call them first.
#include "symbolic/calls/user_operators.h"

#include "snapshot/operator_methods.h"
#include "symbolic/attributes/attributes.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/calls/calls.h"
#include "symbolic/exceptions/exceptions.h"
#include "symbolic/facts/class_relations.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/values/number_types.h"

namespace md {

namespace {

ValuePtr method_of(Tracer& tracer, const ValuePtr& self, const char* name) {
  return type_attribute(tracer, self, check(PyUnicode_InternFromString(name)).get());
}
// The method if it is a Python function of the user, which can be inlined; null otherwise.
ValuePtr python_method(Tracer& tracer, const ValuePtr& self, const char* name) {
  return python_method(tracer, self, check(PyUnicode_InternFromString(name)).get());
}

// Inlines the method. A NotImplemented result restarts the trace, or ends the region before the operator.
bool inline_method(Tracer& tracer, const ValuePtr& self, const ValuePtr& other, const char* name, OperatorTry tried,
                   const ValuePtr& left, const ValuePtr& right) {
  ValuePtr method = name == nullptr ? nullptr : python_method(tracer, self, name);
  if (!method) return false;
  auto operands = make_value<SequenceValue>(
      false, std::vector<ValuePtr>{left, right, tracer.values().integer(static_cast<int64_t>(tried))});
  inline_function(tracer, method, {{self, other}, {}}, ContinuationKind::PushOperator, operands);
  tracer.frames().drop_below_callee(2);
  return true;
}

bool has_method(Tracer& tracer, const ValuePtr& value, const char* name) {
  return name != nullptr && method_of(tracer, value, name);
}

// Returns true if `type` (int, float, None ...) returns NotImplemented for an operand of class `other`.
bool declines(PyTypeObject* type, PyTypeObject* other) {
  return !derives_from_number(other) && (is_number_type(type) || type == Py_TYPE(Py_None));
}

// Returns true if `type` compares itself only with its own subclasses.
bool declines_comparison(PyTypeObject* type, PyTypeObject* other) {
  bool is_known = type == &PyUnicode_Type || type == &PyBytes_Type || type == &PyTuple_Type || type == &PyList_Type ||
                  type == &PyDict_Type;
  return is_known && !PyType_IsSubtype(other, type);
}

// Returns true if the left operand's method was inlined; nullopt if it has none.
std::optional<bool> inline_of_left(Tracer& tracer, const ValuePtr& left, const ValuePtr& right,
                                   const OperatorMethods& names) {
  if (inline_method(tracer, left, right, names.in_place, OperatorTry::InPlace, left, right)) return true;
  if (has_method(tracer, left, names.in_place)) return false;
  if (inline_method(tracer, left, right, names.plain, OperatorTry::Plain, left, right)) return true;
  if (has_method(tracer, left, names.plain)) return false;
  return std::nullopt;
}

bool is_operand_of_user(const ValuePtr& value) {
  // A Counter, or another subclass of dict, created in the trace.
  bool is_dict = value->kind == ValueKind::Dict && PyType_HasFeature(type_of(value), Py_TPFLAGS_HEAPTYPE);
  return is_dict || is_user_object(value);
}

// Calls the methods of both operands one after another until one does not return NotImplemented (PEP 207, and
// binary_op1 of CPython's abstract.c with slot_nb_* of typeobject.c).
class OperatorCalls {
 public:
  OperatorCalls(Tracer& tracer, const Instruction& at, ValuePtr left, ValuePtr right)
      : tracer_(tracer),
        at_(at),
        names_(operator_methods(at)),
        compares_(at.op == Opcode::COMPARE_OP),
        left_(std::move(left)),
        right_(std::move(right)) {}

  ValuePtr run() {
    PyTypeObject *left = tracer_.values().exact_type(left_), *right = tracer_.values().exact_type(right_);
    bool reflects = compares_ || left != right;
    ValuePtr result = ask(left_, right_, names_.in_place);
    if (!result && left != right && is_object_of(tracer_, right_, left) && (compares_ || overrides())) {
      result = ask(right_, left_, names_.reflected);
      reflects = false;
    }
    if (!result) result = ask(left_, right_, names_.plain);
    if (!result && reflects) result = ask(right_, left_, names_.reflected);
    return result ? result : is_unknown();
  }

 private:
  // Null: NotImplemented, or there is no such method.
  ValuePtr ask(const ValuePtr& self, const ValuePtr& other, const char* name) {
    if (name == nullptr) return nullptr;
    if (!is_operand_of_user(self)) {
      PyTypeObject *type = tracer_.values().exact_type(self), *of_other = tracer_.values().exact_type(other);
      if (!declines(type, of_other) && !(compares_ && declines_comparison(type, of_other))) give_up();
      return nullptr;
    }
    if (ValuePtr method = python_method(tracer_, self, name)) {
      ValuePtr result = call_now(tracer_, method, {{self, other}, {}});
      return same_object(tracer_, result, tracer_.values().constant(Py_NotImplemented)) ? nullptr : result;
    }
    if (!has_method(tracer_, self, name)) return nullptr;
    if (!compares_ || !inherits(tracer_, self, &PyBaseObject_Type, {name})) give_up();
    return ask_object(self, other, name);
  }

  // The methods of object: __eq__ compares identity, there is no order, and __ne__ inverts the result of the class's
  // __eq__.
  ValuePtr ask_object(const ValuePtr& self, const ValuePtr& other, std::string_view name) {
    if (name == "__eq__") return same_object(tracer_, self, other) ? tracer_.values().boolean(true) : nullptr;
    if (name != "__ne__") return nullptr;
    ValuePtr equal = ask(self, other, "__eq__");
    return equal ? tracer_.values().boolean(!truth_of(equal)) : nullptr;
  }

  bool overrides() {
    ValuePtr of_right = method_of(tracer_, right_, names_.reflected),
             of_left = method_of(tracer_, left_, names_.reflected);
    return of_right && (!of_left || !same_object(tracer_, of_right, of_left));
  }

  bool truth_of(const ValuePtr& value) {
    std::optional<bool> truth = md::truth_of(tracer_, value);
    if (!truth) give_up();
    return *truth;
  }

  ValuePtr is_unknown() {
    if (compares_ && (at_.arg == Py_EQ || at_.arg == Py_NE))
      return tracer_.values().boolean(same_object(tracer_, left_, right_) == (at_.arg == Py_EQ));
    const char* text = compares_ ? "'%s' not supported between instances of '%.100s' and '%.100s'"
                                 : "unsupported operand type(s) for %s: '%.100s' and '%.100s'";
    const char *left = tracer_.values().exact_type(left_)->tp_name,
               *right = tracer_.values().exact_type(right_)->tp_name;
    raise_known(tracer_, PyExc_TypeError,
                {tracer_.values().constant(check(PyUnicode_FromFormat(text, names_.sign, left, right)))});
  }

  [[noreturn]] void give_up() {
    graph_break(BreakReason::unknown_operator,
                str_cat(names_.sign, " of ", describe(left_), " and ", describe(right_)));
  }

  Tracer& tracer_;
  const Instruction& at_;
  OperatorMethods names_;
  bool compares_;
  ValuePtr left_, right_;
};

bool call_operator(Tracer& tracer, const Instruction& at) {
  ValuePtr result = OperatorCalls(tracer, at, tracer.frames().peek(2), tracer.frames().peek(1)).run();
  if (at.op == Opcode::COMPARE_OP && at.arg2 != 0) {
    std::optional<bool> truth = truth_by_methods(tracer, result);
    if (!truth) graph_break(BreakReason::unknown_truth, describe(result));
    result = tracer.values().boolean(*truth);
  }
  tracer.frames().pop_many(2);
  tracer.frames().push(std::move(result));
  return true;
}

}  // namespace

bool is_user_object(const ValuePtr& value) {
  auto* object = as<ObjectValue>(value);
  return has_user_type(value) && (object == nullptr || !PyType_Check(object->object.get()));
}

std::optional<bool> equal_by_methods(Tracer& tracer, const ValuePtr& left, const ValuePtr& right) {
  static constexpr Instruction kEqual{
      .op = Opcode::COMPARE_OP, .resumable = false, .arg = Py_EQ, .arg2 = 0, .unit = 0, .lasti = 0};
  if (!is_operand_of_user(left) && !is_operand_of_user(right)) return known_equal(tracer, left, right);
  if (is_tensor(left) || is_tensor(right)) return std::nullopt;
  return truth_of(tracer, OperatorCalls(tracer, kEqual, left, right).run());
}

void break_if_changed(Tracer& tracer, int64_t step, const ValuePtr& container, const std::vector<ValuePtr>& elements) {
  if (tracer.step_number() == step) return;
  auto now = elements_of(tracer, container);
  if (!now || *now != elements)
    graph_break(BreakReason::unknown_comparison, "elements of a container that changes meanwhile");
}

bool inline_left_operator(Tracer& tracer, const Instruction& at) {
  ValuePtr right = tracer.frames().peek(1), left = tracer.frames().peek(2);
  if (!is_user_object(left) || tracer.is_declined_operator()) return false;
  if (is_object_of(tracer, right, tracer.values().exact_type(left))) return false;
  return inline_of_left(tracer, left, right, operator_methods(at)).value_or(false);
}

bool inline_operator(Tracer& tracer, const Instruction& at) {
  ValuePtr right = tracer.frames().peek(1), left = tracer.frames().peek(2);
  bool left_user = is_operand_of_user(left), right_user = is_operand_of_user(right);
  if (!left_user && !right_user) return false;
  if (is_tensor(left) || is_tensor(right) || left->kind == ValueKind::Null) return false;
  PyTypeObject *left_type = tracer.values().exact_type(left), *right_type = tracer.values().exact_type(right);
  // The method of a subclass on the right may come first.
  bool is_subclass_right = left_type != right_type && is_object_of(tracer, right, left_type);
  if (is_subclass_right && !left_user) return false;
  if (is_subclass_right || tracer.is_declined_operator()) return call_operator(tracer, at);
  OperatorMethods names = operator_methods(at);
  // object has no order: its methods return NotImplemented.
  bool is_order = at.op == Opcode::COMPARE_OP && at.arg != Py_EQ && at.arg != Py_NE;
  // object's __ne__ calls the __eq__ of the class.
  auto inverts_eq = [&](const ValuePtr& value) {
    return at.op == Opcode::COMPARE_OP && at.arg == Py_NE && is_operand_of_user(value) &&
           inherits(tracer, value, &PyBaseObject_Type, {"__ne__"}) && python_method(tracer, value, "__eq__");
  };
  if (inverts_eq(left) || (!left_user && declines(left_type, right_type) && inverts_eq(right)))
    return call_operator(tracer, at);
  bool has_own = !is_order || !left_user || !inherits(tracer, left, &PyBaseObject_Type, {names.plain});
  if (left_user && has_own) {
    if (std::optional<bool> inlined = inline_of_left(tracer, left, right, names)) return *inlined;
  } else if (has_own && !declines(left_type, right_type)) {
    return false;
  }
  if (!right_user || (left_type == right_type && at.op == Opcode::BINARY_OP)) return false;
  return inline_method(tracer, right, left, names.reflected, OperatorTry::Reflected, left, right);
}

bool inline_unary(Tracer& tracer, const char* name) {
  ValuePtr value = tracer.frames().peek();
  if (!is_user_object(value)) return false;
  ValuePtr method = python_method(tracer, value, name);
  if (!method) return false;
  inline_function(tracer, method, {{value}, {}}, ContinuationKind::Push, nullptr);
  tracer.frames().drop_below_callee(1);
  return true;
}

bool inline_item(Tracer& tracer, const ValuePtr& container, std::vector<ValuePtr> args, const char* name,
                 int operands) {
  auto* object = as<ObjectValue>(container);
  bool is_class = object != nullptr && PyType_Check(object->object.get());
  if (!has_python_class(container) || is_class) return false;
  ValuePtr method = python_method(tracer, container, name);
  if (!method) return false;
  args.insert(args.begin(), container);
  inline_function(tracer, method, {std::move(args), {}}, ContinuationKind::Discard, nullptr);
  tracer.frames().drop_below_callee(operands);
  return true;
}

std::optional<bool> truth_by_methods(Tracer& tracer, ValuePtr value) {
  static PyObject* const kBool = PyUnicode_InternFromString("__bool__");
  static PyObject* const kLen = PyUnicode_InternFromString("__len__");
  if (std::optional<bool> truth = truth_of(tracer, value)) return truth;
  if (value->kind != ValueKind::Object && value->kind != ValueKind::Instance) return std::nullopt;
  ValuePtr method = type_attribute(tracer, value, kBool);
  bool tells_truth = static_cast<bool>(method);
  if (!method) method = type_attribute(tracer, value, kLen);
  if (!method || !is_python_function(method)) return std::nullopt;
  ValuePtr result = call_now(tracer, method, {{value}, {}});
  if (!tracer.values().is_exactly(result, tells_truth ? &PyBool_Type : &PyLong_Type)) raise_here();
  if (tells_truth) return truth_of(tracer, result);
  std::optional<int64_t> length = int_of(tracer, result);
  if (!length || *length < 0) raise_here();
  return *length != 0;
}

}  // namespace md
