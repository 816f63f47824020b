#include "frontends/op_callables.h"

#include <unordered_map>

namespace md {
namespace {

// Lives as long as the process: destroying it would drop references after interpreter shutdown.
struct OpCallables {
  std::unordered_map<PyObject*, const OpRow*> rows;
  std::unordered_map<PyObject*, const OpRow*> in_place_rows;
  std::vector<Ref> owned;
};
OpCallables& op_callables() {
  static auto* callables = new OpCallables;
  return *callables;
}

struct OperatorName {
  int code;
  const char* op;
};

constexpr OperatorName kCompareOperators[] = {
    {Py_LT, "lt"}, {Py_LE, "le"}, {Py_EQ, "eq"}, {Py_NE, "ne"}, {Py_GT, "gt"}, {Py_GE, "ge"},
};
constexpr OperatorName kUnaryOperators[] = {
    {'-', "neg"},
    {'~', "bitwise_not"},
    {'+', "positive"},
};

template <size_t N>
const OpRow* operator_row(const OperatorName (&names)[N], int code) {
  for (const OperatorName& name : names) {
    if (name.code == code) return find_op(name.op);
  }
  return nullptr;
}

}  // namespace

void register_op_callable(BorrowedRef callable, const OpRow* row) {
  OpCallables& callables = op_callables();
  if (callables.rows.insert_or_assign(callable, row).second) callables.owned.push_back(Ref::share(callable));
}

const OpRow* find_op_callable(BorrowedRef callable) {
  const auto& rows = op_callables().rows;
  auto found = rows.find(callable);
  return found == rows.end() ? nullptr : found->second;
}

void register_in_place_callable(BorrowedRef callable, const OpRow* row) {
  OpCallables& callables = op_callables();
  if (callables.in_place_rows.insert_or_assign(callable, row).second) callables.owned.push_back(Ref::share(callable));
}

const OpRow* find_in_place_callable(BorrowedRef callable) {
  auto found = op_callables().in_place_rows.find(callable);
  return found == op_callables().in_place_rows.end() ? nullptr : found->second;
}

const OpRow* binary_operator_row(const BinaryOperator& op) { return find_op(op.tensor_op); }
const OpRow* compare_operator_row(int py_op) { return operator_row(kCompareOperators, py_op); }
const OpRow* unary_operator_row(char op) { return operator_row(kUnaryOperators, op); }

}  // namespace md
