// The border of stand-ins: functions of ours, over our tensors, in the place of another library's. Tensors and objects
// of the library go in as ours and come out as the library's.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// Calls the stand-in of a callable of the family. Where it raises, the library's own function raises.
ValuePtr call_stand_in(Tracer& tracer, const TensorCallable& callable, const CallArgs& args);
// The same for a function over the library's own tensors.
ValuePtr call_rewritten(Tracer& tracer, const TensorFamily& family, BorrowedRef function, const CallArgs& args);

// Without the keywords that change nothing: TensorFamily::neutral_keywords.
CallArgs without_neutral_keywords(Tracer& tracer, const TensorFamily& family, const CallArgs& args);

}  // namespace md
