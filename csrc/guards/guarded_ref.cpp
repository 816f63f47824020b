#include "guards/guarded_ref.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "cpython/weak_reference.h"
#include "guards/constants.h"
#include "guards/guard_set.h"
#include "guards/tensor_family.h"

namespace md {
namespace {

constexpr const char* kCapsuleName = "minidynamo.death_notice";

// Descriptors created by C types; they live as long as their type.
bool is_builtin_descriptor(PyTypeObject* type) {
  return type == &PyMethodDescr_Type || type == &PyWrapperDescr_Type || type == &PyGetSetDescr_Type ||
         type == &PyMemberDescr_Type || type == &PyClassMethodDescr_Type;
}

bool is_static_type(PyObject* object) {
  return PyType_Check(object) && !PyType_HasFeature(reinterpret_cast<PyTypeObject*>(object), Py_TPFLAGS_HEAPTYPE);
}

std::vector<PyTypeObject*>& value_types() {
  static std::vector<PyTypeObject*> types;
  return types;
}

bool has_weak_list(PyTypeObject* type) {
#if PY_VERSION_HEX >= 0x030C0000
  if (PyType_HasFeature(type, Py_TPFLAGS_MANAGED_WEAKREF)) return true;
#endif
  return type->tp_weaklistoffset > 0;
}

// `P.args` and `P.kwargs` of a ParamSpec: since CPython 3.12 freeing them leaves dangling weak references.
bool leaves_weak_references(PyTypeObject* type) {
  return PyType_HasFeature(type, Py_TPFLAGS_IMMUTABLETYPE) &&
         (std::strcmp(type->tp_name, "typing.ParamSpecArgs") == 0 ||
          std::strcmp(type->tp_name, "typing.ParamSpecKwargs") == 0);
}

}  // namespace

void register_value_type(PyTypeObject* type) { value_types().push_back(type); }

bool can_hold_strongly(BorrowedRef object) {
  if (is_guardable_constant(object) || is_static_type(object)) return true;
  PyTypeObject* type = object.type();
  if (is_builtin_descriptor(type)) {
    // Only types of C modules have descriptors of methods.
    return type == &PyMethodDescr_Type || is_static_type(reinterpret_cast<PyObject*>(PyDescr_TYPE(object.get())));
  }
  if (std::ranges::find(value_types(), type) != value_types().end()) return true;
  // The table of a tensor library owns its callables.
  if (can_hold_weakly(object)) return false;
  return find_tensor_callable(object.get()) != nullptr || family_of_opaque(object.get()) != nullptr;
}

bool can_hold_weakly(BorrowedRef object) {
  return has_weak_list(object.type()) && !leaves_weak_references(object.type());
}

PyObject* DeathNotice::on_death(PyObject* capsule, PyObject*) {
  auto* state = static_cast<State*>(PyCapsule_GetContext(capsule));
  if (state != nullptr && !state->dead) {
    state->dead = true;
    if (state->listener != nullptr) state->listener->guarded_object_died();
  }
  Py_RETURN_NONE;
}

DeathNotice::~DeathNotice() {
  if (capsule_) PyCapsule_SetContext(capsule_, nullptr);
}

BorrowedRef DeathNotice::callback() {
  static PyMethodDef method = {"guarded_object_died", on_death, METH_O, nullptr};
  static char present;  // a capsule's pointer must not be null
  if (!callback_) {
    capsule_ = check(PyCapsule_New(&present, kCapsuleName, nullptr));
    check_status(PyCapsule_SetContext(capsule_, &state_));
    callback_ = check(PyCFunction_New(&method, capsule_));
  }
  return callback_;
}

void GuardedRef::settle(DeathNotice& notice) {
  if (weak_ || !owner_ || can_hold_strongly(object_)) return;
  Ref reference = check(PyWeakref_NewRef(object_, notice.callback()));
  object_ = nullptr;
  weak_ = true;
  // The object may die here, which notifies the listener at once.
  owner_.swap(reference);
}

BorrowedRef GuardedRef::get() const {
  if (!weak_) return object_;
  PyObject* object = referent_of(owner_);
  return object != Py_None ? object : nullptr;
}

}  // namespace md
