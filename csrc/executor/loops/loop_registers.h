// One thread's registers of a loop: the addresses of the current elements, and scratch memory for temporaries.
#pragma once
#include <array>

#include "executor/loops/loop_program.h"
#include "tensor/storage.h"

namespace md {

using LoopAddresses = std::array<std::byte*, kMaxLoopRegisters>;

// Machine code processes the first `head` elements separately.
inline void execute(const LoopProgram& program, const LoopInstruction& instruction, int64_t n, const LoopAddresses& at,
                    int64_t head = 0) {
  if (instruction.code != nullptr) return instruction.code(at.data(), n, head);
  void* dst = at[static_cast<size_t>(instruction.dst)];
  if (instruction.fold.run != nullptr)
    return instruction.fold.run(at[static_cast<size_t>(instruction.src[0])], n, dst, instruction.fold.param);
  if (instruction.is_single) n = 1;
  if (instruction.convert != nullptr) return instruction.convert(at[static_cast<size_t>(instruction.src[0])], dst, n);
  const void* src[3];
  for (int i = 0; i < 3; ++i) src[i] = instruction.src[i] < 0 ? nullptr : at[static_cast<size_t>(instruction.src[i])];
  const Scalar* params = instruction.params < 0 ? nullptr : &program.params[static_cast<size_t>(instruction.params)];
  instruction.loop(src, dst, n, params);
}

// Created for every few rows: large members are left uninitialised until used.
class LoopRegisters {
 public:
  LoopRegisters(const LoopProgram& program, const LoopAddresses& bases) : program_(program), bases_(bases) {
    if (program.scratch_bytes > kScratchBytes) {
      large_ = Storage::allocate(static_cast<size_t>(program.scratch_bytes));
      scratch_ = static_cast<std::byte*>(large_->data());
    }
    for (auto [reg, offset] : program.scratch) (*this)[reg] = scratch_ + offset;
    for (const LoopScalar& scalar : program.scalars) (*this)[scalar.reg] = base(scalar.reg);
  }
  LoopRegisters(const LoopRegisters&) = delete;
  LoopRegisters& operator=(const LoopRegisters&) = delete;

  std::byte*& operator[](int reg) { return at_[static_cast<size_t>(reg)]; }
  std::byte* operator[](int reg) const { return at_[static_cast<size_t>(reg)]; }
  std::byte* base(int reg) const { return bases_[static_cast<size_t>(reg)]; }
  std::byte* scratch() const { return scratch_; }
  std::byte* const* data() const { return at_.data(); }

  void execute(int64_t n, int64_t head = 0) const {
    for (const LoopInstruction& instruction : program_.code) execute(instruction, n, at_, head);
  }
  void execute(const LoopInstruction& instruction, int64_t n) const { execute(instruction, n, at_); }
  // With registers stored elsewhere.
  void execute(const LoopInstruction& instruction, int64_t n, const LoopAddresses& at, int64_t head = 0) const {
    md::execute(program_, instruction, n, at, head);
  }

 private:
  const LoopProgram& program_;
  const LoopAddresses& bases_;
  LoopAddresses at_;
  alignas(64) std::byte small_[kScratchBytes];
  StoragePtr large_;
  std::byte* scratch_ = small_;
};

}  // namespace md
