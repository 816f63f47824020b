// What a lookup depends on: the words that a memo compares instead of repeating it.
#include "cpython/dict_version.h"
#include "guards/memo_recorder.h"

namespace md {

MemoRecorder::Dependency MemoRecorder::in_dict(PyObject* dict) {
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
  return {DependencyKind::Group, Provenance::Certain, found->second};
}

MemoRecorder::Dependency MemoRecorder::in_type(uint32_t base) {
  auto* type = reinterpret_cast<PyTypeObject*>(object(base));
  if (known(base).trust != Provenance::Certain || !PyType_HasFeature(type, Py_TPFLAGS_VALID_VERSION_TAG)) return {};
  // After a recheck of the dict, a different type may occupy the same address.
  if (known(base).group >= 0 && !is_held(type)) return {};
  word(base, &type->tp_flags);
  word(base, &type->tp_version_tag);  // the word also includes what follows the tag
  return {DependencyKind::Words};
}

// Globals or builtins of the function `base`, or of the view's function if there is no base.
MemoRecorder::Dependency MemoRecorder::in_names(uint32_t base, PyObject* PyFunctionObject::* names) {
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
MemoRecorder::Dependency MemoRecorder::linked(uint32_t base, const void* place, PyObject* target) {
  if (!has_type(base) || target == nullptr) return {};
  word(base, place);
  Known& from = known(base);
  return {from.group >= 0 ? DependencyKind::Group : DependencyKind::Words, from.trust, from.group};
}

// What the lookup of a source depends on, given that `base` is known; Basis::Nothing: it is repeated each time.
MemoRecorder::Dependency MemoRecorder::dependency_of(const Source& source, uint32_t base) {
  switch (source.kind()) {
#define MD_SOURCE(name, lookup, holder, dependency, doc) \
  case SourceKind::name:                                 \
    return dependency(source, base);
#include "guards/sources.def"
#undef MD_SOURCE
  }
  return {};
}

// ---- the grounds of sources.def ----

MemoRecorder::Dependency MemoRecorder::dependency_none(const Source&, uint32_t) { return {}; }

MemoRecorder::Dependency MemoRecorder::dependency_function(const Source&, uint32_t) {
  memory_->function_ = view_.function;
  return {DependencyKind::Words, Provenance::ByAddress};
}

MemoRecorder::Dependency MemoRecorder::dependency_global(const Source&, uint32_t base) {
  return in_names(base, &PyFunctionObject::func_globals);
}

MemoRecorder::Dependency MemoRecorder::dependency_builtin(const Source&, uint32_t base) {
  return in_names(base, &PyFunctionObject::func_builtins);
}

MemoRecorder::Dependency MemoRecorder::dependency_attribute(const Source& source, uint32_t base) {
  PyObject* object = this->object(base);
  if (!has_type(base)) return {};
  if (pv_has_instance_storage(object) == 0) return {DependencyKind::Words};
  PvWord words[3];
  if (int count = pv_inline_words(object, source.key(), words)) {
    for (int i = 0; i < count; ++i) word(base, words[i].place);
    return {DependencyKind::Words, Provenance::ByAddress};
  }
  PyObject* dict = pv_instance_dict(object);
  if (dict == nullptr || pv_dict_version_place(dict) == nullptr || pv_dict_word(object, words) == 0) return {};
  word(base, words[0].place);
  return in_dict(dict);
}

MemoRecorder::Dependency MemoRecorder::dependency_module(const Source&, uint32_t base) {
  PyObject* module = object(base);
  if (!PyModule_Check(module) || !has_type(base)) return {};
  word(base, pv_module_dict_place(module));
  return in_dict(PyModule_GetDict(module));
}

MemoRecorder::Dependency MemoRecorder::dependency_dict(const Source&, uint32_t base) {
  PyObject* dict = object(base);
  if (!PyDict_Check(dict) || PyODict_Check(dict) || !has_type(base)) return {};
  known(base).is_read = true;
  return in_dict(dict);
}

MemoRecorder::Dependency MemoRecorder::dependency_type(const Source&, uint32_t base) {
  return has_type(base) ? Dependency{DependencyKind::Words} : Dependency{};
}

MemoRecorder::Dependency MemoRecorder::dependency_class(const Source&, uint32_t base) {
  return PyType_Check(object(base)) ? in_type(base) : Dependency{};
}

MemoRecorder::Dependency MemoRecorder::dependency_cell(const Source&, uint32_t base) {
  if (!has_type(base)) return {};
  word(base, &reinterpret_cast<PyCellObject*>(object(base))->ob_ref);
  return {DependencyKind::Words, Provenance::ByAddress};
}

MemoRecorder::Dependency MemoRecorder::dependency_closure(const Source& source, uint32_t base) {
  auto* function = reinterpret_cast<PyFunctionObject*>(object(base));
  if (!has_type(base) || function->func_closure == nullptr) return {};
  if (source.index() >= PyTuple_GET_SIZE(function->func_closure)) return {};
  word(base, &function->func_closure);
  PyObject** cell = &PyTuple_GET_ITEM(function->func_closure, source.index());
  return linked(base, cell, *cell);
}

MemoRecorder::Dependency MemoRecorder::dependency_method_function(const Source&, uint32_t base) {
  PyObject** place = &reinterpret_cast<PyMethodObject*>(object(base))->im_func;
  return linked(base, place, *place);
}

MemoRecorder::Dependency MemoRecorder::dependency_method_self(const Source&, uint32_t base) {
  if (!Py_IS_TYPE(object(base), &PyMethod_Type)) return {};
  PyObject** place = &reinterpret_cast<PyMethodObject*>(object(base))->im_self;
  return linked(base, place, *place);
}

MemoRecorder::Dependency MemoRecorder::dependency_element(const Source& source, uint32_t base) {
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
  return {DependencyKind::Words, Provenance::ByAddress};
}

MemoRecorder::Dependency MemoRecorder::dependency_slot(const Source& source, uint32_t base) {
  if (!has_type(base)) return {};
  word(base, reinterpret_cast<char*>(object(base)) + source.index());
  return {DependencyKind::Words, Provenance::ByAddress};
}

}  // namespace md
