#include "machine_code/pointwise_code.h"

#include <algorithm>
#include <string_view>

#include "base/config.h"
#include "machine_code/one_divisor.h"
#include "machine_code/pointwise_recipes.h"
#include "machine_code/vector_body.h"
#include "tensor/loops.h"
#include "tensor/pointwise_table.h"

namespace md {
namespace {

// A single operation has a loop of its own, which is as good but for what machine code makes of it before the loop.
size_t fewest(std::span<const CodeInstruction> instructions) {
  const CodeInstruction& first = instructions.front();
  bool divides_by_one = first.row == static_cast<int>(Pointwise::div) && (first.once & 2) != 0;
  return divides_by_one ? 1 : 2;
}

// 0 where the instruction has only bools.
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

void assemble_mask(Assembler& assembler, WordRegister ones, WordRegister count) {
  assembler.fill(ones);
  assembler.keep_low_bits(ones, count);
  assembler.mask_from(kTailMask, ones);
}

void assemble_constants(Assembler& assembler, LoopFrame& frame) {
  const auto& constants = frame.constants;
  for (size_t i = 0; i < constants.size(); ++i) {
    if (constants[i].of_divisor == 0) broadcast(assembler, constant_register(i), constants[i], frame.is_wide);
    if (constants[i].of_divisor != 1) continue;
    auto divisor =
        std::find(constants.begin(), constants.end(), CodeConstant{.loop_register = constants[i].loop_register});
    size_t at = static_cast<size_t>(divisor - constants.begin());
    DivisorRegisters registers = {constant_register(at), constant_register(i), constant_register(i + 1),
                                  constant_register(i + 2)};
    VectorBody body(assembler, frame, false);
    prepare_divisor(body, registers);
  }
}

// The head under a mask, whole vectors while `lanes` elements are left, then the rest under a mask.
void assemble_loop(Assembler& assembler, std::span<const CodeInstruction> instructions, int first, LoopFrame& frame) {
  size_t done = 0;
  size_t saved = frame.pointers.size() > kFreePointers ? frame.pointers.size() - kFreePointers : 0;
  for (size_t i = 0; i < saved; ++i) assembler.push(kPointers[kFreePointers + i]);
  for (size_t i = 0; i < frame.pointers.size(); ++i)
    assembler.load(kPointers[i], {.base = kRegisters, .displacement = 8 * frame.pointers[i]});
  assemble_constants(assembler, frame);
  assembler.clear(kIndex);
  assembler.compare(kHead, kIndex);
  Assembler::Jump to_vectors = assembler.jump_if(Assembler::Condition::LessOrEqual);
  assembler.push(kHead);
  assemble_mask(assembler, kScratchPointer, kHead);
  VectorBody(assembler, frame, true).emit(instructions, first, done);
  assembler.pop(kIndex);
  assembler.bind(to_vectors);
  assembler.move(kLimit, kCount);
  assembler.add(kLimit, -frame.lanes());
  assembler.compare(kIndex, kLimit);
  Assembler::Jump to_tail = assembler.jump_if(Assembler::Condition::Greater);
  size_t body = assembler.position();
  VectorBody(assembler, frame, false).emit(instructions, first, done);
  assembler.add(kIndex, frame.lanes());
  assembler.compare(kIndex, kLimit);
  assembler.jump_back_if(Assembler::Condition::LessOrEqual, body);
  assembler.bind(to_tail);
  assembler.subtract(kCount, kIndex);
  Assembler::Jump to_end = assembler.jump_if(Assembler::Condition::LessOrEqual);
  assemble_mask(assembler, kLimit, kCount);
  VectorBody(assembler, frame, true).emit(instructions, first, done);
  assembler.bind(to_end);
  assembler.clear_upper_halves();
  for (size_t i = saved; i-- > 0;) assembler.pop(kPointers[kFreePointers + i]);
  assembler.ret();
  assembler.place_literals();
}

}  // namespace

bool uses_machine_code() { return config().machine_code && std::string_view(instruction_level()) == "avx512"; }

bool has_machine_code(const CodeInstruction& instruction) { return find_recipe(instruction) != nullptr; }

size_t assemble_pointwise(Assembler& assembler, std::span<const CodeInstruction> instructions, int first,
                          size_t& offset, std::span<const CodePlace> places) {
  std::span<const CodeInstruction> taken = of_one_size(instructions);
  while (!taken.empty() && taken.size() >= fewest(taken)) {
    LoopFrame frame = {.is_wide = is_wide(taken), .places = places};
    Assembler trial;
    size_t done = 0;
    // With fewer instructions more is read outside, but not later: what fits here fits there.
    if (VectorBody(trial, frame, true).emit(taken, first, done)) {
      constexpr size_t kFunctionAlignment = 64;
      assembler.align(kFunctionAlignment);
      offset = assembler.position();
      assemble_loop(assembler, taken, first, frame);
      return taken.size();
    }
    taken = taken.first(done);
  }
  return 0;
}

}  // namespace md
