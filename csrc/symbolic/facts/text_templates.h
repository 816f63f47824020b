// "...".format(...) and "..." % ... with arguments whose texts methods in Python give.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// str.format. Null: a template or an argument of another kind; no method was called.
Ref filled_braces(Tracer& tracer, const CallArgs& args);
// template % right, as str does it. The same.
Ref filled_percents(Tracer& tracer, const ValuePtr& text, const ValuePtr& right);

}  // namespace md
