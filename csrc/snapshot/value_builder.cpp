#include "snapshot/value_builder.h"

#include <algorithm>

#include "cpython/class_maker.h"
#include "frontends/arg_binding.h"
#include "guards/named_results.h"
#include "guards/tensor_type.h"
#include "snapshot/held_iterator.h"
#include "snapshot/policy_function.h"
#include "tensor/fill.h"

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

// Moves the references.
Ref tuple_of(std::span<Ref> items) {
  Ref tuple = check(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
  for (size_t i = 0; i < items.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), items[i].release());
  return tuple;
}

// list, tuple and reversed iterators take their position through __setstate__: that of the next element; -1 for
// an exhausted reversed iterator.
void set_position(PyObject* iterator, int position) {
  Ref number = check(PyLong_FromLong(position));
  static PyObject* const name = PyUnicode_InternFromString("__setstate__");
  check(PyObject_CallMethodOneArg(iterator, name, number));
}

Ref ended(Ref iterator) {
  while (Ref::steal(PyIter_Next(iterator))) continue;
  return iterator;
}

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

Ref make_instance(PyObject* type) {
  static PyObject* const empty = PyTuple_New(0);
  auto* made = reinterpret_cast<PyTypeObject*>(type);
  bool has_own = PyType_HasFeature(made, Py_TPFLAGS_BASE_EXC_SUBCLASS) || !PyType_HasFeature(made, Py_TPFLAGS_HEAPTYPE);
  newfunc make = has_own ? made->tp_new : PyBaseObject_Type.tp_new;
  return check(make(made, empty, nullptr));
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

// Stores into a function's __dict__, whose keys may not be valid names, or may be names of descriptors.
void set_in_dict(PyObject* function, PyObject* key, PyObject* value) {
  check_status(PyDict_SetItem(check(PyObject_GetAttrString(function, "__dict__")), key, value));
}

Ref size_number(const SizeNumber& size, const LocalsView& view) {
  std::vector<int64_t> values;
  for (const SizePlace& place : size.places) {
    Ref object = fetch(place.source, view);
    std::optional<int64_t> value = object ? read_size(place, object.get()) : std::nullopt;
    MD_ASSERT(value, "a size that an exit needs is gone");
    values.push_back(*value);
  }
  std::optional<int64_t> number = size.code.evaluate(values);
  if (!number) {
    PyErr_SetString(PyExc_OverflowError, "a size that does not fit");
    throw PythonError();
  }
  return check(PyLong_FromLongLong(*number));
}

Ref number_in(const Tensor& tensor) { return arg_to_python(load_scalar(tensor->dtype(), tensor->data())); }

Ref make_dict(PyObject* type, PyObject* factory) {
  static PyObject* const empty = PyTuple_New(0);
  if (factory != nullptr) return check(PyObject_CallOneArg(type, factory));
  return check(PyDict_Type.tp_new(reinterpret_cast<PyTypeObject*>(type), empty, nullptr));
}

}  // namespace

ValueBuilder::ValueBuilder(const Snapshot& snapshot, const LocalsView& view, const GuardMemory* memory)
    : snapshot_(snapshot), view_(view), values_(snapshot.recipes.size()) {
  for (size_t id = 0; id < snapshot.recipes.size(); ++id) {
    const Recipe& recipe = snapshot.recipes[id];
    if (recipe.kind != RecipeKind::Source) continue;
    values_[id] = remembered(recipe.source, view, memory);
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
  if (recipe.kind == RecipeKind::Output) {
    Tensor& output = outputs_[recipe.index];
    if (const StoragePtr& storage = output->storage(); recipe.writes > 0 && storage)
      while (storage->version() < static_cast<uint64_t>(recipe.writes)) storage->bump_version();
    return values_[id] = default_tensor_type().wrap(std::move(output));
  }
  Ref made = make(recipe, id);
  // Building may run the deferred fills, which may have requested this value: it must be created once only.
  if (!values_[id]) values_[id] = std::move(made);
  return values_[id];
}

Ref ValueBuilder::make(const Recipe& recipe, RecipeId id) {
  // Containers that may contain themselves are created empty here and filled by finish().
  switch (recipe.kind) {
    case RecipeKind::List:
      to_fill_.push_back(id);
      return check(PyList_New(0));
    case RecipeKind::Dict:
      to_fill_.push_back(id);
      return check(PyDict_New());
    case RecipeKind::TypedList: {
      // Building a part may run the deferred fills.
      Ref type = build(recipe.parts[0]), maxlen = build(recipe.parts[1]);
      to_fill_.push_back(id);
      return maxlen ? make_deque(type, maxlen, recipe.parts.size() - 2) : make_list(type);
    }
    case RecipeKind::TypedDict: {
      Ref type = build(recipe.parts[0]), factory = build(recipe.parts[1]);
      to_fill_.push_back(id);
      return make_dict(type, factory);
    }
    case RecipeKind::Set:
      to_fill_.push_back(id);
      return check(PySet_New(nullptr));
    case RecipeKind::Cell:
      if (!recipe.parts.empty()) to_fill_.push_back(id);
      return check(PyCell_New(nullptr));
    case RecipeKind::Class:
      return make_class(recipe, id);
    case RecipeKind::Instance: {
      Ref type = build(recipe.parts[0]);
      to_fill_.push_back(id);
      return make_instance(type);
    }
    default:
      break;
  }
  std::vector<Ref> parts;
  parts.reserve(recipe.parts.size());
  // An attribute of a function may refer to the function.
  size_t attributes = recipe.kind == RecipeKind::Function ? 2 * static_cast<size_t>(recipe.index) : 0;
  for (size_t i = 0; i + attributes < recipe.parts.size(); ++i) parts.push_back(build(recipe.parts[i]));
  switch (recipe.kind) {
    case RecipeKind::Null:
      return nullptr;
    case RecipeKind::Constant:
      return recipe.object;
    case RecipeKind::Number:
      return number_in(outputs_[recipe.index]);
    case RecipeKind::Tuple:
      return tuple_of(parts);
    case RecipeKind::TypedTuple: {
      auto* type = reinterpret_cast<PyTypeObject*>(parts[0].get());
      Ref items = tuple_of(std::span(parts).subspan(1));
      if (is_named_results(type)) return make_named_results(type, items.get());
      Ref args = check(PyTuple_Pack(1, items.get()));
      return check(PyTuple_Type.tp_new(type, args, nullptr));
    }
    case RecipeKind::Computed: {
      std::vector<PyObject*> operands(parts.begin(), parts.end());
      Ref result = compute(static_cast<ScalarOp>(recipe.index), operands);
      if (!result) throw PythonError();
      return result;
    }
    case RecipeKind::Size:
      return size_number(snapshot_.sizes[static_cast<size_t>(recipe.index)], view_);
    case RecipeKind::Slice:
      return check(PySlice_New(parts[0], parts[1], parts[2]));
    case RecipeKind::Function:
      if (recipe.index > 0) to_fill_.push_back(id);
      return make_function(parts);
    case RecipeKind::InstanceDict:
      finish();
      return check(PyObject_GenericGetDict(parts[0], nullptr));
    case RecipeKind::FunctionDict:
      return check(PyObject_GetAttrString(parts[0], "__dict__"));
    case RecipeKind::Call: {
      finish();
      size_t end = parts.size() - 2 * static_cast<size_t>(recipe.index);
      std::vector<PyObject*> args(parts.begin() + 1, parts.begin() + static_cast<ptrdiff_t>(end));
      size_t named = static_cast<size_t>(PyTuple_GET_SIZE(recipe.object.get()));
      Ref result = check(
          PyObject_Vectorcall(parts[0], args.data(), args.size() - named, named > 0 ? recipe.object.get() : nullptr));
      for (size_t i = end; i < parts.size(); i += 2)
        check_status(PyObject_GenericSetAttr(result, parts[i], parts[i + 1]));
      return result;
    }
    case RecipeKind::BoundMethod:
      // A classmethod may wrap any callable; one that is not a descriptor is not bound.
      if (PyFunction_Check(parts[0].get()) || Py_TYPE(parts[0].get())->tp_descr_get == nullptr)
        return check(PyMethod_New(parts[0], parts[1]));
      if (Py_IS_TYPE(parts[0].get(), &PyClassMethodDescr_Type))
        return check(PyClassMethodDescr_Type.tp_descr_get(parts[0], nullptr, parts[1]));
      // A C method: bound by its descriptor.
      return check(Py_TYPE(parts[0].get())
                       ->tp_descr_get(parts[0], parts[1], reinterpret_cast<PyObject*>(Py_TYPE(parts[1].get()))));
    case RecipeKind::PolicyFunction:
      finish();  // it copies the current contents of the function
      return make_policy_function(parts[0], static_cast<PolicyChange>(recipe.index), parts[1].get());
    case RecipeKind::Exception: {
      finish();  // a group copies the current contents of the list
      std::vector<PyObject*> args;
      for (size_t i = 1; i < parts.size(); ++i) args.push_back(parts[i]);
      return check(PyObject_Vectorcall(parts[0], args.data(), args.size(), nullptr));
    }
    case RecipeKind::SequenceIterator:
    case RecipeKind::RangeIterator:
      if (recipe.index < 0) return ended(check(PyObject_GetIter(parts[0])));
      if (recipe.index > 0) to_place_.push_back(id);
      return check(PyObject_GetIter(parts[0]));
    case RecipeKind::ReversedIterator: {
      Ref iterator = check(PyObject_CallOneArg(reinterpret_cast<PyObject*>(&PyReversed_Type), parts[0]));
      if (recipe.index < 0) return ended(std::move(iterator));
      to_place_.push_back(id);
      return iterator;
    }
    case RecipeKind::DictIterator: {
      finish();
      Ref iterator = check(PyObject_GetIter(parts[0]));
      advance(iterator, recipe.index);
      return iterator;
    }
    case RecipeKind::Enumerate:
      return call_on_iterators(&PyEnum_Type, parts, 0, 1);
    case RecipeKind::Zip: {
      static PyObject* const strict = check(Py_BuildValue("(s)", "strict")).release();
      return call_on_iterators(&PyZip_Type, parts, 0, parts.size(), recipe.index == 1 ? strict : nullptr);
    }
    case RecipeKind::Map:
      return call_on_iterators(&PyMap_Type, parts, 1, parts.size());
    case RecipeKind::Filter:
      return call_on_iterators(&PyFilter_Type, parts, 1, parts.size());
    case RecipeKind::Super: {
      finish();
      std::vector<PyObject*> args(parts.begin(), parts.end());
      return check(PyObject_Vectorcall(reinterpret_cast<PyObject*>(&PySuper_Type), args.data(), args.size(), nullptr));
    }
    case RecipeKind::DictView: {
      static constexpr const char* kMethods[] = {"keys", "values", "items"};
      // The view of the C class: a subclass may override the method.
      PyTypeObject* owner = PyODict_Check(parts[0].get()) ? &PyODict_Type : &PyDict_Type;
      return check(
          PyObject_CallMethod(reinterpret_cast<PyObject*>(owner), kMethods[recipe.index], "O", parts[0].get()));
    }
    default:
      raise(ErrorKind::Internal, "no way to build ", recipe_kind_name(recipe.kind));
  }
}

namespace {

// type.__new__ converts some functions to static or class methods.
Ref as_held_by_class(PyObject* name, const Ref& function) {
  if (PyUnicode_CompareWithASCIIString(name, "__new__") == 0) return check(PyStaticMethod_New(function));
  for (const char* hook : {"__init_subclass__", "__class_getitem__"})
    if (PyUnicode_CompareWithASCIIString(name, hook) == 0) return check(PyClassMethod_New(function));
  return function;
}

}  // namespace

namespace {

// name, qualified name, bases, metaclass, cell of the class dict
constexpr size_t kClassParts = 5;

}  // namespace

// Whether it is available without building anything.
bool ValueBuilder::is_there(RecipeId id) const {
  return values_[id] || snapshot_.recipes[id].kind == RecipeKind::Constant;
}

// type(*parts), where parts [first, last) are iterators or are iterated over from here on;
// `name` is a keyword passed as True.
Ref ValueBuilder::call_on_iterators(PyTypeObject* type, std::span<const Ref> parts, size_t first, size_t last,
                                    PyObject* name) {
  finish();  // an object's class may still lack its __next__
  std::vector<Ref> held(parts.begin(), parts.end());
  for (size_t i = first; i < last; ++i) held[i] = held_iterator(held[i]);
  std::vector<PyObject*> args(held.begin(), held.end());
  if (name != nullptr) args.push_back(Py_True);
  return check(PyObject_Vectorcall(reinterpret_cast<PyObject*>(type), args.data(), held.size(), name));
}

// Passes type() the names as the class body left them. They refer to values that existed before the class, but that may
// have come to refer to it since: if such a value needs the class while it is being built, it is created at once,
// without the values that are not built yet.
Ref ValueBuilder::make_class(const Recipe& recipe, RecipeId id) {
  const std::vector<RecipeId>& parts = recipe.parts;
  size_t end = kClassParts + 2 * static_cast<size_t>(recipe.index);
  if (!classes_) classes_ = std::make_unique<ClassWork>();
  std::vector<RecipeId>& in_making = classes_->in_making;
  if (std::ranges::find(in_making, id) == in_making.end()) {
    in_making.push_back(id);
    for (size_t i = 0; i < end; ++i) build(parts[i]);
    in_making.pop_back();
    if (values_[id]) return values_[id];
  }
  Ref names = check(PyDict_New());
  for (size_t i = kClassParts; i < end; i += 2) {
    bool is_given = is_given_to_type(parts[i + 1]);
    check_status(PyDict_SetItem(names, build(parts[i]), is_given ? build(parts[i + 1]) : Ref::share(Py_None)));
    if (!is_given) classes_->late.push_back({id, i});
  }
  check_status(PyDict_SetItemString(names, "__qualname__", build(parts[1])));
  if (Ref cell = build(parts[4])) check_status(PyDict_SetItemString(names, "__classdictcell__", cell));
  Ref arguments = check(PyTuple_Pack(3, build(parts[0]).get(), build(parts[2]).get(), names.get()));
  Ref meta = build(parts[3]);
  Ref type = check(new_class(reinterpret_cast<PyTypeObject*>(meta.get()), arguments.get()).release());
  to_fill_.push_back(id);
  return type;
}

// An object with a Python __set_name__ had it called during tracing, so it is not passed to type().
bool ValueBuilder::is_given_to_type(RecipeId value) {
  if (!is_there(value)) return false;
  static PyObject* const kSetName = PyUnicode_InternFromString("__set_name__");
  PyObject* hook = _PyType_Lookup(build(value).type(), kSetName);
  return hook == nullptr || !PyFunction_Check(hook);
}

// Sets the names not passed to type() in place, bypassing descriptors of the metaclass; then applies the
// program's later stores and deletions.
void ValueBuilder::fill_class(PyObject* type, const Recipe& recipe, RecipeId id) {
  const std::vector<RecipeId>& parts = recipe.parts;
  for (size_t k = 0; k < classes_->late.size(); ++k) {  // building may create further classes
    const LateName late = classes_->late[k];
    if (late.type != id) continue;
    Ref name = build(parts[late.part]), value = build(parts[late.part + 1]);
    if (PyFunction_Check(value.get()))
      check_status(PyType_Type.tp_setattro(type, name, as_held_by_class(name, value)));  // it may fill a type slot
    else
      put_in_class(reinterpret_cast<PyTypeObject*>(type), name, value);
  }
  for (size_t i = kClassParts + 2 * static_cast<size_t>(recipe.index); i < parts.size(); i += 2)
    check_status(PyType_Type.tp_setattro(type, build(parts[i]), build(parts[i + 1])));
}

// While its values are being built, someone may iterate over it, and would notice a new key.
void ValueBuilder::fill_dict(PyObject* dict, const std::vector<RecipeId>& parts, size_t first) {
  if (!iterates_dicts_)
    iterates_dicts_ =
        std::ranges::find(snapshot_.recipes, RecipeKind::DictIterator, &Recipe::kind) != snapshot_.recipes.end();
  auto* set_item = PyODict_Check(dict) ? &PyODict_SetItem : &PyDict_SetItem;
  for (size_t i = first; *iterates_dicts_ && i < parts.size(); i += 2)
    check_status(set_item(dict, build(parts[i]), Py_None));
  for (size_t i = first; i < parts.size(); i += 2) check_status(set_item(dict, build(parts[i]), build(parts[i + 1])));
}

void ValueBuilder::fill(RecipeId id) {
  const Recipe& recipe = snapshot_.recipes[id];
  const std::vector<RecipeId>& parts = recipe.parts;
  Ref value = values_[id];
  switch (recipe.kind) {
    case RecipeKind::List:
      for (RecipeId part : parts) check_status(PyList_Append(value, build(part)));
      return;
    case RecipeKind::TypedList:
      for (size_t i = 2; i < parts.size(); ++i) {
        Ref item = build(parts[i]);
        bool is_list = PyList_Check(value.get());
        check_status(is_list ? PyList_Append(value, item)
                             : PySequence_SetItem(value, static_cast<Py_ssize_t>(i) - 2, item));
      }
      return;
    case RecipeKind::Set:
      for (RecipeId part : parts) check_status(PySet_Add(value, build(part)));
      return;
    case RecipeKind::Dict:
      return fill_dict(value, parts, 0);
    case RecipeKind::TypedDict:
      return fill_dict(value, parts, 2);
    case RecipeKind::Cell:
      if (recipe.index != 0)
        build(parts[0]);  // building the class fills it
      else
        check_status(PyCell_Set(value, build(parts[0])));
      return;
    case RecipeKind::Function: {
      // The attributes stored outside __dict__ come first, `object` pairs of them; then those of its __dict__.
      size_t first = parts.size() - 2 * static_cast<size_t>(recipe.index);
      size_t dict = first + 2 * PyLong_AsSize_t(recipe.object);
      for (size_t i = first; i < dict; i += 2)
        check_status(PyObject_GenericSetAttr(value, build(parts[i]), build(parts[i + 1])));
      for (size_t i = dict; i < parts.size(); i += 2) set_in_dict(value, build(parts[i]), build(parts[i + 1]));
      return;
    }
    case RecipeKind::Class:
      return fill_class(value, recipe, id);
    case RecipeKind::Instance:
      for (size_t i = 1; i < parts.size(); i += 2)
        check_status(PyObject_GenericSetAttr(value, build(parts[i]), build(parts[i + 1])));
      return;
    default:
      raise(ErrorKind::Internal, recipe_kind_name(recipe.kind), " is not filled");
  }
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
    fill(id);
    --filling_;
  }
  // A list iterator cannot be positioned beyond the list's current elements.
  if (filling_ > 0) return;
  for (RecipeId id : std::exchange(to_place_, {})) {
    const Recipe& recipe = snapshot_.recipes[id];
    set_position(values_[id], recipe.index - (recipe.kind == RecipeKind::ReversedIterator ? 1 : 0));
  }
}

}  // namespace md
