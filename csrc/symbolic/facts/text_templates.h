// "...".format(...) and "..." % ... with arguments whose texts are returned by methods in Python.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// str.format. Null: a template or argument of another kind; no method was called.
Ref filled_braces(Tracer& tracer, const CallArgs& args);
// template % right, as in str; null likewise.
Ref filled_percents(Tracer& tracer, const ValuePtr& text, const ValuePtr& right);

}  // namespace md
