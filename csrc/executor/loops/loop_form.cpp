#include "executor/loops/loop_form.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "executor/loops/loop_iteration.h"
#include "executor/loops/loop_memory.h"
#include "tensor/fill.h"

namespace md {
namespace {

constexpr double kCacheBytes = 4e6;  // approximately a core's L2 cache and its share of L3

bool is_in_place(const LoopProgram& program) {
  if (program.numel > program.tile || program.rows != 1 || program.scratch_bytes > kScratchBytes) return false;
  auto is_plain = [](const Stream& stream) { return !is_copied(stream) && stream.access != StreamAccess::Chosen; };
  return std::all_of(program.inputs.begin(), program.inputs.end(), is_plain) &&
         std::all_of(program.outputs.begin(), program.outputs.end(), is_plain);
}

bool same_op(const LoopOp& a, const LoopOp& b) {
  return a.row == b.row && a.dtype == b.dtype && a.result == b.result && a.operand_count == b.operand_count &&
         std::equal(std::begin(a.operands), std::end(a.operands), std::begin(b.operands)) && a.param_count == 0 &&
         b.param_count == 0;
}

// Whether streams that the machine code reaches from another one's address lie as far from it as they did.
bool keeps_distances(const LoopForm& form, const Layout& layout, const LoopProgram& program) {
  return std::ranges::all_of(form.followers, [&](const LoopForm::Follower& follower) {
    return distance(program, layout, program.inputs[follower.leader], program.inputs[follower.input]) == follower.bytes;
  });
}

class NewSizes {
 public:
  NewSizes(const LoopForm& form, const Layout& layout, LoopProgram& program)
      : form_(form), layout_(layout), program_(program), sizes_(spec_of(form.sized).sizes) {}

  bool run() {
    if (!keeps_nodes()) return false;
    return form_.is_flat && stays_flat() ? run_flat() : iterate_anew();
  }

 private:
  bool iterate_anew() {
    if (!keeps_singles()) return false;
    std::vector<Stream> splats(std::make_move_iterator(program_.inputs.begin() + splats_from()),
                               std::make_move_iterator(program_.inputs.end()));
    program_.inputs.erase(program_.inputs.begin() + splats_from(), program_.inputs.end());
    iterate();
    for (Stream& splat : splats) {
      splat.strides.assign(program_.sizes.size(), 0);
      program_.inputs.push_back(std::move(splat));
    }
    if (!keeps_access() || program_.sizes.size() > kMaxLoopRank || !keeps_distances(form_, layout_, program_))
      return false;
    put_numbers();
    return size_scratch(program_, form_.scratch, form_.by_rows);
  }

  // Whether all streams have all elements in row-major order, and single elements stay so: only their number is new.
  bool stays_flat() const {
    auto is_whole = [this](const Stream& stream) {
      const TensorSpec& spec = place(stream.value).spec;
      return same(spec.sizes, sizes_) && spec.is_contiguous();
    };
    auto is_single = [this](int value) { return value < 0 || place(value).spec.numel().value() == 1; };
    return product(sizes_.span()).value() > 1 &&
           std::all_of(program_.inputs.begin(), program_.inputs.begin() + splats_from(), is_whole) &&
           std::ranges::all_of(program_.outputs, is_whole) &&
           std::all_of(program_.inputs.begin() + splats_from(), program_.inputs.end(),
                       [&](const Stream& splat) { return is_single(splat.value); }) &&
           std::ranges::all_of(program_.scalars, [&](const LoopScalar& scalar) { return is_single(scalar.value); });
  }

  bool run_flat() {
    program_.numel = program_.row_length = product(sizes_.span()).value();
    program_.sizes.assign(1, program_.numel);
    if (!keeps_distances(form_, layout_, program_)) return false;
    put_numbers();
    return size_scratch(program_, form_.scratch, form_.by_rows);
  }

  std::ptrdiff_t splats_from() const { return static_cast<std::ptrdiff_t>(form_.splats_from); }
  const Place& place(int value) const { return layout_.places[static_cast<size_t>(value)]; }

  bool keeps_nodes() const {
    if (form_.steps > 0 && sizes_[sizes_.size() - 1].value() != form_.steps) return false;
    if (form_.by_rows && folds_short_rows(sizes_)) return false;
    return std::all_of(form_.nodes.begin(), form_.nodes.end(), [&](const LoopForm::NodeForm& form) {
      const DimVec& own = form.node->outs[0].spec.sizes;
      bool over_rows = form_.folds_rows && !same(own, sizes_);
      bool fits = form.is_repeated ? product(own.span()).value() == 1
                  : over_rows      ? has_one_per_row(own, sizes_)
                                   : same(own, sizes_);
      if (over_rows != form.is_over_rows || !fits) return false;
      if (form.folds && !as_row_fold(*form.node)) return false;
      if (!form.has_numbers) return true;
      std::optional<LoopOp> op = as_loop_op(*form.node);
      return op && same_op(*op, form.op);
    });
  }

  // Whether the same operands are single elements.
  bool keeps_singles() const {
    bool is_many = product(sizes_.span()).value() > 1;
    auto single = [&](int value) { return is_many && place(value).spec.numel().value() == 1; };
    for (size_t i = 0; i < program_.inputs.size(); ++i) {
      if (single(program_.inputs[i].value) != (i >= form_.splats_from)) return false;
    }
    return std::ranges::all_of(program_.scalars,
                               [&](const LoopScalar& scalar) { return scalar.value < 0 || single(scalar.value); });
  }

  void iterate() {
    std::vector<int64_t> extents = loop_extents(sizes_, form_.steps > 0);
    program_.sizes.clear();
    program_.packs.clear();
    program_.packed_bytes = 0;
    program_.numel = 1;
    for (int64_t extent : extents) program_.numel *= extent;
    for (size_t i = 0; i < program_.inputs.size(); ++i) put_strides(program_.inputs[i], form_.inputs[i]);
    for (size_t i = 0; i < program_.outputs.size(); ++i) put_strides(program_.outputs[i], form_.outputs[i]);
    choose_iteration(program_, extents, form_.by_rows);
    pack_inputs(program_);
  }

  void put_strides(Stream& stream, const StreamForm& form) const {
    set_strides(stream, broadcast_strides(place(stream.value).spec, sizes_, form.drops_last), form_.steps > 0,
                form.step);
  }

  bool keeps_access() {
    auto keeps = [](std::vector<Stream>& streams, const std::vector<StreamForm>& forms) {
      for (size_t i = 0; i < streams.size(); ++i) {
        if (streams[i].access != forms[i].planned) return false;
        streams[i].access = forms[i].used;
      }
      return true;
    };
    return keeps(program_.inputs, form_.inputs) && keeps(program_.outputs, form_.outputs);
  }

  void put_numbers() {
    for (size_t i = 0; i < program_.scalars.size(); ++i) {
      LoopScalar& scalar = program_.scalars[i];
      if (form_.numbers[i] == nullptr) continue;
      scalar.bits = {};
      store_scalar(scalar.dtype, std::get<Scalar>(*form_.numbers[i]), &scalar.bits);
    }
  }

  const LoopForm& form_;
  const Layout& layout_;
  LoopProgram& program_;
  const DimVec& sizes_;
};

// Whether they still have the same layout.
bool may_share(const LoopProgram& program, const Layout& layout, std::pair<int, int> values) {
  auto of = [](const std::vector<Stream>& streams, int value) {
    return std::find_if(streams.begin(), streams.end(), [&](const Stream& s) { return s.value == value; });
  };
  const Stream &output = *of(program.outputs, values.first), &input = *of(program.inputs, values.second);
  return input.access == output.access && input.strides == output.strides &&
         layout.places[static_cast<size_t>(input.value)].offset == 0;
}

void find_shared(const LoopForm& form, const Layout& layout, const LoopProgram& program, StepMemory& memory) {
  memory.may_share.clear();
  for (const auto& values : form.may_share)
    if (may_share(program, layout, values)) memory.may_share.push_back(values);
}

}  // namespace

std::vector<int64_t> broadcast_strides(const TensorSpec& spec, const DimVec& sizes, bool drops_last) {
  std::vector<int64_t> strides(static_cast<size_t>(sizes.size()), 0);
  int lead = drops_last ? 0 : sizes.size() - spec.rank();
  for (int d = 0; d < spec.rank(); ++d) {
    if (drops_last || spec.sizes[d].value() != 1) strides[static_cast<size_t>(d + lead)] = spec.strides[d].value();
  }
  return strides;
}

void set_strides(Stream& stream, std::vector<int64_t> strides, bool is_unrolled, int64_t step) {
  stream.strides = std::move(strides);
  if (!is_unrolled) return;
  stream.offset = step * stream.strides.back();
  stream.strides.pop_back();
}

bool is_flat(const LoopProgram& program, size_t splats_from) {
  auto steps_by_one = [](const Stream& stream) {
    return stream.access == StreamAccess::Linear && stream.offset == 0 && stream.strides == std::vector<int64_t>{1};
  };
  return program.sizes.size() == 1 && program.choices.empty() && program.packs.empty() &&
         std::ranges::all_of(std::span(program.inputs).first(splats_from), steps_by_one) &&
         std::ranges::all_of(program.outputs, steps_by_one);
}

void finish_sizes(LoopProgram& program, bool by_rows, double bytes) {
  program.fetches_ahead = by_rows && bytes > kCacheBytes;
  program.is_in_place = is_in_place(program);
}

bool is_sized_number(const SizedGraph& sized, const Node& node, size_t operand) {
  const auto* number = std::get_if<Scalar>(&sized.symbolic(node).operands[operand]);
  return number != nullptr && number->is_symbolic();
}

bool add_nodes(LoopForm& form, const Group& group, const SizedGraph& sized) {
  form.folds_rows = group.folds_rows;
  for (const Node* node : group.nodes) {
    bool is_smaller = !same(node->outs[0].spec.sizes, group.sizes);
    LoopForm::NodeForm added = {.node = node,
                                .is_over_rows = group.folds_rows && is_smaller,
                                .is_repeated = !group.folds_rows && is_smaller,
                                .folds = group.folds_rows && as_row_fold(*node).has_value(),
                                .has_numbers = false,
                                .op = {}};
    for (size_t i = 0; i < node->operands.size(); ++i) added.has_numbers |= is_sized_number(sized, *node, i);
    if (added.has_numbers) {
      std::optional<LoopOp> op = added.folds ? std::nullopt : as_loop_op(*node);
      if (!op || op->param_count > 0) return false;
      added.op = *op;
    }
    form.nodes.push_back(added);
    if (form.sized.node != nullptr) continue;
    if (!is_smaller) form.sized = {const_cast<Node*>(node), 0};
    if (added.folds) form.sized = std::get<ValueRef>(node->operands[0]);
  }
  return form.sized.node != nullptr;
}

bool take_sizes(const LoopForm& form, const Layout& layout, LoopProgram& program, StepMemory& memory, Work& work) {
  if (!NewSizes(form, layout, program).run()) return false;
  double numel = static_cast<double>(program.numel);
  work = {.bytes = numel * form.bytes_per_element, .flops = numel * form.flops_per_element};
  finish_sizes(program, form.by_rows, work.bytes);
  find_shared(form, layout, program, memory);
  return true;
}

bool take_offsets(const LoopForm& form, const Layout& layout, const LoopProgram& program, StepMemory& memory) {
  if (!keeps_distances(form, layout, program)) return false;
  find_shared(form, layout, program, memory);
  return true;
}

}  // namespace md
