// Class statements: the body is run as an inlined function over a dict of names, and the class is made where the region is left.
#include "symbolic/calls/traced_classes.h"
#include "cpython/imports.h"
#include "symbolic/attributes/attributes.h"
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

// Names with a meaning that are no methods, and that any object may stand under.
bool is_plain_special(std::string_view name) {
  static constexpr std::array kNames{"__module__",     "__doc__",         "__annotations__",      "__firstlineno__",
                                     "__match_args__", "__type_params__", "__static_attributes__"};
  return std::ranges::find(kNames, name) != kNames.end();
}

// Names that make another kind of class than the walk knows.
bool is_refused(std::string_view name) {
  static constexpr std::array kNames{"__del__", "__abstractmethods__"};
  return std::ranges::find(kNames, name) != kNames.end();
}

ValuePtr wrapped(Walk& walk, PyTypeObject* type, const ValuePtr& function) {
  return make_value<MadeValue>(walk.values().constant(reinterpret_cast<PyObject*>(type)),
                               std::vector<ValuePtr>{function}, std::vector<std::pair<Ref, ValuePtr>>{});
}

// Some functions become methods of another kind in a class: it holds what their look-up gives.
ValuePtr as_held(Walk& walk, std::string_view name, const ValuePtr& value) {
  bool is_function = type_of(value) == &PyFunction_Type;
  if (is_function && name == "__new__") return wrapped(walk, &PyStaticMethod_Type, value);
  if (is_function && (name == "__init_subclass__" || name == "__class_getitem__"))
    return wrapped(walk, &PyClassMethod_Type, value);
  return value;
}

Ref plain_function() {
  static PyObject* const code = reinterpret_cast<PyObject*>(PyCode_NewEmpty("", "stand_in", 1));
  static PyObject* const globals = PyDict_New();
  return check(PyFunction_New(code, globals));
}

Ref names_of_slots(Walk& walk, const ValuePtr& value) {
  Ref names = constant_of(walk, value);
  bool is_known = names && (PyUnicode_CheckExact(names.get()) || PyTuple_CheckExact(names.get()));
  if (!is_known) break_on_class("a class with __slots__ that are no tuple of names");
  return names;
}

// What makes the model answer as the class will: the slots of a class depend on which names hold functions, and on None.
Ref stand_in(Walk& walk, BorrowedRef key, const ValuePtr& value) {
  std::string name = text_of(key);
  if (name == "__slots__") return names_of_slots(walk, value);
  PyTypeObject* type = walk.values().exact_type(value);
  if (type == &PyFunction_Type) return plain_function();
  for (PyTypeObject* wrapper : {&PyStaticMethod_Type, &PyClassMethod_Type, &PyProperty_Type})
    if (type == wrapper) return check(PyObject_CallOneArg(reinterpret_cast<PyObject*>(type), plain_function()));
  bool is_plain = !is_special_name(key) || is_plain_special(name);
  if (name == "__doc__" && type == &PyUnicode_Type) {
    Ref text = constant_of(walk, value);
    if (!text) break_on_class("a __doc__ that is not known");
    return text;
  }
  if (same_object(walk, value, walk.values().none()) && (is_plain || name == "__hash__")) return Ref::share(Py_None);
  if (!is_plain) break_on_class(str_cat("a class with a ", type->tp_name, " as ", name));
  return check(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type)));
}

// The class tells those of its objects that ask for it under which names it holds them. What C code does then, it does where
// the class is made.
void tell_names(Walk& walk, const MadeClass& made) {
  static PyObject* const kSetName = PyUnicode_InternFromString("__set_name__");
  std::vector<DictValue::Entry> entries = made.names->entries;
  for (const DictValue::Entry& entry : entries) {
    if (!has_user_type(entry.value) || entry.value->kind == ValueKind::Made) continue;
    ValuePtr hook = type_attribute(walk, entry.value, kSetName);
    if (!hook) continue;
    if (!is_python_function(hook)) break_on_class("a class with an object that has a __set_name__");
    try {
      call_now(walk, hook, {{entry.value, made.value, walk.values().constant(entry.key)}, {}});
    } catch (const RaiseSignal&) {
      break_on_class("a __set_name__ that raises");  // Python adds to what it raises
    }
  }
}

// Methods of a metaclass that are called when a class is made.
bool makes_classes_as_type(Walk& walk, const ValuePtr& meta) {
  auto* type = reinterpret_cast<PyTypeObject*>(walk.values().identity_of(meta).get());
  if (type == &PyType_Type) return true;
  if (type->tp_finalize != nullptr || type->tp_del != nullptr) return false;
  for (const char* text : {"mro", "__prepare__"}) {
    Ref name = check(PyUnicode_InternFromString(text));
    ValuePtr found = class_attribute(walk, meta, name.get());
    auto* known = as<ObjectValue>(found);
    if (known == nullptr || known->object.get() != _PyType_Lookup(&PyType_Type, name)) return false;
    if (known->source != nullptr) walk.values().identity_of(found);
  }
  return true;
}

PyTypeObject* class_of(const ValuePtr& value) {
  auto* known = as<ObjectValue>(value);
  bool is_class = known != nullptr && PyType_Check(known->object.get());
  return is_class ? reinterpret_cast<PyTypeObject*>(known->object.get()) : nullptr;
}

// The most derived one of it and those of the bases.
ValuePtr metaclass_of(Walk& walk, ValuePtr meta, const std::vector<ValuePtr>& bases) {
  if (class_of(meta) == nullptr) break_on_class("a metaclass that is no class");
  for (const ValuePtr& base : bases) {
    if (class_of(base) == nullptr) break_on_class("a base that is no class");
    ValuePtr other = type_value(walk, base);
    if (derives_from(walk, meta, class_of(other))) continue;
    if (!derives_from(walk, other, class_of(meta))) raise_here();
    meta = other;
  }
  if (!makes_classes_as_type(walk, meta)) break_on_class("a metaclass that makes classes in its own way");
  return meta;
}

// The bases hear of the new class by the __init_subclass__ behind it in its MRO.
void tell_bases(Walk& walk, const MadeClass& made, const Keywords& keywords) {
  static PyObject* const kHook = PyUnicode_InternFromString("__init_subclass__");
  ValuePtr hook = made_attribute(walk, made, kHook, 1);
  auto* known = as<ObjectValue>(hook);
  bool is_objects = known != nullptr && known->object.get() == _PyType_Lookup(&PyBaseObject_Type, kHook);
  if (is_objects && known->source != nullptr) walk.values().identity_of(hook);
  if (is_objects && !keywords.empty()) raise_here();
  if (is_objects) return;
  ValuePtr function = hook;
  if (auto* held = as<MadeValue>(hook)) function = held->positional.front();  // of a class made here
  if (known != nullptr && Py_IS_TYPE(known->object.get(), &PyClassMethod_Type) && known->source != nullptr) {
    walk.values().exact_type(hook);
    function = value_at(walk, walk.sources().get(SourceKind::WrappedFunction, known->source, nullptr));
  }
  if (walk.values().exact_type(hook) != &PyClassMethod_Type || !function || !is_python_function(function))
    break_on_class("a base with an __init_subclass__ that cannot be followed");
  try {
    call_now(walk, function, {{made.value}, keywords});
  } catch (const RaiseSignal&) {
    break_on_class("an __init_subclass__ that raises");
  }
}

std::vector<ValuePtr> elements_of_bases(Walk& walk, const ValuePtr& bases) {
  auto elements = walk.values().is_exactly(bases, &PyTuple_Type) ? elements_of(walk, bases) : nullptr;
  if (!elements) break_on_class("bases that are no tuple");
  return std::move(*elements);
}

Ref bases_of(Walk& walk, const std::vector<ValuePtr>& classes) {
  Ref tuple = check(PyTuple_New(static_cast<Py_ssize_t>(classes.size())));
  for (size_t i = 0; i < classes.size(); ++i) {
    if (class_of(classes[i]) == nullptr) break_on_class("a base that is no class");
    PyTuple_SET_ITEM(tuple.get(), i, Py_NewRef(walk.values().identity_of(classes[i]).get()));
    // The order of the classes behind several bases is part of what the region relies on.
    if (classes.size() > 1) guard_mro(walk, classes[i]);
  }
  return tuple;
}

// Borrowed; null: the class itself has no such name.
PyObject* own_attribute(PyTypeObject* type, BorrowedRef name) {
  PyObject* value = nullptr;
  return pv_own_attribute(type, name, &value) > 0 ? value : nullptr;
}

// The cell in which functions of the body find the names of the class, which type fills with those.
ValuePtr names_cell_of(const ValuePtr& value) {
  auto* cell = as<CellValue>(value);
  if (cell == nullptr || cell->source != nullptr || cell->holds_names)
    break_on_class("a class with a __classdictcell__ of its own");
  return value;
}

// What is not there when the class is made is stored afterwards, where a descriptor of the metaclass (of __name__, __bases__ ...)
// would take it for something else.
void require_place(const ValuePtr& meta, BorrowedRef name, const ValuePtr& value) {
  if (value->kind == ValueKind::Object || !is_special_name(name) || is_plain_special(text_of(name))) return;
  PyObject* descriptor = _PyType_Lookup(class_of(meta), name);
  if (descriptor != nullptr && Py_TYPE(descriptor)->tp_descr_set != nullptr)
    break_on_class(str_cat("a class with its own ", text_of(name)));
}

// __build_class__(body, name, *bases, metaclass=type)
ValuePtr call_build_class(Walk& walk, const CallArgs& args) {
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
  ValuePtr type = walk.values().constant(reinterpret_cast<PyObject*>(&PyType_Type));
  ValuePtr meta = metaclass_of(walk, given != nullptr ? *given : type, classes);
  bases_of(walk, classes);
  auto bases = make_value<SequenceValue>(false, std::move(classes));
  auto names = make_value<DictValue>();
  ValuePtr cell = run_class_body(walk, args.positional[0], names);
  auto* class_cell = as<CellValue>(cell);
  int at = names->find(kCell);
  bool same = class_cell == nullptr ? at < 0 : at >= 0 && names->entries[static_cast<size_t>(at)].value == cell;
  if (!same) break_on_class("a class with a __classcell__ of its own");
  if (meta == type) return make_class(walk, meta, name, bases, names, keywords);
  ValuePtr made = call_now(walk, meta, {{name, bases, names}, keywords});
  if (class_cell != nullptr && class_cell->contents != made) break_on_class("a class for another one");
  return made;
}

// type.__new__(meta, name, bases, names), as a metaclass's own __new__ calls it.
ValuePtr call_type_new(Walk& walk, const CallArgs& args) {
  if (args.positional.size() != 4) raise_here();
  auto entries = entries_of(walk, args.positional[3]);
  if (!entries) break_on_class("type() with names that are not known");
  auto names = make_value<DictValue>();
  names->entries = std::move(*entries);
  return make_class(walk, args.positional[0], args.positional[1], args.positional[2], names, args.keywords);
}

// object.__init_subclass__ does nothing.
ValuePtr call_object_init_subclass(Walk& walk, const CallArgs& args) {
  require_count(args, 1, 1);
  return walk.values().none();
}

// type.__init__ does nothing.
ValuePtr call_type_init(Walk& walk, const CallArgs& args) {
  bool is_known = !args.positional.empty() && (args.positional.size() == 4 || args.keywords.empty());
  if (!is_known || (args.positional.size() != 2 && args.positional.size() != 4)) raise_here();
  return walk.values().none();
}

}  // namespace

bool is_special_name(BorrowedRef name) {
  std::string text = text_of(name);
  return text.size() > 4 && text.starts_with("__") && text.ends_with("__");
}

// What the collector does to a class that nobody has: the class holds itself.
MadeClass::~MadeClass() {
  if (value) PyType_Type.tp_clear(reinterpret_cast<PyObject*>(model()));
}

bool is_descriptor_of_made_class(Walk& walk, const ValuePtr& value) {
  auto* known = as<ObjectValue>(value);
  if (known == nullptr || known->source != nullptr) return false;
  PyTypeObject* type = known->object.type();
  bool is_descriptor = type == &PyMemberDescr_Type || type == &PyGetSetDescr_Type;
  return is_descriptor &&
         walk.classes().find(reinterpret_cast<PyObject*>(PyDescr_TYPE(known->object.get()))) != nullptr;
}

ValuePtr make_class(Walk& walk, const ValuePtr& meta, const ValuePtr& name, const ValuePtr& bases,
                    const Handle<DictValue>& names, const Keywords& keywords) {
  static PyObject* const kCell = PyUnicode_InternFromString("__classcell__");
  static PyObject* const kNamesCell = PyUnicode_InternFromString("__classdictcell__");
  static PyObject* const kQualname = PyUnicode_InternFromString("__qualname__");
  static PyObject* const kModule = PyUnicode_InternFromString("__module__");
  Ref text = constant_of(walk, name);
  if (!text || !PyUnicode_CheckExact(text.get())) break_on_class("a class whose name is not known");
  std::vector<ValuePtr> classes = elements_of_bases(walk, bases);
  if (metaclass_of(walk, meta, classes) != meta) break_on_class("a class of another metaclass");
  Ref tuple = bases_of(walk, classes);
  auto made = std::make_unique<MadeClass>();
  made->meta = meta;
  ValuePtr cell;
  made->name = walk.values().constant(text);
  made->bases = bases;
  made->base_classes = std::move(classes);
  made->names = make_value<DictValue>();
  Ref held = check(PyDict_New());
  for (const DictValue::Entry& entry : names->entries) {
    if (!PyUnicode_CheckExact(entry.key.get())) break_on_class("a class with a key that is no name");
    std::string key = text_of(entry.key.get());
    if (is_refused(key)) break_on_class(str_cat("a class with ", key));
    if (PyUnicode_Compare(entry.key, kQualname) == 0) {
      Ref qualname = constant_of(walk, entry.value);
      if (!qualname || !PyUnicode_CheckExact(qualname.get())) break_on_class("a __qualname__ that is not known");
      made->qualname = walk.values().constant(qualname);
      continue;
    }
    if (PyUnicode_Compare(entry.key, kCell) == 0) {
      auto* class_cell = as<CellValue>(entry.value);
      if (class_cell == nullptr || class_cell->source != nullptr)
        break_on_class("a class with a __classcell__ of its own");
      cell = entry.value;
      continue;
    }
    if (PyUnicode_Compare(entry.key, kNamesCell) == 0) {
      made->names_cell = names_cell_of(entry.value);
      continue;
    }
    require_place(meta, entry.key.get(), entry.value);
    made->names->set(entry.key.get(), entry.value);
    check_status(PyDict_SetItem(held, entry.key, stand_in(walk, entry.key.get(), entry.value)));
  }
  if (!made->qualname) made->qualname = made->name;
  if (made->names->find(kModule) < 0) {
    const Source* source = walk.sources().get(SourceKind::Global, globals_function(walk)->source,
                                              check(PyUnicode_InternFromString("__name__")).get());
    ValuePtr module = walk.effects().any_dict_written() ? nullptr : value_at(walk, source);
    if (!module) break_on_class("a class of a module without a name");
    made->names->set(kModule, module);
  }
  made->first_names = make_value<DictValue>();
  made->first_names->entries = made->names->entries;
  check_status(PyDict_SetItem(held, kQualname, as<ObjectValue>(made->qualname)->object));
  Ref arguments = check(PyTuple_Pack(3, text.get(), tuple.get(), held.get()));
  Ref model = new_class(class_of(meta), arguments.get());
  if (!model) raise_here();
  auto value = make_value<ObjectValue>(model, nullptr);
  value->made_class = true;
  made->value = value;
  const MadeClass& kept = *made;
  walk.classes().keep(std::move(made));
  if (cell) store_cell(walk, cell, value);
  if (kept.names_cell) {
    as<CellValue>(kept.names_cell)->holds_names = true;
    store_cell(walk, kept.names_cell, value);
  }
  tell_names(walk, kept);
  tell_bases(walk, kept, keywords);
  return value;
}

ValuePtr field_of_class(Walk& walk, const MadeClass& made, BorrowedRef name) {
  auto is = [&](const char* text) { return PyUnicode_CompareWithASCIIString(name, text) == 0; };
  if (is("__name__")) return made.name;
  if (is("__qualname__")) return made.qualname;
  // Without any, type makes a tuple of its own.
  if (is("__bases__")) return made.base_classes.empty() ? nullptr : made.bases;
  bool is_doc = is("__doc__");
  if (!is_doc && !is("__module__") && !is("__annotations__")) return nullptr;
  int at = made.names->find(name);
  if (at < 0) return is_doc ? walk.values().none() : nullptr;
  // A descriptor is asked.
  ValuePtr value = made.names->entries[static_cast<size_t>(at)].value;
  PyTypeObject* type = walk.values().exact_type(value);
  bool is_plain = type == &PyUnicode_Type || type == &PyDict_Type || type == Py_TYPE(Py_None);
  return is_plain ? value : nullptr;
}

bool store_on_class(Walk& walk, MadeClass& made, BorrowedRef name, const ValuePtr& value) {
  if (is_special_name(name)) return false;
  if (class_of(made.meta) != &PyType_Type) {
    if (class_of(made.meta)->tp_setattro != PyType_Type.tp_setattro) return false;
    if (!inherits(walk, made.value, &PyType_Type, {"__setattr__", "__delattr__"})) return false;
    if (type_attribute(walk, made.value, name)) return false;
  }
  int at = made.names->find(name);
  if (!value) {
    if (at < 0) return false;
    check_status(PyObject_DelAttr(reinterpret_cast<PyObject*>(made.model()), name));
    made.stores.emplace_back(Ref::share(name), nullptr);
    return made.names->erase(name);
  }
  check_status(PyObject_SetAttr(reinterpret_cast<PyObject*>(made.model()), name, stand_in(walk, name, value)));
  made.names->set(name, value);
  made.stores.emplace_back(Ref::share(name), value);
  return true;
}
ValuePtr run_class_body(Walk& walk, const ValuePtr& function, const Handle<DictValue>& names) {
  size_t depth = walk.frames().depth();
  walk.pending().set_result(nullptr);
  inline_function(walk, function, {}, ContinuationKind::Hold, nullptr);
  walk.frames().innermost().names = names;
  run_held(walk, depth);
  ValuePtr result = walk.pending().take_result();
  MD_ASSERT(result, "the body of a class gave no result");
  return result;
}

// A class from outside in the MRO of one that the walk made, which has its source from one of the bases.
ValuePtr outside_class(Walk& walk, const MadeClass& made, BorrowedRef type) {
  for (const ValuePtr& base : made.base_classes) {
    auto* known = as<ObjectValue>(base);
    if (known->object.get() == type.get()) return base;
    if (const MadeClass* between = walk.classes().find(known->object)) {
      if (ValuePtr found = outside_class(walk, *between, type)) return found;
      continue;
    }
    PyObject* mro = reinterpret_cast<PyTypeObject*>(known->object.get())->tp_mro;
    for (Py_ssize_t i = 1; known->source != nullptr && i < PyTuple_GET_SIZE(mro); ++i) {
      if (PyTuple_GET_ITEM(mro, i) != type.get()) continue;
      return value_at(walk, walk.sources().get(SourceKind::MroEntry, known->source, nullptr, static_cast<int>(i)),
                      Ref::share(type));
    }
  }
  return nullptr;
}

ValuePtr made_attribute(Walk& walk, const MadeClass& made, BorrowedRef name, Py_ssize_t first) {
  PyObject* mro = made.model()->tp_mro;
  for (Py_ssize_t i = first; i < PyTuple_GET_SIZE(mro); ++i) {
    auto* type = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(mro, i));
    if (MadeClass* own = walk.classes().find(PyTuple_GET_ITEM(mro, i))) {
      int at = own->names->find(name);
      if (at >= 0) return as_held(walk, text_of(name), own->names->entries[static_cast<size_t>(at)].value);
      // What every class is given: None for __doc__ or __hash__, and the descriptors of what its objects have.
      PyObject* given = own_attribute(type, name);
      if (given != nullptr) return walk.values().constant(given);
      continue;
    }
    PyObject* rest = type->tp_mro;
    bool is_last = PyTuple_GET_SIZE(rest) == PyTuple_GET_SIZE(mro) - i;
    for (Py_ssize_t k = 0; is_last && k < PyTuple_GET_SIZE(rest); ++k)
      is_last = PyTuple_GET_ITEM(rest, k) == PyTuple_GET_ITEM(mro, i + k);
    bool may_change =
        PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) && !PyType_HasFeature(type, Py_TPFLAGS_IMMUTABLETYPE);
    ValuePtr value = may_change ? outside_class(walk, made, PyTuple_GET_ITEM(mro, i))
                                : walk.values().constant(PyTuple_GET_ITEM(mro, i));
    if (!value) graph_break(BreakReason::custom_attribute_lookup, "a base of a class that cannot be guarded");
    if (auto written = written_on_class(walk, value, name); written && *written) return *written;
    ValuePtr found = class_attribute(walk, value, name);
    if (is_last || (found && own_attribute(type, name) != nullptr)) return found;
    // Not there itself: what it finds further on stays what it is.
    if (found) walk.values().identity_of(found);
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
