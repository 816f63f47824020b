// The shape environment of one trace: its size symbols and the relations that the trace depends on.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "guards/guarded_sizes.h"
#include "guards/size_place.h"
#include "symbolic/values/value.h"
#include "tensor/dim_code.h"

namespace md {

// How the program marked a dimension of a tensor (mark_dynamic and similar).
enum class DimMark : uint8_t { None, Dynamic, MaybeDynamic, Static };
struct DimPolicy {
  DimMark mark = DimMark::None;
  std::optional<int64_t> min, max;
};
// Indexed by dim; empty if nothing is marked.
std::vector<DimPolicy> dim_policies(BorrowedRef tensor_object, int rank);

class ShapeEnv : public ShapeGuardSink {
 public:
  explicit ShapeEnv(bool all_symbolic);
  ~ShapeEnv() override;
  bool all_symbolic() const { return all_symbolic_; }  // make sizes of arguments symbolic from the first capture on
  // The symbol of a place: a size, or an int. `policy` is the program's, for a size.
  Dim symbol(const SizePlace& place, int64_t hint, const DimPolicy& policy = {});
  // The symbol of an unbacked size, unknown before the run: a number read from a tensor, or a count of elements, which
  // is not negative.
  Dim unbacked(int64_t hint, bool is_count = false);
  // Returns true if the dim contains an unbacked symbol.
  bool is_unbacked(Dim dim) const;
  // Likewise for a value that is computed from unbacked sizes.
  bool is_unbacked(const ValuePtr& value) const;
  // Returns true if some symbol is an element of a tensor as it was at the region's start.
  bool reads_elements() const;
  void relation(Dim a, DimRelation relation, Dim b) override;

  bool empty() const { return sizes_.symbols.symbols().empty(); }
  size_t relation_count() const { return known_.size(); }
  const SymbolList& symbols() const { return sizes_.symbols; }
  const GuardedSizes& sizes() const { return sizes_; }
  const SizePlace& place_of(Dim symbol) const { return sizes_.place_of(symbol); }
  // The number that the symbol was specialised to, if any.
  std::optional<int64_t> fixed(Dim symbol) const;
  std::vector<SizePlace> places_of(const SymbolList& list) const { return sizes_.places_of(list); }

  void add_guards(GuardSet& guards) const { sizes_.guard(guards, relations_); }
  // Deferred runtime asserts on unbacked sizes, which no guard can check.
  const std::vector<RuntimeAssert>& runtime_asserts() const { return runtime_asserts_; }
  // The text about dimensions marked dynamic that were specialised; empty if there are none.
  std::string violations(const Bytecode& bytecode) const;

  // Numbers that are computed at every run, even if unused: the computation may raise.
  const std::vector<ValuePtr>& may_raise() const { return may_raise_; }
  void add_may_raise(ValuePtr value);

 private:
  struct Marked {
    Dim symbol;
    SizePlace place;
    DimPolicy policy;
  };
  GuardedSizes sizes_;
  std::vector<SizeRelation> relations_;
  SymbolList unbacked_;
  std::vector<RuntimeAssert> runtime_asserts_;
  std::set<std::string> known_;  // texts of relations_ and runtime_asserts_
  std::vector<Marked> marked_;
  std::vector<ValuePtr> may_raise_;
  const bool all_symbolic_;
};

// Replaces the given sizes of an input's spec by symbols, and its strides where they are products with such sizes.
// Returns by dim the dim that the stride is derived from, as TensorExpectation::stride_over says; -1: none.
std::vector<int> make_symbolic(TensorSpec& spec, const std::vector<std::optional<Dim>>& sizes);

// Installs a sink for the duration of a scope.
class ShapeGuardScope {
 public:
  explicit ShapeGuardScope(ShapeGuardSink* sink) : previous_(exchange_shape_guard_sink(sink)) {}
  ~ShapeGuardScope() { exchange_shape_guard_sink(previous_); }
  ShapeGuardScope(const ShapeGuardScope&) = delete;
  ShapeGuardScope& operator=(const ShapeGuardScope&) = delete;

 private:
  ShapeGuardSink* previous_;
};

}  // namespace md
