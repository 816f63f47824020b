#include "bindings/graph_break.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <fstream>

#include "base/error.h"
#include "base/host_hooks.h"
#include "bindings/bindings.h"
#include "cpython/imports.h"
#include "symbolic/state/loop_decision.h"
#include "symbolic/trace/endings.h"

namespace py = pybind11;

namespace md {
namespace {

std::string line_of_file(const std::string& file, int line) {
  std::ifstream stream(file);
  std::string text;
  for (int i = 0; i < line; ++i)
    if (!std::getline(stream, text)) return "";
  text.resize(text.find_last_not_of(" \t\r\f\v") + 1);
  return text;
}

// A source line that cannot be read is omitted; reading it must not disturb an exception being handled.
std::string read_source_line(const std::string& file, int line) {
  py::error_scope keep_current_exception;
  try {
    // linecache is not loaded, or half-initialised, or would import modules to read files: decodes
    // the file with a guess instead.
    BorrowedRef linecache = loaded_names("linecache", "lazycache");
    PyObject* cache = linecache ? PyDict_GetItemString(linecache, "cache") : nullptr;
    if (cache == nullptr) return line_of_file(file, line);
    bool is_read = PyDict_Check(cache) && PyDict_GetItemString(cache, file.c_str()) != nullptr;
    if (!is_read && !loaded_names("tokenize", "main")) return line_of_file(file, line);
    py::object text = py::handle(PyDict_GetItemString(linecache, "getline"))(file, line);
    return text.attr("rstrip")().cast<std::string>();
  } catch (const std::exception&) {
    return "";
  }
}

py::dict row_facts(const BreakRow& row) {
  py::dict facts;
  facts["name"] = row.name;
  facts["id"] = row.id;
  facts["anchor"] = row.anchor;
  facts["title"] = row.title;
  facts["explanation"] = row.explanation;
  facts["hints"] = py::str(row.hints).attr("splitlines")();
  facts["silent"] = row.is_silent();
  return facts;
}

// The graph breaks logged during a call of function, as dicts.
py::list record_breaks(const py::function& function) {
  BreakRecording recording;
  function();
  py::list breaks;
  for (const GraphBreak& graph_break : recording.records()) breaks.append(break_facts(graph_break));
  return breaks;
}

// (file, line, function, decision, why) of each loop met while a call of function captures.
py::list record_loops(const py::function& function) {
  LoopRecording recording;
  function();
  py::list loops;
  for (const LoopDecision& loop : recording.records())
    loops.append(
        py::make_tuple(loop.place.file, loop.place.line, loop.place.function, loop_fate_name(loop.fate), loop.why));
  return loops;
}

std::vector<SourceLine> source_lines(const std::vector<FrameTuple>& frames) {
  std::vector<SourceLine> lines;
  for (const auto& [file, line, function] : frames) lines.push_back({file, line, function});
  return lines;
}

Opcode opcode_by_name(const std::string& name) {
  for (int i = 0; i <= static_cast<int>(Opcode::UNKNOWN); ++i) {
    if (name == opcode_name(static_cast<Opcode>(i))) return static_cast<Opcode>(i);
  }
  raise(ErrorKind::Value, "there is no instruction named '", name, "'");
}

GraphBreak make_break(const std::string& name, const std::string& context, const std::vector<FrameTuple>& user_stack,
                      const std::string& explanation, const std::string& opcode) {
  std::span<const BreakRow> rows = break_rows();
  for (size_t i = 0; i < rows.size(); ++i) {
    if (name != rows[i].name) continue;
    return {static_cast<BreakReason>(i), context, explanation, source_lines(user_stack),
            opcode.empty() ? std::string() : opcode_gloss(opcode_by_name(opcode))};
  }
  raise(ErrorKind::Value, "there is no graph-break reason named '", name, "'");
}

constexpr std::pair<const char*, bool EndingFacts::*> kEndingFacts[] = {
    {"breaks", &EndingFacts::breaks},
    {"skips", &EndingFacts::skips},
    {"is_inside", &EndingFacts::is_inside},
    {"has_appended", &EndingFacts::has_appended},
    {"raised_before", &EndingFacts::raised_before},
    {"in_ours", &EndingFacts::in_ours},
    {"in_stricter", &EndingFacts::in_stricter},
    {"inlined", &EndingFacts::inlined},
    {"nests", &EndingFacts::nests},
    {"fullgraph", &EndingFacts::fullgraph},
    {"breaks_are_errors", &EndingFacts::breaks_are_errors}};

// The name of the row for which the given facts are true.
std::string decide_ending_by_names(const py::args& names) {
  EndingFacts facts;
  for (const py::handle& name : names) {
    auto row = std::ranges::find(kEndingFacts, name.cast<std::string>(), [](const auto& each) { return each.first; });
    if (row == std::end(kEndingFacts)) raise(ErrorKind::Value, "an ending does not depend on that");
    facts.*row->second = true;
  }
  return ending_row(decide_ending(facts)).name;
}

}  // namespace

std::vector<FrameTuple> frames_of(std::span<const SourceLine> lines) {
  std::vector<FrameTuple> frames;
  for (const SourceLine& line : lines) frames.emplace_back(line.file, line.line, line.function);
  return frames;
}

py::dict break_facts(const GraphBreak& graph_break) {
  py::dict facts = row_facts(break_row(graph_break.reason));
  facts["text"] = break_body(graph_break);
  facts["user_stack"] = frames_of(graph_break.user_stack);
  return facts;
}

void bind_graph_break(py::module_& module) {
  host_hooks.read_source_line = &read_source_line;
  module.def("graph_break_rows", [] {
    py::list rows;
    for (const BreakRow& row : break_rows()) rows.append(row_facts(row));
    return rows;
  });
  module.def("graph_break_counts", [] {
    py::dict counts;
    for (size_t i = 0; i < break_rows().size(); ++i)
      if (break_counts()[i] > 0) counts[break_rows()[i].title] = break_counts()[i];
    return counts;
  });
  module.def("_ending_rows", [] {
    std::vector<std::string> names;
    for (const EndingRow& row : ending_rows()) names.emplace_back(row.name);
    return names;
  });
  module.def("_decide_ending", &decide_ending_by_names);
  module.def("record_breaks", &record_breaks, py::arg("function"), py::pos_only());
  module.def("record_loops", &record_loops, py::arg("function"), py::pos_only());
  module.def(
      "log_graph_break",
      [](const std::string& name, const std::string& context, const std::vector<FrameTuple>& user_stack,
         const std::string& explanation, const std::string& opcode, const std::vector<FrameTuple>& callers) {
        log_graph_break(make_break(name, context, user_stack, explanation, opcode),
                        [&] { return source_lines(callers); });
      },
      py::arg("name"), py::arg("context"), py::arg("user_stack"), py::arg("explanation") = "", py::arg("opcode") = "",
      py::arg("callers") = std::vector<FrameTuple>());
  module.def(
      "raise_unsupported",
      [](const std::string& name, const std::string& context, const std::vector<FrameTuple>& user_stack,
         const std::string& explanation) { raise_unsupported(make_break(name, context, user_stack, explanation, "")); },
      py::arg("name"), py::arg("context"), py::arg("user_stack"), py::arg("explanation") = "");
}

}  // namespace md
