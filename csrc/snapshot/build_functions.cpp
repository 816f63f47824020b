// Recipes of functions and methods, and of what a call returns.
#include "snapshot/policy_function.h"
#include "snapshot/recipe_rows.h"

namespace md {
namespace {

Ref make_function(const std::vector<Ref>& parts) {
  BorrowedRef code = parts[0].get();
  auto* model = reinterpret_cast<PyFunctionObject*>(parts[1].get());
  Ref function = check(PyFunction_New(code, model->func_globals));
  if (parts[2]) check_status(PyFunction_SetDefaults(function, parts[2]));
  if (parts[3]) check_status(PyFunction_SetKwDefaults(function, parts[3]));
  if (parts[4]) check_status(PyFunction_SetAnnotations(function, parts[4]));
  if (parts.size() > 5) {
    Ref closure = check(PyTuple_New(static_cast<Py_ssize_t>(parts.size() - 5)));
    for (size_t i = 5; i < parts.size(); ++i) PyTuple_SET_ITEM(closure.get(), i - 5, Py_NewRef(parts[i].get()));
    check_status(PyFunction_SetClosure(function, closure));
  }
  return function;
}

// Stores into a function's __dict__, whose keys may not be valid names, or may be names of descriptors.
void set_in_dict(PyObject* function, PyObject* key, PyObject* value) {
  check_status(PyDict_SetItem(check(PyObject_GetAttrString(function, "__dict__")), key, value));
}

}  // namespace

namespace recipe_columns {

Ref make_Function(ValueBuilder& builder, const Recipe& recipe, RecipeId id) {
  // Its attributes, `index` pairs of parts, may refer to it.
  std::vector<Ref> parts = builder.build_parts(recipe, 2 * static_cast<size_t>(recipe.index));
  if (recipe.index > 0) builder.fill_later(id);
  return make_function(parts);
}

void fill_function(ValueBuilder& builder, const Recipe& recipe, RecipeId, const Ref& function) {
  // The attributes stored outside __dict__ come first, `object` pairs of them; then those of its __dict__.
  const std::vector<RecipeId>& parts = recipe.parts;
  size_t first = parts.size() - 2 * static_cast<size_t>(recipe.index);
  size_t dict = first + 2 * PyLong_AsSize_t(recipe.object);
  for (size_t i = first; i < dict; i += 2)
    check_status(PyObject_GenericSetAttr(function, builder.build(parts[i]), builder.build(parts[i + 1])));
  for (size_t i = dict; i < parts.size(); i += 2)
    set_in_dict(function, builder.build(parts[i]), builder.build(parts[i + 1]));
}

Ref make_FunctionDict(ValueBuilder& builder, const Recipe& recipe, RecipeId) {
  return check(PyObject_GetAttrString(builder.build(recipe.parts[0]), "__dict__"));
}

Ref make_Call(ValueBuilder& builder, const Recipe& recipe, RecipeId) {
  std::vector<Ref> parts = builder.build_parts(recipe);
  builder.finish();
  size_t end = parts.size() - 2 * static_cast<size_t>(recipe.index);
  std::vector<PyObject*> args(parts.begin() + 1, parts.begin() + static_cast<ptrdiff_t>(end));
  size_t named = static_cast<size_t>(PyTuple_GET_SIZE(recipe.object.get()));
  Ref result =
      check(PyObject_Vectorcall(parts[0], args.data(), args.size() - named, named > 0 ? recipe.object.get() : nullptr));
  for (size_t i = end; i < parts.size(); i += 2) check_status(PyObject_GenericSetAttr(result, parts[i], parts[i + 1]));
  return result;
}

Ref make_BoundMethod(ValueBuilder& builder, const Recipe& recipe, RecipeId) {
  Ref function = builder.build(recipe.parts[0]), self = builder.build(recipe.parts[1]);
  // A classmethod may wrap any callable; one that is not a descriptor is not bound.
  if (PyFunction_Check(function.get()) || Py_TYPE(function.get())->tp_descr_get == nullptr)
    return check(PyMethod_New(function, self));
  if (Py_IS_TYPE(function.get(), &PyClassMethodDescr_Type))
    return check(PyClassMethodDescr_Type.tp_descr_get(function, nullptr, self));
  // A C method: bound by its descriptor.
  return check(Py_TYPE(function.get())->tp_descr_get(function, self, reinterpret_cast<PyObject*>(Py_TYPE(self.get()))));
}

Ref make_PolicyFunction(ValueBuilder& builder, const Recipe& recipe, RecipeId) {
  Ref function = builder.build(recipe.parts[0]), reason = builder.build(recipe.parts[1]);
  builder.finish();  // it copies the current contents of the function
  return make_policy_function(function, static_cast<PolicyChange>(recipe.index), reason.get());
}

}  // namespace recipe_columns
}  // namespace md
