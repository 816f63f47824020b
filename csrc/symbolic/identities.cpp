// id(): a number that only the exit knows. The walk tells two of them apart as it tells the objects apart.
#include "cpython/imports.h"
#include "guards/constants.h"
#include "symbolic/walk.h"

namespace md {

namespace {

// Each is compared with all the others.
constexpr size_t kMostNumbers = 256;

// Equal ones may be one object or two: Python does not say.
bool may_be_shared(const ValuePtr& value) {
  auto* object = as<ObjectValue>(value);
  if (object == nullptr)
    return value->kind == ValueKind::Computed || value->kind == ValueKind::Number || value->kind == ValueKind::Identity;
  PyObject* known = object->object;
  return is_guardable_constant(known) && known != Py_None && !PyBool_Check(known);
}

// Made anew where it is looked up: it would be another object next time.
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
    case ValueKind::Made:
      return false;
    default:
      return true;
  }
}

bool is_number(BorrowedRef key) {
  return PyLong_Check(key.get()) || PyFloat_Check(key.get()) || PyComplex_Check(key.get());
}

ValuePtr call_id(Walk& walk, const CallArgs& args) {
  if (args.positional.size() != 1 || !args.keywords.empty()) walk.raise_here();
  return walk.identity_number(args.positional[0]);
}

}  // namespace

ValuePtr Walk::identity_number(const ValuePtr& value) {
  const ValuePtr of = is_empty_tuple(value) ? constant(check(PyTuple_New(0)).get()) : value;
  bool shared = may_be_shared(of);
  if (identities_.size() >= kMostNumbers) graph_break(BreakReason::walk_limit, "numbers of id()");
  if (!shared && is_passing(of)) graph_break(BreakReason::builtin_call, str_cat("id(", describe(of), ")"));
  for (const Handle<IdentityValue>& known : identities_) {
    if (known->of == of) return known;
    bool known_shared = may_be_shared(known->of);
    auto *one = as<ObjectValue>(of), *other = as<ObjectValue>(known->of);
    if (shared && known_shared) {
      // The very object of the program's own.
      bool same = one != nullptr && other != nullptr && one->source == nullptr && other->source == nullptr &&
                  one->object.get() == other->object.get();
      if (same) return known;
    } else if (shared == known_shared && same_object(of, known->of)) {
      return known;
    }
  }
  static PyObject* const object_type = reinterpret_cast<PyObject*>(&PyBaseObject_Type);
  auto identity = make_value<IdentityValue>(of, check(PyObject_CallNoArgs(object_type)));
  identities_.push_back(identity);
  keys_[identity->key.get()] = identity;
  return identity;
}

bool Walk::is_identity_key(BorrowedRef key) const {
  if (identities_.empty()) return false;
  auto found = keys_.find(key);
  return found != keys_.end() && found->second->kind == ValueKind::Identity;
}

void Walk::keep_identities_apart(BorrowedRef key, BorrowedRef other) {
  if ((is_identity_key(key) && is_number(other)) || (is_identity_key(other) && is_number(key)))
    graph_break(BreakReason::unhashable_key, "a number of id() beside other numbers");
  if (key.get() == other.get() || !is_identity_key(key) || !is_identity_key(other)) return;
  // Two equal numbers or texts, of which Python does not say whether they are one object.
  ValuePtr one = as<IdentityValue>(keys_[key])->of, another = as<IdentityValue>(keys_[other])->of;
  if (!may_be_shared(one) || !may_be_shared(another)) return;
  Ref a = constant_of(one), b = a ? constant_of(another) : Ref();
  if (!b || identical_constants(a.get(), b.get()))
    graph_break(BreakReason::builtin_call, "id() of equal numbers or texts");
}

void Walk::keep_identities_apart_from_all(BorrowedRef key, BorrowedRef keys) {
  if (identities_.empty()) return;
  Ref items = check(PySequence_Tuple(keys));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i)
    keep_identities_apart(key, PyTuple_GET_ITEM(items.get(), i));
}

void register_identities() { register_call(imported("builtins", "id").get(), call_id); }

}  // namespace md
