// Dims as numbers once their symbols are known.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tensor/dim.h"

namespace md {

// The symbols of some dims, each once, in the order in which they were met.
class SymbolList {
 public:
  void add(Dim dim);
  const std::vector<Dim>& symbols() const { return symbols_; }
  int find(Dim symbol) const;  // -1: not in the list

 private:
  std::vector<Dim> symbols_;
};

// Whether it is one symbol and nothing else.
bool is_symbol(Dim dim);

// A dim as flat postfix code over the values of a list's symbols. Evaluates without locks and without allocation.
class DimCode {
 public:
  DimCode() = default;
  DimCode(Dim dim, const SymbolList& symbols);
  // No answer: it does not fit, or divides by zero.
  std::optional<int64_t> evaluate(std::span<const int64_t> values) const;

 private:
  enum class Op : uint8_t { Number, Symbol, Add, Multiply, FloorDivide };
  struct Instruction {
    Op op;
    int64_t number = 0;  // Number; Symbol: its position in the list
  };
  class Compiler;
  static constexpr int kDepth = 16;  // a deeper expression has no code: evaluate never answers
  std::vector<Instruction> code_;
  int depth_ = 0;
};

// `dim` with numbers for symbols, by their positions in the list. Throws Error(Runtime) where it does not fit.
int64_t evaluate(Dim dim, const SymbolList& symbols, std::span<const int64_t> values);

const char* relation_sign(DimRelation relation);
bool holds(DimRelation relation, int64_t a, int64_t b);

}  // namespace md
