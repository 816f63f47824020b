// Recipes of classes and of their instances.
#include <algorithm>

#include "cpython/class_maker.h"
#include "cpython/own_attributes.h"
#include "snapshot/recipe_rows.h"

namespace md {
namespace {

// name, qualified name, bases, metaclass, cell of the class dict
constexpr size_t kClassParts = 5;

Ref make_instance(PyObject* type) {
  static PyObject* const empty = PyTuple_New(0);
  auto* made = reinterpret_cast<PyTypeObject*>(type);
  bool has_own = PyType_HasFeature(made, Py_TPFLAGS_BASE_EXC_SUBCLASS) || !PyType_HasFeature(made, Py_TPFLAGS_HEAPTYPE);
  newfunc make = has_own ? made->tp_new : PyBaseObject_Type.tp_new;
  return check(make(made, empty, nullptr));
}

// type.__new__ converts some functions to static or class methods.
Ref as_held_by_class(PyObject* name, const Ref& function) {
  if (PyUnicode_CompareWithASCIIString(name, "__new__") == 0) return check(PyStaticMethod_New(function));
  for (const char* hook : {"__init_subclass__", "__class_getitem__"})
    if (PyUnicode_CompareWithASCIIString(name, hook) == 0) return check(PyClassMethod_New(function));
  return function;
}

// An object with a Python __set_name__ had it called during tracing, so it is not passed to type().
bool is_given_to_type(ValueBuilder& builder, RecipeId value) {
  if (!builder.is_there(value)) return false;
  static PyObject* const kSetName = PyUnicode_InternFromString("__set_name__");
  PyObject* hook = _PyType_Lookup(builder.build(value).type(), kSetName);
  return hook == nullptr || !PyFunction_Check(hook);
}

}  // namespace

namespace recipe_columns {

// Passes type() the names as the class body left them. They refer to values that existed before the class, but that may
// have come to refer to it since: if such a value needs the class while it is being built, it is created at once,
// without the values that are not built yet.
Ref make_Class(ValueBuilder& builder, const Recipe& recipe, RecipeId id) {
  const std::vector<RecipeId>& parts = recipe.parts;
  size_t end = kClassParts + 2 * static_cast<size_t>(recipe.index);
  ValueBuilder::ClassWork& work = builder.class_work();
  std::vector<RecipeId>& in_making = work.in_making;
  if (std::ranges::find(in_making, id) == in_making.end()) {
    in_making.push_back(id);
    for (size_t i = 0; i < end; ++i) builder.build(parts[i]);
    in_making.pop_back();
    if (builder.built(id)) return builder.built(id);
  }
  Ref names = check(PyDict_New());
  for (size_t i = kClassParts; i < end; i += 2) {
    bool is_given = is_given_to_type(builder, parts[i + 1]);
    check_status(
        PyDict_SetItem(names, builder.build(parts[i]), is_given ? builder.build(parts[i + 1]) : Ref::share(Py_None)));
    if (!is_given) work.late.push_back({id, i});
  }
  check_status(PyDict_SetItemString(names, "__qualname__", builder.build(parts[1])));
  if (Ref cell = builder.build(parts[4])) check_status(PyDict_SetItemString(names, "__classdictcell__", cell));
  Ref arguments = check(PyTuple_Pack(3, builder.build(parts[0]).get(), builder.build(parts[2]).get(), names.get()));
  Ref meta = builder.build(parts[3]);
  Ref type = check(new_class(reinterpret_cast<PyTypeObject*>(meta.get()), arguments.get()).release());
  builder.fill_later(id);
  return type;
}

// Sets the names not passed to type() in place, bypassing descriptors of the metaclass; then applies the
// program's later stores and deletions.
void fill_class(ValueBuilder& builder, const Recipe& recipe, RecipeId id, const Ref& type) {
  const std::vector<RecipeId>& parts = recipe.parts;
  ValueBuilder::ClassWork& work = builder.class_work();
  for (size_t k = 0; k < work.late.size(); ++k) {  // building may create further classes
    const ValueBuilder::LateName late = work.late[k];
    if (late.type != id) continue;
    Ref name = builder.build(parts[late.part]), value = builder.build(parts[late.part + 1]);
    if (PyFunction_Check(value.get()))
      check_status(PyType_Type.tp_setattro(type, name, as_held_by_class(name, value)));  // it may fill a type slot
    else
      put_in_class(reinterpret_cast<PyTypeObject*>(type.get()), name, value);
  }
  for (size_t i = kClassParts + 2 * static_cast<size_t>(recipe.index); i < parts.size(); i += 2)
    check_status(PyType_Type.tp_setattro(type, builder.build(parts[i]), builder.build(parts[i + 1])));
}

Ref make_Instance(ValueBuilder& builder, const Recipe& recipe, RecipeId id) {
  Ref type = builder.build(recipe.parts[0]);
  builder.fill_later(id);
  return make_instance(type);
}

void fill_instance(ValueBuilder& builder, const Recipe& recipe, RecipeId, const Ref& object) {
  for (size_t i = 1; i < recipe.parts.size(); i += 2)
    set_own_attribute(object, builder.build(recipe.parts[i]), builder.build(recipe.parts[i + 1]));
}

Ref make_InstanceDict(ValueBuilder& builder, const Recipe& recipe, RecipeId) {
  Ref object = builder.build(recipe.parts[0]);
  builder.finish();
  return check(PyObject_GenericGetDict(object, nullptr));
}

Ref make_Exception(ValueBuilder& builder, const Recipe& recipe, RecipeId) {
  std::vector<Ref> parts = builder.build_parts(recipe);
  builder.finish();  // a group copies the current contents of the list
  std::vector<PyObject*> args(parts.begin() + 1, parts.end());
  return check(PyObject_Vectorcall(parts[0], args.data(), args.size(), nullptr));
}

Ref make_Super(ValueBuilder& builder, const Recipe& recipe, RecipeId) {
  std::vector<Ref> parts = builder.build_parts(recipe);
  builder.finish();
  std::vector<PyObject*> args(parts.begin(), parts.end());
  return check(PyObject_Vectorcall(reinterpret_cast<PyObject*>(&PySuper_Type), args.data(), args.size(), nullptr));
}

}  // namespace recipe_columns
}  // namespace md
