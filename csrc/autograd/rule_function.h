// Functions that formulas of derivatives may call beside ops.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "tensor/arg.h"

namespace md {

struct OpRow;

// A call to differentiate.
struct DifferentiatedCall {
  const OpRow& row;
  std::span<const Arg> args;          // as given to run_op; of a tensor that only its sizes are read of, a fake one
  std::span<const Tensor> results;    // likewise
  std::span<const Tensor> gradients;  // of the results; undefined: zero
  // The parameters that take a gradient.
  std::span<const bool> wanted;
};

struct RuleFunction {
  const char* name;
  Arg (*compute)(const DifferentiatedCall& call, std::span<const Arg> args);
  int arg_count;
  uint32_t specs;  // bit i: of argument i only sizes, strides and dtype are read
};

// Null: there is none.
const RuleFunction* find_rule_function(std::string_view name);

// The rule of a whole row: gradients by parameter, None for those that get none.
using WholeRule = std::vector<Arg> (*)(const DifferentiatedCall& call);
WholeRule find_whole_rule(std::string_view name);

}  // namespace md
