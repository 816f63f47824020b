// Recipes of tuples, lists, dicts, sets, slices and cells.
#include "cpython/own_attributes.h"
#include "cpython/set_table.h"
#include "cpython/tuples.h"
#include "guards/return_types.h"
#include "snapshot/recipe_rows.h"

namespace md {
namespace {

void fill_table(const Recipe& recipe, const Ref& set, const std::vector<Ref>& items) {
  std::vector<PyObject*> plain(items.begin(), items.end());
  check_status(pv_set_fill(set, recipe.object, plain.data(), static_cast<Py_ssize_t>(plain.size())));
}

// Empty, as if created by list().
Ref make_list(PyObject* type) {
  static PyObject* const empty = PyTuple_New(0);
  return check(PyList_Type.tp_new(reinterpret_cast<PyTypeObject*>(type), empty, nullptr));
}

// Created with its final length: iterators over it detect insertions, but not assignments to elements.
Ref make_deque(PyObject* type, PyObject* maxlen, size_t length) {
  Ref places = check(PyTuple_New(static_cast<Py_ssize_t>(length)));
  for (size_t i = 0; i < length; ++i) PyTuple_SET_ITEM(places.get(), i, Py_NewRef(Py_None));
  return check(PyObject_CallFunctionObjArgs(type, places.get(), maxlen, nullptr));
}

Ref make_dict(PyObject* type, PyObject* factory) {
  static PyObject* const empty = PyTuple_New(0);
  if (factory != nullptr) return check(PyObject_CallOneArg(type, factory));
  return check(PyDict_Type.tp_new(reinterpret_cast<PyTypeObject*>(type), empty, nullptr));
}

// While its values are being built, someone may iterate over it, and would notice a new key.
void fill_entries(ValueBuilder& builder, PyObject* dict, const std::vector<RecipeId>& parts, size_t first) {
  auto* set_item = PyODict_Check(dict) ? &PyODict_SetItem : &PyDict_SetItem;
  for (size_t i = first; builder.iterates_dicts() && i < parts.size(); i += 2)
    check_status(set_item(dict, builder.build(parts[i]), Py_None));
  for (size_t i = first; i < parts.size(); i += 2)
    check_status(set_item(dict, builder.build(parts[i]), builder.build(parts[i + 1])));
}

// The attributes of a container of a class of its own follow two other parts.
size_t first_after_attributes(const Recipe& recipe) { return 2 + 2 * static_cast<size_t>(recipe.index); }

void set_attributes(ValueBuilder& builder, const Recipe& recipe, const Ref& container) {
  for (size_t i = 2; i < first_after_attributes(recipe); i += 2)
    set_own_attribute(container, builder.build(recipe.parts[i]), builder.build(recipe.parts[i + 1]));
}

}  // namespace

namespace recipe_columns {

Ref make_Tuple(ValueBuilder& builder, const Recipe& recipe, RecipeId) {
  std::vector<Ref> parts = builder.build_parts(recipe);
  return moved_to_tuple(parts);
}

Ref make_TypedTuple(ValueBuilder& builder, const Recipe& recipe, RecipeId) {
  std::vector<Ref> parts = builder.build_parts(recipe);
  auto* type = reinterpret_cast<PyTypeObject*>(parts[0].get());
  Ref items = moved_to_tuple(std::span(parts).subspan(1));
  if (is_return_type(type)) return make_returned(type, items.get());
  Ref args = check(PyTuple_Pack(1, items.get()));
  return check(PyTuple_Type.tp_new(type, args, nullptr));
}

Ref make_List(ValueBuilder& builder, const Recipe&, RecipeId id) {
  builder.fill_later(id);
  return check(PyList_New(0));
}

void fill_list(ValueBuilder& builder, const Recipe& recipe, RecipeId, const Ref& list) {
  for (RecipeId part : recipe.parts) check_status(PyList_Append(list, builder.build(part)));
}

Ref make_TypedList(ValueBuilder& builder, const Recipe& recipe, RecipeId id) {
  // Building a part may run the deferred fills.
  Ref type = builder.build(recipe.parts[0]), maxlen = builder.build(recipe.parts[1]);
  builder.fill_later(id);
  return maxlen ? make_deque(type, maxlen, recipe.parts.size() - 2) : make_list(type);
}

void fill_typed_list(ValueBuilder& builder, const Recipe& recipe, RecipeId, const Ref& list) {
  size_t first = first_after_attributes(recipe);
  for (size_t i = first; i < recipe.parts.size(); ++i) {
    Ref item = builder.build(recipe.parts[i]);
    bool is_list = PyList_Check(list.get());
    auto at = static_cast<Py_ssize_t>(i - first);
    check_status(is_list ? PyList_Append(list, item) : PySequence_SetItem(list, at, item));
  }
  set_attributes(builder, recipe, list);
}

Ref make_Dict(ValueBuilder& builder, const Recipe&, RecipeId id) {
  builder.fill_later(id);
  return check(PyDict_New());
}

void fill_dict(ValueBuilder& builder, const Recipe& recipe, RecipeId, const Ref& dict) {
  fill_entries(builder, dict, recipe.parts, 0);
}

Ref make_TypedDict(ValueBuilder& builder, const Recipe& recipe, RecipeId id) {
  Ref type = builder.build(recipe.parts[0]), factory = builder.build(recipe.parts[1]);
  builder.fill_later(id);
  return make_dict(type, factory);
}

void fill_typed_dict(ValueBuilder& builder, const Recipe& recipe, RecipeId, const Ref& dict) {
  fill_entries(builder, dict, recipe.parts, first_after_attributes(recipe));
  set_attributes(builder, recipe, dict);
}

Ref make_Set(ValueBuilder& builder, const Recipe& recipe, RecipeId id) {
  if (recipe.index == 0) {
    builder.fill_later(id);
    return check(PySet_New(nullptr));
  }
  std::vector<Ref> items = builder.build_parts(recipe);
  Ref set = check(PyFrozenSet_New(nullptr));
  fill_table(recipe, set, items);
  return set;
}

void fill_set(ValueBuilder& builder, const Recipe& recipe, RecipeId, const Ref& set) {
  if (recipe.index == 0) fill_table(recipe, set, builder.build_parts(recipe));
}

Ref make_Slice(ValueBuilder& builder, const Recipe& recipe, RecipeId) {
  std::vector<Ref> parts = builder.build_parts(recipe);
  return check(PySlice_New(parts[0], parts[1], parts[2]));
}

Ref make_Cell(ValueBuilder& builder, const Recipe& recipe, RecipeId id) {
  if (!recipe.parts.empty()) builder.fill_later(id);
  return check(PyCell_New(nullptr));
}

void fill_cell(ValueBuilder& builder, const Recipe& recipe, RecipeId, const Ref& cell) {
  Ref contents = builder.build(recipe.parts[0]);
  // Building a class fills the cell of its names.
  if (recipe.index == 0) check_status(PyCell_Set(cell, contents));
}

Ref make_DictView(ValueBuilder& builder, const Recipe& recipe, RecipeId) {
  static constexpr const char* kMethods[] = {"keys", "values", "items"};
  Ref dict = builder.build(recipe.parts[0]);
  // The view of the C class: a subclass may override the method.
  PyTypeObject* owner = PyODict_Check(dict.get()) ? &PyODict_Type : &PyDict_Type;
  return check(PyObject_CallMethod(reinterpret_cast<PyObject*>(owner), kMethods[recipe.index], "O", dict.get()));
}

}  // namespace recipe_columns
}  // namespace md
