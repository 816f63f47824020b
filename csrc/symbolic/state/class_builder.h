// The classes that a trace makes, and the dicts that locals() and bodies of classes show; they live until it ends.
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
  TracedClass* find(BorrowedRef type) const;  // null: a class that exists
  ValuePtr keep(std::unique_ptr<TracedClass> made);
  const Handle<DictValue>& keep_locals(Handle<DictValue> dict);
  // Where cycles of values may begin.
  void add_reached(std::vector<ValuePtr>& reached) const;

 private:
  std::vector<std::unique_ptr<TracedClass>> made_;
  std::vector<Handle<DictValue>> locals_;
};

}  // namespace md
