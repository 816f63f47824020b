// Arithmetic.
#include "bytecode/binary_operators.h"
#include "cpython/imports.h"
#include "cpython/library_types.h"
#include "cpython/version_facts.h"
#include "symbolic/attributes/attributes.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/builtins/pure_calls.h"
#include "symbolic/builtins/set_methods.h"
#include "symbolic/calls/user_operators.h"
#include "symbolic/effects/pending_writes.h"
#include "symbolic/exceptions/exceptions.h"
#include "symbolic/facts/class_relations.h"
#include "symbolic/facts/enum_values.h"
#include "symbolic/facts/identities.h"
#include "symbolic/facts/text_templates.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/sizes/computed_numbers.h"
#include "symbolic/sizes/size_constants.h"
#include "symbolic/sizes/symbolic_sizes.h"
#include "symbolic/tensors/sequence_operands.h"
#include "symbolic/tensors/tensor_ops.h"
#include "symbolic/tensors/tensor_writes.h"
#include "symbolic/trace/registry.h"
#include "symbolic/trace/tracer.h"
#include "symbolic/values/number_types.h"

namespace md {

namespace {

bool is_number(BorrowedRef object) {
  return PyLong_CheckExact(object.get()) || PyFloat_CheckExact(object.get()) || PyBool_Check(object.get());
}

// Constant folding with a huge result is left to the interpreter.
bool may_be_large(BinaryCode op, BorrowedRef left, BorrowedRef right) {
  constexpr long kLimit = 10000;
  if (op == BinaryCode::Power && PyLong_Check(left.get()) && PyLong_Check(right.get())) {
    int overflow = 0;
    long long exponent = PyLong_AsLongLongAndOverflow(right, &overflow);
    return overflow != 0 || exponent > kLimit;
  }
  if (op == BinaryCode::Lshift || op == BinaryCode::Multiply) {
    for (BorrowedRef side : {left, right}) {
      if (!PyLong_Check(side.get())) continue;
      int overflow = 0;
      long long count = PyLong_AsLongLongAndOverflow(side, &overflow);
      bool repeats = op == BinaryCode::Lshift || !is_number(left) || !is_number(right);
      if (repeats && (overflow != 0 || count > kLimit)) return true;
    }
  }
  return false;
}

ValuePtr binary_on_tensors(Tracer& tracer, int arg, ValuePtr left, ValuePtr right) {
  // list += tensor makes a new tensor.
  bool may_write = is_in_place(arg) && is_tensor(left);
  convert_sequence(tracer, left, right);
  const BinaryOperator& op = binary_operator(arg);
  const OpRow* row = answering_family(left, right).binary_operator(op);
  std::string text = op.sign;
  if (row == nullptr) graph_break(BreakReason::tensor_operands, "operator " + text);
  bool in_place = may_write && has_in_place_form(type_of(left), op.code);
  if (in_place && !has_in_place_form(*row)) graph_break(BreakReason::tensor_operands, text + "=");
  const ValuePtr& other = is_tensor(left) ? right : left;
  bool known = is_tensor(other) || is_number_type(type_of(other));
  if (!known) {
    // For None, str and similar the interpreter raises; a user's class may define its own operator.
    if (type_of(other) == nullptr || PyType_HasFeature(type_of(other), Py_TPFLAGS_HEAPTYPE) ||
        answering_family(left, right).takes_numbers)
      graph_break(BreakReason::tensor_operands, str_cat("operator ", text, " with a ", describe(other)));
    tracer.values().exact_type(other);
    raise_here();
  }
  if (in_place) return call_in_place(tracer, *row, {{left, right}, {}});
  return call_op(tracer, *row, {{left, right}, {}}, CallForm::Operator);
}

// For a subclass of tuple: + and * are tuple's own, and no reflected method precedes them.
bool has_operators_of_base(Tracer& tracer, const ValuePtr& sequence) {
  PyTypeObject* type = type_of(sequence);
  if (type != &PyList_Type && (is_deque(sequence) || PyType_IsSubtype(type, &PyList_Type))) return false;
  if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) return true;
  static PyObject* const kReflected = PyUnicode_InternFromString("__radd__");
  return inherits(tracer, sequence, &PyTuple_Type, {"__add__", "__mul__", "__rmul__"}) &&
         !type_attribute(tracer, sequence, kReflected);
}

ValuePtr binary_on_sequences(Tracer& tracer, BinaryCode op, bool in_place, const ValuePtr& left,
                             const ValuePtr& right) {
  if (op == BinaryCode::Add) {
    auto a = elements_of(tracer, left), b = elements_of(tracer, right);
    if (!a || !b) return nullptr;
    // Size defines these operators, on either side.
    if (is_shape(left) || is_shape(right)) {
      if (tracer.values().exact_type(left) == &PyList_Type || tracer.values().exact_type(right) == &PyList_Type)
        return nullptr;
      a->insert(a->end(), b->begin(), b->end());
      return shape_of_items(tracer, type_of(is_shape(left) ? left : right), std::move(*a));
    }
    PyTypeObject* type = tracer.values().exact_type(left);
    PyTypeObject* other = tracer.values().exact_type(right);
    if ((type == &PyList_Type) != (other == &PyList_Type)) return nullptr;
    if (!has_operators_of_base(tracer, left) || !has_operators_of_base(tracer, right)) return nullptr;
    if (in_place && type == &PyList_Type) return nullptr;  // modifies the list: extend() below
    // A tuple plus an empty one is the tuple itself.
    if (type == &PyTuple_Type && b->empty()) return left;
    if (other == &PyTuple_Type && a->empty()) return right;
    a->insert(a->end(), b->begin(), b->end());
    return make_value<SequenceValue>(type == &PyList_Type, std::move(*a));
  }
  if (op != BinaryCode::Multiply) return nullptr;
  const ValuePtr& sequence = type_of(left) == &PyLong_Type ? right : left;
  const ValuePtr& count = type_of(left) == &PyLong_Type ? left : right;
  auto items = elements_of(tracer, sequence);
  std::optional<int64_t> times = items ? int_of(tracer, count) : std::nullopt;
  PyTypeObject* type = items ? tracer.values().exact_type(sequence) : nullptr;
  if (!times || (in_place && type == &PyList_Type) || !has_operators_of_base(tracer, sequence)) return nullptr;
  if (*times > 10000) return nullptr;
  if (type == &PyTuple_Type && (*times == 1 || items->empty())) return sequence;
  std::vector<ValuePtr> result;
  for (int64_t i = 0; i < *times; ++i) result.insert(result.end(), items->begin(), items->end());
  if (is_shape(sequence)) return shape_of_items(tracer, type_of(sequence), std::move(result));
  return make_value<SequenceValue>(type == &PyList_Type, std::move(result));
}

ValuePtr binary_on_sizes(Tracer& tracer, int arg, const ValuePtr& left, const ValuePtr& right) {
  BorrowedRef left_size = size_constant(left), right_size = size_constant(right);
  if ((!left_size && !right_size) || has_symbolic_size(tracer, left) || has_symbolic_size(tracer, right))
    return nullptr;
  Ref a = left_size ? Ref::share(left_size) : constant_of(tracer, left);
  Ref b = right_size ? Ref::share(right_size) : constant_of(tracer, right);
  if (!a || !b || may_be_large(binary_operator(arg).code, a.get(), b.get())) return nullptr;
  Ref folded = Ref::steal(apply_binary(arg, a, b));
  if (!folded) raise_current(tracer);
  return tracer.values().constant(folded);
}

// a += b on a list modifies that list.
bool extend_in_place(Tracer& tracer, BinaryCode op, const ValuePtr& left, const ValuePtr& right) {
  if (op == BinaryCode::Multiply && type_of(left) == &PyList_Type && type_of(right) == &PyLong_Type) {
    std::optional<int64_t> times = int_of(tracer, right);
    auto items = elements_of(tracer, left);
    if (!times || !items || *times > 10000) return false;
    int64_t length = static_cast<int64_t>(items->size());
    std::vector<ValuePtr> all;
    for (int64_t i = 0; i < *times; ++i) all.insert(all.end(), items->begin(), items->end());
    list_splice(tracer, left, 0, length, std::move(all));
    return true;
  }
  if (op != BinaryCode::Add || type_of(left) != &PyList_Type) return false;
  tracer.values().exact_type(left);
  return list_extend(tracer, left, right);
}

// a
// b on exact dicts: a new one.
ValuePtr merge_dicts(Tracer& tracer, BinaryCode op, bool in_place, const ValuePtr& left, const ValuePtr& right) {
  if (op != BinaryCode::Or || type_of(left) != &PyDict_Type || type_of(right) != &PyDict_Type) return nullptr;
  auto a = entries_of(tracer, left), b = entries_of(tracer, right);
  if (!a || !b) return nullptr;
  if (in_place) {
    for (const DictValue::Entry& entry : *b) dict_item(tracer, left, entry.key.get());
    for (const DictValue::Entry& entry : *b) dict_set(tracer, left, entry.key.get(), entry.value);
    return left;
  }
  auto merged = make_value<DictValue>();
  merged->entries = std::move(*a);
  for (const DictValue::Entry& entry : *b) dict_set(tracer, merged, entry.key.get(), entry.value);
  return merged;
}

// The computation that the exit performs on dynamic numbers; nullopt if the operator has none.
std::optional<ScalarOp> computation_of(BinaryCode op) {
  static constexpr std::optional<ScalarOp> kComputations[kBinaryOperators] = {
      ScalarOp::Add,      ScalarOp::And,        ScalarOp::FloorDivide, ScalarOp::Lshift, std::nullopt,
      ScalarOp::Multiply, ScalarOp::Remainder,  ScalarOp::Or,          ScalarOp::Power,  ScalarOp::Rshift,
      ScalarOp::Subtract, ScalarOp::TrueDivide, ScalarOp::Xor};
  return kComputations[static_cast<int>(op)];
}

// text % values, evaluated by Python. Null: unknown.
ValuePtr percent_format(Tracer& tracer, BinaryCode op, const ValuePtr& left, const ValuePtr& right) {
  static PyObject* const kRemainder =
      check(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyUnicode_Type), "__mod__")).release();
  if (op != BinaryCode::Remainder || type_of(left) != &PyUnicode_Type) return nullptr;
  PyTypeObject* type = type_of(right);
  // The items of a tuple of a subclass are read from the tuple itself.
  bool is_subclass = type != nullptr && type != &PyTuple_Type && PyType_IsSubtype(type, &PyTuple_Type) != 0;
  if (auto items = is_subclass && !is_shape(right) ? elements_of(tracer, right) : nullptr) {
    ValuePtr values = make_value<SequenceValue>(false, std::move(*items));
    if (Ref text = filled_percents(tracer, left, values)) return tracer.values().constant(text);
    return fold_pure_call(tracer, kRemainder, {{left, values}, {}});
  }
  if (Ref text = filled_percents(tracer, left, right)) return tracer.values().constant(text);
  bool known = (type == &PyDict_Type || type == &PyList_Type) && right->kind != ValueKind::Tensor;
  return known ? fold_pure_call(tracer, kRemainder, {{left, right}, {}}) : nullptr;
}

// A class whose metaclass inherits `|` and comparison from type.
bool has_plain_union(Tracer& tracer, const ValuePtr& value) {
  auto* object = as<ObjectValue>(value);
  if (object == nullptr || !PyType_Check(object->object.get())) return false;
  PyTypeObject* metaclass = object->object.type();
  bool is_plain = metaclass->tp_as_number->nb_or == PyType_Type.tp_as_number->nb_or &&
                  metaclass->tp_richcompare == PyType_Type.tp_richcompare && metaclass->tp_hash == PyType_Type.tp_hash;
  if (!is_plain) return false;
  tracer.values().identity_of(value);
  return inherits(tracer, value, &PyType_Type, {"__or__", "__ror__", "__eq__", "__hash__"});
}

// int | str | None: a union holds its two sides, unions among them.
ValuePtr union_of_classes(Tracer& tracer, BinaryCode op, const ValuePtr& left, const ValuePtr& right) {
  if (op != BinaryCode::Or) return nullptr;
  bool has_class = false;
  for (const ValuePtr& side : {left, right}) {
    bool is_none = same_object(tracer, side, tracer.values().none());
    if (!is_none && !is_made_union(side) && !has_plain_union(tracer, side)) return nullptr;
    has_class = has_class || !is_none;
  }
  if (!has_class) return nullptr;
  // The union of a class with itself is the class.
  if (same_object(tracer, left, right)) return is_made_union(left) ? nullptr : left;
  static PyObject* const function = imported("operator", "or_").release();
  ValuePtr type = tracer.values().constant(reinterpret_cast<PyObject*>(union_type()));
  auto made =
      make_value<ConstructedValue>(type, std::vector<ValuePtr>{left, right}, std::vector<std::pair<Ref, ValuePtr>>{});
  made->maker = tracer.values().constant(function);
  return made;
}

[[noreturn]] void break_on_operator(const char* op, const ValuePtr& left, const ValuePtr& right) {
  graph_break(BreakReason::unknown_operator, str_cat(describe(left), " ", op, " ", describe(right)));
}

void binary_op(Tracer& tracer, const Instruction& at) {
  ValuePtr right = tracer.frames().peek(1), left = tracer.frames().peek(2);
  open_members(tracer, at, left, right);
  left = number_or_itself(tracer, left);
  right = number_or_itself(tracer, right);
  const BinaryOperator& row = binary_operator(at.arg);
  BinaryCode op = row.code;
  bool in_place = is_in_place(at.arg);
  ValuePtr result;
  if (is_tensor(right) && !is_tensor(left) && inline_left_operator(tracer, at)) return;
  if (is_tensor(left) || is_tensor(right)) {
    result = binary_on_tensors(tracer, at.arg, left, right);
  } else if (in_place && extend_in_place(tracer, op, left, right)) {
    result = left;
  } else if ((result = combine_sets(tracer, left, right, in_place, [&](PyObject* a, PyObject* b) {
                return Ref::steal(apply_binary(at.arg, a, b));
              }))) {
  } else if ((result = merge_dicts(tracer, op, in_place, left, right))) {
  } else if (in_place && change_set_in_place(tracer, op, left, right)) {
    result = left;
  } else if ((result = binary_on_sizes(tracer, at.arg, left, right))) {
  } else if ((result = binary_on_sequences(tracer, op, in_place, left, right))) {
  } else if ((result = percent_format(tracer, op, left, right))) {
  } else if ((result = union_of_classes(tracer, op, left, right))) {
  } else if (inline_operator(tracer, at)) {
    return;
  } else if (computation_of(op) && (result = computed(tracer, *computation_of(op), {left, right}))) {
  } else {
    Ref a = constant_of(tracer, left), b = a ? constant_of(tracer, right) : Ref();
    if (!b || may_be_large(op, a.get(), b.get())) break_on_operator(row.sign, left, right);
    Ref folded = Ref::steal(apply_binary(at.arg, a, b));
    if (!folded) raise_current(tracer);
    result = value_of_result(tracer, folded);
    if (!result) break_on_operator(row.sign, left, right);
  }
  tracer.frames().pop_many(2);
  tracer.frames().push(std::move(result));
}

template <char op>
void unary_op(Tracer& tracer, const Instruction&) {
  ValuePtr value = number_or_itself(tracer, tracer.frames().peek());
  ValuePtr result;
  if (op == '~' && kInvertedBoolWarns && type_of(value) == &PyBool_Type)
    graph_break(BreakReason::unknown_operator, "~ of a bool, which warns");
  if (is_tensor(value)) {
    const OpRow* row = as<TensorValue>(value)->family->unary_operator(op);
    if (row == nullptr) graph_break(BreakReason::tensor_operands, str_cat("operator ", op));
    result = call_op(tracer, *row, {{value}, {}}, CallForm::Operator);
  } else if (inline_unary(tracer, op == '-' ? "__neg__" : op == '+' ? "__pos__" : "__invert__")) {
    return;
  } else if ((result = computed(tracer,
                                op == '-'   ? ScalarOp::Negative
                                : op == '+' ? ScalarOp::Positive
                                            : ScalarOp::Invert,
                                {value}))) {
  } else {
    Ref constant = constant_of(tracer, value);
    if (!constant) graph_break(BreakReason::unknown_operator, str_cat(op, describe(value)));
    Ref folded = Ref::steal(op == '-'   ? PyNumber_Negative(constant)
                            : op == '+' ? PyNumber_Positive(constant)
                                        : PyNumber_Invert(constant));
    if (!folded) raise_current(tracer);
    result = tracer.values().constant(folded);
  }
  tracer.frames().pop();
  tracer.frames().push(std::move(result));
}

const OpcodeRegistration registration{{Opcode::BINARY_OP, binary_op},
                                      {Opcode::UNARY_NEGATIVE, unary_op<'-'>},
                                      {Opcode::UNARY_POSITIVE, unary_op<'+'>},
                                      {Opcode::UNARY_INVERT, unary_op<'~'>}};

}  // namespace

}  // namespace md
