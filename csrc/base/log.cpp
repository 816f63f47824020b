#include "base/log.h"

#include <atomic>
#include <cstdio>
#include <mutex>
#include <unordered_set>

#include "base/host_hooks.h"

namespace md {
namespace {

std::array<std::atomic<bool>, kLogArtifactCount> enabled_artifacts;
std::atomic<bool> info_enabled = false;

}  // namespace

void set_log_enabled(LogArtifact artifact, bool enabled) { enabled_artifacts[static_cast<size_t>(artifact)] = enabled; }

bool log_enabled(LogArtifact artifact) {
  return enabled_artifacts[static_cast<size_t>(artifact)].load(std::memory_order_relaxed);
}

void log_event(LogArtifact artifact, const std::string& text) {
  if (!log_enabled(artifact)) return;
  if (auto* sink = host_hooks.log_sink.load()) sink(static_cast<int>(artifact), text);
}

void log_warning(const std::string& text) {
  if (auto* sink = host_hooks.log_sink.load()) {
    sink(kLogWarning, text);
  } else {
    std::fprintf(stderr, "minidynamo: %s\n", text.c_str());
  }
}

void log_warning_once(const std::string& text) {
  static std::mutex mutex;
  static auto& told = *new std::unordered_set<std::string>();  // never destroyed: a process may warn as it ends
  {
    std::lock_guard lock(mutex);
    if (!told.insert(text).second) return;
  }
  log_warning(text);
}

void set_log_info_enabled(bool enabled) { info_enabled = enabled; }

bool log_info_enabled() { return info_enabled.load(std::memory_order_relaxed); }

void log_info(const std::string& text) {
  if (!log_info_enabled()) return;
  if (auto* sink = host_hooks.log_sink.load()) sink(kLogInfo, text);
}

}  // namespace md
