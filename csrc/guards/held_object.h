// An object that a guard compares with, held by the lifetime rule: an entry hangs on a code object, which the cycle
// collector does not see, so nothing held strongly may reach a code object.
// Strong: constants, static types, descriptors of static types, instances of registered value types.
// Weak: what else can be weakly referenced (functions, modules, classes, code objects, instances).
// Not at all: the rest (lists, dicts, instances with __slots__ and no __weakref__).
#pragma once
#include "cpython/ref.h"

namespace md {

class GuardDeathListener;

// Instances hold nothing that could reach a code object and are few (dtype, device): they may be held strongly.
void register_value_type(PyTypeObject* type);

bool can_hold_strongly(BorrowedRef object);
bool can_hold_weakly(BorrowedRef object);

// What the weak references of one GuardSet call: remembers the first death and tells the listener, once.
class DeathNotice {
 public:
  DeathNotice() = default;
  DeathNotice(const DeathNotice&) = delete;
  DeathNotice& operator=(const DeathNotice&) = delete;
  ~DeathNotice();

  // Null: nobody is told.
  void listen(GuardDeathListener* listener) { state_.listener = listener; }
  bool dead() const { return state_.dead; }
  // The callable for weak references, made when first asked for.
  BorrowedRef callback();

 private:
  struct State {
    GuardDeathListener* listener = nullptr;
    bool dead = false;
  };
  static PyObject* on_death(PyObject* capsule, PyObject* reference);

  State state_;
  // Its context is &state_, taken away by the destructor: a callback may outlive this object in the collector's list.
  Ref capsule_;
  Ref callback_;
};

class HeldObject {
 public:
  HeldObject() = default;
  explicit HeldObject(BorrowedRef object) : owner_(Ref::share(object)), object_(object) {}
  HeldObject(HeldObject&&) = default;
  HeldObject& operator=(HeldObject&&) = default;

  // Turns into a weak reference where the rule says so.
  void settle(DeathNotice& notice);
  // Where the object's address stands: Py_None there once a weakly held object is gone. Stable after settle().
  PyObject* const* cell() const {
    return weak_ ? &reinterpret_cast<PyWeakReference*>(owner_.get())->wr_object : &object_;
  }
  // Null when gone.
  BorrowedRef get() const;
  explicit operator bool() const { return static_cast<bool>(owner_); }

 private:
  Ref owner_;  // the object, or a weak reference to it
  PyObject* object_ = nullptr;
  bool weak_ = false;
};

}  // namespace md
