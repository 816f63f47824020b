// The table behind symbolic dims. Private to dim.cpp and dim_code.cpp.
#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tensor/dim.h"

namespace md::dim_expressions {

// An expression is a sum of monomials. A monomial is a sorted product of atoms with a
// coefficient; the empty product is 1.
using Monomial = std::vector<int>;
using Polynomial = std::map<Monomial, int64_t>;

// A symbol, or the floor of a quotient that is not exact.
struct Atom {
  std::string text;
  int64_t hint = 0;
  bool is_signed = false;  // may be negative
  bool is_symbol = false;
  int nesting = 0;                              // depth of nested quotients
  Polynomial numerator = {}, denominator = {};  // of a quotient
};

// Append-only: raw values of Dims are indices into it. One table per capture, owned by its graph;
// raw values identify the table.
struct Expressions {
  Expressions();
  ~Expressions();
  Expressions(const Expressions&) = delete;
  int64_t first_raw;  // the raw value of expression 0
  std::mutex mutex;
  std::vector<Atom> atoms;
  std::map<std::tuple<std::string, int64_t, bool>, int> symbols;
  std::map<std::pair<Polynomial, Polynomial>, int> quotients;
  std::vector<Polynomial> polynomials;
  std::map<Polynomial, int> indices;
};

// The table of a symbolic dim.
Expressions& table_of(Dim dim);

}  // namespace md::dim_expressions

namespace md {

// Converts between dims and expressions; the caller holds the table's mutex.
class DimReader {
 public:
  static Dim dim(int64_t raw) { return Dim::from_raw(raw); }
  static int64_t raw(Dim dim) { return dim.raw_; }
  static Dim symbol(dim_expressions::Expressions& table, int atom);
  static dim_expressions::Polynomial polynomial(const dim_expressions::Expressions& table, Dim dim);
  // Of a symbolic dim; valid until the table grows.
  static const dim_expressions::Polynomial& polynomial_of_symbolic(const dim_expressions::Expressions& table, Dim dim);
};

}  // namespace md
