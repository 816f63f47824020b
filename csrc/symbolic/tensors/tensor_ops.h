// Operations on tensors.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// `family`: of the results where no operand is a tensor; null: the default one.
ValuePtr call_op(Tracer& tracer, const OpRow& row, const CallArgs& args, CallForm form,
                 const TensorFamily* family = nullptr);

// Arguments that a row does not take: its call raises. A library's function may take them: that is a break.
[[noreturn]] void refuse_arguments(const TensorFamily& family, std::string_view name);

// Leaves the frame where the family captures nothing in the state of this thread.
void check_state(Tracer& tracer, const TensorFamily& family);

}  // namespace md
