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

Products make_products(MatmulSpec spec, const Buffer& buffer_of_b) {
  Products products;
  products.plain = SplitMatmul::make(spec);
  if (!products.ok() || !RunState::has_owner(buffer_of_b) || spec.m > kMostRowsForPacking ||
      !products.plain->packing_pays())
    return products;
  spec.packs_weights = true;
  products.packed = SplitMatmul::make(spec);
  return products;
}

class MatmulStep : public Step {
 public:
  MatmulStep(Products products, ProductPart part) : products_(std::move(products)), part_(std::move(part)) {}

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
  std::string describe() const override { return part_.text; }
  std::string kernel() const override {
    std::string text = products_.plain->implementation();
    if (products_.packed != nullptr) text += str_cat(", once b is packed ", products_.packed->implementation());
    return text;
  }
  Work work() const override { return part_.work; }

 private:
  StoragePtr find_weights(const RunState& state, const void* b) const {
    if (products_.packed == nullptr) return {};
    return find_packed(*state.owner(part_.b)->storage().get(), b, *products_.packed);
  }

  Products products_;
  ProductPart part_;
};

Work product_work(const MatmulSpec& spec) {
  double m = static_cast<double>(spec.m), n = static_cast<double>(spec.n), k = static_cast<double>(spec.k);
  double batch = static_cast<double>(spec.batch);
  double item = static_cast<double>(item_size(spec.dtype));
  return {.bytes = batch * (m * k + k * n + m * n) * item, .flops = 2 * batch * m * n * k};
}

}  // namespace

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
  const std::vector<int>& more = part.epilogue.lowered.touched;
  part.touched.insert(part.touched.end(), more.begin(), more.end());
  const MatmulSpec& spec = part.problem.spec;
  part.work = product_work(spec);
  part.work.bytes += part.epilogue.work.bytes;
  part.work.flops += part.epilogue.work.flops;
  part.text = anchor_text(group) + str_cat(" (", spec.batch, " x ", spec.m, " x ", spec.n, " x ", spec.k, ")");
  return part;
}

LoweredStep lower_product(const Group& group, LoweringContext& context) {
  ProductPart part = prepare_product(group, context);
  LoweredStep lowered;
  Products products = make_products(part.problem.spec, context.places.buffer(part.problem.b));
  if (!part.epilogue.ok || !products.ok()) {
    lowered.note = products.ok() ? part.epilogue.lowered.note : "there is no such product";
    return lowered;
  }
  lowered.touched = part.touched;
  lowered.step = std::make_unique<MatmulStep>(std::move(products), std::move(part));
  return lowered;
}

}  // namespace md
