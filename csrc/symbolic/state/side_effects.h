// The side effects of a region, in order; they are done at its exit. Objects that exist are written to in the log alone:
//  1. Two sources that hold one object share their writes, under an ALIAS guard; objects of one type read as different, of which one
//     is written to, get a NOT_ALIAS guard.
//  2. A dict may be the dict of an instance's attributes: that is guarded against wherever one of the two is written.
#pragma once
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
  Location location = {};  // kept for the side_effects log
};

// What the region has added so far to one cache of functools.
struct CacheAdditions {
  Ref results = check(PyDict_New());  // key: index in values, or None while the function runs
  std::vector<ValuePtr> values;
};

class SideEffects {
 public:
  SideEffects(ValueReader& values, const KeyTable& keys) : values_(values), keys_(keys) {}

  // --- the log
  const std::vector<PendingEffect>& log() const { return log_; }
  void add(PendingEffect effect) { log_.push_back(std::move(effect)); }
  // A second store under one key takes the place of the first, which nobody has seen.
  void log_store(EffectKind kind, const ValuePtr& target, BorrowedRef key, ValuePtr value);
  // A deque is assigned as a whole, once for all changes: what they have made of it so far is what an output may show.
  void freeze_deques();
  void set_locations(size_t first, const Location& location);  // of those that have none
  // Something that others can see has changed: not tensors and modes.
  bool any() const { return !log_.empty() || !written_.empty() || !stored_cells_.empty(); }

  // --- objects that exist
  void note_object(const ValuePtr& value);
  // A function of whose attributes something is asked: another one may be the same.
  void note_function(const ValuePtr& function);
  // The writes to an object; `step` is the trace's, that writes first.
  PendingWrites& write_to(const ValuePtr& object, int64_t step);
  bool any_dict_written() const { return dict_written_; }
  // Whether a dict was written, somewhere in this region, under this key.
  bool any_dict_written_at(BorrowedRef key) const;
  // Whether a dict that the interpreter looks names up in by itself waits for writes. That the dicts that do are others is guarded:
  // they do not have the key `sign`, which it has.
  bool is_waiting_for_writes(BorrowedRef table, BorrowedRef sign);

  // --- classes that exist
  const std::vector<ValuePtr>& written_classes() const { return written_classes_; }
  void add_written_class(const ValuePtr& type, int64_t step);
  bool any_class_written_at(BorrowedRef name) const;
  // Some class's __dict__ was asked for: what was read of it is not asked for what is written.
  bool shows_class_dict() const { return shows_class_dict_; }
  void note_shown_class_dict() { shows_class_dict_ = true; }

  // --- cells, attributes of functions that the trace made, vars(), caches
  const std::vector<ValuePtr>& stored_cells() const { return stored_cells_; }
  void add_stored_cell(const ValuePtr& cell) { stored_cells_.push_back(cell); }
  const Handle<DictValue>& function_dict(const ValuePtr& function);
  std::vector<Handle<InstanceDictValue>>& instance_dicts() { return instance_dicts_; }
  CacheAdditions& additions_to(PyObject* cache);

  // Where cycles of values may begin.
  void add_reached(std::vector<ValuePtr>& reached) const;

 private:
  void relate(const ValuePtr& written, const ValuePtr& other);
  void relate_instance_dict(const ValuePtr& instance, const ValuePtr& dict);
  PendingEffect* last_store(const PendingWrites* writes, BorrowedRef key);

  ValueReader& values_;
  const KeyTable& keys_;
  std::vector<PendingEffect> log_;
  // Where in the log the stores under a key are, by a hash of what is written to and of the key.
  std::unordered_map<size_t, std::vector<size_t>> stores_by_key_;
  size_t stores_indexed_ = 0;  // effects looked at
  size_t output_end_ = 0;      // behind the last output among them, which may show what was stored before
  std::unordered_map<const PendingWrites*, size_t> cleared_at_;  // behind the last of them that empties the dict
  std::vector<ValuePtr> objects_, written_;  // lists, dicts, instances ... that exist: read, and written to
  std::vector<ValuePtr> written_classes_, stored_cells_, functions_with_dict_;
  std::vector<Handle<InstanceDictValue>> instance_dicts_;
  std::unordered_map<PyObject*, CacheAdditions> cache_additions_;  // by function, guarded by identity
  bool shows_class_dict_ = false;
  bool dict_written_ = false;
};

// What was written under the key into a dict that exists, in this region; null: deleted; nullopt: nothing was.
std::optional<ValuePtr> written_item(const ValuePtr& dict, BorrowedRef key);

}  // namespace md
