#include "tensor/dim_code.h"

#include <algorithm>
#include <array>

#include "tensor/dim_expressions.h"

namespace md {

using namespace dim_expressions;

namespace {

void add_atoms(const Expressions& table, const Polynomial& sum, std::vector<int>& found) {
  for (const auto& [monomial, coefficient] : sum) {
    for (int atom : monomial) {
      const Atom& known = table.atoms[static_cast<size_t>(atom)];
      if (known.is_symbol) {
        if (std::find(found.begin(), found.end(), atom) == found.end()) found.push_back(atom);
      } else {
        add_atoms(table, known.numerator, found);
        add_atoms(table, known.denominator, found);
      }
    }
  }
}

}  // namespace

void SymbolList::add(Dim dim) {
  if (!dim.is_symbolic()) return;
  Expressions& table = table_of(dim);
  std::lock_guard lock(table.mutex);
  std::vector<int> atoms;
  add_atoms(table, DimReader::polynomial_of_symbolic(table, dim), atoms);
  for (int atom : atoms) {
    TableAtom found = {table.first_raw, atom};
    if (find(found) >= 0) continue;
    symbols_.push_back(DimReader::symbol(table, atom));
    atoms_.push_back(found);
  }
}

int SymbolList::find(Dim symbol) const {
  auto at = std::find_if(symbols_.begin(), symbols_.end(), [&](Dim known) { return same(known, symbol); });
  return at == symbols_.end() ? -1 : static_cast<int>(at - symbols_.begin());
}

int SymbolList::find(TableAtom atom) const {
  auto at = std::ranges::find(atoms_, atom);
  return at == atoms_.end() ? -1 : static_cast<int>(at - atoms_.begin());
}

bool is_symbol(Dim dim) {
  if (!dim.is_symbolic()) return false;
  Expressions& table = table_of(dim);
  std::lock_guard lock(table.mutex);
  const Polynomial& sum = DimReader::polynomial_of_symbolic(table, dim);
  if (sum.size() != 1 || sum.begin()->second != 1 || sum.begin()->first.size() != 1) return false;
  return table.atoms[static_cast<size_t>(sum.begin()->first[0])].is_symbol;
}

// The caller holds the table's mutex.
class DimCode::Compiler {
 public:
  Compiler(DimCode& code, const Expressions& table, const SymbolList& symbols)
      : code_(code), table_(table), symbols_(symbols) {}

  void sum(const Polynomial& terms) {
    if (terms.empty()) return push(Op::Number, 0);
    bool first = true;
    for (const auto& [monomial, coefficient] : terms) {
      term(monomial, coefficient);
      if (!first) combine(Op::Add);
      first = false;
    }
  }

 private:
  void term(const Monomial& monomial, int64_t coefficient) {
    bool first = coefficient == 1 && !monomial.empty();
    if (!first) push(Op::Number, coefficient);
    for (int atom : monomial) {
      factor(atom);
      if (!first) combine(Op::Multiply);
      first = false;
    }
  }

  void factor(int atom) {
    const Atom& known = table_.atoms[static_cast<size_t>(atom)];
    if (known.is_symbol) {
      int at = symbols_.find({table_.first_raw, atom});
      MD_ASSERT(at >= 0, "a symbol that is not in the list: ", known.text);
      return push(Op::Symbol, at);
    }
    sum(known.numerator);
    sum(known.denominator);
    combine(Op::FloorDivide);
  }

  void push(Op op, int64_t number) {
    code_.code_.push_back({op, number});
    code_.depth_ = std::max(code_.depth_, ++depth_);
  }
  void combine(Op op) {
    code_.code_.push_back({op, 0});
    --depth_;
  }

  DimCode& code_;
  const Expressions& table_;
  const SymbolList& symbols_;
  int depth_ = 0;
};

DimCode::DimCode(Dim dim, const SymbolList& symbols) {
  if (!dim.is_symbolic()) {
    code_.push_back({Op::Number, dim.value()});
    depth_ = 1;
    return;
  }
  Expressions& table = table_of(dim);
  std::lock_guard lock(table.mutex);
  Compiler(*this, table, symbols).sum(DimReader::polynomial_of_symbolic(table, dim));
}

std::optional<int64_t> DimCode::evaluate(std::span<const int64_t> values) const {
  if (depth_ > kDepth || code_.empty()) return std::nullopt;
  std::array<int64_t, kDepth> stack;
  size_t top = 0;  // next free stack slot
  for (const Instruction& in : code_) {
    if (in.op == Op::Number || in.op == Op::Symbol) {
      stack[top++] = in.op == Op::Number ? in.number : values[static_cast<size_t>(in.number)];
      continue;
    }
    --top;
    int64_t a = stack[top - 1], b = stack[top], result = 0;
    switch (in.op) {
      case Op::Add:
        if (__builtin_add_overflow(a, b, &result)) return std::nullopt;
        break;
      case Op::Multiply:
        if (__builtin_mul_overflow(a, b, &result)) return std::nullopt;
        break;
      case Op::FloorDivide:
        if (b == 0 || (a == INT64_MIN && b == -1)) return std::nullopt;
        result = a / b - (a % b != 0 && (a < 0) != (b < 0));
        break;
      case Op::Number:
      case Op::Symbol:
        break;
    }
    stack[top - 1] = result;
  }
  return stack[0];
}

int64_t evaluate(Dim dim, const SymbolList& symbols, std::span<const int64_t> values) {
  if (!dim.is_symbolic()) return dim.value();
  std::optional<int64_t> number = DimCode(dim, symbols).evaluate(values);
  if (!number) raise(ErrorKind::Runtime, "the size ", dim.str(), " cannot be calculated");
  return *number;
}

const char* relation_sign(DimRelation relation) {
  constexpr const char* kSigns[] = {"==", "!=", "<", ">="};
  return kSigns[static_cast<int>(relation)];
}

bool holds(DimRelation relation, int64_t a, int64_t b) {
  switch (relation) {
    case DimRelation::Equal:
      return a == b;
    case DimRelation::NotEqual:
      return a != b;
    case DimRelation::Less:
      return a < b;
    case DimRelation::NotLess:
      return a >= b;
  }
  return false;
}

}  // namespace md
