#include "machine_code/pointwise_code.h"

#include <algorithm>
#include <string_view>

#include "base/config.h"
#include "machine_code/one_divisor.h"
#include "machine_code/pointwise_emitters.h"
#include "machine_code/vector_body.h"
#include "tensor/simd/loops.h"
#include "tensor/simd/pointwise_table.h"

namespace md {
namespace {

bool divides_by_one(const CodeInstruction& instruction, Pointwise row = Pointwise::div) {
  return instruction.row == static_cast<int>(row) && (instruction.once & 2) != 0;
}

// A single operation has a compiled loop, as good as machine code unless that can hoist work out of the loop.
size_t fewest(VectorSet set, std::span<const CodeInstruction> instructions) {
  return divides_by_one(instructions.front()) && has_one_divisor(set) ? 1 : 2;
}

bool wants_divisor(VectorSet set, std::span<const CodeInstruction> instructions) {
  return has_one_divisor(set) && std::any_of(instructions.begin(), instructions.end(), [](const auto& instruction) {
           return divides_by_one(instruction) || divides_by_one(instruction, Pointwise::div_trunc);
         });
}

// 0 if the instruction has only bools.
size_t element_size(const CodeInstruction& instruction) {
  DType dtype = instruction.dtype == DType::bool_ ? instruction.result : instruction.dtype;
  return dtype == DType::bool_ ? 0 : item_size(dtype);
}

std::span<const CodeInstruction> of_one_size(std::span<const CodeInstruction> instructions) {
  size_t size = 0, count = 0;
  for (const CodeInstruction& instruction : instructions) {
    size_t own = element_size(instruction);
    if (!has_machine_code(instruction) || (own != 0 && size != 0 && own != size)) break;
    size = std::max(size, own);
    ++count;
  }
  return instructions.first(size == 0 ? 0 : count);
}

bool is_wide(std::span<const CodeInstruction> instructions) {
  return std::any_of(instructions.begin(), instructions.end(),
                     [](const CodeInstruction& instruction) { return element_size(instruction) == 8; });
}

bool has_divisor(const LoopFrame& frame) {
  return std::any_of(frame.constants.begin(), frame.constants.end(),
                     [](const CodeConstant& constant) { return constant.of_divisor != 0; });
}

void assemble_constants(Assembler& assembler, LoopFrame& frame) {
  const auto& constants = frame.constants;
  auto body = VectorBody::create(assembler, frame, false);
  for (size_t i = 0; i < constants.size(); ++i) {
    if (constants[i].of_divisor == 0) body->broadcast(frame.constant_register(i), constants[i]);
    if (constants[i].of_divisor != 1) continue;
    auto divisor =
        std::find(constants.begin(), constants.end(), CodeConstant{.loop_register = constants[i].loop_register});
    size_t at = static_cast<size_t>(divisor - constants.begin());
    DivisorRegisters registers = {frame.constant_register(at), frame.constant_register(i),
                                  frame.constant_register(i + 1), frame.constant_register(i + 2)};
    prepare_divisor(*body, registers);
  }
}

void push_saved(Assembler& assembler, const LoopFrame& frame) {
  for (size_t i = kFreePointers; i < frame.pointers.size(); ++i) assembler.push(kPointers[i]);
}

void load_pointers(Assembler& assembler, const LoopFrame& frame) {
  for (size_t i = 0; i < frame.pointers.size(); ++i)
    assembler.load(kPointers[i], {.base = kRegisters, .displacement = 8 * frame.pointers[i]});
}

void assemble_return(Assembler& assembler, const LoopFrame& frame) {
  assembler.clear_upper_halves();
  for (size_t i = frame.pointers.size(); i-- > kFreePointers;) assembler.pop(kPointers[i]);
  assembler.ret();
  assembler.place_literals();
}

void assemble_tail(Assembler& assembler, std::span<const CodeInstruction> instructions, int first, LoopFrame& frame,
                   WordRegister count) {
  size_t done = 0;
  auto body = VectorBody::create(assembler, frame, true);
  body->make_tail_mask(count);
  body->emit(instructions, first, done);
}

void assemble_body(Assembler& assembler, std::span<const CodeInstruction> instructions, int first, LoopFrame& frame) {
  size_t done = 0;
  VectorBody::create(assembler, frame, false)->emit(instructions, first, done);
}

// A masked head, whole vectors while `lanes` elements are left, then a masked tail.
void assemble_loop(Assembler& assembler, std::span<const CodeInstruction> instructions, int first, LoopFrame& frame) {
  push_saved(assembler, frame);
  load_pointers(assembler, frame);
  assemble_constants(assembler, frame);
  assembler.clear(kIndex);
  assembler.compare(kHead, kIndex);
  Assembler::Jump to_vectors = assembler.jump_if(Assembler::Condition::LessOrEqual);
  assembler.push(kHead);
  assemble_tail(assembler, instructions, first, frame, kHead);
  assembler.pop(kIndex);
  assembler.bind(to_vectors);
  assembler.move(kLimit, kCount);
  assembler.add(kLimit, -frame.lanes());
  assembler.compare(kIndex, kLimit);
  Assembler::Jump to_tail = assembler.jump_if(Assembler::Condition::Greater);
  size_t body = assembler.position();
  auto go_on = [&] {
    assemble_body(assembler, instructions, first, frame);
    assembler.add(kIndex, frame.lanes());
    assembler.compare(kIndex, kLimit);
  };
  go_on();
  std::optional<Assembler::Jump> also_to_tail;
  if (has_divisor(frame) && divides_in_turn()) {
    also_to_tail = assembler.jump_if(Assembler::Condition::Greater);
    frame.divides = true;
    go_on();
  }
  assembler.jump_back_if(Assembler::Condition::LessOrEqual, body);
  assembler.bind(to_tail);
  if (also_to_tail) assembler.bind(*also_to_tail);
  assembler.move(kEnd, kCount);
  assembler.subtract(kCount, kIndex);
  Assembler::Jump to_end = assembler.jump_if(Assembler::Condition::LessOrEqual);
  assemble_tail(assembler, instructions, first, frame, kCount);
  assembler.bind(to_end);
  assemble_return(assembler, frame);
}

void assemble_row_fetches(Assembler& assembler, const CodeRows& rows, const LoopFrame& frame) {
  constexpr int kCacheLine = 64;
  for (int loop_register : rows.fetched) {
    assembler.load(kScratchPointer,
                   {.base = kRegisters, .displacement = 8 * (rows.ahead * rows.stride + loop_register)});
    for (int at = 0; at < static_cast<int>(rows.elements) * frame.element_size(); at += kCacheLine)
      assembler.prefetch({.base = kScratchPointer, .displacement = at});
  }
}

// The vectors of a row, unrolled: the processor looks as many rows ahead as its instruction window holds.
void assemble_row_loop(Assembler& assembler, std::span<const CodeInstruction> instructions, const CodeRows& rows,
                       LoopFrame& frame) {
  auto constants = VectorBody::create(assembler, frame, false);
  auto broadcast = [&](bool from_loop) {
    for (size_t i = 0; i < frame.constants.size(); ++i) {
      if ((frame.constants[i].loop_register >= 0) == from_loop)
        constants->broadcast(frame.constant_register(i), frame.constants[i]);
    }
  };
  push_saved(assembler, frame);
  broadcast(false);
  if (frame.sum.is_any()) {
    assembler.load(kScratchPointer, {.base = kRegisters, .displacement = 8 * frame.sum.read});
    constants->load_sum();
    assembler.load(kScratchPointer, {.base = kRegisters, .displacement = 8 * frame.sum.written});
    assembler.push(kScratchPointer);
  }
  size_t row = assembler.position();
  load_pointers(assembler, frame);
  assemble_row_fetches(assembler, rows, frame);
  broadcast(true);
  assembler.clear(kIndex);
  for (int64_t at = 0; at < rows.elements; at += frame.lanes()) {
    if (at > 0) assembler.add(kIndex, frame.lanes());
    frame.sum_vector = static_cast<int>(at) / frame.lanes();
    assemble_body(assembler, instructions, 0, frame);
  }
  assembler.add(kRegisters, 8 * rows.stride);
  assembler.add(kCount, -1);
  assembler.jump_back_if(Assembler::Condition::Greater, row);
  if (frame.sum.is_any()) {
    assembler.pop(kScratchPointer);
    constants->store_sum();
  }
  assemble_return(assembler, frame);
}

constexpr size_t kFunctionAlignment = 64;

}  // namespace

std::optional<VectorSet> machine_code_set() {
  if (!config().machine_code) return std::nullopt;
  std::string_view level = instruction_level();
  if (level == "avx512") return VectorSet::Avx512;
  return level == "avx2" ? std::optional(VectorSet::Avx2) : std::nullopt;
}

// Leaves a few registers for the summands.
int64_t most_summed(VectorSet set, int64_t item_size) {
  constexpr int64_t kMostVectors512 = 16, kMostVectors2 = 8;
  return (set == VectorSet::Avx512 ? kMostVectors512 : kMostVectors2) * vector_bytes(set) / item_size;
}

bool has_machine_code(const CodeInstruction& instruction) { return find_emitter(instruction) != nullptr; }

size_t assemble_pointwise(Assembler& assembler, std::span<const CodeInstruction> instructions, int first,
                          size_t& offset, std::span<const CodePlace> places) {
  std::span<const CodeInstruction> taken = of_one_size(instructions);
  while (!taken.empty() && taken.size() >= fewest(assembler.vector_set(), taken)) {
    LoopFrame frame = {.set = assembler.vector_set(), .is_wide = is_wide(taken), .places = places};
    frame.wants_divisor = wants_divisor(frame.set, taken);
    Assembler trial(frame.set);
    size_t done = 0;
    // With fewer instructions more values are read outside, but none later, so what fits here still fits.
    if (VectorBody::create(trial, frame, true)->emit(taken, first, done)) {
      assembler.align(kFunctionAlignment);
      offset = assembler.position();
      assemble_loop(assembler, taken, first, frame);
      return taken.size();
    }
    taken = taken.first(done);
  }
  return 0;
}

bool assemble_rows(Assembler& assembler, std::span<const CodeInstruction> instructions, const CodeRows& rows,
                   size_t& offset, std::span<const CodePlace> places) {
  // Longer rows hide the cost of a call; their vectors are better handled by a loop.
  constexpr int64_t kMostVectors = 8, kMostVectorInstructions = 128;
  const bool has_sum = rows.sum.is_any();
  if (instructions.empty() || of_one_size(instructions).size() < instructions.size()) return false;
  LoopFrame frame = {.set = assembler.vector_set(), .is_wide = is_wide(instructions), .places = places};
  frame.wants_divisor = wants_divisor(frame.set, instructions);
  int64_t vectors = rows.elements / frame.lanes();
  int64_t most = has_sum ? most_summed(frame.set, frame.element_size()) / frame.lanes() : kMostVectors;
  if (vectors == 0 || vectors > most || rows.elements % frame.lanes() != 0) return false;
  if (vectors * static_cast<int64_t>(instructions.size()) > kMostVectorInstructions) return false;
  if (has_sum) {
    frame.sum = rows.sum;
    frame.sum_vectors = static_cast<int>(vectors);
  }
  Assembler trial(frame.set);
  size_t done = 0;
  if (!VectorBody::create(trial, frame, false)->emit(instructions, 0, done)) return false;
  if (has_divisor(frame)) return false;
  assembler.align(kFunctionAlignment);
  offset = assembler.position();
  assemble_row_loop(assembler, instructions, rows, frame);
  return true;
}

}  // namespace md
