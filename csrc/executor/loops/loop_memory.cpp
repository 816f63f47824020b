#include "executor/loops/loop_memory.h"

#include <algorithm>

#include "tensor/memory_overlap.h"

namespace md {
namespace {

class StreamMemory {
 public:
  StreamMemory(const LoopProgram& program, const Layout& layout) : program_(program), layout_(layout) {}

  const Place& place(int value) const { return layout_.places[static_cast<size_t>(value)]; }
  int64_t first_byte(const Stream& stream) const {
    return place(stream.value).byte_offset() + stream.offset * stream.item_size;
  }

  bool meet(const Stream& a, const Stream& b) const {
    return elements_meet(place(a.value).spec, place(a.value).offset, place(b.value).spec, place(b.value).offset);
  }

  bool keep_distance(const Stream& a, const Stream& b) const { return !a.follows && are_parallel(a, b); }
  bool are_parallel(const Stream& a, const Stream& b) const {
    bool is_plain = a.access == b.access && (a.access == StreamAccess::Linear || a.access == StreamAccess::RowLinear);
    bool is_packed = std::any_of(program_.packs.begin(), program_.packs.end(),
                                 [&](const PackedRow& pack) { return pack.reg == a.reg || pack.reg == b.reg; });
    return is_plain && !is_packed && a.item_size == b.item_size && a.strides == b.strides &&
           place(a.value).buffer == place(b.value).buffer;
  }

  // With another operand, or with an index.
  bool shares_buffer(const Stream& input) const {
    bool is_index = std::any_of(program_.choices.begin(), program_.choices.end(), [&](const RowChoice& choice) {
      return choice.index >= 0 && place(choice.index).buffer == place(input.value).buffer;
    });
    return is_index || std::any_of(program_.inputs.begin(), program_.inputs.end(), [&](const Stream& other) {
             return other.reg != input.reg && place(other.value).buffer == place(input.value).buffer;
           });
  }

 private:
  const LoopProgram& program_;
  const Layout& layout_;
};

}  // namespace

void share_addresses(LoopDraft& draft, const Layout& layout, const std::function<bool(int, int)>& stay) {
  StreamMemory memory(draft.program, layout);
  std::vector<Stream>& inputs = draft.program.inputs;
  draft.places.resize(static_cast<size_t>(draft.program.register_count));
  for (size_t i = 1; i < inputs.size(); ++i) {
    auto end = inputs.begin() + static_cast<std::ptrdiff_t>(i);
    auto first = std::find_if(inputs.begin(), end, [&](const Stream& s) { return memory.keep_distance(s, inputs[i]); });
    if (first == end || !stay(first->value, inputs[i].value)) continue;
    int64_t bytes = memory.first_byte(inputs[i]) - memory.first_byte(*first);
    if (bytes != static_cast<int32_t>(bytes)) continue;
    inputs[i].follows = true;
    draft.places[static_cast<size_t>(inputs[i].reg)] = {first->reg, static_cast<int32_t>(bytes)};
  }
}

std::optional<int64_t> distance(const LoopProgram& program, const Layout& layout, const Stream& from,
                                const Stream& to) {
  StreamMemory memory(program, layout);
  if (!memory.are_parallel(from, to)) return std::nullopt;
  return memory.first_byte(to) - memory.first_byte(from);
}

bool overwrites_what_it_reads(const LoopDraft& draft, const Layout& layout) {
  StreamMemory memory(draft.program, layout);
  std::vector<int> last = draft.last_reads();
  const std::vector<Stream>& outputs = draft.program.outputs;
  for (const Stream& output : outputs) {
    auto shares = [&](const Stream& other) {
      return other.reg != output.reg && memory.place(other.value).buffer == memory.place(output.value).buffer &&
             memory.meet(other, output);
    };
    if (std::ranges::any_of(outputs, shares) && output.choice < 0) return true;
    auto writer = std::ranges::find(draft.code, output.reg, [](const DraftInstruction& i) { return i.step.dst; });
    int written = static_cast<int>(writer - draft.code.begin());
    for (const Stream& input : draft.program.inputs) {
      if (output.choice >= 0 || !shares(input)) continue;
      bool is_same = input.choice < 0 && input.access == output.access && input.strides == output.strides &&
                     memory.first_byte(input) == memory.first_byte(output) && input.item_size == output.item_size;
      if (!is_same || (!is_copied(output) && last[static_cast<size_t>(input.reg)] > written)) return true;
    }
  }
  return false;
}

void find_shared_memory(const LoopDraft& draft, const Layout& layout, int overwritten, LoweredStep& lowered) {
  StreamMemory memory(draft.program, layout);
  std::vector<int> last = draft.last_reads();
  std::vector<int> taken;
  std::vector<Stream> inputs = draft.program.inputs;
  std::stable_partition(inputs.begin(), inputs.end(), [&](const Stream& s) { return s.value == overwritten; });
  for (const Stream& output : draft.program.outputs) {
    if (output.access == StreamAccess::Chosen) continue;
    auto writer = std::find_if(draft.code.begin(), draft.code.end(),
                               [&](const DraftInstruction& i) { return i.step.dst == output.reg; });
    int written = static_cast<int>(writer - draft.code.begin());
    for (const Stream& input : inputs) {
      bool same_layout = !is_copied(output) && input.access == output.access && input.strides == output.strides &&
                         input.item_size == output.item_size;
      // A cast reads and writes different item sizes: free only after the operand's last use.
      int free_from = writer->step.convert != nullptr ? written - 1 : written;
      if (!same_layout || last[static_cast<size_t>(input.reg)] > free_from || memory.shares_buffer(input)) continue;
      bool is_taken = std::find(taken.begin(), taken.end(), input.value) != taken.end();
      if (memory.place(input.value).offset != 0 || is_taken) continue;
      taken.push_back(input.value);
      lowered.may_share.emplace_back(output.value, input.value);
      break;
    }
  }
}

}  // namespace md
