#include "eval_frame/capture_report.h"

#include <algorithm>
#include <chrono>
#include <sstream>

#include "base/log.h"
#include "cpython/errors.h"
#include "cpython/text.h"
#include "eval_frame/running_stack.h"
#include "graph/print_sizes.h"
#include "graph/print_table.h"
#include "guards/tensor_family.h"

namespace md {

namespace {

std::string stack_json(std::span<const SourceLine> stack) {
  std::vector<std::string> texts;
  for (const SourceLine& line : stack) texts.push_back(str_cat(file_and_line(line), " in ", line.function));
  return json_list(texts);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// The median of a few runs, in microseconds.
double check_latency(const GuardSet& guards, const LocalsView& view) {
  constexpr int kRuns = 5;
  std::vector<int64_t> times;
  for (int i = 0; i < kRuns; ++i) {
    auto begin = std::chrono::steady_clock::now();
    guards.check(view);
    auto end = std::chrono::steady_clock::now();
    times.push_back(std::chrono::duration_cast<std::chrono::nanoseconds>(end - begin).count());
  }
  std::ranges::sort(times);
  return static_cast<double>(times[kRuns / 2]) / 1e3;
}

// Mutating object of type list (source name: L['xs'])
std::string effect_line(const Effect& effect, const Snapshot& snapshot, const RegionPlace& place) {
  const Recipe* target = effect.target != kNoRecipe ? &snapshot.recipes[static_cast<size_t>(effect.target)] : nullptr;
  const EffectRow& row = effect_row(effect.kind);
  std::string how = str_cat("    ", row.name, ": ", row.doc, "\n");
  if (target == nullptr) return "Changing the state of the thread\n" + how;
  if (effect.kind == EffectKind::Output) return "Writing something out\n" + how;
  if (target->source == nullptr) return "Mutating an object made in the region\n" + how;
  Ref object = fetch(target->source, place.view);
  return str_cat("Mutating object of type ", object ? object.type()->tp_name : "?",
                 " (source name: ", name(target->source, place.bytecode), ")\n", how);
}

}  // namespace

std::string place_name(const RegionPlace& place) {
  PyCodeObject* code = place.bytecode.code();
  return str_cat(text_of(code->co_name), " (", text_of(code->co_filename), ":", place.bytecode.line_at(place.index),
                 ")");
}

JsonObject place_facts(const RegionPlace& place) {
  PyCodeObject* code = place.bytecode.code();
  JsonObject facts;
  facts.add("function", text_of(code->co_qualname))
      .add("file", text_of(code->co_filename))
      .add("line", code->co_firstlineno)
      .add("start_line", place.bytecode.line_at(place.index));
  return facts;
}

CaptureReport::CaptureReport(const RegionPlace& place, CaptureId id, int known) : place_(place), id_(id) {
  tell_step("Step 1: start capturing ");
  if (events_wanted())
    emit_event(EventKind::capture_start, id_, place_facts(place).add("instruction", place.index).add("known", known));
  if (id.entry == 0 && log_enabled(LogArtifact::bytecode)) {
    PyCodeObject* code = place.bytecode.code();
    log_event(LogArtifact::bytecode,
              str_cat("ORIGINAL BYTECODE ", text_of(code->co_name), " ", text_of(code->co_filename), " line ",
                      code->co_firstlineno, "\n", place.bytecode.print()));
  }
}

CaptureReport::~CaptureReport() {
  if (is_done_) return;
  // An exception, of Python or C++, is propagating.
  ErrorAside aside;
  try {
    tell_step("Step 1: failed to capture ");
    if (events_wanted())
      emit_event(EventKind::capture_end, id_, place_facts(place_).add("outcome", "error").add("ops", 0));
  } catch (...) {
    return;  // cannot be reported
  }
}

void CaptureReport::traced() {
  tell_step("Step 1: done capturing ");
  tell_step("Step 2: making the plan of ");
}

void CaptureReport::tell_step(const char* what) const {
  if (log_info_enabled()) log_info(what + place_name(place_));
}

void emit_graph_break(CaptureId id, const GraphBreak& found, bool raised) {
  count_break(found.reason);
  if (!events_wanted()) return;
  const BreakRow& row = break_row(found.reason);
  SourceLine at = found.user_stack.empty() ? SourceLine{"?", 0, "?"} : found.user_stack.back();
  emit_event(EventKind::graph_break, id,
             JsonObject()
                 .add("reason", row.id)
                 .add("title", row.title)
                 .add("text", break_body(found))
                 .add("hints", lines_of(row.hints))
                 .add("file", at.file)
                 .add("line", at.line)
                 .add("function", at.function)
                 .add_json("user_stack", stack_json(found.user_stack))
                 .add("raised", raised));
}

void CaptureReport::captured(const RegionEntry& entry) {
  is_done_ = true;
  tell_step("Step 2: done with ");
  if (entry.region.graph->op_count() > 0) log_graph(entry.region);
  log_guards(entry);
  log_exit(entry.region);
  if (events_wanted()) emit_captured(entry);
}

void CaptureReport::log_graph(const CapturedRegion& region) const {
  const Graph& graph = *region.graph;
  std::string head = str_cat(" ===== ", place_name(place_), " =====\n");
  if (log_enabled(LogArtifact::graph))
    log_event(LogArtifact::graph, str_cat("TRACED GRAPH\n", head, print_table(graph)));
  if (log_enabled(LogArtifact::graph_code))
    log_event(LogArtifact::graph_code,
              str_cat("TRACED GRAPH\n", head, print_code(graph, true, &source_text, *region.family->face)));
  if (log_enabled(LogArtifact::graph_sizes))
    log_event(LogArtifact::graph_sizes, str_cat("TRACED GRAPH TENSOR SIZES\n", head, print_sizes(graph)));
}

void CaptureReport::log_guards(const RegionEntry& entry) const {
  if (log_enabled(LogArtifact::guards)) {
    std::string text = str_cat("GUARDS: ", place_name(place_));
    for (const std::string& line : entry.guards.print(place_.bytecode)) text += "\n+- " + line;
    log_event(LogArtifact::guards, text);
  }
  if (log_enabled(LogArtifact::verbose_guards)) {
    std::string text = str_cat("GUARD PROGRAM: ", place_name(place_));
    for (const std::string& line : entry.guards.print_program(place_.bytecode)) text += "\n+- " + line;
    text += str_cat("\nGuard eval latency = ", check_latency(entry.guards, place_.view), " us");
    log_event(LogArtifact::verbose_guards, text);
  }
}

void CaptureReport::log_exit(const CapturedRegion& region) const {
  if (log_enabled(LogArtifact::snapshot) && !region.snapshot.frames.empty())
    log_event(LogArtifact::snapshot,
              str_cat("SNAPSHOT: ", place_name(place_), ", ", exit_name(region.exit), "\n", print(region.snapshot)));
  if (!log_enabled(LogArtifact::side_effects)) return;
  for (const Effect& effect : region.snapshot.effects) {
    std::string text = effect_line(effect, region.snapshot, place_);
    if (effect.location != nullptr) text += "User stack trace:\n" + format_stack(*effect.location);
    log_event(LogArtifact::side_effects, text);
  }
}

void CaptureReport::emit_captured(const RegionEntry& entry) const {
  const CapturedRegion& region = entry.region;
  const Graph& graph = *region.graph;
  std::vector<std::string> ops, guards = entry.guards.print(place_.bytecode);
  for (const auto& node : graph.nodes())
    if (node->kind == NodeKind::Op) ops.push_back(node->op->name);
  if (!ops.empty()) {
    emit_event(EventKind::graph, id_,
               JsonObject()
                   .add("name", place_name(place_))
                   .add("ops", ops)
                   .add("code", print_code(graph, true, &source_text, *region.family->face))
                   .add("sizes", print_sizes(graph)));
  }
  emit_event(EventKind::guards, id_, JsonObject().add("guards", guards));
  emit_event(EventKind::capture_end, id_,
             place_facts(place_)
                 .add("outcome", exit_name(region.exit))
                 .add("ops", static_cast<int64_t>(ops.size()))
                 .add("guards", static_cast<int64_t>(guards.size()))
                 .add_seconds("walk_s", static_cast<double>(entry.trace_ns) / 1e9)
                 .add_seconds("plan_s", static_cast<double>(entry.plan_ns) / 1e9));
}

}  // namespace md
