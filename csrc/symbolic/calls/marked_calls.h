// How the program marked single callables: kept out of graphs, forbidden, constant, replaced, or traced in another way.
#pragma once
#include <string_view>

#include "symbolic/trace/tracer.h"

namespace md {

enum class CallMark : uint8_t {
  Disallowed,      // a break at the call
  Forbidden,       // AssertionError, whatever the policy
  ConstantResult,  // called once, during capture
  Replaced,        // the payload is inlined instead
  Skipped,         // a break at the call; the payload is the reason
  Traced,          // the payload is called once, during capture, on recording tensors
};

struct MarkedCall {
  CallMark mark;
  Ref payload;  // null: the callable itself
};

// Marks a callable, by identity. The mark lasts as long as the callable; the payload is kept alive. A second mark
// replaces the first.
void mark_call(BorrowedRef callable, CallMark mark, BorrowedRef payload);
void unmark_call(BorrowedRef callable);
// Another library's wrappers of a function that it disables.
enum class Disabled : uint8_t {
  Not,
  All,    // the function runs uncaptured, and so does what it calls
  Frame,  // the function runs uncaptured, but not what it calls
};
// All wrappers with this code, which is kept for the life of the process.
void disable_code(BorrowedRef code, Disabled what);
Disabled disabled_by(PyCodeObject* code);
// The same for all code of files whose path starts so: a library's own compiler.
void leave_files(std::string_view path);
bool is_left_code(PyCodeObject* code);
// Of a library's own files: what they ask of its compiler is answered as in plain code.
void ignore_marks_in(std::string_view path);
bool ignores_marks(PyCodeObject* code);
// Of a library's own files: the elements that they read as numbers stay in the graph, whatever the program has set.
void capture_numbers_in(std::string_view path);
bool captures_numbers_in(PyCodeObject* code);
const MarkedCall* find_marked_call(BorrowedRef callable);
CallMark call_mark_named(std::string_view name);  // throws Error(Key) for an unknown name

// Returns the result, or null if a frame was inlined.
ValuePtr call_marked(Tracer& tracer, const ValuePtr& callable, const MarkedCall& marked, CallArgs& args,
                     ContinuationKind continuation, const ValuePtr& continuation_value);

}  // namespace md
