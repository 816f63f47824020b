// Captures as dicts: the regions of one call, and those of a code object.
#include <pybind11/stl.h>

#include <algorithm>

#include "bindings/bindings.h"
#include "bindings/graph.h"
#include "bindings/graph_break.h"
#include "bindings/plan_facts.h"
#include "eval_frame/capture_record.h"
#include "eval_frame/code_cache.h"
#include "executor/timed_plan.h"

namespace py = pybind11;

namespace md {
namespace {

py::object break_of(const CapturedRegion& region) {
  if (!region.graph_break || break_row(region.graph_break->reason).is_silent()) return py::none();
  return break_facts(*region.graph_break);
}

// What the instruction at which the region ends raised: (file, line, class, whether it is a raise statement); or None.
py::object raised_by(const RegionEntry& entry) {
  const CapturedRegion& region = entry.region;
  if (region.exit != ExitKind::Raise || region.snapshot.frames.empty()) return py::none();
  const FrameState& state = region.snapshot.frames.back();
  Opcode op = (*state.bytecode)[state.index].op;
  return py::make_tuple(py::handle(state.bytecode->code()->co_filename), state.bytecode->line_at(state.index),
                        entry.raised, op == Opcode::RAISE_VARARGS || op == Opcode::RERAISE);
}

// The first and the last line of a stretch that was traced in vain; or None.
py::object lines_left(const CapturedRegion& region, const Bytecode& bytecode) {
  if (!region.workless) return py::none();
  int first = 0, last = 0;
  for (int index = 0; index < bytecode.size(); ++index) {
    int line = region.workless->contains(index) ? bytecode.line_at(index) : 0;
    if (line == 0) continue;
    first = first == 0 ? line : std::min(first, line);
    last = std::max(last, line);
  }
  return py::make_tuple(first, last);
}

// file, line, name: of the function; start: the line of the first instruction; ops: position of each operation of the
// graph in the user's code, outermost frame first.
py::dict facts_of(const RegionEntry& entry, const Bytecode& bytecode) {
  const CapturedRegion& region = entry.region;
  PyCodeObject* code = bytecode.code();
  py::list ops;
  for (const auto& node : region.graph->nodes()) {
    if (node->kind != NodeKind::Op) continue;
    std::vector<FrameTuple> frames;
    if (node->location != nullptr) frames = frames_of(*node->location);
    ops.append(py::make_tuple(node->op->name, frames));
  }
  py::dict facts;
  facts["name"] = py::handle(code->co_name);
  facts["file"] = py::handle(code->co_filename);
  facts["line"] = code->co_firstlineno;
  facts["start"] = bytecode.line_at(entry.instruction);
  facts["exit"] = exit_name(region.exit);
  facts["at_start"] = entry.instruction == 0;
  facts["raises"] = raised_by(entry);
  facts["skips_frame"] = region.skips_frame;
  facts["break"] = break_of(region);
  facts["lines_left"] = lines_left(region, bytecode);
  facts["guards"] = entry.guards.print(bytecode);
  facts["ops"] = ops;
  facts["graph"] = py::reinterpret_steal<py::object>(graph_to_python({region.graph, region.family}).release());
  facts["walk_ns"] = entry.trace_ns;
  facts["plan_ns"] = entry.plan_ns;
  facts["plan"] = entry.plan == nullptr ? py::object(py::none()) : plan_facts(*entry.plan);
  facts["recompile_reasons"] = entry.recompile_reasons;
  return facts;
}

py::list record_captures(const py::function& function) {
  CaptureRecording recording;
  MeasuringScope measuring;
  function();
  py::list captures;
  for (const CaptureRecord& record : recording.records()) captures.append(facts_of(*record.entry, *record.bytecode));
  return captures;
}

// (the regions, oldest first; whether the recompile limit was reached)
py::tuple code_captures(const py::object& object) {
  if (!PyCode_Check(object.ptr())) throw py::type_error("a code object is required");
  auto* code = reinterpret_cast<PyCodeObject*>(object.ptr());
  CodeCache& cache = CodeCache::of(code);
  std::vector<CacheEntryPtr> entries = cache.all_entries();
  std::ranges::sort(entries, {}, [](const CacheEntryPtr& entry) { return entry->id; });
  py::list captures;
  for (const CacheEntryPtr& entry : entries)
    captures.append(facts_of(static_cast<const RegionEntry&>(*entry), *Bytecode::of(code)));
  return py::make_tuple(captures, cache.limit_was_met());
}

}  // namespace

void bind_captures(py::module_& module) {
  module.def("record_captures", &record_captures, py::arg("function"), py::pos_only());
  module.def("code_captures", &code_captures, py::arg("code"), py::pos_only());
}

}  // namespace md
