// An object that a guard compares with, and its lifetime rule: a cache entry belongs to a code object, which the cycle
// collector does not traverse, so nothing owned may reach a code object.
// Strong: constants, static types, descriptors of static types and of methods in C, instances of registered value
// types. Weak: other objects that support weak references (functions, modules, classes, code objects, instances).
// Not at all: the rest (lists, dicts, instances with __slots__ and no __weakref__).
#pragma once
#include "cpython/ref.h"

namespace md {

class GuardDeathListener;

// Instances of the type reach no code object and are few (dtype, device): they may be held strongly.
void register_value_type(PyTypeObject* type);

bool can_hold_strongly(BorrowedRef object);
bool can_hold_weakly(BorrowedRef object);

// The callback of the weak references of one GuardSet: notifies the listener of the first death, once.
class DeathNotice {
 public:
  DeathNotice() = default;
  DeathNotice(const DeathNotice&) = delete;
  DeathNotice& operator=(const DeathNotice&) = delete;
  ~DeathNotice();

  // null: no notification.
  void listen(GuardDeathListener* listener) { state_.listener = listener; }
  bool dead() const { return state_.dead; }
  // The callable for weak references, created on first use.
  BorrowedRef callback();

 private:
  struct State {
    GuardDeathListener* listener = nullptr;
    bool dead = false;
  };
  static PyObject* on_death(PyObject* capsule, PyObject* reference);

  State state_;
  // Its context is &state_, cleared by the destructor: a callback may outlive this object
  // in the garbage collector's list.
  Ref capsule_;
  Ref callback_;
};

class GuardedRef {
 public:
  GuardedRef() = default;
  explicit GuardedRef(BorrowedRef object) : owner_(Ref::share(object)), object_(object) {}
  GuardedRef(GuardedRef&&) = default;
  GuardedRef& operator=(GuardedRef&&) = default;

  // Converts to a weak reference if the rule requires it.
  void settle(DeathNotice& notice);
  // Location of the object's address; holds Py_None once a weakly held object is dead. Stable after settle().
  PyObject* const* cell() const {
    return weak_ ? &reinterpret_cast<PyWeakReference*>(owner_.get())->wr_object : &object_;
  }
  // Null if dead.
  BorrowedRef get() const;
  explicit operator bool() const { return static_cast<bool>(owner_); }

 private:
  Ref owner_;  // the object, or a weak reference to it
  PyObject* object_ = nullptr;
  bool weak_ = false;
};

}  // namespace md
