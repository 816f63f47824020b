#include "symbolic/facts/texts.h"

#include "guards/constants.h"
#include "symbolic/attributes/attributes.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/builtins/deque_methods.h"
#include "symbolic/calls/calls.h"
#include "symbolic/effects/pending_writes.h"
#include "symbolic/exceptions/exceptions.h"
#include "symbolic/facts/class_relations.h"
#include "symbolic/facts/enum_values.h"
#include "symbolic/facts/value_facts.h"

namespace md {

namespace {

// A container may contain itself, which Python shows as [...]: limits the number of visited parts.
constexpr int kMostParts = 1000;

Ref represent(Tracer& tracer, const ValuePtr& value, int& budget);

Ref joined(Tracer& tracer, const char* open, const char* close, const std::vector<ValuePtr>& items, int& budget) {
  std::string text = open;
  for (const ValuePtr& item : items) {
    Ref part = represent(tracer, item, budget);
    const char* chars = part ? PyUnicode_AsUTF8(part) : nullptr;
    if (chars == nullptr) {
      PyErr_Clear();
      return nullptr;
    }
    text += str_cat(&item == items.data() ? "" : ", ", chars);
  }
  if (items.size() == 1 && *open == '(') text += ",";
  text += close;
  return check(PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
}

Ref dict_text(Tracer& tracer, const ValuePtr& value, int& budget) {
  auto entries = entries_of(tracer, value);
  if (!entries) return nullptr;
  std::string text = "{";
  for (const DictValue::Entry& entry : *entries) {
    Ref key = represent(tracer, value_of_key(tracer, entry.key.get()), budget);
    Ref item = key ? represent(tracer, entry.value, budget) : Ref();
    const char* key_text = item ? PyUnicode_AsUTF8(key) : nullptr;
    const char* item_text = key_text != nullptr ? PyUnicode_AsUTF8(item) : nullptr;
    if (item_text == nullptr) {
      PyErr_Clear();
      return nullptr;
    }
    text += str_cat(&entry == entries->data() ? "" : ", ", key_text, ": ", item_text);
  }
  text += "}";
  return check(PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
}

Ref deque_text(Tracer& tracer, const ValuePtr& value, int& budget) {
  auto items = elements_of(tracer, value);
  int64_t room = room_of(tracer, value);
  std::string end = room < 0 ? "])" : str_cat("], maxlen=", room, ")");
  return items ? joined(tracer, "deque([", end.c_str(), *items, budget) : Ref();
}

// Calls a method in Python of the value's class. Null if there is none.
Ref text_by_method(Tracer& tracer, const ValuePtr& value, const char* name, std::vector<ValuePtr> args) {
  if (!has_python_class(value)) return nullptr;
  ValuePtr method = python_method(tracer, value, check(PyUnicode_InternFromString(name)).get());
  if (!method) return nullptr;
  args.insert(args.begin(), value);
  ValuePtr result = call_now(tracer, method, {std::move(args), {}});
  if (!tracer.values().is_exactly(result, &PyUnicode_Type)) raise_here();
  return constant_of(tracer, result);
}

// Returns true if the class inherits this method from object.
bool is_objects_own(Tracer& tracer, const ValuePtr& value, const char* name) {
  return has_python_class(value) && inherits(tracer, value, &PyBaseObject_Type, {name});
}

// As type.__repr__ writes a class.
Ref class_text(Tracer& tracer, const ValuePtr& value) {
  static PyObject* const kModule = PyUnicode_InternFromString("__module__");
  static PyObject* const kQualname = PyUnicode_InternFromString("__qualname__");
  auto* known = as<ObjectValue>(value);
  if (known == nullptr || known->traced_class || !PyType_Check(known->object.get())) return nullptr;
  if (!inherits(tracer, value, &PyType_Type, {"__repr__", "__str__"})) return nullptr;
  // A library does not rename its types of tensors.
  bool is_fixed = !PyType_HasFeature(class_in(value), Py_TPFLAGS_HEAPTYPE) || find_family(class_in(value)) != nullptr;
  if (is_fixed) return check(PyObject_Repr(tracer.values().identity_of(value)));
  ValuePtr module = optional_attribute(tracer, value, kModule), name = optional_attribute(tracer, value, kQualname);
  Ref of_module = module ? constant_of(tracer, module) : Ref(), of_name = name ? constant_of(tracer, name) : Ref();
  if (!of_module || !of_name || !PyUnicode_CheckExact(of_module.get())) return nullptr;
  if (PyUnicode_CompareWithASCIIString(of_module, "builtins") == 0) return nullptr;
  return check(PyUnicode_FromFormat("<class '%U.%U'>", of_module.get(), of_name.get()));
}

Ref represent(Tracer& tracer, const ValuePtr& value, int& budget) {
  if (is_tensor(value) || --budget < 0 || exception_of(value) != nullptr) return nullptr;
  if (Ref constant = constant_of(tracer, value)) {
    Ref text = Ref::steal(PyObject_Repr(constant));
    if (!text) raise_current(tracer);
    return text;
  }
  PyTypeObject* type = type_of(value);
  if (type == &PyList_Type || type == &PyTuple_Type) {
    auto items = elements_of(tracer, value);
    bool is_list = type == &PyList_Type;
    return items ? joined(tracer, is_list ? "[" : "(", is_list ? "]" : ")", *items, budget) : Ref();
  }
  if (is_deque(value)) return deque_text(tracer, value, budget);
  if (type == &PyDict_Type) return dict_text(tracer, value, budget);
  if (type == &PySet_Type) {
    // The order of a pre-existing set with pending writes is unknown.
    auto* object = as<ObjectValue>(value);
    Ref set = object == nullptr || !object->writes ? set_contents(tracer, value) : Ref();
    if (!set) return nullptr;
    Ref items = check(PySequence_Tuple(set));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i)
      if (!is_guardable_constant(PyTuple_GET_ITEM(items.get(), i))) return nullptr;
    return check(PyObject_Repr(object != nullptr ? object->object : set));
  }
  if (Ref text = text_by_method(tracer, value, "__repr__", {})) return text;
  return class_text(tracer, value);
}

Ref represent_whole(Tracer& tracer, const ValuePtr& value) {
  int budget = kMostParts;
  return represent(tracer, value, budget);
}

Ref as_text(Tracer& tracer, const ValuePtr& value) {
  if (Ref text = text_by_method(tracer, value, "__str__", {})) return text;
  if (Ref text = member_text(tracer, value)) return text;
  if (Ref text = class_text(tracer, value)) return text;
  bool is_container = !PyType_HasFeature(type_of(value), Py_TPFLAGS_HEAPTYPE) || is_deque(value);
  return is_container || is_objects_own(tracer, value, "__str__") ? represent_whole(tracer, value) : Ref();
}

// By a method in Python of its class; null: the caller uses another way.
Ref exception_text(Tracer& tracer, const ValuePtr& value, int conversion, BorrowedRef spec) {
  if (spec && PyUnicode_GET_LENGTH(spec.get()) != 0) return nullptr;
  if (conversion == 0 && !inherits(tracer, value, &PyBaseObject_Type, {"__format__"})) return nullptr;
  return text_by_method(tracer, value, conversion < 2 ? "__str__" : "__repr__", {});
}

}  // namespace

Ref text_by_parts(Tracer& tracer, const ValuePtr& value, int conversion, BorrowedRef spec) {
  if (exception_of(value) != nullptr) return exception_text(tracer, value, conversion, spec);
  if (is_tensor(value) || constant_of(tracer, value)) return nullptr;
  if (value->kind == ValueKind::Null || value->kind == ValueKind::Computed || value->kind == ValueKind::Number)
    return nullptr;
  bool is_plain = !spec || PyUnicode_GET_LENGTH(spec.get()) == 0;
  if (conversion == 0) {
    ValuePtr format = tracer.values().constant(spec ? Ref::share(spec).get() : check(PyUnicode_FromString("")).get());
    if (Ref text = text_by_method(tracer, value, "__format__", {format})) return text;
    if (ValuePtr plain = has_user_type(value) ? plain_value(tracer, value, {"__format__"}) : nullptr) {
      if (is_plain) return as_text(tracer, value);
      Ref text = Ref::steal(PyObject_Format(constant_of(tracer, plain), spec));
      if (!text) raise_here();
      return text;
    }
    bool own = !PyType_HasFeature(type_of(value), Py_TPFLAGS_HEAPTYPE) || is_deque(value) ||
               is_objects_own(tracer, value, "__format__");
    return own && is_plain ? as_text(tracer, value) : Ref();
  }
  Ref text = conversion == 1 ? as_text(tracer, value) : represent_whole(tracer, value);
  if (!text || is_plain) return text;
  Ref result = Ref::steal(PyObject_Format(text, spec));
  if (!result) raise_here();
  return result;
}

bool is_formatted_by_locale(BorrowedRef constant) {
  static PyObject* const kFormatTime = PyUnicode_InternFromString("strftime");
  return _PyType_Lookup(constant.type(), kFormatTime) != nullptr;
}

Ref formatted_text(Tracer& tracer, const ValuePtr& value, int conversion, BorrowedRef spec) {
  if (is_tensor(value)) graph_break(BreakReason::tensor_format, describe(value));
  if (conversion != 3)
    if (Ref text = text_by_parts(tracer, value, conversion, spec)) return text;
  Ref constant =
      exception_of(value) != nullptr ? text_model(tracer, value, conversion >= 2) : constant_of(tracer, value);
  if (exception_of(value) != nullptr && !constant) return nullptr;
  if (!constant) {
    // A constant object of the package: a Size, a dtype.
    auto* object = as<ObjectValue>(value);
    if (object == nullptr || object->source != nullptr || object->traced_class) return nullptr;
    constant = object->object;
  } else if (auto* object = as<ObjectValue>(value); object != nullptr && object->source == nullptr) {
    constant = object->object;  // a Size is printed as a Size
  }
  if (conversion == 0 && spec && PyUnicode_GET_LENGTH(spec.get()) != 0 && is_formatted_by_locale(constant))
    return nullptr;
  Ref text = conversion == 0   ? constant
             : conversion == 1 ? Ref::steal(PyObject_Str(constant))
             : conversion == 2 ? Ref::steal(PyObject_Repr(constant))
                               : Ref::steal(PyObject_ASCII(constant));
  if (!text) raise_here();
  Ref result = Ref::steal(PyObject_Format(text, spec));
  if (!result) raise_here();
  return result;
}

}  // namespace md
