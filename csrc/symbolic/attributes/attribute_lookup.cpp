#include "symbolic/attributes/attribute_lookup.h"

#include <algorithm>

#include "cpython/library_types.h"
#include "cpython/object_layout.h"
#include "cpython/object_protocol.h"
#include "cpython/text.h"
#include "guards/constants.h"
#include "guards/guard_set.h"
#include "guards/guarded_ref.h"
#include "guards/return_types.h"
#include "symbolic/attributes/attributes.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/builtins/late_pure_calls.h"
#include "symbolic/calls/calls.h"
#include "symbolic/calls/slot_calls.h"
#include "symbolic/effects/pending_writes.h"
#include "symbolic/exceptions/exceptions.h"
#include "symbolic/facts/class_relations.h"
#include "symbolic/facts/copied_names.h"
#include "symbolic/facts/name_spaces.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/sizes/symbolic_sizes.h"
#include "symbolic/tensors/tensor_callables.h"
#include "symbolic/tensors/tensor_parts.h"

namespace md {

Bound AttributeLookup::on_instance() {
  PyTypeObject* type = tracer_.values().exact_type(object_);
  if (type->tp_getattro != PyObject_GenericGetAttr) {
    if (ValuePtr method = own_getattribute(type, &PyBaseObject_Type)) return call_getattribute(method);
    require_getattr_hook(type, &PyBaseObject_Type);
  } else {
    guard_own_way();
  }
  return generic();
}

std::optional<Bound> AttributeLookup::found() {
  if (auto* made = as<InstanceValue>(object_); made != nullptr && made->opaque_since != 0) unknown();
  ValuePtr on_type = type_attribute(tracer_, object_, name_);
  PyTypeObject* descriptor = on_type ? descriptor_type(on_type) : nullptr;
  if (descriptor != nullptr && is_data_descriptor(descriptor)) return read_descriptor(on_type);
  if (ValuePtr own = own_attribute()) return Bound{own};
  return on_type ? std::optional(bind(on_type)) : std::nullopt;
}

Bound AttributeLookup::generic() {
  std::optional<Bound> attribute = found();
  return attribute ? *attribute : missing();
}

Bound AttributeLookup::on_super() {
  auto* super = as<SuperValue>(object_);
  ValuePtr start;
  ValuePtr found = super_attribute(tracer_, *super, name_, start);
  if (!found) unknown();
  bool is_class = start == super->self;
  PyTypeObject* descriptor = descriptor_type(found);
  if (descriptor == &PyFunction_Type || descriptor == &PyWrapperDescr_Type || descriptor == &PyMethodDescr_Type)
    return {found, !is_class, super->self};
  if (descriptor->tp_descr_get == nullptr) return {found};
  if (ValuePtr unwrapped = unwrap(found, SourceKind::WrappedFunction, &PyStaticMethod_Type)) return {unwrapped};
  if (ValuePtr unwrapped = unwrap_class_method(found)) return {make_value<BoundMethodValue>(unwrapped, start)};
  if (descriptor == &PyClassMethodDescr_Type) return {make_value<BoundMethodValue>(found, start)};
  if (has_python_get(found))
    return inline_getter(python_get_, {found, is_class ? tracer_.values().none() : super->self, start});
  if (is_class || !reads_as_property(descriptor)) unknown();
  object_ = super->self;
  return read_descriptor(found);
}

Bound AttributeLookup::on_class() {
  PyTypeObject* metatype = tracer_.values().exact_type(object_);
  if (metatype->tp_getattro != PyType_Type.tp_getattro) {
    if (own_getattribute(metatype, &PyType_Type)) unknown();
    require_getattr_hook(metatype, &PyType_Type);
  } else {
    guard_own_way();
  }
  tracer_.values().identity_of(object_);
  // A data descriptor of the metaclass (__name__, __dict__ ...) takes precedence.
  ValuePtr meta = type_attribute(tracer_, object_, name_);
  if (meta && is_data_descriptor(descriptor_type(meta))) return read_descriptor(meta);
  ValuePtr found = class_attribute(tracer_, object_, name_);
  if (!found) return meta ? bind(meta) : missing();
  if (is_descriptor_of_traced_class(tracer_, found)) unknown();
  PyTypeObject* descriptor = descriptor_type(found);
  if (descriptor == &PyFunction_Type || descriptor->tp_descr_get == nullptr || is_cached(found)) return {found};
  if (descriptor == &PyClassMethodDescr_Type) return {make_value<BoundMethodValue>(found, object_)};
  if (has_python_get(found)) return inline_getter(python_get_, {found, tracer_.values().none(), object_});
  if (ValuePtr unwrapped = unwrap(found, SourceKind::WrappedFunction, &PyStaticMethod_Type)) return {unwrapped};
  if (ValuePtr unwrapped = unwrap_class_method(found)) return {make_value<BoundMethodValue>(unwrapped, object_)};
  if (reads_as_property(descriptor) || descriptor == &PyMethodDescr_Type || descriptor == &PyWrapperDescr_Type ||
      descriptor == &PyMemberDescr_Type || descriptor == &PyGetSetDescr_Type || descriptor == tuple_field_type())
    return {found};
  unknown();
}

Bound AttributeLookup::on_made_function() {
  auto* function = as<FunctionValue>(object_);
  if (ValuePtr* set = function->find(name_)) return {*set};
  if (Ref text = name_by_code(*function, name_)) return {tracer_.values().constant(text)};
  if (is("__code__")) return {tracer_.values().constant(function->code.get())};
  if (is("__dict__")) return {tracer_.effects().function_dict(object_)};
  if (is("__annotate__") && _PyType_Lookup(&PyFunction_Type, name_) != nullptr) return {tracer_.values().none()};
  if (is("__annotations__")) {
    static PyObject* const kAnnotate = PyUnicode_InternFromString("__annotate__");
    ValuePtr* made_by = function->find(kAnnotate);
    if (!function->annotations && made_by != nullptr && !same_object(tracer_, *made_by, tracer_.values().none()))
      unknown();
    if (!function->annotations) function->annotations = make_value<DictValue>();
    return {function->annotations};
  }
  if (is("__module__")) return module_of_made(function);
  if (is("__globals__")) return {globals_dict(tracer_, maker_of(function))};
  if (is("__type_params__") && _PyType_Lookup(&PyFunction_Type, name_) != nullptr)
    return {make_value<SequenceValue>(false, std::vector<ValuePtr>())};
  if (is("__defaults__")) return {function->defaults ? function->defaults : tracer_.values().none()};
  if (is("__kwdefaults__")) return {function->kw_defaults ? function->kw_defaults : tracer_.values().none()};
  return on_builtin();
}

ValuePtr AttributeLookup::maker_of(FunctionValue* function) {
  ValuePtr maker = function->globals_from ? function->globals_from : tracer_.frames().root().function;
  while (auto* made = as<FunctionValue>(maker))
    maker = made->globals_from ? made->globals_from : tracer_.frames().root().function;
  auto* known = as<ObjectValue>(maker);
  if (known == nullptr || known->source == nullptr) unknown();
  return maker;
}

Bound AttributeLookup::module_of_made(FunctionValue* function) {
  static PyObject* const kName = PyUnicode_InternFromString("__name__");
  ValuePtr made_by = maker_of(function);
  const Source* maker = as<ObjectValue>(made_by)->source;
  if (tracer_.effects().any_dict_written_at(kName)) unknown();
  ValuePtr name = value_at(tracer_, tracer_.sources().get(SourceKind::Global, maker, kName));
  if (!name) unknown();
  return {name};
}

Bound AttributeLookup::on_model(BorrowedRef model) {
  PyObject* descriptor = _PyType_Lookup(model.type(), name_);
  if (descriptor == nullptr) return missing();
  if (Py_IS_TYPE(descriptor, &PyMethodDescr_Type)) return {tracer_.values().constant(descriptor), true};
  Ref value = Ref::steal(PyObject_GenericGetAttr(model, name_));
  PyErr_Clear();
  if (!value || !is_guardable_constant(value.get())) unknown();
  return {tracer_.values().constant(value)};
}

// Each once; None stands for its type.
void AttributeLookup::add_arguments_of_union(const ConstructedValue& made, std::vector<ValuePtr>& parts) {
  for (ValuePtr part : made.positional) {
    if (auto* inner = as<ConstructedValue>(part)) {
      add_arguments_of_union(*inner, parts);
      continue;
    }
    if (same_object(tracer_, part, tracer_.values().none()))
      part = tracer_.values().constant(reinterpret_cast<PyObject*>(Py_TYPE(Py_None)));
    if (std::ranges::none_of(parts, [&](const ValuePtr& known) { return same_object(tracer_, known, part); }))
      parts.push_back(part);
  }
}

Bound AttributeLookup::on_made_object() {
  auto* made = as<ConstructedValue>(object_);
  bool is_partial = std::string_view(type_of(object_)->tp_name) == "functools.partial";
  if (made->model && PyWeakref_CheckRef(made->model.get())) unknown();  // it has a callback, which the model lacks
  if (made->model) return on_model(made->model.get());
  PyTypeObject* type = type_of(object_);
  if (BorrowedRef member = member_of_part(object_, name_)) {
    if (!is_data_descriptor(Py_TYPE(member.get()))) return {tracer_.values().constant(member), true};
    return {call_tensor_callable(tracer_, *find_tensor_callable(member), {{object_}, {}})};
  }
  bool copies = type == &PyProperty_Type && (is("getter") || is("setter") || is("deleter"));
  if (copies) return {tracer_.values().constant(_PyType_Lookup(type, name_)), true};
  PyObject* of_proxy = type == &PyDictProxy_Type ? _PyType_Lookup(type, name_) : nullptr;
  if (of_proxy != nullptr && Py_IS_TYPE(of_proxy, &PyMethodDescr_Type))
    return {tracer_.values().constant(of_proxy), true};
  if (is("__func__") && (type == &PyStaticMethod_Type || type == &PyClassMethod_Type)) return {made->positional[0]};
  // A partial has no instance attributes: setting one ends the region. A class method copies those of its function.
  bool has_none = type->tp_dictoffset == 0 || is_partial;
  if (has_none && type->tp_getattro == PyObject_GenericGetAttr && _PyType_Lookup(type, name_) == nullptr)
    return missing();
  if (type == &Py_GenericAliasType && is("__origin__")) return {made->positional[0]};
  if (type == &Py_GenericAliasType && is("__args__")) {
    if (tracer_.values().is_exactly(made->positional[1], &PyTuple_Type)) return {made->positional[1]};
    if (PyType_IsSubtype(type_of(made->positional[1]), &PyTuple_Type) != 0) unknown();
    return {make_value<SequenceValue>(false, std::vector<ValuePtr>{made->positional[1]})};
  }
  if (type == union_type() && is("__args__")) {
    std::vector<ValuePtr> parts;
    add_arguments_of_union(*made, parts);
    return {make_value<SequenceValue>(false, std::move(parts))};
  }
  if (is_partial && is("func")) return {made->positional[0]};
  if (is_partial && is("args"))
    return {
        make_value<SequenceValue>(false, std::vector<ValuePtr>(made->positional.begin() + 1, made->positional.end()))};
  unknown();
}

Bound AttributeLookup::on_method() {
  auto part = [this](SourceKind kind) {
    auto* known = as<ObjectValue>(object_);
    if (known == nullptr)
      return kind == SourceKind::MethodSelf ? as<BoundMethodValue>(object_)->self
                                            : as<BoundMethodValue>(object_)->function;
    if (known->source == nullptr) unknown();
    tracer_.values().exact_type(object_);
    return value_at(tracer_, tracer_.sources().get(kind, known->source, nullptr));
  };
  if (is("__self__")) return {part(SourceKind::MethodSelf)};
  ValuePtr function = part(SourceKind::MethodFunction);
  if (is("__func__")) return {function};
  // Names found on the method type itself (__call__, __get__ ...) are attributes of the method.
  if (_PyType_Lookup(&PyMethod_Type, name_) != nullptr && !is("__doc__")) unknown();
  if (!is_python_function(function)) unknown();
  object_ = function;
  return function->kind == ValueKind::Function ? on_made_function() : on_instance();
}

Bound AttributeLookup::on_module() {
  static PyObject* const kGetattr = PyUnicode_InternFromString("__getattr__");
  PyTypeObject* type = tracer_.values().exact_type(object_);
  auto* module = as<ObjectValue>(object_);
  if (module->source == nullptr || tracer_.effects().any_dict_written_at(name_)) unknown();
  if (type != &PyModule_Type) return on_module_of_class(type);
  const Source* source = tracer_.sources().get(SourceKind::ModuleAttr, module->source, name_);
  if (ValuePtr value = value_at(tracer_, source)) return {value};
  if (load_own_part(module->object.get()))
    if (ValuePtr value = value_at(tracer_, source)) return {value};
  if (is("__dict__"))
    if (ValuePtr names = value_at(tracer_, tracer_.sources().get(SourceKind::InstanceDict, module->source, nullptr)))
      return {names};
  if (_PyType_Lookup(&PyModule_Type, name_) != nullptr) unknown();
  const Source* hook = tracer_.sources().get(SourceKind::ModuleAttr, module->source, kGetattr);
  ValuePtr getter = value_at(tracer_, hook);
  tracer_.guards().absent(source);
  if (!getter) tracer_.guards().absent(hook);
  return getter ? missing_in_module(getter) : missing();
}

// A subclass of the module type: its class comes first, as for any instance.
Bound AttributeLookup::on_module_of_class(PyTypeObject* type) {
  static PyObject* const kGetattr = PyUnicode_InternFromString("__getattr__");
  if (type->tp_getattro != PyModule_Type.tp_getattro) require_getattr_hook(type, &PyModule_Type);
  guard_own_way();
  if (std::optional<Bound> attribute = found()) return *attribute;
  ValuePtr getter = md::own_value(tracer_, object_, kGetattr);
  // Where both have one, that of the class handles the AttributeError of the module's.
  if (getter && hook_) unknown();
  return getter ? missing_in_module(getter) : missing();
}

// Calls the __getattr__ in the names of the module.
Bound AttributeLookup::missing_in_module(const ValuePtr& getter) {
  // That of the package itself has been asked.
  if (load_own_part(as<ObjectValue>(object_)->object.get())) unknown();
  if (!is_python_function(getter)) unknown();
  return inline_getter(getter, {tracer_.values().constant(name_)});
}

bool AttributeLookup::load_own_part(BorrowedRef module) {
  static PyObject* const kName = PyUnicode_InternFromString("minidynamo");
  if (module.get() != Ref::steal(PyImport_GetModule(kName)).get()) return false;
  Ref part = Ref::steal(PyObject_GetAttr(module, name_));
  if (!part) PyErr_Clear();
  return static_cast<bool>(part);
}

namespace {

// The type itself where the tensor is of a subclass of it.
PyTypeObject* plain_type(const TensorValue& tensor) {
  return tensor.family->result_type(tensor.spec.dtype, tensor.spec.rank());
}

}  // namespace

Bound AttributeLookup::on_tensor() {
  auto* tensor = as<TensorValue>(object_);
  tracer_.values().guard_tensor(tensor);
  PyObject* descriptor = descriptor_of_tensor();
  bool comes_first = descriptor != nullptr && is_data_descriptor(Py_TYPE(descriptor));
  if (ValuePtr own = comes_first ? nullptr : own_of_tensor(tensor)) return {own};
  if (const TensorAttribute* known = tensor->family->attribute(text_of(name_)))
    return {tensor_attribute(tracer_, object_, *known)};
  if (is("__class__")) return {type_value(tracer_, object_)};
  if (descriptor == nullptr) return missing();
  if (ValuePtr method = composite_method(descriptor)) return {method, true};
  if (!Py_IS_TYPE(descriptor, &PyMethodDescr_Type) && !is_known_slot(descriptor))
    graph_break(BreakReason::tensor_attribute, text_of(name_));
  return {tracer_.values().constant(descriptor), true};
}

PyObject* AttributeLookup::descriptor_of_tensor() {
  PyTypeObject* type = type_of(object_);
  PyObject* descriptor = _PyType_Lookup(type, name_);
  if (!may_change(type)) return descriptor;
  // Subclasses (Parameter): attributes of the subclass itself are left to the interpreter.
  guard_own_way();
  ValuePtr found = type_attribute(tracer_, object_, name_);
  if (found && source_of(found) != nullptr) tracer_.values().identity_of(found);
  bool is_of_tensor = descriptor == _PyType_Lookup(plain_type(*as<TensorValue>(object_)), name_);
  if (!is_of_tensor || type->tp_getattro != PyObject_GenericGetAttr)
    graph_break(BreakReason::tensor_attribute, text_of(name_));
  return descriptor;
}

ValuePtr AttributeLookup::own_of_tensor(const TensorValue* tensor) {
  if (tensor->source == nullptr) return nullptr;  // created in the trace: it has no instance attributes
  PyObject* value = nullptr;
  int found = pv_instance_lookup(tensor->object, name_, &value);
  // The written dict may be this tensor's attribute dict.
  if (found < 0 || tracer_.effects().any_dict_written_at(name_))
    graph_break(BreakReason::tensor_attribute, text_of(name_));
  if (pv_instance_dict(tensor->object) == nullptr) {
    tracer_.guards().absent(tracer_.sources().get(SourceKind::InstanceDict, tensor->source, nullptr));
    return nullptr;
  }
  const Source* source = tracer_.sources().get(SourceKind::InstanceAttr, tensor->source, name_);
  if (found > 0) return value_at(tracer_, source);
  tracer_.guards().absent(source);
  return nullptr;
}

ValuePtr AttributeLookup::composite_method(PyObject* descriptor) {
  if (descriptor == nullptr || !PyFunction_Check(descriptor)) return nullptr;
  // The type is found where its qualified name says.
  auto* plain = reinterpret_cast<PyObject*>(plain_type(*as<TensorValue>(object_)));
  Ref module = check(PyObject_GetAttrString(plain, "__module__")),
      own = check(PyObject_GetAttrString(plain, "__name__"));
  if (!PyUnicode_Check(module.get()) || !loaded_module(tracer_, module)) return nullptr;
  const Source* package = tracer_.sources().get(SourceKind::LoadedModule, nullptr, module);
  const Source* type = tracer_.sources().get(SourceKind::ModuleAttr, package, own);
  ValuePtr found = value_at(tracer_, tracer_.sources().get(SourceKind::TypeAttr, type, name_));
  auto* known = as<ObjectValue>(found);
  return known != nullptr && known->object.get() == descriptor ? found : nullptr;
}

Bound AttributeLookup::on_return_type() {
  PyTypeObject* type = tracer_.values().exact_type(object_);
  std::optional<int> index = return_field(type, name_);
  if (index) return {(*elements_of(tracer_, object_))[static_cast<size_t>(*index)]};
  PyObject* descriptor = _PyType_Lookup(type, name_);
  if (descriptor == nullptr) return missing();
  if (!Py_IS_TYPE(descriptor, &PyMethodDescr_Type)) unknown();
  return {tracer_.values().constant(descriptor), true};
}

Bound AttributeLookup::on_builtin() {
  PyTypeObject* type = tracer_.values().exact_type(object_);
  // super objects, proxies and generic aliases forward attributes of another object; a bound method does so for missing
  // ones.
  if (type == &Py_GenericAliasType) return on_alias();
  if (type == union_type() && is("__args__") && as<ObjectValue>(object_) != nullptr)
    return read_slot(tracer_.values().constant(_PyType_Lookup(type, name_)));
  if (type->tp_getattro != PyObject_GenericGetAttr && (type != &PyMethod_Type || is("__class__"))) unknown();
  if (is("__class__")) return {type_value(tracer_, object_)};
  if (auto* method = as<BoundMethodValue>(object_); method != nullptr && is("__self__")) return {method->self};
  if (PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) unknown();
  PyObject* descriptor = _PyType_Lookup(type, name_);
  // Instance attributes of a function created in the trace were handled by on_made_function().
  if (descriptor == nullptr && type->tp_dictoffset != 0 && object_->kind != ValueKind::Function) unknown();
  if (descriptor == nullptr) return missing();
  // A slot wrapper (__next__) counts as well, if its call is known.
  bool is_method =
      Py_IS_TYPE(descriptor, &PyMethodDescr_Type) || is_method_of_library(descriptor) ||
      (Py_IS_TYPE(descriptor, &PyWrapperDescr_Type) && (is_known_slot(descriptor) || find_call(descriptor) != nullptr));
  if (is_method) return {tracer_.values().constant(descriptor), true};
  if (Py_IS_TYPE(descriptor, &PyStaticMethod_Type))
    return {tracer_.values().constant(check(Py_TYPE(descriptor)->tp_descr_get(descriptor, nullptr, nullptr)))};
  if (Py_IS_TYPE(descriptor, &PyMemberDescr_Type) && is_plain_tuple(tracer_, object_))
    return {field_of_struct(descriptor)};
  if (is_immutable_builtin(type)) return constant_field();
  if (Ref constant = constant_of(tracer_, object_)) {
    // A field of a number or range (x.real, r.start).
    Ref value = Ref::steal(PyObject_GenericGetAttr(constant, name_));
    if (value && is_guardable_constant(value.get())) return {tracer_.values().constant(value)};
    PyErr_Clear();
  }
  if (Py_IS_TYPE(descriptor, &PyMemberDescr_Type) && object_->kind == ValueKind::Object)
    return read_slot(tracer_.values().constant(descriptor));
  unknown();
}

bool AttributeLookup::is_immutable_builtin(PyTypeObject* type) {
  return type == &PyCode_Type || type == &PyCFunction_Type || type == pattern_type();
}

Bound AttributeLookup::constant_field() {
  // That of a builtin may change.
  if (is("__module__") || !tracer_.values().identity_of(object_)) unknown();
  Ref value = Ref::steal(PyObject_GenericGetAttr(as<ObjectValue>(object_)->object, name_));
  PyErr_Clear();
  if (!value || !is_guardable_constant(value.get())) unknown();
  return {tracer_.values().constant(value)};
}

Bound AttributeLookup::on_alias() {
  if (is("__origin__") || is("__args__"))
    return read_slot(tracer_.values().constant(_PyType_Lookup(&Py_GenericAliasType, name_)));
  if (text_of(name_).starts_with("__") || as<ObjectValue>(object_) == nullptr) unknown();
  static PyObject* const kOrigin = PyUnicode_InternFromString("__origin__");
  ValuePtr origin = AttributeLookup(tracer_, object_, kOrigin).on_alias().value;
  Bound found = look_up(tracer_, origin, name_, probing_);
  if (found.is_method && !found.self) found.self = origin;
  return found;
}

Bound AttributeLookup::on_thread_local() {
  tracer_.values().exact_type(object_);
  auto* known = as<ObjectValue>(object_);
  if (known->source == nullptr || type_attribute(tracer_, object_, name_) ||
      tracer_.effects().any_dict_written_at(name_))
    unknown();
  ValuePtr names = value_at(tracer_, tracer_.sources().get(SourceKind::AttributesDict, known->source, nullptr));
  if (!names || !tracer_.values().is_exactly(names, &PyDict_Type)) unknown();
  ValuePtr value = dict_item(tracer_, names, name_);
  return value ? Bound{value} : missing();
}

ValuePtr AttributeLookup::own_value() {
  ValuePtr on_type = type_attribute(tracer_, object_, name_);
  if (on_type && tracer_.values().exact_type(on_type) == &PyMemberDescr_Type) return slot_value(on_type);
  return own_attribute();
}

Bound AttributeLookup::missing() {
  if (hook_) return call_getattr_hook();
  static PyObject* const kGetattr = PyUnicode_InternFromString("__getattr__");
  bool has_class = object_->kind == ValueKind::Object || object_->kind == ValueKind::Instance;
  if (has_class || (is_tensor(object_) && may_change(type_of(object_))))
    type_attribute(tracer_, object_, kGetattr);  // guarded: it may be added to the class later
  if (probing_) return {nullptr};
  auto* known = as<ObjectValue>(object_);
  std::string type = type_of(object_)->tp_name;
  bool is_class = known != nullptr && PyType_Check(known->object.get());
  if (is_class) type = reinterpret_cast<PyTypeObject*>(known->object.get())->tp_name;
  if (known != nullptr && PyModule_Check(known->object.get())) raise_here();  // in words of its own
  bool is_held = known != nullptr || object_->kind == ValueKind::Instance || object_->kind == ValueKind::Function ||
                 object_->kind == ValueKind::Constructed;
  bool by_object = PyType_HasFeature(type_of(object_), Py_TPFLAGS_HEAPTYPE) || type_of(object_) == &PyFunction_Type;
  if (type.size() > 50 || !is_held || !(is_class || by_object)) raise_here();
  const char* format = is_class ? "type object '%s' has no attribute '%U'" : "'%s' object has no attribute '%U'";
  Ref text = check(PyUnicode_FromFormat(format, type.c_str(), name_.get()));
  raise_known(tracer_, PyExc_AttributeError, {tracer_.values().constant(text)});
}

bool AttributeLookup::is_own_way(PyTypeObject* type, PyTypeObject* base) {
  static PyObject* const kGetattribute = PyUnicode_InternFromString("__getattribute__");
  PyObject* found = _PyType_Lookup(type, kGetattribute);
  if (found == _PyType_Lookup(base, kGetattribute)) return true;
  return base == &PyBaseObject_Type && found != nullptr && Py_IS_TYPE(found, &PyWrapperDescr_Type) &&
         reinterpret_cast<PyWrapperDescrObject*>(found)->d_wrapped == reinterpret_cast<void*>(PyObject_GenericGetAttr);
}

void AttributeLookup::guard_own_way() {
  static PyObject* const kGetattribute = PyUnicode_InternFromString("__getattribute__");
  if (!PyType_HasFeature(type_of(object_), Py_TPFLAGS_HEAPTYPE)) return;
  if (ValuePtr found = type_attribute(tracer_, object_, kGetattribute)) tracer_.values().identity_of(found);
}

ValuePtr AttributeLookup::own_getattribute(PyTypeObject* type, PyTypeObject* base) {
  static PyObject* const kGetattribute = PyUnicode_InternFromString("__getattribute__");
  if (is_own_way(type, base)) return nullptr;
  ValuePtr method = type_attribute(tracer_, object_, kGetattribute);
  if (!method || !is_python_function(method)) unknown();
  return method;
}

Bound AttributeLookup::call_getattribute(const ValuePtr& method) {
  static PyObject* const kGetattr = PyUnicode_InternFromString("__getattr__");
  hook_ = type_attribute(tracer_, object_, kGetattr);
  if (hook_ && !is_python_function(hook_)) unknown();
  return inline_getter(method, {object_, tracer_.values().constant(name_)});
}

}  // namespace md
