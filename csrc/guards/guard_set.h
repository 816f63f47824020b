// The guards of one region, compiled into a flat program. In: facts that the walk relied on. Out: check(view), explain(view).
// No Python code runs in check; nothing is allocated; a fetched object is borrowed, since nothing can release it meanwhile.
#pragma once
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "guards/constants.h"
#include "guards/size_place.h"
#include "guards/source.h"
#include "tensor/dim_code.h"
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

  // Whether type_match, id_match, code_match and a key of dict_keys can refer to this object (held_object.h); the walk asks
  // first and breaks if not. A temporary (a bound method just made) can be held, and the entry dies with it.
  static bool can_hold(BorrowedRef object);

  // Adding a fact twice, or a weaker one beside a stronger one (TYPE_MATCH beside ID_MATCH), keeps one guard.
  // A symbolic size may be any; a stride that goes over symbolic sizes is as stride_over says (TensorExpectation).
  void tensor_match(const Source* source, PyTypeObject* type, const TensorSpec& spec,
                    std::span<const int> stride_over = {});
  void type_match(const Source* source, PyTypeObject* type);
  void equals_match(const Source* source, BorrowedRef constant);
  void id_match(const Source* source, BorrowedRef object);
  void code_match(const Source* source, PyCodeObject* code);
  void slot_match(const Source* source, BorrowedRef member_descriptor);
  void length(const Source* source, Py_ssize_t length);
  void dict_keys(const Source* source, BorrowedRef key_tuple);
  // The elements in the order of a set.
  void set_items(const Source* source, BorrowedRef item_tuple);
  // What the class at the source derives from, in order.
  void mro(const Source* source, PyTypeObject* type);
  // Which patterns objects of the class at the source match (kPatternFlags).
  void match_flags(const Source* source, PyTypeObject* type);
  // What abstract base classes say of classes is as it is now.
  void abc_token(const Source* source);
  void text_stream(const Source* source);  // is_plain_text_stream
  void dict_contains(const Source* source, BorrowedRef key, bool contains);
  void present(const Source* source);
  void absent(const Source* source);
  void alias(const Source* a, const Source* b, bool same);
  // Both sources have a tensor_match.
  void no_overlap(const Source* a, const Source* b);
  // A relation between dims whose symbols are at these places, the symbols in order. Tensors among them have a tensor_match,
  // ints a type_match.
  void shape(DimRelation relation, Dim left, Dim right, const SymbolList& symbols, std::span<const SizePlace> places);
  void global_state();     // as it is now
  void recursion_limit();  // as it is now

  // One guard as guard_filter_fn sees it.
  struct Fact {
    GuardKind kind;
    const Source* source;  // null: of the process
  };
  // The guards that are left when those are dropped that others imply. Before seal.
  std::vector<Fact> facts();
  // Drops the guards, by their places in facts(), that are not to be kept. Before seal.
  void keep_only(const std::vector<bool>& kept);

  // Sorts, drops what stronger guards imply, assigns registers, turns objects into weak references by the rule of
  // held_object.h. After this nothing is added. The listener (may be null) outlives this set, or stop_listening comes
  // first; it is called at most once, possibly inside seal, or from the collector, never inside check. It must not free
  // this set.
  void seal(GuardDeathListener* listener);
  void stop_listening();
  // An object held weakly is gone: check is false from then on.
  bool dead() const;

  // False before seal.
  bool check(const LocalsView& view) const;
  // What answered the last check, if that was true and the program did not have to be run; valid until the next check.
  const class GuardMemory* last_memory() const;
  // The text of the first guard that fails, "" if none: `tensor 'x' size mismatch at index 0. expected 3, actual 4`, `L['flag'] == True`.
  // `L['x'] is missing`. `bytecode` gives the names of the slots.
  std::string explain(const LocalsView& view, const Bytecode& bytecode) const;
  // Every guard that fails, each as in explain; what stands on a source that cannot be fetched is left out.
  std::vector<std::string> explain_all(const LocalsView& view, const Bytecode& bytecode) const;
  // Which guard fails first, without the values: `EQUALS_MATCH of L['n']`, `tensor 'x' size mismatch at index 0`. "" if none.
  std::string failing(const LocalsView& view, const Bytecode& bytecode) const;
  // The place at which the guards tell these objects from the captured ones; null: none, or no place that has an expectation.
  const Source* telling_place(const LocalsView& view) const;
  // What the guards expect there (guard_index.h); kind Any: nothing.
  struct Expectation expectation_at(const Source* place) const;
  // Adds the name of each source that is guarded by the value of an exact int, float or range and holds another one now, and of
  // each size of a tensor that is guarded by its number and is another one now.
  void add_varying_numbers(const LocalsView& view, const Bytecode& bytecode, std::set<std::string>& names) const;
  int size() const;
  // One line per guard: `TENSOR_MATCH: L['x'] float32 (3,) ...`, for the guards log.
  std::vector<std::string> print(const Bytecode& bytecode) const;
  // One line per instruction of the program. After seal.
  std::vector<std::string> print_program(const Bytecode& bytecode) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace md
