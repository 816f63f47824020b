// Why a region ended: the reasons, and the texts that the user reads. One row of graph_breaks.def is one reason.
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

enum class BreakReason : uint16_t {
#define MD_BREAK(name, id, anchor, title, explanation, hints, silent) name,
#include "symbolic/breaks/graph_breaks.def"
#undef MD_BREAK
};

struct BreakRow {
  const char* name;
  const char* id;      // "MD0001", stable
  const char* anchor;  // TorchDynamo's id, "" if none
  const char* title;
  const char* explanation;
  const char* hints;  // one to a line, "" for none
  bool silent;        // no record, no count, no error
};
std::span<const BreakRow> break_rows();
const BreakRow& break_row(BreakReason reason);

struct GraphBreak {
  BreakReason reason;
  std::string context;                 // for developers: what exactly was met
  std::string explanation;             // empty: the row's
  std::vector<SourceLine> user_stack;  // outermost compiled frame first, the breaking one last
  std::string opcode_gloss;            // opcode_gloss(op), empty for jumps
};

// "CALL: a call, as in f(x, y)", or the bare name of an instruction that needs no words.
std::string opcode_gloss(Opcode op);

std::string source_text(const SourceLine& line);       // without indentation; "" if there is none
int source_indent(const std::string& file, int line);  // bytes of white space before it
// traceback's layout, one trailing newline per line.
std::string format_stack(std::span<const SourceLine> stack);

// Title, explanation, hints, context and the link to the docs; no trailing newline.
std::string break_body(const GraphBreak& graph_break);
// The text of Unsupported: the body and where in the user's code it was.
std::string raised_text(const GraphBreak& graph_break);
// The text of a log record. callers: the frames above the compiled call, outermost first.
std::string record_text(const GraphBreak& graph_break, bool duplicate, std::span<const SourceLine> callers);

// How often each reason broke a graph, since the start or the last reset; by row.
std::span<const int64_t> break_counts();
void count_break(BreakReason reason);
void forget_break_counts();

// Records and logs a break that is not silent; for the log, a place and reason seen before get the short form. callers is
// asked only for a full record.
void log_graph_break(const GraphBreak& graph_break, const std::function<std::vector<SourceLine>()>& callers);
// Makes every break a new one for the log.
void forget_logged_breaks();

// Keeps the breaks that are not silent, whether the log is switched on or not.
using BreakRecording = Recording<GraphBreak>;

// Sets minidynamo._dynamo.exc.Unsupported for the break, and throws CaptureError. GIL held.
[[noreturn]] void raise_unsupported(const GraphBreak& graph_break);

}  // namespace md
