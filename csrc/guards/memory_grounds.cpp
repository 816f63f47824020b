// What a lookup depends on: the words that a memo compares instead of repeating it.
#include "cpython/dict_version.h"
#include "guards/memory_recorder.h"

namespace md {

MemoryRecorder::Ground MemoryRecorder::in_dict(PyObject* dict) {
  auto [found, is_new] = groups_.try_emplace(dict, static_cast<int32_t>(memory_->rechecks_.size()));
  if (is_new) {
    const uint64_t* version = pv_dict_version_place(dict);
    if (version == nullptr) {
      groups_.erase(found);
      return {};
    }
    word(version, found->second);
    memory_->rechecks_.emplace_back();
  }
  return {Basis::Group, Trust::Certain, found->second};
}

MemoryRecorder::Ground MemoryRecorder::in_type(uint32_t base) {
  auto* type = reinterpret_cast<PyTypeObject*>(object(base));
  if (known(base).trust != Trust::Certain || !PyType_HasFeature(type, Py_TPFLAGS_VALID_VERSION_TAG)) return {};
  // After a recheck of the dict, a different type may occupy the same address.
  if (known(base).group >= 0 && !is_held(type)) return {};
  word(base, &type->tp_flags);
  word(base, &type->tp_version_tag);  // the word also includes what follows the tag
  return {Basis::Words};
}

// Globals or builtins of the function `base`, or of the view's function if there is no base.
MemoryRecorder::Ground MemoryRecorder::in_names(uint32_t base, PyObject* PyFunctionObject::* names) {
  bool is_own = base == kNoRegister;
  PyObject* function = is_own ? view_.function : object(base);
  if (Py_TYPE(function) != &PyFunction_Type || (!is_own && !has_type(base))) return {};
  PyObject*& place = reinterpret_cast<PyFunctionObject*>(function)->*names;
  if (place == nullptr || !PyDict_CheckExact(place) || pv_dict_version_place(place) == nullptr) return {};
  if (is_own) {
    (names == &PyFunctionObject::func_globals ? memory_->globals_ : memory_->builtins_) = place;
  } else {
    word(base, &place);
  }
  return in_dict(place);
}

// The target of a pointer at `place` in the object `base` that Python code cannot change.
MemoryRecorder::Ground MemoryRecorder::linked(uint32_t base, const void* place, PyObject* target) {
  if (!has_type(base) || target == nullptr) return {};
  word(base, place);
  Known& from = known(base);
  return {from.group >= 0 ? Basis::Group : Basis::Words, from.trust, from.group};
}

// What the lookup of a source depends on, given that `base` is known; Basis::Nothing: it is repeated each time.
MemoryRecorder::Ground MemoryRecorder::ground_of(const Source& source, uint32_t base) {
  switch (source.kind()) {
#define MD_SOURCE(name, lookup, holder, ground, doc) \
  case SourceKind::name:                             \
    return ground(source, base);
#include "guards/sources.def"
#undef MD_SOURCE
  }
  return {};
}

// ---- the grounds of sources.def ----

MemoryRecorder::Ground MemoryRecorder::ground_none(const Source&, uint32_t) { return {}; }

MemoryRecorder::Ground MemoryRecorder::ground_function(const Source&, uint32_t) {
  memory_->function_ = view_.function;
  return {Basis::Words, Trust::ByAddress};
}

MemoryRecorder::Ground MemoryRecorder::ground_global(const Source&, uint32_t base) {
  return in_names(base, &PyFunctionObject::func_globals);
}

MemoryRecorder::Ground MemoryRecorder::ground_builtin(const Source&, uint32_t base) {
  return in_names(base, &PyFunctionObject::func_builtins);
}

MemoryRecorder::Ground MemoryRecorder::ground_attribute(const Source& source, uint32_t base) {
  PyObject* object = this->object(base);
  if (!has_type(base)) return {};
  if (pv_has_instance_storage(object) == 0) return {Basis::Words};
  PvWord words[3];
  if (int count = pv_inline_words(object, source.key(), words)) {
    for (int i = 0; i < count; ++i) word(base, words[i].place);
    return {Basis::Words, Trust::ByAddress};
  }
  PyObject* dict = pv_instance_dict(object);
  if (dict == nullptr || pv_dict_version_place(dict) == nullptr || pv_dict_word(object, words) == 0) return {};
  word(base, words[0].place);
  return in_dict(dict);
}

MemoryRecorder::Ground MemoryRecorder::ground_module(const Source&, uint32_t base) {
  PyObject* module = object(base);
  if (!PyModule_Check(module) || !has_type(base)) return {};
  word(base, pv_module_dict_place(module));
  return in_dict(PyModule_GetDict(module));
}

MemoryRecorder::Ground MemoryRecorder::ground_dict(const Source&, uint32_t base) {
  PyObject* dict = object(base);
  if (!PyDict_Check(dict) || PyODict_Check(dict) || !has_type(base)) return {};
  known(base).is_read = true;
  return in_dict(dict);
}

MemoryRecorder::Ground MemoryRecorder::ground_type(const Source&, uint32_t base) {
  return has_type(base) ? Ground{Basis::Words} : Ground{};
}

MemoryRecorder::Ground MemoryRecorder::ground_class(const Source&, uint32_t base) {
  return PyType_Check(object(base)) ? in_type(base) : Ground{};
}

MemoryRecorder::Ground MemoryRecorder::ground_cell(const Source&, uint32_t base) {
  if (!has_type(base)) return {};
  word(base, &reinterpret_cast<PyCellObject*>(object(base))->ob_ref);
  return {Basis::Words, Trust::ByAddress};
}

MemoryRecorder::Ground MemoryRecorder::ground_closure(const Source& source, uint32_t base) {
  auto* function = reinterpret_cast<PyFunctionObject*>(object(base));
  if (!has_type(base) || function->func_closure == nullptr) return {};
  if (source.index() >= PyTuple_GET_SIZE(function->func_closure)) return {};
  word(base, &function->func_closure);
  PyObject** cell = &PyTuple_GET_ITEM(function->func_closure, source.index());
  return linked(base, cell, *cell);
}

MemoryRecorder::Ground MemoryRecorder::ground_method_function(const Source&, uint32_t base) {
  PyObject** place = &reinterpret_cast<PyMethodObject*>(object(base))->im_func;
  return linked(base, place, *place);
}

MemoryRecorder::Ground MemoryRecorder::ground_method_self(const Source&, uint32_t base) {
  PyObject** place = &reinterpret_cast<PyMethodObject*>(object(base))->im_self;
  return linked(base, place, *place);
}

MemoryRecorder::Ground MemoryRecorder::ground_element(const Source& source, uint32_t base) {
  PyObject* object = this->object(base);
  if (!PyTuple_Check(object) && !PyList_Check(object)) return {};
  if (source.index() >= Py_SIZE(object) || !has_size(base)) return {};
  if (PyTuple_Check(object)) {
    PyObject** place = &PyTuple_GET_ITEM(object, source.index());
    return linked(base, place, *place);
  }
  auto* list = reinterpret_cast<PyListObject*>(object);
  word(base, &list->ob_item);
  word(base, &list->ob_item[source.index()]);
  return {Basis::Words, Trust::ByAddress};
}

MemoryRecorder::Ground MemoryRecorder::ground_slot(const Source& source, uint32_t base) {
  if (!has_type(base)) return {};
  word(base, reinterpret_cast<char*>(object(base)) + source.index());
  return {Basis::Words, Trust::ByAddress};
}

}  // namespace md
