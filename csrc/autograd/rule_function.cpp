#include "autograd/rule_function.h"

#include "autograd/rules.h"
#include "base/error.h"
#include "tensor/ops/op_row.h"

namespace md {
namespace {

constexpr RuleFunction kFunctions[] = {
#define MD_RULE(name, arg_count, specs) {#name, rules::name, arg_count, specs},
#include "autograd/rule_functions.def"
#undef MD_RULE
};

struct NamedRule {
  std::string_view name;
  WholeRule rule;
};
constexpr NamedRule kWholeRules[] = {
#define MD_WHOLE_RULE(name) {#name, rules::name},
#include "autograd/whole_rules.def"
#undef MD_WHOLE_RULE
};

}  // namespace

namespace rules {

std::vector<Arg> not_implemented(const DifferentiatedCall& call) {
  raise(ErrorKind::NotImplemented, "the derivative for '", call.row.name, "' is not implemented");
}

}  // namespace rules

const RuleFunction* find_rule_function(std::string_view name) {
  for (const RuleFunction& function : kFunctions)
    if (name == function.name) return &function;
  return nullptr;
}

WholeRule find_whole_rule(std::string_view name) {
  for (const NamedRule& named : kWholeRules)
    if (name == named.name) return named.rule;
  return nullptr;
}

}  // namespace md
