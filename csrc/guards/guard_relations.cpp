// Which guards are equal, and which imply others.
#include <algorithm>

#include "guards/guard_row.h"

namespace md::guard_columns {

bool same_object(const Guard& a, const Guard& b) { return a.object.get().get() == b.object.get().get(); }
bool same_constant(const Guard& a, const Guard& b) { return identical_constants(a.object.get(), b.object.get()); }
bool same_length(const Guard& a, const Guard& b) { return a.length == b.length; }
bool same_without_operand(const Guard&, const Guard&) { return true; }

bool same_keys(const Guard& a, const Guard& b) {
  return std::ranges::equal(a.keys, b.keys,
                            [](const GuardedRef& x, const GuardedRef& y) { return is_expected_key(x.get(), y); });
}

bool same_tensor(const Guard& a, const Guard& b) {
  return same_object(a, b) && a.tensor.dtype == b.tensor.dtype && a.tensor.witness == b.tensor.witness &&
         a.tensor.requires_grad == b.tensor.requires_grad && a.tensor.rank == b.tensor.rank &&
         a.tensor.dims == b.tensor.dims && a.tensor.stride_over == b.tensor.stride_over &&
         a.tensor.no_dict_at == b.tensor.no_dict_at;
}

bool same_state(const Guard& a, const Guard& b) {
  return a.state.family == b.state.family && a.state.words == b.state.words;
}

bool same_relation(const Guard& a, const Guard& b) {
  return a.size->relation == b.size->relation && a.size->left_text == b.size->left_text &&
         a.size->right_text == b.size->right_text;
}

bool same_places(const Guard& a, const Guard& b) { return a.length == b.length && a.size->places == b.size->places; }

bool same_computation(const Guard& a, const Guard& b) { return same_constant(a, b) && same(*a.number, *b.number); }

namespace {

// The type of the stronger guard's constant or object, provided that __class__ cannot be assigned.
bool has_fixed_type(const Guard& stronger, const Guard& weaker) {
  BorrowedRef object = stronger.object.get();
  if (!object || object.type() != weaker.type()) return false;
  return !PyType_HasFeature(object.type(), Py_TPFLAGS_HEAPTYPE) && !PyModule_Check(object.get());
}

bool tuple_has_length(const Guard& stronger, const Guard& weaker) {
  BorrowedRef object = stronger.object.get();
  return object.type() == &PyTuple_Type && PyTuple_GET_SIZE(object.get()) == weaker.length;
}

bool is_number_of_keys(const Guard& stronger, const Guard& weaker) {
  return static_cast<Py_ssize_t>(stronger.keys.size()) == weaker.length;
}

// Whether a dict with exactly these keys contains the key: 1, 0, or -1 if unknown.
int keys_contain(const Guard& keys, const Guard& contains) {
  for (const GuardedRef& key : keys.keys) {
    int equal = constant_key_equal(key.get(), contains.object.get());
    if (equal != 0) return equal;
  }
  return 0;
}

bool is_constant_itself(const Guard& stronger, const Guard& weaker) {
  BorrowedRef object = stronger.object.get();
  return object && is_guardable_constant(object) && identical_constants(object, weaker.object.get());
}

}  // namespace

bool implies_nothing(const Guard&, const Guard&) { return false; }

bool tensor_implies(const Guard& stronger, const Guard& weaker) {
  return weaker.kind == GuardKind::TYPE_MATCH && same_object(stronger, weaker);
}

bool constant_implies(const Guard& stronger, const Guard& weaker) {
  if (weaker.kind == GuardKind::TYPE_MATCH) return has_fixed_type(stronger, weaker);
  return weaker.kind == GuardKind::LENGTH && tuple_has_length(stronger, weaker);
}

bool object_implies(const Guard& stronger, const Guard& weaker) {
  if (weaker.kind == GuardKind::TYPE_MATCH) return has_fixed_type(stronger, weaker);
  return weaker.kind == GuardKind::EQUALS_MATCH && is_constant_itself(stronger, weaker);
}

bool code_implies(const Guard&, const Guard& weaker) {
  return weaker.kind == GuardKind::TYPE_MATCH && weaker.type() == &PyFunction_Type;
}

bool dict_implies(const Guard& stronger, const Guard& weaker) {
  if (weaker.kind == GuardKind::TYPE_MATCH) return weaker.type() == &PyDict_Type;
  if (weaker.kind == GuardKind::LENGTH) return is_number_of_keys(stronger, weaker);
  if (weaker.kind == GuardKind::DICT_CONTAINS) return keys_contain(stronger, weaker) == 1;
  return weaker.kind == GuardKind::DICT_MISSING && keys_contain(stronger, weaker) == 0;
}

bool set_implies(const Guard& stronger, const Guard& weaker) {
  return weaker.kind == GuardKind::LENGTH && is_number_of_keys(stronger, weaker);
}

}  // namespace md::guard_columns
