#include "eval_frame/predicted_state.h"

#include "cpython/library_types.h"
#include "cpython/object_layout.h"
#include "cpython/text.h"
#include "guards/tensor_type.h"

namespace md {

namespace {

// Of functions, and of the program's own classes; what C code keeps in others is its own business.
Ref dict_of_instance(BorrowedRef object) {
  if (PyFunction_Check(object.get())) return check(PyObject_GetAttrString(object, "__dict__"));
  bool is_plain = PyType_HasFeature(object.type(), Py_TPFLAGS_HEAPTYPE) && !PyType_Check(object.get()) &&
                  !PyModule_Check(object.get()) && pv_has_instance_storage(object) != 0;
  if (!is_plain) return nullptr;
  Ref dict = Ref::steal(PyObject_GenericGetDict(object, nullptr));
  if (!dict) PyErr_Clear();
  return dict;
}

bool is_deque(BorrowedRef object) { return PyObject_TypeCheck(object.get(), deque_type()) != 0; }

// A subclass's own ways to iterate are not asked.
Ref plain_copy(BorrowedRef dict) {
  Ref copy = check(PyDict_New());
  Py_ssize_t at = 0;
  PyObject *key = nullptr, *value = nullptr;
  while (PyDict_Next(dict, &at, &key, &value) != 0) check_status(PyDict_SetItem(copy, key, value));
  return copy;
}

// As the comparison wants it; null: no container.
Ref contents_of(BorrowedRef object) {
  if (PyList_Check(object.get()) || is_deque(object)) return check(PySequence_List(object));
  if (PyODict_Check(object.get())) {
    Ref items = check(PyObject_CallMethod(reinterpret_cast<PyObject*>(&PyODict_Type), "items", "O", object.get()));
    Ref copy = check(PyDict_New());
    check_status(PyDict_MergeFromSeq2(copy, items, 1));
    return copy;
  }
  if (PyDict_Check(object.get())) return plain_copy(object);
  if (PySet_Check(object.get())) return check(PySet_New(object));
  if (PyCell_Check(object.get())) return check(PyCell_New(PyCell_GET(object.get())));
  return nullptr;
}

// Namespaces of modules change by imports, registries of warnings and the like.
bool is_namespace(BorrowedRef object) {
  return PyDict_Check(object.get()) && PyDict_GetItemString(object, "__builtins__") != nullptr;
}

// Where attributes are that set_own_attribute() stores; null: nothing there.
Ref own_attribute(BorrowedRef object, BorrowedRef name) {
  if (PyType_Check(object.get()))
    return Ref::share(PyDict_GetItemWithError(pv_type_dict(reinterpret_cast<PyTypeObject*>(object.get())), name));
  Ref value = Ref::steal(PyObject_GenericGetAttr(object, name));
  if (!value) PyErr_Clear();
  return value;
}

bool has_data_descriptor(BorrowedRef object, BorrowedRef name) {
  PyObject* found = _PyType_Lookup(object.type(), name);
  return found != nullptr && Py_TYPE(found)->tp_descr_set != nullptr;
}

}  // namespace

void PredictedState::keep(BorrowedRef object) {
  if (const TensorType* type = tensor_type_of(object)) return memory_.keep(type->unwrap(object));
  if (Ref dict = dict_of_instance(object)) copy_of(dict);
  copy_of(object);
}

PyObject* PredictedState::copy_of(BorrowedRef object) {
  if (auto found = by_object_.find(object.get()); found != by_object_.end()) return copies_[found->second].second;
  Ref copy = is_namespace(object) ? Ref() : contents_of(object);
  if (!copy) return nullptr;
  by_object_.emplace(object.get(), copies_.size());
  copies_.emplace_back(Ref::share(object), std::move(copy));
  return copies_.back().second;
}

void PredictedState::keep_known(const GuardSet& guards, const LocalsView& view, ValueComparison& comparison) {
  const SourcePool& sources = guards.sources();
  for (int id = 0; id < sources.size(); ++id) {
    if (sources[id]->kind() == SourceKind::CachedResults) continue;  // whose entries C code makes
    Ref object = fetch(sources[id], view);
    if (!object) continue;
    comparison.know(object);
    keep(object);
  }
  modes_ = tensor_modes();
}

void PredictedState::predict(const std::vector<HeldEffect>& effects, ValueComparison& comparison) {
  for (const HeldEffect& held : effects)
    if (held.effect->kind == EffectKind::WriteTensor) comparison.know(held.target);
  memory_.put_back();
  for (const HeldEffect& held : effects) predict_effect(held, comparison);
  for (const StoragePtr& storage : memory_.storages()) comparison.know_storage(storage);
}

namespace {

template <typename Attributes>
void replace(Attributes& attributes, BorrowedRef object, BorrowedRef name, BorrowedRef value) {
  std::erase_if(attributes, [&](const auto& known) {
    return known.object.get() == object.get() && PyUnicode_Compare(known.name, name) == 0;
  });
  attributes.push_back({Ref::share(object), Ref::share(name), Ref::share(value)});
}

}  // namespace

void PredictedState::predict_attribute(BorrowedRef object, BorrowedRef name, BorrowedRef value) {
  replace(attributes_, object, name, value);
  Ref dict = has_data_descriptor(object, name) ? Ref() : dict_of_instance(object);
  PyObject* copy = dict ? copy_of(dict) : nullptr;
  if (copy == nullptr) return;
  if (value) check_status(PyDict_SetItem(copy, name, value));
  if (!value && PyDict_DelItem(copy, name) < 0) PyErr_Clear();
}

void PredictedState::predict_effect(const HeldEffect& held, ValueComparison& comparison) {
  const Effect& effect = *held.effect;
  PyObject* copy = nullptr;
  switch (effect.kind) {
    case EffectKind::AttributeSet:
    case EffectKind::AttributeDelete:
      return predict_attribute(held.target, held.key, held.value);
    case EffectKind::WriteTensor:
      return memory_.expect_write(tensor_type_of(held.target)->unwrap(held.target),
                                  tensor_type_of(held.value)->unwrap(held.value), effect.count);
    case EffectKind::GradMode:
      modes_.grad_enabled = effect.flag;
      return;
    case EffectKind::InferenceMode:
      modes_.inference_mode = effect.flag;
      return;
    case EffectKind::Output:
    case EffectKind::CacheHit:
    case EffectKind::CacheMiss:
      return;
    default: {
      // What the region has made nobody else sees yet.
      bool is_ours = !comparison.is_known(held.target) && !by_object_.contains(held.target.get());
      copy = is_ours ? held.target.get() : copy_of(held.target);
      break;
    }
  }
  bool names = effect.kind == EffectKind::DictSet || effect.kind == EffectKind::DictDelete;
  if (copy == nullptr && names && PyUnicode_Check(held.key.get())) replace(names_, held.target, held.key, held.value);
  if (copy == nullptr) return;
  switch (effect.kind) {
    case EffectKind::SetCell:
      check_status(PyCell_Set(copy, held.value));
      return;
    case EffectKind::ListAppend:
      return check_status(PyList_Append(copy, held.value));
    case EffectKind::ListSplice:
      return check_status(PyList_SetSlice(copy, effect.start, effect.stop, held.value));
    case EffectKind::DequeAssign:
      return check_status(PyList_SetSlice(copy, 0, PyList_GET_SIZE(copy), held.value));
    case EffectKind::DictSet:
      return check_status(PyDict_SetItem(copy, held.key, held.value));
    case EffectKind::DictDelete:
      return check_status(PyDict_DelItem(copy, held.key));
    case EffectKind::DictClear:
      return PyDict_Clear(copy);
    case EffectKind::SetAdd:
      return check_status(PySet_Add(copy, held.value));
    case EffectKind::SetDiscard:
      check_status(PySet_Discard(copy, held.value));
      return;
    case EffectKind::SetClear:
      return check_status(PySet_Clear(copy));
    default:
      return;
  }
}

void PredictedState::compare_copy(BorrowedRef object, BorrowedRef copy, ValueComparison& comparison) const {
  PyObject* python = comparison.python_of(object);
  std::string place = str_cat("a ", object.type()->tp_name, " from before");
  if (PyDict_Check(copy.get())) {
    if (comparison.difference()) return;
    return comparison.compare_entries(place, copy, python);
  }
  comparison.compare(place, copy, check(contents_of(python).release()));
}

void PredictedState::compare_attribute(const Attribute& attribute, ValueComparison& comparison) const {
  PyObject* python = comparison.python_of(attribute.object);
  Ref now = own_attribute(python, attribute.name);
  // Deleted, something of the class may be seen instead.
  if (!attribute.value) return;
  comparison.compare(str_cat("attribute '", text_of(attribute.name), "' of a ", attribute.object.type()->tp_name),
                     attribute.value, now);
}

void PredictedState::compare(ValueComparison& comparison) const {
  for (const auto& [object, copy] : copies_) compare_copy(object, copy, comparison);
  for (const Attribute& attribute : attributes_) compare_attribute(attribute, comparison);
  for (const Attribute& name : names_)
    comparison.compare(str_cat("global '", text_of(name.name), "'"), name.value,
                       PyDict_GetItemWithError(name.object, name.name));
  Tensor captured, python;
  if (std::string text = memory_.difference(captured, python); !text.empty()) {
    Ref ours = captured.defined() ? default_tensor_type().wrap(captured) : Ref();
    Ref theirs = python.defined() ? default_tensor_type().wrap(python) : Ref();
    comparison.differ("a tensor from before", text, ours, theirs);
  }
  if (modes_.grad_enabled != tensor_modes().grad_enabled || modes_.inference_mode != tensor_modes().inference_mode)
    comparison.differ("the grad or inference mode", "another one than in Python");
}

}  // namespace md
