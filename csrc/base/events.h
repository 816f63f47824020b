// Events during capture, sent as JSON objects to a listener: the MINIDYNAMO_TRACE file and Python callbacks. Without a
// listener an event costs one load. Requires the GIL.
#pragma once
#include <cstdint>
#include <string>

#include "base/json.h"

namespace md {

enum class EventKind : uint8_t {
#define MD_EVENT(name, doc, fields) name,
#include "base/events.def"
#undef MD_EVENT
};

struct EventRow {
  const char* name;
  const char* doc;
  const char* fields;
};
inline constexpr EventRow kEventRows[] = {
#define MD_EVENT(name, doc, fields) {#name, doc, fields},
#include "base/events.def"
#undef MD_EVENT
};
inline constexpr int kEventCount = sizeof(kEventRows) / sizeof(kEventRows[0]);

// One line without its newline: {"time": seconds since 1970, "kind": ..., "frame": ...,
// "compile_id": ..., "payload": {...}}.
using EventListener = void (*)(EventKind kind, const std::string& line);

// Listener of the trace file; the other listener is HostHooks::event_listener.
void set_trace_listener(EventListener listener);

bool events_wanted();

// Identifies a capture: the number of its code object and its index within that.
struct CaptureId {
  int frame = -1;
  int entry = -1;
  std::string text() const { return std::to_string(frame) + "/" + std::to_string(entry); }
};
void emit_event(EventKind kind, const CaptureId& capture, const JsonObject& payload);
std::string event_line(EventKind kind, const CaptureId& capture, const JsonObject& payload);

}  // namespace md
