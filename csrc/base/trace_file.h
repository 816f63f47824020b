// MINIDYNAMO_TRACE=dir: each event is a line of a file in that directory, one file for each process.
#pragma once
#include <string>

namespace md {

// From now on; "": no longer. The directory is made if need be. A file is made at the first event. What fails is told in one
// warning, and then nothing is written any more. GIL held.
// `version` is ours, for the first line.
void set_trace_directory(const std::string& directory, const std::string& version);
// The file of this process; "": none yet.
std::string trace_path();
// MINIDYNAMO_TRACE; called at import.
void load_trace_from_environment(const std::string& version);

}  // namespace md
