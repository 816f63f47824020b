// id(): a number known only at the exit. The trace distinguishes two of them by their objects.
#include "symbolic/facts/identities.h"
#include "cpython/imports.h"
#include "cpython/object_layout.h"
#include "guards/constants.h"
#include "guards/guard_set.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/trace/registry.h"
#include "symbolic/trace/tracer.h"
#include "symbolic/values/key_proxy.h"

namespace md {

namespace {

// Each is compared with all others.
constexpr size_t kMostNumbers = 256;

// Returns true if equal values may be one object or two: Python does not specify it.
bool may_be_shared(const ValuePtr& value) {
  auto* object = as<ObjectValue>(value);
  if (object == nullptr)
    return value->kind == ValueKind::Computed || value->kind == ValueKind::Number || value->kind == ValueKind::Identity;
  PyObject* known = object->object;
  return is_guardable_constant(known) && known != Py_None && !PyBool_Check(known);
}

// Returns true for objects created anew by each look-up: the next one has another identity.
bool is_passing(const ValuePtr& value) {
  switch (value->kind) {
    case ValueKind::Object:
    case ValueKind::Tensor:
    case ValueKind::Sequence:
    case ValueKind::Dict:
    case ValueKind::Set:
    case ValueKind::Function:
    case ValueKind::Instance:
    case ValueKind::InstanceDict:
    case ValueKind::Constructed:
      return false;
    case ValueKind::Null:
    case ValueKind::Slice:
    case ValueKind::Cell:
    case ValueKind::BoundMethod:
    case ValueKind::PolicyFunction:
    case ValueKind::RaisedPart:
    case ValueKind::Iterator:
    case ValueKind::Super:
    case ValueKind::Number:
    case ValueKind::Computed:
    case ValueKind::DictView:
    case ValueKind::Identity:
      return true;
  }
  throw Error(ErrorKind::Internal, "a value of no kind");
}

bool is_number(BorrowedRef key) {
  return PyLong_Check(key.get()) || PyFloat_Check(key.get()) || PyComplex_Check(key.get());
}

// A tuple may hold numbers and results of id().
bool may_hold_number(BorrowedRef key) {
  return is_number(key) || is_identity_stand_in(key) || PyTuple_CheckExact(key.get());
}

// A pre-existing object, guarded by identity. Null: it cannot be.
BorrowedRef guarded_object(Tracer& tracer, const ValuePtr& value) {
  auto* tensor = as<TensorValue>(value);
  if (tensor == nullptr) return tracer.values().identity_of(value);
  if (!GuardSet::can_hold(tensor->object)) return nullptr;
  tracer.guards().id_match(tensor->source, tensor->object);
  return tensor->object;
}

[[noreturn]] void break_on_numbers() {
  graph_break(BreakReason::unhashable_key, "a number of id() beside other numbers");
}

ValuePtr call_id(Tracer& tracer, const CallArgs& args) {
  if (args.positional.size() != 1 || !args.keywords.empty()) raise_here();
  return identity_number(tracer, args.positional[0]);
}

}  // namespace

ValuePtr identity_number(Tracer& tracer, const ValuePtr& value) {
  const ValuePtr of = is_empty_tuple(tracer, value) ? tracer.values().constant(check(PyTuple_New(0)).get()) : value;
  bool shared = may_be_shared(of);
  if (tracer.keys().identities().size() >= kMostNumbers) graph_break(BreakReason::walk_limit, "numbers of id()");
  if (!shared && is_passing(of)) graph_break(BreakReason::builtin_call, str_cat("id(", describe(of), ")"));
  for (const Handle<IdentityValue>& known : tracer.keys().identities()) {
    if (known->of == of) return known;
    bool known_shared = may_be_shared(known->of);
    bool from_outside = source_of(of) != nullptr && source_of(known->of) != nullptr;
    auto *one = as<ObjectValue>(of), *other = as<ObjectValue>(known->of);
    if (shared && known_shared) {
      // The same real object.
      bool same = one != nullptr && other != nullptr && one->source == nullptr && other->source == nullptr &&
                  one->object.get() == other->object.get();
      if (same) return known;
    } else if (shared != known_shared && !from_outside && type_of(of) != type_of(known->of)) {
      tracer.values().exact_type(of);
      tracer.values().exact_type(known->of);
    } else if (same_object(tracer, of, known->of)) {
      return known;
    }
  }
  auto identity = make_value<IdentityValue>(of, make_identity_stand_in());
  tracer.keys().add_identity(identity);
  return identity;
}

ValuePtr number_or_itself(Tracer& tracer, const ValuePtr& value) {
  auto* identity = as<IdentityValue>(value);
  if (identity == nullptr || source_of(identity->of) == nullptr || may_be_shared(identity->of)) return value;
  BorrowedRef object = guarded_object(tracer, identity->of);
  return object ? tracer.values().constant(check(PyLong_FromVoidPtr(object.get()))) : value;
}

void keep_identities_apart(Tracer& tracer, BorrowedRef key, BorrowedRef other) {
  if (PyTuple_CheckExact(key.get()) && PyTuple_CheckExact(other.get())) {
    Py_ssize_t size = PyTuple_GET_SIZE(key.get());
    for (Py_ssize_t i = 0; size == PyTuple_GET_SIZE(other.get()) && i < size; ++i)
      keep_identities_apart(tracer, PyTuple_GET_ITEM(key.get(), i), PyTuple_GET_ITEM(other.get(), i));
    return;
  }
  bool is_identity = is_identity_stand_in(key), is_other = is_identity_stand_in(other);
  if ((is_identity && is_number(other)) || (is_other && is_number(key))) break_on_numbers();
  if (key.get() == other.get() || !is_identity || !is_other) return;
  // Two equal numbers or texts: Python does not specify whether they are one object.
  ValuePtr identity = tracer.keys().find(key), other_identity = tracer.keys().find(other);
  ValuePtr one = as<IdentityValue>(identity)->of, another = as<IdentityValue>(other_identity)->of;
  if (!may_be_shared(one) || !may_be_shared(another)) return;
  Ref a = constant_of(tracer, one), b = a ? constant_of(tracer, another) : Ref();
  if (!b || identical_constants(a.get(), b.get()))
    graph_break(BreakReason::builtin_call, "id() of equal numbers or texts");
}

void keep_apart_in_set(Tracer& tracer, BorrowedRef key, BorrowedRef set) {
  if (tracer.keys().identities().empty()) return;
  // A loop over many numbers with few results of id() must not scan the whole set each time.
  if (is_number(key) && PySet_GET_SIZE(set.get()) > static_cast<Py_ssize_t>(tracer.keys().identities().size())) {
    for (const Handle<IdentityValue>& identity : tracer.keys().identities())
      if (PySet_Contains(set, identity->key) == 1) break_on_numbers();
  } else if (may_hold_number(key)) {
    PyObject* other = nullptr;
    for (Py_ssize_t at = 0; pv_next_in_set(set, &at, &other) != 0;) keep_identities_apart(tracer, key, other);
  }
}

void keep_apart_in_dict(Tracer& tracer, BorrowedRef key, const DictValue& dict) {
  if (tracer.keys().identities().empty()) return;
  if (is_number(key) && dict.entries.size() > tracer.keys().identities().size()) {
    for (const Handle<IdentityValue>& identity : tracer.keys().identities())
      if (dict.find(identity->key.get()) >= 0) break_on_numbers();
  } else if (may_hold_number(key)) {
    for (const DictValue::Entry& entry : dict.entries) keep_identities_apart(tracer, key, entry.key.get());
  }
}

void keep_apart_in_writes(Tracer& tracer, BorrowedRef key, const PendingWrites& writes) {
  if (tracer.keys().identities().empty()) return;
  if (auto* contents = as<DictValue>(writes.contents)) return keep_apart_in_dict(tracer, key, *contents);
  for (const auto& [stored, value] : writes.stores) keep_identities_apart(tracer, key, stored.get());
}

void keep_all_apart(Tracer& tracer, BorrowedRef keys, BorrowedRef others) {
  if (tracer.keys().identities().empty()) return;
  Ref left = check(PySequence_Tuple(keys)), right = check(PySequence_Tuple(others));
  for (const auto& [one, other] : {std::pair(left.get(), right.get()), std::pair(right.get(), left.get())})
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(one); ++i) {
      BorrowedRef key = PyTuple_GET_ITEM(one, i);
      if (!is_identity_stand_in(key) && !PyTuple_CheckExact(key.get())) continue;
      for (Py_ssize_t j = 0; j < PyTuple_GET_SIZE(other); ++j)
        keep_identities_apart(tracer, key, PyTuple_GET_ITEM(other, j));
    }
}

namespace {

void add_identity_calls() { register_call(imported("builtins", "id").get(), call_id); }

const CallRegistration call_registration(add_identity_calls);

}  // namespace

}  // namespace md
