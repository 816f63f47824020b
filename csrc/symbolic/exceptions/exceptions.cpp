#include "symbolic/exceptions/exceptions.h"

#include <algorithm>

#include "cpython/errors.h"
#include "cpython/frame.h"
#include "cpython/imports.h"
#include "symbolic/attributes/attributes.h"
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

PyTypeObject* class_of(const InstanceValue& exception) {
  return reinterpret_cast<PyTypeObject*>(as<ObjectValue>(exception.type)->object.get());
}

bool is_subclass(PyTypeObject* type, PyObject* base) {
  return PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(base)) != 0;
}

// Made by BaseException's own __new__, with nothing to hold but arguments, and the few fields of which the walk knows.
bool holds_only_arguments(PyTypeObject* type) {
  auto* value_error = reinterpret_cast<PyTypeObject*>(PyExc_ValueError);
  while (PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) type = type->tp_base;
  PyObject* known = reinterpret_cast<PyObject*>(type);
  return type->tp_new == value_error->tp_new && (type->tp_basicsize == value_error->tp_basicsize ||
                                                 known == PyExc_StopIteration || known == PyExc_AttributeError);
}

bool catches(Walk& walk, const ValuePtr& exception, const ValuePtr& classes, bool in_tuple = false) {
  if (auto elements = in_tuple ? nullptr : elements_of(walk, classes)) {
    bool found = false;
    for (const ValuePtr& element : *elements) found = catches(walk, exception, element, true) || found;
    return found;
  }
  PyObject* known = walk.values().identity_of(classes);
  if (known == nullptr || !PyExceptionClass_Check(known)) raise_here();
  return is_object_of(walk, exception, reinterpret_cast<PyTypeObject*>(known));
}

void check_exc_match(Walk& walk, const Instruction& at) {
  ValuePtr value = walk.frames().peek(2);
  if (exception_of(value) == nullptr && value->kind != ValueKind::Object)
    graph_break(BreakReason::exception_construct, opcode_name(at.op));
  bool matches = catches(walk, value, walk.frames().peek(1));
  walk.frames().pop();
  walk.frames().push(walk.values().boolean(matches));
}

void push_exc_info(Walk& walk, const Instruction& at) {
  InstanceValue* exception = exception_of(walk.frames().peek());
  if (exception == nullptr) graph_break(BreakReason::exception_construct, opcode_name(at.op));
  ValuePtr value = walk.frames().pop();
  walk.frames().handled().push_back(value);
  walk.frames().push(make_value<RaisedPartValue>(value, false));
  walk.frames().push(value);
}

void pop_except(Walk& walk, const Instruction& at) {
  if (walk.frames().peek()->kind != ValueKind::RaisedPart)
    graph_break(BreakReason::exception_construct, opcode_name(at.op));
  walk.frames().pop();
  walk.frames().handled().pop_back();
}

void reraise(Walk& walk, const Instruction&) { raise_again(walk.frames().peek()); }

void raise_varargs(Walk& walk, const Instruction& at) {
  if (at.arg == 0) {
    if (walk.frames().handled().empty()) raise_here();
    raise_again(walk.frames().handled().back());
  }
  ValuePtr exception = exception_to_raise(walk, walk.frames().peek(at.arg));
  bool is_from_none = at.arg == 2 && same_object(walk, walk.frames().peek(), walk.values().none());
  ValuePtr cause = at.arg == 2 && !is_from_none ? exception_to_raise(walk, walk.frames().peek()) : nullptr;
  if (!exception || (at.arg == 2 && !is_from_none && !cause)) raise_here();
  if (at.arg == 2) set_cause(*exception_of(exception), cause);
  exception_of(exception)->exception->split_from = nullptr;
  raise_exception(walk, exception);
}

// From the top: exception, what was handled before, position, the self of __exit__ from 3.14 on, __exit__.
void with_except_start(Walk& walk, const Instruction& at) {
  ValuePtr exception = walk.frames().peek(1);
  if (exception_of(exception) == nullptr) graph_break(BreakReason::exception_construct, opcode_name(at.op));
  ValuePtr traceback = make_value<RaisedPartValue>(exception, true);
  CallArgs args{{type_value(walk, exception), exception, traceback}, {}};
  if (at.arg == 5 && walk.frames().peek(4)->kind != ValueKind::Null)
    args.positional.insert(args.positional.begin(), walk.frames().peek(4));
  call(walk, walk.frames().peek(at.arg), std::move(args));
}

// A StopIteration does not leave a generator.
void stop_iteration_error(Walk& walk, const Instruction&) {
  InstanceValue* exception = exception_of(walk.frames().peek());
  if (exception == nullptr || is_subclass(class_of(*exception), PyExc_StopIteration)) raise_here();
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

// BaseException.__init__(self, *args), reached by super().__init__(...): it sets `args`.
ValuePtr call_exception_init(Walk& walk, const CallArgs& args) {
  if (args.positional.empty() || !args.keywords.empty()) raise_here();
  const ValuePtr& self = args.positional[0];
  std::vector<ValuePtr> kept(args.positional.begin() + 1, args.positional.end());
  if (InstanceValue* made = exception_of(self)) {
    made->exception->args = std::move(kept);
    return walk.values().none();
  }
  bool is_real = self->kind == ValueKind::Object && is_exception_class(walk.values().exact_type(self)) &&
                 is_args_descriptor(type_attribute(walk, self, args_name())) && source_of(self) != nullptr;
  if (!is_real) graph_break(BreakReason::object_creation, "__init__ of an exception");
  attribute_store(walk, self, args_name(), make_value<SequenceValue>(false, std::move(kept)));
  return walk.values().none();
}

}  // namespace

bool matches_clause(Walk& walk, const ValuePtr& exception, const ValuePtr& classes) {
  return catches(walk, exception, classes);
}

ValuePtr exception_to_raise(Walk& walk, const ValuePtr& operand) {
  if (exception_of(operand) != nullptr) return operand;
  auto* object = as<ObjectValue>(operand);
  if (object == nullptr || !PyExceptionClass_Check(object->object.get())) return nullptr;
  walk.values().identity_of(operand);
  return make_exception(walk, operand, {});
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

Handle<InstanceValue> new_exception(Walk& walk, const ValuePtr& type_value, const std::vector<ValuePtr>& args) {
  static PyObject* const kNew = PyUnicode_InternFromString("__new__");
  auto* type = reinterpret_cast<PyTypeObject*>(as<ObjectValue>(type_value)->object.get());
  bool plain = is_exception_class(type) && holds_only_arguments(type) &&
               Py_TYPE(type)->tp_call == PyType_Type.tp_call && type->tp_finalize == nullptr && type->tp_del == nullptr;
  if (!plain) return nullptr;
  auto made = make_value<InstanceValue>(type_value);
  if (PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) {
    ValuePtr maker = type_attribute(walk, made, kNew), keeper = type_attribute(walk, made, args_name());
    if (!maker || type_of(maker) != &PyCFunction_Type || !is_args_descriptor(keeper)) return nullptr;
    walk.values().identity_of(maker);
    walk.values().identity_of(keeper);
  }
  made->exception = std::make_unique<ExceptionState>();
  made->exception->args = args;
  if (is_subclass(type, PyExc_StopIteration))
    made->attributes.emplace_back(check(PyUnicode_InternFromString("value")),
                                  args.empty() ? walk.values().none() : args[0]);
  return made;
}

ValuePtr exception_init(Walk& walk, const Handle<InstanceValue>& exception) {
  static PyObject* const kInit = PyUnicode_InternFromString("__init__");
  ValuePtr init = type_attribute(walk, exception, kInit);
  if (init && is_python_function(init)) return init;
  bool is_builtin = init && init->kind == ValueKind::Object && type_of(init) == &PyWrapperDescr_Type;
  if (!is_builtin) graph_break(BreakReason::object_creation, describe(exception));
  walk.values().identity_of(init);
  return nullptr;
}

ValuePtr make_exception(Walk& walk, const ValuePtr& type, const std::vector<ValuePtr>& args) {
  Handle<InstanceValue> exception = new_exception(walk, type, args);
  return exception && !exception_init(walk, exception) ? exception : nullptr;
}

ValuePtr take_set_exception(Walk& walk) {
  Ref error = take_raised();
  if (PyType_HasFeature(error.type(), Py_TPFLAGS_HEAPTYPE) || !holds_only_arguments(error.type())) return nullptr;
  std::vector<ValuePtr> args;
  PyObject* values = reinterpret_cast<PyBaseExceptionObject*>(error.get())->args;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(values); ++i) {
    PyObject* item = PyTuple_GET_ITEM(values, i);
    if (!is_guardable_constant(item)) return nullptr;
    args.push_back(walk.values().constant(item));
  }
  return make_exception(walk, walk.values().constant(reinterpret_cast<PyObject*>(error.type())), args);
}

Ref text_model(Walk& walk, const ValuePtr& value, bool for_repr) {
  InstanceValue* exception = exception_of(value);
  if (exception == nullptr || is_group_class(class_of(*exception))) return nullptr;
  PyTypeObject* type = class_of(*exception);
  bool is_user = PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE);
  while (PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) type = type->tp_base;
  // repr() has the class's name.
  if (is_user && (for_repr || !inherits(walk, value, type, {"__str__", "__format__"}))) return nullptr;
  Ref args = constant_of(walk, make_value<SequenceValue>(false, exception->exception->args));
  return args ? Ref::steal(PyObject_CallObject(reinterpret_cast<PyObject*>(type), args)) : Ref();
}

namespace {

void add_exception_calls() {
  // Every built-in class has its own wrapper of the one function.
  initproc init = reinterpret_cast<PyTypeObject*>(PyExc_BaseException)->tp_init;
  PyObject *name = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(imported_names("builtins"), &at, &name, &value);) {
    if (!PyExceptionClass_Check(value) || reinterpret_cast<PyTypeObject*>(value)->tp_init != init) continue;
    register_call(check(PyObject_GetAttrString(value, "__init__")).get(), call_exception_init);
  }
}

const CallRegistration call_registration(add_exception_calls);

}  // namespace

// The frame above which an exception of the walk's goes on, and where; unknown to the walk below `depth`.
bool unwind(Walk& walk, const ValuePtr& value, size_t depth) {
  InstanceValue* exception = exception_of(value);
  bool stops = is_subclass(class_of(*exception), PyExc_StopIteration);
  for (size_t at = walk.frames().depth(); at-- > depth;) {
    SymbolicFrame& candidate = walk.frames()[at];
    ExceptionHandler handler = candidate.bytecode->handler_at(candidate.index);
    bool ends_loop = at > depth && stops && candidate.continuation == ContinuationKind::NextOrStop;
    if (handler.target < 0 && !ends_loop) continue;
    // What dies on the way does so before the handler: the exception is Python's to raise then.
    if (at == 0 && std::any_of(candidate.stack.begin() + handler.depth, candidate.stack.end(),
                               [&](const ValuePtr& dropped) { return may_die_noticed(walk, dropped); }))
      return false;
    walk.frames().cut(handler.target >= 0 ? at + 1 : at);
    SymbolicFrame& target = walk.frames().innermost();
    if (exception->exception->raised_step == 0) exception->exception->raised_step = walk.instruction_step();
    if (handler.target < 0) {
      walk.frames().pop();
      walk.frames().jump((*target.bytecode)[target.index].arg);
      return true;
    }
    target.stack.resize(static_cast<size_t>(handler.depth));
    if (handler.push_lasti)
      walk.frames().push(walk.values().constant(check(pv_position((*target.bytecode)[target.index].lasti))));
    walk.frames().push(value);
    walk.frames().jump(handler.target);
    return true;
  }
  return false;
}

void raise_exception(Walk& walk, const ValuePtr& exception) {
  if (exception_of(exception) != nullptr) set_context(walk, exception);
  raise_again(exception);
}

void raise_known(Walk& walk, PyObject* type, const std::vector<ValuePtr>& args) {
  ValuePtr exception = make_exception(walk, walk.values().constant(type), args);
  MD_ASSERT(exception, "an exception that the walk cannot make");
  raise_exception(walk, exception);
}

void raise_set(Walk& walk) {
  if (take_unasked_comparison()) graph_break(BreakReason::unhashable_key, "a key with its own equality");
  ValuePtr exception = take_set_exception(walk);
  if (!exception) raise_here();
  raise_exception(walk, exception);
}

}  // namespace md
