// Arithmetic, comparison, membership, subscripts, formatting.
#include "bytecode/binary_operators.h"
#include "cpython/imports.h"
#include "cpython/version_facts.h"
#include "frontends/op_callables.h"
#include "snapshot/operator_methods.h"
#include "symbolic/enum_values.h"
#include "symbolic/exceptions.h"
#include "symbolic/pure_calls.h"
#include "symbolic/set_methods.h"
#include "symbolic/texts.h"
#include "symbolic/user_operators.h"
#include "symbolic/walk.h"

#include <algorithm>

namespace md {

namespace {

bool is_number(BorrowedRef object) {
  return PyLong_CheckExact(object.get()) || PyFloat_CheckExact(object.get()) || PyBool_Check(object.get());
}

// A known operation whose result would be too large to make while looking ahead is left to Python.
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

ValuePtr binary_on_tensors(Walk& walk, int arg, const ValuePtr& left, const ValuePtr& right) {
  const BinaryOperator& op = binary_operator(arg);
  const OpRow* row = binary_operator_row(op);
  std::string text = op.sign;
  if (row == nullptr) walk.graph_break(BreakReason::tensor_operands, "operator " + text);
  bool in_place =
      is_in_place(arg) && walk.is_tensor(left) && has_in_place_form(type_of(left), op.code) && (row->faces & kInPlace);
  const ValuePtr& other = walk.is_tensor(left) ? right : left;
  bool known = walk.is_tensor(other) || type_of(other) == &PyLong_Type || type_of(other) == &PyFloat_Type ||
               type_of(other) == &PyBool_Type;
  if (!known) {
    // None, str and the like are errors that Python raises; a class of the user's may have its own operator.
    if (type_of(other) == nullptr || PyType_HasFeature(type_of(other), Py_TPFLAGS_HEAPTYPE))
      walk.graph_break(BreakReason::tensor_operands, str_cat("operator ", text, " with a ", describe(other)));
    walk.exact_type(other);
    walk.raise_here();
  }
  if (in_place) return walk.call_in_place(*row, {{left, right}, {}});
  return walk.call_op(*row, {{left, right}, {}}, CallForm::Operator);
}

// Of a subclass of tuple: + and * are tuple's, and nothing comes before them.
bool has_operators_of_base(Walk& walk, const ValuePtr& sequence) {
  PyTypeObject* type = type_of(sequence);
  if (type != &PyList_Type && (is_deque(sequence) || PyType_IsSubtype(type, &PyList_Type))) return false;
  if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) return true;
  static PyObject* const kReflected = PyUnicode_InternFromString("__radd__");
  return walk.inherits(sequence, &PyTuple_Type, {"__add__", "__mul__", "__rmul__"}) &&
         !walk.type_attribute(sequence, kReflected);
}

ValuePtr binary_on_sequences(Walk& walk, BinaryCode op, bool in_place, const ValuePtr& left, const ValuePtr& right) {
  if (op == BinaryCode::Add) {
    auto a = walk.elements_of(left), b = walk.elements_of(right);
    if (!a || !b) return nullptr;
    // As Size has it, on either side.
    if (walk.is_shape(left) || walk.is_shape(right)) {
      if (walk.exact_type(left) == &PyList_Type || walk.exact_type(right) == &PyList_Type) return nullptr;
      a->insert(a->end(), b->begin(), b->end());
      auto sum = make_value<SequenceValue>(false, std::move(*a));
      sum->type = as<SequenceValue>(walk.is_shape(left) ? left : right)->type;
      return sum;
    }
    PyTypeObject* type = walk.exact_type(left);
    PyTypeObject* other = walk.exact_type(right);
    if ((type == &PyList_Type) != (other == &PyList_Type)) return nullptr;
    if (!has_operators_of_base(walk, left) || !has_operators_of_base(walk, right)) return nullptr;
    if (in_place && type == &PyList_Type) return nullptr;  // changes the list: extend() below
    // A tuple to which nothing is added stays itself.
    if (type == &PyTuple_Type && b->empty()) return left;
    if (other == &PyTuple_Type && a->empty()) return right;
    a->insert(a->end(), b->begin(), b->end());
    return make_value<SequenceValue>(type == &PyList_Type, std::move(*a));
  }
  if (op != BinaryCode::Multiply) return nullptr;
  const ValuePtr& sequence = type_of(left) == &PyLong_Type ? right : left;
  const ValuePtr& count = type_of(left) == &PyLong_Type ? left : right;
  auto items = walk.elements_of(sequence);
  std::optional<int64_t> times = items ? walk.int_of(count) : std::nullopt;
  PyTypeObject* type = items ? walk.exact_type(sequence) : nullptr;
  if (!times || (in_place && type == &PyList_Type) || !has_operators_of_base(walk, sequence)) return nullptr;
  if (*times > 10000) return nullptr;
  if (type == &PyTuple_Type && (*times == 1 || items->empty())) return sequence;
  std::vector<ValuePtr> result;
  for (int64_t i = 0; i < *times; ++i) result.insert(result.end(), items->begin(), items->end());
  auto repeated = make_value<SequenceValue>(type == &PyList_Type, std::move(result));
  if (walk.is_shape(sequence)) repeated->type = as<SequenceValue>(sequence)->type;
  return repeated;
}

// A constant of a subclass of tuple that is ours (Size), whose operators give one again. Null: not such a value.
BorrowedRef size_of(const ValuePtr& value) {
  auto* object = as<ObjectValue>(value);
  bool is_size = object != nullptr && object->source == nullptr && PyTuple_Check(object->object.get()) &&
                 !PyTuple_CheckExact(object->object.get());
  return is_size ? BorrowedRef(object->object) : nullptr;
}

ValuePtr binary_on_sizes(Walk& walk, int arg, const ValuePtr& left, const ValuePtr& right) {
  BorrowedRef left_size = size_of(left), right_size = size_of(right);
  if ((!left_size && !right_size) || walk.has_symbolic_size(left) || walk.has_symbolic_size(right)) return nullptr;
  Ref a = left_size ? Ref::share(left_size) : walk.constant_of(left);
  Ref b = right_size ? Ref::share(right_size) : walk.constant_of(right);
  if (!a || !b || may_be_large(binary_operator(arg).code, a.get(), b.get())) return nullptr;
  Ref folded = Ref::steal(apply_binary(arg, a, b));
  if (!folded) walk.raise_set();
  return walk.constant(folded);
}

// a += b on a list changes that list.
bool extend_in_place(Walk& walk, BinaryCode op, const ValuePtr& left, const ValuePtr& right) {
  if (op == BinaryCode::Multiply && type_of(left) == &PyList_Type && type_of(right) == &PyLong_Type) {
    std::optional<int64_t> times = walk.int_of(right);
    auto items = walk.elements_of(left);
    if (!times || !items || *times > 10000) return false;
    int64_t length = static_cast<int64_t>(items->size());
    std::vector<ValuePtr> all;
    for (int64_t i = 0; i < *times; ++i) all.insert(all.end(), items->begin(), items->end());
    walk.list_splice(left, 0, length, std::move(all));
    return true;
  }
  if (op != BinaryCode::Add || type_of(left) != &PyList_Type) return false;
  walk.exact_type(left);
  return walk.list_extend(left, right);
}

// a | b on exact dicts: a new one.
ValuePtr merge_dicts(Walk& walk, BinaryCode op, bool in_place, const ValuePtr& left, const ValuePtr& right) {
  if (op != BinaryCode::Or || type_of(left) != &PyDict_Type || type_of(right) != &PyDict_Type) return nullptr;
  auto a = walk.entries_of(left), b = walk.entries_of(right);
  if (!a || !b) return nullptr;
  if (in_place) {
    for (const DictValue::Entry& entry : *b) walk.dict_item(left, entry.key.get());
    for (const DictValue::Entry& entry : *b) walk.dict_set(left, entry.key.get(), entry.value);
    return left;
  }
  auto merged = make_value<DictValue>();
  merged->entries = std::move(*a);
  for (const DictValue::Entry& entry : *b) merged->set(entry.key.get(), entry.value);
  return merged;
}

// What the exit computes from numbers that vary; no answer: not for this operator.
std::optional<Computation> computation_of(BinaryCode op) {
  static constexpr std::optional<Computation> kComputations[kBinaryOperators] = {
      Computation::Add,      Computation::And,        Computation::FloorDivide, std::nullopt,       std::nullopt,
      Computation::Multiply, Computation::Remainder,  Computation::Or,          Computation::Power, Computation::Rshift,
      Computation::Subtract, Computation::TrueDivide, Computation::Xor};
  return kComputations[static_cast<int>(op)];
}

// text % values, where Python makes the text. Null: not known.
ValuePtr percent_format(Walk& walk, BinaryCode op, const ValuePtr& left, const ValuePtr& right) {
  static PyObject* const kRemainder =
      check(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyUnicode_Type), "__mod__")).release();
  PyTypeObject* type = type_of(right);
  bool known = op == BinaryCode::Remainder && type_of(left) == &PyUnicode_Type &&
               (type == &PyDict_Type || type == &PyList_Type) && right->kind != ValueKind::Tensor;
  return known ? fold_pure_call(walk, kRemainder, {{left, right}, {}}) : nullptr;
}

// int | None, of classes whose metaclass leaves that to type.
ValuePtr union_of_classes(Walk& walk, BinaryCode op, const ValuePtr& left, const ValuePtr& right) {
  static const Ref type = imported("types", "UnionType"), function = imported("operator", "or_");
  if (op != BinaryCode::Or) return nullptr;
  bool has_class = false;
  for (const ValuePtr& side : {left, right}) {
    auto* object = as<ObjectValue>(side);
    if (object == nullptr) return nullptr;
    bool is_class = PyType_Check(object->object.get()) &&
                    object->object.type()->tp_as_number->nb_or == PyType_Type.tp_as_number->nb_or;
    if (!is_class && object->object.get() != Py_None) return nullptr;
    has_class = has_class || is_class;
  }
  if (!has_class) return nullptr;
  for (const ValuePtr& side : {left, right}) walk.identity_of(side);
  // Of one class twice Python makes that class.
  if (as<ObjectValue>(left)->object.get() == as<ObjectValue>(right)->object.get()) return nullptr;
  auto made = make_value<MadeValue>(walk.constant(type.get()), std::vector<ValuePtr>{left, right},
                                    std::vector<std::pair<Ref, ValuePtr>>{});
  made->maker = walk.constant(function.get());
  return made;
}

[[noreturn]] void break_on_operator(Walk& walk, const char* op, const ValuePtr& left, const ValuePtr& right) {
  walk.graph_break(BreakReason::unknown_operator, str_cat(describe(left), " ", op, " ", describe(right)));
}

// Operands that are members of an enum of numbers or texts, as what they equal where the operator is that of the number or text.
void open_members(Walk& walk, const Instruction& at, ValuePtr& left, ValuePtr& right) {
  OperatorMethods names = operator_methods(at);
  // text % member asks the member for its own text.
  bool is_text = type_of(left) == &PyUnicode_Type || type_of(left) == &PyBytes_Type ||
                 (type_of(left) != nullptr && PyType_IsSubtype(type_of(left), &PyUnicode_Type));
  if (at.op == Opcode::BINARY_OP && is_text && binary_operator(at.arg).code == BinaryCode::Remainder) return;
  for (ValuePtr* side : {&left, &right}) {
    if (!has_user_type(*side)) continue;
    const char* reflected = names.reflected != nullptr ? names.reflected : names.plain;
    const char* plain = names.plain != nullptr ? names.plain : reflected;
    if (plain != nullptr) *side = plain_or_itself(walk, *side, {plain, reflected});
  }
}

void binary_op(Walk& walk, const Instruction& at) {
  ValuePtr right = walk.peek(1), left = walk.peek(2);
  open_members(walk, at, left, right);
  const BinaryOperator& row = binary_operator(at.arg);
  BinaryCode op = row.code;
  bool in_place = is_in_place(at.arg);
  ValuePtr result;
  if (walk.is_tensor(left) || walk.is_tensor(right)) {
    result = binary_on_tensors(walk, at.arg, left, right);
  } else if (in_place && extend_in_place(walk, op, left, right)) {
    result = left;
  } else if ((result = combine_sets(walk, left, right, in_place, [&](PyObject* a, PyObject* b) {
                return Ref::steal(apply_binary(at.arg, a, b));
              }))) {
  } else if ((result = merge_dicts(walk, op, in_place, left, right))) {
  } else if (in_place && change_set_in_place(walk, op, left, right)) {
    result = left;
  } else if ((result = binary_on_sizes(walk, at.arg, left, right))) {
  } else if ((result = binary_on_sequences(walk, op, in_place, left, right))) {
  } else if ((result = percent_format(walk, op, left, right))) {
  } else if ((result = union_of_classes(walk, op, left, right))) {
  } else if (inline_operator(walk, at)) {
    return;
  } else if (computation_of(op) && (result = walk.computed(*computation_of(op), {left, right}))) {
  } else {
    Ref a = walk.constant_of(left), b = a ? walk.constant_of(right) : Ref();
    if (!b || may_be_large(op, a.get(), b.get())) break_on_operator(walk, row.sign, left, right);
    Ref folded = Ref::steal(apply_binary(at.arg, a, b));
    if (!folded) walk.raise_set();
    result = value_of_result(walk, folded);
    if (!result) break_on_operator(walk, row.sign, left, right);
  }
  walk.pop_many(2);
  walk.push(std::move(result));
}

template <char op>
void unary_op(Walk& walk, const Instruction&) {
  ValuePtr value = walk.peek();
  ValuePtr result;
  if (op == '~' && kInvertedBoolWarns && type_of(value) == &PyBool_Type)
    walk.graph_break(BreakReason::unknown_operator, "~ of a bool, which warns");
  if (walk.is_tensor(value)) {
    const OpRow* row = unary_operator_row(op);
    if (row == nullptr) walk.graph_break(BreakReason::tensor_operands, str_cat("operator ", op));
    result = walk.call_op(*row, {{value}, {}}, CallForm::Operator);
  } else if (inline_unary(walk, op == '-' ? "__neg__" : op == '+' ? "__pos__" : "__invert__")) {
    return;
  } else if ((result = walk.computed(op == '-'   ? Computation::Negative
                                     : op == '+' ? Computation::Positive
                                                 : Computation::Invert,
                                     {value}))) {
  } else {
    Ref constant = walk.constant_of(value);
    if (!constant) walk.graph_break(BreakReason::unknown_operator, str_cat(op, describe(value)));
    Ref folded = Ref::steal(op == '-'   ? PyNumber_Negative(constant)
                            : op == '+' ? PyNumber_Positive(constant)
                                        : PyNumber_Invert(constant));
    if (!folded) walk.raise_set();
    result = walk.constant(folded);
  }
  walk.pop();
  walk.push(std::move(result));
}

bool compares_by_identity(const ValuePtr& value) {
  auto* object = as<ObjectValue>(value);
  if (object == nullptr) return false;
  PyObject* real = object->object;
  return PyFunction_Check(real) || PyModule_CheckExact(real) || real == Py_None || real == Py_Ellipsis ||
         (PyType_Check(real) && Py_TYPE(real)->tp_richcompare == PyType_Type.tp_richcompare) ||
         Py_TYPE(real)->tp_richcompare == PyBaseObject_Type.tp_richcompare;
}

// Containers that hold themselves are compared until Python raises.
constexpr int kDeepestEquality = 100;

// Each entry of a dict is guarded; larger ones are Python's to compare.
constexpr size_t kMostEntries = 256;

class EqualityDepth {
 public:
  explicit EqualityDepth(Walk& walk) {
    if (++depth_ <= kDeepestEquality) return;
    --depth_;
    walk.graph_break(BreakReason::unknown_comparison, "of deeply nested containers");
  }
  ~EqualityDepth() { --depth_; }
  EqualityDepth(const EqualityDepth&) = delete;

 private:
  static inline thread_local int depth_ = 0;
};

bool is_kind_of_list(PyTypeObject* type) { return PyType_IsSubtype(type, &PyList_Type) != 0; }

std::optional<bool> equality(Walk& walk, const ValuePtr& a, const ValuePtr& b);

// As containers compare what they hold: one object is equal to itself, whatever it says.
std::optional<bool> held_equality(Walk& walk, const ValuePtr& held, const ValuePtr& other) {
  if (held == other && !walk.is_tensor(held)) return true;
  bool asks = is_user_object(held) || is_user_object(other);
  return asks && walk.same_object(held, other) ? true : equality(walk, held, other);
}

std::optional<bool> equality(Walk& walk, const ValuePtr& a, const ValuePtr& b) {
  static PyObject* const kEq = PyUnicode_InternFromString("__eq__");
  EqualityDepth depth(walk);
  if (walk.is_tensor(a) || walk.is_tensor(b)) return std::nullopt;
  if (a->kind == ValueKind::Identity || b->kind == ValueKind::Identity) {
    if (a->kind != b->kind) return std::nullopt;
    walk.keep_identities_apart(as<IdentityValue>(a)->key.get(), as<IdentityValue>(b)->key.get());
    return a == b;
  }
  // What is equal to a member of an enum is what equals its number or text.
  if (has_user_type(a))
    if (ValuePtr plain = plain_value(walk, a, {"__eq__"})) return equality(walk, plain, b);
  if (has_user_type(b))
    if (ValuePtr plain = plain_value(walk, b, {"__eq__"})) return equality(walk, a, plain);
  auto left = walk.elements_of(a), right = walk.elements_of(b);
  if (left && right) {
    for (const ValuePtr& side : {a, b})
      if (is_deque(side)) return std::nullopt;
    for (const ValuePtr& side : {a, b})
      if (PyType_HasFeature(type_of(side), Py_TPFLAGS_HEAPTYPE) &&
          !walk.inherits(side, &PyTuple_Type, {"__eq__", "__ne__"}))
        return std::nullopt;
    // A list equals no tuple; a Size is a tuple.
    if (is_kind_of_list(walk.exact_type(a)) != is_kind_of_list(walk.exact_type(b))) return false;
    if (left->size() != right->size()) return false;
    for (size_t i = 0; i < left->size(); ++i) {
      int64_t step = walk.step_number();
      std::optional<bool> equal = held_equality(walk, (*left)[i], (*right)[i]);
      break_if_changed(walk, step, a, *left);
      break_if_changed(walk, step, b, *right);
      if (!equal || !*equal) return equal;
    }
    return true;
  }
  if (type_of(a) == &PyDict_Type && type_of(b) == &PyDict_Type) {
    auto one = walk.entries_of(a), other = walk.entries_of(b);
    if (!one || !other) return std::nullopt;
    if (one->size() != other->size()) return false;
    if (one->size() > kMostEntries) return std::nullopt;
    for (const DictValue::Entry& entry : *one) {
      ValuePtr partner = walk.dict_item(b, entry.key.get());
      if (!partner) return false;
      int64_t step = walk.step_number();
      std::optional<bool> equal = held_equality(walk, entry.value, partner);
      if (walk.step_number() != step) walk.graph_break(BreakReason::unknown_comparison, "of dicts by methods");
      if (!equal || !*equal) return equal;
    }
    return true;
  }
  if (walk.has_symbolic_size(a) || walk.has_symbolic_size(b))
    if (ValuePtr comparison = walk.computed(Computation::Equal, {a, b})) return walk.truth_of(comparison);
  Ref x = walk.constant_of(a), y = x ? walk.constant_of(b) : Ref();
  if (y) {
    int equal = PyObject_RichCompareBool(x, y, Py_EQ);
    if (equal < 0) walk.raise_set();
    return equal == 1;
  }
  // Classes, functions and modules compare by identity.
  if (compares_by_identity(a) && compares_by_identity(b)) {
    walk.exact_type(a);
    walk.exact_type(b);
    return walk.same_object(a, b);
  }
  bool asks = walk.user_method(a, kEq) || walk.user_method(b, kEq);
  return asks ? equal_by_methods(walk, a, b) : std::nullopt;
}

// a < b and its like on two lists or two tuples: the first elements that differ decide. Null: not known.
ValuePtr order_of_sequences(Walk& walk, const ValuePtr& a, const ValuePtr& b, int op) {
  if (op == Py_EQ || op == Py_NE) return nullptr;
  auto left = walk.elements_of(a), right = left ? walk.elements_of(b) : nullptr;
  if (!left || !right || is_kind_of_list(type_of(a)) != is_kind_of_list(type_of(b))) return nullptr;
  if (is_deque(a) || is_deque(b)) return nullptr;
  for (const ValuePtr& side : {a, b})
    if (PyType_HasFeature(type_of(side), Py_TPFLAGS_HEAPTYPE) &&
        !walk.inherits(side, &PyTuple_Type, {"__lt__", "__le__", "__gt__", "__ge__"}))
      return nullptr;
  size_t i = 0;
  while (i < left->size() && i < right->size()) {
    int64_t step = walk.step_number();
    std::optional<bool> equal = held_equality(walk, (*left)[i], (*right)[i]);
    break_if_changed(walk, step, a, *left);
    break_if_changed(walk, step, b, *right);
    if (!equal) return nullptr;
    if (!*equal) break;
    ++i;
  }
  Ref x, y;
  if (i < left->size() && i < right->size()) {
    x = walk.constant_of((*left)[i]);
    y = x ? walk.constant_of((*right)[i]) : Ref();
    if (!y) return nullptr;
  } else {
    x = check(PyLong_FromSize_t(left->size()));
    y = check(PyLong_FromSize_t(right->size()));
  }
  Ref result = Ref::steal(PyObject_RichCompare(x, y, op));
  if (!result) walk.raise_set();
  return walk.constant(result);
}

// Which is not equal to itself; a container takes it for equal all the same.
bool may_be_nan(const ValuePtr& value) {
  PyTypeObject* type = type_of(value);
  return type == &PyFloat_Type || type == &PyComplex_Type;
}

void compare_op(Walk& walk, const Instruction& at) {
  static constexpr Computation kComparisons[] = {Computation::Less,    Computation::LessEqual,
                                                 Computation::Equal,   Computation::NotEqual,
                                                 Computation::Greater, Computation::GreaterEqual};
  ValuePtr right = walk.peek(1), left = walk.peek(2);
  open_members(walk, at, left, right);
  ValuePtr result;
  if (walk.is_tensor(left) || walk.is_tensor(right)) {
    const OpRow* row = compare_operator_row(at.arg);
    const ValuePtr& other = walk.is_tensor(left) ? right : left;
    PyTypeObject* type = type_of(other);
    bool known = walk.is_tensor(other) || type == &PyLong_Type || type == &PyFloat_Type || type == &PyBool_Type;
    if (row == nullptr || !known)
      walk.graph_break(BreakReason::tensor_operands, str_cat("comparison with a ", describe(other)));
    // A number on the left asks the tensor for the mirrored comparison.
    static constexpr int kMirrored[] = {Py_GT, Py_GE, Py_EQ, Py_NE, Py_LT, Py_LE};
    bool mirrored = !walk.is_tensor(left);
    if (mirrored) row = compare_operator_row(kMirrored[at.arg]);
    result =
        walk.call_op(*row, mirrored ? CallArgs{{right, left}, {}} : CallArgs{{left, right}, {}}, CallForm::Operator);
    if (at.arg2 != 0) walk.graph_break(BreakReason::data_dependent_branch, "truth of a comparison of tensors");
  } else if (inline_operator(walk, at)) {
    return;
  } else if ((result = order_of_sequences(walk, left, right, at.arg))) {
  } else if ((result = combine_sets(walk, left, right, false, [&](PyObject* a, PyObject* b) {
                return Ref::steal(PyObject_RichCompare(a, b, at.arg));
              }))) {
  } else if ((result = walk.computed(kComparisons[at.arg], {left, right}))) {
  } else if ((at.arg == Py_EQ || at.arg == Py_NE) && !may_be_nan(left) && !may_be_nan(right)) {
    std::optional<bool> equal = equality(walk, left, right);
    if (!equal) walk.graph_break(BreakReason::unknown_comparison, str_cat(describe(left), " with ", describe(right)));
    result = walk.boolean(*equal == (at.arg == Py_EQ));
  } else {
    Ref a = walk.constant_of(left), b = a ? walk.constant_of(right) : Ref();
    if (!b) walk.graph_break(BreakReason::unknown_comparison, str_cat(describe(left), " with ", describe(right)));
    Ref folded = Ref::steal(PyObject_RichCompare(a, b, at.arg));
    if (!folded) walk.raise_set();
    result = walk.constant(folded);
  }
  walk.pop_many(2);
  walk.push(std::move(result));
}

void is_op(Walk& walk, const Instruction& at) {
  bool same = walk.same_object(walk.peek(2), walk.peek(1));
  walk.pop_many(2);
  walk.push(walk.boolean(same != (at.arg != 0)));
}

// What a look-up goes by: a member of an enum of texts finds the text that it equals.
Ref lookup_key(Walk& walk, const ValuePtr& container, const ValuePtr& key) {
  return walk.key_in(container, has_user_type(key) ? plain_or_itself(walk, key, {"__hash__", "__eq__"}) : key);
}

// (key, value) in dict.items()
std::optional<bool> known_contains_item(Walk& walk, const DictViewValue& view, const ValuePtr& item) {
  bool is_tuple = type_of(item) == &PyTuple_Type && walk.is_dict(view.dict, {});
  auto pair = is_tuple ? walk.elements_of(item) : nullptr;
  if (!pair) return std::nullopt;
  if (pair->size() != 2) return false;
  ValuePtr found = walk.dict_item(view.dict, walk.key_of((*pair)[0]).get());
  if (!found) return false;
  return found == (*pair)[1] ? true : walk.known_equal(found, (*pair)[1]);
}

std::optional<bool> known_contains(Walk& walk, const ValuePtr& container, const ValuePtr& item) {
  if (auto* view = as<DictViewValue>(container); view != nullptr && view->what == 2)
    return known_contains_item(walk, *view, item);
  if (auto* view = as<DictViewValue>(container)) {
    if (view->what == 0 && walk.is_dict(view->dict, {}))
      return static_cast<bool>(walk.dict_item(view->dict, walk.key_of(item).get()));
    auto entries = view->what == 1 ? walk.entries_of(view->dict) : nullptr;
    if (!entries) return std::nullopt;
    for (const DictValue::Entry& entry : *entries) {
      int64_t step = walk.step_number();
      std::optional<bool> equal = entry.value == item ? true : held_equality(walk, entry.value, item);
      if (walk.step_number() != step) walk.graph_break(BreakReason::unknown_contains, "values of a dict by methods");
      if (!equal || *equal) return equal;
    }
    return false;
  }
  if (walk.is_dict(container, {"__contains__"}))
    return static_cast<bool>(walk.dict_item(container, lookup_key(walk, container, item).get()));
  if (type_of(container) == &PySet_Type || type_of(container) == &PyFrozenSet_Type) {
    if (type_of(item) == &PySet_Type) return std::nullopt;  // taken as the frozenset of its elements
    Ref set = walk.set_contents(container);
    if (!set) return std::nullopt;
    Ref known = walk.key_in(container, item);
    walk.keep_identities_apart_from_all(known.get(), set.get());
    int found = PySet_Contains(set, known);
    check_status(found);
    return found == 1;
  }
  Ref key = walk.is_tensor(item) ? Ref() : walk.constant_of(item);
  if (auto elements = walk.elements_of(container)) {
    PyTypeObject* base = PyType_IsSubtype(type_of(container), &PyList_Type) ? &PyList_Type : &PyTuple_Type;
    bool own_way = PyType_HasFeature(type_of(container), Py_TPFLAGS_HEAPTYPE) && !is_deque(container) &&
                   !walk.inherits(container, base, {"__contains__"});
    if (own_way) return std::nullopt;
    for (const ValuePtr& element : *elements) {
      int64_t step = walk.step_number();
      std::optional<bool> equal = element == item ? true : held_equality(walk, element, item);
      break_if_changed(walk, step, container, *elements);
      if (!equal || *equal) return equal;
    }
    return false;
  }
  Ref whole = key ? walk.constant_of(container) : Ref();
  if (!whole) return std::nullopt;
  int found = PySequence_Contains(whole, key);
  if (found < 0) walk.raise_set();
  return found == 1;
}

void contains_op(Walk& walk, const Instruction& at) {
  ValuePtr container = walk.peek(1), item = walk.peek(2);
  std::optional<bool> found = known_contains(walk, container, item);
  if (!found) {
    static PyObject* const kContains = PyUnicode_InternFromString("__contains__");
    ValuePtr method = walk.user_method(container, kContains);
    if (!method) walk.graph_break(BreakReason::unknown_contains, str_cat(describe(item), " in ", describe(container)));
    walk.inline_function(method, {{container, item}, {}},
                         at.arg != 0 ? ContinuationKind::PushNotBool : ContinuationKind::PushBool, nullptr);
    return walk.drop_below_callee(2);
  }
  walk.pop_many(2);
  walk.push(walk.boolean(*found != (at.arg != 0)));
}

// The same for a dict from outside.
ValuePtr missing_in_object(Walk& walk, const ValuePtr& container, BorrowedRef known, const ValuePtr& key) {
  static PyObject* const default_dict = imported("collections", "defaultdict").release();
  static PyObject* const kFactory = check(PyObject_GetAttrString(default_dict, "default_factory")).release();
  static PyObject* const kMissing = PyUnicode_InternFromString("__missing__");
  if (container->kind != ValueKind::Object || type_of(container) == &PyDict_Type) return nullptr;
  if (type_of(container) == reinterpret_cast<PyTypeObject*>(default_dict)) {
    const Source* source = walk.sources().get(SourceKind::SlotAttr, as<ObjectValue>(container)->source, kFactory);
    ValuePtr factory = walk.at(source);
    if (!factory) walk.graph_break(BreakReason::unknown_subscript, "a defaultdict without a factory");
    if (walk.same_object(factory, walk.none())) return nullptr;
    ValuePtr made = walk.call_now(factory, {});
    walk.cannot_undo();
    walk.store_in_dict(container, known, made);
    return made;
  }
  if (!PyType_HasFeature(type_of(container), Py_TPFLAGS_HEAPTYPE)) return nullptr;
  ValuePtr method = walk.type_attribute(container, kMissing);
  return method ? walk.call_now(method, {{container, key}, {}}) : nullptr;
}

// What a dict of a subclass gives for a key that is not there; null: nothing does.
ValuePtr missing_item(Walk& walk, const ValuePtr& container, BorrowedRef known, const ValuePtr& key) {
  static PyObject* const kMissing = PyUnicode_InternFromString("__missing__");
  auto* dict = as<DictValue>(container);
  if (dict == nullptr) return missing_in_object(walk, container, known, key);
  if (!dict->type) return nullptr;
  if (dict->factory && !walk.same_object(dict->factory, walk.none())) {
    ValuePtr made = walk.call_now(dict->factory, {});
    walk.cannot_undo();
    dict->set(known, made);
    return made;
  }
  ValuePtr method =
      PyType_HasFeature(type_of(container), Py_TPFLAGS_HEAPTYPE) ? walk.type_attribute(container, kMissing) : nullptr;
  return method ? walk.call_now(method, {{container, key}, {}}) : nullptr;
}

ValuePtr subscript_of_dict(Walk& walk, const ValuePtr& container, const ValuePtr& key) {
  bool may_store = type_of(container) != &PyDict_Type;
  Ref known = may_store ? walk.key_of(key) : lookup_key(walk, container, key);
  ValuePtr item = walk.dict_item(container, known.get());
  if (!item) item = missing_item(walk, container, known.get(), key);
  if (!item) walk.raise_known(PyExc_KeyError, {key});
  return item;
}

ValuePtr subscript_of_sequence(Walk& walk, const ValuePtr& container, const ValuePtr& key) {
  auto elements = walk.elements_of(container);
  if (std::optional<int64_t> index = walk.int_of(key)) {
    int64_t length = static_cast<int64_t>(elements->size());
    int64_t at = *index < 0 ? *index + length : *index;
    if (at < 0 || at >= length) {
      PyTypeObject* type = walk.exact_type(container);
      const char* name = PyType_IsSubtype(type, &PyList_Type) ? "list" : is_deque(container) ? "deque" : "tuple";
      walk.raise_known(PyExc_IndexError, {walk.string(str_cat(name, " index out of range"))});
    }
    return (*elements)[at];
  }
  Ref constant = walk.constant_of(key);
  if (!constant || !PySlice_Check(constant.get()) || is_deque(container)) walk.raise_here();
  if (BorrowedRef size = size_of(container)) {
    Ref part = Ref::steal(PyObject_GetItem(size, constant));
    if (!part) walk.raise_here();
    return walk.constant(part);
  }
  Py_ssize_t start = 0, stop = 0, step = 0;
  if (PySlice_Unpack(constant, &start, &stop, &step) < 0) walk.raise_here();
  Py_ssize_t count = PySlice_AdjustIndices(static_cast<Py_ssize_t>(elements->size()), &start, &stop, step);
  std::vector<ValuePtr> items;
  for (Py_ssize_t i = 0; i < count; ++i) items.push_back((*elements)[start + i * step]);
  bool is_list = PyType_IsSubtype(walk.exact_type(container), &PyList_Type) != 0;
  auto part = make_value<SequenceValue>(is_list, std::move(items));
  if (walk.is_shape(container)) part->type = as<SequenceValue>(container)->type;
  return part;
}

// What a generic class makes of itself and its parameters, in Python.
ValuePtr subscript_of_class(Walk& walk, const ValuePtr& type, const ValuePtr& key) {
  static PyObject* const kClassGetitem = PyUnicode_InternFromString("__class_getitem__");
  bool is_python =
      PyType_HasFeature(reinterpret_cast<PyTypeObject*>(walk.identity_of(type).get()), Py_TPFLAGS_HEAPTYPE);
  ValuePtr method = is_python ? walk.optional_attribute(type, kClassGetitem) : nullptr;
  if (!method) walk.graph_break(BreakReason::unknown_subscript, str_cat(describe(type), "[", describe(key), "]"));
  return walk.call_now(method, {{key}, {}});
}

// container[key]; null: a user's __getitem__ was inlined.
ValuePtr subscript(Walk& walk, const ValuePtr& container, const ValuePtr& key) {
  if (auto* tensor = as<TensorValue>(container)) return walk.index_tensor(tensor, key);
  PyTypeObject* type = type_of(container);
  if (walk.is_dict(container, {"__getitem__"})) return subscript_of_dict(walk, container, key);
  if (type == &PyList_Type || walk.is_plain_tuple(container) || walk.is_plain_list(container))
    return subscript_of_sequence(walk, container, key);
  auto* made = as<MadeValue>(container);
  Ref whole = made != nullptr ? made->model : walk.constant_of(container);
  Ref constant = whole ? walk.constant_of(key) : Ref();
  if (constant) {
    Ref item = Ref::steal(PyObject_GetItem(whole, constant));
    if (!item) walk.raise_set();
    return walk.constant(item);
  }
  if (type == &PyType_Type) return subscript_of_class(walk, container, key);
  static PyObject* const kGetitem = PyUnicode_InternFromString("__getitem__");
  ValuePtr method = walk.user_method(container, kGetitem);
  if (!method) walk.graph_break(BreakReason::unknown_subscript, str_cat(describe(container), "[", describe(key), "]"));
  walk.inline_function(method, {{container, key}, {}}, ContinuationKind::Push, nullptr);
  return nullptr;
}

void binary_subscr(Walk& walk, const Instruction&) {
  ValuePtr result = subscript(walk, walk.peek(2), walk.peek(1));
  if (!result) return walk.drop_below_callee(2);
  walk.pop_many(2);
  walk.push(std::move(result));
}

void binary_slice(Walk& walk, const Instruction&) {
  ValuePtr slice = make_value<SliceValue>(walk.peek(2), walk.peek(1), walk.none());
  ValuePtr result = subscript(walk, walk.peek(3), slice);
  if (!result) return walk.drop_below_callee(3);
  walk.pop_many(3);
  walk.push(std::move(result));
}

// The same for a slice with a step: the list is written as a whole.
void replace_steps(Walk& walk, const ValuePtr& list, const Ref& slice, const std::vector<ValuePtr>* values) {
  std::vector<ValuePtr> items = walk.list_contents(list)->items;
  Py_ssize_t start = 0, stop = 0, step = 1, length = static_cast<Py_ssize_t>(items.size());
  if (PySlice_Unpack(slice, &start, &stop, &step) < 0) walk.raise_here();
  Py_ssize_t count = PySlice_AdjustIndices(length, &start, &stop, step);
  if (values != nullptr && static_cast<Py_ssize_t>(values->size()) != count) walk.raise_here();
  std::vector<ValuePtr> result;
  for (Py_ssize_t i = 0; i < length; ++i) {
    Py_ssize_t distance = i - start;
    bool hit = distance % step == 0 && distance / step >= 0 && distance / step < count;
    if (!hit) result.push_back(items[static_cast<size_t>(i)]);
    if (hit && values != nullptr) result.push_back((*values)[static_cast<size_t>(distance / step)]);
  }
  walk.list_splice(list, 0, length, std::move(result));
}

// list[key] = value, or del list[key] without one; key is an int or a slice.
void replace_elements(Walk& walk, const ValuePtr& list, const ValuePtr& key, const ValuePtr* value) {
  std::optional<int64_t> index = walk.int_of(key);
  Ref slice = index ? Ref() : walk.constant_of(key);
  if (!index && (!slice || !PySlice_Check(slice.get())))
    walk.graph_break(BreakReason::store_subscript, str_cat(describe(list), "[", describe(key), "]"));
  std::vector<ValuePtr> values;
  if (slice && value != nullptr) {
    auto items = walk.iterate(*value);
    if (!items) walk.graph_break(BreakReason::unknown_iteration, describe(*value));
    values = std::move(*items);
  } else if (value != nullptr) {
    values.push_back(*value);
  }
  const SequenceValue* contents = walk.list_contents(list);
  if (contents == nullptr) walk.graph_break(BreakReason::store_subscript, "into a list of a class of its own");
  Py_ssize_t length = static_cast<Py_ssize_t>(contents->items.size());
  Py_ssize_t start = 0, stop = 0, step = 1;
  if (index) {
    start = *index < 0 ? *index + length : *index;
    if (start < 0 || start >= length) walk.raise_here();
    stop = start + 1;
  } else {
    if (PySlice_Unpack(slice, &start, &stop, &step) < 0) walk.raise_here();
    PySlice_AdjustIndices(length, &start, &stop, step);
    if (step != 1) return replace_steps(walk, list, slice, value != nullptr ? &values : nullptr);
    stop = std::max(start, stop);
  }
  walk.list_splice(list, start, stop, std::move(values));
}

bool has_items_of_list(Walk& walk, const ValuePtr& container, const char* method) {
  PyTypeObject* type = type_of(container);
  if (type == &PyList_Type) return true;
  return type != nullptr && PyType_IsSubtype(type, &PyList_Type) && walk.inherits(container, &PyList_Type, {method});
}

bool store_in_deque(Walk& walk, const ValuePtr& deque, const ValuePtr& key, const ValuePtr& value) {
  std::optional<int64_t> index = walk.int_of(key), length = walk.length_of(deque);
  if (!index || !length) return false;
  int64_t at = *index < 0 ? *index + *length : *index;
  if (at < 0 || at >= *length) walk.raise_known(PyExc_IndexError, {walk.string("deque index out of range")});
  (*walk.deque_contents(deque, /*keeps_iterators=*/true))[static_cast<size_t>(at)] = value;
  return true;
}

void store_subscr(Walk& walk, const Instruction&) {
  ValuePtr key = walk.peek(1), container = walk.peek(2), value = walk.peek(3);
  if (walk.is_dict(container, {"__setitem__"})) {
    walk.dict_set(container, walk.key_in(container, key).get(), value);
  } else if (has_items_of_list(walk, container, "__setitem__")) {
    replace_elements(walk, container, key, &value);
  } else if (is_deque(container) && store_in_deque(walk, container, key, value)) {
  } else if (walk.is_tensor(container)) {
    walk.store_into_tensor(container, key, value);
  } else if (inline_item(walk, container, {key, value}, "__setitem__", 3)) {
    return;
  } else {
    walk.graph_break(BreakReason::store_subscript, str_cat(describe(container), "[", describe(key), "]"));
  }
  walk.pop_many(3);
}

void delete_subscr(Walk& walk, const Instruction&) {
  ValuePtr key = walk.peek(1), container = walk.peek(2);
  if (has_items_of_list(walk, container, "__delitem__")) {
    replace_elements(walk, container, key, nullptr);
    walk.pop_many(2);
    return;
  }
  if (inline_item(walk, container, {key}, "__delitem__", 2)) return;
  if (!walk.is_dict(container, {"__delitem__"}))
    walk.graph_break(BreakReason::store_subscript, str_cat("del ", describe(container), "[", describe(key), "]"));
  Ref constant = walk.key_in(container, key);
  if (!walk.dict_delete(container, constant.get())) walk.raise_known(PyExc_KeyError, {key});
  walk.pop_many(2);
}

void store_slice(Walk& walk, const Instruction&) {
  ValuePtr container = walk.peek(3), value = walk.peek(4);
  ValuePtr slice = make_value<SliceValue>(walk.peek(2), walk.peek(1), walk.none());
  if (type_of(container) == &PyList_Type) {
    replace_elements(walk, container, slice, &value);
  } else if (walk.is_tensor(container)) {
    walk.store_into_tensor(container, slice, value);
  } else {
    walk.graph_break(BreakReason::store_subscript, str_cat(describe(container), "[slice]"));
  }
  walk.pop_many(4);
}

void get_len(Walk& walk, const Instruction&) {
  std::optional<int64_t> length = walk.length_of(walk.peek());
  if (!length) walk.graph_break(BreakReason::unknown_length, describe(walk.peek()));
  walk.push(walk.integer(*length));
}

// The text of a value by format(), after str() (1), repr() (2) or ascii() (3). Null: not known.
Ref formatted(Walk& walk, const ValuePtr& value, int conversion, BorrowedRef spec) {
  if (walk.is_tensor(value)) walk.graph_break(BreakReason::tensor_format, describe(value));
  if (conversion != 3)
    if (Ref text = text_by_parts(walk, value, conversion, spec)) return text;
  Ref constant = exception_of(value) != nullptr ? text_model(walk, value, conversion >= 2) : walk.constant_of(value);
  if (exception_of(value) != nullptr && !constant) return nullptr;
  if (!constant) {
    // A constant object of ours: a Size, a dtype.
    auto* object = as<ObjectValue>(value);
    if (object == nullptr || object->source != nullptr || object->made_class) return nullptr;
    constant = object->object;
  } else if (auto* object = as<ObjectValue>(value); object != nullptr && object->source == nullptr) {
    constant = object->object;  // a Size prints as a Size
  }
  Ref text = conversion == 0   ? constant
             : conversion == 1 ? Ref::steal(PyObject_Str(constant))
             : conversion == 2 ? Ref::steal(PyObject_Repr(constant))
                               : Ref::steal(PyObject_ASCII(constant));
  if (!text) walk.raise_here();
  Ref result = Ref::steal(PyObject_Format(text, spec));
  if (!result) walk.raise_here();
  return result;
}

void push_formatted(Walk& walk, int operands, int conversion, BorrowedRef spec) {
  ValuePtr value = walk.peek(operands);
  if (walk.is_varying(value)) {
    static constexpr Computation kConversions[] = {Computation::Str, Computation::Repr, Computation::Ascii};
    ValuePtr text = conversion == 0 ? value : walk.computed(kConversions[conversion - 1], {value});
    ValuePtr plain = spec ? walk.constant(spec) : walk.string("");
    if (text) text = walk.computed(Computation::Format, {text, plain});
    if (text) {
      walk.pop_many(operands);
      walk.push(std::move(text));
      return;
    }
  }
  Ref text = formatted(walk, value, conversion, spec);
  if (!text) walk.graph_break(BreakReason::unknown_format, describe(value));
  walk.pop_many(operands);
  walk.push(walk.constant(text));
}

Ref spec_at_top(Walk& walk) {
  Ref spec = walk.constant_of(walk.peek());
  if (!spec) walk.graph_break(BreakReason::unknown_format, "a format that is not known");
  return spec;
}

void format_value(Walk& walk, const Instruction& at) {
  if (at.arg2 != 0) {
    Ref spec = spec_at_top(walk);
    push_formatted(walk, 2, at.arg, spec.get());
  } else {
    push_formatted(walk, 1, at.arg, nullptr);
  }
}

void format_simple(Walk& walk, const Instruction&) { push_formatted(walk, 1, 0, nullptr); }

void format_with_spec(Walk& walk, const Instruction&) {
  Ref spec = spec_at_top(walk);
  push_formatted(walk, 2, 0, spec.get());
}

void convert_value(Walk& walk, const Instruction& at) { push_formatted(walk, 1, at.arg, nullptr); }

const OpcodeRegistration registration{{Opcode::BINARY_OP, binary_op},
                                      {Opcode::UNARY_NEGATIVE, unary_op<'-'>},
                                      {Opcode::UNARY_POSITIVE, unary_op<'+'>},
                                      {Opcode::UNARY_INVERT, unary_op<'~'>},
                                      {Opcode::COMPARE_OP, compare_op},
                                      {Opcode::IS_OP, is_op},
                                      {Opcode::CONTAINS_OP, contains_op},
                                      {Opcode::BINARY_SUBSCR, binary_subscr},
                                      {Opcode::BINARY_SLICE, binary_slice},
                                      {Opcode::STORE_SUBSCR, store_subscr},
                                      {Opcode::DELETE_SUBSCR, delete_subscr},
                                      {Opcode::STORE_SLICE, store_slice},
                                      {Opcode::GET_LEN, get_len},
                                      {Opcode::FORMAT_VALUE, format_value},
                                      {Opcode::FORMAT_SIMPLE, format_simple},
                                      {Opcode::FORMAT_WITH_SPEC, format_with_spec},
                                      {Opcode::CONVERT_VALUE, convert_value}};

}  // namespace

std::optional<bool> Walk::known_equal(const ValuePtr& a, const ValuePtr& b) { return held_equality(*this, a, b); }

}  // namespace md
