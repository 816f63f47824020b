#include "executor/code_runs.h"

#include <algorithm>
#include <optional>

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

// Where the code of each starts, as far as there is any.
std::vector<std::optional<size_t>> assemble_each(Assembler& assembler, std::span<const CodeInstruction> instructions,
                                                 std::span<const CodePlace> places, std::span<const CodeRows> rows) {
  std::vector<std::optional<size_t>> offsets;
  for (const CodeRows& each : rows) {
    size_t offset = 0;
    bool done = assemble_rows(assembler, instructions, each, offset, places);
    offsets.push_back(done ? std::optional(offset) : std::nullopt);
  }
  return offsets;
}

template <typename Function>
Function function_at(const ExecutableMemory& memory, size_t offset) {
  return reinterpret_cast<Function>(reinterpret_cast<uintptr_t>(memory.at(offset)));
}

}  // namespace

CodeRuns find_code_runs(std::span<const CodeInstruction> instructions, const std::vector<bool>& is_alone,
                        std::span<const CodePlace> places, std::span<const CodeRows> rows) {
  CodeRuns found;
  std::vector<Assembled> all;
  std::vector<std::optional<size_t>> offsets;
  if (uses_machine_code()) {
    Assembler assembler;
    all = assemble_all(assembler, instructions, is_alone, places);
    bool is_one = all.size() == 1 && all[0].count == instructions.size();
    if (is_one) offsets = assemble_each(assembler, instructions, places, rows);
    if (!all.empty()) found.memory = ExecutableMemory::copy_of(assembler.code());
    if (found.memory == nullptr) all.clear();
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    bool has_code = found.memory != nullptr && i < offsets.size() && offsets[i];
    found.rows.push_back(has_code ? function_at<RowsCode>(*found.memory, *offsets[i]) : nullptr);
  }
  auto next = all.begin();
  for (size_t i = 0; i < instructions.size();) {
    CodeRun run = {.begin = i, .end = i + 1};
    if (next != all.end() && next->begin == i) {
      run.end = i + next->count;
      run.code = function_at<PointwiseCode>(*found.memory, next->offset);
      ++next;
    }
    found.runs.push_back(run);
    i = run.end;
  }
  return found;
}

}  // namespace md
