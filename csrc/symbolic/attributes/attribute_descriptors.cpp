// Attribute look-up: invoking descriptors as Python does.
#include "frontends/tensor_language.h"
#include "guards/guard_set.h"
#include "guards/wrapper_callables.h"
#include "symbolic/attributes/attribute_lookup.h"
#include "symbolic/attributes/attributes.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/calls/calls.h"
#include "symbolic/calls/constructed_objects.h"
#include "symbolic/calls/polyfills.h"
#include "symbolic/facts/instance_dicts.h"
#include "symbolic/facts/mapping_proxies.h"
#include "symbolic/facts/value_facts.h"

#include <structmember.h>
#include "cpython/library_types.h"
#include "cpython/object_layout.h"
#include "cpython/object_protocol.h"
#include "cpython/text.h"
#include "guards/cached_calls.h"
#include "guards/constants.h"
#include "guards/guarded_ref.h"
#include "guards/object_fields.h"
#include "symbolic/exceptions/exceptions.h"

namespace md {

namespace {

Py_ssize_t tuple_field_index(BorrowedRef descriptor) {
  Ref parts = check(PyObject_CallMethod(descriptor, "__reduce__", nullptr));
  return PyLong_AsSsize_t(PyTuple_GET_ITEM(PyTuple_GET_ITEM(parts.get(), 1), 0));
}

// Returns true for the __dict__ descriptor that type adds to a class whose objects have a dict, or that of OrderedDict.
// It cannot be added to a class later.
bool is_attributes_descriptor(BorrowedRef descriptor) {
  static PyObject* const kDict = PyUnicode_InternFromString("__dict__");
  if (descriptor.get() == _PyType_Lookup(&PyODict_Type, kDict)) return true;
  static PyObject* const type = reinterpret_cast<PyObject*>(&PyType_Type);
  static PyObject* const sample = check(PyObject_CallFunction(type, "s(){}", "sample")).release();
  if (!Py_IS_TYPE(descriptor.get(), &PyGetSetDescr_Type)) return false;
  PyObject* known = _PyType_Lookup(reinterpret_cast<PyTypeObject*>(sample), kDict);
  auto getter = [](BorrowedRef of) { return reinterpret_cast<PyGetSetDescrObject*>(of.get())->d_getset->get; };
  return known != nullptr && Py_IS_TYPE(known, &PyGetSetDescr_Type) && getter(descriptor) == getter(known);
}

}  // namespace

ValuePtr AttributeLookup::field_of_struct(PyObject* descriptor) {
  auto* known = as<ObjectValue>(object_);
  Py_ssize_t first = offsetof(PyTupleObject, ob_item);
  Py_ssize_t at = (reinterpret_cast<PyMemberDescrObject*>(descriptor)->d_member->offset - first) /
                  static_cast<Py_ssize_t>(sizeof(PyObject*));
  if (known == nullptr || at < 0 || at >= PyTuple_GET_SIZE(known->object.get())) unknown();
  return element(tracer_, known, at);
}

Bound AttributeLookup::inline_getter(const ValuePtr& getter, std::vector<ValuePtr> args) {
  if (getter == python_get_ && stand_in_ && !hook_ && !probing_)
    return {call_now(tracer_, stand_in_, {std::move(args), {}})};
  if (!hook_ && !probing_) {
    std::vector<ValuePtr> looked_up{object_, tracer_.values().constant(name_)};
    inline_function(tracer_, getter, {std::move(args), {}}, ContinuationKind::Push,
                    make_value<SequenceValue>(false, std::move(looked_up)));
    return {nullptr};
  }
  if (std::optional<ValuePtr> value = call_catching(tracer_, getter, {std::move(args), {}}, PyExc_AttributeError))
    return {*value};
  return missing();
}

PyTypeObject* AttributeLookup::descriptor_type(const ValuePtr& found) {
  PyTypeObject* type = tracer_.values().exact_type(found);
  if ((found->kind == ValueKind::Object || found->kind == ValueKind::Instance) && may_change(type))
    for (const char* method : {"__get__", "__set__", "__delete__"}) {
      ValuePtr inherited = type_attribute(tracer_, found, check(PyUnicode_InternFromString(method)).get());
      // That of property, say: the class may get its own later.
      if (inherited && !is_python_function(inherited) && source_of(inherited) != nullptr)
        tracer_.values().identity_of(inherited);
    }
  return type;
}

bool AttributeLookup::has_python_get(const ValuePtr& descriptor) {
  static PyObject* const kGet = PyUnicode_InternFromString("__get__");
  PyTypeObject* type = type_of(descriptor);
  bool user = (descriptor->kind == ValueKind::Object || descriptor->kind == ValueKind::Instance) &&
              PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) && !PyType_IsSubtype(type, &PyType_Type);
  python_get_ = user ? type_attribute(tracer_, descriptor, kGet) : nullptr;
  if (!python_get_ || !is_python_function(python_get_)) return false;
  // A polyfill of a getter of the standard library: its frame is invisible.
  auto* known = as<ObjectValue>(python_get_);
  stand_in_ = known != nullptr ? find_polyfill(known->object.get()) : nullptr;
  if (stand_in_ && known->source != nullptr) tracer_.values().identity_of(python_get_);
  return true;
}

void AttributeLookup::unknown() {
  graph_break(BreakReason::custom_attribute_lookup, str_cat(describe(object_), ".", text_of(name_)));
}

void AttributeLookup::require_getattr_hook(PyTypeObject* type, PyTypeObject* base) {
  static PyObject* const kGetattr = PyUnicode_InternFromString("__getattr__");
  if (!is_own_way(type, base)) unknown();
  guard_own_way();
  hook_ = type_attribute(tracer_, object_, kGetattr);
  if (!hook_ || (!is_python_function(hook_) && !is_known_hook())) unknown();
}

bool AttributeLookup::is_known_hook() {
  auto* known = as<ObjectValue>(hook_);
  return known != nullptr && PyDict_Check(known->object.get()) == 0 &&
         PyType_IsSubtype(type_of(object_), &PyDict_Type) != 0 &&
         (Py_IS_TYPE(known->object.get(), &PyMethodDescr_Type) ||
          Py_IS_TYPE(known->object.get(), &PyWrapperDescr_Type)) &&
         find_call(known->object.get()) != nullptr;
}

Bound AttributeLookup::call_getattr_hook() {
  ValuePtr hook = std::exchange(hook_, nullptr);
  if (!is_python_function(hook)) {
    if (probing_) unknown();
    return {call_now(tracer_, hook, {{object_, tracer_.values().constant(name_)}, {}})};
  }
  return inline_getter(hook, {object_, tracer_.values().constant(name_)});
}

ValuePtr AttributeLookup::own_attribute() {
  if (OwnAttributes* attributes = own_attributes_of(object_)) {
    ValuePtr* found = find_attribute(*attributes, name_);
    return found != nullptr ? *found : nullptr;
  }
  // A tuple or dict created in the trace has no instance attributes.
  if (object_->kind == ValueKind::Sequence || object_->kind == ValueKind::Dict) return nullptr;
  auto* known = as<ObjectValue>(object_);
  if (known == nullptr || known->source == nullptr) unknown();
  if (PyFunction_Check(known->object.get())) tracer_.effects().note_function(object_);
  if (known->writes)
    if (const ValuePtr* stored = known->writes->find_attribute(name_)) return *stored;
  PyObject* value = nullptr;
  int found = pv_instance_lookup(known->object, name_, &value);
  if (found < 0) unknown();
  const Source* source = tracer_.sources().get(SourceKind::InstanceAttr, known->source, name_);
  // The written dict may be this object's attribute dict; instances of heap types have a guard against that
  // (side_effects.h).
  bool is_guarded = PyType_HasFeature(known->object.type(), Py_TPFLAGS_HEAPTYPE);
  if (!is_guarded && tracer_.effects().any_dict_written_at(name_)) unknown();
  if (found > 0) {
    tracer_.guards().present(source);
    return value_at(tracer_, source, Ref::share(value));
  }
  if (pv_has_instance_storage(known->object)) tracer_.guards().absent(source);
  return nullptr;
}

Bound AttributeLookup::read_descriptor(const ValuePtr& descriptor) {
  auto* known = as<ObjectValue>(descriptor);
  if (has_python_get(descriptor))
    return inline_getter(python_get_, {descriptor, object_, type_value(tracer_, object_)});
  if (ValuePtr getter = part_of_property(descriptor, 0)) return inline_getter(getter, {object_});
  if (known == nullptr) unknown();
  static PyObject* const kClass = PyUnicode_InternFromString("__class__");
  if (known->object.get() == _PyType_Lookup(&PyBaseObject_Type, kClass)) {
    tracer_.values().identity_of(descriptor);
    return {type_value(tracer_, object_)};
  }
  if (InstanceValue* exception = exception_of(object_)) {
    if (ValuePtr field = exception_field(tracer_, object_, name_, descriptor)) return {field};
    if (is_args_descriptor(descriptor)) {
      if (known->source != nullptr) tracer_.values().identity_of(descriptor);
      return {make_value<SequenceValue>(false, exception->exception->args)};
    }
  }
  if (is("__dict__") && is_attributes_descriptor(known->object.get()))
    if (ValuePtr dict = instance_dict(tracer_, object_)) return {dict};
  if (is_immutable_builtin(type_of(object_))) return constant_field();
  if (Py_IS_TYPE(known->object.get(), &PyGetSetDescr_Type)) return read_field(descriptor);
  if (Py_IS_TYPE(known->object.get(), tuple_field_type())) return read_tuple_field(descriptor);
  if (reads_as_property(known->object.type()) && known->source != nullptr) {
    ValuePtr getter = value_at(tracer_, tracer_.sources().get(SourceKind::PropertyGetter, known->source, nullptr));
    if (!getter || !is_python_function(getter)) unknown();
    return inline_getter(getter, {object_});
  }
  if (Py_IS_TYPE(known->object.get(), &PyMemberDescr_Type)) return read_slot(descriptor);
  unknown();
}

Bound AttributeLookup::read_field(const ValuePtr& descriptor) {
  auto* known = as<ObjectValue>(object_);
  if (known == nullptr) unknown();
  tracer_.values().identity_of(descriptor);
  if (ValuePtr made = made_field(tracer_, as<ObjectValue>(descriptor)->object, object_)) return {made};
  if (known->traced_class) {
    ValuePtr value = field_of_class(tracer_, *tracer_.classes().find(known->object), name_);
    if (!value) unknown();
    return {value};
  }
  if (PyType_Check(known->object.get()) && is("__dict__")) {
    ValuePtr proxy = proxy_of_class(tracer_, object_);
    if (!proxy) unknown();
    return {proxy};
  }
  if (PyType_Check(known->object.get()) &&
      !PyType_HasFeature(reinterpret_cast<PyTypeObject*>(known->object.get()), Py_TPFLAGS_HEAPTYPE)) {
    // A built-in class is immutable.
    Ref value = Ref::steal(PyObject_GetAttr(known->object, name_));
    if (value && (is_guardable_constant(value.get()) || PyTuple_CheckExact(value.get())))
      return {tracer_.values().constant(value)};
    PyErr_Clear();
    unknown();
  }
  std::optional<int> field = object_field(known->object.type(), name_);
  if (!field || known->source == nullptr || (PyFunction_Check(known->object.get()) && known->writes)) unknown();
  if (PyFunction_Check(known->object.get()) && is("__annotations__") && pv_has_pending_annotations(known->object))
    unknown();
  // These dicts are created on first access.
  for (const char* lazy : {"__annotations__", "__dict__"})
    if (PyFunction_Check(known->object.get()) && PyUnicode_CompareWithASCIIString(name_, lazy) == 0)
      check(PyObject_GenericGetAttr(known->object, name_));
  // The annotations of a class that has none are made, and then in its __dict__, when they are read; since 3.14 code of
  // the program computes them.
  if (PyType_Check(known->object.get()) && is("__annotations__") && PY_VERSION_HEX < 0x030E0000 &&
      PyDict_Contains(pv_type_dict(reinterpret_cast<PyTypeObject*>(known->object.get())), name_.get()) != 1)
    unknown();
  ValuePtr value = value_at(tracer_, tracer_.sources().get(SourceKind::Field, known->source, name_, *field));
  if (!value) unknown();
  return {value};
}

Bound AttributeLookup::read_tuple_field(const ValuePtr& descriptor) {
  tracer_.values().identity_of(descriptor);
  size_t at = static_cast<size_t>(tuple_field_index(as<ObjectValue>(descriptor)->object));
  if (auto* made = as<SequenceValue>(object_)) {
    if (made->is_list || at >= made->items.size()) unknown();
    return {made->items[at]};
  }
  auto* known = as<ObjectValue>(object_);
  if (known == nullptr || !PyTuple_Check(known->object.get()) ||
      at >= static_cast<size_t>(PyTuple_GET_SIZE(known->object.get())))
    unknown();
  return {element(tracer_, known, static_cast<Py_ssize_t>(at))};
}

ValuePtr AttributeLookup::slot_value(const ValuePtr& descriptor) {
  if (!has_member(type_of(object_), as<ObjectValue>(descriptor)->object.get())) unknown();
  if (OwnAttributes* attributes = own_attributes_of(object_)) {
    ValuePtr* found = find_attribute(*attributes, name_);
    // Fields of built-in types that only the interpreter knows.
    if (found == nullptr && !is_object_slot(as<ObjectValue>(descriptor)->object.get())) unknown();
    return found != nullptr ? *found : nullptr;
  }
  auto* known = as<ObjectValue>(object_);
  if (known == nullptr || known->source == nullptr || slot_offset(as<ObjectValue>(descriptor)->object.get()) < 0)
    unknown();
  // The descriptor of a built-in type is the same at every run.
  if (const Source* place = as<ObjectValue>(descriptor)->source)
    tracer_.guards().slot_match(place, as<ObjectValue>(descriptor)->object.get());
  if (known->writes)
    if (const ValuePtr* stored = known->writes->find_attribute(name_)) return *stored;
  const Source* source =
      tracer_.sources().get(SourceKind::SlotAttr, known->source, as<ObjectValue>(descriptor)->object.get());
  ValuePtr value = value_at(tracer_, source);
  // An unset field of a built-in type reads as None.
  if (!value && !is_object_slot(as<ObjectValue>(descriptor)->object.get())) unknown();
  if (!value) tracer_.guards().absent(source);
  return value;
}

Bound AttributeLookup::read_slot(const ValuePtr& descriptor) {
  ValuePtr value = slot_value(descriptor);
  if (!value) return missing();
  return {value};
}

Bound AttributeLookup::bind(const ValuePtr& found) {
  PyTypeObject* descriptor = tracer_.values().exact_type(found);
  if (descriptor == &PyFunction_Type) return {found, true};
  if (descriptor->tp_descr_get == nullptr) return {found};
  if (ValuePtr unwrapped = unwrap(found, SourceKind::WrappedFunction, &PyStaticMethod_Type)) return {unwrapped};
  if (ValuePtr unwrapped = unwrap_class_method(found))
    return {make_value<BoundMethodValue>(unwrapped, type_value(tracer_, object_))};
  if (find_wrapper_type(descriptor) != nullptr || is_cached(found)) return {found, true};
  if (has_python_get(found)) return inline_getter(python_get_, {found, object_, type_value(tracer_, object_)});
  if (descriptor == &PyMethodDescr_Type || descriptor == &PyWrapperDescr_Type) return {found, true};
  if (descriptor == &PyClassMethodDescr_Type)
    return {make_value<BoundMethodValue>(found, type_value(tracer_, object_))};
  if (auto* known = as<ObjectValue>(found); known != nullptr && is_method_of_library(known->object))
    return {found, true};
  unknown();
}

// A function that its type binds as those of Python are bound.
bool AttributeLookup::is_method_of_library(BorrowedRef descriptor) {
  const TensorCallable* callable = find_tensor_callable(descriptor.get());
  return callable != nullptr && callable->self_type != nullptr && callable->self_type == type_of(object_);
}

bool AttributeLookup::is_cached(const ValuePtr& found) {
  auto* known = as<ObjectValue>(found);
  return known != nullptr && is_cached_function(known->object);
}

ValuePtr AttributeLookup::unwrap(const ValuePtr& found, SourceKind kind, PyTypeObject* wrapper) {
  if (auto* made = as<ConstructedValue>(found)) return type_of(found) == wrapper ? made->positional[0] : nullptr;
  auto* known = as<ObjectValue>(found);
  if (known == nullptr) return nullptr;
  if (known->object.type() != wrapper) return nullptr;
  // Of a built-in class, which is immutable (str.maketrans).
  if (known->source == nullptr)
    return tracer_.values().constant(check(PyObject_GetAttrString(known->object, "__func__")));
  return value_at(tracer_, tracer_.sources().get(kind, known->source, nullptr));
}

ValuePtr AttributeLookup::unwrap_class_method(const ValuePtr& found) {
  ValuePtr unwrapped = unwrap(found, SourceKind::WrappedFunction, &PyClassMethod_Type);
  PyTypeObject* type = unwrapped ? descriptor_type(unwrapped) : nullptr;
  if (type != nullptr && type != &PyFunction_Type && type->tp_descr_get != nullptr) unknown();
  return unwrapped;
}

}  // namespace md
