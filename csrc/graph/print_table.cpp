#include "graph/print_table.h"

#include <algorithm>
#include <array>

#include "graph/text.h"

namespace md {
namespace {

using Row = std::array<std::string, 5>;

const char* opcode_of(const Node& node) {
  switch (node.kind) {
    case NodeKind::TensorInput:
    case NodeKind::ScalarInput:
      return "placeholder";
    case NodeKind::TensorConst:
      return "get_attr";
    case NodeKind::Op:
      break;
  }
  return call_form(node) == CallForm::Method ? "call_method" : "call_function";
}

Row row_of(const Node& node) {
  Row row = {opcode_of(node), node.name, node.kind == NodeKind::Op ? node.op->name : node.target, "(", "{"};
  for (size_t i = 0; i < node.operands.size(); ++i) {
    const Param& param = node.op->schema.params[i];
    if (is_default(param, node.operands[i])) continue;
    std::string text = operand_code(node.operands[i]);
    if (param.keyword_only) {
      row[4] += str_cat(row[4].size() > 1 ? ", " : "", "'", param.name, "': ", text);
    } else {
      row[3] += str_cat(row[3].size() > 1 ? ", " : "", text);
    }
  }
  row[3] += ")";
  row[4] += "}";
  return row;
}

}  // namespace

std::string print_table(const Graph& graph) {
  std::vector<Row> rows = {{"opcode", "name", "target", "args", "kwargs"}};
  rows.emplace_back();
  for (const auto& node : graph.nodes()) rows.push_back(row_of(*node));
  std::string outputs;
  for (const ValueRef& value : graph.outputs()) outputs += (outputs.empty() ? "" : ", ") + operand_code(Operand(value));
  rows.push_back({"output", "output", "output", "((" + outputs + "),)", "{}"});
  std::array<size_t, 5> widths{};
  for (const Row& row : rows)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  for (size_t i = 0; i < widths.size(); ++i) rows[1][i] = std::string(widths[i], '-');
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line += "  ";
      line += row[i];
      if (i + 1 < row.size()) line += std::string(widths[i] - row[i].size(), ' ');
    }
    text += line + "\n";
  }
  return text;
}

}  // namespace md
