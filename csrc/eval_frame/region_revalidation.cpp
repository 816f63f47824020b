#include "eval_frame/region_revalidation.h"

#include <algorithm>

#include "guards/tensor_family.h"

namespace md {

namespace {

// What the effect wrote to, as one object; null if there is nothing. The state of caches is covered by the guards, that
// of tensors by their versions.
Ref contents_of(EffectTarget written, BorrowedRef target, BorrowedRef key) {
  switch (written) {
    case EffectTarget::Cell:
      return Ref::steal(PyCell_Get(target));
    case EffectTarget::List:
      return check(PyList_AsTuple(target));
    case EffectTarget::Elements:
      return check(PySequence_Tuple(target));
    case EffectTarget::Dict:
      return check(PyDict_Copy(target));
    case EffectTarget::Attribute: {
      Ref value = Ref::steal(PyObject_GenericGetAttr(target, key));
      if (!value) PyErr_Clear();
      return value;
    }
    case EffectTarget::Tensor:
    case EffectTarget::Nothing:
      break;
  }
  return nullptr;
}

bool same_items(PyObject* a, PyObject* b) {
  if (PyTuple_GET_SIZE(a) != PyTuple_GET_SIZE(b)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(a); ++i)
    if (PyTuple_GET_ITEM(a, i) != PyTuple_GET_ITEM(b, i)) return false;
  return true;
}

bool same_entries(PyObject* a, PyObject* b) {
  if (PyDict_GET_SIZE(a) != PyDict_GET_SIZE(b)) return false;
  Py_ssize_t i = 0, j = 0;
  PyObject *key, *value, *other_key, *other_value;
  while (PyDict_Next(a, &i, &key, &value) != 0)
    if (PyDict_Next(b, &j, &other_key, &other_value) == 0 || key != other_key || value != other_value) return false;
  return true;
}

bool same_contents(EffectTarget written, const Ref& a, const Ref& b) {
  switch (written) {
    case EffectTarget::List:
    case EffectTarget::Elements:
      return same_items(a, b);
    case EffectTarget::Dict:
      return same_entries(a, b);
    case EffectTarget::Cell:
    case EffectTarget::Attribute:
    case EffectTarget::Tensor:
    case EffectTarget::Nothing:
      break;
  }
  return a.get() == b.get();
}

}  // namespace

RegionRevalidation::RegionRevalidation(const RegionEntry& entry, const LocalsView& view, ValueBuilder& builder,
                                       const Effect* next, const FrameLocals& shown)
    : entry_(entry), function_(Ref::share(view.function)) {
  for (int i = 0; i < view.slot_count; ++i) {
    slots_.push_back(Ref::share(view.slots[i]));
    raw_slots_.push_back(view.slots[i]);
  }
  view_ = {raw_slots_.data(), view.slot_count, function_.get()};
  held_before_ = guards_hold();
  for (const auto& frame : shown)
    for (const LocalValue& local : frame) add_tensors(local.value);
  const Snapshot& snapshot = entry.region.snapshot;
  for (const Recipe& recipe : snapshot.recipes)
    if (recipe.kind == RecipeKind::Source) add_source(recipe.source);
  for (const RegionInput& input : entry.region.inputs)
    if (input.source != nullptr) add_source(input.source);
  for (const SizeNumber& size : snapshot.sizes)
    for (const SizePlace& place : size.places) add_source(place.source);
  for (const Effect* effect = snapshot.effects.data(); effect != next; ++effect) {
    if (effect->target == kNoRecipe || effect->kind == EffectKind::Output) continue;
    Contents written{effect_row(effect->kind).written, builder.build(effect->target), {}, {}};
    if (effect->key != kNoRecipe) written.key = builder.build(effect->key);
    written.now = contents_of(written.what, written.target, written.key);
    bool is_tensor = written.what == EffectTarget::Tensor;
    contents_.push_back(std::move(written));
    if (effect->value != kNoRecipe && !is_tensor) add_tensors(builder.build(effect->value));
  }
}

void RegionRevalidation::add_source(const Source* source) {
  Ref object = fetch(source, view_);
  if (object) add_tensors(object);
  sources_.emplace_back(source, std::move(object));
}

void RegionRevalidation::add_tensors(BorrowedRef object) {
  if (!object) return;
  if (Tensor tensor = tensor_of_object(object); tensor.defined()) {
    if (tensor->kind() == TensorKind::Real) versions_.push_back({tensor, tensor->version()});
  } else if (PyTuple_CheckExact(object.get()) || PyList_CheckExact(object.get())) {
    PyObject** items = PySequence_Fast_ITEMS(object.get());
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object.get()); ++i)
      if (family_of(items[i]) != nullptr) add_tensors(items[i]);
  }
}

bool RegionRevalidation::guards_hold() const { return entry_.guards.check(view_); }

bool RegionRevalidation::holds() const {
  if (!held_before_ || !guards_hold()) return false;
  for (const auto& [source, object] : sources_)
    if (fetch(source, view_).get() != object.get()) return false;
  for (const auto& [what, target, key, now] : contents_)
    if (!same_contents(what, contents_of(what, target, key), now)) return false;
  // Memory shared with other libraries may be written without a version change.
  return std::ranges::none_of(versions_, [](const Version& seen) {
    const Tensor& tensor = seen.tensor;
    return tensor->version() != seen.version || (!tensor->is_apart() && tensor->storage()->shared_with_outside());
  });
}

}  // namespace md
