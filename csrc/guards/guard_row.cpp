#include "guards/guard_row.h"

namespace md {
namespace guard_columns {

constexpr GuardRow kRows[] = {
#define MD_GUARD(name, subject, operand, same, implies, expects, failure, proof, doc) \
  {#name,                                                                             \
   GuardSubject::subject,                                                             \
   GuardOperand::operand,                                                             \
   condition_##name,                                                                  \
   guard_columns::failure,                                                            \
   guard_columns::same,                                                               \
   guard_columns::implies,                                                            \
   expects},
#include "guards/guard_kinds.def"
#undef MD_GUARD
};

}  // namespace guard_columns

const GuardRow& guard_row(GuardKind kind) { return guard_columns::kRows[static_cast<int>(kind)]; }

const char* guard_kind_name(GuardKind kind) { return guard_row(kind).name; }

std::string condition(const Guard& guard, const Bytecode& bytecode) {
  return guard_row(guard.kind).condition(guard, bytecode);
}

std::string failure(const Guard& guard, PyObject* object, const Bytecode& bytecode) {
  return guard_row(guard.kind).failure(guard, object, bytecode, true);
}

std::string failure_without_values(const Guard& guard, PyObject* object, const Bytecode& bytecode) {
  return guard_row(guard.kind).failure(guard, object, bytecode, false);
}

bool same_guard(const Guard& a, const Guard& b) {
  return a.kind == b.kind && a.source == b.source && a.other == b.other && guard_row(a.kind).same(a, b);
}

bool implies(const Guard& stronger, const Guard& weaker) {
  if (stronger.kind == weaker.kind) return false;
  const GuardRow& row = guard_row(stronger.kind);
  if (weaker.kind == GuardKind::PRESENT) return row.subject != GuardSubject::Place;
  return row.implies(stronger, weaker);
}

bool has_expectation(const Guard& guard) { return guard_row(guard.kind).expect != nullptr; }

}  // namespace md
