#include "symbolic/builtins/output_calls.h"

#include <algorithm>
#include <array>

#include "cpython/imports.h"
#include "cpython/set_table.h"
#include "frontends/device_object.h"
#include "frontends/dtype_object.h"
#include "guards/constants.h"
#include "guards/guard_set.h"
#include "guards/text_stream.h"
#include "symbolic/attributes/attributes.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/effects/output_requests.h"
#include "symbolic/exceptions/exceptions.h"
#include "symbolic/facts/name_spaces.h"
#include "symbolic/facts/texts.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/trace/endings.h"
#include "symbolic/trace/registry.h"

namespace md {

namespace {

// Deeper or longer values are left to the interpreter.
constexpr int kDeepest = 16;
constexpr size_t kLongest = 256;

// A value to print, and whether converting it to text may run Python code rather than C alone.
struct Printed {
  // a copy, with its current state, of a value created in the trace; null: its text is not available at the exit
  ValuePtr value;
  bool asks_python = false;
};

class Printing {
 public:
  explicit Printing(Tracer& tracer) : tracer_(tracer) {}

  // `depth` is 0 for an argument of print(), which is converted by str(); nested values are converted by repr().
  Printed print(const ValuePtr& value, int depth) {
    if (depth > kDeepest) return {};
    switch (value->kind) {
      case ValueKind::Computed:
      case ValueKind::Number:
        return {value};
      case ValueKind::Object:
        return print_object(value, depth);
      case ValueKind::Sequence:
        return print_sequence(*as<SequenceValue>(value), depth);
      case ValueKind::Dict:
        return print_dict(*as<DictValue>(value), depth);
      case ValueKind::Set:
        return print_set(*as<SetValue>(value), depth);
      case ValueKind::Instance:
        return exception_of(value) != nullptr ? print_exception(value, depth) : print_instance(value, depth);
      case ValueKind::Slice:
        return print_slice(*as<SliceValue>(value), depth);
      case ValueKind::Null:
      case ValueKind::Tensor:
      case ValueKind::Cell:
      case ValueKind::Function:
      case ValueKind::BoundMethod:
      case ValueKind::PolicyFunction:
      case ValueKind::RaisedPart:
      case ValueKind::Iterator:
      case ValueKind::Super:
      case ValueKind::Constructed:
      case ValueKind::DictView:
      case ValueKind::Identity:
      case ValueKind::InstanceDict:
        return {};
    }
    throw Error(ErrorKind::Internal, "a value of no kind");
  }

 private:
  // Returns false if one of them has no text at the exit.
  bool print_all(const std::vector<ValuePtr>& values, int depth, std::vector<ValuePtr>& copies, bool& asks_python) {
    if (values.size() > kLongest) return false;
    for (const ValuePtr& value : values) {
      Printed part = print(value, depth + 1);
      if (!part.value) return false;
      asks_python = asks_python || part.asks_python;
      copies.push_back(std::move(part.value));
    }
    return true;
  }

  Printed print_sequence(const SequenceValue& sequence, int depth) {
    std::vector<ValuePtr> copies;
    Printed printed;
    // Only Size: a struct sequence or a user's class may have its own repr.
    auto* type = as<ObjectValue>(sequence.type);
    bool is_size = type != nullptr && family_of_sizes(class_in(sequence.type)) != nullptr;
    if (sequence.type && !is_size) return {};
    if (!print_all(sequence.items, depth, copies, printed.asks_python)) return {};
    auto copy = make_value<SequenceValue>(sequence.is_list, std::move(copies));
    copy->type = sequence.type;
    printed.value = copy;
    return printed;
  }

  Printed print_dict(const DictValue& dict, int depth) {
    if (dict.type || dict.owner != nullptr) return {};
    std::vector<ValuePtr> keys, values, copies;
    for (const DictValue::Entry& entry : dict.entries) {
      keys.push_back(value_of_key(tracer_, entry.key.get()));
      values.push_back(entry.value);
    }
    Printed printed;
    std::vector<ValuePtr> key_copies;
    if (!print_all(keys, depth, key_copies, printed.asks_python)) return {};
    if (!print_all(values, depth, copies, printed.asks_python)) return {};
    auto copy = make_value<DictValue>();
    for (size_t i = 0; i < copies.size(); ++i) copy->set(dict.entries[i].key.get(), copies[i]);
    printed.value = copy;
    return printed;
  }

  Printed print_set(const SetValue& set, int depth) {
    std::vector<ValuePtr> keys, copies;
    Ref items = check(PySequence_Tuple(set.set));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i)
      keys.push_back(value_of_key(tracer_, PyTuple_GET_ITEM(items.get(), i)));
    Printed printed;
    if (!print_all(keys, depth, copies, printed.asks_python)) return {};
    auto copy = make_value<SetValue>(check(pv_set_copy(set.set, 0)));
    copy->creation_step = set.creation_step;
    printed.value = copy;
    return printed;
  }

  // A text that the class computes in Python is computed in the trace.
  Printed print_instance(const ValuePtr& value, int depth) {
    if (depth > 0) return {};
    try {
      Ref text = text_by_parts(tracer_, value, 1, nullptr);
      return {text ? tracer_.values().constant(text) : nullptr};
    } catch (RestartSignal& restart) {
      // Report a break inside its methods as one of print().
      if (restart.graph_break.reason == BreakReason::held_by_c_caller)
        restart.graph_break = {BreakReason::print_call, "print()", "", {}, ""};
      throw;
    }
  }

  Printed print_slice(const SliceValue& slice, int depth) {
    std::vector<ValuePtr> copies;
    Printed printed;
    if (!print_all({slice.start, slice.stop, slice.step}, depth, copies, printed.asks_python)) return {};
    printed.value = make_value<SliceValue>(copies[0], copies[1], copies[2]);
    return printed;
  }

  // The text of an exception, computed by its C class from known arguments.
  Printed print_exception(const ValuePtr& value, int depth) {
    Ref model = text_model(tracer_, value, depth != 0);
    if (!model) {
      PyErr_Clear();
      return {};
    }
    Ref text = check(depth == 0 ? PyObject_Str(model) : PyObject_Repr(model));
    if (depth == 0) return {tracer_.values().constant(text)};
    return {};
  }

  Printed print_object(const ValuePtr& value, int depth) {
    PyTypeObject* type = tracer_.values().exact_type(value);
    for (PyTypeObject* atom : {&PyLong_Type, &PyFloat_Type, &PyUnicode_Type, &PyBool_Type, &PyComplex_Type,
                               Py_TYPE(Py_None), Py_TYPE(Py_Ellipsis), Py_TYPE(Py_NotImplemented), &PyRange_Type,
                               &PyFunction_Type, &PyCFunction_Type, dtype_type(), device_type()})
      if (type == atom) return {value};
    if (type == &PySlice_Type && constant_of(tracer_, value)) return {value};
    // str() of bytes warns under python -b.
    if (type == &PyBytes_Type) return {value, depth == 0};
    if (family_of(as<ObjectValue>(value)->object)) return {};
    std::vector<ValuePtr> copies;
    Printed printed{value};
    if (type == &PyTuple_Type || type == &PyList_Type || family_of_sizes(type) != nullptr) {
      auto elements = elements_of(tracer_, value);
      if (!elements || !print_all(*elements, depth, copies, printed.asks_python)) return {};
      return printed;
    }
    if (type == &PyDict_Type) {
      auto entries = entries_of(tracer_, value);
      if (!entries) return {value, true};
      std::vector<ValuePtr> parts;
      for (const DictValue::Entry& entry : *entries) {
        parts.push_back(value_of_key(tracer_, entry.key.get()));
        parts.push_back(entry.value);
      }
      if (!print_all(parts, depth, copies, printed.asks_python)) return {};
      return printed;
    }
    bool has_default = type->tp_repr == PyBaseObject_Type.tp_repr && type->tp_str == PyBaseObject_Type.tp_str &&
                       Py_IS_TYPE(reinterpret_cast<PyObject*>(type), &PyType_Type) &&
                       inherits(tracer_, value, &PyBaseObject_Type, {"__repr__", "__str__"});
    return {value, !has_default};
  }

  Tracer& tracer_;
};

// The stream that print() writes to; null if unknown.
ValuePtr stream_of(Tracer& tracer, const CallArgs& args) {
  const ValuePtr* file = args.keyword("file");
  if (file == nullptr || ((*file)->kind == ValueKind::Object && constant_of(tracer, *file).get() == Py_None))
    return loaded_name(tracer, "sys", "stdout");
  return *file;
}

bool is_known_keyword(const Ref& name) {
  return std::ranges::any_of(std::array{"sep", "end", "file", "flush"},
                             [&](const char* known) { return PyUnicode_CompareWithASCIIString(name, known) == 0; });
}

// Returns true for supported sep and end; anything but str and None is an error of the call.
bool is_separator(Tracer& tracer, const CallArgs& args, const char* name) {
  const ValuePtr* value = args.keyword(name);
  if (value == nullptr || (*value)->kind == ValueKind::Computed) return true;
  if (is_tensor(*value)) raise_here();
  PyTypeObject* type = tracer.values().exact_type(*value);
  if (type == &PyUnicode_Type || type == Py_TYPE(Py_None)) return true;
  if (!PyType_IsSubtype(type, &PyUnicode_Type)) raise_here();
  return false;
}

bool is_plain_flag(Tracer& tracer, const CallArgs& args) {
  const ValuePtr* value = args.keyword("flush");
  if (value == nullptr) return true;
  PyTypeObject* type = is_tensor(*value) ? nullptr : tracer.values().exact_type(*value);
  return type == &PyBool_Type || type == Py_TYPE(Py_None) || type == &PyLong_Type;
}

PyObject* print_function() {
  static PyObject* const function = imported("builtins", "print").release();
  return function;
}

ValuePtr call_print(Tracer& tracer, const CallArgs& args) {
  auto refuse = [&] { graph_break(BreakReason::print_call, "print()"); };
  for (const auto& [name, value] : args.keywords)
    if (!is_known_keyword(name)) raise_here();
  bool is_plain = is_separator(tracer, args, "sep") && is_separator(tracer, args, "end");
  if (!is_plain || !is_plain_flag(tracer, args)) refuse();
  // Find unprintable arguments before any guard on the stream.
  if (std::ranges::any_of(args.positional, [&](const ValuePtr& value) { return is_tensor(value); })) refuse();
  OutputRequest request{Ref::share(print_function()), {}, false, BreakReason::print_call, "print()"};
  Printing printing(tracer);
  for (const ValuePtr& value : args.positional) {
    Printed printed = printing.print(value, 0);
    if (!printed.value) refuse();
    request.runs_python = request.runs_python || printed.asks_python;
    request.args.positional.push_back(std::move(printed.value));
  }
  ValuePtr stream = stream_of(tracer, args);
  auto* known = as<ObjectValue>(stream);
  if (known == nullptr || known->writes) refuse();
  if (tracer.values().exact_type(stream) == Py_TYPE(Py_None)) return tracer.values().none();
  if (is_plain_text_stream(known->object) && known->source != nullptr) {
    tracer.guards().text_stream(known->source);
  } else {
    request.runs_python = true;
  }
  request.args.keywords = args.keywords;
  queue_output(tracer, request);
  return tracer.values().none();
}

PyObject* warn_function() {
  static PyObject* const function = imported("_warnings", "warn").release();
  return function;
}

ValuePtr call_warn(Tracer& tracer, const CallArgs& args) {
  auto is_known = [](const auto& argument) { return can_be_given(argument); };
  if (!std::ranges::all_of(args.positional, is_known) ||
      !std::ranges::all_of(args.keywords, is_known, &std::pair<Ref, ValuePtr>::second))
    graph_break(BreakReason::unknown_c_function, "warn");
  queue_output(tracer, {Ref::share(warn_function()), args, true, BreakReason::unknown_c_function, "warn"});
  return tracer.values().none();
}

}  // namespace

ValuePtr loaded_name(Tracer& tracer, const char* module, const char* name) {
  Ref key = check(PyUnicode_InternFromString(module));
  ValuePtr found = loaded_module(tracer, key.get());
  if (!found) return nullptr;
  return optional_attribute(tracer, found, check(PyUnicode_InternFromString(name)).get());
}

bool can_be_given(const ValuePtr& value) {
  if (auto* sequence = as<SequenceValue>(value))
    return !sequence->is_list && std::ranges::all_of(sequence->items, can_be_given);
  return value->kind == ValueKind::Computed || value->kind == ValueKind::Number ||
         (value->kind == ValueKind::Object && !family_of(as<ObjectValue>(value)->object));
}

namespace {

void add_output_calls() {
  register_call(print_function(), call_print);
  register_call(warn_function(), call_warn);
}

const CallRegistration call_registration(add_output_calls);

}  // namespace

}  // namespace md
