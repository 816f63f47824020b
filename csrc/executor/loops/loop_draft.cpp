#include "executor/loops/loop_draft.h"

#include <algorithm>

namespace md {
namespace {

constexpr int64_t kMinTile = 64;
// Of narrow elements, which may be more than kMaxTile. Longer bursts of stores wait for memory.
constexpr int64_t kMaxTileBytes = 4 * 1024;

// Whether the instruction's result is one element per row.
bool leaves_single(const DraftInstruction& instruction) {
  return instruction.op.is_single || instruction.op.fold.run != nullptr;
}

// Assigns temporaries to shared tiles.
class SlotAssigner {
 public:
  explicit SlotAssigner(const LoopDraft& draft)
      : draft_(draft),
        last_(draft.last_reads()),
        slot_of_(static_cast<size_t>(draft.program.register_count), -1),
        busy_(slot_of_) {
    for (const FusedSequence& run : draft.runs.runs) {
      take(run);
      give_back(run);
    }
  }

  int count() const { return count_; }
  int64_t largest_item() const { return largest_item_; }
  const std::vector<int>& slot_of() const { return slot_of_; }

 private:
  bool is_read_after(int reg, const FusedSequence& run) const {
    return last_[static_cast<size_t>(reg)] >= static_cast<int>(run.end);
  }

  // Not the tile of an operand of this run: the item sizes may differ.
  void take(const FusedSequence& run) {
    for (size_t i = run.begin; i < run.end; ++i) {
      const DraftInstruction& instruction = draft_.code[i];
      int dst = instruction.step.dst;
      largest_item_ = std::max<int64_t>(largest_item_, static_cast<int64_t>(item_size(instruction.op.result)));
      bool stays_inside = run.code != nullptr && !is_read_after(dst, run);
      if (!draft_.is_temporary[static_cast<size_t>(dst)] || leaves_single(instruction) || stays_inside) continue;
      if (free_.empty()) free_.push_back(count_++);
      slot_of_[static_cast<size_t>(dst)] = busy_[static_cast<size_t>(dst)] = free_.back();
      free_.pop_back();
    }
  }

  void give_back(const FusedSequence& run) {
    for (size_t i = run.begin; i < run.end; ++i) {
      for (int src : draft_.code[i].step.src) {
        if (src < 0 || is_read_after(src, run)) continue;
        int slot = std::exchange(busy_[static_cast<size_t>(src)], -1);
        if (slot >= 0) free_.push_back(slot);
      }
    }
  }

  const LoopDraft& draft_;
  std::vector<int> last_;
  std::vector<int> slot_of_, busy_;  // by register; busy: until its last read
  std::vector<int> free_;
  int count_ = 0;
  int64_t largest_item_ = 1;
};

// Single elements never share memory.
void place_singles(LoopProgram& program, const std::vector<int>& singles) {
  program.scratch_bytes = (program.scratch_bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
  for (int reg : singles) {
    program.scratch.emplace_back(reg, program.scratch_bytes);
    program.scratch_bytes += kCacheLine;
  }
}

}  // namespace

std::vector<int> LoopDraft::last_reads() const {
  std::vector<int> last(static_cast<size_t>(program.register_count), -1);
  for (size_t i = 0; i < code.size(); ++i) {
    for (int src : code[i].step.src) {
      if (src >= 0) last[static_cast<size_t>(src)] = static_cast<int>(i);
    }
  }
  return last;
}

// Column blocks whose sums fit into registers, and the remainder of a row.
static void add_summed_columns(const LoopProgram& program, CodeRows rows, std::vector<CodeRows>& all) {
  std::optional<VectorSet> set = machine_code_set();
  if (!set) return;
  int64_t item = program.outputs.back().item_size;
  int64_t most = most_summed(*set, item), vector = vector_bytes(*set) / item;
  for (int64_t elements : {most, program.row_length % most / vector * vector}) {
    rows.elements = elements;
    if (elements > 0 && elements <= program.row_length) all.push_back(rows);
  }
}

// Whole rows, and the parts of them taken by several threads.
static std::vector<CodeRows> rows_to_assemble(const LoopProgram& program) {
  std::vector<CodeRows> all;
  if (program.choices.empty() || program.register_count > kMaxRowLoopRegisters) return all;
  CodeRows rows = {.elements = program.row_length, .stride = program.register_count, .ahead = kRowsAhead};
  for (const Stream& stream : program.inputs) {
    if (stream.access != StreamAccess::Chosen) continue;
    if (program.is_shared_row(stream)) {
      rows.sum = {.read = stream.reg, .written = program.outputs.back().reg};
    } else {
      rows.fetched.push_back(stream.reg);
    }
  }
  if (rows.sum.is_any()) {
    add_summed_columns(program, rows, all);
    return all;
  }
  for (int parts : {1, 2, 4}) {
    rows.elements = program.row_length / parts;
    if (program.row_length % parts == 0) all.push_back(rows);
  }
  return all;
}

void find_runs(LoopDraft& draft) {
  std::vector<int> last = draft.last_reads();
  std::vector<CodeInstruction> instructions;
  std::vector<bool> is_alone;
  for (const DraftInstruction& instruction : draft.code) {
    const LoopOp& op = instruction.op;
    CodeInstruction code = {.row = op.row, .dtype = op.dtype, .result = op.result, .operand_count = op.operand_count};
    std::copy(instruction.step.src, instruction.step.src + op.operand_count, code.src);
    code.once = instruction.once;
    code.dst = instruction.step.dst;
    size_t dst = static_cast<size_t>(code.dst);
    code.last_read = draft.is_temporary[dst] ? last[dst] : kReadOutside;
    if (op.param_count > 0) code.params = op.params.data();
    instructions.push_back(code);
    is_alone.push_back(leaves_single(instruction));
  }
  draft.runs = find_fused_sequences(instructions, is_alone, draft.places, rows_to_assemble(draft.program));
}

bool place_scratch(LoopDraft& draft, bool folds_rows) {
  SlotAssigner assigner(draft);
  ScratchForm& form = draft.scratch;
  form = {.slots = assigner.count(), .largest_item = assigner.largest_item()};
  for (size_t reg = 0; reg < assigner.slot_of().size(); ++reg) {
    if (assigner.slot_of()[reg] >= 0) form.tiles.emplace_back(static_cast<int>(reg), assigner.slot_of()[reg]);
  }
  for (const DraftInstruction& instruction : draft.code) {
    bool is_temporary = draft.is_temporary[static_cast<size_t>(instruction.step.dst)];
    if (leaves_single(instruction) && is_temporary) form.singles.push_back(instruction.step.dst);
  }
  return size_scratch(draft.program, form, folds_rows);
}

bool size_scratch(LoopProgram& program, const ScratchForm& form, bool folds_rows) {
  int slots = form.slots;
  int64_t largest_item = form.largest_item, widest = 1;
  for (auto* streams : {&program.inputs, &program.outputs}) {
    for (Stream& stream : *streams) {
      stream.tile_offset = 0;
      widest = std::max<int64_t>(widest, stream.item_size);
      if (!is_copied(stream)) continue;
      stream.tile_offset = slots++;
      largest_item = std::max<int64_t>(largest_item, stream.item_size);
    }
  }
  int64_t tile = std::max(kMaxTile, kMaxTileBytes / widest);
  int64_t room = kScratchBytes;
  if (!form.singles.empty()) room -= static_cast<int64_t>(form.singles.size() + 1) * kCacheLine;
  if (slots > 0) tile = std::min(tile, room / (slots * largest_item) / kMinTile * kMinTile);
  if (folds_rows) tile = program.row_length;
  if (tile < kMinTile) return false;
  program.tile = tile;
  program.scratch_bytes = slots * tile * largest_item;
  for (auto* streams : {&program.inputs, &program.outputs}) {
    for (Stream& stream : *streams) stream.tile_offset *= tile * largest_item;
  }
  program.scratch.clear();
  for (auto [reg, slot] : form.tiles) program.scratch.emplace_back(reg, slot * tile * largest_item);
  place_singles(program, form.singles);
  return program.scratch_bytes <= (folds_rows ? kRowScratchBytes : kScratchBytes);
}

void join_runs(LoopDraft& draft) {
  for (const FusedSequence& run : draft.runs.runs) {
    if (run.code == nullptr) {
      draft.program.code.push_back(draft.code[run.begin].step);
      continue;
    }
    draft.program.machine_operations += static_cast<int>(run.end - run.begin);
    draft.program.code.push_back({.code = run.code});
  }
  if (!draft.runs.row_loops.empty()) draft.program.machine_operations = static_cast<int>(draft.code.size());
  draft.program.row_loops = std::move(draft.runs.row_loops);
  draft.program.code_vector_bytes = draft.runs.vector_bytes;
  draft.program.machine_code = std::move(draft.runs.memory);
}

}  // namespace md
