// Evaluates dims once the values of their symbols are known.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tensor/dim.h"

namespace md {

// The symbols of some dims, without duplicates, in order of first occurrence.
class SymbolList {
 public:
  void add(Dim dim);
  const std::vector<Dim>& symbols() const { return symbols_; }
  int find(Dim symbol) const;  // -1: not in the list

 private:
  friend class DimCode;
  // What a symbol is in the table of its capture, known by its first raw value.
  struct TableAtom {
    int64_t table;
    int atom;
    bool operator==(const TableAtom&) const = default;
  };
  int find(TableAtom atom) const;

  std::vector<Dim> symbols_;
  std::vector<TableAtom> atoms_;  // of each symbol
};

// Whether it is a single symbol.
bool is_symbol(Dim dim);

// A dim as flat postfix code over the values of a list's symbols. Evaluates without locks and allocations.
class DimCode {
 public:
  DimCode() = default;
  DimCode(Dim dim, const SymbolList& symbols);
  // nullopt on overflow or division by zero.
  std::optional<int64_t> evaluate(std::span<const int64_t> values) const;

 private:
  enum class Op : uint8_t { Number, Symbol, Add, Multiply, FloorDivide };
  struct Instruction {
    Op op;
    int64_t number = 0;  // Number; Symbol: its position in the list
  };
  class Compiler;
  static constexpr int kDepth = 16;  // a deeper expression has no code: evaluate() returns nullopt
  std::vector<Instruction> code_;
  int depth_ = 0;
};

// Evaluates `dim` with `values` for the symbols of the list. Throws Error(Runtime) on overflow.
int64_t evaluate(Dim dim, const SymbolList& symbols, std::span<const int64_t> values);

const char* relation_sign(DimRelation relation);
bool holds(DimRelation relation, int64_t a, int64_t b);

}  // namespace md
