// Which guards are equal, and which imply others.
#include <algorithm>
#include <iterator>

#include "guards/guard.h"

namespace md {
namespace {

bool same_object(const Guard& a, const Guard& b) { return a.object.get().get() == b.object.get().get(); }
bool same_constant(const Guard& a, const Guard& b) { return identical_constants(a.object.get(), b.object.get()); }
bool same_length(const Guard& a, const Guard& b) { return a.length == b.length; }
bool nothing_more(const Guard&, const Guard&) { return true; }

bool same_keys(const Guard& a, const Guard& b) {
  return std::ranges::equal(a.keys, b.keys,
                            [](const HeldObject& x, const HeldObject& y) { return is_expected_key(x.get(), y); });
}

bool same_tensor(const Guard& a, const Guard& b) {
  return same_object(a, b) && a.tensor.dtype == b.tensor.dtype && a.tensor.requires_grad == b.tensor.requires_grad &&
         a.tensor.rank == b.tensor.rank && a.tensor.dims == b.tensor.dims &&
         a.tensor.stride_over == b.tensor.stride_over && a.tensor.no_dict_at == b.tensor.no_dict_at;
}

bool same_relation(const Guard& a, const Guard& b) {
  return a.size->relation == b.size->relation && a.size->left_text == b.size->left_text &&
         a.size->right_text == b.size->right_text;
}

using Relation = bool (*)(const Guard&, const Guard&);

// By kind, in the order of the table: whether two guards of this kind on the same sources have equal operands.
constexpr Relation same_operand_TENSOR_MATCH = same_tensor;
constexpr Relation same_operand_TYPE_MATCH = same_object;
constexpr Relation same_operand_EQUALS_MATCH = same_constant;
constexpr Relation same_operand_ID_MATCH = same_object;
constexpr Relation same_operand_CODE_MATCH = same_object;
constexpr Relation same_operand_SLOT_MATCH = same_length;
constexpr Relation same_operand_MATCH_FLAGS = same_length;
constexpr Relation same_operand_LENGTH = same_length;
constexpr Relation same_operand_DICT_KEYS = same_keys;
constexpr Relation same_operand_SET_ITEMS = same_keys;
constexpr Relation same_operand_MRO = same_keys;
constexpr Relation same_operand_DICT_CONTAINS = same_constant;
constexpr Relation same_operand_DICT_MISSING = same_constant;
constexpr Relation same_operand_PRESENT = nothing_more;
constexpr Relation same_operand_ABSENT = nothing_more;
constexpr Relation same_operand_ALIAS = nothing_more;
constexpr Relation same_operand_NOT_ALIAS = nothing_more;
constexpr Relation same_operand_NO_OVERLAP = nothing_more;
constexpr Relation same_operand_SHAPE = same_relation;
constexpr Relation same_operand_ABC_TOKEN = same_length;
constexpr Relation same_operand_RECURSION_LIMIT = same_length;
constexpr Relation same_operand_TEXT_STREAM = nothing_more;
constexpr Relation same_operand_GLOBAL_STATE = nothing_more;

constexpr Relation kSameOperand[] = {
#define MD_GUARD(name, doc) same_operand_##name,
#include "guards/guard_kinds.def"
#undef MD_GUARD
};

// The type of the stronger guard's constant or object, provided that __class__ cannot be assigned.
bool has_fixed_type(const Guard& stronger, const Guard& weaker) {
  BorrowedRef object = stronger.object.get();
  if (!object || object.type() != weaker.type()) return false;
  return !PyType_HasFeature(object.type(), Py_TPFLAGS_HEAPTYPE) && !PyModule_Check(object.get());
}

bool is_function_type(const Guard&, const Guard& weaker) { return weaker.type() == &PyFunction_Type; }
bool is_set_type(const Guard&, const Guard& weaker) { return weaker.type() == &PySet_Type; }
bool is_dict_type(const Guard&, const Guard& weaker) { return weaker.type() == &PyDict_Type; }

bool tuple_has_length(const Guard& stronger, const Guard& weaker) {
  BorrowedRef object = stronger.object.get();
  return object.type() == &PyTuple_Type && PyTuple_GET_SIZE(object.get()) == weaker.length;
}

bool is_number_of_keys(const Guard& stronger, const Guard& weaker) {
  return static_cast<Py_ssize_t>(stronger.keys.size()) == weaker.length;
}

// Whether a dict with exactly these keys contains the key: 1, 0, or -1 if unknown.
int keys_contain(const Guard& keys, const Guard& contains) {
  for (const HeldObject& key : keys.keys) {
    int equal = constant_key_equal(key.get(), contains.object.get());
    if (equal != 0) return equal;
  }
  return 0;
}
bool has_key(const Guard& stronger, const Guard& weaker) { return keys_contain(stronger, weaker) == 1; }
bool lacks_key(const Guard& stronger, const Guard& weaker) { return keys_contain(stronger, weaker) == 0; }

bool is_constant_itself(const Guard& stronger, const Guard& weaker) {
  BorrowedRef object = stronger.object.get();
  return object && is_guardable_constant(object) && identical_constants(object, weaker.object.get());
}

struct Implication {
  GuardKind stronger;
  GuardKind weaker;
  Relation when;
};

constexpr Implication kImplications[] = {
    {GuardKind::TENSOR_MATCH, GuardKind::TYPE_MATCH, same_object},
    {GuardKind::EQUALS_MATCH, GuardKind::TYPE_MATCH, has_fixed_type},
    {GuardKind::ID_MATCH, GuardKind::TYPE_MATCH, has_fixed_type},
    {GuardKind::CODE_MATCH, GuardKind::TYPE_MATCH, is_function_type},
    {GuardKind::DICT_KEYS, GuardKind::TYPE_MATCH, is_dict_type},
    {GuardKind::SET_ITEMS, GuardKind::TYPE_MATCH, is_set_type},
    {GuardKind::SET_ITEMS, GuardKind::LENGTH, is_number_of_keys},
    {GuardKind::EQUALS_MATCH, GuardKind::LENGTH, tuple_has_length},
    {GuardKind::DICT_KEYS, GuardKind::LENGTH, is_number_of_keys},
    {GuardKind::DICT_KEYS, GuardKind::DICT_CONTAINS, has_key},
    {GuardKind::DICT_KEYS, GuardKind::DICT_MISSING, lacks_key},
    {GuardKind::ID_MATCH, GuardKind::EQUALS_MATCH, is_constant_itself},
};

}  // namespace

bool same_guard(const Guard& a, const Guard& b) {
  return a.kind == b.kind && a.source == b.source && a.other == b.other && kSameOperand[static_cast<int>(a.kind)](a, b);
}

bool implies(const Guard& stronger, const Guard& weaker) {
  // Every check except ABSENT fetches its source.
  if (weaker.kind == GuardKind::PRESENT) return stronger.kind != GuardKind::ABSENT && stronger.kind != weaker.kind;
  return std::ranges::any_of(kImplications, [&](const Implication& row) {
    return row.stronger == stronger.kind && row.weaker == weaker.kind && row.when(stronger, weaker);
  });
}

}  // namespace md
