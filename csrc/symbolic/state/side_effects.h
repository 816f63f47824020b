// The side effects of a region, in order; they are applied at its exit. Writes to pre-existing objects exist only in
// the log:
//   1. Two sources of one object share their writes, under an ALIAS guard; objects of one type that were read as
//      distinct get a NOT_ALIAS guard if one of them is written.
//   2. A dict may be the attribute dict of an instance: a write to either adds a guard that it is not.
#pragma once
#include <optional>
#include <unordered_map>
#include <vector>

#include "symbolic/state/key_table.h"
#include "symbolic/state/value_reader.h"

namespace md {

struct PendingEffect {
  EffectKind kind;
  ValuePtr target, key, value;
  int64_t start = 0, stop = 0;
  bool flag = false;
  ValueRef tensor{};  // WriteTensor: the value
  int count = 0;
  const TensorFamily* family = nullptr;  // of a mode
  bool is_undone = false;                // before anybody could see it
  Location location = {};                // kept for the side_effects log
};

// ContextVar.set() in the region.
struct ContextWrite {
  ValuePtr variable, value, token;
  size_t effect;  // its position in the log
  bool is_reset = false;
};

// An argument of a cached call, or an element of one that is a tuple.
struct CallLeaf {
  Ref part;                 // as cached_calls.h represents it
  std::optional<Dim> size;  // of an int, which may be symbolic
};

// A call of one functools cache in the region: it adds an entry, or its arguments hold symbolic sizes.
struct CachedCall {
  std::vector<CallLeaf> leaves;
  ValuePtr result;  // null while the function runs
  bool is_hit = false;
  bool is_open = false;  // has symbolic sizes: which entry it finds or adds differs from run to run
};

struct CachedCalls {
  Ref by_key = check(PyDict_New());  // key, with the sizes of now -> index in calls
  std::vector<CachedCall> calls;
  Py_ssize_t added = 0;  // entries, with those of calls that run
};

class SideEffects {
 public:
  SideEffects(ValueReader& values, const KeyTable& keys);
  ~SideEffects();

  // --- the log
  const std::vector<PendingEffect>& log() const { return log_; }
  void add(PendingEffect effect);
  // A second store under the same key replaces the first if that was unobservable.
  void log_store(EffectKind kind, const ValuePtr& target, BorrowedRef key, ValuePtr value);
  // A deque is assigned as a whole, once for all changes; an output must see its contents at that point.
  void freeze_deques();
  void set_locations(size_t first, const Location& location);  // of those without one
  // Returns true if something observable has changed, other than tensors and modes.
  bool any() const { return !log_.empty() || !written_.empty() || !stored_cells_.empty(); }

  // --- pre-existing objects
  void note_object(const ValuePtr& value);
  // Records a function whose attributes were read: another function value may be the same object.
  void note_function(const ValuePtr& function);
  // The pending writes to an object; `step` is the trace step of the first write.
  PendingWrites& write_to(const ValuePtr& object, int64_t step);
  bool any_dict_written() const { return dict_written_; }
  // Returns true if some dict was written under this key in this region.
  bool any_dict_written_at(BorrowedRef key) const;
  // Returns true if a dict that the interpreter itself looks names up in has pending writes. Other written dicts are
  // guarded not to be that one: they lack the key `sign`, which it has.
  bool is_waiting_for_writes(BorrowedRef table, BorrowedRef sign);

  // --- pre-existing classes
  const std::vector<ValuePtr>& written_classes() const { return written_classes_; }
  void add_written_class(const ValuePtr& type, int64_t step);
  bool any_class_written_at(BorrowedRef name) const;
  // Some class's __dict__ was read: reads through it do not see pending writes.
  bool shows_class_dict() const { return shows_class_dict_; }
  void note_shown_class_dict() { shows_class_dict_ = true; }

  // --- cells, attributes of functions created in the trace, vars(), caches
  const std::vector<ValuePtr>& stored_cells() const { return stored_cells_; }
  void add_stored_cell(const ValuePtr& cell);
  const Handle<DictValue>& function_dict(const ValuePtr& function);
  std::vector<Handle<InstanceDictValue>>& instance_dicts() { return instance_dicts_; }
  CachedCalls& cached_calls(PyObject* cache);
  std::vector<ContextWrite>& context_writes() { return context_writes_; }
  // Returns true if an output after the effect may show it.
  bool is_shown(size_t effect) const;
  // Leaves an effect out that is not shown.
  void undo(size_t effect) { log_[effect].is_undone = true; }

  // Adds the values from which reference cycles may start.
  void add_reached(std::vector<ValuePtr>& reached) const;

 private:
  void relate(const ValuePtr& written, const ValuePtr& other);
  void relate_instance_dict(const ValuePtr& instance, const ValuePtr& dict);
  PendingEffect* last_store(const PendingWrites* writes, BorrowedRef key, bool of_attribute);

  ValueReader& values_;
  const KeyTable& keys_;
  std::vector<PendingEffect> log_;
  // Positions in the log of the stores under a key, by a hash of the target and the key.
  std::unordered_map<size_t, std::vector<size_t>> stores_by_key_;
  size_t stores_indexed_ = 0;  // effects indexed so far
  size_t output_end_ = 0;      // after the last output among them, which may show earlier stores
  std::unordered_map<const PendingWrites*, size_t> cleared_at_;  // after the last effect that clears the dict
  std::vector<ValuePtr> objects_, written_;  // pre-existing lists, dicts, instances ...: read, and written
  std::vector<ValuePtr> written_classes_, stored_cells_, functions_with_dict_;
  std::vector<Handle<InstanceDictValue>> instance_dicts_;
  std::unordered_map<PyObject*, CachedCalls> cached_calls_;  // by function, guarded by identity
  std::vector<ContextWrite> context_writes_;
  bool shows_class_dict_ = false;
  bool dict_written_ = false;
};

// The item written under the key into a pre-existing dict in this region; null: deleted; nullopt: not written.
std::optional<ValuePtr> written_item(const ValuePtr& dict, BorrowedRef key);

}  // namespace md
