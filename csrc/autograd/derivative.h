// How gradients flow through an op: the text of its row, parsed once.
//
// The language: statements, separated by ";".
//   parameter = formula    the gradient of an argument. One that is larger than the argument by broadcasting is summed
//                          to its sizes, and cast to its dtype, by what applies the rule: no formula does.
//   parameter = zero       the slope is 0 everywhere
//   let name = formula     shared by the statements behind it; computed if one that is computed reads it
//   none                   nothing flows: the results are integers or bools, or depend on no tensor
//   by function            a function of C++ computes the gradients of all arguments; by not_implemented: it raises
// A formula is Python's expression over the row's parameters, `result` and `grad` (several results: their names,
// grad_NAME; without names: result_0, grad_0; of those that got no gradient: None), numbers, ops by the names of their
// rows and the functions of rule_functions.def. `x if condition else y`, `and`, `or`, `not` and `is None` decide on
// what is known when the rule is applied. A gradient that reads only gradients which are None is None.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "autograd/formula.h"

namespace md {

// What is read of a call, by bit: of an argument or a result its elements, or its sizes, strides and dtype alone.
struct ReadSet {
  uint64_t argument_elements = 0, argument_specs = 0;
  uint64_t result_elements = 0, result_specs = 0;
  uint64_t gradients = 0;
  uint64_t lets = 0;
  void add(const ReadSet& other);
};

struct Derivative {
  struct Let {
    FormulaPtr formula;
    ReadSet reads;  // through other lets, too
  };
  struct Slope {
    int param;
    FormulaPtr formula;  // null: zero
    ReadSet reads;
  };
  bool is_none = false;
  WholeRule whole = nullptr;
  std::vector<Let> lets;
  std::vector<Slope> slopes;

  const Slope* slope_of(int param) const;
  // What the gradients of these parameters need of the call.
  ReadSet reads(std::span<const bool> wanted) const;
};

// Null: the row was made at run time and says nothing. Raises Error(Internal) for a text that is not in the language.
const Derivative* derivative_of(const OpRow& row);

// The gradients of the wanted arguments, by parameter: a tensor, a list for a list, None where nothing flows. They have
// the sizes and dtypes of the arguments. Ops in formulas run as all ops do: on recording tensors they are recorded.
std::vector<Arg> gradients_of(const Derivative& derivative, const DifferentiatedCall& call);

}  // namespace md
