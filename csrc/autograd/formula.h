// Formulas of derivatives: Python's expressions over the arguments, results and gradients of a call.
#pragma once
#include <memory>
#include <string_view>
#include <vector>

#include "autograd/rule_function.h"
#include "tensor/ops/op_row.h"

namespace md {

// What a name in a formula stands for, and its place among them.
struct FormulaName {
  enum class Kind : uint8_t { Argument, Result, Gradient, Gradients, Let };
  Kind kind;
  int index = 0;
};

struct Formula {
  enum class Kind : uint8_t { Name, Constant, List, Call, RowCall, Operator, Choice, Both, Either, Not, IsNone };
  Kind kind;
  FormulaName name = {};                           // Name
  Arg constant;                                    // Constant
  const RuleFunction* function = nullptr;          // Call
  const OpRow* row = nullptr;                      // RowCall, Operator
  char sign = 0;                                   // Operator: of numbers; 0: tensors only
  std::vector<std::unique_ptr<const Formula>> of;  // operands; Choice: condition, value, other value
  std::vector<int> params;                         // RowCall: of the row, one for each operand
};
using FormulaPtr = std::unique_ptr<const Formula>;

// The names that a formula of a row may use.
class FormulaNames {
 public:
  explicit FormulaNames(const OpRow& row);
  void add_let(std::string_view name) { lets_.emplace_back(name); }
  // Raises Error(Internal) for a name that stands for nothing.
  FormulaName find(std::string_view name) const;

 private:
  const OpRow& row_;
  std::vector<std::string> results_;    // by result
  std::vector<std::string> gradients_;  // likewise
  std::vector<std::string> lets_;
};

// Raises Error(Internal) with the position of text that does not parse.
FormulaPtr parse_formula(std::string_view text, const FormulaNames& names);

}  // namespace md
