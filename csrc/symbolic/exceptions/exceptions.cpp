#include "symbolic/exceptions/exceptions.h"

#include <algorithm>

#include "cpython/errors.h"
#include "cpython/frame.h"
#include "cpython/imports.h"
#include "guards/constants.h"
#include "symbolic/attributes/attributes.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/calls/calls.h"
#include "symbolic/effects/finalizers.h"
#include "symbolic/effects/pending_writes.h"
#include "symbolic/facts/class_relations.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/trace/registry.h"
#include "symbolic/values/key_proxy.h"

namespace md {

namespace {

bool is_subclass(PyTypeObject* type, PyObject* base) {
  return PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(base)) != 0;
}

// Returns true if BaseException's own __new__ creates the instances, which hold only arguments and the few fields known
// to the trace.
bool holds_only_arguments(PyTypeObject* type) {
  auto* value_error = reinterpret_cast<PyTypeObject*>(PyExc_ValueError);
  while (PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) type = type->tp_base;
  PyObject* known = reinterpret_cast<PyObject*>(type);
  return type->tp_new == value_error->tp_new && (type->tp_basicsize == value_error->tp_basicsize ||
                                                 known == PyExc_StopIteration || known == PyExc_AttributeError);
}

bool catches(Tracer& tracer, const ValuePtr& exception, const ValuePtr& classes, bool in_tuple = false) {
  if (auto elements = in_tuple ? nullptr : elements_of(tracer, classes)) {
    bool found = false;
    for (const ValuePtr& element : *elements) found = catches(tracer, exception, element, true) || found;
    return found;
  }
  PyObject* known = tracer.values().identity_of(classes);
  if (known == nullptr || !PyExceptionClass_Check(known)) raise_here();
  return is_object_of(tracer, exception, reinterpret_cast<PyTypeObject*>(known));
}

void check_exc_match(Tracer& tracer, const Instruction& at) {
  ValuePtr value = tracer.frames().peek(2);
  if (exception_of(value) == nullptr && value->kind != ValueKind::Object)
    graph_break(BreakReason::exception_construct, opcode_name(at.op));
  bool matches = catches(tracer, value, tracer.frames().peek(1));
  tracer.frames().pop();
  tracer.frames().push(tracer.values().boolean(matches));
}

void push_exc_info(Tracer& tracer, const Instruction& at) {
  InstanceValue* exception = exception_of(tracer.frames().peek());
  if (exception == nullptr) graph_break(BreakReason::exception_construct, opcode_name(at.op));
  ValuePtr value = tracer.frames().pop();
  tracer.frames().handled().push_back(value);
  tracer.frames().push(make_value<RaisedPartValue>(value, false));
  tracer.frames().push(value);
}

void pop_except(Tracer& tracer, const Instruction& at) {
  if (tracer.frames().peek()->kind != ValueKind::RaisedPart)
    graph_break(BreakReason::exception_construct, opcode_name(at.op));
  tracer.frames().pop();
  tracer.frames().handled().pop_back();
}

void reraise(Tracer& tracer, const Instruction&) { raise_again(tracer.frames().peek()); }

void raise_varargs(Tracer& tracer, const Instruction& at) {
  if (at.arg == 0) {
    if (tracer.frames().handled().empty()) raise_here();
    raise_again(tracer.frames().handled().back());
  }
  ValuePtr exception = exception_to_raise(tracer, tracer.frames().peek(at.arg));
  bool is_from_none = at.arg == 2 && same_object(tracer, tracer.frames().peek(), tracer.values().none());
  ValuePtr cause = at.arg == 2 && !is_from_none ? exception_to_raise(tracer, tracer.frames().peek()) : nullptr;
  if (!exception || (at.arg == 2 && !is_from_none && !cause)) raise_here();
  if (at.arg == 2) set_cause(*exception_of(exception), cause);
  exception_of(exception)->exception->split_from = nullptr;
  raise_exception(tracer, exception);
}

// Stack from the top: exception, the previously handled one, position, the self of __exit__ from 3.14 on, __exit__.
void with_except_start(Tracer& tracer, const Instruction& at) {
  ValuePtr exception = tracer.frames().peek(1);
  if (exception_of(exception) == nullptr) graph_break(BreakReason::exception_construct, opcode_name(at.op));
  ValuePtr traceback = make_value<RaisedPartValue>(exception, true);
  CallArgs args{{type_value(tracer, exception), exception, traceback}, {}};
  if (at.arg == 5 && tracer.frames().peek(4)->kind != ValueKind::Null)
    args.positional.insert(args.positional.begin(), tracer.frames().peek(4));
  call(tracer, tracer.frames().peek(at.arg), std::move(args));
}

// A StopIteration does not leave a generator.
void stop_iteration_error(Tracer& tracer, const Instruction&) {
  InstanceValue* exception = exception_of(tracer.frames().peek());
  if (exception == nullptr || is_subclass(class_in(exception->type), PyExc_StopIteration)) raise_here();
}

const OpcodeRegistration registration{{Opcode::PUSH_EXC_INFO, push_exc_info},
                                      {Opcode::POP_EXCEPT, pop_except},
                                      {Opcode::CHECK_EXC_MATCH, check_exc_match},
                                      {Opcode::WITH_EXCEPT_START, with_except_start},
                                      {Opcode::RERAISE, reraise},
                                      {Opcode::RAISE_VARARGS, raise_varargs},
                                      {Opcode::STOPITERATION_ERROR, stop_iteration_error}};

PyObject* args_name() {
  static PyObject* const name = PyUnicode_InternFromString("args");
  return name;
}

// BaseException.__init__(self, *args), reached by super().__init__(...): sets `args`.
ValuePtr call_exception_init(Tracer& tracer, const CallArgs& args) {
  if (args.positional.empty() || !args.keywords.empty()) raise_here();
  const ValuePtr& self = args.positional[0];
  std::vector<ValuePtr> kept(args.positional.begin() + 1, args.positional.end());
  if (InstanceValue* made = exception_of(self)) {
    made->exception->args = std::move(kept);
    return tracer.values().none();
  }
  bool is_real = self->kind == ValueKind::Object && is_exception_class(tracer.values().exact_type(self)) &&
                 is_args_descriptor(type_attribute(tracer, self, args_name())) && source_of(self) != nullptr;
  if (!is_real) graph_break(BreakReason::object_creation, "__init__ of an exception");
  attribute_store(tracer, self, args_name(), make_value<SequenceValue>(false, std::move(kept)));
  return tracer.values().none();
}

}  // namespace

bool matches_clause(Tracer& tracer, const ValuePtr& exception, const ValuePtr& classes) {
  return catches(tracer, exception, classes);
}

ValuePtr exception_to_raise(Tracer& tracer, const ValuePtr& operand) {
  if (exception_of(operand) != nullptr) return operand;
  auto* object = as<ObjectValue>(operand);
  if (object == nullptr || !PyExceptionClass_Check(object->object.get())) return nullptr;
  tracer.values().identity_of(operand);
  return make_exception(tracer, operand, {});
}

void raise_again(const ValuePtr& exception) {
  if (exception_of(exception) == nullptr) raise_here();
  PyErr_Clear();
  throw RaiseSignal{exception};
}

bool is_exception_class(PyTypeObject* type) { return PyType_HasFeature(type, Py_TPFLAGS_BASE_EXC_SUBCLASS); }

bool is_args_descriptor(const ValuePtr& value) {
  static PyObject* const descriptor = _PyType_Lookup(reinterpret_cast<PyTypeObject*>(PyExc_BaseException), args_name());
  auto* object = as<ObjectValue>(value);
  return object != nullptr && object->object.get() == descriptor;
}

InstanceValue* exception_of(const ValuePtr& value) {
  auto* instance = as<InstanceValue>(value);
  return instance != nullptr && instance->exception ? instance : nullptr;
}

Handle<InstanceValue> new_exception(Tracer& tracer, const ValuePtr& type_value, const std::vector<ValuePtr>& args) {
  static PyObject* const kNew = PyUnicode_InternFromString("__new__");
  PyTypeObject* type = class_in(type_value);
  bool plain = is_exception_class(type) && holds_only_arguments(type) &&
               Py_TYPE(type)->tp_call == PyType_Type.tp_call && type->tp_finalize == nullptr && type->tp_del == nullptr;
  if (!plain) return nullptr;
  auto made = make_value<InstanceValue>(type_value);
  if (PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) {
    ValuePtr maker = type_attribute(tracer, made, kNew), keeper = type_attribute(tracer, made, args_name());
    if (!maker || type_of(maker) != &PyCFunction_Type || !is_args_descriptor(keeper)) return nullptr;
    tracer.values().identity_of(maker);
    tracer.values().identity_of(keeper);
  }
  made->exception = std::make_unique<ExceptionState>();
  made->exception->args = args;
  if (is_subclass(type, PyExc_StopIteration))
    made->attributes.emplace_back(check(PyUnicode_InternFromString("value")),
                                  args.empty() ? tracer.values().none() : args[0]);
  return made;
}

ValuePtr exception_init(Tracer& tracer, const Handle<InstanceValue>& exception) {
  static PyObject* const kInit = PyUnicode_InternFromString("__init__");
  ValuePtr init = type_attribute(tracer, exception, kInit);
  if (init && is_python_function(init)) return init;
  bool is_builtin = init && init->kind == ValueKind::Object && type_of(init) == &PyWrapperDescr_Type;
  if (!is_builtin) graph_break(BreakReason::object_creation, describe(exception));
  tracer.values().identity_of(init);
  return nullptr;
}

ValuePtr make_exception(Tracer& tracer, const ValuePtr& type, const std::vector<ValuePtr>& args) {
  Handle<InstanceValue> exception = new_exception(tracer, type, args);
  return exception && !exception_init(tracer, exception) ? exception : nullptr;
}

ValuePtr take_set_exception(Tracer& tracer) {
  Ref error = take_raised();
  if (PyType_HasFeature(error.type(), Py_TPFLAGS_HEAPTYPE) || !holds_only_arguments(error.type())) return nullptr;
  std::vector<ValuePtr> args;
  PyObject* values = reinterpret_cast<PyBaseExceptionObject*>(error.get())->args;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(values); ++i) {
    PyObject* item = PyTuple_GET_ITEM(values, i);
    if (!is_guardable_constant(item)) return nullptr;
    args.push_back(tracer.values().constant(item));
  }
  return make_exception(tracer, tracer.values().constant(reinterpret_cast<PyObject*>(error.type())), args);
}

Ref text_model(Tracer& tracer, const ValuePtr& value, bool for_repr) {
  InstanceValue* exception = exception_of(value);
  if (exception == nullptr || is_group_class(class_in(exception->type))) return nullptr;
  PyTypeObject* type = class_in(exception->type);
  bool is_user = PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE);
  while (PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) type = type->tp_base;
  // repr() contains the class's name.
  if (is_user && (for_repr || !inherits(tracer, value, type, {"__str__", "__format__"}))) return nullptr;
  Ref args = constant_of(tracer, make_value<SequenceValue>(false, exception->exception->args));
  return args ? Ref::steal(PyObject_CallObject(reinterpret_cast<PyObject*>(type), args)) : Ref();
}

namespace {

void add_exception_calls() {
  // Every built-in class has its own wrapper of the same function.
  initproc init = reinterpret_cast<PyTypeObject*>(PyExc_BaseException)->tp_init;
  PyObject *name = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(imported_names("builtins"), &at, &name, &value);) {
    if (!PyExceptionClass_Check(value) || reinterpret_cast<PyTypeObject*>(value)->tp_init != init) continue;
    register_call(check(PyObject_GetAttrString(value, "__init__")).get(), call_exception_init);
  }
}

const CallRegistration call_registration(add_exception_calls);

}  // namespace

// Frames below `depth` are unknown to the trace.
bool unwind(Tracer& tracer, const ValuePtr& value, size_t depth) {
  InstanceValue* exception = exception_of(value);
  bool stops = is_subclass(class_in(exception->type), PyExc_StopIteration);
  for (size_t at = tracer.frames().depth(); at-- > depth;) {
    SymbolicFrame& candidate = tracer.frames()[at];
    ExceptionHandler handler = candidate.bytecode->handler_at(candidate.index);
    bool ends_loop = at > depth && stops && candidate.continuation == ContinuationKind::NextOrStop;
    if (handler.target < 0 && !ends_loop) continue;
    // Objects dropped by the unwinding die before the handler runs: if that is observable, the interpreter raises the
    // exception.
    if (at == 0 && std::any_of(candidate.stack.begin() + handler.depth, candidate.stack.end(),
                               [&](const ValuePtr& dropped) { return death_is_observable(tracer, dropped); }))
      return false;
    tracer.frames().cut(handler.target >= 0 ? at + 1 : at);
    SymbolicFrame& target = tracer.frames().innermost();
    if (exception->exception->raised_step == 0) exception->exception->raised_step = tracer.instruction_step();
    if (handler.target < 0) {
      tracer.frames().pop();
      tracer.frames().jump((*target.bytecode)[target.index].arg);
      return true;
    }
    target.stack.resize(static_cast<size_t>(handler.depth));
    if (handler.push_lasti)
      tracer.frames().push(tracer.values().constant(check(pv_position((*target.bytecode)[target.index].lasti))));
    tracer.frames().push(value);
    tracer.frames().jump(handler.target);
    return true;
  }
  return false;
}

void raise_exception(Tracer& tracer, const ValuePtr& exception) {
  if (exception_of(exception) != nullptr) set_context(tracer, exception);
  raise_again(exception);
}

void raise_known(Tracer& tracer, PyObject* type, const std::vector<ValuePtr>& args) {
  ValuePtr exception = make_exception(tracer, tracer.values().constant(type), args);
  MD_ASSERT(exception, "an exception that the trace cannot create");
  raise_exception(tracer, exception);
}

void raise_current(Tracer& tracer) {
  if (take_unasked_comparison()) graph_break(BreakReason::unhashable_key, "a key with its own equality");
  ValuePtr exception = take_set_exception(tracer);
  if (!exception) raise_here();
  raise_exception(tracer, exception);
}

}  // namespace md
