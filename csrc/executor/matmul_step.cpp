#include "executor/matmul_step.h"

#include <algorithm>

#include "tensor/gemm/narrowed_matmul.h"
#include "tensor/gemm/packed_weights.h"
#include "tensor/gemm/split_matmul.h"

namespace md {
namespace {

// The products to run: with b in place, or packed where that pays.
struct Products {
  SplitMatmulPtr plain;   // null: `narrow` is always taken
  SplitMatmulPtr packed;  // null: never
  SplitMatmulPtr narrow;  // in reduced precision; null: never
  bool ok() const { return plain != nullptr || narrow != nullptr; }
  const SplitMatmul& any() const { return plain != nullptr ? *plain : *narrow; }
  // Of the product that is taken wherever b allows it.
  const MatmulSpec& wanted() const { return (narrow != nullptr ? *narrow : *plain).spec(); }
};

// b_has_owner: it lies in a tensor that outlives the run.
Products make_products(const ProductPart& part, bool b_has_owner) {
  Products products;
  MatmulSpec spec = part.problem.spec;
  spec.precision = part.packed_precision();
  // A weight that cannot be kept packed is packed for the call, so that all calls give the same bits.
  spec.packs_weights = part.b_is_weight && spec.batch == 1;
  if (spec.precision != Precision::Float32) products.narrow = SplitMatmul::make(spec, part.extents());
  if (products.narrow != nullptr && spec.precision == part.plain_precision()) return products;
  spec = part.problem.spec;
  products.plain = SplitMatmul::make(spec, part.extents());
  bool may_pack = b_has_owner && spec.m <= kMostRowsForPacking && (part.anchor == nullptr || part.keeps_b);
  if (!may_pack || products.plain == nullptr || !products.plain->packing_pays()) return products;
  spec.packs_weights = true;
  products.packed = SplitMatmul::make(spec, part.extents());
  return products;
}

class MatmulStep : public Step {
 public:
  MatmulStep(Products products, ProductPart part, bool b_has_owner)
      : products_(std::move(products)), part_(std::move(part)), b_has_owner_(b_has_owner) {}

  void run(RunState& state) const override {
    MatmulOperands operands = {.a = state.address(part_.a),
                               .b = state.address(part_.b),
                               .bias = state.address_or_null(part_.bias),
                               .c = state.address(part_.product)};
    StoragePtr packed;
    const SplitMatmul& product = choose(state, operands, packed);
    if (!part_.epilogue.program) return product.run(operands);
    LoopRun epilogue(*part_.epilogue.program, state);
    int64_t m = product.spec().m, n = product.spec().n;
    product.run(operands, [&](const MatmulBlock& block) {
      for (int64_t i = block.first_matrix; i < block.first_matrix + block.matrices; ++i)
        epilogue.run_block((i * m + block.first_row) * n + block.first_column, block.rows, n, block.columns);
    });
  }
  std::string describe() const override { return part_.sized_text() + in_precision(products_.wanted().precision); }
  std::string kernel() const override {
    if (products_.plain == nullptr) return products_.narrow->implementation();
    std::string text = products_.plain->implementation();
    if (products_.narrow != nullptr) return str_cat(products_.narrow->implementation(), ", else ", text);
    if (products_.packed != nullptr) text += str_cat(", once b is packed ", products_.packed->implementation());
    return text;
  }
  Work work() const override {
    Work work = part_.work;
    work.dtype = multiplied(products_.wanted().dtype, products_.wanted().precision);
    return work;
  }
  size_t nbytes() const override {
    size_t bytes = part_.epilogue.nbytes();
    for (const SplitMatmulPtr& product : {products_.plain, products_.packed, products_.narrow})
      if (product != nullptr) bytes += product->nbytes();
    return bytes;
  }
  bool take_sizes(const Layout& layout, StepMemory&) override {
    if (part_.anchor == nullptr) return true;
    if (!part_.take_sizes(layout)) return false;
    products_ = make_products(part_, b_has_owner_);
    return products_.ok();
  }
  bool take_offsets(const Layout& layout, StepMemory&) override {
    return part_.anchor == nullptr || part_.epilogue.take_offsets(layout);
  }
  std::unique_ptr<Step> copy() const override { return std::make_unique<MatmulStep>(*this); }

 private:
  // The product to run; operands.b is then what it reads, and `packed` keeps that.
  const SplitMatmul& choose(const RunState& state, MatmulOperands& operands, StoragePtr& packed) const {
    if (products_.narrow != nullptr && takes_narrow(state, operands, packed)) return *products_.narrow;
    if (products_.packed != nullptr) packed = find_packed(owner_of_b(state), operands.b, *products_.packed);
    if (!packed) return *products_.plain;
    operands.b = packed->data();
    return *products_.packed;
  }
  bool takes_narrow(const RunState& state, MatmulOperands& operands, StoragePtr& packed) const {
    const SplitMatmul& narrow = *products_.narrow;
    if (!narrow.spec().packs_weights) return true;
    bool may_pack = b_has_owner_ && (part_.anchor == nullptr || part_.keeps_b) && may_be_packed(owner_of_b(state));
    if (may_pack) packed = find_packed(owner_of_b(state), operands.b, narrow, PackedWhen::AtOnce);
    if (!packed && (products_.plain == nullptr || may_pack)) packed = pack_once(narrow, operands.b);
    if (packed) operands.b = packed->data();
    return static_cast<bool>(packed);
  }
  Storage& owner_of_b(const RunState& state) const { return *state.owner(part_.b)->storage().get(); }

  Products products_;
  ProductPart part_;
  bool b_has_owner_;
};

Work product_work(const MatmulSpec& spec) {
  double m = static_cast<double>(spec.m), n = static_cast<double>(spec.n), k = static_cast<double>(spec.k);
  double batch = static_cast<double>(spec.batch);
  double item = static_cast<double>(item_size(spec.dtype));
  return {.bytes = batch * (m * k + k * n + m * n) * item, .flops = 2 * batch * m * n * k, .dtype = spec.dtype};
}

}  // namespace

constexpr int64_t kLeastNarrow = 32;  // rows and columns from which on rounding both operands at each call pays
constexpr int64_t kLeastNarrowColumns = 16;

Precision ProductPart::plain_precision() const {
  const MatmulSpec& spec = problem.spec;
  bool pays = spec.dtype == DType::float32 && std::min(spec.m, spec.n) >= kLeastNarrow;
  return pays ? precision.products : Precision::Float32;
}

Precision ProductPart::packed_precision() const {
  const MatmulSpec& spec = problem.spec;
  if (!b_is_weight || spec.batch > 1 || spec.dtype != DType::float32 || spec.n < kLeastNarrowColumns)
    return plain_precision();
  bool in_bytes = precision.weights == Precision::Int8 && spec.k <= kMostByteProducts;
  return in_bytes ? Precision::Int8 : precision.products;
}

bool ProductPart::take_sizes(const Layout& layout) {
  std::optional<MatmulProblem> now = as_matmul(*anchor);
  if (!now || now->a != problem.a || now->b != problem.b || now->bias != problem.bias) return false;
  problem = *now;
  if (!epilogue.take_sizes(layout, *anchor)) return false;
  work = product_work(problem.spec);
  work += epilogue.work;
  return true;
}

Extents ProductPart::extents() const { return anchor == nullptr ? Extents::Fixed : Extents::Change; }

std::string ProductPart::sized_text() const {
  const MatmulSpec& spec = problem.spec;
  return str_cat(text, " (", spec.batch, " x ", spec.m, " x ", spec.n, " x ", spec.k, ")");
}

bool is_product(const Node& node) { return as_matmul(node).has_value(); }

ProductPart prepare_product(const Group& group, LoweringContext& context) {
  ProductPart part;
  part.problem = *as_matmul(*group.nodes[0]);
  auto add_value = [&](ValueRef value) {
    part.touched.push_back(context.places.number(value));
    return part.touched.back();
  };
  part.a = add_value(part.problem.a);
  part.b = add_value(part.problem.b);
  if (part.problem.bias.node != nullptr) part.bias = add_value(part.problem.bias);
  part.product = add_value({const_cast<Node*>(group.nodes[0]), 0});
  part.epilogue = build_epilogue(group, context);
  const std::vector<int>& more = part.epilogue.touched;
  part.touched.insert(part.touched.end(), more.begin(), more.end());
  part.work = product_work(part.problem.spec);
  part.work += part.epilogue.work;
  part.text = anchor_text(group);
  part.precision = context.rules.precision;
  part.b_is_weight = context.is_weight(part.problem.b);
  if (!context.changes(group)) return part;
  part.anchor = group.nodes[0];
  part.keeps_b = !has_symbols(context.sized->symbolic(*part.problem.b.node));
  return part;
}

LoweredStep lower_product(const Group& group, LoweringContext& context) {
  ProductPart part = prepare_product(group, context);
  LoweredStep lowered;
  bool b_has_owner = RunState::has_owner(context.places.buffer(part.problem.b));
  Products products = make_products(part, b_has_owner);
  if (!part.epilogue.ok || !products.ok()) {
    lowered.note = products.ok() ? part.epilogue.note : "there is no such product";
    return lowered;
  }
  lowered.touched = part.touched;
  context.stands_in |= products.any().stands_in();
  bool wants_bytes = part.precision.weights == Precision::Int8 && part.problem.spec.batch == 1;
  if (wants_bytes && !part.b_is_weight) lowered.note = "not in int8: b is no weight that may be packed";
  lowered.step = std::make_unique<MatmulStep>(std::move(products), std::move(part), b_has_owner);
  return lowered;
}

}  // namespace md
