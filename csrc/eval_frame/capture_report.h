// Reports a capture while it is made, to logs and events.
#pragma once
#include <string>

#include "base/events.h"
#include "eval_frame/region_entry.h"
#include "eval_frame/region_lookup.h"

namespace md {

std::string place_name(const RegionPlace& place);  // f (file.py:3)

// To events; counted.
void emit_graph_break(CaptureId id, const GraphBreak& found, bool raised);

// Reports the start, and on destruction the end: the outcome, or that it failed.
class CaptureReport {
 public:
  CaptureReport(const RegionPlace& place, CaptureId id, int known);
  ~CaptureReport();
  CaptureReport(const CaptureReport&) = delete;

  void traced();  // tracing is done, lowering is next
  void graph_break(const GraphBreak& found, bool raised) { emit_graph_break(id_, found, raised); }
  // The entry is in the cache, its guards sealed.
  void captured(const RegionEntry& entry);

 private:
  void tell_step(const char* what) const;
  void log_graph(const CapturedRegion& region) const;
  void log_guards(const RegionEntry& entry) const;
  void log_exit(const CapturedRegion& region) const;
  void emit_captured(const RegionEntry& entry) const;

  const RegionPlace& place_;
  CaptureId id_;
  bool is_done_ = false;
};

// JSON of the place of a record: function, file, line, start_line.
JsonObject place_facts(const RegionPlace& place);

}  // namespace md
