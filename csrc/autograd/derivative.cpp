#include "autograd/derivative.h"

#include <bit>
#include <map>
#include <memory>
#include <mutex>

#include "base/error.h"

namespace md {
namespace {

constexpr uint64_t bit(int i) { return uint64_t{1} << i; }

void add_reads(const Formula& formula, const Derivative& derivative, bool spec_only, ReadSet& reads) {
  if (formula.kind == Formula::Kind::Name) {
    int index = formula.name.index;
    switch (formula.name.kind) {
      case FormulaName::Kind::Argument:
        (spec_only ? reads.argument_specs : reads.argument_elements) |= bit(index);
        break;
      case FormulaName::Kind::Result:
        (spec_only ? reads.result_specs : reads.result_elements) |= bit(index);
        break;
      case FormulaName::Kind::Gradient:
        if (!spec_only) reads.gradients |= bit(index);
        break;
      case FormulaName::Kind::Gradients:
        reads.gradients = ~uint64_t{0};
        break;
      case FormulaName::Kind::Let:
        reads.lets |= bit(index);
        reads.add(derivative.lets[static_cast<size_t>(index)].reads);
        break;
    }
  }
  for (size_t i = 0; i < formula.of.size(); ++i) {
    bool reads_spec =
        spec_only || (formula.function != nullptr && (formula.function->specs & bit(static_cast<int>(i))));
    bool is_test = formula.kind == Formula::Kind::IsNone;
    add_reads(*formula.of[i], derivative, reads_spec || is_test, reads);
  }
}

std::string_view trimmed(std::string_view text) {
  size_t start = text.find_first_not_of(" \n"), end = text.find_last_not_of(" \n");
  return start == std::string_view::npos ? std::string_view() : text.substr(start, end - start + 1);
}

class DerivativeParser {
 public:
  explicit DerivativeParser(const OpRow& row) : row_(row), names_(row) {}

  Derivative parse() {
    std::string_view text = row_.derivative;
    if (text == "none") {
      derivative_.is_none = true;
    } else if (text.starts_with("by ")) {
      derivative_.whole = find_whole_rule(text.substr(3));
      if (derivative_.whole == nullptr) fail(text);
    } else {
      while (!text.empty()) {
        size_t end = text.find(';');
        statement(trimmed(text.substr(0, end)));
        text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
      }
    }
    return std::move(derivative_);
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    raise(ErrorKind::Internal, "derivative of ", row_.name, ": \"", what, "\" is no statement");
  }

  void statement(std::string_view text) {
    size_t equals = text.find(" = ");
    if (equals == std::string_view::npos) fail(text);
    std::string_view name = text.substr(0, equals), formula = text.substr(equals + 3);
    if (name.starts_with("let ")) {
      let(name.substr(4), formula);
    } else {
      slope(name, formula);
    }
  }

  void let(std::string_view name, std::string_view text) {
    Derivative::Let let{.formula = parse_formula(text, names_), .reads = {}};
    add_reads(*let.formula, derivative_, false, let.reads);
    derivative_.lets.push_back(std::move(let));
    names_.add_let(name);
  }

  void slope(std::string_view name, std::string_view text) {
    Derivative::Slope slope{.param = row_.schema.find(name), .formula = nullptr, .reads = {}};
    if (slope.param < 0) fail(name);
    if (text != "zero") {
      slope.formula = parse_formula(text, names_);
      add_reads(*slope.formula, derivative_, false, slope.reads);
    }
    derivative_.slopes.push_back(std::move(slope));
  }

  const OpRow& row_;
  FormulaNames names_;
  Derivative derivative_;
};

}  // namespace

void ReadSet::add(const ReadSet& other) {
  argument_elements |= other.argument_elements;
  argument_specs |= other.argument_specs;
  result_elements |= other.result_elements;
  result_specs |= other.result_specs;
  gradients |= other.gradients;
  lets |= other.lets;
}

const Derivative::Slope* Derivative::slope_of(int param) const {
  for (const Slope& slope : slopes)
    if (slope.param == param) return &slope;
  return nullptr;
}

ReadSet Derivative::reads(std::span<const bool> wanted) const {
  ReadSet all;
  if (whole != nullptr) {
    all.argument_elements = all.result_elements = all.gradients = ~uint64_t{0};
    return all;
  }
  for (const Slope& slope : slopes)
    if (wanted[static_cast<size_t>(slope.param)]) all.add(slope.reads);
  return all;
}

const Derivative* derivative_of(const OpRow& row) {
  static std::mutex mutex;
  static auto* parsed = new std::map<const OpRow*, std::unique_ptr<const Derivative>>;
  if (row.derivative.empty()) return nullptr;
  std::lock_guard lock(mutex);
  std::unique_ptr<const Derivative>& derivative = (*parsed)[&row];
  if (!derivative) derivative = std::make_unique<const Derivative>(DerivativeParser(row).parse());
  return derivative.get();
}

}  // namespace md
