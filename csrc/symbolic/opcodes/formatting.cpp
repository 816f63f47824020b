// f-strings.
#include "symbolic/breaks/outcomes.h"
#include "symbolic/exceptions/exceptions.h"
#include "symbolic/facts/texts.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/sizes/computed_numbers.h"
#include "symbolic/trace/registry.h"
#include "symbolic/trace/tracer.h"

namespace md {

namespace {

void push_formatted(Walk& walk, int operands, int conversion, BorrowedRef spec) {
  ValuePtr value = walk.frames().peek(operands);
  if (is_varying(value)) {
    static constexpr Computation kConversions[] = {Computation::Str, Computation::Repr, Computation::Ascii};
    ValuePtr text = conversion == 0 ? value : computed(walk, kConversions[conversion - 1], {value});
    ValuePtr plain = spec ? walk.values().constant(spec) : walk.values().string("");
    if (text) text = computed(walk, Computation::Format, {text, plain});
    if (text) {
      walk.frames().pop_many(operands);
      walk.frames().push(std::move(text));
      return;
    }
  }
  Ref text = formatted_text(walk, value, conversion, spec);
  if (!text) graph_break(BreakReason::unknown_format, describe(value));
  walk.frames().pop_many(operands);
  walk.frames().push(walk.values().constant(text));
}

Ref spec_at_top(Walk& walk) {
  Ref spec = constant_of(walk, walk.frames().peek());
  if (!spec) graph_break(BreakReason::unknown_format, "a format that is not known");
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
