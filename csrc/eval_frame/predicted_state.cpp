#include "eval_frame/predicted_state.h"

#include "cpython/library_types.h"
#include "cpython/object_layout.h"
#include "cpython/own_attributes.h"
#include "cpython/set_table.h"
#include "cpython/text.h"
#include "guards/tensor_family.h"

namespace md {

namespace {

// For functions and instances of user-defined classes; attributes that C code stores in other objects are not compared.
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

// The contents of a container other than a dict, in the form compared; null if it is no container.
Ref contents_of(BorrowedRef object) {
  if (PyList_Check(object.get()) || is_deque(object)) return check(PySequence_List(object));
  if (PySet_Check(object.get())) return check(pv_set_copy(object, 0));
  if (PyCell_Check(object.get())) return check(PyCell_New(PyCell_GET(object.get())));
  return nullptr;
}

// Module namespaces change through imports, warning registries and the like.
bool is_namespace(BorrowedRef object) {
  return PyDict_Check(object.get()) && PyDict_GetItemString(object, "__builtins__") != nullptr;
}

// An attribute where the effect stores it; null if unset.
Ref stored_attribute(BorrowedRef object, BorrowedRef name) {
  if (!PyType_Check(object.get())) return own_attribute(object, name);
  return Ref::share(PyDict_GetItemWithError(pv_type_dict(reinterpret_cast<PyTypeObject*>(object.get())), name));
}

bool is_in_slot(BorrowedRef object, BorrowedRef name) {
  PyObject* found = _PyType_Lookup(object.type(), name);
  return found != nullptr && Py_TYPE(found)->tp_descr_set != nullptr && !is_behind_descriptor(object, name);
}

}  // namespace

void PredictedState::keep(BorrowedRef object) {
  if (Tensor tensor = tensor_of_object(object); tensor.defined()) return memory_.keep(tensor);
  if (Ref dict = dict_of_instance(object)) copy_of(dict);
  copy_of(object);
}

PredictedState::Copy* PredictedState::copy_of(BorrowedRef object) {
  if (auto found = by_object_.find(object.get()); found != by_object_.end()) return found->second;
  if (is_namespace(object)) return nullptr;
  if (PyDict_Check(object.get())) {
    copies_.push_back({Ref::share(object), DictShadow(object)});
  } else {
    Ref contents = contents_of(object);
    if (!contents) return nullptr;
    copies_.push_back({Ref::share(object), std::move(contents)});
  }
  return by_object_[object.get()] = &copies_.back();
}

void PredictedState::keep_known(const GuardSet& guards, const LocalsView& view, ValueComparison& comparison) {
  const SourcePool& sources = guards.sources();
  for (int id = 0; id < sources.size(); ++id) {
    if (sources[id]->kind() == SourceKind::CachedResults) continue;  // its entries are written by C code
    Ref object = fetch(sources[id], view);
    if (!object) continue;
    comparison.know(object);
    keep(object);
  }
  for (const TensorFamily* family : tensor_families())
    if (std::ranges::find(modes_, family->modes, &FamilyModes::read) == modes_.end())
      modes_.push_back({family->modes, family->modes()});
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

// Objects created by the region are not visible to others yet: an effect changes them at once.
bool PredictedState::is_new(const HeldEffect& held, ValueComparison& comparison) const {
  return !comparison.is_known(held.target) && !by_object_.contains(held.target.get());
}

void PredictedState::predict_effect(const HeldEffect& held, ValueComparison& comparison) {
  switch (held.effect->kind) {
#define MD_EFFECT(name, written, predict, doc) \
  case EffectKind::name:                       \
    return predict(held, comparison);
#include "snapshot/effects.def"
#undef MD_EFFECT
  }
}

// ---- the functions of effects.def ----

void PredictedState::predict_nothing(const HeldEffect&, ValueComparison&) {}

void PredictedState::predict_contents(const HeldEffect& held, ValueComparison& comparison) {
  if (is_new(held, comparison)) return apply(held, nullptr);
  Copy* copy = copy_of(held.target);
  if (copy != nullptr) apply({held.effect, std::get<Ref>(copy->contents), held.value, held.key}, nullptr);
}

// The entries of the dict's copy. Null: there is no copy to change; a name in a namespace is noted with its `value`.
DictShadow* PredictedState::changed_entries(const HeldEffect& held, BorrowedRef value, ValueComparison& comparison) {
  if (is_new(held, comparison)) {
    apply(held, nullptr);
    return nullptr;
  }
  if (Copy* copy = copy_of(held.target)) return &std::get<DictShadow>(copy->contents);
  if (held.key && PyUnicode_Check(held.key.get())) replace(names_, held.target, held.key, value);
  return nullptr;
}

void PredictedState::predict_item(const HeldEffect& held, ValueComparison& comparison) {
  if (DictShadow* entries = changed_entries(held, held.value, comparison)) entries->set(held.key, held.value);
}

void PredictedState::predict_no_item(const HeldEffect& held, ValueComparison& comparison) {
  if (DictShadow* entries = changed_entries(held, nullptr, comparison)) entries->erase(held.key);
}

void PredictedState::predict_no_items(const HeldEffect& held, ValueComparison& comparison) {
  if (DictShadow* entries = changed_entries(held, nullptr, comparison)) entries->clear();
}

void PredictedState::predict_attribute(const HeldEffect& held, ValueComparison&) {
  replace(attributes_, held.target, held.key, held.value);
  Ref dict = is_in_slot(held.target, held.key) ? Ref() : dict_of_instance(held.target);
  Copy* copy = dict ? copy_of(dict) : nullptr;
  if (copy == nullptr) return;
  auto& entries = std::get<DictShadow>(copy->contents);
  if (held.value) {
    entries.set(held.key, held.value);
  } else {
    entries.erase(held.key);
  }
}

void PredictedState::predict_tensor(const HeldEffect& held, ValueComparison&) {
  // Only tensors of ours count writes in their storage.
  int count = family_of(held.target)->wrap != nullptr ? held.effect->count : 0;
  memory_.expect_write(tensor_of_object(held.target), tensor_of_object(held.value), count);
}

GradModes& PredictedState::modes_of(const TensorFamily* family) {
  return std::ranges::find(modes_, family->modes, &FamilyModes::read)->modes;
}

void PredictedState::predict_grad_mode(const HeldEffect& held, ValueComparison&) {
  modes_of(held.effect->family).grad = held.effect->flag;
}

void PredictedState::predict_inference_mode(const HeldEffect& held, ValueComparison&) {
  modes_of(held.effect->family).inference = held.effect->flag;
}

void PredictedState::predict_autocast_mode(const HeldEffect& held, ValueComparison&) {
  modes_of(held.effect->family).autocast = AutocastState::of_word(held.effect->count);
}

void PredictedState::predict_autocast_blocks(const HeldEffect& held, ValueComparison&) {
  modes_of(held.effect->family).autocast_blocks += held.effect->count;
}

void PredictedState::compare_copy(const Copy& copy, ValueComparison& comparison) const {
  if (comparison.difference()) return;
  PyObject* python = comparison.python_of(copy.object);
  std::string place = str_cat("a ", copy.object.type()->tp_name, " from before");
  if (const auto* entries = std::get_if<DictShadow>(&copy.contents))
    return comparison.compare_items(place, entries->items(), items_of_dict(python));
  comparison.compare(place, std::get<Ref>(copy.contents), check(contents_of(python).release()));
}

void PredictedState::compare_attribute(const Attribute& attribute, ValueComparison& comparison) const {
  PyObject* python = comparison.python_of(attribute.object);
  Ref now = stored_attribute(python, attribute.name);
  // After a deletion, an attribute of the class may become visible.
  if (!attribute.value) return;
  comparison.compare(str_cat("attribute '", text_of(attribute.name), "' of a ", attribute.object.type()->tp_name),
                     attribute.value, now);
}

void PredictedState::compare(ValueComparison& comparison) const {
  for (const Copy& copy : copies_) compare_copy(copy, comparison);
  for (const Attribute& attribute : attributes_) compare_attribute(attribute, comparison);
  for (const Attribute& name : names_)
    comparison.compare(str_cat("global '", text_of(name.name), "'"), name.value,
                       PyDict_GetItemWithError(name.object, name.name));
  Tensor captured, python;
  if (std::string text = memory_.difference(captured, python); !text.empty()) {
    Ref ours = captured.defined() ? default_family().wrap(captured) : Ref();
    Ref theirs = python.defined() ? default_family().wrap(python) : Ref();
    comparison.differ("a tensor from before", text, ours, theirs);
  }
  for (const FamilyModes& expected : modes_)
    if (expected.modes != expected.read())
      comparison.differ("the grad mode, the inference mode or autocast", "another one than in Python");
}

}  // namespace md
