#include "base/events.h"

#include <atomic>
#include <chrono>

#include "base/host_hooks.h"

namespace md {
namespace {

std::atomic<EventListener> trace_listener = nullptr;

double seconds_now() {
  auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<double>(std::chrono::duration_cast<std::chrono::microseconds>(since).count()) / 1e6;
}

}  // namespace

void set_trace_listener(EventListener listener) { trace_listener = listener; }

bool events_wanted() {
  return trace_listener.load(std::memory_order_relaxed) != nullptr ||
         host_hooks.event_listener.load(std::memory_order_relaxed) != nullptr;
}

std::string event_line(EventKind kind, const CaptureId& capture, const JsonObject& payload) {
  JsonObject line;
  line.add_seconds("time", seconds_now()).add("kind", kEventRows[static_cast<int>(kind)].name);
  if (capture.frame >= 0) line.add("frame", capture.frame).add("compile_id", capture.text());
  return line.add_json("payload", payload.text()).text();
}

void emit_event(EventKind kind, const CaptureId& capture, const JsonObject& payload) {
  if (!events_wanted()) return;
  std::string text = event_line(kind, capture, payload);
  if (EventListener listener = trace_listener) listener(kind, text);
  if (EventListener listener = host_hooks.event_listener) listener(kind, text);
}

}  // namespace md
