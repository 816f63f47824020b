#include "bytecode/liveness.h"

#include "base/error.h"

namespace md {
namespace {

uint64_t bit_of(int32_t slot) { return uint64_t{1} << (slot % 64); }

}  // namespace

std::vector<int32_t> handler_indices(size_t instruction_count, const std::vector<HandlerRange>& handlers) {
  std::vector<int32_t> result(instruction_count, -1);
  for (size_t h = 0; h < handlers.size(); ++h) {
    for (int32_t i = handlers[h].begin; i < handlers[h].end; ++i) result[i] = static_cast<int32_t>(h);
  }
  return result;
}

std::vector<int32_t> stack_depths(const std::vector<Instruction>& instructions,
                                  const std::vector<HandlerRange>& handlers) {
  std::vector<int32_t> depths(instructions.size(), -1);
  std::vector<int32_t> handler_of = handler_indices(instructions.size(), handlers);
  std::vector<int32_t> work;
  auto reach = [&](int32_t index, int32_t depth) {
    if (index >= static_cast<int32_t>(instructions.size())) return;
    if (depths[index] >= 0) {
      MD_ASSERT(depths[index] == depth, "two depths at instruction ", index);
      return;
    }
    depths[index] = depth;
    work.push_back(index);
  };
  if (!instructions.empty()) reach(0, 0);
  while (!work.empty()) {
    int32_t index = work.back();
    work.pop_back();
    const Instruction& instruction = instructions[index];
    int32_t depth = depths[index];
    if (handler_of[index] >= 0) {
      const ExceptionHandler& handler = handlers[handler_of[index]].handler;
      reach(handler.target, handler.depth + (handler.push_lasti ? 1 : 0) + 1);
    }
    if (has_target(instruction.op)) {
      StackEffect effect = stack_effect(instruction, true);
      reach(instruction.arg, depth - effect.pops + effect.pushes);
    }
    if (!ends_flow(instruction.op)) {
      StackEffect effect = stack_effect(instruction, false);
      MD_ASSERT(depth >= effect.pops, "stack underflow at instruction ", index);
      reach(index + 1, depth - effect.pops + effect.pushes);
    }
  }
  return depths;
}

std::vector<uint64_t> live_slots(const std::vector<Instruction>& instructions,
                                 const std::vector<HandlerRange>& handlers, const std::vector<int32_t>& depths,
                                 int words) {
  int count = static_cast<int>(instructions.size());
  std::vector<uint64_t> live(static_cast<size_t>(count) * words, 0);
  std::vector<int32_t> handler_of = handler_indices(instructions.size(), handlers);
  std::vector<uint64_t> row(words);
  auto join = [&](int32_t from) {
    for (int w = 0; w < words; ++w) row[w] |= live[static_cast<size_t>(from) * words + w];
  };
  bool changed = true;
  while (changed) {
    changed = false;
    for (int index = count - 1; index >= 0; --index) {
      if (depths[index] < 0) continue;
      const Instruction& instruction = instructions[index];
      row.assign(words, 0);
      if (has_target(instruction.op)) join(instruction.arg);
      if (!ends_flow(instruction.op) && index + 1 < count) join(index + 1);
      if (has_trait(instruction.op, kReadsSlot)) row[instruction.arg / 64] |= bit_of(instruction.arg);
      if (has_trait(instruction.op, kWritesSlot)) row[instruction.arg / 64] &= ~bit_of(instruction.arg);
      // The handler sees the slots as they were before the instruction.
      if (handler_of[index] >= 0) join(handlers[handler_of[index]].handler.target);
      for (int w = 0; w < words; ++w) {
        uint64_t& slot = live[static_cast<size_t>(index) * words + w];
        if (slot != row[w]) {
          slot = row[w];
          changed = true;
        }
      }
    }
  }
  return live;
}

}  // namespace md
