#include "executor/loops/loop_builder.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "executor/loops/gather_rows.h"
#include "executor/loops/loop_draft.h"
#include "executor/loops/loop_group.h"
#include "executor/loops/loop_iteration.h"
#include "executor/loops/loop_memory.h"
#include "executor/loops/turned_operands.h"
#include "tensor/fill.h"
#include "tensor/ops/checked_numbers.h"

namespace md {
namespace {

class LoopBuilder {
 public:
  LoopBuilder(const Group& group, LoweringContext& context, int overwritten)
      : group_(group), context_(context), ops_(group, context), overwritten_(overwritten) {
    if (chooses_rows() || !context.changes(group)) return;
    form_ = std::make_shared<LoopForm>();
    form_->by_rows = ops_.by_rows();
    form_->steps = ops_.steps();
    if (add_nodes(*form_, group, *context.sized)) return;
    form_ = nullptr;
    context.keeps_sizes = true;
  }

  BuiltLoop build() {
    if (is_unrolled() && !ops_.all_results_are_folded())
      return failed("elements of the rows that it folds are seen outside");
    collect_outputs();
    collect_inputs();
    if (program().register_count + static_cast<int64_t>(ops_.nodes().size()) * (ops_.steps() + 1) > kMaxLoopRegisters)
      return failed("too many operands");
    if (!order()) return failed("what it reads does not lie by rows");
    if (!turn_inputs()) return failed("what it reads rolled is traversed in another order");
    keep_planned();
    if (program().sizes.size() > kMaxLoopRank) return failed("too many dimensions");
    emit_code();
    if (chooses_rows() && any_copied()) return failed("what it reads does not lie by rows");
    if (needs_row_of_) return failed("an operation reads what a reduction leaves, and has no loop for that");
    if (program().scalars.size() > kMaxLoopScalars) return failed("too many numbers");
    if (overwritten_ < 0)
      share_addresses(draft_, context_.places.layout(), [this](int a, int b) { return keep_distance(a, b); });
    find_runs(draft_);
    if (!place_scratch(draft_, ops_.by_rows())) return failed("too many values alive at once");
    if (overwritten_ < 0 && overwrites_what_it_reads(draft_, context_.places.layout()))
      return failed("its results lie where other elements are read");
    return finish();
  }

 private:
  // A value at one step: in an unrolled loop, each full-size value has several parts.
  struct Part {
    int value;
    int64_t step;
    bool operator==(const Part&) const = default;
    auto operator<=>(const Part&) const = default;
  };

  static BuiltLoop failed(const char* reason) {
    BuiltLoop built;
    built.lowered.note = reason;
    return built;
  }

  LoopProgram& program() { return draft_.program; }
  const LoopProgram& program() const { return draft_.program; }
  bool is_unrolled() const { return ops_.is_unrolled(); }
  const DimVec& sizes() const { return group_.sizes; }
  const Place& place(int value) const { return ops_.place(value); }

  bool chooses_rows() const { return !group_.gathers.empty() || group_.sums != nullptr; }
  bool any_copied() const {
    return std::any_of(program().inputs.begin(), program().inputs.end(), [](const Stream& s) { return is_copied(s); });
  }

  // Chooses the iteration order.
  bool order() {
    if (!chooses_rows()) {
      choose_iteration(program(), ops_.loop_sizes(), ops_.by_rows());
      pack_inputs(program());
      return true;
    }
    int lead = group_.sums != nullptr ? row_dims(*group_.sums)
                                      : as_row_gather(*group_.gathers[0])->index.node->outs[0].spec.rank();
    return !is_unrolled() && choose_row_iteration(program(), ops_.loop_sizes(), lead, ops_.by_rows(), row_strides_);
  }

  // Results of rolls, which the order has been chosen for, become their operands.
  bool turn_inputs() {
    for (Stream& stream : program().inputs) {
      const Node* roll = ops_.turned_of(stream.value);
      if (roll == nullptr) continue;
      if (stream.access != StreamAccess::Linear) return false;
      stream.access = StreamAccess::Turned;
      stream.value = context_.places.number(*turned_operand(*roll));
      stream.turn = static_cast<int>(program().turns.size());
      program().turns.push_back(turn_of(*roll, place(stream.value).spec));
    }
    return true;
  }

  int new_register() { return program().register_count++; }

  // The access of all streams so far.
  void keep_access(StreamAccess StreamForm::* which) {
    auto keep = [which](const std::vector<Stream>& streams, std::vector<StreamForm>& forms) {
      for (size_t i = 0; i < streams.size(); ++i) forms[i].*which = streams[i].access;
    };
    keep(program().inputs, form_->inputs);
    keep(program().outputs, form_->outputs);
  }

  void keep_planned() {
    if (form_ == nullptr) return;
    form_->splats_from = program().inputs.size();
    keep_access(&StreamForm::planned);
  }

  Stream new_stream(int value, std::vector<int64_t> strides, int64_t step) {
    Stream stream = {.value = value, .reg = new_register()};
    stream.item_size = static_cast<uint8_t>(item_size(place(value).spec.dtype));
    set_strides(stream, std::move(strides), is_unrolled(), step);
    return stream;
  }

  // A stream of rows of `value`, row_stride elements apart, selected by `choice`.
  Stream new_chosen_stream(int value, const RowChoice& choice, std::vector<int64_t> strides, int64_t row_stride) {
    Stream stream = new_stream(value, std::move(strides), 0);
    stream.choice = static_cast<int>(program().choices.size());
    program().choices.push_back(choice);
    row_strides_.push_back(row_stride);
    return stream;
  }

  // The accumulators of sums are read and written.
  void collect_sums() {
    RowSums sums = *as_row_sums(*group_.sums);
    const TensorSpec& spec = spec_of(sums.source);
    int64_t length = 1, row = 1;
    std::vector<int64_t> strides(static_cast<size_t>(spec.rank()));
    for (int d = spec.rank() - 1; d >= 0; --d) {
      strides[static_cast<size_t>(d)] = length;
      length *= spec.sizes[d].value();
      if (d == row_dims(*group_.sums)) row = length;
    }
    RowChoice choice = {.index = sums.index ? context_.places.number(*sums.index) : -1,
                        .repeat = sums.repeat,
                        .extent = group_.sums->outs[0].spec.sizes[0].value()};
    program().inputs.push_back(new_chosen_stream(ops_.number(group_.sums), choice, strides, row));
    Stream written = program().inputs.back();
    written.reg = new_register();
    program().outputs.push_back(std::move(written));
  }
  void emit_sums() {
    Operand source = as_row_sums(*group_.sums)->source;
    LoopOp op = {.row = static_cast<int>(Pointwise::add), .operand_count = 2};
    op.dtype = op.result = group_.sums->outs[0].spec.dtype;
    LoopInstruction instruction;
    instruction.src[0] = std::find_if(program().inputs.begin(), program().inputs.end(), [&](const Stream& stream) {
                           return stream.value == ops_.number(group_.sums);
                         })->reg;
    instruction.src[1] = ops_.contains(source) ? register_of(*std::get<ValueRef>(source).node, 0)
                                               : program().inputs[*stream_of(ops_.number(source), 0)].reg;
    instruction.dst = program().outputs.back().reg;
    instruction.loop = pointwise_loop(op.row, op.dtype, 0);
    draft_.code.push_back({.step = instruction, .op = op});
  }

  void collect_outputs() {
    for (const Node* node : ops_.nodes()) {
      if (!context_.is_seen_outside(*node, group_)) continue;
      const TensorSpec& spec = place(ops_.number(node)).spec;
      // The result of a reduction lacks the last dim.
      bool drops_last = ops_.is_over_rows(*node) && spec.rank() == sizes().size() - 1;
      std::vector<int64_t> strides = broadcast_strides(spec, sizes(), drops_last);
      program().outputs.push_back(new_stream(ops_.number(node), std::move(strides), 0));
      if (form_ != nullptr) form_->outputs.push_back({.drops_last = drops_last});
      output_of_[node] = program().outputs.back().reg;
    }
    if (group_.sums != nullptr) collect_sums();
    program().numel = 1;
    for (int64_t size : ops_.loop_sizes()) program().numel *= size;
  }

  void collect_inputs() {
    for (const Node* node : ops_.nodes()) {
      LoopOp op = ops_.parse(*node);
      for (int i = 0; i < op.operand_count; ++i) {
        if (!is_tensor(*op.operands[i]) || ops_.contains(*op.operands[i])) continue;
        int value = ops_.number(*op.operands[i]);
        bool single = product(sizes().span()).value() > 1 && place(value).spec.numel().value() == 1;
        if (!single) add_input(value);
      }
    }
    if (group_.sums == nullptr) return;
    Operand source = as_row_sums(*group_.sums)->source;
    if (!ops_.contains(source)) add_input(ops_.number(source));
  }

  void add_input(int value) {
    std::vector<int64_t> strides = broadcast_strides(place(value).spec, sizes(), false);
    if (const Node* gather = ops_.gather_of(value)) {
      if (stream_of_.contains({value, 0})) return;
      stream_of_[{value, 0}] = program().inputs.size();
      RowGather rows = *as_row_gather(*gather);
      const TensorSpec& table = spec_of(rows.table);
      RowChoice choice = {.index = context_.places.number(rows.index), .extent = table.sizes[0].value()};
      program().inputs.push_back(
          new_chosen_stream(context_.places.number(rows.table), choice, std::move(strides), table.strides[0].value()));
      return;
    }
    bool differs_by_step = is_unrolled() && strides.back() != 0;
    for (int64_t step = 0; step < (differs_by_step ? ops_.steps() : 1); ++step) {
      if (stream_of_.contains({value, step})) return;
      stream_of_[{value, step}] = program().inputs.size();
      program().inputs.push_back(new_stream(value, strides, step));
      if (form_ != nullptr) form_->inputs.push_back({.step = step});
    }
    steps_of_[value] = differs_by_step;
  }

  // The input stream of an external value at a step; nullopt for a single element.
  std::optional<size_t> stream_of(int value, int64_t step) const {
    auto differs = steps_of_.find(value);
    auto found = stream_of_.find({value, differs != steps_of_.end() && differs->second ? step : 0});
    return found == stream_of_.end() ? std::nullopt : std::optional(found->second);
  }

  // A number, or a tensor of one element, as one element of the dtype expected by the loop.
  int scalar_register(const Operand& operand, DType dtype, const LoopScalar& checks = {}) {
    LoopScalar scalar = {.dtype = dtype};
    const Operand* changing = changes(operand) ? &operand : nullptr;
    if (const auto* constant = std::get_if<Scalar>(&operand)) {
      store_scalar(dtype, *constant, &scalar.bits);
    } else {
      ValueRef value = std::get<ValueRef>(operand);
      if (info_of(value).is_scalar) {
        scalar.input = context_.places.input_position(*value.node);
        scalar.checked_by = checks.checked_by;
        scalar.holds = checks.holds;
      } else {
        scalar.value = context_.places.number(value);
      }
    }
    for (size_t i = 0; i < program().scalars.size(); ++i) {
      const LoopScalar& known = program().scalars[i];
      if (changing_[i] == changing && known.dtype == dtype && known.value == scalar.value &&
          known.input == scalar.input && known.bits == scalar.bits && known.checked_by == scalar.checked_by &&
          known.holds == scalar.holds) {
        return known.reg;
      }
    }
    scalar.reg = new_register();
    program().scalars.push_back(scalar);
    changing_.push_back(changing);
    return scalar.reg;
  }

  // Whether it is an operand of a node that follows from sizes.
  bool changes(const Operand& operand) const {
    if (context_.sized == nullptr || !std::holds_alternative<Scalar>(operand)) return false;
    return std::any_of(ops_.nodes().begin(), ops_.nodes().end(), [&](const Node* node) {
      for (size_t i = 0; i < node->operands.size(); ++i)
        if (&node->operands[i] == &operand) return is_sized_number(*context_.sized, *node, i);
      return false;
    });
  }

  // A tensor of one element where no loop variant takes a scalar: fills a tile with it.
  int splat_register(int value) {
    size_t position = program().inputs.size();
    stream_of_[{value, 0}] = position;
    Stream stream = {.value = value, .reg = new_register(), .access = StreamAccess::Strided};
    stream.item_size = static_cast<uint8_t>(item_size(place(value).spec.dtype));
    stream.strides.assign(program().sizes.size(), 0);
    program().inputs.push_back(std::move(stream));
    if (form_ != nullptr) form_->inputs.push_back({.planned = StreamAccess::Strided});
    return program().inputs[position].reg;
  }

  // Operands passed as scalars: numbers always, single elements if there is a loop variant for that.
  unsigned scalar_mask(const LoopOp& op, int64_t step) const {
    unsigned numbers = number_mask(op);
    if (op.is_single) return numbers;
    unsigned all = numbers;
    for (int i = 0; i < op.operand_count; ++i) {
      if (is_tensor(*op.operands[i]) && is_single(op, i, step)) all |= 1u << i;
    }
    bool everything = all == (1u << op.operand_count) - 1u;
    return !everything && pointwise_loop(op.row, op.dtype, all) != nullptr ? all : numbers;
  }

  bool is_single(const LoopOp& op, int i, int64_t step) const {
    bool has_loop_dtype = scalar_operand_dtype(op.dtype) == op.dtype;
    if (ops_.contains(*op.operands[i]))
      return ops_.by_rows() && ops_.is_over_rows(*std::get<ValueRef>(*op.operands[i]).node) && has_loop_dtype;
    std::optional<size_t> stream = stream_of(ops_.number(*op.operands[i]), step);
    // The product of a parameter and a number would be rounded.
    bool may_convert = has_loop_dtype || op.param_count == 0;
    return !stream || (program().inputs[*stream].access == StreamAccess::RowScalar && may_convert);
  }

  // The row's one element in the dtype that the loop reads numbers in.
  int row_number_register(size_t stream, DType dtype) {
    const Stream& input = program().inputs[stream];
    if (scalar_operand_dtype(dtype) == dtype) return input.reg;
    auto known = row_number_of_.find(stream);
    if (known != row_number_of_.end()) return known->second;
    LoopOp op = {.dtype = dtype, .result = scalar_operand_dtype(dtype), .operand_count = 1, .is_single = true};
    LoopInstruction instruction;
    instruction.src[0] = input.reg;
    instruction.is_single = true;
    return row_number_of_[stream] = append(instruction, op, 0, nullptr);
  }

  int operand_register(const LoopOp& op, int i, unsigned mask, int64_t step) {
    const Operand& operand = *op.operands[i];
    bool is_condition =
        op.row >= 0 && i == 0 && pointwise_rows()[static_cast<size_t>(op.row)].result == PointwiseResult::Select;
    DType dtype = is_condition ? DType::bool_ : op.row >= 0 ? scalar_operand_dtype(op.dtype) : op.dtype;
    bool once = (mask >> i & 1u) != 0;
    if (is_number(operand)) {
      std::optional<DType> holds = op.row >= 0 ? checked_operand(op.row, i, op.dtype) : std::nullopt;
      LoopScalar checks;
      if (holds) checks.checked_by = op.op, checks.holds = *holds;
      return scalar_register(operand, dtype, checks);
    }
    if (ops_.contains(operand)) {
      const Node& node = *std::get<ValueRef>(operand).node;
      bool one_for_many = ops_.by_rows() && ops_.is_over_rows(node) && !op.is_single;
      if (one_for_many && !once) needs_row_of_ = true;
      return register_of(node, step);
    }
    std::optional<size_t> found = stream_of(ops_.number(operand), step);
    if (!found) return once ? scalar_register(operand, dtype) : splat_register(ops_.number(operand));
    Stream& stream = program().inputs[*found];
    if (stream.access == StreamAccess::RowScalar && !once && !op.is_single) needs_splat_.push_back(*found);
    return once ? row_number_register(*found, op.dtype) : stream.reg;
  }

  void emit_code() {
    // If some op needs a row scalar as a full tile, all ops use the filled tile.
    do {
      for (size_t stream : std::exchange(needs_splat_, {})) program().inputs[stream].access = StreamAccess::Strided;
      draft_.code.clear();
      program().params.clear();
      result_register_.clear();
      row_number_of_.clear();
      for (const Node* node : ops_.nodes()) {
        if (!is_unrolled() || ops_.is_over_rows(*node)) register_of(*node, 0);
      }
      if (group_.sums != nullptr) emit_sums();
    } while (!needs_splat_.empty());
    draft_.is_temporary.resize(static_cast<size_t>(program().register_count), false);
  }

  // Emits the node's instructions for the step, and those that it depends on, unless already emitted.
  int register_of(const Node& node, int64_t step) {
    Part part = {ops_.number(&node), is_unrolled() && !ops_.is_over_rows(node) ? step : 0};
    auto known = result_register_.find(part);
    if (known != result_register_.end()) return known->second;
    LoopOp op = ops_.parse(node);
    int reg = is_unrolled() && op.fold.run != nullptr ? emit_fold_by_steps(node, op) : emit(node, op, part.step);
    result_register_[part] = reg;
    return reg;
  }

  int emit(const Node& node, const LoopOp& op, int64_t step) {
    LoopInstruction instruction;
    instruction.fold = op.fold;
    instruction.is_single = op.is_single;
    unsigned mask = op.row < 0 ? 0u : scalar_mask(op, step);
    if (const Node* spread = op.fold.run == nullptr ? nullptr : ops_.spread_beside(node, op)) {
      instruction.fold.run = op.fold.mean_beside;
      instruction.src[0] = register_of(*spread, step);
      return append(instruction, op, mask, &node);
    }
    for (int i = 0; i < op.operand_count; ++i) instruction.src[i] = operand_register(op, i, mask, step);
    if (op.param_count > 0) {
      instruction.params = static_cast<int>(program().params.size());
      program().params.insert(program().params.end(), op.params.begin(), op.params.begin() + op.param_count);
    }
    return append(instruction, op, mask, &node);
  }

  // Reduces in the order of the kernels for so few elements: from the first to the last.
  int emit_fold_by_steps(const Node& node, const LoopOp& fold) {
    LoopOp op = {.dtype = fold.dtype, .result = fold.result, .operand_count = 2};
    auto combine = [&](Pointwise row, int a, int b, unsigned once, bool is_last) {
      LoopInstruction instruction;
      instruction.src[0] = a;
      instruction.src[1] = b;
      op.row = static_cast<int>(row);
      return append(instruction, op, once, is_last ? &node : nullptr);
    };
    const ShortReduction& steps = *fold.fold.elementwise;
    bool divides = steps.is_mean;
    int total = operand_register(fold, 0, 0, 0);
    if (ops_.steps() == 1) {
      total = combine(Pointwise::maximum, total, total, 0, !divides);
    } else if (steps.combine == Pointwise::add) {
      // Adding +0.0 makes a sum of negative zeros positive.
      total = combine(Pointwise::add, total, scalar_register(Operand(Scalar(0.0)), op.dtype), 2, false);
    }
    for (int64_t step = 1; step < ops_.steps(); ++step) {
      int element = operand_register(fold, 0, 0, step);
      total = combine(steps.combine, total, element, 0, step + 1 == ops_.steps() && !divides);
    }
    if (!divides) return total;
    int count = scalar_register(Operand(Scalar(static_cast<double>(ops_.steps()))), op.dtype);
    return combine(Pointwise::div, total, count, 2, true);
  }

  // `node` is null if the instruction computes only part of its result.
  int append(LoopInstruction instruction, const LoopOp& op, unsigned mask, const Node* node) {
    if (op.fold.run != nullptr && !is_unrolled()) {
      // The reduction defines the instruction.
    } else if (op.row < 0) {
      instruction.convert = loops().convert[static_cast<int>(op.dtype)][static_cast<int>(op.result)];
    } else {
      instruction.loop = pointwise_loop(op.row, op.dtype, mask);
    }
    auto output = node == nullptr ? output_of_.end() : output_of_.find(node);
    instruction.dst = output != output_of_.end() ? output->second : temporary_register(draft_.code.size());
    draft_.code.push_back({.step = instruction, .op = op, .once = mask});
    return instruction.dst;
  }

  int temporary_register(size_t instruction) {
    if (instruction >= temporaries_.size()) temporaries_.resize(instruction + 1, -1);
    int& reg = temporaries_[instruction];
    if (reg < 0) reg = new_register();
    draft_.is_temporary.resize(static_cast<size_t>(program().register_count), false);
    draft_.is_temporary[static_cast<size_t>(reg)] = true;
    return reg;
  }

  std::optional<ValueRef> operand_of(int number) const {
    std::optional<ValueRef> found;
    for (const Node* node : group_.nodes)
      for (const Operand& operand : node->operands)
        for_each_value(operand, [&](const ValueRef& value) {
          if (context_.places.number(value) == number) found = value;
        });
    return found;
  }

  // Where they do not, a plan for these sizes alone is better.
  bool keep_distance(int a, int b) {
    if (context_.sized == nullptr) return true;
    std::optional<ValueRef> first = operand_of(a), second = operand_of(b);
    bool keep = first && second && context_.sized->keep_distance(*first, *second);
    if (!keep) context_.stands_in = true;
    return keep;
  }

  BuiltLoop finish() {
    BuiltLoop built;
    built.ok = true;
    double ns = 0, bytes = 0, flops = 0;  // per element
    for (const auto* streams : {&program().inputs, &program().outputs}) {
      for (const Stream& stream : *streams) {
        built.lowered.touched.push_back(stream.value);
        bytes += stream.item_size;
        ns += 0.03 * stream.item_size + (is_copied(stream) ? 0.5 : 0.0);
      }
    }
    for (const LoopScalar& scalar : program().scalars) {
      if (scalar.value >= 0) built.lowered.touched.push_back(scalar.value);
    }
    for (const RowChoice& choice : program().choices) {
      if (choice.index >= 0) built.lowered.touched.push_back(choice.index);
    }
    for (const DraftInstruction& instruction : draft_.code) {
      const LoopOp& op = instruction.op;
      ns += op.is_costly ? 0.8 : 0.02 * static_cast<double>(item_size(op.dtype));
      flops += op.is_costly ? 20 : 1;
    }
    double numel = static_cast<double>(program().numel);
    built.work = {.bytes = numel * bytes, .flops = numel * flops};
    program().ns_per_element = ns;
    finish_sizes(program(), ops_.by_rows(), built.work.bytes);
    find_shared_memory(draft_, context_.places.layout(), overwritten_, built.lowered);
    built.form = finish_form(built.lowered, bytes, flops);
    built.names = describe();
    if (is_unrolled()) built.form_text = str_cat(", rows of ", ops_.steps(), " element by element");
    join_runs(draft_);
    built.program = std::move(program());
    return built;
  }

  // Numbers in parameters are in the machine code.
  LoopFormPtr finish_form(const LoweredStep& lowered, double bytes, double flops) {
    if (form_ == nullptr) return nullptr;
    keep_access(&StreamForm::used);
    form_->is_flat = !ops_.by_rows() && !is_unrolled() && is_flat(program(), form_->splats_from);
    form_->numbers = changing_;
    form_->scratch = draft_.scratch;
    form_->may_share = lowered.may_share;
    form_->bytes_per_element = bytes;
    form_->flops_per_element = flops;
    const std::vector<Stream>& inputs = program().inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].follows) continue;
      const CodePlace& at = draft_.places[static_cast<size_t>(inputs[i].reg)];
      auto leader = std::find_if(inputs.begin(), inputs.end(), [&](const Stream& s) { return s.reg == at.base; });
      form_->followers.push_back({i, static_cast<size_t>(leader - inputs.begin()), at.bytes});
    }
    return form_;
  }

  std::string describe() const {
    std::string text = group_.nodes.size() + group_.turned.size() == 1 ? "loop " : "fused loop ";
    for (const Node* roll : group_.turned) text += roll->op->name + ", ";
    for (size_t i = 0; i < group_.nodes.size(); ++i) text += (i > 0 ? ", " : "") + group_.nodes[i]->op->name;
    text += " ->";
    for (const Node* node : group_.nodes) {
      if (output_of_.contains(node) || node == group_.sums) text += " " + node->name;
    }
    return text;
  }

  const Group& group_;
  LoweringContext& context_;
  LoopGroup ops_;
  int overwritten_;
  LoopDraft draft_;
  std::vector<int64_t> row_strides_;                // by index into the choices
  std::unordered_map<const Node*, int> output_of_;  // register of a result in memory
  std::map<Part, int> result_register_;
  std::map<size_t, int> row_number_of_;     // by input
  std::map<Part, size_t> stream_of_;        // index among the inputs
  std::unordered_map<int, bool> steps_of_;  // by value: whether it has a stream per step
  std::vector<int> temporaries_;            // by instruction: its register unless it is an output
  std::vector<size_t> needs_splat_;
  std::vector<const Operand*> changing_;  // by scalar: the operand that it is, if that follows from sizes
  std::shared_ptr<LoopForm> form_;        // null: the loop keeps its sizes
  bool needs_row_of_ = false;             // an instruction needs a reduction's result broadcast to a row
};

}  // namespace

BuiltLoop build_loop(const Group& group, LoweringContext& context, int overwritten) {
  return LoopBuilder(group, context, overwritten).build();
}

}  // namespace md
