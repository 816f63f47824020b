// Class statements: the body is inlined as a function over a dict of names, and the class is created at the exit.
#include "symbolic/calls/traced_classes.h"
#include "cpython/imports.h"
#include "symbolic/attributes/attributes.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/calls/calls.h"
#include "symbolic/effects/class_writes.h"
#include "symbolic/facts/cells.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/trace/registry.h"
#include "symbolic/values/traced_class.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "cpython/class_maker.h"
#include "cpython/object_layout.h"
#include "cpython/text.h"
#include "guards/constants.h"
#include "symbolic/facts/class_relations.h"
#include "symbolic/facts/name_spaces.h"

namespace md {

namespace {

[[noreturn]] void break_on_class(std::string context) {
  graph_break(BreakReason::class_definition, std::move(context));
}

// Returns true for special names that are not methods and may hold any object.
bool is_plain_special(std::string_view name) {
  static constexpr std::array kNames{"__module__",     "__doc__",         "__annotations__",      "__firstlineno__",
                                     "__match_args__", "__type_params__", "__static_attributes__"};
  return std::ranges::find(kNames, name) != kNames.end();
}

// Returns true for names that create a kind of class unknown to the tracer.
bool is_refused(std::string_view name) {
  static constexpr std::array kNames{"__del__", "__abstractmethods__"};
  return std::ranges::find(kNames, name) != kNames.end();
}

ValuePtr wrapped(Tracer& tracer, PyTypeObject* type, const ValuePtr& function) {
  return make_value<ConstructedValue>(tracer.values().constant(reinterpret_cast<PyObject*>(type)),
                                      std::vector<ValuePtr>{function}, std::vector<std::pair<Ref, ValuePtr>>{});
}

// type wraps some functions: returns the object that the class holds under the name.
ValuePtr as_held(Tracer& tracer, std::string_view name, const ValuePtr& value) {
  bool is_function = type_of(value) == &PyFunction_Type;
  if (is_function && name == "__new__") return wrapped(tracer, &PyStaticMethod_Type, value);
  if (is_function && (name == "__init_subclass__" || name == "__class_getitem__"))
    return wrapped(tracer, &PyClassMethod_Type, value);
  return value;
}

Ref plain_function() {
  static PyObject* const code = reinterpret_cast<PyObject*>(PyCode_NewEmpty("", "stand_in", 1));
  static PyObject* const globals = PyDict_New();
  return check(PyFunction_New(code, globals));
}

Ref names_of_slots(Tracer& tracer, const ValuePtr& value) {
  Ref names = constant_of(tracer, value);
  bool is_known = names && (PyUnicode_CheckExact(names.get()) || PyTuple_CheckExact(names.get()));
  if (!is_known) break_on_class("a class with __slots__ that are no tuple of names");
  return names;
}

// The model's value for the name. It must give the model the same slots as the class: they depend on which names hold
// functions or None.
Ref stand_in(Tracer& tracer, BorrowedRef key, const ValuePtr& value) {
  std::string name = text_of(key);
  if (name == "__slots__") return names_of_slots(tracer, value);
  PyTypeObject* type = tracer.values().exact_type(value);
  if (type == &PyFunction_Type) return plain_function();
  for (PyTypeObject* wrapper : {&PyStaticMethod_Type, &PyClassMethod_Type, &PyProperty_Type})
    if (type == wrapper) return check(PyObject_CallOneArg(reinterpret_cast<PyObject*>(type), plain_function()));
  bool is_plain = !is_special_name(key) || is_plain_special(name);
  if (name == "__doc__" && type == &PyUnicode_Type) {
    Ref text = constant_of(tracer, value);
    if (!text) break_on_class("a __doc__ that is not known");
    return text;
  }
  if (same_object(tracer, value, tracer.values().none()) && (is_plain || name == "__hash__"))
    return Ref::share(Py_None);
  if (!is_plain) break_on_class(str_cat("a class with a ", type->tp_name, " as ", name));
  return check(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type)));
}

// Calls __set_name__ of the values that have one. What C implementations of it do is repeated when the class is created
// at the exit.
void tell_names(Tracer& tracer, const TracedClass& made) {
  static PyObject* const kSetName = PyUnicode_InternFromString("__set_name__");
  std::vector<DictValue::Entry> entries = made.names->entries;
  for (const DictValue::Entry& entry : entries) {
    if (!has_user_type(entry.value) || entry.value->kind == ValueKind::Constructed) continue;
    ValuePtr hook = type_attribute(tracer, entry.value, kSetName);
    if (!hook) continue;
    if (!is_python_function(hook)) break_on_class("a class with an object that has a __set_name__");
    try {
      call_now(tracer, hook, {{entry.value, made.value, tracer.values().constant(entry.key)}, {}});
    } catch (const RaiseSignal&) {
      break_on_class("a __set_name__ that raises");  // Python adds a note to the exception
    }
  }
}

// Returns true if the methods of the metaclass that run when a class is created are type's own.
bool makes_classes_as_type(Tracer& tracer, const ValuePtr& meta) {
  auto* type = reinterpret_cast<PyTypeObject*>(tracer.values().identity_of(meta).get());
  if (type == &PyType_Type) return true;
  if (type->tp_finalize != nullptr || type->tp_del != nullptr) return false;
  for (const char* text : {"mro", "__prepare__"}) {
    Ref name = check(PyUnicode_InternFromString(text));
    ValuePtr found = class_attribute(tracer, meta, name.get());
    auto* known = as<ObjectValue>(found);
    if (known == nullptr || known->object.get() != _PyType_Lookup(&PyType_Type, name)) return false;
    if (known->source != nullptr) tracer.values().identity_of(found);
  }
  return true;
}

PyTypeObject* class_of(const ValuePtr& value) {
  auto* known = as<ObjectValue>(value);
  bool is_class = known != nullptr && PyType_Check(known->object.get());
  return is_class ? reinterpret_cast<PyTypeObject*>(known->object.get()) : nullptr;
}

// The most derived of `meta` and the metaclasses of the bases.
ValuePtr metaclass_of(Tracer& tracer, ValuePtr meta, const std::vector<ValuePtr>& bases) {
  if (class_of(meta) == nullptr) break_on_class("a metaclass that is no class");
  for (const ValuePtr& base : bases) {
    if (class_of(base) == nullptr) break_on_class("a base that is no class");
    ValuePtr other = type_value(tracer, base);
    if (derives_from(tracer, meta, class_of(other))) continue;
    if (!derives_from(tracer, other, class_of(meta))) raise_here();
    meta = other;
  }
  if (!makes_classes_as_type(tracer, meta)) break_on_class("a metaclass that makes classes in its own way");
  return meta;
}

// Calls the __init_subclass__ found after the new class in its MRO.
void tell_bases(Tracer& tracer, const TracedClass& made, const Keywords& keywords) {
  static PyObject* const kHook = PyUnicode_InternFromString("__init_subclass__");
  ValuePtr hook = made_attribute(tracer, made, kHook, 1);
  auto* known = as<ObjectValue>(hook);
  bool is_objects = known != nullptr && known->object.get() == _PyType_Lookup(&PyBaseObject_Type, kHook);
  if (is_objects && known->source != nullptr) tracer.values().identity_of(hook);
  if (is_objects && !keywords.empty()) raise_here();
  if (is_objects) return;
  ValuePtr function = hook;
  if (auto* held = as<ConstructedValue>(hook)) function = held->positional.front();  // of a traced class
  if (known != nullptr && Py_IS_TYPE(known->object.get(), &PyClassMethod_Type) && known->source != nullptr) {
    tracer.values().exact_type(hook);
    function = value_at(tracer, tracer.sources().get(SourceKind::WrappedFunction, known->source, nullptr));
  }
  if (tracer.values().exact_type(hook) != &PyClassMethod_Type || !function || !is_python_function(function))
    break_on_class("a base with an __init_subclass__ that cannot be followed");
  try {
    call_now(tracer, function, {{made.value}, keywords});
  } catch (const RaiseSignal&) {
    break_on_class("an __init_subclass__ that raises");
  }
}

std::vector<ValuePtr> elements_of_bases(Tracer& tracer, const ValuePtr& bases) {
  auto elements = tracer.values().is_exactly(bases, &PyTuple_Type) ? elements_of(tracer, bases) : nullptr;
  if (!elements) break_on_class("bases that are no tuple");
  return std::move(*elements);
}

Ref bases_of(Tracer& tracer, const std::vector<ValuePtr>& classes) {
  Ref tuple = check(PyTuple_New(static_cast<Py_ssize_t>(classes.size())));
  for (size_t i = 0; i < classes.size(); ++i) {
    if (class_of(classes[i]) == nullptr) break_on_class("a base that is no class");
    PyTuple_SET_ITEM(tuple.get(), i, Py_NewRef(tracer.values().identity_of(classes[i]).get()));
    // With several bases the MRO of the new class depends on theirs.
    if (classes.size() > 1) guard_mro(tracer, classes[i]);
  }
  return tuple;
}

// Borrowed; null if the class itself has no such name.
PyObject* own_attribute(PyTypeObject* type, BorrowedRef name) {
  PyObject* value = nullptr;
  return pv_own_attribute(type, name, &value) > 0 ? value : nullptr;
}

// The cell from which functions of the body read the namespace of the class; type stores it there.
ValuePtr names_cell_of(const ValuePtr& value) {
  auto* cell = as<CellValue>(value);
  if (cell == nullptr || cell->source != nullptr || cell->holds_names)
    break_on_class("a class with a __classdictcell__ of its own");
  return value;
}

// Values that do not exist when the class is created are stored afterwards, where a data descriptor of the metaclass
// (__name__, __bases__ ...) would intercept the store.
void require_place(const ValuePtr& meta, BorrowedRef name, const ValuePtr& value) {
  if (value->kind == ValueKind::Object || !is_special_name(name) || is_plain_special(text_of(name))) return;
  PyObject* descriptor = _PyType_Lookup(class_of(meta), name);
  if (descriptor != nullptr && Py_TYPE(descriptor)->tp_descr_set != nullptr)
    break_on_class(str_cat("a class with its own ", text_of(name)));
}

// __build_class__(body, name, *bases, metaclass=type)
ValuePtr call_build_class(Tracer& tracer, const CallArgs& args) {
  static PyObject* const kCell = PyUnicode_InternFromString("__classcell__");
  if (args.positional.size() < 2) raise_here();
  const ValuePtr* given = args.keyword("metaclass");
  Keywords keywords;
  for (const auto& [name, value] : args.keywords)
    if (PyUnicode_CompareWithASCIIString(name, "metaclass") != 0) keywords.emplace_back(name, value);
  auto* body = as<FunctionValue>(args.positional[0]);
  bool is_body = body != nullptr && (reinterpret_cast<PyCodeObject*>(body->code.get())->co_flags & CO_OPTIMIZED) == 0;
  if (!is_body) break_on_class("a body that is no class statement's");
  ValuePtr name = args.positional[1];
  std::vector<ValuePtr> classes(args.positional.begin() + 2, args.positional.end());
  ValuePtr type = tracer.values().constant(reinterpret_cast<PyObject*>(&PyType_Type));
  ValuePtr meta = metaclass_of(tracer, given != nullptr ? *given : type, classes);
  bases_of(tracer, classes);
  auto bases = make_value<SequenceValue>(false, std::move(classes));
  auto names = make_value<DictValue>();
  ValuePtr cell = run_class_body(tracer, args.positional[0], names);
  auto* class_cell = as<CellValue>(cell);
  int at = names->find(kCell);
  bool same = class_cell == nullptr ? at < 0 : at >= 0 && names->entries[static_cast<size_t>(at)].value == cell;
  if (!same) break_on_class("a class with a __classcell__ of its own");
  if (meta == type) return make_class(tracer, meta, name, bases, names, keywords);
  ValuePtr made = call_now(tracer, meta, {{name, bases, names}, keywords});
  if (class_cell != nullptr && class_cell->contents != made) break_on_class("a class for another one");
  return made;
}

// type.__new__(meta, name, bases, names), as called by a metaclass's own __new__.
ValuePtr call_type_new(Tracer& tracer, const CallArgs& args) {
  if (args.positional.size() != 4) raise_here();
  auto entries = entries_of(tracer, args.positional[3]);
  if (!entries) break_on_class("type() with names that are not known");
  auto names = make_value<DictValue>();
  names->entries = std::move(*entries);
  return make_class(tracer, args.positional[0], args.positional[1], args.positional[2], names, args.keywords);
}

// object.__init_subclass__ does nothing.
ValuePtr call_object_init_subclass(Tracer& tracer, const CallArgs& args) {
  require_count(args, 1, 1);
  return tracer.values().none();
}

// type.__init__ does nothing.
ValuePtr call_type_init(Tracer& tracer, const CallArgs& args) {
  bool is_known = !args.positional.empty() && (args.positional.size() == 4 || args.keywords.empty());
  if (!is_known || (args.positional.size() != 2 && args.positional.size() != 4)) raise_here();
  return tracer.values().none();
}

}  // namespace

bool is_special_name(BorrowedRef name) {
  std::string text = text_of(name);
  return text.size() > 4 && text.starts_with("__") && text.ends_with("__");
}

// Clears the class as the garbage collector would: a class references itself.
TracedClass::~TracedClass() {
  if (value) PyType_Type.tp_clear(reinterpret_cast<PyObject*>(model()));
}

bool is_descriptor_of_traced_class(Tracer& tracer, const ValuePtr& value) {
  auto* known = as<ObjectValue>(value);
  if (known == nullptr || known->source != nullptr) return false;
  PyTypeObject* type = known->object.type();
  bool is_descriptor = type == &PyMemberDescr_Type || type == &PyGetSetDescr_Type;
  return is_descriptor &&
         tracer.classes().find(reinterpret_cast<PyObject*>(PyDescr_TYPE(known->object.get()))) != nullptr;
}

namespace {

// Names of the body that are not attributes of the class. False: another name. `cell` receives the cell of __class__.
bool take_special_name(Tracer& tracer, TracedClass& made, const DictValue::Entry& entry, ValuePtr& cell) {
  static PyObject* const kCell = PyUnicode_InternFromString("__classcell__");
  static PyObject* const kNamesCell = PyUnicode_InternFromString("__classdictcell__");
  static PyObject* const kQualname = PyUnicode_InternFromString("__qualname__");
  if (PyUnicode_Compare(entry.key, kQualname) == 0) {
    Ref qualname = constant_of(tracer, entry.value);
    if (!qualname || !PyUnicode_CheckExact(qualname.get())) break_on_class("a __qualname__ that is not known");
    made.qualname = tracer.values().constant(qualname);
    return true;
  }
  if (PyUnicode_Compare(entry.key, kCell) == 0) {
    auto* class_cell = as<CellValue>(entry.value);
    if (class_cell == nullptr || class_cell->source != nullptr)
      break_on_class("a class with a __classcell__ of its own");
    cell = entry.value;
    return true;
  }
  if (PyUnicode_Compare(entry.key, kNamesCell) != 0) return false;
  made.names_cell = names_cell_of(entry.value);
  return true;
}

// Returns the namespace of the model.
Ref take_names(Tracer& tracer, TracedClass& made, const DictValue& names, ValuePtr& cell) {
  Ref held = check(PyDict_New());
  for (const DictValue::Entry& entry : names.entries) {
    if (!PyUnicode_CheckExact(entry.key.get())) break_on_class("a class with a key that is no name");
    std::string key = text_of(entry.key.get());
    if (is_refused(key)) break_on_class(str_cat("a class with ", key));
    if (take_special_name(tracer, made, entry, cell)) continue;
    require_place(made.meta, entry.key.get(), entry.value);
    made.names->set(entry.key.get(), entry.value);
    check_status(PyDict_SetItem(held, entry.key, stand_in(tracer, entry.key.get(), entry.value)));
  }
  return held;
}

void add_module_name(Tracer& tracer, TracedClass& made) {
  static PyObject* const kModule = PyUnicode_InternFromString("__module__");
  if (made.names->find(kModule) >= 0) return;
  const Source* source = tracer.sources().get(SourceKind::Global, globals_function(tracer)->source,
                                              check(PyUnicode_InternFromString("__name__")).get());
  ValuePtr module = tracer.effects().any_dict_written() ? nullptr : value_at(tracer, source);
  if (!module) break_on_class("a class of a module without a name");
  made.names->set(kModule, module);
}

}  // namespace

ValuePtr make_class(Tracer& tracer, const ValuePtr& meta, const ValuePtr& name, const ValuePtr& bases,
                    const Handle<DictValue>& names, const Keywords& keywords) {
  static PyObject* const kQualname = PyUnicode_InternFromString("__qualname__");
  Ref text = constant_of(tracer, name);
  if (!text || !PyUnicode_CheckExact(text.get())) break_on_class("a class whose name is not known");
  std::vector<ValuePtr> classes = elements_of_bases(tracer, bases);
  if (metaclass_of(tracer, meta, classes) != meta) break_on_class("a class of another metaclass");
  Ref tuple = bases_of(tracer, classes);
  auto made = std::make_unique<TracedClass>();
  made->meta = meta;
  ValuePtr cell;
  made->name = tracer.values().constant(text);
  made->bases = bases;
  made->base_classes = std::move(classes);
  made->names = make_value<DictValue>();
  Ref held = take_names(tracer, *made, *names, cell);
  if (!made->qualname) made->qualname = made->name;
  add_module_name(tracer, *made);
  made->first_names = make_value<DictValue>();
  made->first_names->entries = made->names->entries;
  check_status(PyDict_SetItem(held, kQualname, as<ObjectValue>(made->qualname)->object));
  Ref arguments = check(PyTuple_Pack(3, text.get(), tuple.get(), held.get()));
  Ref model = new_class(class_of(meta), arguments.get());
  if (!model) raise_here();
  auto value = make_value<ObjectValue>(model, nullptr);
  value->traced_class = true;
  made->value = value;
  const TracedClass& kept = *made;
  tracer.classes().keep(std::move(made));
  if (cell) store_cell(tracer, cell, value);
  if (kept.names_cell) {
    as<CellValue>(kept.names_cell)->holds_names = true;
    store_cell(tracer, kept.names_cell, value);
  }
  tell_names(tracer, kept);
  tell_bases(tracer, kept, keywords);
  return value;
}

ValuePtr field_of_class(Tracer& tracer, const TracedClass& made, BorrowedRef name) {
  auto is = [&](const char* text) { return PyUnicode_CompareWithASCIIString(name, text) == 0; };
  if (is("__name__")) return made.name;
  if (is("__qualname__")) return made.qualname;
  // Without bases, type creates the tuple itself.
  if (is("__bases__")) return made.base_classes.empty() ? nullptr : made.bases;
  bool is_doc = is("__doc__");
  if (!is_doc && !is("__module__") && !is("__annotations__")) return nullptr;
  int at = made.names->find(name);
  if (at < 0) return is_doc ? tracer.values().none() : nullptr;
  // The value must not be a descriptor: type would call its __get__.
  ValuePtr value = made.names->entries[static_cast<size_t>(at)].value;
  PyTypeObject* type = tracer.values().exact_type(value);
  bool is_plain = type == &PyUnicode_Type || type == &PyDict_Type || type == Py_TYPE(Py_None);
  return is_plain ? value : nullptr;
}

bool store_on_class(Tracer& tracer, TracedClass& made, BorrowedRef name, const ValuePtr& value) {
  if (is_special_name(name)) return false;
  if (class_of(made.meta) != &PyType_Type) {
    if (class_of(made.meta)->tp_setattro != PyType_Type.tp_setattro) return false;
    if (!inherits(tracer, made.value, &PyType_Type, {"__setattr__", "__delattr__"})) return false;
    if (type_attribute(tracer, made.value, name)) return false;
  }
  int at = made.names->find(name);
  if (!value) {
    if (at < 0) return false;
    check_status(PyObject_DelAttr(reinterpret_cast<PyObject*>(made.model()), name));
    made.stores.emplace_back(Ref::share(name), nullptr);
    return made.names->erase(name);
  }
  check_status(PyObject_SetAttr(reinterpret_cast<PyObject*>(made.model()), name, stand_in(tracer, name, value)));
  made.names->set(name, value);
  made.stores.emplace_back(Ref::share(name), value);
  return true;
}
ValuePtr run_class_body(Tracer& tracer, const ValuePtr& function, const Handle<DictValue>& names) {
  size_t depth = tracer.frames().depth();
  tracer.pending().set_result(nullptr);
  inline_function(tracer, function, {}, ContinuationKind::Hold, nullptr);
  tracer.frames().innermost().names = names;
  run_pending(tracer, depth);
  ValuePtr result = tracer.pending().take_result();
  MD_ASSERT(result, "the body of a class returned no result");
  return result;
}

// A pre-existing class in the MRO of a traced class; its source is derived from one of the bases.
ValuePtr outside_class(Tracer& tracer, const TracedClass& made, BorrowedRef type) {
  for (const ValuePtr& base : made.base_classes) {
    auto* known = as<ObjectValue>(base);
    if (known->object.get() == type.get()) return base;
    if (const TracedClass* between = tracer.classes().find(known->object)) {
      if (ValuePtr found = outside_class(tracer, *between, type)) return found;
      continue;
    }
    PyObject* mro = reinterpret_cast<PyTypeObject*>(known->object.get())->tp_mro;
    for (Py_ssize_t i = 1; known->source != nullptr && i < PyTuple_GET_SIZE(mro); ++i) {
      if (PyTuple_GET_ITEM(mro, i) != type.get()) continue;
      return value_at(tracer, tracer.sources().get(SourceKind::MroEntry, known->source, nullptr, static_cast<int>(i)),
                      Ref::share(type));
    }
  }
  return nullptr;
}

ValuePtr made_attribute(Tracer& tracer, const TracedClass& made, BorrowedRef name, Py_ssize_t first) {
  PyObject* mro = made.model()->tp_mro;
  for (Py_ssize_t i = first; i < PyTuple_GET_SIZE(mro); ++i) {
    auto* type = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(mro, i));
    if (TracedClass* own = tracer.classes().find(PyTuple_GET_ITEM(mro, i))) {
      int at = own->names->find(name);
      if (at >= 0) return as_held(tracer, text_of(name), own->names->entries[static_cast<size_t>(at)].value);
      // Added by type to every class: None for __doc__ or __hash__, and descriptors for the storage of its objects.
      PyObject* given = own_attribute(type, name);
      if (given != nullptr) return tracer.values().constant(given);
      continue;
    }
    PyObject* rest = type->tp_mro;
    bool is_last = PyTuple_GET_SIZE(rest) == PyTuple_GET_SIZE(mro) - i;
    for (Py_ssize_t k = 0; is_last && k < PyTuple_GET_SIZE(rest); ++k)
      is_last = PyTuple_GET_ITEM(rest, k) == PyTuple_GET_ITEM(mro, i + k);
    ValuePtr value = may_change(type) ? outside_class(tracer, made, PyTuple_GET_ITEM(mro, i))
                                      : tracer.values().constant(PyTuple_GET_ITEM(mro, i));
    if (!value) graph_break(BreakReason::custom_attribute_lookup, "a base of a class that cannot be guarded");
    if (auto written = written_on_class(tracer, value, name); written && *written) return *written;
    ValuePtr found = class_attribute(tracer, value, name);
    if (is_last || (found && own_attribute(type, name) != nullptr)) return found;
    // Not an attribute of this class itself: guard that the one found further along its MRO stays the same.
    if (found) tracer.values().identity_of(found);
  }
  return nullptr;
}

namespace {

void add_class_making_calls() {
  register_call(imported("builtins", "__build_class__").get(), call_build_class);
  auto* type = reinterpret_cast<PyObject*>(&PyType_Type);
  register_call(check(PyObject_GetAttrString(type, "__new__")).get(), call_type_new);
  Ref hook = check(PyUnicode_InternFromString("__init_subclass__"));
  register_call(_PyType_Lookup(&PyBaseObject_Type, hook), call_object_init_subclass);
  register_call(_PyType_Lookup(&PyType_Type, check(PyUnicode_InternFromString("__init__"))), call_type_init);
}

const CallRegistration call_registration(add_class_making_calls);

}  // namespace

}  // namespace md
