// f-strings.
#include "symbolic/exceptions.h"
#include "symbolic/texts.h"
#include "symbolic/walk.h"

namespace md {

namespace {

// The text of a value by format(), after str() (1), repr() (2) or ascii() (3). Null: not known.
Ref formatted(Walk& walk, const ValuePtr& value, int conversion, BorrowedRef spec) {
  if (walk.is_tensor(value)) walk.graph_break(BreakReason::tensor_format, describe(value));
  if (conversion != 3)
    if (Ref text = text_by_parts(walk, value, conversion, spec)) return text;
  Ref constant = exception_of(value) != nullptr ? text_model(walk, value, conversion >= 2) : walk.constant_of(value);
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
  if (!text) walk.raise_here();
  Ref result = Ref::steal(PyObject_Format(text, spec));
  if (!result) walk.raise_here();
  return result;
}

void push_formatted(Walk& walk, int operands, int conversion, BorrowedRef spec) {
  ValuePtr value = walk.peek(operands);
  if (walk.is_varying(value)) {
    static constexpr Computation kConversions[] = {Computation::Str, Computation::Repr, Computation::Ascii};
    ValuePtr text = conversion == 0 ? value : walk.computed(kConversions[conversion - 1], {value});
    ValuePtr plain = spec ? walk.constant(spec) : walk.string("");
    if (text) text = walk.computed(Computation::Format, {text, plain});
    if (text) {
      walk.pop_many(operands);
      walk.push(std::move(text));
      return;
    }
  }
  Ref text = formatted(walk, value, conversion, spec);
  if (!text) walk.graph_break(BreakReason::unknown_format, describe(value));
  walk.pop_many(operands);
  walk.push(walk.constant(text));
}

Ref spec_at_top(Walk& walk) {
  Ref spec = walk.constant_of(walk.peek());
  if (!spec) walk.graph_break(BreakReason::unknown_format, "a format that is not known");
  return spec;
}

void format_value(Walk& walk, const Instruction& at) {
  if (at.arg2 != 0) {
    Ref spec = spec_at_top(walk);
    push_formatted(walk, 2, at.arg, spec.get());
  } else {
    push_formatted(walk, 1, at.arg, nullptr);
  }
}

void format_simple(Walk& walk, const Instruction&) { push_formatted(walk, 1, 0, nullptr); }

void format_with_spec(Walk& walk, const Instruction&) {
  Ref spec = spec_at_top(walk);
  push_formatted(walk, 2, 0, spec.get());
}

void convert_value(Walk& walk, const Instruction& at) { push_formatted(walk, 1, at.arg, nullptr); }

const OpcodeRegistration registration{{Opcode::FORMAT_VALUE, format_value},
                                      {Opcode::FORMAT_SIMPLE, format_simple},
                                      {Opcode::FORMAT_WITH_SPEC, format_with_spec},
                                      {Opcode::CONVERT_VALUE, convert_value}};

}  // namespace

}  // namespace md
