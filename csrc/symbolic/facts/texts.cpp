#include "symbolic/facts/texts.h"

#include "symbolic/attributes/attributes.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/calls/calls.h"
#include "symbolic/effects/pending_writes.h"
#include "symbolic/exceptions/exceptions.h"
#include "symbolic/facts/enum_values.h"
#include "symbolic/facts/value_facts.h"

namespace md {

namespace {

// A container may hold itself, which Python shows as [...]: no more than so many parts are looked at.
constexpr int kMostParts = 1000;

Ref represent(Walk& walk, const ValuePtr& value, int& budget);

Ref joined(Walk& walk, const char* open, const char* close, const std::vector<ValuePtr>& items, int& budget) {
  std::string text = open;
  for (const ValuePtr& item : items) {
    Ref part = represent(walk, item, budget);
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

Ref dict_text(Walk& walk, const ValuePtr& value, int& budget) {
  auto entries = entries_of(walk, value);
  if (!entries) return nullptr;
  std::string text = "{";
  for (const DictValue::Entry& entry : *entries) {
    Ref key = represent(walk, value_of_key(walk, entry.key.get()), budget);
    Ref item = key ? represent(walk, entry.value, budget) : Ref();
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

// What a method in Python of the value's class gives. Null: there is none.
Ref text_by_method(Walk& walk, const ValuePtr& value, const char* name, std::vector<ValuePtr> args) {
  ValuePtr method = user_method(walk, value, check(PyUnicode_InternFromString(name)).get());
  if (!method) return nullptr;
  args.insert(args.begin(), value);
  ValuePtr result = call_now(walk, method, {std::move(args), {}});
  if (!walk.values().is_exactly(result, &PyUnicode_Type)) raise_here();
  return constant_of(walk, result);
}

// Whether the class has object's own method of this name.
bool is_objects_own(Walk& walk, const ValuePtr& value, const char* name) {
  return has_user_type(value) && inherits(walk, value, &PyBaseObject_Type, {name});
}

Ref represent(Walk& walk, const ValuePtr& value, int& budget) {
  if (is_tensor(value) || --budget < 0 || exception_of(value) != nullptr) return nullptr;
  if (Ref constant = constant_of(walk, value)) {
    Ref text = Ref::steal(PyObject_Repr(constant));
    if (!text) raise_set(walk);
    return text;
  }
  PyTypeObject* type = type_of(value);
  if (type == &PyList_Type || type == &PyTuple_Type) {
    auto items = elements_of(walk, value);
    bool is_list = type == &PyList_Type;
    return items ? joined(walk, is_list ? "[" : "(", is_list ? "]" : ")", *items, budget) : Ref();
  }
  if (type == &PyDict_Type) return dict_text(walk, value, budget);
  if (type == &PySet_Type) {
    // A set from outside that was changed has an order that nobody knows.
    auto* object = as<ObjectValue>(value);
    Ref set = object == nullptr || !object->writes ? set_contents(walk, value) : Ref();
    if (!set) return nullptr;
    Ref items = check(PySequence_Tuple(set));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i)
      if (!is_guardable_constant(PyTuple_GET_ITEM(items.get(), i))) return nullptr;
    return check(PyObject_Repr(object != nullptr ? object->object : set));
  }
  return text_by_method(walk, value, "__repr__", {});
}

Ref represent_whole(Walk& walk, const ValuePtr& value) {
  int budget = kMostParts;
  return represent(walk, value, budget);
}

Ref as_text(Walk& walk, const ValuePtr& value) {
  if (Ref text = text_by_method(walk, value, "__str__", {})) return text;
  if (Ref text = member_text(walk, value)) return text;
  bool is_container = !PyType_HasFeature(type_of(value), Py_TPFLAGS_HEAPTYPE);
  return is_container || is_objects_own(walk, value, "__str__") ? represent_whole(walk, value) : Ref();
}

// By a method in Python of its class; null: others know.
Ref exception_text(Walk& walk, const ValuePtr& value, int conversion, BorrowedRef spec) {
  if (spec && PyUnicode_GET_LENGTH(spec.get()) != 0) return nullptr;
  if (conversion == 0 && !inherits(walk, value, &PyBaseObject_Type, {"__format__"})) return nullptr;
  return text_by_method(walk, value, conversion < 2 ? "__str__" : "__repr__", {});
}

}  // namespace

Ref text_by_parts(Walk& walk, const ValuePtr& value, int conversion, BorrowedRef spec) {
  if (exception_of(value) != nullptr) return exception_text(walk, value, conversion, spec);
  if (is_tensor(value) || constant_of(walk, value)) return nullptr;
  if (value->kind == ValueKind::Null || value->kind == ValueKind::Computed || value->kind == ValueKind::Number)
    return nullptr;
  bool is_plain = !spec || PyUnicode_GET_LENGTH(spec.get()) == 0;
  if (conversion == 0) {
    ValuePtr format = walk.values().constant(spec ? Ref::share(spec).get() : check(PyUnicode_FromString("")).get());
    if (Ref text = text_by_method(walk, value, "__format__", {format})) return text;
    if (ValuePtr plain = has_user_type(value) ? plain_value(walk, value, {"__format__"}) : nullptr) {
      if (is_plain) return as_text(walk, value);
      Ref text = Ref::steal(PyObject_Format(constant_of(walk, plain), spec));
      if (!text) raise_here();
      return text;
    }
    bool own = !PyType_HasFeature(type_of(value), Py_TPFLAGS_HEAPTYPE) || is_objects_own(walk, value, "__format__");
    return own && is_plain ? as_text(walk, value) : Ref();
  }
  Ref text = conversion == 1 ? as_text(walk, value) : represent_whole(walk, value);
  if (!text || is_plain) return text;
  Ref result = Ref::steal(PyObject_Format(text, spec));
  if (!result) raise_here();
  return result;
}

Ref formatted_text(Walk& walk, const ValuePtr& value, int conversion, BorrowedRef spec) {
  if (is_tensor(value)) graph_break(BreakReason::tensor_format, describe(value));
  if (conversion != 3)
    if (Ref text = text_by_parts(walk, value, conversion, spec)) return text;
  Ref constant = exception_of(value) != nullptr ? text_model(walk, value, conversion >= 2) : constant_of(walk, value);
  if (exception_of(value) != nullptr && !constant) return nullptr;
  if (!constant) {
    // A constant object of ours: a Size, a dtype.
    auto* object = as<ObjectValue>(value);
    if (object == nullptr || object->source != nullptr || object->made_class) return nullptr;
    constant = object->object;
  } else if (auto* object = as<ObjectValue>(value); object != nullptr && object->source == nullptr) {
    constant = object->object;  // a Size prints as a Size
  }
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
