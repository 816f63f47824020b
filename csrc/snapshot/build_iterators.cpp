// Recipes of iterators.
#include "snapshot/held_iterator.h"
#include "snapshot/recipe_rows.h"

namespace md {
namespace {

// Advances a new iterator; its elements are known to exist.
void advance(PyObject* iterator, int count) {
  for (int i = 0; i < count; ++i) {
    Ref skipped = Ref::steal(PyIter_Next(iterator));
    if (!skipped) {
      if (PyErr_Occurred()) throw PythonError();
      return;
    }
  }
}

Ref ended(Ref iterator) {
  while (Ref::steal(PyIter_Next(iterator))) continue;
  return iterator;
}

// type(*parts), where parts [first, last) are iterators or are iterated over from here on; `name` is a keyword passed
// as True.
Ref call_on_iterators(ValueBuilder& builder, const Recipe& recipe, PyTypeObject* type, size_t first, size_t last,
                      PyObject* name = nullptr) {
  std::vector<Ref> held = builder.build_parts(recipe);
  builder.finish();  // an object's class may still lack its __next__
  for (size_t i = first; i < last; ++i) held[i] = held_iterator(held[i]);
  std::vector<PyObject*> args(held.begin(), held.end());
  if (name != nullptr) args.push_back(Py_True);
  return check(PyObject_Vectorcall(reinterpret_cast<PyObject*>(type), args.data(), held.size(), name));
}

}  // namespace

namespace recipe_columns {

Ref make_SequenceIterator(ValueBuilder& builder, const Recipe& recipe, RecipeId id) {
  Ref sequence = builder.build(recipe.parts[0]);
  if (recipe.index < 0) return ended(check(PyObject_GetIter(sequence)));
  if (recipe.index > 0) builder.place_later(id, recipe.index);
  return check(PyObject_GetIter(sequence));
}

Ref make_RangeIterator(ValueBuilder& builder, const Recipe& recipe, RecipeId id) {
  return make_SequenceIterator(builder, recipe, id);
}

Ref make_ReversedIterator(ValueBuilder& builder, const Recipe& recipe, RecipeId id) {
  Ref sequence = builder.build(recipe.parts[0]);
  Ref iterator = check(PyObject_CallOneArg(reinterpret_cast<PyObject*>(&PyReversed_Type), sequence));
  if (recipe.index < 0) return ended(std::move(iterator));
  builder.place_later(id, recipe.index - 1);
  return iterator;
}

Ref make_DictIterator(ValueBuilder& builder, const Recipe& recipe, RecipeId) {
  Ref dict = builder.build(recipe.parts[0]);
  builder.finish();
  Ref iterator = check(PyObject_GetIter(dict));
  advance(iterator, recipe.index);
  return iterator;
}

Ref make_Enumerate(ValueBuilder& builder, const Recipe& recipe, RecipeId) {
  return call_on_iterators(builder, recipe, &PyEnum_Type, 0, 1);
}

Ref make_Zip(ValueBuilder& builder, const Recipe& recipe, RecipeId) {
  static PyObject* const strict = check(Py_BuildValue("(s)", "strict")).release();
  return call_on_iterators(builder, recipe, &PyZip_Type, 0, recipe.parts.size(), recipe.index == 1 ? strict : nullptr);
}

Ref make_Map(ValueBuilder& builder, const Recipe& recipe, RecipeId) {
  return call_on_iterators(builder, recipe, &PyMap_Type, 1, recipe.parts.size());
}

Ref make_Filter(ValueBuilder& builder, const Recipe& recipe, RecipeId) {
  return call_on_iterators(builder, recipe, &PyFilter_Type, 1, recipe.parts.size());
}

}  // namespace recipe_columns
}  // namespace md
