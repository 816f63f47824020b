// Comparison, identity, membership.
#include "guards/constants.h"
#include "symbolic/attributes/attributes.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/builtins/set_methods.h"
#include "symbolic/calls/calls.h"
#include "symbolic/calls/user_operators.h"
#include "symbolic/effects/pending_writes.h"
#include "symbolic/exceptions/exceptions.h"
#include "symbolic/facts/enum_values.h"
#include "symbolic/facts/identities.h"
#include "symbolic/facts/mapping_proxies.h"
#include "symbolic/facts/user_keys.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/opcodes/asserted.h"
#include "symbolic/sizes/computed_numbers.h"
#include "symbolic/sizes/symbolic_sizes.h"
#include "symbolic/tensors/sequence_operands.h"
#include "symbolic/tensors/tensor_ops.h"
#include "symbolic/trace/registry.h"
#include "symbolic/trace/tracer.h"
#include "symbolic/values/number_types.h"

namespace md {

namespace {

bool compares_by_identity(Tracer& tracer, const ValuePtr& value) {
  if (value->kind == ValueKind::Constructed) {
    PyTypeObject* type = type_of(value);
    return type->tp_richcompare == PyBaseObject_Type.tp_richcompare &&
           inherits(tracer, value, &PyBaseObject_Type, {"__eq__", "__ne__"});
  }
  auto* object = as<ObjectValue>(value);
  if (object == nullptr) return false;
  PyObject* real = object->object;
  if (PyFunction_Check(real) || PyModule_CheckExact(real) || real == Py_None || real == Py_Ellipsis) return true;
  bool as_object = Py_TYPE(real)->tp_richcompare == PyBaseObject_Type.tp_richcompare ||
                   (PyType_Check(real) && Py_TYPE(real)->tp_richcompare == PyType_Type.tp_richcompare);
  if (!as_object || !PyType_HasFeature(Py_TYPE(real), Py_TPFLAGS_HEAPTYPE)) return as_object;
  return inherits(tracer, value, &PyBaseObject_Type, {"__eq__", "__ne__"});
}

// Containers that contain themselves are compared until the interpreter raises.
constexpr int kDeepestEquality = 100;

// Each entry of a dict is guarded; comparing larger ones is left to the interpreter.
constexpr size_t kMostEntries = 256;

class EqualityDepth {
 public:
  EqualityDepth() {
    if (++depth_ <= kDeepestEquality) return;
    --depth_;
    graph_break(BreakReason::unknown_comparison, "of deeply nested containers");
  }
  ~EqualityDepth() { --depth_; }
  EqualityDepth(const EqualityDepth&) = delete;

 private:
  static inline thread_local int depth_ = 0;
};

// The built-in class whose objects the sequence may equal: tuple, list, or deque.
PyTypeObject* compared_as(const ValuePtr& sequence) {
  PyTypeObject* type = type_of(sequence);
  if (is_deque(sequence)) return type;
  return PyType_IsSubtype(type, &PyList_Type) != 0 ? &PyList_Type : &PyTuple_Type;
}

// Returns false for a subclass that compares in its own way.
bool compares_as_sequence(Tracer& tracer, const ValuePtr& sequence, std::initializer_list<const char*> methods) {
  tracer.values().exact_type(sequence);
  return !PyType_HasFeature(type_of(sequence), Py_TPFLAGS_HEAPTYPE) || is_deque(sequence) ||
         inherits(tracer, sequence, compared_as(sequence), methods);
}

std::optional<bool> equality(Tracer& tracer, const ValuePtr& a, const ValuePtr& b);

// Equality of container elements: an object is equal to itself, whatever its __eq__ returns.
std::optional<bool> held_equality(Tracer& tracer, const ValuePtr& held, const ValuePtr& other) {
  bool are_tensors = is_tensor(held) && is_tensor(other);
  if (held == other && !are_tensors) return true;
  // A member of an enum that compares like its number or text equals itself anyway.
  auto asks = [&](const ValuePtr& value) { return is_user_object(value) && !plain_value(tracer, value, {"__eq__"}); };
  bool may_differ = are_tensors || asks(held) || asks(other);
  return may_differ && same_object(tracer, held, other) ? true : equality(tracer, held, other);
}

using Elements = std::vector<ValuePtr>;

std::optional<bool> sequences_equal(Tracer& tracer, const ValuePtr& a, const Elements& left, const ValuePtr& b,
                                    const Elements& right) {
  for (const ValuePtr& side : {a, b})
    if (!compares_as_sequence(tracer, side, {"__eq__", "__ne__"})) return std::nullopt;
  // A list never equals a tuple; a Size is a tuple.
  if (compared_as(a) != compared_as(b)) return false;
  if (left.size() != right.size()) return false;
  for (size_t i = 0; i < left.size(); ++i) {
    int64_t step = tracer.step_number();
    std::optional<bool> equal = held_equality(tracer, left[i], right[i]);
    break_if_changed(tracer, step, a, left);
    break_if_changed(tracer, step, b, right);
    if (!equal || !*equal) return equal;
  }
  return true;
}

std::optional<bool> dicts_equal(Tracer& tracer, const ValuePtr& a, const ValuePtr& b) {
  auto one = entries_of(tracer, a), other = entries_of(tracer, b);
  if (!one || !other) return std::nullopt;
  if (one->size() != other->size()) return false;
  if (one->size() > kMostEntries) return std::nullopt;
  for (const DictValue::Entry& entry : *one) {
    ValuePtr partner = dict_item(tracer, b, entry.key.get());
    if (!partner) return false;
    int64_t step = tracer.step_number();
    std::optional<bool> equal = held_equality(tracer, entry.value, partner);
    if (tracer.step_number() != step) graph_break(BreakReason::unknown_comparison, "of dicts by methods");
    if (!equal || !*equal) return equal;
  }
  return true;
}

bool constants_equal(Tracer& tracer, const ValuePtr& a, const Ref& x, const ValuePtr& b, const Ref& y) {
  int equal = PyObject_RichCompareBool(x, y, Py_EQ);
  if (equal < 0) raise_current(tracer);
  // NaN equals only the same object, about which guards on values say nothing.
  if (!holds_nan(x) || !holds_nan(y)) return equal == 1;
  bool are_containers = PyTuple_Check(x.get()) || PyAnySet_Check(x.get());
  if (are_containers) graph_break(BreakReason::unknown_comparison, "of tuples that hold NaN");
  return same_object(tracer, a, b);
}

// Neither is a container, a symbolic size or a constant.
std::optional<bool> objects_equal(Tracer& tracer, const ValuePtr& a, const ValuePtr& b) {
  static PyObject* const kEq = PyUnicode_InternFromString("__eq__");
  // Classes, functions and modules compare by identity, and so do objects whose class defines no __eq__ (guarded).
  if (compares_by_identity(tracer, a) && compares_by_identity(tracer, b)) {
    tracer.values().exact_type(a);
    tracer.values().exact_type(b);
    return same_object(tracer, a, b);
  }
  // A metaclass's __eq__ is called even to compare a class with itself.
  bool asks = (is_user_object(a) || is_user_object(b)) && (user_method(tracer, a, kEq) || user_method(tracer, b, kEq));
  return asks ? equal_by_methods(tracer, a, b) : std::nullopt;
}

// NaN is not equal to itself, but containers treat it as equal by identity.
bool may_be_nan(const ValuePtr& value) {
  PyTypeObject* type = type_of(value);
  return type == &PyFloat_Type || type == &PyComplex_Type;
}

std::optional<bool> equality(Tracer& tracer, const ValuePtr& a, const ValuePtr& b) {
  const ValuePtr shown_a = behind_proxy(tracer, a), shown_b = behind_proxy(tracer, b);
  if (shown_a != a || shown_b != b) return equality(tracer, shown_a, shown_b);
  static PyObject* const kEq = PyUnicode_InternFromString("__eq__");
  EqualityDepth depth;
  if (is_tensor(a) || is_tensor(b)) return std::nullopt;
  if (a->kind == ValueKind::Identity || b->kind == ValueKind::Identity) {
    if (a->kind != b->kind) return std::nullopt;
    keep_identities_apart(tracer, as<IdentityValue>(a)->key.get(), as<IdentityValue>(b)->key.get());
    return a == b;
  }
  // An enum member compares like its number or text.
  if (has_user_type(a) && !user_method(tracer, b, kEq))
    if (ValuePtr plain = plain_value(tracer, a, {"__eq__"})) return equality(tracer, plain, b);
  if (has_user_type(b) && !user_method(tracer, a, kEq))
    if (ValuePtr plain = plain_value(tracer, b, {"__eq__"})) return equality(tracer, a, plain);
  auto left = elements_of(tracer, a), right = elements_of(tracer, b);
  if (left && right) return sequences_equal(tracer, a, *left, b, *right);
  if (type_of(a) == &PyDict_Type && type_of(b) == &PyDict_Type) return dicts_equal(tracer, a, b);
  // A NaN equals itself where a container holds it.
  bool are_numbers = (is_dynamic(a) || is_dynamic(b)) && !(may_be_nan(a) && may_be_nan(b));
  if (are_numbers || has_symbolic_size(tracer, a) || has_symbolic_size(tracer, b))
    if (ValuePtr comparison = computed(tracer, ScalarOp::Equal, {a, b})) return truth_of(tracer, comparison);
  Ref x = constant_of(tracer, a), y = x ? constant_of(tracer, b) : Ref();
  return y ? std::optional(constants_equal(tracer, a, x, b, y)) : objects_equal(tracer, a, b);
}

// By Py_LT, Py_LE ...
constexpr ScalarOp kComparisons[] = {ScalarOp::Less,     ScalarOp::LessEqual, ScalarOp::Equal,
                                     ScalarOp::NotEqual, ScalarOp::Greater,   ScalarOp::GreaterEqual};

// a < b and similar on two lists or two tuples: the first differing elements decide. Null: unknown.
ValuePtr order_of_sequences(Tracer& tracer, const ValuePtr& a, const ValuePtr& b, int op) {
  if (op == Py_EQ || op == Py_NE) return nullptr;
  auto left = elements_of(tracer, a), right = left ? elements_of(tracer, b) : nullptr;
  if (!left || !right || compared_as(a) != compared_as(b)) return nullptr;
  for (const ValuePtr& side : {a, b})
    if (!compares_as_sequence(tracer, side, {"__lt__", "__le__", "__gt__", "__ge__"})) return nullptr;
  size_t i = 0;
  while (i < left->size() && i < right->size()) {
    int64_t step = tracer.step_number();
    std::optional<bool> equal = held_equality(tracer, (*left)[i], (*right)[i]);
    break_if_changed(tracer, step, a, *left);
    break_if_changed(tracer, step, b, *right);
    if (!equal) return nullptr;
    if (!*equal) break;
    ++i;
  }
  Ref x, y;
  if (i < left->size() && i < right->size()) {
    if (ValuePtr order = computed(tracer, kComparisons[op], {(*left)[i], (*right)[i]})) return order;
    x = constant_of(tracer, (*left)[i]);
    y = x ? constant_of(tracer, (*right)[i]) : Ref();
    if (!y) return nullptr;
  } else {
    x = check(PyLong_FromSize_t(left->size()));
    y = check(PyLong_FromSize_t(right->size()));
  }
  Ref result = Ref::steal(PyObject_RichCompare(x, y, op));
  if (!result) raise_current(tracer);
  return tracer.values().constant(result);
}

void compare_op(Tracer& tracer, const Instruction& at) {
  ValuePtr right = tracer.frames().peek(1), left = tracer.frames().peek(2);
  open_members(tracer, at, left, right);
  if (left->kind != right->kind) {
    left = number_or_itself(tracer, left);
    right = number_or_itself(tracer, right);
  }
  ValuePtr result;
  if (is_tensor(left) || is_tensor(right)) {
    convert_sequence(tracer, left, right);
    const TensorFamily& family = answering_family(left, right);
    const OpRow* row = family.compare_operator(at.arg);
    const ValuePtr& other = is_tensor(left) ? right : left;
    bool known = is_tensor(other) || is_number_type(type_of(other));
    if (row == nullptr || !known)
      graph_break(BreakReason::tensor_operands, str_cat("comparison with a ", describe(other)));
    // A number on the left calls the tensor's mirrored comparison.
    static constexpr int kMirrored[] = {Py_GT, Py_GE, Py_EQ, Py_NE, Py_LT, Py_LE};
    bool mirrored = !is_tensor(left);
    if (mirrored) row = family.compare_operator(kMirrored[at.arg]);
    result =
        call_op(tracer, *row, mirrored ? CallArgs{{right, left}, {}} : CallArgs{{left, right}, {}}, CallForm::Operator);
    if (at.arg2 != 0) {
      std::optional<bool> truth = truth_of(tracer, result);
      result = truth                             ? tracer.values().boolean(*truth)
               : truth_that_goes_on_next(tracer) ? truth_in_graph(tracer, result)
                                                 : nullptr;
      if (!result) graph_break(BreakReason::data_dependent_branch, "truth of a comparison of tensors");
    }
  } else if (inline_operator(tracer, at)) {
    return;
  } else if ((result = order_of_sequences(tracer, left, right, at.arg))) {
  } else if ((result = combine_sets(tracer, left, right, false, [&](PyObject* a, PyObject* b) {
                return Ref::steal(PyObject_RichCompare(a, b, at.arg));
              }))) {
  } else if ((result = computed(tracer, kComparisons[at.arg], {left, right}))) {
  } else if ((at.arg == Py_EQ || at.arg == Py_NE) && !may_be_nan(left) && !may_be_nan(right)) {
    std::optional<bool> equal = equality(tracer, left, right);
    if (!equal) graph_break(BreakReason::unknown_comparison, str_cat(describe(left), " with ", describe(right)));
    result = tracer.values().boolean(*equal == (at.arg == Py_EQ));
  } else {
    Ref a = constant_of(tracer, left), b = a ? constant_of(tracer, right) : Ref();
    if (!b) graph_break(BreakReason::unknown_comparison, str_cat(describe(left), " with ", describe(right)));
    Ref folded = Ref::steal(PyObject_RichCompare(a, b, at.arg));
    if (!folded) raise_current(tracer);
    result = tracer.values().constant(folded);
  }
  tracer.frames().pop_many(2);
  tracer.frames().push(std::move(result));
}

void is_op(Tracer& tracer, const Instruction& at) {
  bool same = same_object(tracer, tracer.frames().peek(2), tracer.frames().peek(1));
  tracer.frames().pop_many(2);
  tracer.frames().push(tracer.values().boolean(same != (at.arg != 0)));
}

// (key, value) in dict.items()
std::optional<bool> known_contains_item(Tracer& tracer, const DictViewValue& view, const ValuePtr& item) {
  bool is_tuple = type_of(item) == &PyTuple_Type && is_dict(tracer, view.dict, {});
  auto pair = is_tuple ? elements_of(tracer, item) : nullptr;
  if (!pair) return std::nullopt;
  if (pair->size() != 2) return false;
  ValuePtr found = dict_item(tracer, view.dict, key_of(tracer, (*pair)[0]).get());
  if (!found) return false;
  return found == (*pair)[1] ? true : known_equal(tracer, found, (*pair)[1]);
}

std::optional<bool> known_contains(Tracer& tracer, const ValuePtr& container, const ValuePtr& item) {
  if (auto* view = as<DictViewValue>(container); view != nullptr && view->what == 2)
    return known_contains_item(tracer, *view, item);
  if (auto* view = as<DictViewValue>(container)) {
    if (view->what == 0 && is_dict(tracer, view->dict, {}))
      return static_cast<bool>(dict_item(tracer, view->dict, key_of(tracer, item).get()));
    auto entries = view->what == 1 ? entries_of(tracer, view->dict) : nullptr;
    if (!entries) return std::nullopt;
    for (const DictValue::Entry& entry : *entries) {
      int64_t step = tracer.step_number();
      std::optional<bool> equal = entry.value == item ? true : held_equality(tracer, entry.value, item);
      if (tracer.step_number() != step) graph_break(BreakReason::unknown_contains, "values of a dict by methods");
      if (!equal || *equal) return equal;
    }
    return false;
  }
  if (is_dict(tracer, container, {"__contains__"}))
    return static_cast<bool>(dict_item(tracer, container, lookup_key(tracer, container, item).get()));
  if (type_of(container) == &PySet_Type || type_of(container) == &PyFrozenSet_Type) {
    if (type_of(item) == &PySet_Type) return std::nullopt;  // looked up as a frozenset of its elements
    Ref set = set_contents(tracer, container);
    if (!set) return std::nullopt;
    Ref known = key_in(tracer, container, item);
    keep_apart_in_set(tracer, known.get(), set.get());
    int found = PySet_Contains(set, known);
    check_status(found);
    return found == 1;
  }
  if (auto elements = elements_of(tracer, container)) {
    PyTypeObject* base = PyType_IsSubtype(type_of(container), &PyList_Type) ? &PyList_Type : &PyTuple_Type;
    bool own_way = PyType_HasFeature(type_of(container), Py_TPFLAGS_HEAPTYPE) && !is_deque(container) &&
                   !inherits(tracer, container, base, {"__contains__"});
    if (own_way) return std::nullopt;
    for (const ValuePtr& element : *elements) {
      int64_t step = tracer.step_number();
      std::optional<bool> equal = element == item ? true : held_equality(tracer, element, item);
      break_if_changed(tracer, step, container, *elements);
      if (!equal || *equal) return equal;
    }
    return false;
  }
  Ref key = is_tensor(item) ? Ref() : constant_of(tracer, item);
  Ref whole = key ? constant_of(tracer, container) : Ref();
  if (!whole) return std::nullopt;
  int found = PySequence_Contains(whole, key);
  if (found < 0) raise_current(tracer);
  return found == 1;
}

void contains_op(Tracer& tracer, const Instruction& at) {
  ValuePtr container = behind_proxy(tracer, tracer.frames().peek(1)), item = tracer.frames().peek(2);
  container = plain_or_itself(tracer, container, {"__contains__"});
  std::optional<bool> found = known_contains(tracer, container, item);
  if (!found) {
    static PyObject* const kContains = PyUnicode_InternFromString("__contains__");
    ValuePtr method = user_method(tracer, container, kContains);
    if (!method) graph_break(BreakReason::unknown_contains, str_cat(describe(item), " in ", describe(container)));
    inline_function(tracer, method, {{container, item}, {}},
                    at.arg != 0 ? ContinuationKind::PushNotBool : ContinuationKind::PushBool, nullptr);
    return tracer.frames().drop_below_callee(2);
  }
  tracer.frames().pop_many(2);
  tracer.frames().push(tracer.values().boolean(*found != (at.arg != 0)));
}

const OpcodeRegistration registration{
    {Opcode::COMPARE_OP, compare_op}, {Opcode::IS_OP, is_op}, {Opcode::CONTAINS_OP, contains_op}};

}  // namespace

std::optional<bool> known_equal(Tracer& tracer, const ValuePtr& a, const ValuePtr& b) {
  return held_equality(tracer, a, b);
}

}  // namespace md
