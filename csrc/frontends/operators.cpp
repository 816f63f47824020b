#include "frontends/operators.h"

namespace md {
namespace {

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

const OpRow* binary_operator_row(const BinaryOperator& op) { return find_op(op.tensor_op); }
const OpRow* compare_operator_row(int py_op) { return operator_row(kCompareOperators, py_op); }
const OpRow* unary_operator_row(char op) { return operator_row(kUnaryOperators, op); }

}  // namespace md
