// Setting and deleting attributes: directly on objects created in the trace, as pending writes on pre-existing ones.
#include "cpython/imports.h"
#include "cpython/library_types.h"
#include "frontends/tensor_language.h"
#include "guards/guard_set.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/calls/calls.h"
#include "symbolic/effects/class_writes.h"
#include "symbolic/effects/pending_writes.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/tensors/data_stores.h"
#include "symbolic/tensors/gradient_attributes.h"
#include "symbolic/trace/registry.h"

#include <structmember.h>

#include "cpython/object_layout.h"
#include "cpython/text.h"
#include "guards/object_fields.h"
#include "symbolic/attributes/attributes.h"
#include "symbolic/exceptions/exceptions.h"
#include "symbolic/facts/class_relations.h"

namespace md {

namespace {

[[noreturn]] void break_on_store(const ValuePtr& object, BorrowedRef name) {
  graph_break(BreakReason::store_attribute, str_cat(describe(object), ".", text_of(name)));
}

// Returns true if the object sets and deletes attributes in object's own way (guarded).
bool has_plain_setattr(Tracer& tracer, const ValuePtr& object, bool is_object_own) {
  PyTypeObject* type = tracer.values().exact_type(object);
  if (object->kind != ValueKind::Object && own_attributes_of(object) == nullptr) return false;
  if (type == simple_namespace_type()) return true;
  bool is_user = PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) && !PyType_HasFeature(type, Py_TPFLAGS_TYPE_SUBCLASS);
  if (!is_user && as<DictValue>(object) == nullptr) return false;
  if (is_object_own) {
    // object.__setattr__ refuses objects of built-in types that define their own.
    while (type != nullptr && PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) type = type->tp_base;
    return type == &PyBaseObject_Type || type == &PyDict_Type || type == &PyODict_Type || type == &PyList_Type;
  }
  if (type->tp_setattro != PyObject_GenericSetAttr) return false;
  for (const char* hook : {"__setattr__", "__delattr__"}) {
    Ref name = check(PyUnicode_InternFromString(hook));
    ValuePtr found = type_attribute(tracer, object, name.get());
    if (!found) return false;
    tracer.values().identity_of(found);
  }
  return true;
}

// A method in Python of the descriptor's class.
ValuePtr descriptor_method(Tracer& tracer, const ValuePtr& descriptor, BorrowedRef name) {
  bool user = (descriptor->kind == ValueKind::Object || descriptor->kind == ValueKind::Instance) &&
              PyType_HasFeature(type_of(descriptor), Py_TPFLAGS_HEAPTYPE) &&
              !PyType_IsSubtype(type_of(descriptor), &PyType_Type);
  ValuePtr method = user ? type_attribute(tracer, descriptor, name) : nullptr;
  return method && is_python_function(method) ? method : nullptr;
}

// Returns true for a slot that Python code may write: the store cannot fail.
bool is_writable_slot(PyTypeObject* type, BorrowedRef descriptor) {
  return is_object_slot(descriptor) && has_member(type, descriptor) &&
         (reinterpret_cast<PyMemberDescrObject*>(descriptor.get())->d_member->flags & READONLY) == 0;
}

// What is done to an attribute, by the methods that descriptors have for it.
struct StoreKind {
  const char* method;  // of a descriptor
  size_t part;         // of a property created in the trace
};
constexpr StoreKind kStore = {"__set__", 1}, kDelete = {"__delete__", 2};

// The function of a pre-existing property that stores or deletes: its parts are fixed. Null: not known.
ValuePtr outside_part(Tracer& tracer, const ValuePtr& descriptor, const StoreKind& kind) {
  const Source* property = as<ObjectValue>(descriptor)->source;
  if (property == nullptr) return nullptr;
  static PyObject* const kDeleter =
      check(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyProperty_Type), "fdel")).release();
  bool deletes = kind.part == kDelete.part;
  const Source* source = tracer.sources().get(deletes ? SourceKind::SlotAttr : SourceKind::PropertySetter, property,
                                              deletes ? kDeleter : nullptr);
  ValuePtr part = value_at(tracer, source);
  // The interpreter raises the AttributeError. A part that was not given is null in the property.
  if (!part) tracer.guards().absent(source);
  if (!part || same_object(tracer, part, tracer.values().none())) raise_here();
  return is_python_function(part) ? part : nullptr;
}

// Where the generic store puts the attribute: a slot or the object's storage, the function of a property, the __set__
// of a user's descriptor (both in `setter`), or unknown.
enum class Place : uint8_t { Own, Setter, Descriptor, Unknown };
Place place_of(Tracer& tracer, const ValuePtr& object, BorrowedRef name, ValuePtr& setter, const StoreKind& kind,
               bool is_object_own = false) {
  if (!has_plain_setattr(tracer, object, is_object_own)) return Place::Unknown;
  ValuePtr on_type = type_attribute(tracer, object, name);
  PyTypeObject* descriptor = on_type ? tracer.values().exact_type(on_type) : nullptr;
  if (descriptor != nullptr && may_change(descriptor))
    for (const char* method : {"__set__", "__delete__"})
      type_attribute(tracer, on_type, check(PyUnicode_InternFromString(method)).get());
  if (descriptor != nullptr && is_data_descriptor(descriptor)) {
    Ref own = check(PyUnicode_InternFromString(kind.method));
    if (ValuePtr method = descriptor_method(tracer, on_type, own.get())) {
      setter = make_value<BoundMethodValue>(method, on_type);
      return Place::Descriptor;
    }
    setter = part_of_property(on_type, kind.part);
    if (setter) return Place::Setter;
    auto* known = as<ObjectValue>(on_type);
    if (known == nullptr) return Place::Unknown;
    if (descriptor == &PyMemberDescr_Type && is_writable_slot(type_of(object), known->object.get())) {
      if (is_descriptor_of_traced_class(tracer, on_type)) return Place::Own;
      if (known->source == nullptr) return Place::Unknown;
      tracer.guards().slot_match(known->source, known->object.get());
      return Place::Own;
    }
    setter = descriptor == &PyProperty_Type ? outside_part(tracer, on_type, kind) : nullptr;
    return setter ? Place::Setter : Place::Unknown;
  }
  return pv_type_has_storage(type_of(object)) ? Place::Own : Place::Unknown;
}

// The caller drops the instruction's operands.
void store_own(Tracer& tracer, const ValuePtr& object, BorrowedRef name, ValuePtr value) {
  OwnAttributes* attributes = own_attributes_of(object);
  if (attributes == nullptr) {
    attribute_store(tracer, object, name, std::move(value));
  } else if (ValuePtr* known = find_attribute(*attributes, name)) {
    *known = value;
  } else {
    attributes->emplace_back(Ref::share(name), value);
  }
}

bool is_function_or_none(Tracer& tracer, const ValuePtr& value) {
  return value->kind == ValueKind::Function || tracer.values().is_exactly(value, &PyFunction_Type) ||
         same_object(tracer, value, tracer.values().none());
}

// Stores on a function created in the trace: its name, or an attribute that built-in functions do not define.
bool store_on_function(Tracer& tracer, const ValuePtr& object, BorrowedRef name, const ValuePtr& value) {
  auto* function = as<FunctionValue>(object);
  if (function == nullptr) return false;
  PyObject* descriptor = _PyType_Lookup(&PyFunction_Type, name);
  bool is_text = false;
  for (const char* text : {"__name__", "__qualname__"})
    is_text = is_text || PyUnicode_CompareWithASCIIString(name, text) == 0;
  bool is_free = descriptor == nullptr || PyUnicode_CompareWithASCIIString(name, "__module__") == 0 ||
                 PyUnicode_CompareWithASCIIString(name, "__doc__") == 0 ||
                 (PyUnicode_CompareWithASCIIString(name, "__annotate__") == 0 && is_function_or_none(tracer, value)) ||
                 (PyUnicode_CompareWithASCIIString(name, "__type_params__") == 0 && type_of(value) == &PyTuple_Type);
  if (PyUnicode_CompareWithASCIIString(name, "__annotations__") == 0 &&
      tracer.values().is_exactly(value, &PyDict_Type)) {
    function->annotations = value;
    std::erase_if(function->names,
                  [](const auto& set) { return PyUnicode_CompareWithASCIIString(set.first, "__annotate__") == 0; });
    return true;
  }
  if (PyUnicode_CompareWithASCIIString(name, "__annotate__") == 0 && is_free && descriptor != nullptr)
    function->annotations = nullptr;
  if (!is_free && !(is_text && tracer.values().is_exactly(value, &PyUnicode_Type))) return false;
  if (descriptor == nullptr) {
    tracer.effects().function_dict(object)->set(name, value);
  } else if (ValuePtr* known = function->find(name)) {
    *known = value;
  } else {
    function->names.emplace_back(Ref::share(name), value);
  }
  return true;
}

bool delete_own(Tracer& tracer, const ValuePtr& object, BorrowedRef name) {
  if (!own_value(tracer, object, name)) return false;
  if (OwnAttributes* attributes = own_attributes_of(object)) {
    std::erase_if(*attributes, [&](const auto& entry) { return PyUnicode_Compare(entry.first, name) == 0; });
  } else {
    attribute_store(tracer, object, name, nullptr);
  }
  return true;
}

// How the class of an object stores an attribute, or deletes one.
struct StoreHook {
  ValuePtr method;             // its __setattr__ or __delattr__ in Python; null if there is none
  bool is_object_own = false;  // the class has only the other one of the two: this one is object's own
};

StoreHook store_hook(Tracer& tracer, const ValuePtr& object, const char* name) {
  bool user = object->kind == ValueKind::Object || own_attributes_of(object) != nullptr;
  PyTypeObject* type = user ? tracer.values().exact_type(object) : nullptr;
  if (type == nullptr || type->tp_setattro == PyObject_GenericSetAttr ||
      PyType_HasFeature(type, Py_TPFLAGS_TYPE_SUBCLASS) || !PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE))
    return {};
  ValuePtr method = type_attribute(tracer, object, check(PyUnicode_InternFromString(name)).get());
  if (method && is_python_function(method)) return {method};
  return {nullptr, inherits(tracer, object, &PyBaseObject_Type, {name})};
}

// Makes the store of `value`, or deletes the attribute where it is null, as object's own methods do.
void store_as_object(Tracer& tracer, const ValuePtr& object, BorrowedRef name, const ValuePtr& value,
                     bool is_object_own) {
  ValuePtr setter;
  Place place = place_of(tracer, object, name, setter, value ? kStore : kDelete, is_object_own);
  if (place == Place::Unknown) break_on_store(object, name);
  if (place != Place::Own) {
    call_now(tracer, setter, value ? CallArgs{{object, value}, {}} : CallArgs{{object}, {}});
  } else if (value) {
    store_own(tracer, object, name, value);
  } else if (!delete_own(tracer, object, name)) {
    raise_here();
  }
}

Ref name_argument(Tracer& tracer, const CallArgs& args, size_t count) {
  if (args.positional.size() != count || !args.keywords.empty()) raise_here();
  Ref name = constant_of(tracer, args.positional[1]);
  if (!name || !PyUnicode_CheckExact(name.get()))
    graph_break(BreakReason::store_attribute, str_cat(describe(args.positional[0]), ".?"));
  return name;
}

// object.__setattr__(self, name, value) and object.__delattr__(self, name), as called by those of a user's class.
template <bool deletes>
ValuePtr call_of_object(Tracer& tracer, const CallArgs& args) {
  Ref name = name_argument(tracer, args, deletes ? 2 : 3);
  store_as_object(tracer, args.positional[0], name.get(), deletes ? nullptr : args.positional[2], true);
  return tracer.values().none();
}

// Stores on a pre-existing function an attribute that built-in functions do not define.
bool store_on_outside_function(Tracer& tracer, const ValuePtr& object, BorrowedRef name, const ValuePtr& value) {
  if (as<ObjectValue>(object)->source == nullptr || _PyType_Lookup(&PyFunction_Type, name) != nullptr) return false;
  tracer.values().exact_type(object);
  tracer.effects().note_function(object);
  if (!value) return delete_own(tracer, object, name);
  attribute_store(tracer, object, name, value);
  return true;
}

// Stores the gradient or the data of a tensor whose class does it as Tensor does (guarded).
bool store_on_tensor(Tracer& tracer, const ValuePtr& object, BorrowedRef name, const ValuePtr& value) {
  auto* tensor = as<TensorValue>(object);
  const TensorAttribute* known = value ? tensor->family->attribute(text_of(name)) : nullptr;
  bool is_stored = known != nullptr && (known->kind == TensorAttribute::Kind::Gradient || known->sets_data);
  if (!is_stored) return false;
  auto* plain = tensor->family->result_type(tensor->spec.dtype, tensor->spec.rank());
  if (type_of(object)->tp_setattro != plain->tp_setattro) return false;
  if (may_change(type_of(object))) {
    ValuePtr found = type_attribute(tracer, object, name);
    bool is_own = found && existing_object(found).get() == _PyType_Lookup(plain, name);
    if (!is_own) return false;
    tracer.values().identity_of(found);
  }
  known->sets_data ? store_data(tracer, object, value) : store_gradient(tracer, object, value);
  return true;
}

// Stores on a class, function or tensor. Null value: deleted. Returns false for other objects, or if left to the
// interpreter.
bool store_on_definition(Tracer& tracer, const ValuePtr& object, BorrowedRef name, const ValuePtr& value) {
  if (is_tensor(object)) return store_on_tensor(tracer, object, name, value);
  if (object->kind == ValueKind::Function) return value && store_on_function(tracer, object, name, value);
  auto* known = as<ObjectValue>(object);
  if (known == nullptr) return false;
  if (known->traced_class) return store_on_class(tracer, *tracer.classes().find(known->object), name, value);
  if (PyType_Check(known->object.get())) return class_store(tracer, object, name, value);
  return PyFunction_Check(known->object.get()) && store_on_outside_function(tracer, object, name, value);
}

// setattr() and delattr()
template <bool deletes>
ValuePtr call_store(Tracer& tracer, const CallArgs& args) {
  Ref name = name_argument(tracer, args, deletes ? 2 : 3);
  const ValuePtr& object = args.positional[0];
  StoreHook hook = store_hook(tracer, object, deletes ? "__delattr__" : "__setattr__");
  if (hook.method) {
    call_now(tracer, hook.method, args);
    return tracer.values().none();
  }
  const ValuePtr value = deletes ? nullptr : args.positional[2];
  if (!store_on_definition(tracer, object, name.get(), value))
    store_as_object(tracer, object, name.get(), value, hook.is_object_own);
  return tracer.values().none();
}

// Stores one of the attributes that every exception has, on an exception created in the trace.
bool store_on_exception(Tracer& tracer, const ValuePtr& object, BorrowedRef name, const ValuePtr& value) {
  if (exception_of(object) == nullptr) return false;
  PyObject* descriptor = _PyType_Lookup(reinterpret_cast<PyTypeObject*>(PyExc_BaseException), name);
  if (descriptor == nullptr || !is_data_descriptor(Py_TYPE(descriptor))) return false;
  if (PyType_HasFeature(type_of(object), Py_TPFLAGS_HEAPTYPE)) {
    ValuePtr attribute = type_attribute(tracer, object, name);
    auto* found = as<ObjectValue>(attribute);
    if (!has_plain_setattr(tracer, object, false) || found == nullptr || found->object.get() != descriptor)
      return false;
  }
  return set_exception_field(tracer, object, name, value);
}

// Runs the function in place of the instruction.
void inline_store(Tracer& tracer, const ValuePtr& function, std::vector<ValuePtr> args, int operands) {
  inline_function(tracer, function, {std::move(args), {}}, ContinuationKind::Discard, nullptr);
  tracer.frames().drop_below_callee(operands);
}

// Stores `value`, or deletes the attribute where it is null; then drops the operands.
void change_attr(Tracer& tracer, BorrowedRef name, const ValuePtr& object, const ValuePtr& value, int operands) {
  StoreHook hook = store_hook(tracer, object, value ? "__setattr__" : "__delattr__");
  std::vector<ValuePtr> rest;
  if (value) rest.push_back(value);
  auto with = [&](std::vector<ValuePtr> first) {
    first.insert(first.end(), rest.begin(), rest.end());
    return first;
  };
  if (hook.method) return inline_store(tracer, hook.method, with({object, tracer.values().constant(name)}), operands);
  if ((value && store_on_exception(tracer, object, name, value)) || store_on_definition(tracer, object, name, value)) {
    tracer.frames().pop_many(operands);
    return;
  }
  ValuePtr setter;
  Place place = place_of(tracer, object, name, setter, value ? kStore : kDelete, hook.is_object_own);
  if (place == Place::Unknown) break_on_store(object, name);
  if (place == Place::Descriptor) {
    auto* bound = as<BoundMethodValue>(setter);
    return inline_store(tracer, bound->function, with({bound->self, object}), operands);
  }
  if (place == Place::Setter) return inline_store(tracer, setter, with({object}), operands);
  if (value) {
    store_own(tracer, object, name, value);
  } else if (!delete_own(tracer, object, name)) {
    raise_here();
  }
  tracer.frames().pop_many(operands);
}

void store_attr(Tracer& tracer, const Instruction& at) {
  ValuePtr object = tracer.frames().peek(), value = tracer.frames().peek(2);
  change_attr(tracer, tracer.frames().bytecode().name(at.arg), object, value, 2);
}

void delete_attr(Tracer& tracer, const Instruction& at) {
  ValuePtr object = tracer.frames().peek();
  change_attr(tracer, tracer.frames().bytecode().name(at.arg), object, nullptr, 1);
}

const OpcodeRegistration registration{{Opcode::STORE_ATTR, store_attr}, {Opcode::DELETE_ATTR, delete_attr}};

void add_attribute_store_calls() {
  PyObject* object = reinterpret_cast<PyObject*>(&PyBaseObject_Type);
  register_call(check(PyObject_GetAttrString(object, "__setattr__")).get(), call_of_object<false>);
  register_call(check(PyObject_GetAttrString(object, "__delattr__")).get(), call_of_object<true>);
  register_call(imported("builtins", "setattr").get(), call_store<false>);
  register_call(imported("builtins", "delattr").get(), call_store<true>);
}

const CallRegistration call_registration(add_attribute_store_calls);

}  // namespace

}  // namespace md
