// Runs loops with indexed rows. Indices are checked before anything is written.
#include <algorithm>
#include <atomic>

#include "executor/loops/gather_rows.h"
#include "executor/loops/loop_builder.h"
#include "graph/value_info.h"
#include "tensor/fill.h"
#include "tensor/parallel/threads.h"
#include "tensor/simd/copy.h"
#include "tensor/simd/element_walk.h"

namespace md {
namespace {

constexpr int64_t kLineBytes = 64;
constexpr int64_t kSumBytes = 8 * 1024;  // of sums computed together; fits into the L1 cache

// One index tensor, and the node whose kernel reports out-of-range indices.
struct CheckedIndex {
  int value;
  int64_t count, extent;
  bool wraps;
  const OpRow* op;
  std::shared_ptr<const OpRow> owned_op;
  std::vector<Arg> args;  // of the right sizes; `at` is the position of the indices
  TensorSpec out;
  size_t at;
  bool is_in_list;

  bool fits(const int64_t* places) const {
    std::atomic<bool> all = true;
    parallel_for(count, 0.15, [&](int64_t begin, int64_t end) {
      if (!loops().indices_fit(places + begin, end - begin, extent)) all = false;
    });
    int64_t least = wraps ? -extent : 0;
    return all || std::all_of(places, places + count, [&](int64_t place) { return place >= least && place < extent; });
  }
  [[noreturn]] void raise_outside(const RunState& state) const {
    std::vector<Arg> real;
    for (const Arg& arg : args) {
      const auto* tensor = std::get_if<Tensor>(&arg);
      real.push_back(tensor == nullptr ? arg : Arg(Tensor::empty(tensor->spec())));
    }
    real[at] = is_in_list ? Arg(std::vector<Tensor>{state.handle(value)}) : Arg(state.handle(value));
    std::vector<Tensor> outs = {Tensor::empty(out)};
    op->kernel(OpCall{*op, real}, outs);
    raise_internal(__FILE__, __LINE__, "a kernel takes indices that are outside");
  }
};

CheckedIndex checked_index(const Node& node, const ValueRef& index, int64_t extent, bool wraps,
                           const LoweringContext& context) {
  CheckedIndex checked = {.value = context.places.number(index),
                          .count = spec_of(index).numel().value(),
                          .extent = extent,
                          .wraps = wraps,
                          .op = node.op,
                          .owned_op = node.owned_op,
                          .args = {},
                          .out = node.outs[0].spec,
                          .at = 0,
                          .is_in_list = false};
  for (size_t i = 0; i < node.operands.size(); ++i) {
    for_each_value(node.operands[i], [&](const ValueRef& value) {
      if (!(value == index)) return;
      checked.at = i;
      checked.is_in_list = std::holds_alternative<std::vector<ValueRef>>(node.operands[i]);
    });
    checked.args.push_back(to_arg(node.operands[i], [](ValueRef value) -> Arg {
      if (info_of(value).is_scalar) return Scalar();
      return Tensor::fake(spec_of(value));
    }));
  }
  return checked;
}

// Describes a segment sum.
struct SumsFacts {
  int value, self = -1;  // self: the initial values, -1: none
  int64_t repeat = 0;    // consecutive rows per sum, if there is no index
  int64_t row_bytes = 0;
  DType dtype = DType::float32;
  bool is_mean = false;
};

class GatherRowsStep : public Step {
 public:
  GatherRowsStep(BuiltLoop built, std::vector<CheckedIndex> indices, std::optional<SumsFacts> sums)
      : program_(std::move(built.program)),
        names_(std::move(built.names)),
        work_(built.work),
        indices_(std::move(indices)),
        sums_(sums) {}

  void run(RunState& state) const override {
    for (const CheckedIndex& index : indices_) {
      if (!index.fits(reinterpret_cast<const int64_t*>(state.address(index.value)))) index.raise_outside(state);
    }
    if (sums_ && sums_->self >= 0 && state.address(sums_->self) != state.address(sums_->value))
      copy_elements(state.handle(sums_->self), state.handle(sums_->value));
    LoopRun run(program_, state);
    double row_ns = 5 + program_.ns_per_element * static_cast<double>(program_.row_length);
    if (!sums_) {
      parallel_for(program_.rows, row_ns,
                   [&](int64_t begin, int64_t end) { run.run_chosen(begin, end, 0, program_.row_length); });
    } else if (sums_->self >= 0) {
      add_by_columns(run, row_ns);
    } else {
      int64_t count = program_.rows / sums_->repeat;
      parallel_for(count, row_ns * static_cast<double>(sums_->repeat), [&](int64_t begin, int64_t end) {
        int64_t together = std::max<int64_t>(kSumBytes / sums_->row_bytes, 1);
        for (int64_t row = begin; row < end; row += together) make_sums(run, state, row, std::min(row + together, end));
      });
    }
  }

  std::string describe() const override {
    return str_cat(names_, " (", program_.rows, " x ", program_.row_length, ")");
  }
  std::string kernel() const override {
    std::string text = str_cat("one pass of ", program_.code.size(), program_.code.size() == 1 ? " loop" : " loops",
                               " over indexed rows (", loops().name, ")");
    if (program_.machine_code == nullptr) return text;
    return text + str_cat("; machine code of ", program_.machine_operations, " operations, ",
                          program_.machine_code->nbytes(), " bytes");
  }
  Work work() const override { return work_; }
  size_t nbytes() const override { return program_.machine_code_nbytes(); }
  // Where sizes change, such loops are lowered for nodes that have none of them: lower_chosen_rows().
  bool take_sizes(const Layout&, StepMemory&) override { return true; }
  std::unique_ptr<Step> copy() const override { return std::make_unique<GatherRowsStep>(*this); }

 private:
  // Each thread adds its own columns, in whole cache lines, so every sum is computed in row order.
  void add_by_columns(const LoopRun& run, double row_ns) const {
    double ns = row_ns * static_cast<double>(program_.rows);
    int64_t lines = (sums_->row_bytes + kLineBytes - 1) / kLineBytes;
    int64_t line = kLineBytes / static_cast<int64_t>(item_size(sums_->dtype));
    int64_t parts = std::min<int64_t>(threads_for(ns), lines);
    parallel_for(parts, ns / static_cast<double>(parts), [&](int64_t begin, int64_t end) {
      int64_t from = lines * begin / parts * line;
      int64_t to = std::min(lines * end / parts * line, program_.row_length);
      run.run_chosen(0, program_.rows, from, to - from);
    });
  }

  // Accumulators start at -0.0, the additive identity.
  void make_sums(const LoopRun& run, const RunState& state, int64_t begin, int64_t end) const {
    std::byte* sums = state.address(sums_->value) + begin * sums_->row_bytes;
    int64_t elements = (end - begin) * program_.row_length;
    auto item = static_cast<int64_t>(item_size(sums_->dtype));
    alignas(8) std::byte nothing[8];
    store_scalar(sums_->dtype, Scalar(-0.0), nothing);
    copy_items(item, nothing, 0, sums, item, elements);
    run.run_chosen(begin * sums_->repeat, end * sums_->repeat, 0, program_.row_length);
    if (!sums_->is_mean || sums_->repeat == 1) return;
    alignas(8) char count[8];
    store_scalar(sums_->dtype, Scalar(static_cast<double>(sums_->repeat)), count);
    const void* operands[] = {sums, count};
    pointwise_loop(static_cast<int>(Pointwise::div), sums_->dtype, 2)(operands, sums, elements, nullptr);
  }

  LoopProgram program_;
  std::string names_;
  Work work_;
  std::vector<CheckedIndex> indices_;
  std::optional<SumsFacts> sums_;
};

// Whether the sums may overwrite `self`: nothing else read by the step is in that memory.
bool may_overwrite(int self, const TensorSpec& out, std::span<const int> others, const LoweringContext& context) {
  const Layout& layout = context.places.layout();
  const Place& place = layout.places[static_cast<size_t>(self)];
  bool is_alone = std::none_of(others.begin(), others.end(), [&](int other) {
    return layout.places[static_cast<size_t>(other)].buffer == place.buffer;
  });
  return is_alone && place.offset == 0 && same(place.spec.strides, out.strides);
}

}  // namespace

LoweredStep lower_chosen_rows(const Group& group, LoweringContext& context) {
  if (context.changes(group)) {
    context.stands_in = true;
    LoweredStep none;
    none.note = "its sizes change";
    return none;
  }
  BuiltLoop built = build_loop(group, context);
  LoweredStep lowered = std::move(built.lowered);
  if (!built.ok) return lowered;
  std::vector<CheckedIndex> indices;
  for (const Node* node : group.gathers) {
    RowGather gather = *as_row_gather(*node);
    indices.push_back(
        checked_index(*node, gather.index, spec_of(gather.table).sizes[0].value(), gather.wraps, context));
  }
  std::optional<SumsFacts> facts;
  if (group.sums != nullptr) {
    RowSums sums = *as_row_sums(*group.sums);
    const TensorSpec& out = group.sums->outs[0].spec;
    int64_t item = static_cast<int64_t>(item_size(out.dtype));
    facts = SumsFacts{.value = context.places.number({const_cast<Node*>(group.sums), 0}),
                      .repeat = sums.repeat,
                      .row_bytes = built.program.row_length * item,
                      .dtype = out.dtype,
                      .is_mean = sums.is_mean};
    if (sums.index) indices.push_back(checked_index(*group.sums, *sums.index, out.sizes[0].value(), true, context));
    if (sums.self) {
      facts->self = context.places.number(*sums.self);
      if (may_overwrite(facts->self, out, lowered.touched, context))
        lowered.may_share.emplace_back(facts->value, facts->self);
      lowered.touched.push_back(facts->self);
    }
  }
  lowered.step = std::make_unique<GatherRowsStep>(std::move(built), std::move(indices), facts);
  return lowered;
}

}  // namespace md
