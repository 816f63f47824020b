#include "symbolic/breaks/graph_break.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "base/config.h"
#include "base/error.h"
#include "base/host_hooks.h"
#include "base/log.h"

namespace md {
namespace {

constexpr BreakRow kRows[] = {
#define MD_BREAK(name, id, anchor, title, explanation, hints, kind) \
  {#name, id, anchor, title, explanation, hints, BreakKind::kind},
#include "symbolic/breaks/graph_breaks.def"
#undef MD_BREAK
};

constexpr const char* kDocsPage = "docs/graph_breaks.md";

std::set<std::string> logged_breaks;  // guarded by the GIL

// Indexed by row; guarded by the GIL.
std::array<int64_t, std::size(kRows)> counts{};

size_t indent_of(const std::string& text) { return std::min(text.find_first_not_of(" \t\f"), text.size()); }

// Indents every line after the first.
std::string indent_rest(std::string_view text, std::string_view indent) {
  std::string out;
  for (char c : text) {
    out += c;
    if (c == '\n') out += indent;
  }
  return out;
}

std::string hint_lines(std::string_view hints) {
  if (hints.empty()) return "\n";
  return str_cat("  Hint: ", indent_rest(hints, "  Hint: "), "\n");
}

std::string docs_anchor(std::string_view id) {
  std::string anchor(id);
  for (char& c : anchor) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return anchor;
}

std::string location(const GraphBreak& graph_break) {
  if (graph_break.user_stack.empty()) return "<unknown>:0";
  return file_and_line(graph_break.user_stack.back());
}

std::string reason_text(const GraphBreak& graph_break) {
  std::string body = break_body(graph_break);
  if (graph_break.opcode_gloss.empty()) return body;
  return str_cat("Encountered graph break when attempting to trace ", graph_break.opcode_gloss, ":\n\n", body);
}

// Without nested breaks each level of the call chain reports the same break, so only the innermost line identifies it.
std::string logged_key(const GraphBreak& graph_break) {
  std::string key = break_row(graph_break.reason).id;
  std::span<const SourceLine> chain(graph_break.user_stack);
  if (!config().nested_graph_breaks && !chain.empty()) chain = chain.last(1);
  for (const SourceLine& line : chain) key += "\n" + file_and_line(line);
  return key;
}

}  // namespace

std::span<const BreakRow> break_rows() { return kRows; }

const BreakRow& break_row(BreakReason reason) { return kRows[static_cast<size_t>(reason)]; }

std::string opcode_gloss(Opcode op) {
  static constexpr std::pair<Opcode, const char*> kGlosses[] = {
#define MD_GLOSS(opcode, text) {Opcode::opcode, #opcode ": " text},
#include "symbolic/breaks/opcode_glosses.def"
#undef MD_GLOSS
  };
  auto gloss = std::ranges::find(kGlosses, op, &std::pair<Opcode, const char*>::first);
  return gloss != std::end(kGlosses) ? gloss->second : opcode_name(op);
}

std::string source_text(const SourceLine& line) {
  auto* read = host_hooks.read_source_line.load();
  std::string text = read == nullptr ? std::string() : read(line.file, line.line);
  return text.substr(indent_of(text));
}

int source_indent(const std::string& file, int line) {
  auto* read = host_hooks.read_source_line.load();
  return read == nullptr ? 0 : static_cast<int>(indent_of(read(file, line)));
}

std::span<const int64_t> break_counts() { return counts; }

void count_break(BreakReason reason) { ++counts[static_cast<size_t>(reason)]; }

void forget_break_counts() { counts = {}; }

std::string format_stack(std::span<const SourceLine> stack) {
  std::string out;
  for (const SourceLine& line : stack) {
    out += str_cat("  File \"", line.file, "\", line ", line.line, ", in ", line.function, "\n");
    std::string source = source_text(line);
    if (!source.empty()) out += str_cat("    ", source, "\n");
  }
  return out;
}

std::string break_body(const GraphBreak& graph_break) {
  const BreakRow& row = break_row(graph_break.reason);
  std::string_view explanation = row.explanation;
  if (!graph_break.explanation.empty()) explanation = graph_break.explanation;
  return str_cat(row.title, "\n  Explanation: ", indent_rest(explanation, "    "), "\n", hint_lines(row.hints),
                 "\n  Developer debug context: ", graph_break.context,
                 "\n\n For more details about this graph break, please visit: ", kDocsPage, "#", docs_anchor(row.id));
}

std::string raised_text(const GraphBreak& graph_break) {
  std::string text = break_body(graph_break);
  if (!graph_break.user_stack.empty()) {
    text += str_cat("\n\nfrom user code:\n ", format_stack(graph_break.user_stack));
  } else {
    text += "\n";
  }
  return text + "\nSet MINIDYNAMO_LOGS=\"graph_breaks\" to see every graph break of the program.\n";
}

std::string record_text(const GraphBreak& graph_break, bool duplicate, std::span<const SourceLine> callers) {
  if (duplicate) {
    return str_cat("Graph break (user stack suppressed due to duplicate graph break) in user code at ",
                   location(graph_break), "\nGraph Break Reason: ", reason_text(graph_break), "\n");
  }
  return str_cat("Graph break in user code at ", location(graph_break),
                 "\nGraph Break Reason: ", reason_text(graph_break), "\n\nUser code traceback:\n",
                 format_stack(callers), format_stack(graph_break.user_stack));
}

void log_graph_break(const GraphBreak& graph_break, const std::function<std::vector<SourceLine>()>& callers) {
  if (break_row(graph_break.reason).is_silent()) return;
  BreakRecording::add(graph_break);
  if (!log_enabled(LogArtifact::graph_breaks)) return;
  bool duplicate = !logged_breaks.insert(logged_key(graph_break)).second;
  std::vector<SourceLine> above;
  if (!duplicate && callers) above = callers();
  log_event(LogArtifact::graph_breaks, record_text(graph_break, duplicate, above));
}

void forget_logged_breaks() { logged_breaks.clear(); }

}  // namespace md
