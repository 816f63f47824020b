#include "executor/loop_builder.h"

#include <algorithm>
#include <unordered_map>

#include "executor/code_runs.h"
#include "executor/loop_op.h"
#include "tensor/fill.h"

namespace md {
namespace {

constexpr int64_t kMinRow = 64;  // shorter rows are walked over
constexpr int64_t kMinTile = 64;

class LoopBuilder {
 public:
  LoopBuilder(const Group& group, LoweringContext& context, int overwritten)
      : group_(group), context_(context), overwritten_(overwritten) {}

  BuiltLoop build() {
    choose_order();
    for (const Node* node : nodes_) parsed_.push_back(parse(*node));
    collect_outputs();
    collect_inputs();
    if (program_.register_count + static_cast<int>(group_.nodes.size()) > kMaxLoopRegisters)
      return failed("too many operands");
    choose_iteration();
    if (program_.sizes.size() > kMaxLoopRank) return failed("too many dimensions");
    emit_code();
    if (needs_row_of_) return failed("an operation reads what a reduction leaves, and has no loop for that");
    if (program_.scalars.size() > kMaxLoopScalars) return failed("too many numbers");
    find_runs();
    if (!place_scratch()) return failed("too many values alive at once");
    return finish();
  }

 private:
  BuiltLoop failed(const char* reason) const {
    BuiltLoop built;
    built.lowered.note = reason;
    return built;
  }

  LoopOp parse(const Node& node) const {
    if (group_.folds_rows) {
      if (std::optional<LoopOp> fold = as_fold(node)) return *fold;
    }
    LoopOp op = *as_loop_op(node);
    op.is_single = group_.folds_rows && !same(node.outs[0].spec.sizes, sizes());
    return op;
  }
  // Operations of which runs are made wait until something else needs them, so that runs are long.
  void choose_order() {
    if (!uses_machine_code()) {
      nodes_ = group_.nodes;
      return;
    }
    for (const Node* node : group_.nodes) {
      if (!can_join_a_run(*node)) take_with_operands(*node);
    }
    for (const Node* node : group_.nodes) take_with_operands(*node);
  }
  bool can_join_a_run(const Node& node) const {
    LoopOp op = parse(node);
    CodeInstruction code = {.row = op.row, .dtype = op.dtype, .result = op.result, .operand_count = op.operand_count};
    return op.fold.run == nullptr && !op.is_single && has_machine_code(code);
  }
  void take_with_operands(const Node& node) {
    if (std::find(nodes_.begin(), nodes_.end(), &node) != nodes_.end()) return;
    for (const Operand& operand : node.operands) {
      if (is_tensor(operand) && in_group(operand)) take_with_operands(*std::get<ValueRef>(operand).node);
    }
    nodes_.push_back(&node);
  }

  const DimVec& sizes() const { return group_.sizes; }
  // One element for each row.
  bool is_over_rows(const Node& node) const { return group_.folds_rows && !same(node.outs[0].spec.sizes, sizes()); }

  const Place& place(int value) const { return context_.places.layout().places[static_cast<size_t>(value)]; }
  int number(const Node* node) const { return context_.places.number({const_cast<Node*>(node), 0}); }
  int new_register() { return program_.register_count++; }

  // -1 unless the operand is the result of an earlier node of this group.
  int register_of_result(const Operand& operand) const {
    auto found = result_register_.find(context_.places.number(std::get<ValueRef>(operand)));
    return found == result_register_.end() ? -1 : found->second;
  }
  bool in_group(const Operand& operand) const {
    const Node* node = std::get<ValueRef>(operand).node;
    return std::find(group_.nodes.begin(), group_.nodes.end(), node) != group_.nodes.end();
  }

  // Strides by dimension of the group's sizes; 0 where the value is broadcast.
  std::vector<int64_t> broadcast_strides(const TensorSpec& spec) const {
    std::vector<int64_t> strides(static_cast<size_t>(sizes().size()), 0);
    int lead = sizes().size() - spec.rank();
    for (int d = 0; d < spec.rank(); ++d) {
      if (spec.sizes[d].value() != 1) strides[static_cast<size_t>(d + lead)] = spec.strides[d].value();
    }
    return strides;
  }

  Stream new_stream(int value) {
    Stream stream = {.value = value, .reg = new_register()};
    stream.item_size = static_cast<uint8_t>(item_size(place(value).spec.dtype));
    stream.strides = broadcast_strides(place(value).spec);
    return stream;
  }

  void collect_outputs() {
    for (const Node* node : group_.nodes) {
      if (!context_.is_seen_outside(*node, group_)) continue;
      program_.outputs.push_back(new_stream(number(node)));
      // What a reduction leaves without the last dim.
      const TensorSpec& spec = node->outs[0].spec;
      if (is_over_rows(*node) && spec.rank() == sizes().size() - 1) {
        for (int d = 0; d < spec.rank(); ++d)
          program_.outputs.back().strides[static_cast<size_t>(d)] = spec.strides[d].value();
        program_.outputs.back().strides.back() = 0;
      }
      output_of_[node] = program_.outputs.back().reg;
    }
    program_.numel = product(sizes().span()).value();
  }

  void collect_inputs() {
    for (const LoopOp& op : parsed_) {
      for (int i = 0; i < op.operand_count; ++i) {
        if (!is_tensor(*op.operands[i]) || in_group(*op.operands[i])) continue;
        int value = context_.places.number(std::get<ValueRef>(*op.operands[i]));
        bool single = program_.numel > 1 && place(value).spec.numel().value() == 1;
        if (single || stream_of_.contains(value)) continue;
        stream_of_[value] = program_.inputs.size();
        program_.inputs.push_back(new_stream(value));
      }
    }
  }

  template <typename F>
  void for_each_stream(F&& f) {
    for (Stream& stream : program_.inputs) f(stream);
    for (Stream& stream : program_.outputs) f(stream);
  }

  // Dimensions in the order of the first result's memory, merged where every stream allows.
  void choose_iteration() {
    const Stream& lead = program_.outputs.empty() ? program_.inputs[0] : program_.outputs[0];
    std::vector<int64_t> lead_strides = lead.strides;
    std::vector<int> order;
    for (int d = 0; d < sizes().size(); ++d) {
      if (sizes()[d].value() != 1) order.push_back(d);
    }
    if (!group_.folds_rows) {
      std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
        return lead_strides[static_cast<size_t>(a)] > lead_strides[static_cast<size_t>(b)];
      });
    }
    permute(order);
    merge_dimensions();
    if (program_.sizes.empty()) {
      program_.sizes = {1};
      for_each_stream([](Stream& stream) { stream.strides = {1}; });
    }
    choose_access();
  }

  void permute(const std::vector<int>& order) {
    for (int d : order) program_.sizes.push_back(sizes()[d].value());
    for_each_stream([&](Stream& stream) {
      std::vector<int64_t> strides;
      for (int d : order) strides.push_back(stream.strides[static_cast<size_t>(d)]);
      stream.strides = std::move(strides);
    });
  }

  void merge_dimensions() {
    // A row that is folded stays one.
    size_t end = program_.sizes.size() - (group_.folds_rows && !program_.sizes.empty() ? 1 : 0);
    for (size_t d = end; d-- > 1;) {
      bool merges = true;
      for_each_stream([&](const Stream& stream) {
        merges = merges && stream.strides[d - 1] == stream.strides[d] * program_.sizes[d];
      });
      if (!merges) continue;
      program_.sizes[d - 1] *= program_.sizes[d];
      program_.sizes.erase(program_.sizes.begin() + static_cast<std::ptrdiff_t>(d));
      for_each_stream(
          [&](Stream& stream) { stream.strides.erase(stream.strides.begin() + static_cast<std::ptrdiff_t>(d - 1)); });
    }
  }

  bool is_linear(const Stream& stream) const {
    int64_t expected = 1;
    for (size_t d = program_.sizes.size(); d-- > 0;) {
      if (stream.strides[d] != expected) return false;
      expected *= program_.sizes[d];
    }
    return true;
  }

  void choose_access() {
    bool by_row = group_.folds_rows || program_.sizes.size() == 1 || program_.sizes.back() >= kMinRow;
    program_.row_length = by_row ? program_.sizes.back() : program_.numel;
    program_.rows = program_.row_length == 0 ? 0 : program_.numel / program_.row_length;
    for_each_stream([&](Stream& stream) {
      if (is_linear(stream)) {
        stream.access = StreamAccess::Linear;
      } else if (!by_row) {
        stream.access = StreamAccess::Walked;
      } else {
        stream.access = stream.strides.back() == 1 ? StreamAccess::RowLinear : StreamAccess::Strided;
      }
    });
    auto mark_row_scalars = [](std::vector<Stream>& streams) {
      for (Stream& stream : streams) {
        bool is_one = stream.access == StreamAccess::Strided && stream.strides.back() == 0;
        if (is_one) stream.access = StreamAccess::RowScalar;
      }
    };
    mark_row_scalars(program_.inputs);
    if (group_.folds_rows) mark_row_scalars(program_.outputs);
  }

  // A number, or a tensor of one element, as one element of the dtype that the loop wants.
  int scalar_register(const Operand& operand, DType dtype) {
    LoopScalar scalar = {.dtype = dtype};
    if (const auto* constant = std::get_if<Scalar>(&operand)) {
      store_scalar(dtype, *constant, &scalar.bits);
    } else {
      ValueRef value = std::get<ValueRef>(operand);
      if (info_of(value).is_scalar) {
        scalar.input = context_.places.input_position(*value.node);
      } else {
        scalar.value = context_.places.number(value);
      }
    }
    for (const LoopScalar& known : program_.scalars) {
      if (known.dtype == dtype && known.value == scalar.value && known.input == scalar.input &&
          known.bits == scalar.bits) {
        return known.reg;
      }
    }
    scalar.reg = new_register();
    program_.scalars.push_back(scalar);
    return scalar.reg;
  }

  // A tensor of one element where the loop has no form that reads it once: its tile is filled with it.
  int splat_register(int value) {
    auto found = stream_of_.find(value);
    if (found == stream_of_.end()) {
      found = stream_of_.emplace(value, program_.inputs.size()).first;
      Stream stream = {.value = value, .reg = new_register(), .access = StreamAccess::Strided};
      stream.item_size = static_cast<uint8_t>(item_size(place(value).spec.dtype));
      stream.strides.assign(program_.sizes.size(), 0);
      program_.inputs.push_back(std::move(stream));
    }
    return program_.inputs[found->second].reg;
  }

  // Operands that the loop may read once: numbers always, single elements if there is a loop for that.
  unsigned scalar_mask(const LoopOp& op) const {
    unsigned numbers = number_mask(op);
    if (op.is_single) return numbers;
    unsigned all = numbers;
    for (int i = 0; i < op.operand_count; ++i) {
      if (is_tensor(*op.operands[i]) && is_single(op, i)) all |= 1u << i;
    }
    bool everything = all == (1u << op.operand_count) - 1u;
    return !everything && pointwise_loop(op.row, op.dtype, all) != nullptr ? all : numbers;
  }

  bool is_single(const LoopOp& op, int i) const {
    if (in_group(*op.operands[i]))
      return is_over_rows(*std::get<ValueRef>(*op.operands[i]).node) && scalar_operand_dtype(op.dtype) == op.dtype;
    auto found = stream_of_.find(context_.places.number(std::get<ValueRef>(*op.operands[i])));
    if (found == stream_of_.end()) return true;
    const Stream& stream = program_.inputs[found->second];
    return stream.access == StreamAccess::RowScalar && scalar_operand_dtype(op.dtype) == op.dtype;
  }

  int operand_register(const LoopOp& op, int i, unsigned mask) {
    const Operand& operand = *op.operands[i];
    bool is_condition =
        op.row >= 0 && i == 0 && pointwise_rows()[static_cast<size_t>(op.row)].result == PointwiseResult::Select;
    DType dtype = is_condition ? DType::bool_ : op.row >= 0 ? scalar_operand_dtype(op.dtype) : op.dtype;
    bool once = (mask >> i & 1u) != 0;
    if (is_number(operand)) return scalar_register(operand, dtype);
    if (int reg = register_of_result(operand); reg >= 0) {
      bool one_for_many = is_over_rows(*std::get<ValueRef>(operand).node) && !op.is_single;
      if (one_for_many && !once) needs_row_of_ = true;
      return reg;
    }
    int value = context_.places.number(std::get<ValueRef>(operand));
    auto found = stream_of_.find(value);
    if (found == stream_of_.end()) return once ? scalar_register(operand, dtype) : splat_register(value);
    Stream& stream = program_.inputs[found->second];
    if (stream.access == StreamAccess::RowScalar && !once && !op.is_single) needs_splat_.push_back(found->second);
    return stream.reg;
  }

  void emit_code() {
    // A row scalar that some op cannot read once is a filled tile for all of them.
    do {
      for (size_t stream : std::exchange(needs_splat_, {})) program_.inputs[stream].access = StreamAccess::Strided;
      program_.code.clear();
      program_.params.clear();
      read_once_.clear();
      result_register_.clear();
      for (size_t i = 0; i < parsed_.size(); ++i) emit(*nodes_[i], parsed_[i]);
    } while (!needs_splat_.empty());
  }

  void emit(const Node& node, const LoopOp& op) {
    LoopInstruction instruction;
    instruction.fold = op.fold;
    instruction.is_single = op.is_single;
    unsigned mask = op.row < 0 ? 0u : scalar_mask(op);
    for (int i = 0; i < op.operand_count; ++i) instruction.src[i] = operand_register(op, i, mask);
    if (op.fold.run != nullptr) {
      // The fold says all.
    } else if (op.row < 0) {
      instruction.convert = loops().convert[static_cast<int>(op.dtype)][static_cast<int>(op.result)];
    } else {
      instruction.loop = pointwise_loop(op.row, op.dtype, mask);
    }
    if (op.param != nullptr) {
      instruction.params = static_cast<int>(program_.params.size());
      program_.params.push_back(*op.param);
    }
    auto output = output_of_.find(&node);
    instruction.dst = output != output_of_.end() ? output->second : temporary_register(node);
    result_register_[number(&node)] = instruction.dst;
    program_.code.push_back(instruction);
    read_once_.push_back(mask);
  }

  int temporary_register(const Node& node) {
    auto [found, is_new] = temporary_.emplace(&node, program_.register_count);
    if (is_new) ++program_.register_count;
    return found->second;
  }

  void find_runs() {
    std::vector<int> last = last_reads();
    std::vector<CodeInstruction> instructions;
    std::vector<bool> is_alone;
    for (size_t i = 0; i < parsed_.size(); ++i) {
      const LoopOp& op = parsed_[i];
      const LoopInstruction& instruction = program_.code[i];
      CodeInstruction code = {.row = op.row, .dtype = op.dtype, .result = op.result};
      code.operand_count = op.operand_count;
      std::copy(instruction.src, instruction.src + op.operand_count, code.src);
      code.once = read_once_[i];
      code.dst = instruction.dst;
      code.last_read = is_temporary(instruction.dst) ? last[static_cast<size_t>(instruction.dst)] : kReadOutside;
      code.param = op.param;
      instructions.push_back(code);
      is_alone.push_back(op.is_single || op.fold.run != nullptr);
    }
    runs_ = find_code_runs(instructions, is_alone);
  }

  // Last instruction that reads each register.
  std::vector<int> last_reads() const {
    std::vector<int> last(static_cast<size_t>(program_.register_count), -1);
    for (size_t i = 0; i < program_.code.size(); ++i) {
      for (int src : program_.code[i].src) {
        if (src >= 0) last[static_cast<size_t>(src)] = static_cast<int>(i);
      }
    }
    return last;
  }

  // Tiles for intermediates, used again once they are dead, and for streams that are copied. False: they do not fit.
  bool place_scratch() {
    std::vector<int> last = last_reads();
    std::vector<int> free_slots;
    std::vector<int> slot_of(static_cast<size_t>(program_.register_count), -1);
    std::vector<int> busy_slot = slot_of;
    int slots = 0;
    int64_t largest_item = 1;
    for (const CodeRun& run : runs_.runs) {
      // Not over an operand of this run: the item sizes may differ.
      for (size_t i = run.begin; i < run.end; ++i) {
        int dst = program_.code[i].dst;
        largest_item = std::max<int64_t>(largest_item, static_cast<int64_t>(item_size(parsed_[i].result)));
        bool stays_inside = run.code != nullptr && last[static_cast<size_t>(dst)] < static_cast<int>(run.end);
        if (!is_temporary(dst) || holds_single(i) || stays_inside) continue;
        if (free_slots.empty()) free_slots.push_back(slots++);
        slot_of[static_cast<size_t>(dst)] = busy_slot[static_cast<size_t>(dst)] = free_slots.back();
        free_slots.pop_back();
      }
      for (size_t i = run.begin; i < run.end; ++i) {
        for (int src : program_.code[i].src) {
          if (src < 0 || last[static_cast<size_t>(src)] >= static_cast<int>(run.end)) continue;
          int slot = std::exchange(busy_slot[static_cast<size_t>(src)], -1);
          if (slot >= 0) free_slots.push_back(slot);
        }
      }
    }
    for_each_stream([&](Stream& stream) {
      if (!is_copied(stream)) return;
      stream.tile_offset = slots++;
      largest_item = std::max<int64_t>(largest_item, stream.item_size);
    });
    int64_t tile =
        slots == 0 ? kMaxTile : std::min(kMaxTile, kScratchBytes / (slots * largest_item) / kMinTile * kMinTile);
    if (group_.folds_rows) tile = program_.row_length;
    if (tile < kMinTile) return false;
    program_.tile = tile;
    program_.scratch_bytes = slots * tile * largest_item;
    for_each_stream([&](Stream& stream) { stream.tile_offset *= tile * largest_item; });
    for (size_t reg = 0; reg < slot_of.size(); ++reg) {
      if (slot_of[reg] >= 0) program_.scratch.emplace_back(static_cast<int>(reg), slot_of[reg] * tile * largest_item);
    }
    if (!group_.folds_rows) return true;
    // Single elements never take each other's place.
    constexpr int64_t kCacheLine = 64;
    program_.scratch_bytes = (program_.scratch_bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
    for (size_t i = 0; i < program_.code.size(); ++i) {
      if (!holds_single(i) || !is_temporary(program_.code[i].dst)) continue;
      program_.scratch.emplace_back(program_.code[i].dst, program_.scratch_bytes);
      program_.scratch_bytes += kCacheLine;
    }
    return program_.scratch_bytes <= kRowScratchBytes;
  }

  // The instruction's result is one element for the row.
  bool holds_single(size_t instruction) const {
    return parsed_[instruction].is_single || parsed_[instruction].fold.run != nullptr;
  }
  bool is_temporary(int reg) const {
    return std::any_of(temporary_.begin(), temporary_.end(), [&](const auto& entry) { return entry.second == reg; });
  }
  static bool is_copied(const Stream& stream) {
    return stream.access == StreamAccess::Strided || stream.access == StreamAccess::Walked;
  }

  // A result may lie over an operand of the same layout that no later instruction reads.
  void find_shared_memory(LoweredStep& lowered) const {
    std::vector<int> last = last_reads();
    std::vector<int> taken;
    std::vector<Stream> inputs = program_.inputs;
    std::stable_partition(inputs.begin(), inputs.end(), [&](const Stream& s) { return s.value == overwritten_; });
    for (const Stream& output : program_.outputs) {
      auto writer = std::find_if(program_.code.begin(), program_.code.end(),
                                 [&](const LoopInstruction& instruction) { return instruction.dst == output.reg; });
      int written = static_cast<int>(writer - program_.code.begin());
      for (const Stream& input : inputs) {
        bool same_layout = !is_copied(output) && input.access == output.access && input.strides == output.strides &&
                           input.item_size == output.item_size;
        // A cast reads and writes at different types: only later than the operand's last use.
        int free_from = writer->convert != nullptr ? written - 1 : written;
        if (!same_layout || last[static_cast<size_t>(input.reg)] > free_from || shares_buffer(input)) continue;
        if (place(input.value).offset != 0 || std::find(taken.begin(), taken.end(), input.value) != taken.end())
          continue;
        taken.push_back(input.value);
        lowered.may_share.emplace_back(output.value, input.value);
        break;
      }
    }
  }

  bool shares_buffer(const Stream& input) const {
    return std::any_of(program_.inputs.begin(), program_.inputs.end(), [&](const Stream& other) {
      return other.value != input.value && place(other.value).buffer == place(input.value).buffer;
    });
  }

  BuiltLoop finish() {
    BuiltLoop built;
    built.ok = true;
    Work& work = built.work;
    double ns = 0;
    double numel = static_cast<double>(program_.numel);
    for_each_stream([&](const Stream& stream) {
      built.lowered.touched.push_back(stream.value);
      work.bytes += numel * stream.item_size;
      ns += 0.03 * stream.item_size + (is_copied(stream) ? 0.5 : 0.0);
    });
    for (const LoopScalar& scalar : program_.scalars) {
      if (scalar.value >= 0) built.lowered.touched.push_back(scalar.value);
    }
    for (const LoopOp& op : parsed_) {
      ns += op.is_costly ? 0.8 : 0.02 * static_cast<double>(item_size(op.dtype));
      work.flops += numel * (op.is_costly ? 20 : 1);
    }
    program_.ns_per_element = ns;
    find_shared_memory(built.lowered);
    built.names = describe();
    join_runs();
    built.program = std::move(program_);
    return built;
  }

  // One instruction for each run.
  void join_runs() {
    std::vector<LoopInstruction> joined;
    for (const CodeRun& run : runs_.runs) {
      if (run.code != nullptr) program_.machine_operations += static_cast<int>(run.end - run.begin);
      joined.push_back(run.code == nullptr ? program_.code[run.begin] : LoopInstruction{.code = run.code});
    }
    program_.code = std::move(joined);
    program_.machine_code = std::move(runs_.memory);
  }

  std::string describe() const {
    std::string text = group_.nodes.size() == 1 ? "loop " : "fused loop ";
    for (size_t i = 0; i < group_.nodes.size(); ++i) text += (i > 0 ? ", " : "") + group_.nodes[i]->op->name;
    text += " ->";
    for (const Node* node : group_.nodes) {
      if (output_of_.contains(node)) text += " " + node->name;
    }
    return text + str_cat(" (", program_.rows, " x ", program_.row_length, ")");
  }

  const Group& group_;
  LoweringContext& context_;
  int overwritten_;
  LoopProgram program_;
  std::vector<const Node*> nodes_;  // of the group, in the order of the code
  std::vector<LoopOp> parsed_;
  std::vector<unsigned> read_once_;  // by instruction: bits of such operands
  CodeRuns runs_;
  std::unordered_map<const Node*, int> output_of_;  // register of a result in memory
  std::unordered_map<const Node*, int> temporary_;  // register of any other result
  std::unordered_map<int, int> result_register_;    // by value
  std::unordered_map<int, size_t> stream_of_;       // by value: position among the inputs
  std::vector<size_t> needs_splat_;
  bool needs_row_of_ = false;  // an instruction wants a row filled with what a reduction leaves
};

}  // namespace

BuiltLoop build_loop(const Group& group, LoweringContext& context, int overwritten) {
  return LoopBuilder(group, context, overwritten).build();
}

}  // namespace md
