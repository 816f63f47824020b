#include "eval_frame/capture_scope.h"

#include <string>
#include <string_view>
#include <vector>

#include "cpython/code_extra.h"

namespace md {

namespace {

std::vector<std::string>& skipped_folders() {
  static auto* folders = new std::vector<std::string>();
  return *folders;
}

// Packages live inside the standard library's folder but are not part of it.
bool is_installed_package(std::string_view path) {
  return path.find("/site-packages/") != std::string_view::npos ||
         path.find("/dist-packages/") != std::string_view::npos;
}

}  // namespace

void add_skipped_folder(BorrowedRef path) {
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(path, &size);
  if (text == nullptr) throw PythonError();
  skipped_folders().emplace_back(text, size);
}

namespace {

bool decide_may_be_root(PyCodeObject* code) {
  constexpr int kFunction = CO_OPTIMIZED | CO_NEWLOCALS;
  constexpr int kSuspended = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;
  if ((code->co_flags & kFunction) != kFunction || (code->co_flags & kSuspended) != 0) return false;
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(code->co_filename, &size);
  if (text == nullptr) {
    PyErr_Clear();
    return false;
  }
  std::string_view path(text, size);
  if (path.starts_with("<frozen ")) return false;
  for (const std::string& folder : skipped_folders()) {
    if (!path.starts_with(folder)) continue;
    if (folder.find("minidynamo") != std::string::npos || !is_installed_package(path.substr(folder.size() - 1)))
      return false;
  }
  return true;
}

}  // namespace

// Decided once for a code object: every Python call that is reached while a compiled frame runs asks this.
bool may_be_root(PyCodeObject* code) {
  static const CodeExtra decisions(nullptr);
  static char yes, no;
  void* decision = decisions.get(code);
  if (decision == nullptr) {
    decision = decide_may_be_root(code) ? &yes : &no;
    decisions.set(code, decision);
  }
  return decision == &yes;
}

}  // namespace md
