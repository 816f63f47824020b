// Applies the rule of a row to a call.
#include <algorithm>

#include "autograd/derivative.h"
#include "autograd/rule_numbers.h"
#include "autograd/rule_op.h"
#include "autograd/rules.h"
#include "base/error.h"

namespace md {
namespace {

const OpRow& row_of(const Formula& formula) { return *formula.row; }

// The value as what a parameter takes: a lone number for a list of numbers, a symbolic size for an integer.
Arg as_parameter(const Param& param, Arg value) {
  if (param.type == ParamType::IntList)
    if (const Scalar* number = std::get_if<Scalar>(&value)) return DimVec{number->as_dim()};
  return value;
}

class RuleRun {
 public:
  RuleRun(const Derivative& derivative, const DifferentiatedCall& call) : derivative_(derivative), call_(call) {
    lets_.resize(derivative.lets.size());
    have_let_.resize(derivative.lets.size());
  }

  Arg value(const Formula& formula) {
    switch (formula.kind) {
      case Formula::Kind::Name:
        return named(formula.name);
      case Formula::Kind::Constant:
        return formula.constant;
      case Formula::Kind::List:
        return list(formula);
      case Formula::Kind::Call:
        return called(formula);
      case Formula::Kind::RowCall:
        return row_called(formula);
      case Formula::Kind::Operator:
        return operated(formula);
      case Formula::Kind::Choice:
        return value(*formula.of[holds(*formula.of[0]) ? 1 : 2]);
      case Formula::Kind::Both:
      case Formula::Kind::Either:
      case Formula::Kind::Not:
      case Formula::Kind::IsNone:
        return Scalar(holds(formula));
    }
    __builtin_unreachable();
  }

 private:
  bool holds(const Formula& formula) {
    switch (formula.kind) {
      case Formula::Kind::Both:
        return holds(*formula.of[0]) && holds(*formula.of[1]);
      case Formula::Kind::Either:
        return holds(*formula.of[0]) || holds(*formula.of[1]);
      case Formula::Kind::Not:
        return !holds(*formula.of[0]);
      case Formula::Kind::IsNone: {
        Arg tested = value(*formula.of[0]);
        const Tensor* tensor = std::get_if<Tensor>(&tested);
        return is_none(tested) || (tensor != nullptr && !tensor->defined());
      }
      case Formula::Kind::Name:
      case Formula::Kind::Constant:
      case Formula::Kind::List:
      case Formula::Kind::Call:
      case Formula::Kind::RowCall:
      case Formula::Kind::Operator:
      case Formula::Kind::Choice:
        return is_true(value(formula));
    }
    __builtin_unreachable();
  }

  Arg named(const FormulaName& name) {
    auto index = static_cast<size_t>(name.index);
    switch (name.kind) {
      case FormulaName::Kind::Argument:
        return call_.args[index];
      case FormulaName::Kind::Result:
        return call_.results[index];
      case FormulaName::Kind::Gradient: {
        const Tensor& gradient = call_.gradients[index];
        return gradient.defined() ? Arg(gradient) : Arg();
      }
      case FormulaName::Kind::Gradients:
        return std::vector<Tensor>(call_.gradients.begin(), call_.gradients.end());
      case FormulaName::Kind::Let:
        break;
    }
    if (!have_let_[index]) {
      lets_[index] = value(*derivative_.lets[index].formula);
      have_let_[index] = true;
    }
    return lets_[index];
  }

  Arg list(const Formula& formula) {
    DimVec dims;
    for (const FormulaPtr& element : formula.of) dims.push_back(std::get<Scalar>(value(*element)).as_dim());
    return dims;
  }

  Arg called(const Formula& formula) {
    std::vector<Arg> args;
    for (const FormulaPtr& operand : formula.of) args.push_back(value(*operand));
    return formula.function->compute(call_, args);
  }

  Arg row_called(const Formula& formula) {
    const std::vector<Param>& params = row_of(formula).schema.params;
    std::vector<Arg> args(params.size());
    for (size_t i = 0; i < params.size(); ++i)
      if (params[i].default_value) args[i] = *params[i].default_value;
    for (size_t i = 0; i < formula.of.size(); ++i) {
      auto param = static_cast<size_t>(formula.params[i]);
      args[param] = as_parameter(params[param], value(*formula.of[i]));
    }
    return result_of(row_of(formula), args);
  }

  static Arg result_of(const OpRow& row, std::vector<Arg>& args) {
    std::vector<Tensor> results = run_with_history(row, args);
    return row.returns_list() ? Arg(std::move(results)) : Arg(std::move(results.at(0)));
  }

  Arg operated(const Formula& formula) {
    std::vector<Arg> args;
    for (const FormulaPtr& operand : formula.of) args.push_back(value(*operand));
    if (is_of_numbers(args)) return combined(formula.sign, args);
    fill_defaults(row_of(formula), args);
    return result_of(row_of(formula), args);
  }

  const Derivative& derivative_;
  const DifferentiatedCall& call_;
  std::vector<Arg> lets_;
  std::vector<bool> have_let_;
};

// Whether all that a slope reads of gradients is None. A slope names one of the first 64, or all of them.
bool gets_none(const ReadSet& reads, std::span<const Tensor> gradients) {
  for (size_t i = 0; i < gradients.size(); ++i)
    if ((reads.gradients >> std::min(i, size_t{63}) & 1) && gradients[i].defined()) return false;
  return true;
}

// Zeros for an argument whose slope is 0, as torch has them; None for a list, or if no result got a gradient.
Arg zeros_of(const Arg& argument, std::span<const Tensor> gradients) {
  const auto* tensor = std::get_if<Tensor>(&argument);
  if (tensor == nullptr) return {};
  for (const Tensor& gradient : gradients)
    if (gradient.defined()) return zeros_for(gradient, tensor->spec().sizes);
  return {};
}

Tensor fitted(Tensor gradient, const Tensor& argument) {
  if (!gradient.defined()) return gradient;
  return cast_to(sum_to(std::move(gradient), argument.spec().sizes), argument->dtype());
}

Arg fitted(Arg gradient, const Arg& argument) {
  if (auto* list = std::get_if<std::vector<Tensor>>(&gradient)) {
    const auto& tensors = std::get<std::vector<Tensor>>(argument);
    MD_ASSERT(list->size() == tensors.size(), "a gradient for each tensor of a list");
    for (size_t i = 0; i < list->size(); ++i) (*list)[i] = fitted(std::move((*list)[i]), tensors[i]);
    return gradient;
  }
  auto* tensor = std::get_if<Tensor>(&gradient);
  if (tensor == nullptr) return {};
  return fitted(std::move(*tensor), std::get<Tensor>(argument));
}

}  // namespace

std::vector<Arg> gradients_of(const Derivative& derivative, const DifferentiatedCall& call) {
  std::vector<Arg> gradients(call.args.size());
  if (derivative.whole != nullptr) {
    gradients = derivative.whole(call);
  } else {
    RuleRun run(derivative, call);
    for (const Derivative::Slope& slope : derivative.slopes) {
      auto param = static_cast<size_t>(slope.param);
      if (!call.wanted[param]) continue;
      if (slope.formula == nullptr) {
        gradients[param] = zeros_of(call.args[param], call.gradients);
      } else if (!gets_none(slope.reads, call.gradients)) {
        gradients[param] = run.value(*slope.formula);
      }
    }
  }
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (is_none(gradients[i]) || !call.wanted[i]) {
      gradients[i] = Arg();
    } else {
      gradients[i] = fitted(std::move(gradients[i]), call.args[i]);
    }
  }
  return gradients;
}

}  // namespace md
