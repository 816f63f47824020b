#include "base/error.h"

namespace md {

void raise_internal(const char* file, int line, const std::string& message) {
  std::string_view path(file);
  size_t root = path.rfind("csrc/");
  if (root != std::string_view::npos) path.remove_prefix(root + 5);
  throw Error(ErrorKind::Internal, str_cat("bug in minidynamo at ", path, ":", line, ": ", message));
}

}  // namespace md
