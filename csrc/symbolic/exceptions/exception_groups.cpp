// Exception groups created in the trace, and except*.
//   1. Only the two built-in classes are supported; groups of a subclass are left to the interpreter.
//   2. How the tracebacks of two groups split from one raise differ is known to the interpreter only: a group raised by
//      a handler itself ends the region.
#include <algorithm>
#include <functional>

#include "cpython/imports.h"
#include "symbolic/attributes/attributes.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/calls/calls.h"
#include "symbolic/exceptions/exceptions.h"
#include "symbolic/facts/class_relations.h"
#include "symbolic/facts/name_spaces.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/trace/registry.h"

namespace md {

namespace {

PyTypeObject* plain_group_class() {
  static PyObject* const type = imported("builtins", "ExceptionGroup").release();
  return reinterpret_cast<PyTypeObject*>(type);
}

PyTypeObject* base_group_class() { return reinterpret_cast<PyTypeObject*>(PyExc_BaseExceptionGroup); }

PyObject* message_name() {
  static PyObject* const name = PyUnicode_InternFromString("message");
  return name;
}
PyObject* exceptions_name() {
  static PyObject* const name = PyUnicode_InternFromString("exceptions");
  return name;
}

// ExceptionGroup can be modified like a class in Python: what is read of it is guarded.
ValuePtr class_value(Tracer& tracer, PyTypeObject* type) {
  static PyObject* const kBuiltins = PyUnicode_InternFromString("builtins");
  static PyObject* const kName = PyUnicode_InternFromString("ExceptionGroup");
  ValuePtr constant = tracer.values().constant(reinterpret_cast<PyObject*>(type));
  if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) return constant;
  ValuePtr module = loaded_module(tracer, kBuiltins);
  ValuePtr known = module ? optional_attribute(tracer, module, kName) : nullptr;
  if (!known || tracer.values().identity_of(known).get() != reinterpret_cast<PyObject*>(type)) return constant;
  return known;
}

bool is_group(const ValuePtr& value) { return exception_of(value) != nullptr && is_group_class(type_of(value)); }

const std::vector<ValuePtr>& exceptions_in(const ValuePtr& group) {
  return as<SequenceValue>(*exception_of(group)->find(exceptions_name()))->items;
}

// The class depends on the exceptions in the group.
ValuePtr new_group(Tracer& tracer, const ValuePtr& message, std::vector<ValuePtr> exceptions, const ValuePtr& given) {
  bool is_plain = true;
  for (const ValuePtr& each : exceptions)
    is_plain = is_object_of(tracer, each, reinterpret_cast<PyTypeObject*>(PyExc_Exception)) && is_plain;
  PyTypeObject* type = is_plain ? plain_group_class() : base_group_class();
  auto group = make_value<InstanceValue>(class_value(tracer, type));
  group->exception = std::make_unique<ExceptionState>();
  group->exception->args = {message, given};
  group->exception->made_step = tracer.step_number();
  group->attributes.emplace_back(Ref::share(message_name()), message);
  group->attributes.emplace_back(Ref::share(exceptions_name()),
                                 make_value<SequenceValue>(false, std::move(exceptions)));
  return group;
}

ValuePtr new_group(Tracer& tracer, const ValuePtr& message, const std::vector<ValuePtr>& exceptions) {
  return new_group(tracer, message, exceptions, make_value<SequenceValue>(true, exceptions));
}

// A group of some of the exceptions, otherwise equal; null if there are none.
ValuePtr subset(Tracer& tracer, const ValuePtr& group, const std::vector<ValuePtr>& exceptions) {
  static PyObject* const kNotes = PyUnicode_InternFromString("__notes__");
  if (exceptions.empty()) return nullptr;
  InstanceValue* from = exception_of(group);
  ValuePtr made = new_group(tracer, *from->find(message_name()), exceptions);
  ExceptionState& state = *exception_of(made)->exception;
  state.raised_step = from->exception->raised_step;
  state.context = from->exception->context;
  state.cause = from->exception->cause;
  state.suppresses_context = true;  // setting a cause does this, even to None
  state.split_from = from->exception->split_from ? from->exception->split_from : group;
  if (ValuePtr* notes = from->find(kNotes)) {
    auto items = elements_of(tracer, *notes);
    if (!items) graph_break(BreakReason::exception_construct, "notes of a group");
    exception_of(made)->attributes.emplace_back(Ref::share(kNotes), make_value<SequenceValue>(true, *items));
  }
  return made;
}

using Matcher = std::function<bool(const ValuePtr& exception)>;
// The matching part and the rest; null: empty.
struct Split {
  ValuePtr match, rest;
};

Split split(Tracer& tracer, const ValuePtr& exception, const Matcher& matches) {
  if (matches(exception)) return {exception, nullptr};
  if (!is_group(exception)) return {nullptr, exception};
  std::vector<ValuePtr> matching, others;
  for (const ValuePtr& each : std::vector<ValuePtr>(exceptions_in(exception))) {
    Split parts = split(tracer, each, matches);
    if (parts.match) matching.push_back(parts.match);
    if (parts.rest) others.push_back(parts.rest);
  }
  return {subset(tracer, exception, matching), subset(tracer, exception, others)};
}

Matcher of_classes(Tracer& tracer, const ValuePtr& classes) {
  return [&tracer, classes](const ValuePtr& each) { return matches_clause(tracer, each, classes); };
}

// Returns true for classes that except* accepts: exceptions, but not groups.
bool is_valid_for_star(Tracer& tracer, const ValuePtr& classes) {
  if (auto elements = elements_of(tracer, classes))
    return std::ranges::all_of(*elements, [&](const ValuePtr& each) {
      auto* type = as<ObjectValue>(each);
      return type != nullptr && PyExceptionClass_Check(type->object.get()) && is_valid_for_star(tracer, each);
    });
  BorrowedRef known = tracer.values().identity_of(classes);
  return known && PyExceptionClass_Check(known.get()) &&
         !derives_from(tracer, classes, reinterpret_cast<PyTypeObject*>(PyExc_BaseExceptionGroup));
}

// Stack from the top: classes, exception (None if all of it was handled).
void check_eg_match(Tracer& tracer, const Instruction& at) {
  ValuePtr value = tracer.frames().peek(2), classes = tracer.frames().peek(1);
  bool is_none = same_object(tracer, value, tracer.values().none());
  if (!is_none && exception_of(value) == nullptr) graph_break(BreakReason::exception_construct, opcode_name(at.op));
  if (!is_valid_for_star(tracer, classes)) raise_here();
  Split parts{nullptr, value};
  if (!is_none) parts = split(tracer, value, of_classes(tracer, classes));
  if (parts.match && !is_group(parts.match)) {
    int64_t raised = exception_of(value)->exception->raised_step;
    parts.match = new_group(tracer, tracer.values().string(""), {value},
                            make_value<SequenceValue>(false, std::vector<ValuePtr>{value}));
    exception_of(parts.match)->exception->raised_step = raised;
  }
  tracer.frames().pop_many(2);
  tracer.frames().push(parts.rest ? parts.rest : tracer.values().none());
  tracer.frames().push(parts.match ? parts.match : tracer.values().none());
  if (parts.match) tracer.frames().handled().back() = parts.match;
}

void add_leaves(const ValuePtr& exception, std::vector<ValuePtr>& leaves) {
  if (!is_group(exception)) return leaves.push_back(exception);
  for (const ValuePtr& each : exceptions_in(exception)) add_leaves(each, leaves);
}

// Stack from the top: the exceptions that the clauses left or raised, the original exception.
void prep_reraise_star(Tracer& tracer, const Instruction& at) {
  ValuePtr original = tracer.frames().peek(2);
  auto left = elements_of(tracer, tracer.frames().peek(1));
  if (exception_of(original) == nullptr || !left) graph_break(BreakReason::exception_construct, opcode_name(at.op));
  std::erase_if(*left, [&](const ValuePtr& each) { return same_object(tracer, each, tracer.values().none()); });
  ValuePtr result;
  if (!left->empty() && !is_group(original)) {
    result = left->front();
  } else if (!left->empty()) {
    std::vector<ValuePtr> leaves;
    for (const ValuePtr& each : *left) {
      InstanceValue* exception = exception_of(each);
      bool is_part = each == original || (exception != nullptr && exception->exception->split_from == original);
      if (!is_part) graph_break(BreakReason::exception_construct, "an exception raised in except*");
      add_leaves(each, leaves);
    }
    result = split(tracer, original, [&](const ValuePtr& each) {
               return !is_group(each) && std::ranges::find(leaves, each) != leaves.end();
             }).match;
  }
  tracer.frames().pop_many(2);
  tracer.frames().push(result ? result : tracer.values().none());
}

const OpcodeRegistration registration{{Opcode::CHECK_EG_MATCH, check_eg_match},
                                      {Opcode::PREP_RERAISE_STAR, prep_reraise_star}};

const ValuePtr& group_argument(const CallArgs& args) {
  require_method_count(args, 1, 1);
  if (!is_group(args.positional[0])) graph_break(BreakReason::unknown_c_function, "a method of an exception group");
  return args.positional[0];
}

Split split_by(Tracer& tracer, const CallArgs& args) {
  const ValuePtr& group = group_argument(args);
  const ValuePtr& condition = args.positional[1];
  if (!is_python_function(condition)) return split(tracer, group, of_classes(tracer, condition));
  return split(tracer, group, [&](const ValuePtr& each) {
    std::optional<bool> truth = truth_of(tracer, call_now(tracer, condition, {{each}, {}}));
    if (!truth) graph_break(BreakReason::unknown_truth, "what a condition of split() gives");
    return *truth;
  });
}

ValuePtr call_split(Tracer& tracer, const CallArgs& args) {
  Split parts = split_by(tracer, args);
  auto or_none = [&](const ValuePtr& part) { return part ? part : tracer.values().none(); };
  return make_value<SequenceValue>(false, std::vector<ValuePtr>{or_none(parts.match), or_none(parts.rest)});
}

ValuePtr call_subgroup(Tracer& tracer, const CallArgs& args) {
  Split parts = split_by(tracer, args);
  return parts.match ? parts.match : tracer.values().none();
}

ValuePtr call_derive(Tracer& tracer, const CallArgs& args) {
  const ValuePtr& group = group_argument(args);
  CallArgs given{{*exception_of(group)->find(message_name()), args.positional[1]}, {}};
  return make_group(tracer, tracer.values().constant(reinterpret_cast<PyObject*>(base_group_class())), given);
}

}  // namespace

bool is_group_class(PyTypeObject* type) { return type == plain_group_class() || type == base_group_class(); }

ValuePtr make_group(Tracer& tracer, const ValuePtr& type, const CallArgs& args) {
  require_count(args, 2, 2);
  bool is_sequence = tracer.values().is_exactly(args.positional[1], &PyList_Type) ||
                     tracer.values().is_exactly(args.positional[1], &PyTuple_Type);
  auto exceptions = is_sequence ? elements_of(tracer, args.positional[1]) : nullptr;
  if (!exceptions) graph_break(BreakReason::object_creation, "an exception group");
  bool is_valid = tracer.values().is_exactly(args.positional[0], &PyUnicode_Type) && !exceptions->empty();
  for (const ValuePtr& each : *exceptions) is_valid = is_valid && is_exception_class(tracer.values().exact_type(each));
  if (!is_valid) raise_here();
  // At an exit the group is made before the writes to a pre-existing list are applied: it would copy the list without
  // them.
  auto* list = as<ObjectValue>(args.positional[1]);
  if (list != nullptr && list->writes)
    graph_break(BreakReason::object_creation, "an exception group of a list that was written to");
  ValuePtr made = new_group(tracer, args.positional[0], *exceptions, args.positional[1]);
  bool wants_plain = as<ObjectValue>(type)->object.get() == reinterpret_cast<PyObject*>(plain_group_class());
  if (wants_plain && type_of(made) != plain_group_class()) raise_here();
  return made;
}

namespace {

void add_exception_group_calls() {
  const std::pair<const char*, CallHandler> rows[] = {
      {"split", call_split}, {"subgroup", call_subgroup}, {"derive", call_derive}};
  for (const auto& [name, handler] : rows)
    register_call(check(PyObject_GetAttrString(PyExc_BaseExceptionGroup, name)).get(), handler);
}

const CallRegistration call_registration(add_exception_group_calls);

}  // namespace

}  // namespace md
