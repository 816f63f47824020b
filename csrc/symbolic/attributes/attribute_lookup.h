// One look-up of an attribute: what each kind of object does (attribute_lookup.cpp), and what comes of what is found there
// (attribute_descriptors.cpp).
#pragma once
#include "symbolic/attributes/attributes.h"

namespace md {

class AttributeLookup {
 public:
  // probing: what is not there is an answer, not an error.
  AttributeLookup(Tracer& tracer, const ValuePtr& object, BorrowedRef name, bool probing = false)
      : tracer_(tracer), object_(object), name_(name), probing_(probing) {}
  // Generic look-up on an instance: data descriptor, own storage, type attribute, __getattr__.
  Bound on_instance();
  // object.__getattribute__, which knows no hook unless the type look-up has set it.
  Bound generic();
  // What is behind a class in the MRO, bound as super() does.
  Bound on_super();
  Bound on_class();
  // A function that the trace made.
  Bound on_made_function();
  // The __name__ of the globals that it was made in.
  // The function from outside whose globals this one has.
  ValuePtr maker_of(FunctionValue* function);
  Bound module_of_made(FunctionValue* function);
  // Of an object whose methods are pure.
  Bound on_model(BorrowedRef model);
  // functools.partial shows what it was made of; its dict of keywords is one object, which the trace does not have.
  Bound on_made_object();
  // __self__ and __func__ of a method; everything else is the function's.
  Bound on_method();
  Bound on_module();
  // Our own package imports its parts when they are first asked for, which no program can tell from having them.
  bool load_own_part(BorrowedRef module);
  Bound on_tensor();
  // A method of the tensor type itself that is a Python function; null: it is none.
  ValuePtr composite_method(PyObject* descriptor);
  // What the class has under the name, guarded; null: nothing.
  PyObject* descriptor_of_tensor();
  // What the program has set on a tensor that exists; null: nothing, which is guarded.
  ValuePtr own_of_tensor(const TensorValue* tensor);
  // A named result; else a method that any tuple has.
  Bound on_named_results();
  // A method of an exact built-in type: its descriptor, unbound.
  Bound on_builtin();
  // What the object itself holds, in a slot or in its storage; null: nothing.
  ValuePtr own_value();

 private:
  bool is(const char* name) const { return PyUnicode_CompareWithASCIIString(name_, name) == 0; }
  Bound missing();
  // What of it is read never changes, once it is the same object.
  static bool is_immutable_builtin(PyTypeObject* type) { return type == &PyCode_Type || type == &PyCFunction_Type; }
  // A built-in class between (dict, list) that does as object does.
  static bool is_own_way(PyTypeObject* type, PyTypeObject* base);
  // A class from outside may be given another __getattribute__.
  void guard_own_way();
  // The __getattribute__ of a user's class; null: the base's own.
  ValuePtr own_getattribute(PyTypeObject* type, PyTypeObject* base);
  Bound call_getattribute(const ValuePtr& method);
  // A named element of sys.version_info or its like.
  ValuePtr field_of_struct(PyObject* descriptor);
  // Runs a getter: its result is the attribute. Where an AttributeError of it has an answer here, the getter is waited for.
  Bound inline_getter(const ValuePtr& getter, std::vector<ValuePtr> args);
  // The type of a class attribute. A user's class may later be given what makes descriptors of its objects.
  PyTypeObject* descriptor_type(const ValuePtr& found);
  // A descriptor whose __get__ is in Python.
  bool has_python_get(const ValuePtr& descriptor);
  [[noreturn]] void unknown();
  // The class overrides look-up: sound only for a Python __getattr__ beside object's own __getattribute__.
  void require_getattr_hook(PyTypeObject* type, PyTypeObject* base);
  // __getattr__ = dict.get, or dict.__getitem__
  bool is_known_hook();
  Bound call_getattr_hook();
  ValuePtr own_attribute();
  Bound read_descriptor(const ValuePtr& descriptor);
  // An attribute of a built-in type that its structure holds.
  Bound read_field(const ValuePtr& descriptor);
  Bound read_tuple_field(const ValuePtr& descriptor);
  ValuePtr slot_value(const ValuePtr& descriptor);
  Bound read_slot(const ValuePtr& descriptor);
  Bound bind(const ValuePtr& found);
  static bool is_cached(const ValuePtr& found);
  ValuePtr unwrap(const ValuePtr& found, SourceKind kind, PyTypeObject* wrapper);
  // Up to 3.12 a class method asks what it wraps to bind itself, which a function does as the class method would; from 3.13
  // on it calls what it wraps as it is. Other descriptors are for Python.
  ValuePtr unwrap_class_method(const ValuePtr& found);

  Tracer& tracer_;
  ValuePtr object_;
  BorrowedRef name_;
  bool probing_;
  ValuePtr hook_;  // the __getattr__ that answers what is not found
  ValuePtr python_get_, stand_in_;
};

}  // namespace md
