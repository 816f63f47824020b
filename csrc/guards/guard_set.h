// The guards of one region, compiled into a flat program. Input: facts that the tracer relied on. Output:
// check(view), explain(view). check() runs no Python code and allocates only numbers; fetched objects are borrowed,
// since nothing can release them meanwhile.
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

enum class GuardKind : uint8_t;  // guard_kind.h
const char* guard_kind_name(GuardKind kind);

class FetchedObjects;
class NumberCode;
struct TensorFamily;

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

  // Whether type_match, id_match, code_match and keys of dict_keys can refer to this object
  // (held_object.h); the tracer checks this first and breaks the graph if not. A temporary (a new bound
  // method) can be held; the entry dies with it.
  static bool can_hold(BorrowedRef object);

  // Adding a fact twice, or a weaker fact beside a stronger one (TYPE_MATCH beside ID_MATCH), keeps one guard. Symbolic
  // sizes match any size; strides that depend on symbolic sizes are given by stride_over (TensorExpectation).
  void tensor_match(const Source* source, PyTypeObject* type, const TensorSpec& spec,
                    std::span<const int> stride_over = {}, uint64_t witness = 0);
  void type_match(const Source* source, PyTypeObject* type);
  void equals_match(const Source* source, BorrowedRef constant);
  void id_match(const Source* source, BorrowedRef object);
  void code_match(const Source* source, PyCodeObject* code);
  void slot_match(const Source* source, BorrowedRef member_descriptor);
  void length(const Source* source, Py_ssize_t length);
  void dict_keys(const Source* source, BorrowedRef key_tuple);
  // The elements in iteration order of the set.
  void set_items(const Source* source, BorrowedRef item_tuple);
  void set_table(const Source* source, uint64_t fingerprint);
  // The MRO of the class at the source.
  void mro(const Source* source, PyTypeObject* type);
  // Which patterns instances of the class at the source match (kPatternFlags).
  void match_flags(const Source* source, PyTypeObject* type);
  // No class has been registered with an abstract base class since.
  void abc_token(const Source* source);
  void text_stream(const Source* source);  // is_plain_text_stream
  void dict_contains(const Source* source, BorrowedRef key, bool contains);
  void present(const Source* source);
  void absent(const Source* source);
  void alias(const Source* a, const Source* b, bool same);
  // Both sources need a tensor_match. One guard holds all pairs beyond kMostPairs: each written tensor is then paired
  // with each other one.
  static constexpr int kMostPairs = 16;
  void no_overlap(const Source* written, const Source* other);
  // A relation between dims whose symbols are read at `places`, the symbols in order. Tensors among them need a
  // tensor_match, ints a type_match.
  void shape(DimRelation relation, Dim left, Dim right, const SymbolList& symbols, std::span<const SizePlace> places);
  // The dict at the source has fewer entries than `limit`.
  void shorter_than(const Source* source, Py_ssize_t limit);
  // The result of a computation on numbers, which are read at most at kMostSizes places, like those of shape().
  void number(NumberCode code, BorrowedRef result);
  void writable(const Source* source);
  void aligned(const Source* source, int64_t bytes);
  void global_state(const TensorFamily& family);  // the current one
  void recursion_limit();                         // the current one

  // A guard as seen by guard_filter_fn.
  struct Fact {
    GuardKind kind;
    const Source* source;  // null: process-wide
  };
  // The guards that remain after dropping implied ones. Before seal().
  std::vector<Fact> facts();
  // Drops the guards, indexed as in facts(), that are not to be kept. Before seal().
  void keep_only(const std::vector<bool>& kept);

  // Sorts, drops implied guards, assigns registers, and makes references weak by the rule of held_object.h. No
  // guards can be added afterwards. The listener (may be null) must outlive this set or stop_listening() must be
  // called first; it is called at most once, possibly inside seal() or from the garbage collector, never inside
  // check(). It must not free this set.
  void seal(GuardDeathListener* listener);
  void stop_listening();
  // Whether a weakly held object has died: check() is false from then on.
  bool dead() const;

  // False before seal. If they hold, `fetched`, which may be null, has the objects at the sources.
  bool check(const LocalsView& view, FetchedObjects* fetched = nullptr) const;
  // The memo that answered the last check, for tests; null if the program ran or the check failed.
  const class GuardMemo* last_memory() const;
  // The text of the first failing guard, "" if none: `tensor 'x' size mismatch at index 0. expected 3, actual 4`,
  // `L['flag'] == True`. `L['x'] is missing`. `bytecode` provides the names of slots.
  std::string explain(const LocalsView& view, const Bytecode& bytecode) const;
  // Every failing guard, each as in explain(), except those on sources that cannot be fetched.
  std::vector<std::string> explain_all(const LocalsView& view, const Bytecode& bytecode) const;
  // Which guard fails first, without values: `EQUALS_MATCH of L['n']`, `tensor 'x' size
  // mismatch at index 0`. "" if none.
  std::string failing(const LocalsView& view, const Bytecode& bytecode) const;
  // The discriminating source: where the guards distinguish these objects from the captured ones; null if
  // there is none with an expectation.
  const Source* discriminating_source(const LocalsView& view) const;
  // What the guards expect at the source (guard_index.h); kind Any: nothing.
  struct Expectation expectation_at(const Source* place) const;
  // Adds the name of each source guarded by the value of an exact int, float or range whose value differs now, and of
  // each tensor size guarded as a constant that differs now.
  void add_varying_numbers(const LocalsView& view, const Bytecode& bytecode, std::set<std::string>& names) const;
  int size() const;
  // One line per guard, for the guards log: `TENSOR_MATCH: L['x'] float32 (3,) ...`.
  std::vector<std::string> print(const Bytecode& bytecode) const;
  // One line per instruction of the program. After seal().
  std::vector<std::string> print_program(const Bytecode& bytecode) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace md
