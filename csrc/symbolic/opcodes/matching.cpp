// Structural pattern matching.
#include <algorithm>

#include "symbolic/attributes/attributes.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/builtins/class_checks.h"
#include "symbolic/effects/pending_writes.h"
#include "symbolic/facts/class_relations.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/trace/registry.h"

namespace md {

namespace {

template <unsigned long flag>
void match_flag(Tracer& tracer, const Instruction&) {
  tracer.frames().push(tracer.values().boolean(matches_pattern(tracer, tracer.frames().peek(), flag)));
}

// Keeps (subject, keys) and pushes the tuple of values, or None.
void match_keys(Tracer& tracer, const Instruction&) {
  ValuePtr subject = tracer.frames().peek(2);
  auto keys = elements_of(tracer, tracer.frames().peek());
  if (!keys || type_of(subject) != &PyDict_Type)
    graph_break(BreakReason::unknown_subscript, "a mapping pattern on a " + describe(subject));
  std::vector<ValuePtr> values;
  for (size_t i = 0; i < keys->size(); ++i) {
    Ref key = constant_of(tracer, (*keys)[i]);
    if (!key) graph_break(BreakReason::unhashable_key, describe((*keys)[i]));
    for (size_t j = 0; j < i; ++j)
      if (known_equal(tracer, (*keys)[i], (*keys)[j]).value_or(true)) raise_here();
    ValuePtr value = dict_item(tracer, subject, key.get());
    if (!value) return tracer.frames().push(tracer.values().none());
    values.push_back(std::move(value));
  }
  tracer.frames().push(make_value<SequenceValue>(false, std::move(values)));
}

// The attribute names of the positional sub-patterns; null: the only one matches the subject itself.
std::unique_ptr<std::vector<ValuePtr>> match_args(Tracer& tracer, const ValuePtr& type, int count) {
  static PyObject* const kMatchArgs = PyUnicode_InternFromString("__match_args__");
  PyTypeObject* known = class_in(type);
  ValuePtr found = count > 0 ? optional_attribute(tracer, type, kMatchArgs) : nullptr;
  if (!found && count > 0) {
    if (!PyType_HasFeature(known, _Py_TPFLAGS_MATCH_SELF) || count > 1) raise_here();
    return nullptr;
  }
  if (found && !tracer.values().is_exactly(found, &PyTuple_Type)) raise_here();
  auto names = found ? elements_of(tracer, found) : std::make_unique<std::vector<ValuePtr>>();
  if (!names || static_cast<int>(names->size()) < count) raise_here();
  names->resize(count);
  return names;
}

// Replaces (subject, class, names of keyword patterns) by the tuple of attributes, or None.
void match_class(Tracer& tracer, const Instruction& at) {
  ValuePtr subject = tracer.frames().peek(3), type = tracer.frames().peek(2);
  PyObject* known = tracer.values().identity_of(type);
  if (known == nullptr || !PyType_Check(known)) raise_here();
  ValuePtr result = tracer.values().none();
  if (is_instance(tracer, subject, type)) {
    std::vector<ValuePtr> values;
    auto names = match_args(tracer, type, at.arg);
    if (!names) {
      values.push_back(subject);
      names = std::make_unique<std::vector<ValuePtr>>();
    }
    auto keywords = elements_of(tracer, tracer.frames().peek());
    names->insert(names->end(), keywords->begin(), keywords->end());
    bool all = true;
    std::vector<Ref> seen;
    for (const ValuePtr& name : *names) {
      Ref text = constant_of(tracer, name);
      bool is_repeated =
          text && std::ranges::any_of(seen, [&](const Ref& other) { return PyUnicode_Compare(other, text) == 0; });
      if (!text || !PyUnicode_CheckExact(text.get()) || is_repeated) raise_here();
      seen.push_back(text);
      ValuePtr value = optional_attribute(tracer, subject, text.get());
      all = static_cast<bool>(value);
      if (!all) break;
      values.push_back(std::move(value));
    }
    if (all) result = make_value<SequenceValue>(false, std::move(values));
  }
  tracer.frames().pop_many(3);
  tracer.frames().push(std::move(result));
}

const OpcodeRegistration registration{{Opcode::MATCH_MAPPING, match_flag<Py_TPFLAGS_MAPPING>},
                                      {Opcode::MATCH_SEQUENCE, match_flag<Py_TPFLAGS_SEQUENCE>},
                                      {Opcode::MATCH_KEYS, match_keys},
                                      {Opcode::MATCH_CLASS, match_class}};

}  // namespace

}  // namespace md
