#include "executor/code_runs.h"

#include <algorithm>

namespace md {
namespace {

struct Assembled {
  size_t begin, count, offset;
};

std::vector<Assembled> assemble_all(Assembler& assembler, std::span<const CodeInstruction> instructions,
                                    const std::vector<bool>& is_alone, std::span<const CodePlace> places) {
  std::vector<Assembled> all;
  for (size_t begin = 0; begin < instructions.size();) {
    auto end = std::find(is_alone.begin() + static_cast<std::ptrdiff_t>(begin), is_alone.end(), true);
    std::span<const CodeInstruction> rest =
        instructions.subspan(begin, static_cast<size_t>(end - is_alone.begin()) - begin);
    size_t offset = 0;
    size_t count = assemble_pointwise(assembler, rest, static_cast<int>(begin), offset, places);
    if (count > 0) all.push_back({begin, count, offset});
    begin += std::max<size_t>(count, 1);
  }
  return all;
}

}  // namespace

CodeRuns find_code_runs(std::span<const CodeInstruction> instructions, const std::vector<bool>& is_alone,
                        std::span<const CodePlace> places) {
  CodeRuns found;
  std::vector<Assembled> all;
  if (uses_machine_code()) {
    Assembler assembler;
    all = assemble_all(assembler, instructions, is_alone, places);
    if (!all.empty()) found.memory = ExecutableMemory::copy_of(assembler.code());
    if (found.memory == nullptr) all.clear();
  }
  auto next = all.begin();
  for (size_t i = 0; i < instructions.size();) {
    CodeRun run = {.begin = i, .end = i + 1};
    if (next != all.end() && next->begin == i) {
      run.end = i + next->count;
      run.code = reinterpret_cast<PointwiseCode>(reinterpret_cast<uintptr_t>(found.memory->at(next->offset)));
      ++next;
    }
    found.runs.push_back(run);
    i = run.end;
  }
  return found;
}

}  // namespace md
