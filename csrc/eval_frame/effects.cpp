#include "eval_frame/effects.h"

#include "cpython/cached_function.h"
#include "cpython/object_protocol.h"
#include "cpython/own_attributes.h"
#include "eval_frame/output_replay.h"
#include "guards/tensor_family.h"
#include "tensor/memory_overlap.h"
#include "tensor/simd/copy.h"

namespace md {
namespace {

// The guards ensure that both have the same sizes and dtype. They are the same elements if the plan has written them.
void write_tensor(BorrowedRef target, BorrowedRef value, int count) {
  Tensor from = tensor_of_object(value), to = tensor_of_object(target);
  if (!is_same_view(from, to)) copy_elements(from, to);
  if (auto* note = family_of(target)->written) note(target, count);
}

// Null value: deletes the attribute. Changes of a class invalidate its caches.
void set_attribute(PyObject* object, PyObject* name, PyObject* value) {
  if (!PyType_Check(object)) return set_own_attribute(object, name, value);
  check_status(PyType_Type.tp_setattro(object, name, value));
}

// An OrderedDict keeps its own order besides the dict's.
void set_item(PyObject* dict, PyObject* key, PyObject* value) {
  check_status(PyODict_Check(dict) ? PyODict_SetItem(dict, key, value) : PyDict_SetItem(dict, key, value));
}

void delete_item(PyObject* dict, PyObject* key) {
  check_status(PyODict_Check(dict) ? PyODict_DelItem(dict, key) : PyDict_DelItem(dict, key));
}

// Iterators over the deque fail if its length changes, but not if elements are replaced.
void assign_deque(PyObject* deque, PyObject* items, bool is_changed) {
  for (Py_ssize_t i = 0; !is_changed && i < PyList_GET_SIZE(items); ++i)
    check_status(PySequence_SetItem(deque, i, PyList_GET_ITEM(items, i)));
  if (!is_changed) return;
  // Neither clear() nor extend() counts as a change where there is nothing to remove or to add.
  bool stays_empty = PyList_GET_SIZE(items) == 0 && PyObject_Size(deque) == 0;
  if (stays_empty) check(PyObject_CallMethod(deque, "append", "O", Py_None));
  check(PyObject_CallMethod(deque, "clear", nullptr));
  check(PyObject_CallMethod(deque, "extend", "O", items));
}

void count_hit(PyObject* cached, PyObject* arguments) {
  check(PyObject_Call(cached, PyTuple_GET_ITEM(arguments, 0), PyTuple_GET_ITEM(arguments, 1)));
}

// Null result: the call raised.
void count_miss(PyObject* cached, PyObject* arguments, const Ref& result) {
  if (!result) return pv_cached_count_failure(cached);
  PyObject *positional = PyTuple_GET_ITEM(arguments, 0), *keywords = PyTuple_GET_ITEM(arguments, 1);
  check_status(pv_cached_store(cached, positional, keywords, result));
}

void clear_dict(PyObject* dict) {
  if (!PyODict_Check(dict)) return PyDict_Clear(dict);
  Ref clear = check(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyODict_Type), "clear"));
  check(PyObject_CallOneArg(clear, dict));
}

// ---- one function for each row of effects.def ----

void apply_Output(const HeldEffect& held, EffectSite* site) {
  MD_ASSERT(site != nullptr && site->outputs != nullptr, "an output where none can be made");
  site->stopped = !site->outputs->run(*held.effect, site->builder, site->frame);
}

void apply_SetCell(const HeldEffect& held, EffectSite*) { check_status(PyCell_Set(held.target, held.value)); }

void apply_ListAppend(const HeldEffect& held, EffectSite*) { check_status(PyList_Append(held.target, held.value)); }

void apply_ListSplice(const HeldEffect& held, EffectSite*) {
  check_status(PyList_SetSlice(held.target, held.effect->start, held.effect->stop, held.value));
}

void apply_DequeAssign(const HeldEffect& held, EffectSite*) {
  assign_deque(held.target, held.value, held.effect->flag);
}

void apply_DictSet(const HeldEffect& held, EffectSite*) { set_item(held.target, held.key, held.value); }

void apply_DictDelete(const HeldEffect& held, EffectSite*) { delete_item(held.target, held.key); }

void apply_DictClear(const HeldEffect& held, EffectSite*) { clear_dict(held.target); }

void apply_SetAdd(const HeldEffect& held, EffectSite*) { check_status(PySet_Add(held.target, held.value)); }

void apply_SetDiscard(const HeldEffect& held, EffectSite*) { check_status(PySet_Discard(held.target, held.value)); }

void apply_SetUpdate(const HeldEffect& held, EffectSite*) { check_status(pv_set_update(held.target, held.value)); }

void apply_SetSubtract(const HeldEffect& held, EffectSite*) { check_status(pv_set_subtract(held.target, held.value)); }

void apply_SetClear(const HeldEffect& held, EffectSite*) { check_status(PySet_Clear(held.target)); }

void apply_AttributeSet(const HeldEffect& held, EffectSite*) { set_attribute(held.target, held.key, held.value); }

void apply_AttributeDelete(const HeldEffect& held, EffectSite*) { set_attribute(held.target, held.key, nullptr); }

void apply_WriteTensor(const HeldEffect& held, EffectSite*) {
  write_tensor(held.target, held.value, held.effect->count);
}

void apply_DataSet(const HeldEffect& held, EffectSite*) {
  check_status(PyObject_SetAttr(held.target, held.key, held.value));
}

void apply_GradientSet(const HeldEffect& held, EffectSite*) {
  family_of(held.target)->gradients->set(held.target, held.value);
}

void apply_CacheHit(const HeldEffect& held, EffectSite*) { count_hit(held.target, held.key); }

void apply_CacheMiss(const HeldEffect& held, EffectSite*) { count_miss(held.target, held.key, held.value); }

void apply_ContextSet(const HeldEffect& held, EffectSite*) {
  check(PyContextVar_Set(held.target, held.value));  // the token, which is dropped
}

void apply_GradMode(const HeldEffect& held, EffectSite*) {
  GradModes modes = held.effect->family->modes();
  modes.grad = held.effect->flag;
  held.effect->family->set_modes(modes);
}

void apply_InferenceMode(const HeldEffect& held, EffectSite*) {
  GradModes modes = held.effect->family->modes();
  modes.inference = held.effect->flag;
  held.effect->family->set_modes(modes);
}

void apply_AutocastBlocks(const HeldEffect& held, EffectSite*) {
  GradModes modes = held.effect->family->modes();
  modes.autocast_blocks += held.effect->count;
  held.effect->family->set_modes(modes);
}

void apply_AutocastMode(const HeldEffect& held, EffectSite*) {
  GradModes modes = held.effect->family->modes();
  modes.autocast = AutocastState::of_word(held.effect->count);
  held.effect->family->set_modes(modes);
}

constexpr void (*kApply[])(const HeldEffect& held, EffectSite* site) = {
#define MD_EFFECT(name, ...) apply_##name,
#include "snapshot/effects.def"
#undef MD_EFFECT
};

}  // namespace

void apply(const HeldEffect& held, EffectSite* site) { kApply[static_cast<int>(held.effect->kind)](held, site); }

}  // namespace md
