#include "eval_frame/region_lookup.h"

#include <chrono>

#include "base/config.h"
#include "base/log.h"
#include "eval_frame/counters.h"
#include "eval_frame/recompiles.h"

namespace md {

namespace {

PlanMaker plan_maker = nullptr;

// Frames that run now, outermost first; without `without`, the frame being captured.
std::vector<SourceLine> running_stack(const Bytecode& without) {
  std::vector<SourceLine> lines;
  Ref frame = Ref::steal(reinterpret_cast<PyObject*>(PyThreadState_GetFrame(PyThreadState_Get())));
  bool innermost = true;
  while (frame) {
    auto* real = reinterpret_cast<PyFrameObject*>(frame.get());
    Ref code = Ref::steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(real)));
    auto* known = reinterpret_cast<PyCodeObject*>(code.get());
    if (!(innermost && known == without.code())) {
      const char* file = PyUnicode_AsUTF8(known->co_filename);
      const char* function = PyUnicode_AsUTF8(known->co_name);
      lines.push_back({file != nullptr ? file : "?", PyFrame_GetLineNumber(real), function != nullptr ? function : "?"});
    }
    innermost = false;
    frame = Ref::steal(reinterpret_cast<PyObject*>(PyFrame_GetBack(real)));
  }
  PyErr_Clear();
  return {lines.rbegin(), lines.rend()};
}

std::string place_name(const Place& place) {
  PyCodeObject* code = place.bytecode.code();
  return str_cat(PyUnicode_AsUTF8(code->co_name), " (", PyUnicode_AsUTF8(code->co_filename), ":",
                 place.bytecode.line_at(place.index), ")");
}

const Policy* policy_at_break(const CapturedRegion& region) { return region.snapshot.frames.back().policy; }

void report_break(const Place& place, const CapturedRegion& region) {
  const GraphBreak& found = *region.graph_break;
  if (break_row(found.reason).silent) return;
  const Policy* policy = policy_at_break(region);
  if (policy->breaks_are_errors() || place.policy->fullgraph) raise_unsupported(found);
  ++counters().graph_breaks;
  for (int record = 0; record <= region.repeated_records; ++record)
    log_graph_break(found, [&] { return running_stack(place.bytecode); });
}

void log_capture(const Place& place, const RegionEntry& entry) {
  const CapturedRegion& region = entry.region;
  if (region.graph->op_count() > 0 && log_enabled(LogArtifact::graph_code))
    log_event(LogArtifact::graph_code,
              str_cat("TRACED GRAPH\n ===== ", place_name(place), " =====\n", print_code(*region.graph, true)));
  if (log_enabled(LogArtifact::guards)) {
    std::string text = str_cat("GUARDS: ", place_name(place));
    for (const std::string& line : entry.guards.print(place.bytecode)) text += "\n+- " + line;
    log_event(LogArtifact::guards, text);
  }
}

void make_plan(const Place& place, RegionEntry& entry) {
  CapturedRegion& region = entry.region;
  if (region.graph->outputs().empty()) return;
  MD_ASSERT(plan_maker != nullptr, "no plan maker is installed");
  std::vector<Ref> examples;
  for (const Source* source : region.inputs) examples.push_back(fetch(source, place.view));
  entry.plan = plan_maker(place.policy, region.graph, examples);
}

// Nothing in the rest of a frame was worth a graph: the interpreter runs it best.
bool is_worthless(const Place& place, const CapturedRegion& region) {
  return region.exit == ExitKind::Return && region.graph->op_count() == 0 && place.index > 0 &&
         config().snapshot_stress == 0;
}

RegionEntryPtr capture(const Place& place, CodeCache& cache, const CacheKey& key) {
  auto begin = std::chrono::steady_clock::now();
  WalkStart start{place.bytecode, place.index, place.view, place.policy};
  CapturedRegion region = capture_region(start);
  ++counters().regions_captured;
  if (region.graph_break) report_break(place, region);
  if (is_worthless(place, region)) region.exit = ExitKind::HandOver;
  if (region.graph->op_count() > 0) {
    ++counters().graphs_captured;
    counters().ops_captured += region.graph->op_count();
  }
  auto entry = std::make_shared<RegionEntry>(std::move(region));
  if (entry->region.exit != ExitKind::HandOver) make_plan(place, *entry);
  log_capture(place, *entry);
  cache.insert(key, entry);
  counters().capture_ns +=
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin).count();
  return entry;
}

// One warning for each code object; the frame goes on in the interpreter.
RegionEntryPtr report_bug(const Place& place, const Error& error) {
  if (!config().suppress_internal_errors) throw error;
  log_warning(str_cat("minidynamo could not capture ", place_name(place), " and leaves it to Python: ", error.what()));
  return nullptr;
}

}  // namespace

void set_plan_maker(PlanMaker maker) { plan_maker = maker; }

RegionEntryPtr find_or_capture(const Place& place) {
  CodeCache& cache = CodeCache::of(place.bytecode.code());
  CacheKey key{place.index, place.depth, place.policy};
  if (CacheEntryPtr found = cache.lookup(key, place.view)) return std::static_pointer_cast<RegionEntry>(found);
  int limit = place.policy->recompile_limit >= 0 ? static_cast<int>(place.policy->recompile_limit)
                                                 : static_cast<int>(config().recompile_limit);
  int known = cache.count(key);
  if (known >= limit) {
    ++counters().limits_reached;
    report_limit(cache, key, place.view, place.bytecode, *place.policy, limit);
    return nullptr;
  }
  if (known > 0) {
    ++counters().recompiles;
    if (log_enabled(LogArtifact::recompiles)) log_recompile(cache, key, place.view, place.bytecode);
  }
  try {
    return capture(place, cache, key);
  } catch (const Error& error) {
    return report_bug(place, error);
  }
}

}  // namespace md
