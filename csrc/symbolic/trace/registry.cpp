#include "symbolic/trace/registry.h"

#include <unordered_map>

namespace md {

namespace {

// A function-local static: static objects may use the table before it would be initialised.
OpcodeHandler* handler_table() {
  static OpcodeHandler table[256] = {};
  return table;
}

std::unordered_map<PyObject*, CallHandler>& call_registry() {
  static auto* registry = new std::unordered_map<PyObject*, CallHandler>();  // never freed
  return *registry;
}

std::vector<void (*)()>& registrations() {
  static auto* functions = new std::vector<void (*)()>();
  return *functions;
}

std::vector<bool (*)()>& late_registrations() {
  static auto* functions = new std::vector<bool (*)()>();
  return *functions;
}

}  // namespace

OpcodeHandler opcode_handler(Opcode op) { return handler_table()[static_cast<int>(op)]; }

OpcodeRegistration::OpcodeRegistration(std::initializer_list<std::pair<Opcode, OpcodeHandler>> rows) {
  for (auto [op, handler] : rows) {
    MD_ASSERT(handler_table()[static_cast<int>(op)] == nullptr, "an opcode with two handlers");
    handler_table()[static_cast<int>(op)] = handler;
  }
}

void register_call(BorrowedRef callable, CallHandler handler) {
  auto [at, is_new] = call_registry().emplace(callable.get(), handler);
  MD_ASSERT(is_new || at->second == handler, "a callable with two handlers");
  if (is_new) Py_INCREF(callable.get());
}

CallHandler find_call(BorrowedRef callable) {
  auto& registry = call_registry();
  auto found = registry.find(callable);
  return found == registry.end() ? nullptr : found->second;
}

CallRegistration::CallRegistration(void (*fill)()) { registrations().push_back(fill); }
LateCallRegistration::LateCallRegistration(bool (*fill)()) { late_registrations().push_back(fill); }

void fill_call_registry() {
  for (void (*fill)() : registrations()) fill();
}

void fill_late_call_registry() {
  std::erase_if(late_registrations(), [](bool (*fill)()) { return fill(); });
}

}  // namespace md
