#include "symbolic/calls/marked_calls.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "cpython/text.h"
#include "guards/wrapper_callables.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/calls/calls.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/tensors/traced_calls.h"

namespace md {

namespace {

struct Entry {
  MarkedCall marked;
  Ref keeper;  // a weak reference whose callback removes the entry; the callable itself if it supports none
};

std::unordered_map<PyObject*, Entry>& entries() {
  static auto* table = new std::unordered_map<PyObject*, Entry>();  // never freed
  return *table;
}

PyObject* forget(PyObject*, PyObject* weak_reference) {
  for (auto entry = entries().begin(); entry != entries().end(); ++entry) {
    if (entry->second.keeper.get() != weak_reference) continue;
    Entry gone = std::move(entry->second);
    entries().erase(entry);
    break;
  }
  Py_RETURN_NONE;
}

PyMethodDef forget_method = {"forget_marked_call", &forget, METH_O, nullptr};

Ref keeper_of(BorrowedRef callable) {
  static PyObject* const callback = check(PyCFunction_New(&forget_method, nullptr)).release();
  if (PyObject* weak = PyWeakref_NewRef(callable, callback)) return Ref::steal(weak);
  if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw PythonError();
  PyErr_Clear();
  return Ref::share(callable);
}

std::string callable_text(BorrowedRef object) {
  Ref name = Ref::steal(PyObject_GetAttrString(object, "__qualname__"));
  if (!name || !PyUnicode_Check(name.get())) {
    PyErr_Clear();
    name = check(PyObject_Repr(object));
  }
  return text_of(name);
}

ValuePtr inline_replacement(Tracer& tracer, const ValuePtr& callable, const MarkedCall& marked, CallArgs& args,
                            ContinuationKind continuation, const ValuePtr& continuation_value) {
  const Source* source = as<ObjectValue>(callable)->source;
  if (source == nullptr) {
    // A builtin reached without a source is the same at every run, and so is its replacement.
    graph_break(BreakReason::builtin_call, "the replacement of " + callable_text(as<ObjectValue>(callable)->object));
  }
  ValuePtr function =
      value_at(tracer, tracer.sources().get(SourceKind::WrappedFunction, source, nullptr), Ref::share(marked.payload));
  call(tracer, function, std::move(args), continuation, continuation_value);
  return nullptr;
}

constexpr std::pair<const char*, CallMark> kNames[] = {
    {"disallowed", CallMark::Disallowed}, {"forbidden", CallMark::Forbidden}, {"constant", CallMark::ConstantResult},
    {"replaced", CallMark::Replaced},     {"skipped", CallMark::Skipped},     {"traced", CallMark::Traced}};

}  // namespace

CallMark call_mark_named(std::string_view name) {
  for (const auto& [known, mark] : kNames)
    if (name == known) return mark;
  raise(ErrorKind::Key, "no mark is named ", name);
}

void mark_call(BorrowedRef callable, CallMark mark, BorrowedRef payload) {
  Entry entry{{mark, payload ? Ref::share(payload) : Ref()}, keeper_of(callable)};
  if (mark == CallMark::Replaced) add_replacement(callable, payload);
  entries().insert_or_assign(callable.get(), std::move(entry));
}

void unmark_call(BorrowedRef callable) {
  auto found = entries().find(callable.get());
  if (found == entries().end()) return;
  Entry gone = std::move(found->second);
  entries().erase(found);
}

namespace {

std::unordered_map<PyObject*, Disabled>& disabled_codes() {
  static auto* codes = new std::unordered_map<PyObject*, Disabled>();  // never freed
  return *codes;
}

using Paths = std::vector<std::string>;
// Never freed.
Paths& left_paths() {
  static auto* paths = new Paths();
  return *paths;
}
Paths& paths_without_marks() {
  static auto* paths = new Paths();
  return *paths;
}

Paths& paths_with_numbers() {
  static auto* paths = new Paths();
  return *paths;
}

bool lies_in(PyCodeObject* code, const Paths& paths) {
  Py_ssize_t size = 0;
  const char* text = paths.empty() ? nullptr : PyUnicode_AsUTF8AndSize(code->co_filename, &size);
  if (text == nullptr) {
    PyErr_Clear();
    return false;
  }
  std::string_view file(text, static_cast<size_t>(size));
  return std::ranges::any_of(paths, [&](const std::string& path) { return file.starts_with(path); });
}

}  // namespace

void disable_code(BorrowedRef code, Disabled what) {
  if (disabled_codes().insert_or_assign(code, what).second) Py_INCREF(code.get());
}

Disabled disabled_by(PyCodeObject* code) {
  auto found = disabled_codes().find(reinterpret_cast<PyObject*>(code));
  return found == disabled_codes().end() ? Disabled::Not : found->second;
}

void leave_files(std::string_view path) { left_paths().emplace_back(path); }

bool is_left_code(PyCodeObject* code) { return lies_in(code, left_paths()); }

void ignore_marks_in(std::string_view path) { paths_without_marks().emplace_back(path); }
bool ignores_marks(PyCodeObject* code) { return lies_in(code, paths_without_marks()); }
void capture_numbers_in(std::string_view path) { paths_with_numbers().emplace_back(path); }
bool captures_numbers_in(PyCodeObject* code) { return lies_in(code, paths_with_numbers()); }

const MarkedCall* find_marked_call(BorrowedRef callable) {
  if (entries().empty()) return nullptr;
  auto found = entries().find(callable.get());
  return found == entries().end() ? nullptr : &found->second.marked;
}

ValuePtr call_marked(Tracer& tracer, const ValuePtr& callable, const MarkedCall& marked, CallArgs& args,
                     ContinuationKind continuation, const ValuePtr& continuation_value) {
  Ref object = Ref::share(tracer.values().identity_of(callable));
  switch (marked.mark) {
    case CallMark::Disallowed:
      graph_break(BreakReason::disallowed_call, callable_text(object.get()));
    case CallMark::Forbidden:
      PyErr_Format(PyExc_AssertionError, "Attempt to trace forbidden callable %R", object.get());
      throw PythonError();
    case CallMark::ConstantResult:
      return constant_result(tracer, object.get(), args);
    case CallMark::Replaced:
      return inline_replacement(tracer, callable, marked, args, continuation, continuation_value);
    case CallMark::Skipped:
      graph_break(BreakReason::skipped_call, text_of(marked.payload));
    case CallMark::Traced:
      if (const TensorFamily* family = other_family(args)) return call_opaque(tracer, *family, object.get(), args);
      return call_traced(tracer, marked.payload ? BorrowedRef(marked.payload.get()) : BorrowedRef(object.get()), args);
  }
  return nullptr;
}

}  // namespace md
