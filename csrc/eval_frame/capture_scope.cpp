#include "eval_frame/capture_scope.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "cpython/code_extra.h"
#include "cpython/frame.h"

namespace md {

namespace {

std::vector<std::string>& skipped_folders() {
  static auto* folders = new std::vector<std::string>();
  return *folders;
}

// The part of a path that starts with the name of an installed package, empty if there is none. Packages are inside the
// standard library's folder but are not part of it.
std::string_view inside_packages(std::string_view path) {
  for (std::string_view folder : {"/site-packages/", "/dist-packages/"})
    if (size_t at = path.rfind(folder); at != std::string_view::npos) return path.substr(at + folder.size());
  return {};
}

constexpr std::string_view kSkippedPackages[] = {
#define MD_SKIPPED_PACKAGE(name) name,
#include "eval_frame/skipped_packages.def"
#undef MD_SKIPPED_PACKAGE
};

bool is_in_skipped_package(std::string_view path) {
  std::string_view file = inside_packages(path);
  std::string_view package = file.substr(0, file.find('/'));
  return std::find(std::begin(kSkippedPackages), std::end(kSkippedPackages), package) != std::end(kSkippedPackages);
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
  if ((code->co_flags & kFunction) != kFunction || pv_makes_generator(code)) return false;
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(code->co_filename, &size);
  if (text == nullptr) {
    PyErr_Clear();
    return false;
  }
  std::string_view path(text, size);
  if (path.starts_with("<frozen ") || is_in_skipped_package(path)) return false;
  for (const std::string& folder : skipped_folders()) {
    if (!path.starts_with(folder)) continue;
    if (folder.find("minidynamo") != std::string::npos || inside_packages(path.substr(folder.size() - 1)).empty())
      return false;
  }
  return true;
}

const CodeExtra& attached_decisions() {
  static const CodeExtra extra(nullptr);
  return extra;
}

}  // namespace

void reserve_place_of_decisions() { attached_decisions(); }

// Cached per code object: it is needed for every Python call made by a compiled frame.
bool may_be_root(PyCodeObject* code) {
  static char yes, no;
  void* decision = attached_decisions().get(code);
  if (decision == nullptr) {
    decision = decide_may_be_root(code) ? &yes : &no;
    attached_decisions().set(code, decision);
  }
  return decision == &yes;
}

}  // namespace md
