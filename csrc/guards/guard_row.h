// The rows of guard_kinds.def: what each kind of guard stands on, and the functions that it needs beside its check. The
// check itself and its proof are pasted into switches (guard_program.cpp, memory_recorder.cpp).
#pragma once
#include <string>

#include "guards/guard.h"
#include "guards/guard_index.h"

namespace md {

enum class GuardSubject : uint8_t {
  Object,   // the object at `source`, which is fetched before the check
  Place,    // `source` itself: the check looks it up in its base
  Pair,     // the objects at `source` and `other`
  Sizes,    // the objects at the places of `size`: numbers, or the tensors of APART
  Process,  // no source
};

// What an instruction holds, so that frequent checks do not go through the guard.
enum class GuardOperand : uint8_t {
  Guard,   // the guard
  Held,    // the cell of `object`
  Number,  // `length`
  Source,  // `source`
};

struct GuardRow {
  const char* name;
  GuardSubject subject;
  GuardOperand operand;
  std::string (*condition)(const Guard& guard, const Bytecode& bytecode);
  std::string (*failure)(const Guard& guard, PyObject* object, const Bytecode& bytecode, bool with_values);
  bool (*same)(const Guard& a, const Guard& b);
  bool (*implies)(const Guard& stronger, const Guard& weaker);
  void (*expect)(const Guard& guard, Expectation& expectation);  // null: nothing is expected
};

const GuardRow& guard_row(GuardKind kind);

namespace guard_columns {

#define MD_GUARD(name, ...) std::string condition_##name(const Guard& guard, const Bytecode& bytecode);
#include "guards/guard_kinds.def"
#undef MD_GUARD

bool same_tensor(const Guard& a, const Guard& b);
bool same_object(const Guard& a, const Guard& b);
bool same_constant(const Guard& a, const Guard& b);
bool same_length(const Guard& a, const Guard& b);
bool same_keys(const Guard& a, const Guard& b);
bool same_relation(const Guard& a, const Guard& b);
bool same_places(const Guard& a, const Guard& b);
bool same_computation(const Guard& a, const Guard& b);
bool same_state(const Guard& a, const Guard& b);
bool same_without_operand(const Guard& a, const Guard& b);

bool tensor_implies(const Guard& stronger, const Guard& weaker);
bool constant_implies(const Guard& stronger, const Guard& weaker);
bool object_implies(const Guard& stronger, const Guard& weaker);
bool code_implies(const Guard& stronger, const Guard& weaker);
bool dict_implies(const Guard& stronger, const Guard& weaker);
bool set_implies(const Guard& stronger, const Guard& weaker);
bool implies_nothing(const Guard& stronger, const Guard& weaker);

void expect_tensor(const Guard& guard, Expectation& expectation);
void expect_type(const Guard& guard, Expectation& expectation);
void expect_constant(const Guard& guard, Expectation& expectation);
void expect_object(const Guard& guard, Expectation& expectation);
void expect_code(const Guard& guard, Expectation& expectation);
inline constexpr void (*expect_nothing)(const Guard& guard, Expectation& expectation) = nullptr;

std::string plain_failure(const Guard& guard, PyObject* object, const Bytecode& bytecode, bool with_values);
// The numbers in the condition come from the code, or there is no source to name instead.
std::string whole_failure(const Guard& guard, PyObject* object, const Bytecode& bytecode, bool with_values);
std::string tensor_failure(const Guard& guard, PyObject* object, const Bytecode& bytecode, bool with_values);
std::string state_failure(const Guard& guard, PyObject* object, const Bytecode& bytecode, bool with_values);

}  // namespace guard_columns
}  // namespace md
