#include "autograd/node_names.h"

#include <cctype>
#include <unordered_map>

namespace md {
namespace {

const Tensor* tensor_at(std::span<const Arg> args, size_t i) {
  const auto* tensor = i < args.size() ? std::get_if<Tensor>(&args[i]) : nullptr;
  return tensor != nullptr && tensor->defined() ? tensor : nullptr;
}
int rank_at(std::span<const Arg> args, size_t i) {
  const Tensor* tensor = tensor_at(args, i);
  return tensor == nullptr ? 0 : (*tensor)->rank();
}
// How many numbers the list has; 0 for None.
int count_at(std::span<const Arg> args, size_t i) {
  const auto* list = i < args.size() ? std::get_if<DimVec>(&args[i]) : nullptr;
  return list == nullptr ? 0 : list->size();
}
bool is_none_at(std::span<const Arg> args, size_t i) { return i >= args.size() || is_none(args[i]); }

int first(std::span<const Arg>) { return 0; }
int by_numbers(std::span<const Arg> args) {
  if (tensor_at(args, 0) == nullptr) return 2;
  return tensor_at(args, 1) == nullptr ? 0 : 1;
}
int by_dims(std::span<const Arg> args) { return is_none_at(args, 1) ? 0 : 1; }
int by_bounds(std::span<const Arg> args) {
  return tensor_at(args, 1) != nullptr || tensor_at(args, 2) != nullptr ? 1 : 0;
}
int by_ranks(std::span<const Arg> args) {
  int left = rank_at(args, 0), right = rank_at(args, 1);
  if (left == 2 && right == 2) return 0;
  if (left == 1 && right == 1) return 1;
  if (left == 2 && right == 1) return 2;
  return left == 1 ? 3 : 4;
}
int by_bias(std::span<const Arg> args) {
  bool is_matrix = rank_at(args, 0) == 2, has_bias = tensor_at(args, 2) != nullptr;
  return (is_matrix ? 0 : 2) + (has_bias ? 0 : 1);
}
int by_pooled_dims(std::span<const Arg> args) {
  int count = count_at(args, 1);
  return count == 1 ? 1 : count == 3 ? 2 : 0;
}
int by_squeezed(std::span<const Arg> args) { return is_none_at(args, 1) ? 0 : count_at(args, 1) == 1 ? 1 : 2; }

std::unordered_map<const OpRow*, NodeNames> read_table() {
  std::unordered_map<const OpRow*, NodeNames> table;
#define MD_NODE_NAMES(row, choose, ...) table[find_op(row)] = NodeNames{choose, {__VA_ARGS__}};
#include "autograd/node_names.def"
#undef MD_NODE_NAMES
  return table;
}

}  // namespace

const NodeNames* node_names_of(const OpRow& row) {
  static const auto* const table = new std::unordered_map<const OpRow*, NodeNames>(read_table());
  auto found = table->find(&row);
  return found == table->end() ? nullptr : &found->second;
}

std::string default_node_name(const OpRow& row) {
  std::string name;
  bool upper = true;
  for (char c : python_name(row)) {
    if (c == '_') {
      upper = true;
      continue;
    }
    name += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = false;
  }
  return name + "Backward0";
}

}  // namespace md
