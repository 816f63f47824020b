// One attribute look-up: the behaviour of each kind of object (attribute_lookup.cpp), and of the descriptors found
// (attribute_descriptors.cpp).
#pragma once
#include "symbolic/attributes/attributes.h"

namespace md {

class AttributeLookup {
 public:
  // probing: a missing attribute is a result, not an error.
  AttributeLookup(Tracer& tracer, const ValuePtr& object, BorrowedRef name, bool probing = false)
      : tracer_(tracer), object_(object), name_(name), probing_(probing) {}
  // Generic look-up on an instance: data descriptor, own storage, type attribute, __getattr__.
  Bound on_instance();
  // object.__getattribute__, which ignores __getattr__ unless the type look-up has set it.
  Bound generic();
  // Likewise; nullopt if the attribute is missing.
  std::optional<Bound> found();
  // The attribute after a class in the MRO, bound as super() does.
  Bound on_super();
  Bound on_class();
  // On a function created in the trace.
  Bound on_made_function();
  // The pre-existing function whose globals this one shares.
  ValuePtr maker_of(FunctionValue* function);
  // __module__: the __name__ of the globals that the function was created in.
  Bound module_of_made(FunctionValue* function);
  // On an object whose methods are pure.
  Bound on_model(BorrowedRef model);
  // On a constructed object. functools.partial exposes its parts, except its dict of keywords: one object that the
  // trace does not have.
  Bound on_made_object();
  // __self__ and __func__ of a method; everything else is the function's.
  Bound on_method();
  Bound on_module();
  // The attributes of this thread, in a dict of its own.
  Bound on_thread_local();
  // The package imports its submodules on first access, which is unobservable to the program.
  bool load_own_part(BorrowedRef module);
  Bound on_tensor();
  // A method of the tensor type itself that is a Python function; null otherwise.
  ValuePtr composite_method(PyObject* descriptor);
  // The class attribute of this name, guarded; null if there is none.
  PyObject* descriptor_of_tensor();
  // An attribute that the program has set on a pre-existing tensor; null if there is none, which is guarded.
  ValuePtr own_of_tensor(const TensorValue* tensor);
  // A field of a struct sequence, or else a method of tuple.
  Bound on_return_type();
  // A method of an exact built-in type: its descriptor, unbound.
  Bound on_builtin();
  // The object's own attribute, from a slot or its storage; null if there is none.
  ValuePtr own_value();

 private:
  bool is(const char* name) const { return PyUnicode_CompareWithASCIIString(name_, name) == 0; }
  Bound missing();
  // Its attributes are immutable, so a guard on identity is enough.
  static bool is_immutable_builtin(PyTypeObject* type);
  // An attribute of such an object, if it is a constant.
  Bound constant_field();
  void add_arguments_of_union(const ConstructedValue& made, std::vector<ValuePtr>& parts);
  // list[int]: attributes of the alias itself; others are those of its origin.
  Bound on_alias();
  Bound on_module_of_class(PyTypeObject* type);
  Bound missing_in_module(const ValuePtr& getter);
  // Returns true if a built-in class between them (dict, list) looks attributes up as object does.
  static bool is_own_way(PyTypeObject* type, PyTypeObject* base);
  // Guards that a pre-existing class is not given another __getattribute__.
  void guard_own_way();
  // The user-defined __getattribute__ of the class; null: the base's own.
  ValuePtr own_getattribute(PyTypeObject* type, PyTypeObject* base);
  Bound call_getattribute(const ValuePtr& method);
  // A field of sys.version_info or a similar struct sequence.
  ValuePtr field_of_struct(PyObject* descriptor);
  // Runs a getter, whose result is the attribute. If an AttributeError from it is handled here, the getter runs to its
  // end first.
  Bound inline_getter(const ValuePtr& getter, std::vector<ValuePtr> args);
  // The type of a class attribute. Guards that a user's class is not made a descriptor later.
  PyTypeObject* descriptor_type(const ValuePtr& found);
  // A descriptor whose __get__ is in Python.
  bool has_python_get(const ValuePtr& descriptor);
  [[noreturn]] void unknown();
  // The class overrides look-up: only a Python __getattr__ with object's own __getattribute__ is supported.
  void require_getattr_hook(PyTypeObject* type, PyTypeObject* base);
  // __getattr__ = dict.get, or dict.__getitem__
  bool is_known_hook();
  Bound call_getattr_hook();
  ValuePtr own_attribute();
  Bound read_descriptor(const ValuePtr& descriptor);
  // A field in the C structure of a built-in type.
  Bound read_field(const ValuePtr& descriptor);
  Bound read_tuple_field(const ValuePtr& descriptor);
  ValuePtr slot_value(const ValuePtr& descriptor);
  Bound read_slot(const ValuePtr& descriptor);
  Bound bind(const ValuePtr& found);
  static bool is_cached(const ValuePtr& found);
  bool is_method_of_library(BorrowedRef descriptor);
  ValuePtr unwrap(const ValuePtr& found, SourceKind kind, PyTypeObject* wrapper);
  // Up to 3.12 a class method lets the wrapped object bind itself, which for a function has the same result; from
  // 3.13 on it calls the wrapped object directly. Other descriptors are left to the interpreter.
  ValuePtr unwrap_class_method(const ValuePtr& found);

  Tracer& tracer_;
  ValuePtr object_;
  BorrowedRef name_;
  bool probing_;
  ValuePtr hook_;  // the __getattr__ that handles a missing attribute
  ValuePtr python_get_, stand_in_;
};

}  // namespace md
