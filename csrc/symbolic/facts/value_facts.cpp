// Reading values: each result adds the guard that makes it valid.
#include "symbolic/facts/value_facts.h"
#include "cpython/errors.h"
#include "cpython/imports.h"
#include "guards/guard_set.h"
#include "guards/return_types.h"
#include "symbolic/attributes/attributes.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/effects/pending_writes.h"
#include "symbolic/exceptions/exceptions.h"
#include "symbolic/facts/instance_dicts.h"
#include "symbolic/facts/mapping_proxies.h"
#include "symbolic/facts/tensor_keys.h"
#include "symbolic/facts/weak_references.h"
#include "symbolic/sizes/computed_numbers.h"
#include "symbolic/sizes/symbolic_sizes.h"
#include "symbolic/sizes/unbacked_sizes.h"
#include "symbolic/tensors/known_tensors.h"
#include "symbolic/tensors/tensor_parts.h"
#include "symbolic/trace/loops.h"

#include <algorithm>

#include "symbolic/facts/class_relations.h"
#include "symbolic/facts/enum_values.h"
#include "symbolic/values/number_types.h"

namespace md {

namespace {

// A constant of the package's own subclass of tuple (Size).
bool is_constant_tuple(const ObjectValue& value) {
  return value.source == nullptr && PyTuple_Check(value.object.get()) &&
         is_guardable_constant(exact_constant(value.object.get()));
}

// A constant, or one of the package's own subclasses.
bool is_known_constant(const ObjectValue& value) {
  if (is_guardable_constant(value.object.get())) return true;
  return is_constant_tuple(value);
}

// The position of a key that is not a constant is found by counting.
constexpr Py_ssize_t kMostKeysByPlace = 192;

// Returns true if dicts and sets raise the same TypeError for a list as hash(): since 3.14 they name the intended use.
bool containers_speak_as_hash() {
  static const bool same = [] {
    ErrorAside error;
    Ref dict = check(PyDict_New()), set = check(PySet_New(nullptr)), list = check(PyList_New(0));
    auto words = [](bool is_done) {
      PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
      PyErr_Fetch(&type, &value, &traceback);
      PyErr_NormalizeException(&type, &value, &traceback);
      Ref held[] = {Ref::steal(type), Ref::steal(value), Ref::steal(traceback)};
      MD_ASSERT(!is_done && held[1], "a list has a hash");
      return check(PyObject_Str(held[1]));
    };
    Ref of_hash = words(PyObject_Hash(list) != -1);
    Ref of_containers[] = {words(PyDict_SetItem(dict, list, Py_None) == 0),
                           words(PyDict_DelItem(dict, list) == 0),
                           words(static_cast<bool>(Ref::steal(PyObject_GetItem(dict, list)))),
                           words(PySequence_Contains(dict, list) != -1),
                           words(PySet_Add(set, list) == 0),
                           words(PySet_Contains(set, list) != -1)};
    return std::ranges::all_of(of_containers, [&](const Ref& text) { return PyUnicode_Compare(text, of_hash) == 0; });
  }();
  return same;
}

PyObject* attribute_of(const char* module, const char* type, const char* name) {
  Ref owner = imported(module, type);
  return check(PyObject_GetAttrString(owner, name)).release();
}

// Returns true for __hash__ methods in Python that depend only on constant state of the object.
bool is_hash_of_constants(BorrowedRef method) {
  static PyObject* const known[] = {attribute_of("enum", "Enum", "__hash__"), attribute_of("enum", "Flag", "__hash__")};
  return std::ranges::find(known, method.get()) != std::end(known);
}

bool always_true(PyTypeObject* type) {
  return type == &PyFunction_Type || type == &PyCFunction_Type || type == &PyModule_Type || type == &PyMethod_Type ||
         PyType_HasFeature(type, Py_TPFLAGS_TYPE_SUBCLASS) || type == &PyCode_Type || type == &PyCell_Type ||
         type == &PySlice_Type;
}

}  // namespace

BorrowedRef existing_object(const ValuePtr& value) {
  if (auto* known = as<ObjectValue>(value)) return known->object.get();
  if (auto* tensor = as<TensorValue>(value)) return tensor->object.get();
  if (auto* cell = as<CellValue>(value)) return cell->object.get();
  return nullptr;
}

bool inherits(Tracer& tracer, const ValuePtr& value, PyTypeObject* base, std::initializer_list<const char*> names) {
  if (type_of(value) == base) return true;
  for (const char* text : names) {
    Ref name = check(PyUnicode_InternFromString(text));
    ValuePtr found = type_attribute(tracer, value, name.get());
    auto* known = as<ObjectValue>(found);
    PyObject* expected = _PyType_Lookup(base, name);
    if (!found && expected == nullptr) continue;
    if (known == nullptr || known->object.get() != expected) return false;
    if (known->source != nullptr) tracer.values().identity_of(found);
  }
  return true;
}

bool is_dict(Tracer& tracer, const ValuePtr& value, std::initializer_list<const char*> names) {
  PyTypeObject* type = type_of(value);
  if (type == &PyDict_Type) return true;
  if (type == nullptr || (value->kind != ValueKind::Dict && value->kind != ValueKind::Object)) return false;
  if (!PyType_IsSubtype(type, &PyDict_Type)) return false;
  if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) return true;
  tracer.values().exact_type(value);
  PyTypeObject* base = PyType_IsSubtype(type, &PyODict_Type) ? &PyODict_Type : &PyDict_Type;
  if (value->kind == ValueKind::Object && base != &PyODict_Type) {
    // defaultdict's own C methods take precedence over those of dict.
    PyTypeObject* built_in = type;
    while (PyType_HasFeature(built_in, Py_TPFLAGS_HEAPTYPE)) built_in = built_in->tp_base;
    if (built_in != &PyDict_Type) return false;
  }
  return inherits(tracer, value, base, names);
}

bool is_plain_list(Tracer& tracer, const ValuePtr& value) {
  PyTypeObject* type = type_of(value);
  if (type == &PyList_Type || is_deque(value)) return true;
  if (type == nullptr || !PyType_IsSubtype(type, &PyList_Type)) return false;
  return inherits(tracer, value, &PyList_Type, {"__iter__", "__len__", "__getitem__"});
}

bool is_plain_tuple(Tracer& tracer, const ValuePtr& value) {
  PyTypeObject* type = type_of(value);
  if (type == &PyTuple_Type) return true;
  if (type == nullptr || !PyType_IsSubtype(type, &PyTuple_Type)) return false;
  if (is_shape(value)) return true;
  auto* known = as<ObjectValue>(value);
  if ((known != nullptr && known->source == nullptr) || is_return_type(type)) return true;
  // sys.version_info and similar: immutable struct sequence types of C.
  static PyObject* const kFields = PyUnicode_InternFromString("n_sequence_fields");
  bool is_struct = !PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) && _PyType_Lookup(type, kFields) != nullptr;
  if (is_struct) return type->tp_as_sequence == nullptr || type->tp_iter == PyTuple_Type.tp_iter;
  bool is_heap = PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) && type->tp_getattro == PyObject_GenericGetAttr;
  return is_heap && inherits(tracer, value, &PyTuple_Type, {"__iter__", "__len__", "__getitem__"});
}

namespace {

ValuePtr tensor_at(Tracer& tracer, const Source* source, const TensorFamily& family, const TensorView& view,
                   Ref object) {
  ValuePtr* known = tracer.values().united_tensor(object);
  if (known != nullptr && *known) {
    tracer.guards().alias(as<TensorValue>(*known)->source, source, true);
    tracer.values().set(source, *known);
    return *known;
  }
  auto tensor = make_value<TensorValue>(ValueRef{}, view.spec(), family);
  tensor->object = std::move(object);
  tensor->source = source;
  make_sizes_symbolic(tracer, tensor.get());
  tracer.values().set(source, tensor);
  if (known != nullptr) *known = tensor;
  return tensor;
}

// Returns true for a number that differed at an earlier capture or varies from one iteration of a loop to the next, or,
// under dynamic=True, an int argument.
bool is_dynamic(const TraceStart& start, const Source* source, BorrowedRef object) {
  PyTypeObject* type = object.type();
  bool is_number = type == &PyLong_Type || type == &PyFloat_Type || type == &PyRange_Type;
  if (start.dynamic_sources != nullptr && is_number && start.dynamic_sources->contains(name(source, start.bytecode)))
    return true;
  if (is_number && start.policy->dynamic != DynamicShapes::Never && LoopScope::current().varies(source, object))
    return true;
  bool from_the_start = start.policy->dynamic == DynamicShapes::Always && start.index == 0;
  return from_the_start && type == &PyLong_Type && source->kind() == SourceKind::Local;
}

}  // namespace

ValuePtr value_at(Tracer& tracer, const Source* source, Ref object) {
  if (ValuePtr known = tracer.values().find(source)) return known;
  if (is_guardable_constant(object) && is_in_stand_in(source)) return tracer.values().constant(object);
  TensorView view;
  if (const TensorFamily* family = family_of(object.get()); family != nullptr && read_view(*family, object, view))
    return tensor_at(tracer, source, *family, view, std::move(object));
  auto known = make_value<ObjectValue>(std::move(object), source);
  known->is_dynamic = is_dynamic(tracer.entry().start(), source, known->object);
  tracer.values().set(source, known);
  tracer.effects().note_object(known);
  return known;
}

ValuePtr value_at(Tracer& tracer, const Source* source) {
  if (ValuePtr known = tracer.values().find(source)) return known;
  Ref object = fetch(source, tracer.values().view());
  if (!object) return nullptr;
  // A guard on its presence may be the only one.
  tracer.guards().present(source);
  return value_at(tracer, source, std::move(object));
}

Ref constant_of(Tracer& tracer, const ValuePtr& value) {
  if (value->kind == ValueKind::Number)
    graph_break(BreakReason::tensor_to_number, str_cat("the value of a ", describe(value), " taken out of a tensor"));
  if (auto* computed = as<ComputedValue>(value)) {
    refuse_unbacked(tracer, value);
    bool is_bool = PyBool_Check(computed->current.get());
    std::optional<Dim> dim = computed->known || is_bool ? std::nullopt : dim_of(tracer, value);
    if (computed->known || (is_bool && decided(tracer, *computed))) {
      // The guards on the sizes suffice.
    } else if (dim && dim->is_symbolic() && !is_for_python(tracer, *dim)) {
      static_cast<void>(dim->value());
    } else if (computed->parts.empty()) {
      // A size that depends on a dynamic number: the interpreter reads it, like the number itself.
      graph_break(BreakReason::opaque_number);
    } else if (!guard_result(tracer, *computed)) {
      for (const ValuePtr& part : computed->parts) constant_of(tracer, part);
    }
    computed->known = true;
    return computed->current;
  }
  if (auto* object = as<ObjectValue>(value)) {
    if (object->source == nullptr || object->value_guarded) return is_known_constant(*object) ? object->object : Ref();
    // Avoids comparing a long tuple as a whole for the sake of one element.
    if (PyTuple_CheckExact(object->object.get()) && PyTuple_GET_SIZE(object->object.get()) > 64) return nullptr;
    if (is_shape(value)) return constant_of(tracer, known_shape(tracer, value));
    if (!is_guardable_constant(object->object.get())) return nullptr;
    // After a break the interpreter can read the number; a whole function is captured once per value.
    if (object->is_dynamic && tracer.entry().start().index > 0) graph_break(BreakReason::opaque_number);
    tracer.guards().equals_match(object->source, object->object.get());
    object->value_guarded = object->type_guarded = object->length_guarded = true;
    return object->object;
  }
  if (is_shape(value)) return constant_of(tracer, known_shape(tracer, value));
  if (auto* sequence = as<SequenceValue>(value); sequence != nullptr && !sequence->is_list && !sequence->type) {
    Ref tuple = check(PyTuple_New(static_cast<Py_ssize_t>(sequence->items.size())));
    for (size_t i = 0; i < sequence->items.size(); ++i) {
      Ref item = constant_of(tracer, sequence->items[i]);
      if (!item) return nullptr;
      PyTuple_SET_ITEM(tuple.get(), i, item.release());
    }
    return tuple;
  }
  if (auto* slice = as<SliceValue>(value)) {
    Ref start = constant_of(tracer, slice->start), stop = constant_of(tracer, slice->stop),
        step = constant_of(tracer, slice->step);
    if (!start || !stop || !step) return nullptr;
    return check(PySlice_New(start, stop, step));
  }
  return nullptr;
}

std::unique_ptr<std::vector<ValuePtr>> elements_as_key(Tracer& tracer, const ValuePtr& value) {
  PyTypeObject* type = type_of(value);
  if (type == nullptr || !PyType_IsSubtype(type, &PyTuple_Type)) return nullptr;
  if (family_of_sizes(type) == nullptr && !inherits(tracer, value, &PyTuple_Type, {"__hash__", "__eq__"}))
    return nullptr;
  if (auto* made = as<SequenceValue>(value)) return std::make_unique<std::vector<ValuePtr>>(made->items);
  auto* object = as<ObjectValue>(value);
  if (object == nullptr) return nullptr;
  // The hash and the comparison read the items of the tuple, whatever methods its class has.
  tracer.values().exact_type(value);
  Py_ssize_t length = PyTuple_GET_SIZE(object->object.get());
  if (object->source != nullptr && !std::exchange(object->length_guarded, true))
    tracer.guards().length(object->source, length);
  auto elements = std::make_unique<std::vector<ValuePtr>>();
  for (Py_ssize_t i = 0; i < length; ++i) elements->push_back(element(tracer, object, i));
  return elements;
}

namespace {

// A method in C equals others of the same object; a function of a module is one object.
bool is_function_of_module(BorrowedRef object) {
  if (!PyCFunction_CheckExact(object.get())) return false;
  PyObject* self = PyCFunction_GET_SELF(object.get());
  return self == nullptr || PyModule_Check(self);
}

}  // namespace

// Returns true if the object is equal only to itself, according to its class as it is now.
bool may_be_key(BorrowedRef object) {
  if (is_function_of_module(object)) return true;
  static PyObject* const kHash = PyUnicode_InternFromString("__hash__");
  PyTypeObject* type = object.type();
  bool by_identity = type->tp_hash == PyBaseObject_Type.tp_hash || is_hash_of_constants(_PyType_Lookup(type, kHash));
  return by_identity && type->tp_richcompare == PyBaseObject_Type.tp_richcompare && GuardSet::can_hold(object);
}

bool has_own_identity(Tracer& tracer, const ValuePtr& value) {
  static PyObject* const kHash = PyUnicode_InternFromString("__hash__");
  auto* object = as<ObjectValue>(value);
  if (object == nullptr || !may_be_key(object->object)) return false;
  if (!PyType_HasFeature(tracer.values().exact_type(value), Py_TPFLAGS_HEAPTYPE)) return true;
  ValuePtr hash = type_attribute(tracer, value, kHash);
  tracer.values().identity_of(hash);
  return inherits(tracer, value, &PyBaseObject_Type, {"__eq__"});
}

namespace {

// A tuple with elements that are not constants; null for other values.
Ref tuple_key(Tracer& tracer, const ValuePtr& value, bool alone) {
  auto elements = elements_as_key(tracer, value);
  if (!elements) return nullptr;
  Ref tuple = check(PyTuple_New(static_cast<Py_ssize_t>(elements->size())));
  for (size_t i = 0; i < elements->size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), key_of(tracer, (*elements)[i], alone).release());
  tracer.keys().hold(tuple, value);
  return tuple;
}

}  // namespace

void raise_unhashable(Tracer& tracer, bool alone) {
  if (alone && containers_speak_as_hash()) raise_current(tracer);
  PyErr_Clear();
  raise_here();
}

Ref key_of(Tracer& tracer, const ValuePtr& value, bool alone) {
  if (auto* identity = as<IdentityValue>(value)) return identity->key;
  // The hash of a traced class is its address, unknown before it is created.
  if (auto* object = as<ObjectValue>(value); object != nullptr && object->traced_class)
    graph_break(BreakReason::unhashable_key, describe(value));
  if (Ref reference = weak_key_of(tracer, value)) return reference;
  if (Ref tensor = is_tensor(value) ? tensor_key(tracer, value) : Ref()) return tensor;
  // A tuple created in the trace is itself the key, and so is the object of sizes, which equal others.
  bool is_key_itself = as<SequenceValue>(value) != nullptr || is_shape(value);
  Ref key = is_tensor(value) || is_key_itself ? Ref() : constant_of(tracer, value);
  if (key) {
    if (PyObject_Hash(key) == -1) raise_unhashable(tracer, alone);
    return key;
  }
  if (!has_own_identity(tracer, value)) {
    PyTypeObject* type = type_of(value);
    if (type == &PyList_Type || type == &PyDict_Type || type == &PySet_Type) {
      tracer.values().exact_type(value);
      PyErr_Format(PyExc_TypeError, "unhashable type: '%s'", type->tp_name);
      raise_unhashable(tracer, alone);
    }
    if (Ref tuple = tuple_key(tracer, value, alone)) return tuple;
    graph_break(BreakReason::unhashable_key, describe(value));
  }
  Ref object = Ref::share(tracer.values().identity_of(value));
  if (as<ObjectValue>(value)->source != nullptr) tracer.keys().add(object, value);
  return object;
}

ValuePtr value_of_key(Tracer& tracer, BorrowedRef key) {
  ValuePtr found = tracer.keys().find(key);
  return found ? found : tracer.values().constant(key);
}

std::optional<int64_t> int_of(Tracer& tracer, const ValuePtr& value) {
  if (ValuePtr plain = plain_value(tracer, value, {})) return plain == value ? std::nullopt : int_of(tracer, plain);
  bool is_int =
      (value->kind == ValueKind::Object || value->kind == ValueKind::Computed) && type_of(value) == &PyLong_Type;
  if (!is_int) return std::nullopt;
  Ref constant = constant_of(tracer, value);
  int overflow = 0;
  long long number = PyLong_AsLongLongAndOverflow(constant, &overflow);
  if (overflow != 0) return std::nullopt;
  return number;
}

ValuePtr element(Tracer& tracer, ObjectValue* sequence, Py_ssize_t index) {
  if (sequence->writes) return written_list(tracer, sequence)->items[index];
  PyObject* object = sequence->object;
  bool is_known = PyTuple_Check(object) || PyList_Check(object);
  Ref held = is_known ? Ref() : check(PySequence_GetItem(object, index));
  PyObject* item = PyTuple_Check(object)  ? PyTuple_GET_ITEM(object, index)
                   : PyList_Check(object) ? PyList_GET_ITEM(object, index)
                                          : held.get();
  if (sequence->source == nullptr) return tracer.values().constant(item);
  return value_at(tracer, tracer.sources().get(SourceKind::Item, sequence->source, nullptr, static_cast<int>(index)),
                  Ref::share(item));
}

namespace {

// Of a pre-existing object, or of a mapping proxy.
std::optional<int64_t> constant_length(Tracer& tracer, const ValuePtr& value) {
  Ref constant = constant_of(tracer, value);
  Py_ssize_t length = constant ? PyObject_Size(constant) : -1;
  if (length < 0) PyErr_Clear();  // a range longer than ssize_t
  return length >= 0 ? std::optional<int64_t>(length) : std::nullopt;
}

// With its pending writes.
std::optional<int64_t> written_length(Tracer& tracer, const ValuePtr& value, ObjectValue& known, bool is_list) {
  if (is_list) return written_list(tracer, &known)->items.size();
  if (PySet_CheckExact(known.object.get())) return PySet_GET_SIZE(set_contents(tracer, value).get());
  if (!is_dict(tracer, value, {"__len__"})) return std::nullopt;
  return written_dict(tracer, &known)->entries.size();
}

std::optional<int64_t> kind_length(Tracer& tracer, const ValuePtr& value, SequenceValue& sequence) {
  if (sequence.type && !is_plain_tuple(tracer, value) && !is_plain_list(tracer, value)) return std::nullopt;
  return sequence.items.size();
}
std::optional<int64_t> kind_length(Tracer& tracer, const ValuePtr& value, DictValue& dict) {
  if (!is_dict(tracer, value, {"__len__"})) return std::nullopt;
  return dict.entries.size();
}
std::optional<int64_t> kind_length(Tracer&, const ValuePtr&, SetValue& set) { return PySet_GET_SIZE(set.set.get()); }
std::optional<int64_t> kind_length(Tracer& tracer, const ValuePtr&, DictViewValue& view) {
  return length_of(tracer, view.dict);
}
std::optional<int64_t> kind_length(Tracer& tracer, const ValuePtr&, InstanceDictValue& dict) {
  return instance_entries(tracer, dict)->size();
}
std::optional<int64_t> kind_length(Tracer& tracer, const ValuePtr& value, ConstructedValue&) {
  const ValuePtr shown = behind_proxy(tracer, value);
  if (shown != value) return length_of(tracer, shown);
  ValuePtr length = call_member_of_part(tracer, value, "__len__");
  return length ? int_of(tracer, length) : std::nullopt;
}
std::optional<int64_t> kind_length(Tracer& tracer, const ValuePtr& value, ObjectValue& known) {
  if (const ValuePtr shown = behind_proxy(tracer, value); shown != value) return length_of(tracer, shown);
  if (ValuePtr plain = plain_value(tracer, value, {"__len__"})) return length_of(tracer, plain);
  PyObject* object = known.object;
  bool is_list = PyList_Check(object) || is_deque(value);
  if (is_list && !is_plain_list(tracer, value)) return std::nullopt;
  if (known.writes && (is_list || PySet_CheckExact(object) || PyDict_Check(object)))
    return written_length(tracer, value, known, is_list);
  if (PyUnicode_CheckExact(object) || PyBytes_CheckExact(object) || PyRange_Check(object))
    return constant_length(tracer, value);
  bool sized = is_plain_tuple(tracer, value) || is_list ||
               (PyDict_Check(object) && is_dict(tracer, value, {"__len__"})) || PyAnySet_CheckExact(object);
  if (!sized) return std::nullopt;
  tracer.values().exact_type(value);
  int64_t length = PyObject_Size(object);
  bool fixed = is_return_type(Py_TYPE(object));  // by the type
  if (known.source != nullptr && !known.length_guarded && !fixed) {
    tracer.guards().length(known.source, length);
    known.length_guarded = true;
  }
  return length;
}
std::optional<int64_t> kind_length(Tracer&, const ValuePtr&, NullValue&) { return std::nullopt; }
std::optional<int64_t> kind_length(Tracer&, const ValuePtr&, TensorValue&) { return std::nullopt; }
std::optional<int64_t> kind_length(Tracer&, const ValuePtr&, SliceValue&) { return std::nullopt; }
std::optional<int64_t> kind_length(Tracer&, const ValuePtr&, CellValue&) { return std::nullopt; }
std::optional<int64_t> kind_length(Tracer&, const ValuePtr&, FunctionValue&) { return std::nullopt; }
std::optional<int64_t> kind_length(Tracer&, const ValuePtr&, BoundMethodValue&) { return std::nullopt; }
std::optional<int64_t> kind_length(Tracer&, const ValuePtr&, PolicyFunctionValue&) { return std::nullopt; }
std::optional<int64_t> kind_length(Tracer&, const ValuePtr&, InstanceValue&) { return std::nullopt; }
std::optional<int64_t> kind_length(Tracer&, const ValuePtr&, RaisedPartValue&) { return std::nullopt; }
std::optional<int64_t> kind_length(Tracer&, const ValuePtr&, IteratorValue&) { return std::nullopt; }
std::optional<int64_t> kind_length(Tracer&, const ValuePtr&, SuperValue&) { return std::nullopt; }
std::optional<int64_t> kind_length(Tracer&, const ValuePtr&, NumberValue&) { return std::nullopt; }
std::optional<int64_t> kind_length(Tracer&, const ValuePtr&, ComputedValue&) { return std::nullopt; }
std::optional<int64_t> kind_length(Tracer&, const ValuePtr&, IdentityValue&) { return std::nullopt; }

}  // namespace

std::optional<int64_t> length_of(Tracer& tracer, const ValuePtr& value) {
  return visit_kind(*value, [&](auto& own) { return kind_length(tracer, value, own); });
}

std::unique_ptr<std::vector<ValuePtr>> elements_of(Tracer& tracer, const ValuePtr& value) {
  if (auto* sequence = as<SequenceValue>(value)) {
    if (sequence->type && !is_plain_tuple(tracer, value) && !is_plain_list(tracer, value)) return nullptr;
    return std::make_unique<std::vector<ValuePtr>>(sequence->items);
  }
  auto* object = as<ObjectValue>(value);
  if (object == nullptr) return nullptr;
  if (!is_plain_tuple(tracer, value) && !is_plain_list(tracer, value)) return nullptr;
  if (object->writes && (PyList_Check(object->object.get()) || is_deque(value)))
    return std::make_unique<std::vector<ValuePtr>>(written_list(tracer, object)->items);
  auto elements = std::make_unique<std::vector<ValuePtr>>();
  std::optional<int64_t> length = length_of(tracer, value);
  MD_ASSERT(length, "a tuple or list without a length");
  for (int64_t i = 0; i < *length; ++i) elements->push_back(element(tracer, object, i));
  return elements;
}

namespace {

// A key of a pre-existing dict whose keys are guarded. Returns false if it cannot be told apart from other keys.
bool note_held_key(Tracer& tracer, BorrowedRef key, const Source* place) {
  if (family_of(key) != nullptr) return static_cast<bool>(tensor_key(tracer, value_at(tracer, place), /*held=*/true));
  if (tracer.keys().contains(key)) return true;
  ValuePtr value = value_at(tracer, place, Ref::share(key));
  if (auto* held = as<ObjectValue>(value)) held->value_guarded = true;
  tracer.keys().set(key, value);
  return true;
}

}  // namespace

std::unique_ptr<std::vector<DictValue::Entry>> entries_of(Tracer& tracer, const ValuePtr& value) {
  // OrderedDict calls the `keys` attribute, which the class may look up in its own way.
  bool is_ordered = type_of(value) != nullptr && PyType_IsSubtype(type_of(value), &PyODict_Type) != 0;
  if (is_ordered && !is_dict(tracer, value, {"__getattribute__"})) return nullptr;
  auto* object = as<ObjectValue>(value);
  bool is_table = value->kind == ValueKind::Dict || (object != nullptr && PyDict_Check(object->object.get()));
  // A subclass may return other entries to code that copies it.
  if (is_table && !is_dict(tracer, value, {"__iter__", "keys"})) return nullptr;
  if (is_ordered && object != nullptr && !is_dict(tracer, value, {"__getitem__"})) return nullptr;
  return held_entries(tracer, value);
}

std::unique_ptr<std::vector<DictValue::Entry>> held_entries(Tracer& tracer, const ValuePtr& value) {
  if (auto* dict = as<DictValue>(value)) return std::make_unique<std::vector<DictValue::Entry>>(dict->entries);
  if (auto* attributes = as<InstanceDictValue>(value)) return instance_entries(tracer, *attributes);
  auto* object = as<ObjectValue>(value);
  if (object == nullptr || !PyDict_Check(object->object.get())) return nullptr;
  bool is_ordered = PyODict_Check(object->object.get());
  tracer.values().exact_type(value);
  if (object->writes) return std::make_unique<std::vector<DictValue::Entry>>(written_dict(tracer, object)->entries);
  auto entries = std::make_unique<std::vector<DictValue::Entry>>();
  // An OrderedDict is iterated over by looking up its keys.
  PyObject* key_there = nullptr;
  for (Py_ssize_t at = 0; is_ordered && PyDict_Next(object->object, &at, &key_there, nullptr) != 0;)
    if (!is_guardable_constant(key_there)) return nullptr;
  // Uses the order of the C class, whatever the user's __iter__ says.
  Ref iterator = check((is_ordered ? PyODict_Type : PyDict_Type).tp_iter(object->object));
  Ref keys = Ref::steal(PySequence_Tuple(iterator));
  if (!keys) PyErr_Clear();  // a method of dict has bypassed its order
  if (!keys) return nullptr;
  bool plain = true;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keys.get()); ++i) {
    if (is_guardable_constant(PyTuple_GET_ITEM(keys.get(), i))) continue;
    PyObject* key = PyTuple_GET_ITEM(keys.get(), i);
    bool may_be = may_be_key(key) || (family_of(key) != nullptr && GuardSet::can_hold(key));
    if (is_ordered || !may_be || PyTuple_GET_SIZE(keys.get()) > kMostKeysByPlace) return nullptr;
    plain = false;
  }
  if (object->source != nullptr && !object->value_guarded) {
    tracer.guards().dict_keys(object->source, keys.get());
    object->value_guarded = object->length_guarded = true;
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keys.get()); ++i) {
    PyObject* key = PyTuple_GET_ITEM(keys.get(), i);
    PyObject* item = PyDict_GetItemWithError(object->object, key);
    MD_ASSERT(item != nullptr, "a key of a dict is missing");
    ValuePtr known =
        object->source == nullptr ? tracer.values().constant(item)
        : plain ? value_at(tracer, tracer.sources().get(SourceKind::DictItem, object->source, key), Ref::share(item))
                : value_at(tracer, tracer.sources().get(SourceKind::DictEntry, object->source, nullptr, i),
                           Ref::share(item));
    if (!plain && object->source != nullptr && !is_guardable_constant(key)) {
      const Source* place = tracer.sources().get(SourceKind::DictKey, object->source, nullptr, i);
      if (!note_held_key(tracer, key, place)) return nullptr;
    }
    entries->push_back({Ref::share(key), std::move(known)});
  }
  return entries;
}

// Returns true if no __bool__ precedes the __len__.
bool inherits_truth(Tracer& tracer, const ValuePtr& value) {
  static PyObject* const kBool = PyUnicode_InternFromString("__bool__");
  return !type_attribute(tracer, value, kBool);
}

namespace {

std::optional<bool> truth_by_length(Tracer& tracer, const ValuePtr& value) {
  std::optional<int64_t> length = length_of(tracer, value);
  return length ? std::optional(*length != 0) : std::nullopt;
}

// An object of a Python class is true if the class has neither __bool__ nor __len__.
std::optional<bool> truth_by_class(Tracer& tracer, const ValuePtr& value) {
  PyTypeObject* type = tracer.values().exact_type(value);
  bool plain = (type->tp_as_number == nullptr || type->tp_as_number->nb_bool == nullptr) &&
               (type->tp_as_sequence == nullptr || type->tp_as_sequence->sq_length == nullptr) &&
               (type->tp_as_mapping == nullptr || type->tp_as_mapping->mp_length == nullptr);
  if (!plain) return std::nullopt;
  if (may_change(type)) {
    static PyObject* const kBool = PyUnicode_InternFromString("__bool__");
    static PyObject* const kLen = PyUnicode_InternFromString("__len__");
    if (type_attribute(tracer, value, kBool) || type_attribute(tracer, value, kLen)) return std::nullopt;
  }
  return true;
}

bool is_atom(PyTypeObject* type) {
  return is_real_number_type(type) || type == &PyUnicode_Type || type == &PyBytes_Type || type == Py_TYPE(Py_None) ||
         type == &PyRange_Type || type == &PyComplex_Type;
}

std::optional<bool> kind_truth(Tracer& tracer, const ValuePtr& value, ObjectValue& known) {
  PyTypeObject* type = known.object.type();
  if (is_atom(type)) {
    if (ValuePtr truth = is_dynamic(value) ? computed(tracer, ScalarOp::Truth, {value}) : nullptr)
      return truth_of(tracer, truth);
    Ref constant = constant_of(tracer, value);
    return constant ? std::optional<bool>(PyObject_IsTrue(constant) == 1) : std::nullopt;
  }
  if (PyType_IsSubtype(type, &PyLong_Type))
    if (ValuePtr plain = plain_value(tracer, value, {"__bool__"})) return truth_of(tracer, plain);
  bool is_heap = PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE);
  bool own_truth = is_heap && !inherits_truth(tracer, value);
  if (std::optional<int64_t> length = own_truth ? std::nullopt : length_of(tracer, value)) return *length != 0;
  if (!is_heap && always_true(type) && (type->tp_as_number == nullptr || type->tp_as_number->nb_bool == nullptr)) {
    tracer.values().exact_type(value);
    return true;
  }
  return truth_by_class(tracer, value);
}
std::optional<bool> kind_truth(Tracer& tracer, const ValuePtr& value, SequenceValue& sequence) {
  if (sequence.type && !inherits_truth(tracer, value)) return std::nullopt;
  return truth_by_length(tracer, value);
}
std::optional<bool> kind_truth(Tracer& tracer, const ValuePtr& value, DictValue& dict) {
  if (dict.type && !inherits_truth(tracer, value)) return std::nullopt;
  return truth_by_length(tracer, value);
}
std::optional<bool> kind_truth(Tracer& tracer, const ValuePtr& value, SetValue&) {
  return truth_by_length(tracer, value);
}
std::optional<bool> kind_truth(Tracer& tracer, const ValuePtr& value, DictViewValue&) {
  return *length_of(tracer, value) != 0;
}
std::optional<bool> kind_truth(Tracer& tracer, const ValuePtr& value, InstanceDictValue&) {
  return truth_by_length(tracer, value);
}
std::optional<bool> kind_truth(Tracer& tracer, const ValuePtr& value, ConstructedValue&) {
  PyTypeObject* type = type_of(value);
  bool has_length = (type->tp_as_mapping != nullptr && type->tp_as_mapping->mp_length != nullptr) ||
                    (type->tp_as_sequence != nullptr && type->tp_as_sequence->sq_length != nullptr);
  return has_length ? truth_by_length(tracer, value) : std::optional(true);
}
std::optional<bool> kind_truth(Tracer&, const ValuePtr&, NumberValue&) {
  graph_break(BreakReason::data_dependent_branch, "truth of a number taken out of a tensor");
}
std::optional<bool> kind_truth(Tracer& tracer, const ValuePtr& value, ComputedValue& computed) {
  refuse_unbacked(tracer, value);
  dim_of(tracer, value);
  if (std::optional<bool> truth = decided(tracer, computed)) return truth;
  return PyObject_IsTrue(constant_of(tracer, value)) == 1;
}
std::optional<bool> kind_truth(Tracer& tracer, const ValuePtr& value, InstanceValue&) {
  return truth_by_class(tracer, value);
}
std::optional<bool> kind_truth(Tracer&, const ValuePtr&, NullValue&) { return std::nullopt; }
std::optional<bool> kind_truth(Tracer& tracer, const ValuePtr&, TensorValue& tensor) {
  Ref known = known_number(tracer, &tensor);
  return known ? std::optional(PyObject_IsTrue(known) == 1) : std::nullopt;
}
std::optional<bool> kind_truth(Tracer&, const ValuePtr&, SliceValue&) { return true; }
std::optional<bool> kind_truth(Tracer&, const ValuePtr&, CellValue&) { return true; }
std::optional<bool> kind_truth(Tracer&, const ValuePtr&, FunctionValue&) { return true; }
std::optional<bool> kind_truth(Tracer&, const ValuePtr&, BoundMethodValue&) { return true; }
std::optional<bool> kind_truth(Tracer&, const ValuePtr&, PolicyFunctionValue&) { return true; }
std::optional<bool> kind_truth(Tracer&, const ValuePtr&, IteratorValue&) { return true; }
std::optional<bool> kind_truth(Tracer&, const ValuePtr&, SuperValue&) { return true; }
std::optional<bool> kind_truth(Tracer&, const ValuePtr&, RaisedPartValue&) { return true; }
std::optional<bool> kind_truth(Tracer&, const ValuePtr&, IdentityValue&) { return true; }

}  // namespace

std::optional<bool> truth_of(Tracer& tracer, const ValuePtr& value) {
  return visit_kind(*value, [&](auto& own) { return kind_truth(tracer, value, own); });
}

bool is_empty_tuple(Tracer& tracer, const ValuePtr& value) {
  if (auto* made = as<SequenceValue>(value)) return !made->is_list && !made->type && made->items.empty();
  return value->kind == ValueKind::Object && tracer.values().exact_type(value) == &PyTuple_Type &&
         length_of(tracer, value) == 0;
}

namespace {

bool is_computed(const ValuePtr& value) {
  return value->kind == ValueKind::Computed || value->kind == ValueKind::Number;
}

// A number is never None; for two numbers, identity is not implied by equality.
bool same_number(Tracer& tracer, const ValuePtr& a, const ValuePtr& b) {
  if (type_of(a) != type_of(b) && type_of(a) != nullptr && type_of(b) != nullptr) {
    tracer.values().exact_type(a);
    tracer.values().exact_type(b);
    return false;
  }
  auto plain = [&](const ValuePtr& value) {
    return is_computed(value) ? tracer.values().constant(constant_of(tracer, value)) : value;
  };
  return same_object(tracer, plain(a), plain(b));
}

bool is_singleton(BorrowedRef known) {
  return known.get() == Py_None || known.get() == Py_True || known.get() == Py_False || known.get() == Py_Ellipsis ||
         known.get() == Py_NotImplemented;
}

// `fixed` is the same object at every run; the identity or type of the other one decides.
bool same_as_fixed(Tracer& tracer, const ValuePtr& other, BorrowedRef fixed) {
  if (existing_object(other).get() == fixed.get()) {
    if (is_singleton(fixed)) {
      constant_of(tracer, other);
    } else {
      tracer.values().identity_of(other);
    }
    return true;
  }
  bool type_decides = (is_singleton(fixed) && Py_TYPE(fixed.get()) != &PyBool_Type) || is_tensor(other);
  if (type_decides) {
    tracer.values().exact_type(other);
  } else if (!constant_of(tracer, other)) {
    tracer.values().identity_of(other);
  }
  return false;
}

// Whether a dict from before the trace is the one that holds the attributes.
bool holds_attributes(Tracer& tracer, const InstanceDictValue& attributes, const ValuePtr& dict) {
  auto *owner = as<ObjectValue>(attributes.owner), *known = as<ObjectValue>(dict);
  if (owner == nullptr) return false;  // created in the trace
  if (owner->source != nullptr && known->source != nullptr) {
    const Source* source = tracer.sources().get(SourceKind::AttributesDict, owner->source, nullptr);
    Ref held = fetch(source, tracer.values().view());
    if (held && held.get() != known->object.get()) {
      tracer.guards().alias(source, known->source, false);
      return false;
    }
  }
  graph_break(BreakReason::unguardable_object, "a dict that may hold the attributes of an object");
}

bool is_plain_dict(const ValuePtr& value) { return value->kind == ValueKind::Object && type_of(value) == &PyDict_Type; }

// A library may have one object for each of the two bools.
bool may_be_kept_scalar(const ValuePtr& value) {
  auto* tensor = as<TensorValue>(value);
  return tensor != nullptr && holds_scalars(*tensor->family) && tensor->spec.dtype == DType::bool_;
}

}  // namespace

bool same_object(Tracer& tracer, const ValuePtr& a, const ValuePtr& b) {
  if (a == b) return true;
  if (is_computed(a) || is_computed(b)) return same_number(tracer, a, b);
  if (a->kind == ValueKind::Identity || b->kind == ValueKind::Identity)
    graph_break(BreakReason::unknown_comparison, "whether a number of id() is the same object");
  if (a->kind == ValueKind::Sequence && is_empty_tuple(tracer, a)) return is_empty_tuple(tracer, b);
  if (b->kind == ValueKind::Sequence && is_empty_tuple(tracer, b)) return is_empty_tuple(tracer, a);
  auto *one = as<InstanceDictValue>(a), *other = as<InstanceDictValue>(b);
  if (one != nullptr && other != nullptr) return same_object(tracer, one->owner, other->owner);
  if (one != nullptr && is_plain_dict(b)) return holds_attributes(tracer, *one, b);
  if (other != nullptr && is_plain_dict(a)) return holds_attributes(tracer, *other, a);
  BorrowedRef left = existing_object(a), right = existing_object(b);
  bool is_new = !left || !right;
  if (is_new && may_be_kept_scalar(a) && may_be_kept_scalar(b))
    graph_break(BreakReason::unknown_comparison, "whether two bools of a library are one object");
  if (is_new) return false;
  const Source *left_source = source_of(a), *right_source = source_of(b);
  bool same = left.get() == right.get();
  if (left_source != nullptr && right_source != nullptr) {
    tracer.guards().alias(left_source, right_source, same);
    return same;
  }
  if (left_source == nullptr && right_source == nullptr) return same;
  return left_source != nullptr ? same_as_fixed(tracer, a, right) : same_as_fixed(tracer, b, left);
}

}  // namespace md
