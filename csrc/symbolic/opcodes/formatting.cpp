// f-strings.
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/exceptions/exceptions.h"
#include "symbolic/facts/identities.h"
#include "symbolic/facts/texts.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/sizes/computed_numbers.h"
#include "symbolic/trace/loops.h"
#include "symbolic/trace/registry.h"
#include "symbolic/trace/tracer.h"

namespace md {

namespace {

void push_formatted(Tracer& tracer, int operands, int conversion, BorrowedRef spec) {
  ValuePtr value = number_or_itself(tracer, tracer.frames().peek(operands));
  LoopScope::current().note_choice(value);
  if (is_dynamic(value)) {
    static constexpr ScalarOp kConversions[] = {ScalarOp::Str, ScalarOp::Repr, ScalarOp::Ascii};
    ValuePtr text = conversion == 0 ? value : computed(tracer, kConversions[conversion - 1], {value});
    ValuePtr plain = spec ? tracer.values().constant(spec) : tracer.values().string("");
    if (text) text = computed(tracer, ScalarOp::Format, {text, plain});
    if (text) {
      tracer.frames().pop_many(operands);
      tracer.frames().push(std::move(text));
      return;
    }
  }
  Ref text = formatted_text(tracer, value, conversion, spec);
  if (!text) graph_break(BreakReason::unknown_format, describe(value));
  tracer.frames().pop_many(operands);
  tracer.frames().push(tracer.values().constant(text));
}

Ref spec_at_top(Tracer& tracer) {
  Ref spec = constant_of(tracer, tracer.frames().peek());
  if (!spec) graph_break(BreakReason::unknown_format, "a format that is not known");
  return spec;
}

void format_value(Tracer& tracer, const Instruction& at) {
  if (at.arg2 != 0) {
    Ref spec = spec_at_top(tracer);
    push_formatted(tracer, 2, at.arg, spec.get());
  } else {
    push_formatted(tracer, 1, at.arg, nullptr);
  }
}

void format_simple(Tracer& tracer, const Instruction&) { push_formatted(tracer, 1, 0, nullptr); }

void format_with_spec(Tracer& tracer, const Instruction&) {
  Ref spec = spec_at_top(tracer);
  push_formatted(tracer, 2, 0, spec.get());
}

void convert_value(Tracer& tracer, const Instruction& at) { push_formatted(tracer, 1, at.arg, nullptr); }

const OpcodeRegistration registration{{Opcode::FORMAT_VALUE, format_value},
                                      {Opcode::FORMAT_SIMPLE, format_simple},
                                      {Opcode::FORMAT_WITH_SPEC, format_with_spec},
                                      {Opcode::CONVERT_VALUE, convert_value}};

}  // namespace

}  // namespace md
