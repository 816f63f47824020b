#include "base/trace_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "base/events.h"
#include "base/log.h"

namespace md {
namespace {

struct TraceFile {
  std::string directory;
  std::string version;
  std::string path;
  int descriptor = -1;
  pid_t owner = 0;
};

TraceFile& trace_file() {
  static TraceFile file;
  return file;
}

void close_file(TraceFile& file) {
  if (file.descriptor >= 0) ::close(file.descriptor);
  file.descriptor = -1;
  file.path.clear();
}

void give_up(TraceFile& file, const std::string& what, int error) {
  std::string text = str_cat("MINIDYNAMO_TRACE: ", what, ": ", std::strerror(error), "; nothing is traced any more");
  close_file(file);
  file.directory.clear();
  set_trace_listener(nullptr);
  log_warning(text);
}

// Opens a file with a name not used by an earlier process with the same pid.
bool open_file(TraceFile& file) {
  std::error_code failed;
  std::filesystem::create_directories(file.directory, failed);
  file.owner = ::getpid();
  for (int attempt = 0;; ++attempt) {
    std::string number = attempt == 0 ? "" : str_cat(".", attempt);
    std::string path = str_cat(file.directory, "/minidynamo_", file.owner, number, ".jsonl");
    file.descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    if (file.descriptor >= 0) {
      file.path = path;
      return true;
    }
    if (errno == EEXIST || errno == EINTR) continue;
    give_up(file, str_cat("cannot write to ", file.directory), errno);
    return false;
  }
}

bool write_all(TraceFile& file, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    ssize_t written = ::write(file.descriptor, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      give_up(file, str_cat("cannot write to ", file.path), errno);
      return false;
    }
    done += static_cast<size_t>(written);
  }
  return true;
}

std::string first_line(const TraceFile& file) {
  JsonObject start;
  start.add("version", file.version)
      .add("pid", static_cast<int64_t>(file.owner))
      .add("parent_pid", static_cast<int64_t>(::getppid()));
  return event_line(EventKind::process_start, {}, start) + "\n";
}

void write_event(EventKind, const std::string& line) {
  TraceFile& file = trace_file();
  if (file.directory.empty()) return;
  // After fork() the child inherits the parent's file; it opens its own.
  if (file.descriptor >= 0 && file.owner != ::getpid()) close_file(file);
  if (file.descriptor < 0 && !(open_file(file) && write_all(file, first_line(file)))) return;
  write_all(file, line + "\n");
}

}  // namespace

void set_trace_directory(const std::string& directory, const std::string& version) {
  TraceFile& file = trace_file();
  close_file(file);
  file.version = version;
  file.directory = directory;
  set_trace_listener(directory.empty() ? nullptr : &write_event);
}

std::string trace_path() { return trace_file().path; }

void load_trace_from_environment(const std::string& version) {
  const char* directory = std::getenv("MINIDYNAMO_TRACE");
  if (directory != nullptr && *directory != '\0') set_trace_directory(directory, version);
}

}  // namespace md
