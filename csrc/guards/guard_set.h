// The guards of one region, compiled into a flat program. In: facts that the walk relied on. Out: check(view), explain(view).
// No Python code runs in check; nothing is allocated; a fetched object is borrowed, since nothing can release it meanwhile.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "guards/source.h"
#include "tensor/tensor.h"

namespace md {

enum class GuardKind : uint8_t {
#define MD_GUARD(name, doc) name,
#include "guards/guard_kinds.def"
#undef MD_GUARD
};
const char* guard_kind_name(GuardKind kind);

// Called once when an object that a guard holds weakly dies: the owner drops the entry.
class GuardDeathListener {
 public:
  virtual ~GuardDeathListener() = default;
  virtual void guarded_object_died() = 0;
};

class GuardSet {
 public:
  GuardSet();
  ~GuardSet();
  GuardSet(GuardSet&&) noexcept;
  GuardSet& operator=(GuardSet&&) noexcept;

  SourcePool& sources();
  const SourcePool& sources() const;

  // Adding a fact twice, or a weaker one beside a stronger one (TYPE_MATCH beside ID_MATCH), keeps one guard.
  void tensor_match(const Source* source, PyTypeObject* type, const TensorSpec& spec);
  void type_match(const Source* source, PyTypeObject* type);
  void equals_match(const Source* source, BorrowedRef constant);
  void id_match(const Source* source, BorrowedRef object);
  void code_match(const Source* source, PyCodeObject* code);
  void length(const Source* source, Py_ssize_t length);
  void dict_keys(const Source* source, BorrowedRef key_tuple);
  void dict_contains(const Source* source, BorrowedRef key, bool contains);
  void absent(const Source* source);
  void alias(const Source* a, const Source* b, bool same);
  void global_state();  // as it is now

  // Sorts, drops what stronger guards imply, assigns registers, turns objects into weak references (lifetime rule: strong only for atoms,
  // static types and what cannot reach a code object). After this nothing is added.
  void seal(GuardDeathListener* listener);

  bool check(const LocalsView& view) const;
  // The text of the first guard that fails, "" if none: `tensor 'L['x']' size mismatch at index 0. expected 3, actual 4`, `L['flag'] == True`.
  std::string explain(const LocalsView& view, const Bytecode& bytecode) const;
  int size() const;
  // One line per guard: `TENSOR_MATCH: L['x'] float32 (3,) ...`, for the guards log.
  std::vector<std::string> print(const Bytecode& bytecode) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// True if equals_match can hold this object: exact immutable built-in, recursively.
bool is_guardable_constant(BorrowedRef object);
// Same exact type and same value, floats by bits, no Python code run. Both sides guardable constants.
bool identical_constants(BorrowedRef a, BorrowedRef b);

}  // namespace md
