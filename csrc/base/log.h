// Log artifacts. C++ emits (artifact, text) records; python/minidynamo/_logging.py formats and routes them.
#pragma once
#include <array>
#include <cstdint>
#include <string>

namespace md {

enum class LogArtifact : uint8_t {
#define MD_LOG(name, off_in_all, doc) name,
#include "base/log_artifacts.def"
#undef MD_LOG
};

struct LogRow {
  const char* name;
  bool off_in_all;
  const char* doc;
};

inline constexpr LogRow kLogRows[] = {
#define MD_LOG(name, off_in_all, doc) {#name, off_in_all, doc},
#include "base/log_artifacts.def"
#undef MD_LOG
};
inline constexpr int kLogArtifactCount = sizeof(kLogRows) / sizeof(kLogRows[0]);

// Pseudo-artifacts passed to HostHooks::log_sink for records of no artifact.
inline constexpr int kLogWarning = -1, kLogInfo = -2;
void set_log_enabled(LogArtifact artifact, bool enabled);
bool log_enabled(LogArtifact artifact);

// Does nothing unless enabled; check log_enabled() first when building the text is costly.
void log_event(LogArtifact artifact, const std::string& text);
void log_warning(const std::string& text);
// Nothing if this process was given the same text before.
void log_warning_once(const std::string& text);

// Reports the steps of each capture, for level INFO of `dynamo`.
void set_log_info_enabled(bool enabled);
bool log_info_enabled();
void log_info(const std::string& text);

}  // namespace md
