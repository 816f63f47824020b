// The classes created in a trace, and the dicts returned by locals() in it (functions and class bodies). Both live
// until the trace ends.
#pragma once
#include <memory>
#include <vector>

#include "symbolic/values/traced_class.h"

namespace md {

class ClassBuilder {
 public:
  ~ClassBuilder() { clear(); }
  void clear();
  bool is_empty() const { return made_.empty(); }
  TracedClass* find(BorrowedRef type) const;  // null: a pre-existing class
  ValuePtr keep(std::unique_ptr<TracedClass> made);
  const Handle<DictValue>& keep_locals(Handle<DictValue> dict);
  // Adds the values from which reference cycles may start.
  void add_reached(std::vector<ValuePtr>& reached) const;

 private:
  std::vector<std::unique_ptr<TracedClass>> made_;
  std::vector<Handle<DictValue>> locals_;
};

}  // namespace md
