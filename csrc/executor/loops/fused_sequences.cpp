#include "executor/loops/fused_sequences.h"

#include <algorithm>
#include <utility>

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

template <typename Function>
Function function_at(const ExecutableMemory& memory, size_t offset) {
  return reinterpret_cast<Function>(reinterpret_cast<uintptr_t>(memory.at(offset)));
}

}  // namespace

FusedSequences find_fused_sequences(std::span<const CodeInstruction> instructions, const std::vector<bool>& is_alone,
                                    std::span<const CodePlace> places, std::span<const CodeRows> rows) {
  FusedSequences found;
  std::vector<Assembled> all;
  std::vector<std::pair<int64_t, size_t>> row_offsets;  // by number of elements in a row
  if (std::optional<VectorSet> set = machine_code_set()) {
    Assembler assembler(*set);
    found.vector_bytes = vector_bytes(*set);
    all = assemble_all(assembler, instructions, is_alone, places);
    bool any_alone = std::find(is_alone.begin(), is_alone.end(), true) != is_alone.end();
    for (size_t i = 0, offset = 0; !any_alone && i < rows.size(); ++i)
      if (assemble_rows(assembler, instructions, rows[i], offset, places))
        row_offsets.emplace_back(rows[i].elements, offset);
    if (!assembler.code().empty()) found.memory = ExecutableMemory::copy_of(assembler.code());
    if (found.memory == nullptr) all.clear();
    for (auto [elements, offset] : row_offsets)
      if (found.memory != nullptr) found.row_loops.push_back({elements, function_at<RowsCode>(*found.memory, offset)});
  }
  auto next = all.begin();
  for (size_t i = 0; i < instructions.size();) {
    FusedSequence run = {.begin = i, .end = i + 1};
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
