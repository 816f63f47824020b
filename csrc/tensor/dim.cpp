#include "tensor/dim.h"

#include "tensor/dim_expressions.h"
#include "tensor/dim_table.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <unordered_map>

namespace md {
namespace {

using namespace dim_expressions;

[[noreturn]] void raise_overflow() { raise(ErrorKind::Runtime, "size calculation overflowed"); }

int64_t checked_add(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_add_overflow(a, b, &result)) raise_overflow();
  return result;
}

int64_t checked_multiply(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_mul_overflow(a, b, &result)) raise_overflow();
  return result;
}

int64_t floor_quotient(int64_t a, int64_t b) {
  if (b == 0) raise(ErrorKind::Runtime, "size calculation divides by zero");
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

void add_term(Polynomial& sum, const Monomial& monomial, int64_t coefficient) {
  int64_t& term = sum[monomial];
  term = checked_add(term, coefficient);
  if (term == 0) sum.erase(monomial);
}

Polynomial multiply(const Polynomial& a, const Polynomial& b) {
  Polynomial result;
  for (const auto& [left, left_coefficient] : a) {
    for (const auto& [right, right_coefficient] : b) {
      Monomial atoms = left;
      atoms.insert(atoms.end(), right.begin(), right.end());
      std::sort(atoms.begin(), atoms.end());
      add_term(result, atoms, checked_multiply(left_coefficient, right_coefficient));
    }
  }
  return result;
}

// a / b if b is a single monomial that divides every term of a.
bool divide_exactly(const Polynomial& a, const Polynomial& b, Polynomial& quotient) {
  if (b.size() != 1) return false;
  const auto& [divisor, divisor_coefficient] = *b.begin();
  for (const auto& [monomial, coefficient] : a) {
    if (coefficient % divisor_coefficient != 0) return false;
    if (!std::includes(monomial.begin(), monomial.end(), divisor.begin(), divisor.end())) return false;
    Monomial rest;
    std::set_difference(monomial.begin(), monomial.end(), divisor.begin(), divisor.end(), std::back_inserter(rest));
    quotient[rest] = coefficient / divisor_coefficient;
  }
  return true;
}

int64_t hint_of(const Expressions& table, const Polynomial& sum) {
  int64_t total = 0;
  for (const auto& [monomial, coefficient] : sum) {
    int64_t term = coefficient;
    for (int atom : monomial) term = checked_multiply(term, table.atoms[atom].hint);
    total = checked_add(total, term);
  }
  return total;
}

std::string text_of(const Expressions& table, const Polynomial& sum) {
  std::string text;
  for (auto it = sum.rbegin(); it != sum.rend(); ++it) {
    const auto& [monomial, coefficient] = *it;
    std::string term;
    for (int atom : monomial) term += (term.empty() ? "" : "*") + table.atoms[atom].text;
    int64_t magnitude = coefficient;
    if (!text.empty()) {
      text += coefficient < 0 ? " - " : " + ";
      if (coefficient < 0) magnitude = -coefficient;
    }
    if (term.empty()) {
      text += std::to_string(magnitude);
    } else {
      text += (magnitude == 1 ? "" : std::to_string(magnitude) + "*") + term;
    }
  }
  return text;
}

// Larger expressions are too costly, and DimCode cannot evaluate deeper ones: such a dim is replaced by its number.
constexpr size_t kMostTerms = 64;
constexpr int kMostNesting = 4;

int nesting_of(const Expressions& table, const Polynomial& sum) {
  int deepest = 0;
  for (const auto& [monomial, coefficient] : sum)
    for (int atom : monomial) deepest = std::max(deepest, table.atoms[static_cast<size_t>(atom)].nesting);
  return deepest;
}

// The raw value of a Dim for this expression: a plain number if constant.
int64_t intern(Expressions& table, const Polynomial& sum) {
  if (sum.empty()) return 0;
  if (sum.size() == 1 && sum.begin()->first.empty()) return sum.begin()->second;
  auto [it, is_new] = table.indices.try_emplace(sum, static_cast<int>(table.polynomials.size()));
  if (is_new) table.polynomials.push_back(sum);
  return table.first_raw + it->second;
}

constexpr int kIndexBits = 32;

// Tables by number; numbers are never reused, so a dim that outlives its table cannot refer to another one.
struct Tables {
  std::mutex mutex;
  std::unordered_map<int64_t, Expressions*> by_number;
  int64_t next = 0;
};
int64_t table_number(int64_t raw) { return (raw - INT64_MIN) >> kIndexBits; }
Tables& tables() {
  static auto* instance = new Tables;
  return *instance;
}

// For symbols created outside of any scope.
Expressions& lasting_table() {
  static auto* instance = new Expressions;
  return *instance;
}

thread_local DimTableScope* current_scope = nullptr;

int new_atom(Expressions& table, Atom atom) {
  table.atoms.push_back(std::move(atom));
  return static_cast<int>(table.atoms.size()) - 1;
}

// A lower bound of the expression; nullopt if there is none.
std::optional<int64_t> least(const Expressions& table, const Polynomial& sum) {
  int64_t total = 0;
  for (const auto& [monomial, coefficient] : sum) {
    if (monomial.empty()) {
      total = coefficient;
      continue;
    }
    auto may_be_negative = [&](int atom) { return table.atoms[static_cast<size_t>(atom)].is_signed; };
    if (coefficient < 0 || std::any_of(monomial.begin(), monomial.end(), may_be_negative)) return std::nullopt;
  }
  return total;
}

Polynomial difference(const Polynomial& a, const Polynomial& b) {
  Polynomial result = a;
  for (const auto& [monomial, coefficient] : b) add_term(result, monomial, checked_multiply(coefficient, -1));
  return result;
}

// Returns null if the dims are of different captures, which are unrelated.
Expressions* common_table(Dim a, Dim b) {
  if (!a.is_symbolic()) return &table_of(b);
  Expressions& table = table_of(a);
  return !b.is_symbolic() || &table_of(b) == &table ? &table : nullptr;
}

// A lower bound of a - b, one of them symbolic.
std::optional<int64_t> least_difference(Dim a, Dim b) {
  Expressions* table_ptr = common_table(a, b);
  if (table_ptr == nullptr) return std::nullopt;
  Expressions& table = *table_ptr;
  std::lock_guard lock(table.mutex);
  return least(table, difference(DimReader::polynomial(table, a), DimReader::polynomial(table, b)));
}

bool is_sum(const Polynomial& polynomial) { return polynomial.size() > 1; }
bool is_one_factor(const Polynomial& polynomial) {
  return polynomial.size() == 1 && (polynomial.begin()->first.empty() ||
                                    (polynomial.begin()->first.size() == 1 && polynomial.begin()->second == 1));
}

// The greatest common factor of all terms of both.
Monomial common_factor(const Polynomial& a, const Polynomial& b, int64_t& coefficient) {
  Monomial common = a.begin()->first;
  coefficient = 0;
  for (const Polynomial* terms : {&a, &b}) {
    for (const auto& [monomial, factor] : *terms) {
      Monomial both;
      std::set_intersection(common.begin(), common.end(), monomial.begin(), monomial.end(), std::back_inserter(both));
      common = std::move(both);
      coefficient = std::gcd(coefficient, factor);
    }
  }
  return common;
}

Polynomial quotient_of(Expressions& table, const Polynomial& whole_a, const Polynomial& whole_b) {
  Polynomial quotient, a, b;
  if (whole_b.empty()) raise(ErrorKind::Runtime, "size calculation divides by zero");
  if (divide_exactly(whole_a, whole_b, quotient)) return quotient;
  // Cancelling common factors does not change a quotient.
  int64_t coefficient = 1;
  Monomial common = common_factor(whole_a, whole_b, coefficient);
  divide_exactly(whole_a, {{common, coefficient}}, a);
  divide_exactly(whole_b, {{common, coefficient}}, b);
  auto known = table.quotients.find({a, b});
  int atom;
  if (known != table.quotients.end()) {
    atom = known->second;
  } else {
    std::string left = text_of(table, a), right = text_of(table, b);
    if (is_sum(a)) left = str_cat("(", left, ")");
    if (!is_one_factor(b)) right = str_cat("(", right, ")");
    bool is_signed = least(table, a).value_or(-1) < 0 || least(table, b).value_or(-1) < 0;
    atom = new_atom(table, {.text = str_cat("(", left, "//", right, ")"),
                            .hint = floor_quotient(hint_of(table, a), hint_of(table, b)),
                            .is_signed = is_signed,
                            .nesting = 1 + std::max(nesting_of(table, a), nesting_of(table, b)),
                            .numerator = a,
                            .denominator = b});
    table.quotients[{a, b}] = atom;
  }
  return {{{atom}, 1}};
}

// nullopt if the expression would be too large.
std::optional<Dim> combine_symbolic(Dim a, Dim b, char operation) {
  Expressions* common = common_table(a, b);
  if (common == nullptr) return std::nullopt;
  Expressions& table = *common;
  std::lock_guard lock(table.mutex);
  Polynomial left = DimReader::polynomial(table, a);
  Polynomial right = DimReader::polynomial(table, b);
  switch (operation) {
    case '+':
    case '-':
      for (const auto& [monomial, coefficient] : right) {
        add_term(left, monomial, operation == '-' ? -coefficient : coefficient);
      }
      break;
    case '*':
      left = multiply(left, right);
      break;
    default:
      if (std::max(nesting_of(table, left), nesting_of(table, right)) >= kMostNesting) return std::nullopt;
      left = quotient_of(table, left, right);
  }
  if (left.size() > kMostTerms) return std::nullopt;
  return DimReader::dim(intern(table, left));
}

thread_local ShapeGuardSink* current_sink = nullptr;

}  // namespace

Dim Dim::from_raw(int64_t raw) {
  Dim dim;
  dim.raw_ = raw;
  return dim;
}

Expressions::Expressions() {
  Tables& all = tables();
  std::lock_guard lock(all.mutex);
  MD_ASSERT(all.next < int64_t{1} << 30, "more captures over symbolic sizes than there are numbers for");
  first_raw = INT64_MIN + (all.next << kIndexBits);
  all.by_number[all.next++] = this;
}

Expressions::~Expressions() {
  Tables& all = tables();
  std::lock_guard lock(all.mutex);
  all.by_number.erase(table_number(first_raw));
}

Expressions& dim_expressions::table_of(Dim dim) {
  Tables& all = tables();
  std::lock_guard lock(all.mutex);
  auto known = all.by_number.find(table_number(DimReader::raw(dim)));
  MD_ASSERT(known != all.by_number.end(), "a symbolic dim outlived its capture");
  return *known->second;
}

int dim_table_count() {
  Tables& all = tables();
  std::lock_guard lock(all.mutex);
  return static_cast<int>(all.by_number.size());
}

DimTableScope::DimTableScope() : outer_(std::exchange(current_scope, this)) {}
DimTableScope::~DimTableScope() { current_scope = outer_; }

Expressions& DimTableScope::current() {
  if (current_scope == nullptr) return lasting_table();
  if (current_scope->table_ == nullptr) current_scope->table_ = std::make_shared<Expressions>();
  return *current_scope->table_;
}

Dim DimReader::symbol(Expressions& table, int atom) { return Dim::from_raw(intern(table, {{{atom}, 1}})); }

const Polynomial& DimReader::polynomial_of_symbolic(const Expressions& table, Dim dim) {
  return table.polynomials[static_cast<size_t>(dim.raw_ - table.first_raw)];
}

Polynomial DimReader::polynomial(const Expressions& table, Dim dim) {
  if (dim.is_symbolic()) return polynomial_of_symbolic(table, dim);
  Polynomial constant;
  if (dim.raw_ != 0) constant[{}] = dim.raw_;
  return constant;
}

Dim Dim::make_symbol(Expressions& table, const std::string& name, int64_t hint, bool is_signed) {
  std::lock_guard lock(table.mutex);
  auto [known, is_new] = table.symbols.try_emplace({name, hint, is_signed}, 0);
  if (is_new) known->second = new_atom(table, {.text = name, .hint = hint, .is_signed = is_signed, .is_symbol = true});
  return DimReader::symbol(table, known->second);
}

Dim Dim::symbol(const std::string& name, int64_t hint) {
  return make_symbol(DimTableScope::current(), name, hint, false);
}
Dim Dim::signed_symbol(const std::string& name, int64_t hint) {
  return make_symbol(DimTableScope::current(), name, hint, true);
}
Dim Dim::symbol_beside(Dim other, const std::string& name, int64_t hint) {
  MD_ASSERT(other.is_symbolic(), "a symbol is made beside another one");
  return make_symbol(table_of(other), name, hint, false);
}

int64_t Dim::hint() const {
  if (!is_symbolic()) return raw_;
  Expressions& table = table_of(*this);
  std::lock_guard lock(table.mutex);
  return hint_of(table, DimReader::polynomial_of_symbolic(table, *this));
}

std::string Dim::str() const {
  if (!is_symbolic()) return std::to_string(raw_);
  Expressions& table = table_of(*this);
  std::lock_guard lock(table.mutex);
  return text_of(table, DimReader::polynomial_of_symbolic(table, *this));
}

Dim Dim::combine(Dim a, Dim b, char operation) {
  if (a.is_symbolic() || b.is_symbolic())
    if (std::optional<Dim> dim = combine_symbolic(a, b, operation)) return *dim;
  int64_t left = a.value(), right = b.value();
  int64_t result = operation == '+'   ? checked_add(left, right)
                   : operation == '-' ? checked_add(left, checked_multiply(right, -1))
                   : operation == '*' ? checked_multiply(left, right)
                                      : floor_quotient(left, right);
  if (result < kFirstSymbolic) raise_overflow();
  return Dim(result);
}

bool known_equal_symbolic(Dim a, Dim b) {
  if (same(a, b)) return true;
  if (least_difference(a, b).value_or(0) > 0 || least_difference(b, a).value_or(0) > 0) return false;
  bool holds = a.hint() == b.hint();
  if (current_sink != nullptr) current_sink->relation(a, holds ? DimRelation::Equal : DimRelation::NotEqual, b);
  return holds;
}

bool known_less_symbolic(Dim a, Dim b) {
  if (same(a, b)) return false;
  if (least_difference(b, a).value_or(0) > 0) return true;
  if (least_difference(a, b).value_or(-1) >= 0) return false;
  bool holds = a.hint() < b.hint();
  if (current_sink != nullptr) current_sink->relation(a, holds ? DimRelation::Less : DimRelation::NotLess, b);
  return holds;
}

int64_t Dim::specialised() const {
  MD_ASSERT(current_sink != nullptr, "a symbolic dim has no value: ", str());
  int64_t number = hint();
  current_sink->relation(*this, DimRelation::Equal, number);
  return number;
}

ShapeGuardSink* exchange_shape_guard_sink(ShapeGuardSink* sink) { return std::exchange(current_sink, sink); }

void DimVec::grow(int size) {
  int capacity = std::max(size, 2 * capacity_);
  Dim* dims = new Dim[static_cast<size_t>(capacity)];
  std::copy(begin(), end(), dims);
  drop_heap();
  heap_ = dims;
  capacity_ = capacity;
}

void DimVec::free_heap() { delete[] heap_; }

void DimVec::insert(int at, Dim dim) {
  resize(size_ + 1);
  std::copy_backward(begin() + at, end() - 1, end());
  data()[at] = dim;
}

void DimVec::erase(int at) {
  std::copy(begin() + at + 1, end(), begin() + at);
  resize(size_ - 1);
}

bool same(const DimVec& a, const DimVec& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](Dim x, Dim y) { return same(x, y); });
}

// An extent of zero makes the product zero, however large the others are.
Dim product(std::span<const Dim> dims) {
  for (Dim dim : dims) {
    if (same(dim, Dim(0))) return 0;
  }
  Dim total = 1;
  for (Dim dim : dims) total = total * dim;
  return total;
}

bool any_symbolic(std::span<const Dim> dims) {
  return std::any_of(dims.begin(), dims.end(), [](Dim dim) { return dim.is_symbolic(); });
}

std::string str(std::span<const Dim> dims) {
  std::string text = "(";
  for (size_t i = 0; i < dims.size(); ++i) text += (i == 0 ? "" : ", ") + dims[i].str();
  return text + (dims.size() == 1 ? ",)" : ")");
}

std::string list_str(std::span<const Dim> dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) text += (i == 0 ? "" : ", ") + dims[i].str();
  return text + "]";
}

// As in torch, an extent of zero counts as one.
DimVec contiguous_strides(std::span<const Dim> sizes) {
  DimVec strides;
  strides.resize(static_cast<int>(sizes.size()));
  Dim step = 1;
  for (int i = strides.size() - 1; i >= 0; --i) {
    strides[i] = step;
    if (i > 0 && !known_equal_if_hinted(sizes[i], 0)) step = step * sizes[i];
  }
  return strides;
}

}  // namespace md
