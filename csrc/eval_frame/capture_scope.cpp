#include "eval_frame/capture_scope.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bytecode/bytecode.h"
#include "cpython/code_extra.h"
#include "cpython/errors.h"
#include "cpython/frame.h"
#include "symbolic/calls/marked_calls.h"

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
  if ((code->co_flags & kFunction) != kFunction || pv_makes_generator(code) || is_left_code(code)) return false;
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

bool leaves_callees(PyCodeObject* code) {
  if (disabled_by(code) == Disabled::All || is_left_code(code)) return true;
  const char* text = PyUnicode_AsUTF8(code->co_filename);
  if (text == nullptr) PyErr_Clear();
  return text != nullptr && std::string_view(text).starts_with("<frozen importlib");
}

// True when out of memory.
bool makes_calls(PyCodeObject* code) {
  auto is_call = [](const Instruction& i) {
    return i.op == Opcode::CALL || i.op == Opcode::CALL_KW || i.op == Opcode::CALL_FUNCTION_EX;
  };
  try {
    return std::ranges::any_of(Bytecode::of(code)->instructions(), is_call);
  } catch (...) {
    if (!was_want_of_memory()) throw;
    return true;
  }
}

const CodeExtra& attached_facts() {
  static const CodeExtra extra([](void* facts) { delete static_cast<CodeFacts*>(facts); });
  return extra;
}

// Increased to forget what was learned before.
uint32_t generation = 0, left_generation = 0;

}  // namespace

void reserve_place_of_facts() { attached_facts(); }

CodeFacts* find_facts(PyCodeObject* code) { return static_cast<CodeFacts*>(attached_facts().get(code)); }

CodeFacts& facts_of(PyCodeObject* code) {
  if (CodeFacts* known = find_facts(code)) return *known;
  auto facts = std::make_unique<CodeFacts>(CodeFacts{decide_may_be_root(code),
                                                     leaves_callees(code),
                                                     disabled_by(code) == Disabled::Frame,
                                                     makes_calls(code),
                                                     generation,
                                                     0,
                                                     {}});
  attached_facts().set(code, facts.get());
  return *facts.release();
}

int64_t fruitless(CodeFacts& facts) {
  if (std::exchange(facts.generation, generation) != generation) facts.fruitless = 0;
  return facts.fruitless;
}

void forget_learned() {
  ++generation;
  forget_left();
}

void forget_left() { ++left_generation; }

void note_left(CodeFacts& facts, PvFrame* frame, const Policy* policy) {
  int count = parameter_count(pv_code(frame));
  if (count > LeftBefore::kMostArguments) return;
  LeftBefore& left = facts.left;
  for (int slot = 0; slot < count; ++slot) {
    PyObject* argument = pv_get(frame, slot);
    if (argument == nullptr) return;
    left.types[slot] = Py_TYPE(argument);
  }
  left.policy = policy;
  left.generation = left_generation;
  left.count = count;
}

bool is_left_again(const CodeFacts& facts, PvFrame* frame, const Policy* policy) {
  const LeftBefore& left = facts.left;
  if (left.policy != policy || left.generation != left_generation) return false;
  for (int slot = 0; slot < left.count; ++slot) {
    PyObject* argument = pv_get(frame, slot);
    if (argument == nullptr || Py_TYPE(argument) != left.types[slot]) return false;
  }
  return true;
}

}  // namespace md
