#include "base/log.h"

#include <atomic>
#include <cstdio>

namespace md {
namespace {

std::atomic<LogSink> current_sink = nullptr;
std::array<std::atomic<bool>, kLogArtifactCount> enabled_artifacts;
std::atomic<bool> info_enabled = false;

}  // namespace

void set_log_sink(LogSink sink) { current_sink = sink; }

void set_log_enabled(LogArtifact artifact, bool enabled) { enabled_artifacts[static_cast<size_t>(artifact)] = enabled; }

bool log_enabled(LogArtifact artifact) {
  return enabled_artifacts[static_cast<size_t>(artifact)].load(std::memory_order_relaxed);
}

void log_event(LogArtifact artifact, const std::string& text) {
  if (!log_enabled(artifact)) return;
  if (LogSink sink = current_sink) sink(static_cast<int>(artifact), text);
}

void log_warning(const std::string& text) {
  if (LogSink sink = current_sink) {
    sink(kLogWarning, text);
  } else {
    std::fprintf(stderr, "minidynamo: %s\n", text.c_str());
  }
}

void set_log_info_enabled(bool enabled) { info_enabled = enabled; }

bool log_info_enabled() { return info_enabled.load(std::memory_order_relaxed); }

void log_info(const std::string& text) {
  if (!log_info_enabled()) return;
  if (LogSink sink = current_sink) sink(kLogInfo, text);
}

}  // namespace md
