// MINIDYNAMO_TRACE=dir: each event is one line of a file in that directory, one file per process.
#pragma once
#include <string>

namespace md {

// Starts tracing into `directory`, or stops if it is "". The directory is created if missing, the file at the
// first event. A failure is reported in one warning and ends tracing. Requires the GIL. `version` is
// minidynamo's, for the first line.
void set_trace_directory(const std::string& directory, const std::string& version);
// The file of this process; "" if none has been opened.
std::string trace_path();
// Reads MINIDYNAMO_TRACE; called at import.
void load_trace_from_environment(const std::string& version);

}  // namespace md
