#include "symbolic/attributes/attributes.h"

#include "cpython/library_types.h"
#include "cpython/object_protocol.h"
#include "guards/constants.h"
#include "guards/guard_set.h"
#include "guards/guarded_ref.h"
#include "guards/return_types.h"
#include "symbolic/attributes/attribute_lookup.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/calls/calls.h"
#include "symbolic/calls/traced_classes.h"
#include "symbolic/effects/class_writes.h"
#include "symbolic/exceptions/exceptions.h"
#include "symbolic/facts/class_relations.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/sizes/symbolic_sizes.h"
#include "symbolic/trace/registry.h"

namespace md {

// The Python getter (0) or setter (1) of a property created in the trace; null otherwise.
ValuePtr part_of_property(const ValuePtr& descriptor, size_t part) {
  auto* made = as<ConstructedValue>(descriptor);
  if (made == nullptr || type_of(descriptor) != &PyProperty_Type || made->positional.size() <= part) return nullptr;
  return type_of(made->positional[part]) == &PyFunction_Type ? made->positional[part] : nullptr;
}

Bound look_up(Tracer& tracer, const ValuePtr& object, BorrowedRef name, bool probing) {
  AttributeLookup lookup(tracer, object, name, probing);
  if (is_shape(object)) return lookup.on_builtin();
  if (is_return_type(type_of(object))) return lookup.on_return_type();
  switch (object->kind) {
    case ValueKind::Super:
      return lookup.on_super();
    case ValueKind::Tensor:
      return lookup.on_tensor();
    case ValueKind::Instance:
      return lookup.on_instance();
    case ValueKind::Constructed:
      return lookup.on_made_object();
    case ValueKind::Function:
      return lookup.on_made_function();
    case ValueKind::BoundMethod:
      return type_of(object) == &PyMethod_Type ? lookup.on_method() : lookup.on_builtin();
    case ValueKind::Dict: {
      auto* dict = as<DictValue>(object);
      if (dict->factory && PyUnicode_CompareWithASCIIString(name, "default_factory") == 0) return {dict->factory};
      bool has_own = takes_attributes(*dict) || PyType_HasFeature(type_of(object), Py_TPFLAGS_HEAPTYPE);
      return has_own ? lookup.on_instance() : lookup.on_builtin();
    }
    case ValueKind::Sequence:
      if (is_deque(object) && PyUnicode_CompareWithASCIIString(name, "maxlen") == 0)
        return {as<SequenceValue>(object)->maxlen};
      return as<SequenceValue>(object)->type ? lookup.on_instance() : lookup.on_builtin();
    case ValueKind::Object: {
      PyObject* real = as<ObjectValue>(object)->object;
      if (PyModule_Check(real)) return lookup.on_module();
      if (PyType_Check(real)) return lookup.on_class();
      if (Py_IS_TYPE(real, &PyMethod_Type)) return lookup.on_method();
      PyTypeObject* type = Py_TYPE(real);
      if (type == thread_local_type()) return lookup.on_thread_local();
      bool has_storage = type->tp_dictoffset != 0 && type->tp_getattro == PyObject_GenericGetAttr;
      if (PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) || has_storage) return lookup.on_instance();
      return lookup.on_builtin();
    }
    case ValueKind::Null:
    case ValueKind::Set:
    case ValueKind::Slice:
    case ValueKind::Cell:
    case ValueKind::PolicyFunction:
    case ValueKind::RaisedPart:
    case ValueKind::Iterator:
    case ValueKind::Number:
    case ValueKind::Computed:
    case ValueKind::DictView:
    case ValueKind::Identity:
    case ValueKind::InstanceDict:
      return lookup.on_builtin();
  }
  throw Error(ErrorKind::Internal, "a value of no kind");
}

ValuePtr own_value(Tracer& tracer, const ValuePtr& object, BorrowedRef name) {
  return AttributeLookup(tracer, object, name).own_value();
}

namespace {

void load_attr(Tracer& tracer, const Instruction& at) {
  load_attribute(tracer, tracer.frames().peek(), tracer.frames().bytecode().name(at.arg), 1);
}

void load_method(Tracer& tracer, const Instruction& at) {
  load_method(tracer, tracer.frames().peek(), tracer.frames().bytecode().name(at.arg), 1);
}

ValuePtr bound_method(const Bound& bound, const ValuePtr& object) {
  return make_value<BoundMethodValue>(bound.value, bound.self ? bound.self : object);
}

// object.__getattribute__(self, name), as called by a user-defined __getattribute__.
ValuePtr call_object_getattribute(Tracer& tracer, const CallArgs& args) {
  if (args.positional.size() != 2 || !args.keywords.empty()) raise_here();
  const ValuePtr& object = args.positional[0];
  Ref name = constant_of(tracer, args.positional[1]);
  bool plain = object->kind == ValueKind::Instance ||
               (object->kind == ValueKind::Object &&
                PyType_HasFeature(tracer.values().exact_type(object), Py_TPFLAGS_HEAPTYPE) &&
                !PyType_Check(as<ObjectValue>(object)->object.get()));
  if (!name || !PyUnicode_CheckExact(name.get()) || !plain)
    graph_break(BreakReason::custom_attribute_lookup, describe(object));
  size_t depth = tracer.frames().depth();
  AttributeLookup lookup(tracer, object, name.get());
  Bound bound = lookup.generic();
  if (tracer.frames().depth() > depth) return nullptr;
  return bound.is_method ? ValuePtr(make_value<BoundMethodValue>(bound.value, object)) : bound.value;
}

// object.__init__(self) does nothing.
ValuePtr call_object_init(Tracer& tracer, const CallArgs& args) {
  if (args.positional.size() != 1 || !args.keywords.empty())
    graph_break(BreakReason::object_creation, "object.__init__ with arguments");
  tracer.values().exact_type(args.positional[0]);
  return tracer.values().none();
}

const OpcodeRegistration registration{{Opcode::LOAD_ATTR, load_attr}, {Opcode::LOAD_METHOD, load_method}};

void add_attribute_calls() {
  auto method = [](const char* name) {
    return check(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyBaseObject_Type), name));
  };
  register_call(method("__init__").get(), call_object_init);
  register_call(method("__getattribute__").get(), call_object_getattribute);
  register_value_type(tuple_field_type());
}

const CallRegistration call_registration(add_attribute_calls);

}  // namespace
ValuePtr attribute(Tracer& tracer, const ValuePtr& object, BorrowedRef name) {
  Bound bound = look_up(tracer, object, name);
  return bound.value && bound.is_method ? bound_method(bound, object) : bound.value;
}

ValuePtr optional_attribute(Tracer& tracer, const ValuePtr& object, BorrowedRef name) {
  Bound bound = look_up(tracer, object, name, true);
  return bound.value && bound.is_method ? bound_method(bound, object) : bound.value;
}

void load_attribute(Tracer& tracer, const ValuePtr& object, BorrowedRef name, int operands) {
  size_t depth = tracer.frames().depth();
  ValuePtr value = attribute(tracer, object, name);
  if (tracer.frames().depth() > depth)
    return tracer.frames().drop_below_callee(operands);  // an inlined getter pushes the result when it returns
  tracer.frames().pop_many(operands);
  tracer.frames().push(std::move(value));
}

void load_method(Tracer& tracer, const ValuePtr& object, BorrowedRef name, int operands) {
  size_t depth = tracer.frames().depth();
  Bound bound = look_up(tracer, object, name);
  if (tracer.frames().depth() > depth) {
    tracer.frames().innermost().continuation = ContinuationKind::PushCallable;
    // Python looks up a method in a different way, which does not augment the exception of a getter.
    PyTypeObject* type = type_of(object);
    if (type != nullptr && type->tp_getattro == PyObject_GenericGetAttr)
      tracer.frames().innermost().continuation_value = nullptr;
    return tracer.frames().drop_below_callee(operands);
  }
  ValuePtr self = bound.self ? bound.self : object;
  tracer.frames().pop_many(operands);
  if (!bound.is_method) return tracer.frames().push_callable(std::move(bound.value));
  tracer.frames().push(std::move(bound.value));
  tracer.frames().push(std::move(self));
}

ValuePtr type_value(Tracer& tracer, const ValuePtr& object) {
  if (auto* instance = as<InstanceValue>(object)) return instance->type;
  if (auto* sequence = as<SequenceValue>(object); sequence != nullptr && sequence->type) return sequence->type;
  if (auto* dict = as<DictValue>(object); dict != nullptr && dict->type) return dict->type;
  if (auto* known = as<ObjectValue>(object); known != nullptr && known->traced_class)
    return tracer.classes().find(known->object)->meta;
  PyTypeObject* type = tracer.values().exact_type(object);
  const Source* source = source_of(object);
  if (source == nullptr || !PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE))
    return tracer.values().constant(reinterpret_cast<PyObject*>(type));
  ValuePtr value = value_at(tracer, tracer.sources().get(SourceKind::Type, source, nullptr),
                            Ref::share(reinterpret_cast<PyObject*>(type)));
  // Implied by the type guard on the object.
  as<ObjectValue>(value)->value_guarded = true;
  as<ObjectValue>(value)->type_guarded = !may_change(Py_TYPE(type));
  return value;
}

ValuePtr type_attribute(Tracer& tracer, const ValuePtr& object, BorrowedRef name) {
  return class_attribute(tracer, type_value(tracer, object), name);
}

ValuePtr class_attribute(Tracer& tracer, const ValuePtr& type_value, BorrowedRef name) {
  auto* known = as<ObjectValue>(type_value);
  PyTypeObject* type = class_in(type_value);
  if (known->traced_class) return made_attribute(tracer, *tracer.classes().find(known->object), name);
  if (auto written = written_on_class(tracer, type_value, name)) return *written;
  if (known->source == nullptr || !may_change(type)) {
    PyObject* found = _PyType_Lookup(type, name);
    return found != nullptr ? tracer.values().constant(found) : nullptr;
  }
  const Source* source = tracer.sources().get(SourceKind::TypeAttr, known->source, name);
  ValuePtr found = value_at(tracer, source);
  if (!found) tracer.guards().absent(source);
  return found;
}

ValuePtr user_method(Tracer& tracer, const ValuePtr& object, BorrowedRef name) {
  return has_python_class(object) ? python_method(tracer, object, name) : nullptr;
}

ValuePtr python_method(Tracer& tracer, const ValuePtr& object, BorrowedRef name) {
  ValuePtr method = type_attribute(tracer, object, name);
  if (!method || is_python_function(method)) return method;
  // Guarded although nothing is called: the class may be given such a method later.
  if (source_of(method) != nullptr) tracer.values().identity_of(method);
  return nullptr;
}

}  // namespace md
