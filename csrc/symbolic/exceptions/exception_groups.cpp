// Exception groups made by the walk, and except*.
//  1. A group is of one of the two built-in classes. Those of a subclass are Python's.
//  2. Only Python knows how two groups of one raise differ in their tracebacks: a group that a handler raises itself ends the region.
#include <algorithm>
#include <functional>

#include "cpython/imports.h"
#include "symbolic/attributes/attributes.h"
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

// ExceptionGroup can be changed as a class in Python can: what is read of it is guarded.
ValuePtr class_value(Walk& walk, PyTypeObject* type) {
  static PyObject* const kBuiltins = PyUnicode_InternFromString("builtins");
  static PyObject* const kName = PyUnicode_InternFromString("ExceptionGroup");
  ValuePtr constant = walk.values().constant(reinterpret_cast<PyObject*>(type));
  if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) return constant;
  ValuePtr module = loaded_module(walk, kBuiltins);
  ValuePtr known = module ? optional_attribute(walk, module, kName) : nullptr;
  if (!known || walk.values().identity_of(known).get() != reinterpret_cast<PyObject*>(type)) return constant;
  return known;
}

bool is_group(const ValuePtr& value) { return exception_of(value) != nullptr && is_group_class(type_of(value)); }

const std::vector<ValuePtr>& exceptions_in(const ValuePtr& group) {
  return as<SequenceValue>(*exception_of(group)->find(exceptions_name()))->items;
}

// The class follows from what is in it.
ValuePtr new_group(Walk& walk, const ValuePtr& message, std::vector<ValuePtr> exceptions, const ValuePtr& given) {
  bool is_plain = true;
  for (const ValuePtr& each : exceptions)
    is_plain = is_object_of(walk, each, reinterpret_cast<PyTypeObject*>(PyExc_Exception)) && is_plain;
  PyTypeObject* type = is_plain ? plain_group_class() : base_group_class();
  auto group = make_value<InstanceValue>(class_value(walk, type));
  group->exception = std::make_unique<ExceptionState>();
  group->exception->args = {message, given};
  group->exception->made_step = walk.step_number();
  group->attributes.emplace_back(Ref::share(message_name()), message);
  group->attributes.emplace_back(Ref::share(exceptions_name()),
                                 make_value<SequenceValue>(false, std::move(exceptions)));
  return group;
}

ValuePtr new_group(Walk& walk, const ValuePtr& message, const std::vector<ValuePtr>& exceptions) {
  return new_group(walk, message, exceptions, make_value<SequenceValue>(true, exceptions));
}

// A group of some of the exceptions, that is otherwise the same; null: there are none.
ValuePtr subset(Walk& walk, const ValuePtr& group, const std::vector<ValuePtr>& exceptions) {
  static PyObject* const kNotes = PyUnicode_InternFromString("__notes__");
  if (exceptions.empty()) return nullptr;
  InstanceValue* from = exception_of(group);
  ValuePtr made = new_group(walk, *from->find(message_name()), exceptions);
  ExceptionState& state = *exception_of(made)->exception;
  state.raised_step = from->exception->raised_step;
  state.context = from->exception->context;
  state.cause = from->exception->cause;
  state.suppresses_context = true;  // as setting a cause does, also one that is None
  state.split_from = from->exception->split_from ? from->exception->split_from : group;
  if (ValuePtr* notes = from->find(kNotes)) {
    auto items = elements_of(walk, *notes);
    if (!items) graph_break(BreakReason::exception_construct, "notes of a group");
    exception_of(made)->attributes.emplace_back(Ref::share(kNotes), make_value<SequenceValue>(true, *items));
  }
  return made;
}

using Matcher = std::function<bool(const ValuePtr& exception)>;
// What matches, and what does not; null: nothing.
struct Split {
  ValuePtr match, rest;
};

Split split(Walk& walk, const ValuePtr& exception, const Matcher& matches) {
  if (matches(exception)) return {exception, nullptr};
  if (!is_group(exception)) return {nullptr, exception};
  std::vector<ValuePtr> matching, others;
  for (const ValuePtr& each : std::vector<ValuePtr>(exceptions_in(exception))) {
    Split parts = split(walk, each, matches);
    if (parts.match) matching.push_back(parts.match);
    if (parts.rest) others.push_back(parts.rest);
  }
  return {subset(walk, exception, matching), subset(walk, exception, others)};
}

Matcher of_classes(Walk& walk, const ValuePtr& classes) {
  return [&walk, classes](const ValuePtr& each) { return matches_clause(walk, each, classes); };
}

// Classes that except* takes: exceptions, and no groups.
bool is_valid_for_star(Walk& walk, const ValuePtr& classes) {
  if (auto elements = elements_of(walk, classes))
    return std::ranges::all_of(*elements, [&](const ValuePtr& each) {
      auto* type = as<ObjectValue>(each);
      return type != nullptr && PyExceptionClass_Check(type->object.get()) && is_valid_for_star(walk, each);
    });
  BorrowedRef known = walk.values().identity_of(classes);
  return known && PyExceptionClass_Check(known.get()) &&
         !derives_from(walk, classes, reinterpret_cast<PyTypeObject*>(PyExc_BaseExceptionGroup));
}

// From the top: classes, exception (None where all of it was taken).
void check_eg_match(Walk& walk, const Instruction& at) {
  ValuePtr value = walk.frames().peek(2), classes = walk.frames().peek(1);
  bool is_none = same_object(walk, value, walk.values().none());
  if (!is_none && exception_of(value) == nullptr) graph_break(BreakReason::exception_construct, opcode_name(at.op));
  if (!is_valid_for_star(walk, classes)) raise_here();
  Split parts{nullptr, value};
  if (!is_none) parts = split(walk, value, of_classes(walk, classes));
  if (parts.match && !is_group(parts.match)) {
    int64_t raised = exception_of(value)->exception->raised_step;
    parts.match = new_group(walk, walk.values().string(""), {value},
                            make_value<SequenceValue>(false, std::vector<ValuePtr>{value}));
    exception_of(parts.match)->exception->raised_step = raised;
  }
  walk.frames().pop_many(2);
  walk.frames().push(parts.rest ? parts.rest : walk.values().none());
  walk.frames().push(parts.match ? parts.match : walk.values().none());
  if (parts.match) walk.frames().handled().back() = parts.match;
}

void add_leaves(const ValuePtr& exception, std::vector<ValuePtr>& leaves) {
  if (!is_group(exception)) return leaves.push_back(exception);
  for (const ValuePtr& each : exceptions_in(exception)) add_leaves(each, leaves);
}

// From the top: what the clauses left or raised, the exception that they were given.
void prep_reraise_star(Walk& walk, const Instruction& at) {
  ValuePtr original = walk.frames().peek(2);
  auto left = elements_of(walk, walk.frames().peek(1));
  if (exception_of(original) == nullptr || !left) graph_break(BreakReason::exception_construct, opcode_name(at.op));
  std::erase_if(*left, [&](const ValuePtr& each) { return same_object(walk, each, walk.values().none()); });
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
    result = split(walk, original, [&](const ValuePtr& each) {
               return !is_group(each) && std::ranges::find(leaves, each) != leaves.end();
             }).match;
  }
  walk.frames().pop_many(2);
  walk.frames().push(result ? result : walk.values().none());
}

const OpcodeRegistration registration{{Opcode::CHECK_EG_MATCH, check_eg_match},
                                      {Opcode::PREP_RERAISE_STAR, prep_reraise_star}};

const ValuePtr& group_argument(const CallArgs& args) {
  require_method_count(args, 1, 1);
  if (!is_group(args.positional[0])) graph_break(BreakReason::unknown_c_function, "a method of an exception group");
  return args.positional[0];
}

Split split_by(Walk& walk, const CallArgs& args) {
  const ValuePtr& group = group_argument(args);
  const ValuePtr& condition = args.positional[1];
  if (!is_python_function(condition)) return split(walk, group, of_classes(walk, condition));
  return split(walk, group, [&](const ValuePtr& each) {
    std::optional<bool> truth = truth_of(walk, call_now(walk, condition, {{each}, {}}));
    if (!truth) graph_break(BreakReason::unknown_truth, "what a condition of split() gives");
    return *truth;
  });
}

ValuePtr call_split(Walk& walk, const CallArgs& args) {
  Split parts = split_by(walk, args);
  auto or_none = [&](const ValuePtr& part) { return part ? part : walk.values().none(); };
  return make_value<SequenceValue>(false, std::vector<ValuePtr>{or_none(parts.match), or_none(parts.rest)});
}

ValuePtr call_subgroup(Walk& walk, const CallArgs& args) {
  Split parts = split_by(walk, args);
  return parts.match ? parts.match : walk.values().none();
}

ValuePtr call_derive(Walk& walk, const CallArgs& args) {
  const ValuePtr& group = group_argument(args);
  CallArgs given{{*exception_of(group)->find(message_name()), args.positional[1]}, {}};
  return make_group(walk, walk.values().constant(reinterpret_cast<PyObject*>(base_group_class())), given);
}

}  // namespace

bool is_group_class(PyTypeObject* type) { return type == plain_group_class() || type == base_group_class(); }

ValuePtr make_group(Walk& walk, const ValuePtr& type, const CallArgs& args) {
  require_count(args, 2, 2);
  bool is_sequence = walk.values().is_exactly(args.positional[1], &PyList_Type) ||
                     walk.values().is_exactly(args.positional[1], &PyTuple_Type);
  auto exceptions = is_sequence ? elements_of(walk, args.positional[1]) : nullptr;
  if (!exceptions) graph_break(BreakReason::object_creation, "an exception group");
  bool is_valid = walk.values().is_exactly(args.positional[0], &PyUnicode_Type) && !exceptions->empty();
  for (const ValuePtr& each : *exceptions) is_valid = is_valid && is_exception_class(walk.values().exact_type(each));
  if (!is_valid) raise_here();
  ValuePtr made = new_group(walk, args.positional[0], *exceptions, args.positional[1]);
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
