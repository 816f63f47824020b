// Why a region ended: the reasons, and the texts shown to the user. One row of graph_breaks.def is one reason.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/recording.h"
#include "bytecode/bytecode.h"
#include "graph/graph.h"

namespace md {

enum class BreakReason : uint16_t;  // break_reason.h

// Found by the capture, asked for by the program, or silent: execution goes on without a record, a count or an error.
enum class BreakKind : uint8_t { Found, Asked, Silent };

struct BreakRow {
  const char* name;
  const char* id;      // "MD0001", stable
  const char* anchor;  // TorchDynamo's id, "" if none
  const char* title;
  const char* explanation;
  const char* hints;  // one per line, "" for none
  BreakKind kind;
  bool is_silent() const { return kind == BreakKind::Silent; }
};
std::span<const BreakRow> break_rows();
const BreakRow& break_row(BreakReason reason);

struct GraphBreak {
  BreakReason reason;
  std::string context;                 // for developers: the exact objects or names involved
  std::string explanation;             // empty: that of the row
  std::vector<SourceLine> user_stack;  // outermost compiled frame first, the breaking one last
  std::string opcode_gloss;            // opcode_gloss(op), empty for jumps
};

// "CALL: a call, as in f(x, y)", or the bare name of an instruction without a gloss.
std::string opcode_gloss(Opcode op);

std::string source_text(const SourceLine& line);       // without indentation; "" if unavailable
int source_indent(const std::string& file, int line);  // bytes of leading white space
// In the layout of `traceback`, with a newline after each line.
std::string format_stack(std::span<const SourceLine> stack);

// Title, explanation, hints, context and the link to the docs; no trailing newline.
std::string break_body(const GraphBreak& graph_break);
// The text of Unsupported: the body and its location in the user's code.
std::string raised_text(const GraphBreak& graph_break);
// The text of a log record. callers: the frames above the compiled call, outermost first.
std::string record_text(const GraphBreak& graph_break, bool duplicate, std::span<const SourceLine> callers);

// Number of breaks per reason since the start or the last reset, indexed by row.
std::span<const int64_t> break_counts();
void count_break(BreakReason reason);
void forget_break_counts();

// Records and logs a break that is not silent; a place and reason logged before get the short form. `callers` is called
// only for a full record.
void log_graph_break(const GraphBreak& graph_break, const std::function<std::vector<SourceLine>()>& callers);
// Makes the log treat every break as new.
void forget_logged_breaks();

// Keeps the breaks that are not silent, whether or not the log is enabled.
using BreakRecording = Recording<GraphBreak>;

// Sets minidynamo._dynamo.exc.Unsupported for the break, and throws CaptureError. GIL held.
[[noreturn]] void raise_unsupported(const GraphBreak& graph_break);

}  // namespace md
