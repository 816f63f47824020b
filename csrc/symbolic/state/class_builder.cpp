#include "symbolic/state/class_builder.h"

namespace md {

void ClassBuilder::clear() {
  while (!made_.empty()) made_.pop_back();  // a class before its bases
}

TracedClass* ClassBuilder::find(BorrowedRef type) const {
  for (const auto& made : made_)
    if (as<ObjectValue>(made->value)->object.get() == type.get()) return made.get();
  return nullptr;
}

ValuePtr ClassBuilder::keep(std::unique_ptr<TracedClass> made) {
  made_.push_back(std::move(made));
  return made_.back()->value;
}

const Handle<DictValue>& ClassBuilder::keep_locals(Handle<DictValue> dict) {
  locals_.push_back(std::move(dict));
  return locals_.back();
}

void ClassBuilder::add_reached(std::vector<ValuePtr>& reached) const {
  for (const auto& made : made_) reached.push_back(made->names);
  for (const auto& dict : locals_) reached.push_back(dict);
}

}  // namespace md
