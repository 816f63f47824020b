// The table behind symbolic dims. Only dim.cpp and dim_code.cpp look into it.
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

// An expression is a sum of monomials. A monomial is a product of atoms, sorted, with a coefficient; the empty product
// is 1.
using Monomial = std::vector<int>;
using Polynomial = std::map<Monomial, int64_t>;

// A symbol, or the floor of a quotient that does not divide out.
struct Atom {
  std::string text;
  int64_t hint = 0;
  bool is_signed = false;  // may be negative
  bool is_symbol = false;
  int nesting = 0;                              // of quotients in it
  Polynomial numerator = {}, denominator = {};  // of a quotient
};

// Only grows: raw values of Dims are indices into it. One table for each capture, which its graph keeps; raw values say
// which table.
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

// Between dims and their expressions, for those who hold the table's mutex.
class DimReader {
 public:
  static Dim dim(int64_t raw) { return Dim::from_raw(raw); }
  static int64_t raw(Dim dim) { return dim.raw_; }
  static Dim symbol(dim_expressions::Expressions& table, int atom);
  static dim_expressions::Polynomial polynomial(const dim_expressions::Expressions& table, Dim dim);
};

}  // namespace md
