#include "symbolic/tensors/masked_updates.h"

#include "guards/tensor_family.h"
#include "symbolic/sizes/unbacked_sizes.h"
#include "symbolic/state/masked_parts.h"
#include "symbolic/tensors/tensor_writes.h"

namespace md {
namespace {

// From here on it costs more to write all elements than to choose few of them.
constexpr int64_t kMostBytes = int64_t{1} << 21;

const TensorValue* mask_over(const TensorValue& tensor, const ValuePtr& key) {
  auto* mask = as<TensorValue>(key);
  int rank = tensor.spec.rank();
  if (!tensor.family->updates_at_masks || mask == nullptr || mask->spec.dtype != DType::bool_ || rank == 0 ||
      mask->spec.rank() != rank)
    return nullptr;
  int64_t bytes = static_cast<int64_t>(item_size(tensor.spec.dtype));
  for (int i = 0; i < rank; ++i) {
    if (!same(mask->spec.sizes[i], tensor.spec.sizes[i])) return nullptr;
    bytes *= tensor.spec.sizes[i].hint();
  }
  return bytes <= kMostBytes ? mask : nullptr;
}

// What the part is of when nothing is left out.
class Wholes {
 public:
  Wholes(Tracer& tracer, ValueRef mask) : builder_(tracer.builder()), parts_(builder_.masked_parts()), mask_(mask) {}

  // is_result: nothing is computed of it.
  ValueRef of(ValueRef part, bool is_result) {
    static const OpRow* const masked_part = find_op("masked_part");
    const Node& node = *part.node;
    if (node.op == masked_part) return of_selected(std::get<ValueRef>(node.operands[0]), is_result);
    if (std::optional<ValueRef> known = parts_.whole_of(part)) return *known;
    std::vector<Operand> operands = node.operands;
    for (Operand& operand : operands) {
      auto* value = std::get_if<ValueRef>(&operand);
      if (value != nullptr && parts_.mask_of(spec_of(*value))) operand = of(*value, false);
    }
    ValueRef whole{builder_.add_op(*node.op, std::move(operands)), 0};
    parts_.note_whole(part, whole);
    return whole;
  }

 private:
  static const TensorSpec& spec_of(ValueRef value) { return value.node->outs[static_cast<size_t>(value.out)].spec; }

  // What is computed of other elements must not raise exceptions that the program does not.
  ValueRef of_selected(ValueRef self, bool is_result) {
    static const OpRow* const first_at_mask = find_op("first_at_mask");
    static const OpRow* const where = find_op("where");
    if (is_result || !is_inexact(spec_of(self).dtype)) return self;
    for (const auto& [from, filled] : filled_)
      if (from == self) return filled;
    ValueRef first{builder_.add_op(*first_at_mask, {self, mask_}), 0};
    ValueRef filled{builder_.add_op(*where, {mask_, self, first}), 0};
    filled_.emplace_back(self, filled);
    return filled;
  }

  GraphBuilder& builder_;
  MaskedParts& parts_;
  ValueRef mask_;
  std::vector<std::pair<ValueRef, ValueRef>> filled_;
};

}  // namespace

ValuePtr part_at_mask(Tracer& tracer, TensorValue* tensor, const ValuePtr& key) {
  static const OpRow* const masked_part = find_op("masked_part");
  const TensorValue* mask = mask_over(*tensor, key);
  if (mask == nullptr || captures_data_sizes(tracer) || tracer.is_declined_operator()) return nullptr;
  tracer.values().guard_tensor(as<TensorValue>(key));
  ValueRef at = tracer.builder().graph_value(as<TensorValue>(key));
  MaskedParts& parts = tracer.builder().masked_parts();
  std::optional<Dim> size = parts.size_at(at);
  if (!size) {
    constexpr int64_t kGuess = 2;  // shape rules treat 0 and 1 specially
    size = tracer.shapes().unbacked(kGuess, true);
    parts.add(at, *size);
  }
  parts.note_site(at, {tracer.frames().innermost().bytecode, tracer.frames().innermost().index});
  ValueRef self = tracer.builder().graph_value(tensor);
  Node* node = tracer.builder().add_op(*masked_part, {self, at, Scalar::symbolic(*size)});
  return make_value<TensorValue>(ValueRef{node, 0}, node->outs[0].spec, *tensor->family);
}

bool store_part_at_mask(Tracer& tracer, TensorValue* tensor, const ValuePtr& key, const ValuePtr& value) {
  static const OpRow* const where = find_op("where");
  static const OpRow* const cast = find_op("cast");
  static const OpRow* const copy = find_op("copy");
  auto* source = as<TensorValue>(value);
  if (source == nullptr || mask_over(*tensor, key) == nullptr) return false;
  MaskedParts& parts = tracer.builder().masked_parts();
  ValueRef mask = tracer.builder().graph_value(as<TensorValue>(key));
  std::optional<ValueRef> taken_at = parts.mask_of(source->spec);
  if (!taken_at || !(*taken_at == mask)) return false;
  tracer.values().guard_tensor(tensor);
  DType dtype = tensor->spec.dtype;
  ValueRef whole = Wholes(tracer, mask).of(tracer.builder().graph_value(source), source->spec.dtype == dtype);
  if (source->spec.dtype != dtype) whole = {tracer.builder().add_op(*cast, {whole, dtype}), 0};
  Node* updated = tracer.builder().add_op(*where, {mask, whole, tracer.builder().graph_value(tensor)});
  auto result = make_value<TensorValue>(ValueRef{updated, 0}, updated->outs[0].spec, *tensor->family);
  call_in_place(tracer, *copy, {{ValuePtr(tensor), result}, {}});
  return true;
}

}  // namespace md
