#include "symbolic/attributes.h"

#include <algorithm>

#include "cpython/library_types.h"
#include "cpython/object_layout.h"
#include "cpython/object_protocol.h"
#include "cpython/text.h"
#include "frontends/op_callables.h"
#include "frontends/tensor_facts.h"
#include "guards/cached_calls.h"
#include "guards/constants.h"
#include "guards/held_object.h"
#include "guards/named_results.h"
#include "guards/object_fields.h"
#include "symbolic/exceptions.h"

#include <structmember.h>

namespace md {

namespace {

// Python has the descriptor of field i of a named tuple, an object that never changes, give it away as (i, doc).
PyTypeObject* tuple_field_type() {
  static PyObject* const type = imported("_collections", "_tuplegetter").release();
  return reinterpret_cast<PyTypeObject*>(type);
}

Py_ssize_t tuple_field_index(BorrowedRef descriptor) {
  Ref parts = check(PyObject_CallMethod(descriptor, "__reduce__", nullptr));
  return PyLong_AsSsize_t(PyTuple_GET_ITEM(PyTuple_GET_ITEM(parts.get(), 1), 0));
}

// The descriptor __dict__ that Python gives to every class whose objects have one. No class can be given another one later.
bool is_attributes_descriptor(BorrowedRef descriptor) {
  static PyObject* const type = reinterpret_cast<PyObject*>(&PyType_Type);
  static PyObject* const sample = check(PyObject_CallFunction(type, "s(){}", "sample")).release();
  if (!Py_IS_TYPE(descriptor.get(), &PyGetSetDescr_Type)) return false;
  PyObject* known = _PyType_Lookup(reinterpret_cast<PyTypeObject*>(sample), PyUnicode_InternFromString("__dict__"));
  auto getter = [](BorrowedRef of) { return reinterpret_cast<PyGetSetDescrObject*>(of.get())->d_getset->get; };
  return known != nullptr && Py_IS_TYPE(known, &PyGetSetDescr_Type) && getter(descriptor) == getter(known);
}

class AttributeLookup {
 public:
  // probing: what is not there is an answer, not an error.
  AttributeLookup(Walk& walk, const ValuePtr& object, BorrowedRef name, bool probing = false)
      : walk_(walk), object_(object), name_(name), probing_(probing) {}

  // Generic look-up on an instance: data descriptor, own storage, type attribute, __getattr__.
  Bound on_instance() {
    PyTypeObject* type = walk_.exact_type(object_);
    if (type->tp_getattro != PyObject_GenericGetAttr) {
      if (ValuePtr method = own_getattribute(type, &PyBaseObject_Type)) return call_getattribute(method);
      require_getattr_hook(type, &PyBaseObject_Type);
    } else {
      guard_own_way();
    }
    return generic();
  }

  // object.__getattribute__, which knows no hook unless the type look-up has set it.
  Bound generic() {
    ValuePtr on_type = walk_.type_attribute(object_, name_);
    PyTypeObject* descriptor = on_type ? descriptor_type(on_type) : nullptr;
    if (descriptor != nullptr && is_data_descriptor(descriptor)) return read_descriptor(on_type);
    if (ValuePtr own = own_attribute()) return {own};
    if (on_type) return bind(on_type);
    return missing();
  }

  // What is behind a class in the MRO, bound as super() does.
  Bound on_super() {
    auto* super = as<SuperValue>(object_);
    ValuePtr start;
    ValuePtr found = walk_.super_attribute(*super, name_, start);
    if (!found) unknown();
    bool is_class = start == super->self;
    PyTypeObject* descriptor = walk_.exact_type(found);
    if (descriptor == &PyFunction_Type || descriptor == &PyWrapperDescr_Type || descriptor == &PyMethodDescr_Type)
      return {found, !is_class, super->self};
    if (descriptor->tp_descr_get == nullptr) return {found};
    if (ValuePtr unwrapped = unwrap(found, SourceKind::WrappedFunction, &PyStaticMethod_Type)) return {unwrapped};
    if (ValuePtr unwrapped = unwrap_class_method(found)) return {make_value<BoundMethodValue>(unwrapped, start)};
    if (has_python_get(found)) return inline_getter(python_get_, {found, is_class ? walk_.none() : super->self, start});
    if (is_class || descriptor != &PyProperty_Type) unknown();
    object_ = super->self;
    return read_descriptor(found);
  }

  Bound on_class() {
    PyTypeObject* metatype = walk_.exact_type(object_);
    if (metatype->tp_getattro != PyType_Type.tp_getattro) {
      if (own_getattribute(metatype, &PyType_Type)) unknown();
      require_getattr_hook(metatype, &PyType_Type);
    }
    walk_.identity_of(object_);
    // A data descriptor of the metaclass (__name__, __dict__ ...) comes first.
    ValuePtr meta = walk_.type_attribute(object_, name_);
    if (meta && is_data_descriptor(walk_.exact_type(meta))) return read_descriptor(meta);
    ValuePtr found = walk_.class_attribute(object_, name_);
    if (!found) return meta ? bind(meta) : missing();
    if (is_descriptor_of_made_class(walk_, found)) unknown();
    PyTypeObject* descriptor = descriptor_type(found);
    if (descriptor == &PyFunction_Type || descriptor->tp_descr_get == nullptr || is_cached(found)) return {found};
    if (descriptor == &PyClassMethodDescr_Type) return {make_value<BoundMethodValue>(found, object_)};
    if (has_python_get(found)) return inline_getter(python_get_, {found, walk_.none(), object_});
    if (ValuePtr unwrapped = unwrap(found, SourceKind::WrappedFunction, &PyStaticMethod_Type)) return {unwrapped};
    if (ValuePtr unwrapped = unwrap_class_method(found)) return {make_value<BoundMethodValue>(unwrapped, object_)};
    if (descriptor == &PyProperty_Type || descriptor == &PyMethodDescr_Type || descriptor == &PyWrapperDescr_Type ||
        descriptor == &PyMemberDescr_Type || descriptor == &PyGetSetDescr_Type || descriptor == tuple_field_type())
      return {found};
    unknown();
  }

  // A function that the walk made.
  Bound on_made_function() {
    auto* function = as<FunctionValue>(object_);
    auto* code = reinterpret_cast<PyCodeObject*>(function->code.get());
    if (ValuePtr* set = function->find(name_)) return {*set};
    if (is("__name__")) return {walk_.constant(code->co_name)};
    if (is("__qualname__")) return {walk_.constant(code->co_qualname)};
    if (is("__code__")) return {walk_.constant(function->code.get())};
    if (is("__dict__")) return {walk_.function_dict(object_)};
    if (is("__annotate__") && _PyType_Lookup(&PyFunction_Type, name_) != nullptr) return {walk_.none()};
    if (is("__annotations__")) {
      static PyObject* const kAnnotate = PyUnicode_InternFromString("__annotate__");
      ValuePtr* made_by = function->find(kAnnotate);
      if (!function->annotations && made_by != nullptr && !walk_.same_object(*made_by, walk_.none())) unknown();
      if (!function->annotations) function->annotations = make_value<DictValue>();
      return {function->annotations};
    }
    if (is("__module__")) return module_of_made(function);
    if (is("__doc__")) return {walk_.constant(pv_code_doc(code))};
    if (is("__type_params__") && _PyType_Lookup(&PyFunction_Type, name_) != nullptr)
      return {make_value<SequenceValue>(false, std::vector<ValuePtr>())};
    if (is("__defaults__")) return {function->defaults ? function->defaults : walk_.none()};
    if (is("__kwdefaults__")) return {function->kw_defaults ? function->kw_defaults : walk_.none()};
    return on_builtin();
  }

  // The __name__ of the globals that it was made in.
  Bound module_of_made(FunctionValue* function) {
    static PyObject* const kName = PyUnicode_InternFromString("__name__");
    ValuePtr maker = function->globals_from ? function->globals_from : walk_.root().function;
    while (auto* made = as<FunctionValue>(maker))
      maker = made->globals_from ? made->globals_from : walk_.root().function;
    auto* known = as<ObjectValue>(maker);
    if (known == nullptr || known->source == nullptr || walk_.any_dict_written_at(kName)) unknown();
    ValuePtr name = walk_.at(walk_.sources().get(SourceKind::Global, known->source, kName));
    if (!name) unknown();
    return {name};
  }

  // Of an object whose methods are pure.
  Bound on_model(BorrowedRef model) {
    PyObject* descriptor = _PyType_Lookup(model.type(), name_);
    if (descriptor == nullptr) return missing();
    if (Py_IS_TYPE(descriptor, &PyMethodDescr_Type)) return {walk_.constant(descriptor), true};
    Ref value = Ref::steal(PyObject_GenericGetAttr(model, name_));
    PyErr_Clear();
    if (!value || !is_guardable_constant(value.get())) unknown();
    return {walk_.constant(value)};
  }

  // functools.partial shows what it was made of; its dict of keywords is one object, which the walk does not have.
  Bound on_made_object() {
    auto* made = as<MadeValue>(object_);
    bool is_partial = std::string_view(type_of(object_)->tp_name) == "functools.partial";
    if (made->model && PyWeakref_CheckRef(made->model.get())) unknown();  // it has a callback, the model has none
    if (made->model) return on_model(made->model.get());
    PyTypeObject* type = type_of(object_);
    bool copies = type == &PyProperty_Type && (is("getter") || is("setter") || is("deleter"));
    if (copies) return {walk_.constant(_PyType_Lookup(type, name_)), true};
    if (is("__func__") && (type == &PyStaticMethod_Type || type == &PyClassMethod_Type)) return {made->positional[0]};
    if (is_partial && is("func")) return {made->positional[0]};
    if (is_partial && is("args"))
      return {make_value<SequenceValue>(false,
                                        std::vector<ValuePtr>(made->positional.begin() + 1, made->positional.end()))};
    unknown();
  }

  // __self__ and __func__ of a method; everything else is the function's.
  Bound on_method() {
    auto part = [this](SourceKind kind) {
      auto* known = as<ObjectValue>(object_);
      if (known == nullptr)
        return kind == SourceKind::MethodSelf ? as<BoundMethodValue>(object_)->self
                                              : as<BoundMethodValue>(object_)->function;
      if (known->source == nullptr) unknown();
      walk_.exact_type(object_);
      return walk_.at(walk_.sources().get(kind, known->source, nullptr));
    };
    if (is("__self__")) return {part(SourceKind::MethodSelf)};
    ValuePtr function = part(SourceKind::MethodFunction);
    if (is("__func__")) return {function};
    // What type's look-up finds on the method type itself (__call__, __get__ ...) is the method's.
    if (_PyType_Lookup(&PyMethod_Type, name_) != nullptr && !is("__doc__")) unknown();
    if (!walk_.is_python_function(function)) unknown();
    object_ = function;
    return function->kind == ValueKind::Function ? on_made_function() : on_instance();
  }

  Bound on_module() {
    walk_.exact_type(object_);
    auto* module = as<ObjectValue>(object_);
    if (module->source == nullptr || walk_.any_dict_written_at(name_)) unknown();
    const Source* source = walk_.sources().get(SourceKind::ModuleAttr, module->source, name_);
    if (ValuePtr value = walk_.at(source)) return {value};
    if (load_own_part(module->object.get()))
      if (ValuePtr value = walk_.at(source)) return {value};
    // A module's own __getattr__, or an attribute of the module type.
    static PyObject* const kGetattr = PyUnicode_InternFromString("__getattr__");
    const Source* hook = walk_.sources().get(SourceKind::ModuleAttr, module->source, kGetattr);
    if (!probing_ || _PyType_Lookup(&PyModule_Type, name_) != nullptr || walk_.at(hook)) unknown();
    walk_.guards().absent(source);
    walk_.guards().absent(hook);
    return missing();
  }

  // Our own package imports its parts when they are first asked for, which no program can tell from having them.
  bool load_own_part(BorrowedRef module) {
    if (module.get() != PyImport_AddModule("minidynamo")) return false;
    Ref part = Ref::steal(PyObject_GetAttr(module, name_));
    if (!part) PyErr_Clear();
    return static_cast<bool>(part);
  }

  Bound on_tensor() {
    auto* tensor = as<TensorValue>(object_);
    walk_.guard_tensor(tensor);
    if (is("shape")) return {walk_.shape_value(tensor->spec)};
    if (const TensorFact* fact = find_tensor_fact(text_of(name_)); fact != nullptr && !fact->is_method)
      return {walk_.constant(fact->value(tensor->spec, {}, nullptr))};
    if (const OpRow* row = find_tensor_view_attribute(text_of(name_)))
      return {walk_.call_op(*row, {{object_}, {}}, CallForm::Method)};
    // There are no gradients.
    if (is("grad") || is("grad_fn")) return {walk_.none()};
    PyTypeObject* type = type_of(object_);
    PyObject* descriptor = _PyType_Lookup(type, name_);
    if (descriptor == nullptr && (probing_ || !has_own_attribute(tensor))) return missing();
    if (ValuePtr method = composite_method(descriptor)) return {method, true};
    if (descriptor == nullptr || !Py_IS_TYPE(descriptor, &PyMethodDescr_Type))
      walk_.graph_break(BreakReason::tensor_attribute, text_of(name_));
    return {walk_.constant(descriptor), true};
  }

  // A method of the tensor type itself that is a Python function; null: it is none.
  ValuePtr composite_method(PyObject* descriptor) {
    if (descriptor == nullptr || !PyFunction_Check(descriptor)) return nullptr;
    static PyObject* const kPackage = PyUnicode_InternFromString("minidynamo");
    static PyObject* const kTensor = PyUnicode_InternFromString("Tensor");
    const Source* package = walk_.sources().get(SourceKind::LoadedModule, nullptr, kPackage);
    const Source* type = walk_.sources().get(SourceKind::ModuleAttr, package, kTensor);
    ValuePtr found = walk_.at(walk_.sources().get(SourceKind::TypeAttr, type, name_));
    auto* known = as<ObjectValue>(found);
    return known != nullptr && known->object.get() == descriptor ? found : nullptr;
  }

  // Only an object that exists can have been given one.
  bool has_own_attribute(const TensorValue* tensor) {
    if (tensor->source == nullptr) return false;
    Ref object = fetch(tensor->source, walk_.view());
    PyObject* value = nullptr;
    return !object || pv_instance_lookup(object, name_, &value) != 0;
  }

  // A named result; else a method that any tuple has.
  Bound on_named_results() {
    PyTypeObject* type = walk_.exact_type(object_);
    std::optional<int> index = named_result_index(type, name_);
    if (index) return {(*walk_.elements_of(object_))[static_cast<size_t>(*index)]};
    PyObject* descriptor = _PyType_Lookup(type, name_);
    if (descriptor == nullptr) return missing();
    if (!Py_IS_TYPE(descriptor, &PyMethodDescr_Type)) unknown();
    return {walk_.constant(descriptor), true};
  }

  // A method of an exact built-in type: its descriptor, unbound.
  Bound on_builtin() {
    PyTypeObject* type = walk_.exact_type(object_);
    // A super object, a proxy or a generic alias shows what is another object's; a bound method does so for what it lacks.
    if (type->tp_getattro != PyObject_GenericGetAttr && (type != &PyMethod_Type || is("__class__"))) unknown();
    if (is("__class__")) return {walk_.type_value(object_)};
    if (auto* method = as<BoundMethodValue>(object_); method != nullptr && is("__self__")) return {method->self};
    if (PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) unknown();
    PyObject* descriptor = _PyType_Lookup(type, name_);
    if (descriptor == nullptr && type->tp_dictoffset != 0) unknown();
    if (descriptor == nullptr) return missing();
    // A slot's method (__next__) is one as well, where it is known what calling it does.
    bool is_method = Py_IS_TYPE(descriptor, &PyMethodDescr_Type) ||
                     (Py_IS_TYPE(descriptor, &PyWrapperDescr_Type) && find_call(descriptor) != nullptr);
    if (is_method) return {walk_.constant(descriptor), true};
    if (Py_IS_TYPE(descriptor, &PyMemberDescr_Type) && walk_.is_plain_tuple(object_))
      return {field_of_struct(descriptor)};
    bool may_change = is("__module__");
    if (is_immutable_builtin(type) && !may_change && walk_.identity_of(object_)) {
      Ref value = Ref::steal(PyObject_GenericGetAttr(as<ObjectValue>(object_)->object, name_));
      if (value && is_guardable_constant(value.get())) return {walk_.constant(value)};
      PyErr_Clear();
      unknown();
    }
    if (Ref constant = walk_.constant_of(object_)) {
      // A number's or range's field (x.real, r.start).
      Ref value = Ref::steal(PyObject_GenericGetAttr(constant, name_));
      if (value && is_guardable_constant(value.get())) return {walk_.constant(value)};
      PyErr_Clear();
    }
    unknown();
  }

  // What the object itself holds, in a slot or in its storage; null: nothing.
  ValuePtr own_value() {
    ValuePtr on_type = walk_.type_attribute(object_, name_);
    if (on_type && walk_.exact_type(on_type) == &PyMemberDescr_Type) return slot_value(on_type);
    return own_attribute();
  }

 private:
  bool is(const char* name) const { return PyUnicode_CompareWithASCIIString(name_, name) == 0; }

  Bound missing() {
    if (hook_) return call_getattr_hook();
    static PyObject* const kGetattr = PyUnicode_InternFromString("__getattr__");
    if (object_->kind == ValueKind::Object || object_->kind == ValueKind::Instance)
      walk_.type_attribute(object_, kGetattr);  // one that the class is given later answers
    if (probing_) return {nullptr};
    auto* known = as<ObjectValue>(object_);
    std::string type = type_of(object_)->tp_name;
    bool is_class = known != nullptr && PyType_Check(known->object.get());
    if (is_class) type = reinterpret_cast<PyTypeObject*>(known->object.get())->tp_name;
    if (type.size() > 50 || (object_->kind != ValueKind::Instance && known == nullptr) ||
        !(is_class || PyType_HasFeature(type_of(object_), Py_TPFLAGS_HEAPTYPE)))
      walk_.raise_here();
    const char* format = is_class ? "type object '%s' has no attribute '%U'" : "'%s' object has no attribute '%U'";
    Ref text = check(PyUnicode_FromFormat(format, type.c_str(), name_.get()));
    walk_.raise_known(PyExc_AttributeError, {walk_.constant(text)});
  }

  // What of it is read never changes, once it is the same object.
  static bool is_immutable_builtin(PyTypeObject* type) { return type == &PyCode_Type || type == &PyCFunction_Type; }

  // A built-in class between (dict, list) that does as object does.
  static bool is_own_way(PyTypeObject* type, PyTypeObject* base) {
    static PyObject* const kGetattribute = PyUnicode_InternFromString("__getattribute__");
    PyObject* found = _PyType_Lookup(type, kGetattribute);
    if (found == _PyType_Lookup(base, kGetattribute)) return true;
    return base == &PyBaseObject_Type && found != nullptr && Py_IS_TYPE(found, &PyWrapperDescr_Type) &&
           reinterpret_cast<PyWrapperDescrObject*>(found)->d_wrapped ==
               reinterpret_cast<void*>(PyObject_GenericGetAttr);
  }

  // A class from outside may be given another __getattribute__.
  void guard_own_way() {
    static PyObject* const kGetattribute = PyUnicode_InternFromString("__getattribute__");
    if (!PyType_HasFeature(type_of(object_), Py_TPFLAGS_HEAPTYPE)) return;
    if (ValuePtr found = walk_.type_attribute(object_, kGetattribute)) walk_.identity_of(found);
  }

  // The __getattribute__ of a user's class; null: the base's own.
  ValuePtr own_getattribute(PyTypeObject* type, PyTypeObject* base) {
    static PyObject* const kGetattribute = PyUnicode_InternFromString("__getattribute__");
    if (is_own_way(type, base)) return nullptr;
    ValuePtr method = walk_.type_attribute(object_, kGetattribute);
    if (!method || !walk_.is_python_function(method)) unknown();
    return method;
  }

  Bound call_getattribute(const ValuePtr& method) {
    static PyObject* const kGetattr = PyUnicode_InternFromString("__getattr__");
    hook_ = walk_.type_attribute(object_, kGetattr);
    if (hook_ && !walk_.is_python_function(hook_)) unknown();
    return inline_getter(method, {object_, walk_.constant(name_)});
  }

  // A named element of sys.version_info or its like.
  ValuePtr field_of_struct(PyObject* descriptor) {
    auto* known = as<ObjectValue>(object_);
    Py_ssize_t first = offsetof(PyTupleObject, ob_item);
    Py_ssize_t at = (reinterpret_cast<PyMemberDescrObject*>(descriptor)->d_member->offset - first) /
                    static_cast<Py_ssize_t>(sizeof(PyObject*));
    if (known == nullptr || at < 0 || at >= PyTuple_GET_SIZE(known->object.get())) unknown();
    return walk_.element(known, at);
  }

  // Runs a getter: its result is the attribute. Where an AttributeError of it has an answer here, the getter is waited for.
  Bound inline_getter(const ValuePtr& getter, std::vector<ValuePtr> args) {
    if (getter == python_get_ && stand_in_ && !hook_ && !probing_)
      return {walk_.call_now(stand_in_, {std::move(args), {}})};
    if (!hook_ && !probing_) {
      std::vector<ValuePtr> looked_up{object_, walk_.constant(name_)};
      walk_.inline_function(getter, {std::move(args), {}}, ContinuationKind::Push,
                            make_value<SequenceValue>(false, std::move(looked_up)));
      return {nullptr};
    }
    if (std::optional<ValuePtr> value = walk_.call_catching(getter, {std::move(args), {}}, PyExc_AttributeError))
      return {*value};
    return missing();
  }

  // The type of a class attribute. A user's class may later be given what makes descriptors of its objects.
  PyTypeObject* descriptor_type(const ValuePtr& found) {
    PyTypeObject* type = walk_.exact_type(found);
    bool may_change = (found->kind == ValueKind::Object || found->kind == ValueKind::Instance) &&
                      PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) &&
                      !PyType_HasFeature(type, Py_TPFLAGS_IMMUTABLETYPE);
    if (may_change)
      for (const char* method : {"__get__", "__set__", "__delete__"})
        walk_.type_attribute(found, check(PyUnicode_InternFromString(method)).get());
    return type;
  }

  // A descriptor whose __get__ is in Python.
  bool has_python_get(const ValuePtr& descriptor) {
    static PyObject* const kGet = PyUnicode_InternFromString("__get__");
    PyTypeObject* type = type_of(descriptor);
    bool user = (descriptor->kind == ValueKind::Object || descriptor->kind == ValueKind::Instance) &&
                PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) && !PyType_IsSubtype(type, &PyType_Type);
    python_get_ = user ? walk_.type_attribute(descriptor, kGet) : nullptr;
    if (!python_get_ || !walk_.is_python_function(python_get_)) return false;
    // A stand-in for a getter of the standard library: nobody sees its frame.
    auto* known = as<ObjectValue>(python_get_);
    stand_in_ = known != nullptr ? find_polyfill(known->object.get()) : nullptr;
    if (stand_in_ && known->source != nullptr) walk_.identity_of(python_get_);
    return true;
  }

  [[noreturn]] void unknown() {
    walk_.graph_break(BreakReason::custom_attribute_lookup, str_cat(describe(object_), ".", text_of(name_)));
  }

  // The class overrides look-up: sound only for a Python __getattr__ beside object's own __getattribute__.
  void require_getattr_hook(PyTypeObject* type, PyTypeObject* base) {
    static PyObject* const kGetattr = PyUnicode_InternFromString("__getattr__");
    if (!is_own_way(type, base)) unknown();
    hook_ = walk_.type_attribute(object_, kGetattr);
    if (!hook_ || (!walk_.is_python_function(hook_) && !is_known_hook())) unknown();
  }

  // __getattr__ = dict.get, or dict.__getitem__
  bool is_known_hook() {
    auto* known = as<ObjectValue>(hook_);
    return known != nullptr && PyDict_Check(known->object.get()) == 0 &&
           PyType_IsSubtype(type_of(object_), &PyDict_Type) != 0 &&
           (Py_IS_TYPE(known->object.get(), &PyMethodDescr_Type) ||
            Py_IS_TYPE(known->object.get(), &PyWrapperDescr_Type)) &&
           find_call(known->object.get()) != nullptr;
  }

  Bound call_getattr_hook() {
    ValuePtr hook = std::exchange(hook_, nullptr);
    if (!walk_.is_python_function(hook)) {
      if (probing_) unknown();
      return {walk_.call_now(hook, {{object_, walk_.constant(name_)}, {}})};
    }
    return inline_getter(hook, {object_, walk_.constant(name_)});
  }

  ValuePtr own_attribute() {
    if (auto* instance = as<InstanceValue>(object_)) {
      ValuePtr* found = instance->find(name_);
      return found != nullptr ? *found : nullptr;
    }
    // A tuple or dict made here has elements only.
    if (object_->kind == ValueKind::Sequence || object_->kind == ValueKind::Dict) return nullptr;
    auto* known = as<ObjectValue>(object_);
    if (known == nullptr || known->source == nullptr) unknown();
    if (PyFunction_Check(known->object.get())) walk_.note_function(object_);
    // Of an object of a subclass of dict it is the items that were written.
    if (known->writes && !PyDict_Check(known->object.get()) && !PyList_Check(known->object.get()))
      if (const ValuePtr* stored = known->writes->find(name_)) return *stored;
    PyObject* value = nullptr;
    int found = pv_instance_lookup(known->object, name_, &value);
    if (found < 0) unknown();
    const Source* source = walk_.sources().get(SourceKind::InstanceAttr, known->source, name_);
    // Perhaps the dict of this object's attributes; instances of classes are guarded against that (pending_writes.cpp).
    bool is_guarded = PyType_HasFeature(known->object.type(), Py_TPFLAGS_HEAPTYPE);
    if (!is_guarded && walk_.any_dict_written_at(name_)) unknown();
    if (found > 0) {
      walk_.guards().present(source);
      return walk_.at(source, Ref::share(value));
    }
    if (pv_has_instance_storage(known->object)) walk_.guards().absent(source);
    return nullptr;
  }

  Bound read_descriptor(const ValuePtr& descriptor) {
    auto* known = as<ObjectValue>(descriptor);
    if (has_python_get(descriptor)) return inline_getter(python_get_, {descriptor, object_, walk_.type_value(object_)});
    if (ValuePtr getter = part_of_property(descriptor, 0)) return inline_getter(getter, {object_});
    if (known == nullptr) unknown();
    static PyObject* const kClass = PyUnicode_InternFromString("__class__");
    if (known->object.get() == _PyType_Lookup(&PyBaseObject_Type, kClass)) {
      walk_.identity_of(descriptor);
      return {walk_.type_value(object_)};
    }
    if (InstanceValue* exception = exception_of(object_)) {
      if (ValuePtr field = exception_field(walk_, object_, name_, descriptor)) return {field};
      if (is_args_descriptor(descriptor)) {
        if (known->source != nullptr) walk_.identity_of(descriptor);
        return {make_value<SequenceValue>(false, exception->exception->args)};
      }
    }
    if (is("__dict__") && is_attributes_descriptor(known->object.get()))
      if (ValuePtr dict = walk_.instance_dict(object_)) return {dict};
    if (Py_IS_TYPE(known->object.get(), &PyGetSetDescr_Type)) return read_field(descriptor);
    if (Py_IS_TYPE(known->object.get(), tuple_field_type())) return read_tuple_field(descriptor);
    if (Py_IS_TYPE(known->object.get(), &PyProperty_Type) && known->source != nullptr) {
      ValuePtr getter = walk_.at(walk_.sources().get(SourceKind::PropertyGetter, known->source, nullptr));
      if (!getter || !walk_.is_python_function(getter)) unknown();
      return inline_getter(getter, {object_});
    }
    if (Py_IS_TYPE(known->object.get(), &PyMemberDescr_Type)) return read_slot(descriptor);
    unknown();
  }

  // An attribute of a built-in type that its structure holds.
  Bound read_field(const ValuePtr& descriptor) {
    auto* known = as<ObjectValue>(object_);
    if (known == nullptr) unknown();
    walk_.identity_of(descriptor);
    if (known->made_class) {
      ValuePtr value = field_of_class(walk_, *walk_.made_class(known->object), name_);
      if (!value) unknown();
      return {value};
    }
    if (PyType_Check(known->object.get()) &&
        !PyType_HasFeature(reinterpret_cast<PyTypeObject*>(known->object.get()), Py_TPFLAGS_HEAPTYPE)) {
      // A built-in class never changes.
      Ref value = Ref::steal(PyObject_GetAttr(known->object, name_));
      if (value && (is_guardable_constant(value.get()) || PyTuple_CheckExact(value.get())))
        return {walk_.constant(value)};
      PyErr_Clear();
      unknown();
    }
    std::optional<int> field = object_field(known->object.type(), name_);
    if (!field || known->source == nullptr || (PyFunction_Check(known->object.get()) && known->writes)) unknown();
    if (PyFunction_Check(known->object.get()) && is("__annotations__") && pv_has_pending_annotations(known->object))
      unknown();
    // Python makes these dicts when they are first asked for.
    for (const char* lazy : {"__annotations__", "__dict__"})
      if (PyFunction_Check(known->object.get()) && PyUnicode_CompareWithASCIIString(name_, lazy) == 0)
        check(PyObject_GenericGetAttr(known->object, name_));
    ValuePtr value = walk_.at(walk_.sources().get(SourceKind::Field, known->source, name_, *field));
    if (!value) unknown();
    return {value};
  }

  Bound read_tuple_field(const ValuePtr& descriptor) {
    walk_.identity_of(descriptor);
    size_t at = static_cast<size_t>(tuple_field_index(as<ObjectValue>(descriptor)->object));
    if (auto* made = as<SequenceValue>(object_)) {
      if (made->is_list || at >= made->items.size()) unknown();
      return {made->items[at]};
    }
    auto* known = as<ObjectValue>(object_);
    if (known == nullptr || !PyTuple_Check(known->object.get()) ||
        at >= static_cast<size_t>(PyTuple_GET_SIZE(known->object.get())))
      unknown();
    return {walk_.element(known, static_cast<Py_ssize_t>(at))};
  }

  ValuePtr slot_value(const ValuePtr& descriptor) {
    if (auto* instance = as<InstanceValue>(object_)) {
      ValuePtr* found = instance->find(name_);
      // Fields of built-in exceptions of which only Python knows.
      if (found == nullptr && instance->exception && !is_object_slot(as<ObjectValue>(descriptor)->object.get()))
        unknown();
      return found != nullptr ? *found : nullptr;
    }
    auto* known = as<ObjectValue>(object_);
    if (slot_offset(as<ObjectValue>(descriptor)->object.get()) < 0 || known->source == nullptr) unknown();
    // The descriptor of a built-in type is the same at every run.
    if (const Source* place = as<ObjectValue>(descriptor)->source)
      walk_.guards().slot_match(place, as<ObjectValue>(descriptor)->object.get());
    if (const ValuePtr* stored = known->writes ? known->writes->find(name_) : nullptr) return *stored;
    const Source* source =
        walk_.sources().get(SourceKind::SlotAttr, known->source, as<ObjectValue>(descriptor)->object.get());
    ValuePtr value = walk_.at(source);
    // A field of a built-in type reads as None then.
    if (!value && !is_object_slot(as<ObjectValue>(descriptor)->object.get())) unknown();
    if (!value) walk_.guards().absent(source);
    return value;
  }

  Bound read_slot(const ValuePtr& descriptor) {
    ValuePtr value = slot_value(descriptor);
    if (!value) return missing();
    return {value};
  }

  Bound bind(const ValuePtr& found) {
    PyTypeObject* descriptor = walk_.exact_type(found);
    if (descriptor == &PyFunction_Type) return {found, true};
    if (descriptor->tp_descr_get == nullptr) return {found};
    if (ValuePtr unwrapped = unwrap(found, SourceKind::WrappedFunction, &PyStaticMethod_Type)) return {unwrapped};
    if (ValuePtr unwrapped = unwrap_class_method(found))
      return {make_value<BoundMethodValue>(unwrapped, walk_.type_value(object_))};
    if (find_wrapper_type(descriptor) != nullptr || is_cached(found)) return {found, true};
    if (has_python_get(found)) return inline_getter(python_get_, {found, object_, walk_.type_value(object_)});
    if (descriptor == &PyMethodDescr_Type || descriptor == &PyWrapperDescr_Type) return {found, true};
    if (descriptor == &PyClassMethodDescr_Type) return {make_value<BoundMethodValue>(found, walk_.type_value(object_))};
    unknown();
  }

  static bool is_cached(const ValuePtr& found) {
    auto* known = as<ObjectValue>(found);
    return known != nullptr && is_cached_function(known->object);
  }

  ValuePtr unwrap(const ValuePtr& found, SourceKind kind, PyTypeObject* wrapper) {
    if (auto* made = as<MadeValue>(found)) return type_of(found) == wrapper ? made->positional[0] : nullptr;
    auto* known = as<ObjectValue>(found);
    if (known == nullptr) return nullptr;
    if (known->object.type() != wrapper) return nullptr;
    // Of a built-in class, which never changes (str.maketrans).
    if (known->source == nullptr) return walk_.constant(check(PyObject_GetAttrString(known->object, "__func__")));
    return walk_.at(walk_.sources().get(kind, known->source, nullptr));
  }

  // Up to 3.12 a class method asks what it wraps to bind itself, which a function does as the class method would; from 3.13
  // on it calls what it wraps as it is. Other descriptors are for Python.
  ValuePtr unwrap_class_method(const ValuePtr& found) {
    ValuePtr unwrapped = unwrap(found, SourceKind::WrappedFunction, &PyClassMethod_Type);
    PyTypeObject* type = unwrapped ? walk_.exact_type(unwrapped) : nullptr;
    if (type != nullptr && type != &PyFunction_Type && type->tp_descr_get != nullptr) unknown();
    return unwrapped;
  }

  Walk& walk_;
  ValuePtr object_;
  BorrowedRef name_;
  bool probing_;
  ValuePtr hook_;  // the __getattr__ that answers what is not found
  ValuePtr python_get_, stand_in_;
};

}  // namespace

// The getter (0) or setter (1) in Python of a property that the walk made; null: another object, or none.
ValuePtr part_of_property(const ValuePtr& descriptor, size_t part) {
  auto* made = as<MadeValue>(descriptor);
  if (made == nullptr || type_of(descriptor) != &PyProperty_Type || made->positional.size() <= part) return nullptr;
  return type_of(made->positional[part]) == &PyFunction_Type ? made->positional[part] : nullptr;
}

Bound look_up(Walk& walk, const ValuePtr& object, BorrowedRef name, bool probing) {
  if (walk.is_shape(object)) return look_up(walk, walk.known_shape(object), name, probing);
  AttributeLookup lookup(walk, object, name, probing);
  if (is_named_results(type_of(object))) return lookup.on_named_results();
  switch (object->kind) {
    case ValueKind::Super:
      return lookup.on_super();
    case ValueKind::Tensor:
      return lookup.on_tensor();
    case ValueKind::Instance:
      return lookup.on_instance();
    case ValueKind::Made:
      return lookup.on_made_object();
    case ValueKind::Function:
      return lookup.on_made_function();
    case ValueKind::BoundMethod:
      return type_of(object) == &PyMethod_Type ? lookup.on_method() : lookup.on_builtin();
    case ValueKind::Dict: {
      auto* dict = as<DictValue>(object);
      if (dict->factory && PyUnicode_CompareWithASCIIString(name, "default_factory") == 0) return {dict->factory};
      bool is_user = dict->type && PyType_HasFeature(type_of(object), Py_TPFLAGS_HEAPTYPE);
      return is_user ? lookup.on_instance() : lookup.on_builtin();
    }
    case ValueKind::Sequence:
      if (is_deque(object) && PyUnicode_CompareWithASCIIString(name, "maxlen") == 0)
        return {as<SequenceValue>(object)->maxlen};
      return as<SequenceValue>(object)->type ? lookup.on_instance() : lookup.on_builtin();
    case ValueKind::Object: {
      PyObject* real = as<ObjectValue>(object)->object;
      if (PyModule_CheckExact(real)) return lookup.on_module();
      if (PyType_Check(real)) return lookup.on_class();
      if (Py_IS_TYPE(real, &PyMethod_Type)) return lookup.on_method();
      PyTypeObject* type = Py_TYPE(real);
      bool has_storage = type->tp_dictoffset != 0 && type->tp_getattro == PyObject_GenericGetAttr;
      if (PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) || has_storage) return lookup.on_instance();
      return lookup.on_builtin();
    }
    default:
      return lookup.on_builtin();
  }
}

ValuePtr own_value(Walk& walk, const ValuePtr& object, BorrowedRef name) {
  return AttributeLookup(walk, object, name).own_value();
}

namespace {

void load_attr(Walk& walk, const Instruction& at) { walk.load_attribute(walk.peek(), walk.bytecode().name(at.arg), 1); }

void load_method(Walk& walk, const Instruction& at) { walk.load_method(walk.peek(), walk.bytecode().name(at.arg), 1); }

ValuePtr bound_method(const Bound& bound, const ValuePtr& object) {
  return make_value<BoundMethodValue>(bound.value, bound.self ? bound.self : object);
}

// object.__getattribute__(self, name), as a user's __getattribute__ calls it.
ValuePtr call_object_getattribute(Walk& walk, const CallArgs& args) {
  if (args.positional.size() != 2 || !args.keywords.empty()) walk.raise_here();
  const ValuePtr& object = args.positional[0];
  Ref name = walk.constant_of(args.positional[1]);
  bool plain = object->kind == ValueKind::Instance ||
               (object->kind == ValueKind::Object && PyType_HasFeature(walk.exact_type(object), Py_TPFLAGS_HEAPTYPE) &&
                !PyType_Check(as<ObjectValue>(object)->object.get()));
  if (!name || !PyUnicode_CheckExact(name.get()) || !plain)
    walk.graph_break(BreakReason::custom_attribute_lookup, describe(object));
  size_t depth = walk.frame_depth();
  AttributeLookup lookup(walk, object, name.get());
  Bound bound = lookup.generic();
  if (walk.frame_depth() > depth) return nullptr;
  return bound.is_method ? ValuePtr(make_value<BoundMethodValue>(bound.value, object)) : bound.value;
}

// object.__init__(self) does nothing.
ValuePtr call_object_init(Walk& walk, const CallArgs& args) {
  if (args.positional.size() != 1 || !args.keywords.empty())
    walk.graph_break(BreakReason::object_creation, "object.__init__ with arguments");
  walk.exact_type(args.positional[0]);
  return walk.none();
}

const OpcodeRegistration registration{{Opcode::LOAD_ATTR, load_attr}, {Opcode::LOAD_METHOD, load_method}};

}  // namespace

void register_attribute_calls() {
  auto method = [](const char* name) {
    return check(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyBaseObject_Type), name));
  };
  register_call(method("__init__").get(), call_object_init);
  register_call(method("__getattribute__").get(), call_object_getattribute);
  register_value_type(tuple_field_type());
  register_attribute_stores();
}

void Walk::push_callable(ValuePtr callable) {
  if (kNullAfterCallable) {
    push(std::move(callable));
    push(null_);
  } else {
    push(null_);
    push(std::move(callable));
  }
}

ValuePtr Walk::attribute(const ValuePtr& object, BorrowedRef name) {
  Bound bound = look_up(*this, object, name);
  return bound.value && bound.is_method ? bound_method(bound, object) : bound.value;
}

ValuePtr Walk::optional_attribute(const ValuePtr& object, BorrowedRef name) {
  Bound bound = look_up(*this, object, name, true);
  return bound.value && bound.is_method ? bound_method(bound, object) : bound.value;
}

void Walk::load_attribute(const ValuePtr& object, BorrowedRef name, int operands) {
  size_t depth = frame_depth();
  ValuePtr value = attribute(object, name);
  if (frame_depth() > depth) return drop_below_callee(operands);  // a getter gives the result when it returns
  pop_many(operands);
  push(std::move(value));
}

void Walk::load_method(const ValuePtr& object, BorrowedRef name, int operands) {
  size_t depth = frame_depth();
  Bound bound = look_up(*this, object, name);
  if (frame_depth() > depth) {
    frame().continuation = ContinuationKind::PushCallable;
    // Python looks up a method in a way of its own, which leaves the exception of a getter as it is.
    PyTypeObject* type = type_of(object);
    if (type != nullptr && type->tp_getattro == PyObject_GenericGetAttr) frame().continuation_value = nullptr;
    return drop_below_callee(operands);
  }
  ValuePtr self = bound.self ? bound.self : object;
  pop_many(operands);
  if (!bound.is_method) return push_callable(std::move(bound.value));
  push(std::move(bound.value));
  push(std::move(self));
}

ValuePtr Walk::type_value(const ValuePtr& object) {
  if (auto* instance = as<InstanceValue>(object)) return instance->type;
  if (auto* sequence = as<SequenceValue>(object); sequence != nullptr && sequence->type) return sequence->type;
  if (auto* dict = as<DictValue>(object); dict != nullptr && dict->type) return dict->type;
  if (auto* known = as<ObjectValue>(object); known != nullptr && known->made_class)
    return made_class(known->object)->meta;
  PyTypeObject* type = exact_type(object);
  const Source* source = source_of(object);
  if (source == nullptr || !PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE))
    return constant(reinterpret_cast<PyObject*>(type));
  ValuePtr value = at(sources().get(SourceKind::Type, source, nullptr), Ref::share(reinterpret_cast<PyObject*>(type)));
  // The type guard on the object says what this is.
  as<ObjectValue>(value)->value_guarded = as<ObjectValue>(value)->type_guarded = true;
  return value;
}

ValuePtr Walk::type_attribute(const ValuePtr& object, BorrowedRef name) {
  return class_attribute(type_value(object), name);
}

ValuePtr Walk::class_attribute(const ValuePtr& type_value, BorrowedRef name) {
  auto* known = as<ObjectValue>(type_value);
  auto* type = reinterpret_cast<PyTypeObject*>(known->object.get());
  if (known->made_class) return made_attribute(*made_class(known->object), name);
  if (auto written = written_on_class(type_value, name)) return *written;
  bool may_change = PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) && !PyType_HasFeature(type, Py_TPFLAGS_IMMUTABLETYPE);
  if (known->source == nullptr || !may_change) {
    PyObject* found = _PyType_Lookup(type, name);
    return found != nullptr ? constant(found) : nullptr;
  }
  const Source* source = sources().get(SourceKind::TypeAttr, known->source, name);
  ValuePtr found = at(source);
  if (!found) guards_.absent(source);
  return found;
}

ValuePtr Walk::user_method(const ValuePtr& object, BorrowedRef name) {
  ValuePtr method = has_user_type(object) ? type_attribute(object, name) : nullptr;
  return method && is_python_function(method) ? method : nullptr;
}

}  // namespace md
