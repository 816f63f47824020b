#include "bytecode/bytecode.h"

#include "base/error.h"
#include "bytecode/decode.h"
#include "bytecode/exception_table.h"
#include "bytecode/liveness.h"
#include "cpython/code_extra.h"
#include "cpython/object_layout.h"

#include <algorithm>
#include <sstream>

namespace md {
namespace {

void release_bytecode(void* bytecode) { delete static_cast<Bytecode*>(bytecode); }

const CodeExtra& attached_bytecode() {
  static const CodeExtra extra(release_bytecode);
  return extra;
}

constexpr const char* kLocalsObservers[] = {"locals", "vars", "dir", "eval", "exec", "breakpoint"};

bool names_a_locals_observer(PyObject* names) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
    for (const char* observer : kLocalsObservers) {
      if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i), observer) == 0) return true;
    }
  }
  return false;
}

}  // namespace

int parameter_count(const PyCodeObject* code) {
  int rest = ((code->co_flags & CO_VARARGS) != 0 ? 1 : 0) + ((code->co_flags & CO_VARKEYWORDS) != 0 ? 1 : 0);
  return code->co_argcount + code->co_kwonlyargcount + rest;
}

void Bytecode::reserve_place() { attached_bytecode(); }

const Bytecode* Bytecode::of(PyCodeObject* code) {
  if (void* known = attached_bytecode().get(code)) return static_cast<const Bytecode*>(known);
  auto bytecode = std::make_unique<Bytecode>(code);
  // Decoding may have switched threads: another thread may have attached the result first.
  if (void* known = attached_bytecode().get(code)) return static_cast<const Bytecode*>(known);
  attached_bytecode().set(code, bytecode.get());
  return bytecode.release();
}

namespace {

// The last instruction that is reached without an exception.
int last_without_exception(const std::vector<Instruction>& instructions) {
  std::vector<bool> seen(instructions.size(), false);
  std::vector<int> reached{0};
  int last = 0;
  while (!reached.empty()) {
    int index = reached.back();
    reached.pop_back();
    if (seen[index]) continue;
    seen[index] = true;
    last = std::max(last, index);
    const Instruction& instruction = instructions[index];
    if (has_target(instruction.op)) reached.push_back(instruction.arg);
    if (!ends_flow(instruction.op) && index + 1 < static_cast<int>(instructions.size())) reached.push_back(index + 1);
  }
  return last;
}

}  // namespace

Bytecode::Bytecode(PyCodeObject* code) : code_(code) {
  DecodedCode decoded = decode(code);
  instructions_ = std::move(decoded.instructions);
  unit_to_index_ = std::move(decoded.unit_to_index);
  extra_constants_ = std::move(decoded.extra_constants);
  handlers_ = read_exception_table(code, instructions_, unit_to_index_);
  depths_ = stack_depths(instructions_, handlers_);
  for (int slot = 0; slot < code->co_nlocalsplus; ++slot) {
    slots_.push_back(static_cast<SlotKind>(pv_slot_kind(code, slot)));
  }
  live_words_ = (code->co_nlocalsplus + 63) / 64;
  live_ = live_slots(instructions_, handlers_, depths_, live_words_);
  loop_heads_.assign(instructions_.size(), false);
  for (int index = 0; index < size(); ++index) {
    const Instruction& instruction = instructions_[index];
    if (has_target(instruction.op) && instruction.arg <= index) loop_heads_[instruction.arg] = true;
  }
  cold_start_ = 1 + last_without_exception(instructions_);
  only_returns_.assign(instructions_.size(), false);
  for (int index = size() - 1; index >= 0; --index) {
    Opcode op = instructions_[index].op;
    bool goes_on = (has_trait(op, kMoves) || op == Opcode::END_FOR) && index + 1 < size();
    bool returns = op == Opcode::RETURN_VALUE || op == Opcode::RETURN_CONST;
    only_returns_[index] = returns || (goes_on && only_returns_[index + 1]);
  }
  observes_locals_ = names_a_locals_observer(code->co_names);
}

int Bytecode::index_of_unit(int unit) const {
  return unit < 0 || unit + 1 >= static_cast<int>(unit_to_index_.size()) ? -1 : unit_to_index_[unit];
}

ExceptionHandler Bytecode::handler_at(int index) const {
  auto it = std::upper_bound(handlers_.begin(), handlers_.end(), index,
                             [](int i, const HandlerRange& range) { return i < range.begin; });
  while (it != handlers_.begin()) {
    --it;
    if (index < it->end) return it->handler;
    // Empty ranges cover nothing but would hide the range before them.
    if (it->begin != it->end) break;
  }
  return {-1, 0, false};
}

bool Bytecode::is_live(int index, int slot) const {
  if (slots_[slot] != SlotKind::Local) return true;
  return (live_[static_cast<size_t>(index) * live_words_ + slot / 64] >> (slot % 64)) & 1;
}

BorrowedRef Bytecode::slot_name(int slot) const { return PyTuple_GET_ITEM(code_->co_localsplusnames, slot); }
BorrowedRef Bytecode::constant(int index) const {
  Py_ssize_t own = PyTuple_GET_SIZE(code_->co_consts);
  return index < own ? PyTuple_GET_ITEM(code_->co_consts, index) : extra_constants_[index - own].get();
}
BorrowedRef Bytecode::name(int index) const { return PyTuple_GET_ITEM(code_->co_names, index); }

int Bytecode::line_at(int index) const {
  int line = PyCode_Addr2Line(code_, instructions_[index].lasti * 2);
  return line < 0 ? 0 : line;
}

std::string Bytecode::print() const {
  std::ostringstream out;
  for (int index = 0; index < size(); ++index) {
    const Instruction& instruction = instructions_[index];
    out << index << (loop_heads_[index] ? " >> " : "    ") << "line " << line_at(index) << "  unit " << instruction.unit
        << (instruction.resumable ? "" : "+") << "  depth " << depths_[index] << "  " << opcode_name(instruction.op)
        << ' ' << instruction.arg;
    if (instruction.arg2 != 0) out << ' ' << instruction.arg2;
    if (has_target(instruction.op)) out << "  to " << instruction.arg;
    ExceptionHandler handler = handler_at(index);
    if (handler.target >= 0) out << "  except " << handler.target;
    out << '\n';
  }
  return out.str();
}

}  // namespace md
