// The symbols of one trace, and what the trace came to rely on about them.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "guards/guard_set.h"
#include "symbolic/values/value.h"

namespace md {

// What the program said of one dimension of a tensor (mark_dynamic and its like).
enum class DimMark : uint8_t { None, Dynamic, MaybeDynamic, Static };
struct DimPolicy {
  DimMark mark = DimMark::None;
  std::optional<int64_t> min, max;
};
// By dim; empty: nothing was said.
std::vector<DimPolicy> dim_policies(BorrowedRef tensor_object, int rank);

class ShapeEnv : public ShapeGuardSink {
 public:
  explicit ShapeEnv(bool all_symbolic) : all_symbolic_(all_symbolic) {}
  bool all_symbolic() const { return all_symbolic_; }  // sizes of arguments, from the first capture on
  // The symbol of a place: a size, or an int. `policy` is the program's, of a size.
  Dim symbol(const SizePlace& place, int64_t hint, const DimPolicy& policy = {});
  // The symbol of a number out of a tensor, which no place tells before a run.
  Dim unbacked(int64_t hint);
  // Some symbol of the dim is such a number.
  bool is_unbacked(Dim dim) const;
  // Or is computed of some.
  bool is_unbacked(const ValuePtr& value) const;
  void relation(Dim a, DimRelation relation, Dim b) override;

  bool empty() const { return symbols_.symbols().empty(); }
  size_t relation_count() const { return known_.size(); }
  const SymbolList& symbols() const { return symbols_; }
  const SizePlace& place_of(Dim symbol) const;
  // The number that the symbol had to be, if it had to.
  std::optional<int64_t> fixed(Dim symbol) const;
  std::vector<SizePlace> places_of(const SymbolList& list) const;

  void add_guards(GuardSet& guards) const;
  // What was relied on about numbers out of tensors, which no guard can see.
  const std::vector<RuntimeAssert>& runtime_asserts() const { return runtime_asserts_; }
  // What is to be said of dimensions that are marked dynamic and are not; empty: nothing.
  std::string violations(const Bytecode& bytecode) const;

  // Numbers that are computed at every run, though nobody may ask for them: the computation may raise.
  const std::vector<ValuePtr>& may_raise() const { return may_raise_; }
  void add_may_raise(ValuePtr value) { may_raise_.push_back(std::move(value)); }

 private:
  struct Relation {
    Dim a, b;
    DimRelation relation;
  };
  struct Marked {
    Dim symbol;
    SizePlace place;
    DimPolicy policy;
  };
  SymbolList symbols_;
  std::vector<SizePlace> places_;  // in the order of symbols_
  std::vector<Relation> relations_;
  SymbolList unbacked_;
  std::vector<RuntimeAssert> runtime_asserts_;
  std::set<std::string> known_;  // texts of relations_ and runtime_asserts_
  std::vector<Marked> marked_;
  std::vector<ValuePtr> may_raise_;
  const bool all_symbolic_;
};

// The spec of an input with symbols for these of its sizes, and strides over them where they go over them; by dim, which dim a
// stride goes over, -1: none.
std::vector<int> make_symbolic(TensorSpec& spec, const std::vector<std::optional<Dim>>& sizes);

// Installs a sink for a scope.
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
