#include "executor/matmul_step.h"

#include "tensor/gemm/packed_weights.h"
#include "tensor/gemm/split_matmul.h"

namespace md {
namespace {

// The products to run: with b in place, or packed where that pays.
struct Products {
  SplitMatmulPtr plain;
  SplitMatmulPtr packed;  // null: never
  bool ok() const { return plain != nullptr; }
};

// b_has_owner: it lies in a tensor that outlives the run.
Products make_products(const ProductPart& part, bool b_has_owner) {
  Products products;
  MatmulSpec spec = part.problem.spec;
  products.plain = SplitMatmul::make(spec, part.extents());
  bool may_pack = b_has_owner && spec.m <= kMostRowsForPacking && (part.anchor == nullptr || part.keeps_b);
  if (!products.ok() || !may_pack || !products.plain->packing_pays()) return products;
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
    StoragePtr packed = find_weights(state, operands.b);
    const SplitMatmul& product = packed ? *products_.packed : *products_.plain;
    if (packed) operands.b = packed->data();
    if (!part_.epilogue.program) return product.run(operands);
    LoopRun epilogue(*part_.epilogue.program, state);
    int64_t m = product.spec().m, n = product.spec().n;
    product.run(operands, [&](const MatmulBlock& block) {
      for (int64_t i = block.first_matrix; i < block.first_matrix + block.matrices; ++i)
        epilogue.run_block((i * m + block.first_row) * n + block.first_column, block.rows, n, block.columns);
    });
  }
  std::string describe() const override { return part_.sized_text(); }
  std::string kernel() const override {
    std::string text = products_.plain->implementation();
    if (products_.packed != nullptr) text += str_cat(", once b is packed ", products_.packed->implementation());
    return text;
  }
  Work work() const override { return part_.work; }
  size_t nbytes() const override {
    size_t loop = part_.epilogue.nbytes();
    return loop + products_.plain->nbytes() + (products_.packed == nullptr ? 0 : products_.packed->nbytes());
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
  StoragePtr find_weights(const RunState& state, const void* b) const {
    if (products_.packed == nullptr) return {};
    return find_packed(*state.owner(part_.b)->storage().get(), b, *products_.packed);
  }

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
  context.stands_in |= products.plain->stands_in();
  lowered.step = std::make_unique<MatmulStep>(std::move(products), std::move(part), b_has_owner);
  return lowered;
}

}  // namespace md
