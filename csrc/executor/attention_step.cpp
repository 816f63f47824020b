#include "executor/attention_step.h"

#include <algorithm>
#include <array>

#include "executor/matmul_step.h"
#include "tensor/gemm/split_matmul.h"
#include "tensor/kernels/softmax.h"

namespace md {
namespace {

constexpr int64_t kScratchBytesOfWeights = 256 * 1024;  // per block; fits into the L2 cache
constexpr int64_t kLeastRows = 16;

const Node* single_user(const Node& node, const LoweringContext& context) {
  const std::vector<Node*>& users = context.users[static_cast<size_t>(node.index)];
  bool hidden = node.outs.size() == 1 && !context.escapes[static_cast<size_t>(node.index)];
  return hidden && users.size() == 1 ? users[0] : nullptr;
}

// Over its last dim, in its own dtype.
bool is_row_softmax(const Node& node) {
  if (node.op->role() != OpRole::Softmax || !node.outs[0].spec.is_contiguous()) return false;
  const auto* dim = std::get_if<Scalar>(&node.operands[1]);
  int rank = node.outs[0].spec.rank();
  bool last = dim != nullptr && (dim->as_int() == -1 || dim->as_int() == rank - 1);
  return rank > 0 && last && std::holds_alternative<std::monostate>(node.operands[2]);
}

bool is_product_group(const Group& group) { return group.kind == GroupKind::Anchor && is_product(*group.nodes[0]); }

// The only visible result of the group is its last one, and only `reader` reads it.
bool feeds_only(const Group& group, const Node& reader, const LoweringContext& context) {
  for (const Node* node : group.nodes) {
    if (node != group.nodes.back() && context.is_seen_outside(*node, group)) return false;
  }
  return single_user(*group.nodes.back(), context) == &reader;
}

bool have_same_rows(const MatmulSpec& scores, const MatmulSpec& mixing) {
  return scores.batch == mixing.batch && scores.m == mixing.m && scores.n == mixing.k && scores.dtype == mixing.dtype;
}

// Both products have the same rows, and the second one reads the weights as its rows only.
bool fit(const Group& scores, const Node& softmax, const Group& mixing) {
  MatmulProblem first = *as_matmul(*scores.nodes[0]), second = *as_matmul(*mixing.nodes[0]);
  ValueRef weights = {const_cast<Node*>(&softmax), 0};
  return second.a == weights && second.b.node != &softmax && have_same_rows(first.spec, second.spec);
}

int64_t rows_of_block(const MatmulSpec& scores) {
  int64_t row_bytes = scores.n * static_cast<int64_t>(item_size(scores.dtype));
  int64_t rows = kScratchBytesOfWeights / row_bytes / kLeastRows * kLeastRows;
  return std::clamp(rows, std::min(kLeastRows, scores.m), scores.m);
}

// The products of each matrix, row-major without gaps in a block's memory.
MatmulSpec with_own_c(MatmulSpec spec) {
  spec.c_strides[1] = spec.n;
  return spec;
}
MatmulSpec with_own_a(MatmulSpec spec) {
  spec.a_strides[1] = spec.k;
  spec.a_strides[2] = 1;
  return spec;
}

// In blocks of the same rows; null where there is no such product.
struct BlockProducts {
  SplitMatmulPtr scores, mixing;
};
BlockProducts make_block_products(const ProductPart& scores, const ProductPart& mixing) {
  MatmulSpec first = with_own_c(scores.problem.spec), second = with_own_a(mixing.problem.spec);
  int64_t rows = rows_of_block(first);
  auto make = [rows](MatmulSpec& spec, const ProductPart& part) {
    spec.precision = part.plain_precision();
    return made_or_in_float32(
        spec, [&](const MatmulSpec& tried) { return SplitMatmul::make_by_rows(tried, rows, part.extents()); });
  };
  return {make(first, scores), make(second, mixing)};
}

class AttentionStep : public Step {
 public:
  AttentionStep(ProductPart scores, int weights, ProductPart mixing, BlockProducts products)
      : scores_(std::move(scores)),
        mixing_(std::move(mixing)),
        weights_(weights),
        first_(std::move(products.scores)),
        second_(std::move(products.mixing)) {}

  void run(RunState& state) const override {
    std::optional<LoopRun> after_scores, after_mixing;
    if (scores_.epilogue.program) after_scores.emplace(*scores_.epilogue.program, state);
    if (mixing_.epilogue.program) after_mixing.emplace(*mixing_.epilogue.program, state);
    double ns = 2 * (first_->ns_per_piece() + second_->ns_per_piece());
    parallel_for(first_->piece_count(), ns, [&](int64_t begin, int64_t end) {
      StoragePtr memory = Storage::allocate(block_bytes());
      auto* weights = static_cast<std::byte*>(memory->data());
      for (int64_t piece = begin; piece < end; ++piece) {
        make_weights(state, piece, weights, after_scores ? &*after_scores : nullptr);
        second_->run_piece(piece, operands(state, mixing_), weights, nullptr);
        if (after_mixing) run_epilogue(*after_mixing, second_->block(piece), second_->spec());
      }
    });
  }
  std::string describe() const override {
    return str_cat(scores_.sized_text(), ", softmax, ", mixing_.sized_text(), in_precision(precision()));
  }
  std::string kernel() const override {
    return str_cat("blocks of ", first_->block(0).rows, " rows: ", first_->implementation(), ", ",
                   second_->implementation());
  }
  Work work() const override {
    // The exponentials dominate the softmax.
    double elements = static_cast<double>(first_->spec().batch * first_->spec().m * first_->spec().n);
    Work work = {.flops = 12 * elements, .dtype = multiplied(first_->spec().dtype, precision())};
    work += scores_.work;
    work += mixing_.work;
    return work;
  }

  size_t nbytes() const override {
    return first_->nbytes() + second_->nbytes() + scores_.epilogue.nbytes() + mixing_.epilogue.nbytes();
  }
  bool take_sizes(const Layout& layout, StepMemory&) override {
    if (scores_.anchor == nullptr && mixing_.anchor == nullptr) return true;
    for (ProductPart* part : {&scores_, &mixing_})
      if (part->anchor != nullptr && !part->take_sizes(layout)) return false;
    if (!have_same_rows(scores_.problem.spec, mixing_.problem.spec)) return false;
    BlockProducts products = make_block_products(scores_, mixing_);
    first_ = std::move(products.scores);
    second_ = std::move(products.mixing);
    return first_ != nullptr && second_ != nullptr;
  }
  std::unique_ptr<Step> copy() const override { return std::make_unique<AttentionStep>(*this); }

 private:
  // The lower one of both products.
  Precision precision() const { return std::max(first_->spec().precision, second_->spec().precision); }
  size_t block_bytes() const {
    return static_cast<size_t>(first_->block(0).rows * first_->spec().n) * item_size(first_->spec().dtype);
  }
  static MatmulOperands operands(const RunState& state, const ProductPart& part) {
    return {.a = state.address_or_null(part.a),
            .b = state.address_or_null(part.b),
            .bias = state.address_or_null(part.bias),
            .c = state.address_or_null(part.product)};
  }
  static int64_t first_element(const MatmulBlock& block, const MatmulSpec& spec) {
    return (block.first_matrix * spec.m + block.first_row) * spec.n;
  }
  static void run_epilogue(const LoopRun& run, const MatmulBlock& block, const MatmulSpec& spec) {
    run.run_block(first_element(block, spec), 1, 0, block.rows * spec.n);
  }

  // The softmax of one block of scores, in the block's own memory.
  void make_weights(const RunState& state, int64_t piece, std::byte* memory, const LoopRun* after_scores) const {
    MatmulBlock block = first_->block(piece);
    const MatmulSpec& spec = first_->spec();
    first_->run_piece(piece, operands(state, scores_), nullptr, memory);
    if (after_scores != nullptr) {
      const std::array<std::pair<int, std::byte*>, 2> moved = {{{scores_.product, memory}, {weights_, memory}}};
      run_epilogue(LoopRun(*after_scores, first_element(block, spec), moved), block, spec);
    }
    softmax_rows(spec.dtype, memory, block.rows, spec.n);
  }

  ProductPart scores_, mixing_;
  int weights_;  // operand of the softmax: the last result of the scores' nodes
  SplitMatmulPtr first_, second_;
};

void forget(std::vector<int>& touched, std::initializer_list<int> values) {
  std::erase_if(touched, [&](int value) { return std::find(values.begin(), values.end(), value) != values.end(); });
}

}  // namespace

void join_attention(std::vector<Group>& groups, const LoweringContext& context) {
  std::vector<int> group_of(context.users.size(), -1);
  for (size_t i = 0; i < groups.size(); ++i) {
    for (const Node* node : groups[i].nodes) group_of[static_cast<size_t>(node->index)] = static_cast<int>(i);
  }
  bool any = false;
  for (Group& middle : groups) {
    if (middle.kind != GroupKind::Single || middle.nodes.size() != 1 || !is_row_softmax(*middle.nodes[0])) continue;
    const Node& softmax = *middle.nodes[0];
    const auto* read = std::get_if<ValueRef>(&softmax.operands[0]);
    const Node* reader = single_user(softmax, context);
    int from = read == nullptr ? -1 : group_of[static_cast<size_t>(read->node->index)];
    int to = reader == nullptr ? -1 : group_of[static_cast<size_t>(reader->index)];
    if (from < 0 || to < 0) continue;
    Group& scores = groups[static_cast<size_t>(from)];
    Group& mixing = groups[static_cast<size_t>(to)];
    bool joins = is_product_group(scores) && is_product_group(mixing) && mixing.nodes[0] == reader &&
                 scores.nodes.back() == read->node && feeds_only(scores, softmax, context) &&
                 fit(scores, softmax, mixing);
    if (!joins) continue;
    Group joined;
    joined.kind = GroupKind::Attention;
    joined.reason = scores.reason;
    joined.producer = scores.producer;
    for (Group* part : {&scores, &middle, &mixing}) {
      joined.nodes.insert(joined.nodes.end(), part->nodes.begin(), part->nodes.end());
      joined.parts.push_back(std::exchange(*part, {}));
    }
    mixing = std::move(joined);
    any = true;
  }
  if (any) std::erase_if(groups, [](const Group& group) { return group.nodes.empty(); });
}

LoweredStep lower_attention(const Group& group, LoweringContext& context) {
  const Group &first = group.parts[0], &second = group.parts[2];
  LoweredStep lowered;
  ProductPart scores = prepare_product(first, context), mixing = prepare_product(second, context);
  BlockProducts products = make_block_products(scores, mixing);
  if (products.scores == nullptr || products.mixing == nullptr) {
    lowered.note = "there is no such product";
    return lowered;
  }
  int weights = context.places.number({const_cast<Node*>(first.nodes.back()), 0});
  // A block has memory for only one of them.
  bool in_place = context.places.layout().places[static_cast<size_t>(weights)].buffer ==
                  context.places.layout().places[static_cast<size_t>(scores.product)].buffer;
  bool loops = scores.epilogue.ok && mixing.epilogue.ok;
  if (!loops || !in_place) {
    lowered.note = loops ? "the scores are not made in place" : "its loops are too long";
    return lowered;
  }
  for (const ProductPart* part : {&scores, &mixing}) {
    lowered.touched.insert(lowered.touched.end(), part->touched.begin(), part->touched.end());
  }
  forget(lowered.touched,
         {scores.product, weights, context.places.number({const_cast<Node*>(group.parts[1].nodes[0]), 0})});
  context.stands_in |= products.scores->stands_in() || products.mixing->stands_in();
  lowered.step = std::make_unique<AttentionStep>(std::move(scores), weights, std::move(mixing), std::move(products));
  return lowered;
}

}  // namespace md
