#include "snapshot/value_builder.h"

#include <algorithm>
#include <utility>

#include "snapshot/recipe_rows.h"

namespace md {

namespace recipe_columns {

constexpr RecipeRow kRows[] = {
#define MD_RECIPE(name, fill, parts, doc) {make_##name, fill},
#include "snapshot/recipes.def"
#undef MD_RECIPE
};

}  // namespace recipe_columns

const RecipeRow& recipe_row(RecipeKind kind) { return recipe_columns::kRows[static_cast<int>(kind)]; }

namespace {

// list, tuple and reversed iterators take their position through __setstate__: that of the next element; -1 for
// an exhausted reversed iterator.
void set_position(PyObject* iterator, int position) {
  Ref number = check(PyLong_FromLong(position));
  static PyObject* const name = PyUnicode_InternFromString("__setstate__");
  check(PyObject_CallMethodOneArg(iterator, name, number));
}

}  // namespace

ValueBuilder::ValueBuilder(const Snapshot& snapshot, const LocalsView& view, const FetchedObjects* fetched)
    : snapshot_(snapshot), view_(view), values_(snapshot.recipes.size()) {
  for (size_t id = 0; id < snapshot.recipes.size(); ++id) {
    const Recipe& recipe = snapshot.recipes[id];
    if (recipe.kind != RecipeKind::Source) continue;
    values_[id] = fetch_once(recipe.source, view, fetched);
    MD_ASSERT(values_[id], "a value that an exit needs is gone");
  }
}

bool ValueBuilder::is_current() const {
  for (size_t id = 0; id < snapshot_.recipes.size(); ++id) {
    const Recipe& recipe = snapshot_.recipes[id];
    if (recipe.kind == RecipeKind::Source && fetch(recipe.source, view_).get() != values_[id].get()) return false;
  }
  return true;
}

void ValueBuilder::set_outputs(std::span<Tensor> outputs) { outputs_ = outputs; }

Ref ValueBuilder::build(RecipeId id) {
  if (values_[id]) return values_[id];
  const Recipe& recipe = snapshot_.recipes[id];
  Ref made = recipe_row(recipe.kind).make(*this, recipe, id);
  // Building may run the deferred fills, which may have requested this value: it must be created once only.
  if (!values_[id]) values_[id] = std::move(made);
  return values_[id];
}

std::vector<Ref> ValueBuilder::build_parts(const Recipe& recipe, size_t left) {
  std::vector<Ref> parts;
  parts.reserve(recipe.parts.size() - left);
  for (size_t i = 0; i + left < recipe.parts.size(); ++i) parts.push_back(build(recipe.parts[i]));
  return parts;
}

// Whether it is available without building anything.
bool ValueBuilder::is_there(RecipeId id) const {
  return values_[id] || snapshot_.recipes[id].kind == RecipeKind::Constant;
}

void ValueBuilder::fill_later(RecipeId id) {
  MD_ASSERT(recipe_row(snapshot_.recipes[id].kind).fill != nullptr, "its row says how it is filled");
  to_fill_.push_back(id);
}

void ValueBuilder::place_later(RecipeId id, int position) { to_place_.emplace_back(id, position); }

ValueBuilder::ClassWork& ValueBuilder::class_work() {
  if (!classes_) classes_ = std::make_unique<ClassWork>();
  return *classes_;
}

bool ValueBuilder::iterates_dicts() {
  if (!iterates_dicts_)
    iterates_dicts_ =
        std::ranges::find(snapshot_.recipes, RecipeKind::DictIterator, &Recipe::kind) != snapshot_.recipes.end();
  return *iterates_dicts_;
}

void ValueBuilder::release() {
  for (Ref& value : values_) value.reset();
}

void ValueBuilder::finish_queued() {
  // Filling may build, and so enqueue, further containers, or call finish() recursively: each
  // is dequeued before it is filled.
  while (!to_fill_.empty()) {
    RecipeId id = to_fill_.back();
    to_fill_.pop_back();
    ++filling_;
    const Recipe& recipe = snapshot_.recipes[id];
    Ref value = values_[id];
    recipe_row(recipe.kind).fill(*this, recipe, id, value);
    --filling_;
  }
  // A list iterator cannot be positioned beyond the list's current elements.
  if (filling_ > 0) return;
  for (const auto& [id, position] : std::exchange(to_place_, {})) set_position(values_[id], position);
}

}  // namespace md
