// x[mask] of a trace: tensors of a size that depends on data, as long as all that is made of them is written to another
// tensor at the same mask. Such a write is captured as one of the whole tensor, and the parts have no readers then; a
// trace that has other readers is repeated, without these parts.
#pragma once
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "symbolic/state/operator_sites.h"

namespace md {

// Restarts the trace with these subscripts as graph breaks.
struct RefusedPartsSignal {
  OperatorSites sites;
};

class MaskedParts {
 public:
  bool empty() const { return masks_.empty(); }
  // The size of parts at this mask; nullopt: there is none yet.
  std::optional<Dim> size_at(ValueRef mask) const;
  void add(ValueRef mask, Dim size) { masks_.push_back({mask, size, {}}); }
  void note_site(ValueRef mask, OperatorSite site);
  // The mask at which a tensor is a part; nullopt: it is none.
  std::optional<ValueRef> mask_of(const TensorSpec& spec) const;
  // Throws RefusedPartsSignal unless the node, which is new, computes parts element by element out of others.
  void check(const Node& node) const;
  // Throws it for parts that are left in a graph. Returns what was assumed of other sizes than those of parts.
  std::vector<RuntimeAssert> check_left(const Graph& graph, std::vector<RuntimeAssert> asserts) const;
  // The whole tensor, computed for all elements, of which a part has those at the mask.
  std::optional<ValueRef> whole_of(ValueRef part) const;
  void note_whole(ValueRef part, ValueRef whole) { wholes_.emplace_back(part, whole); }
  bool computes_part(const Node& node) const { return !masks_.empty() && find(node) != nullptr; }
  // Throws if the node computes a part, unless its floating-point exceptions are those of a whole tensor.
  void check_covered(const Node& node) const;

 private:
  struct Mask {
    ValueRef mask;
    Dim size;
    OperatorSites sites;
  };
  const Mask* find(Dim size) const;
  const Mask* find(const Node& node) const;
  [[noreturn]] static void refuse(const Mask& mask) { throw RefusedPartsSignal{mask.sites}; }

  std::vector<Mask> masks_;
  std::vector<std::pair<ValueRef, ValueRef>> wholes_;
};

}  // namespace md
