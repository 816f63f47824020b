#include "executor/sized_plans.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/config.h"
#include "executor/two_stage_plan.h"
#include "graph/appends.h"
#include "graph/cut.h"
#include "graph/symbols.h"
#include "tensor/dim_code.h"
#include "tensor/simd/room.h"

namespace md {
namespace {

using Sizes = std::vector<int64_t>;

struct HashOfSizes {
  size_t operator()(const Sizes& sizes) const {
    size_t hash = 0;
    for (int64_t size : sizes) {
      hash = (hash ^ static_cast<size_t>(size)) * 0x9e3779b97f4a7c15U;
      hash ^= hash >> 32;
    }
    return hash;
  }
};

// Sizes that have been asked for this often get a plan of their own: lowering one costs about as much as this number of
// changes of sizes. But a small plan of which only offsets change is in the caches, and one of many small ones is not.
constexpr int kUsesForOwnPlan = 16;
constexpr double kLeastWorkOfOwnPlan = 50e3;  // ns
constexpr size_t kMostCounted = 1024;         // sizes of one graph whose uses are counted
// Plans of one graph that take other sizes: for sizes used in turn, and for several threads.
constexpr size_t kMostShared = 16;
constexpr size_t kMostPatterns = 4;
constexpr int kMostTried = 3;  // of these, before a new one is lowered

class SizedPlans;

// A plan for the sizes that it has at present.
struct KeptPlan {
  const SizedPlans* owner = nullptr;
  Sizes sizes = {};
  std::shared_ptr<const Plan> plan = {};
  SizedPlan* shared = nullptr;  // the same, if it can take other sizes
  size_t nbytes = 0;
  int uses = 0;
  bool is_valid = true;  // false: it could not take sizes, and serves as a model only
};
using KeptPlans = std::list<KeptPlan>;
using KeptAt = KeptPlans::iterator;

// All plans for single sizes of the process, the most recently used first. Its lock also guards the maps of the owners.
// No log is written and no plan freed under it: either may need the GIL.
struct AllPlans {
  std::mutex mutex;
  KeptPlans plans;
  size_t nbytes = 0;
};
AllPlans& all_plans() {
  // Outlives every static object that owns a plan.
  static AllPlans* all = [] {
    static AllPlans* made = new AllPlans;
    pthread_atfork([] { made->mutex.lock(); }, [] { made->mutex.unlock(); }, [] { made->mutex.unlock(); });
    return made;
  }();
  return *all;
}

// Plans of one graph whose sizes have one pattern; the most recently used last.
struct SharedPlans {
  std::shared_ptr<SizedGraph> graph;
  std::vector<KeptAt> plans = {};
};

class SizedPlans : public Plan {
 public:
  SizedPlans(std::shared_ptr<const Graph> graph, SymbolList symbols, const SizedPlanMakers& makers)
      : captured_(std::move(graph)),
        graph_(captured_),
        symbols_(std::move(symbols)),
        places_(symbol_places(*graph_, symbols_)),
        makers_(makers),
        may_share_(makers.make_for_many != nullptr && graph_->runtime_asserts().empty()),
        needs_gil_(
            std::ranges::any_of(graph_->nodes(), [](const auto& node) { return is_op(*node, OpKind::HostCall); })) {
    if (may_share_) add_capacities();
    are_places_ = symbols_of_places(*graph_, symbols_);
  }
  ~SizedPlans() override;

  void run(std::span<const GraphInput> inputs, std::span<Tensor> outputs) const override {
    for_inputs(inputs)->run(inputs, outputs);
  }
  std::shared_ptr<const Plan> for_inputs(std::span<const GraphInput> inputs) const override;

  std::string print() const override {
    std::lock_guard lock(all_.mutex);
    std::string text;
    for (const auto& [sizes, kept] : std::map(by_sizes_.begin(), by_sizes_.end()))
      text += str_cat("for ", sizes_text(sizes), "\n", kept->plan->print());
    return text.empty() ? "no plan yet: the sizes differ from run to run\n" : text;
  }

  PlanFacts facts() const override {
    std::lock_guard lock(all_.mutex);
    auto last =
        std::ranges::find_if(all_.plans, [this](const KeptPlan& kept) { return is_own(kept) && kept.is_valid; });
    return last == all_.plans.end() ? PlanFacts() : last->plan->facts();
  }

  // Unknown before the sizes are: use the plan returned by for_inputs().
  double estimated_ns() const override { return 0; }
  bool needs_gil() const override { return needs_gil_; }

 private:
  // Memory for which the results of concatenations have room, in the order of the symbols behind those of the capture.
  struct Capacity {
    DimCode total;
    int input, dim;
  };
  void add_capacities();
  Sizes sizes_of(std::span<const GraphInput> inputs) const;
  std::shared_ptr<Graph> graph_for(const Sizes& sizes) const;

  bool is_own(const KeptPlan& kept) const { return kept.owner == this; }
  // Whether a tensor has no elements.
  bool has_empty(const Sizes& sizes) const {
    for (size_t i = 0; i < sizes.size(); ++i)
      if (sizes[i] == 0 && !are_places_[i]) return true;
    return false;
  }
  std::string sizes_text(const Sizes& values) const;

  // What follows is called under the lock. Plans to be freed after it are moved to `dropped`.
  std::shared_ptr<const Plan> find(const Sizes& sizes) const;
  bool count_use(const Sizes& sizes) const;
  static bool is_worth_own_plan(const KeptPlan& kept);
  std::shared_ptr<const Plan> share(const Sizes& sizes, KeptPlans& dropped) const;
  bool find_pattern(const Sizes& sizes) const;
  bool are_asked_once(const Sizes& sizes) const;
  bool change(KeptAt kept, const Sizes& sizes) const;
  bool change_last(SharedPlans& pattern, const Sizes& sizes) const;
  bool change_recent(SharedPlans& pattern, const Sizes& sizes) const;
  bool change_one(SharedPlans& pattern, const Sizes& sizes) const;
  bool copy_one(SharedPlans& pattern, const Sizes& sizes) const;
  bool lower_one(SharedPlans& pattern, const Sizes& sizes, KeptPlans& dropped) const;
  KeptAt add(KeptPlan kept) const;
  void touch(KeptAt kept) const;
  void count(KeptPlan& kept) const;
  void forget_sizes(KeptPlan& kept) const;
  static void drop(KeptAt kept, KeptPlans& dropped);
  void shrink(KeptPlans& dropped) const;

  std::shared_ptr<const Graph> captured_;
  std::shared_ptr<const Graph> graph_;  // the same, with room for concatenations
  SymbolList symbols_;
  std::vector<SymbolPlace> places_;  // of the symbols of the capture
  std::vector<Capacity> capacities_;
  std::vector<bool> are_places_;  // by symbol: symbols_of_places()
  SizedPlanMakers makers_;
  AllPlans& all_ = all_plans();
  mutable std::list<SharedPlans> patterns_;  // the most recently used first
  mutable int misfits_ = 0;                  // sizes that no graph can change to
  mutable bool may_share_;
  bool needs_gil_;
  mutable std::unordered_map<Sizes, KeptAt, HashOfSizes> by_sizes_;
  mutable std::unordered_map<size_t, int> uses_;  // by hash of sizes for which there was no plan
};

SizedPlans::~SizedPlans() {
  KeptPlans dropped;
  std::lock_guard lock(all_.mutex);
  for (auto it = all_.plans.begin(); it != all_.plans.end();) {
    auto next = std::next(it);
    if (is_own(*it)) drop(it, dropped);
    it = next;
  }
}

std::string SizedPlans::sizes_text(const Sizes& values) const {
  std::string text;
  for (size_t i = 0; i < values.size(); ++i)
    text += str_cat(i == 0 ? "" : ", ", symbols_.symbols()[i].str(), " = ", values[i]);
  return text;
}

void SizedPlans::add_capacities() {
  GraphWithRoom with = with_room(captured_);
  graph_ = with.graph;
  for (const GraphWithRoom::Capacity& each : with.capacities) {
    capacities_.push_back({DimCode(each.total, symbols_), each.input, each.dim});
    symbols_.add(each.symbol);
  }
}

Sizes SizedPlans::sizes_of(std::span<const GraphInput> inputs) const {
  Sizes sizes = symbol_values(places_, inputs);
  for (const Capacity& each : capacities_) {
    const Tensor& first = inputs[static_cast<size_t>(each.input)].tensor;
    std::optional<int64_t> total = each.total.evaluate(std::span(sizes).first(places_.size()));
    sizes.push_back(total ? capacity_for(first, each.dim, *total) : 1);
  }
  return sizes;
}

// Strides with room tell nothing where there are no elements.
std::shared_ptr<Graph> SizedPlans::graph_for(const Sizes& sizes) const {
  return with_numbers(has_empty(sizes) ? *captured_ : *graph_, symbols_, sizes);
}

std::shared_ptr<const Plan> SizedPlans::for_inputs(std::span<const GraphInput> inputs) const {
  Sizes sizes = sizes_of(inputs);
  KeptPlans dropped;
  std::shared_ptr<const Plan> plan;
  {
    std::lock_guard lock(all_.mutex);
    if ((plan = find(sizes)) != nullptr) return plan;
    bool is_often = count_use(sizes);
    if (may_share_) plan = share(sizes, dropped);
    if (plan != nullptr && is_often && is_worth_own_plan(all_.plans.front())) plan = nullptr;
  }
  if (plan != nullptr) {
    if (makers_.log != nullptr && makers_.is_logged()) makers_.log(*plan, *graph_, sizes_text(sizes));
    return plan;
  }
  plan = makers_.make(graph_for(sizes), sizes_text(sizes));
  std::lock_guard lock(all_.mutex);
  if (auto known = by_sizes_.find(sizes); known != by_sizes_.end()) forget_sizes(*known->second);
  add({.owner = this, .sizes = std::move(sizes), .plan = plan});
  shrink(dropped);
  return plan;
}

std::shared_ptr<const Plan> SizedPlans::find(const Sizes& sizes) const {
  auto known = by_sizes_.find(sizes);
  if (known == by_sizes_.end()) return nullptr;
  KeptPlan& kept = *known->second;
  touch(known->second);
  if (kept.shared == nullptr || ++kept.uses < kUsesForOwnPlan || !kept.shared->stands_in()) return kept.plan;
  uses_[HashOfSizes()(sizes)] = kUsesForOwnPlan;
  return nullptr;
}

// Returns whether there have been many.
bool SizedPlans::count_use(const Sizes& sizes) const {
  size_t hash = HashOfSizes()(sizes);
  if (uses_.size() >= kMostCounted && !uses_.contains(hash)) uses_.clear();
  return ++uses_[hash] > kUsesForOwnPlan;
}

bool SizedPlans::is_worth_own_plan(const KeptPlan& kept) {
  return kept.shared->stands_in() || kept.shared->has_new_layouts() || kept.plan->estimated_ns() >= kLeastWorkOfOwnPlan;
}

// Puts the pattern whose graph has taken the sizes first.
bool SizedPlans::find_pattern(const Sizes& sizes) const {
  // In the strides of an input an extent of zero counts as one.
  if (has_empty(sizes)) return false;
  auto fits = std::ranges::find_if(patterns_, [&](SharedPlans& pattern) { return pattern.graph->take_sizes(sizes); });
  if (fits != patterns_.end()) {
    patterns_.splice(patterns_.begin(), patterns_, fits);
    return true;
  }
  if (patterns_.size() >= kMostPatterns) return false;
  auto graph = std::make_shared<SizedGraph>(graph_, symbols_, sizes);
  if (graph->can_change()) {
    patterns_.push_front({.graph = std::move(graph)});
    return true;
  }
  may_share_ = ++misfits_ < kMostTried;
  return false;
}

// A plan that has taken these sizes; null if there can be none.
std::shared_ptr<const Plan> SizedPlans::share(const Sizes& sizes, KeptPlans& dropped) const {
  if (!find_pattern(sizes)) return nullptr;
  SharedPlans& pattern = patterns_.front();
  bool found = change_last(pattern, sizes) || change_recent(pattern, sizes) ||
               (pattern.plans.size() < kMostShared ? copy_one(pattern, sizes) : change_one(pattern, sizes));
  if (!found && !lower_one(pattern, sizes, dropped)) return nullptr;
  shrink(dropped);
  return all_.plans.front().plan;
}

// Makes it the most recently used one.
void SizedPlans::touch(KeptAt kept) const {
  if (kept == all_.plans.begin()) return;
  all_.plans.splice(all_.plans.begin(), all_.plans, kept);
  if (kept->shared == nullptr) return;
  for (SharedPlans& pattern : patterns_) {
    auto at = std::ranges::find(pattern.plans, kept);
    if (at != pattern.plans.end()) std::rotate(at, at + 1, pattern.plans.end());
  }
}

void SizedPlans::count(KeptPlan& kept) const {
  all_.nbytes -= kept.nbytes;
  kept.nbytes = kept.plan->nbytes();
  all_.nbytes += kept.nbytes;
}

void SizedPlans::forget_sizes(KeptPlan& kept) const {
  auto known = by_sizes_.find(kept.sizes);
  if (known != by_sizes_.end() && &*known->second == &kept) by_sizes_.erase(known);
  kept.is_valid = false;
}

KeptAt SizedPlans::add(KeptPlan kept) const {
  all_.plans.push_front(std::move(kept));
  KeptAt at = all_.plans.begin();
  count(*at);
  by_sizes_.insert_or_assign(at->sizes, at);
  return at;
}

bool SizedPlans::are_asked_once(const Sizes& sizes) const {
  auto known = uses_.find(HashOfSizes()(sizes));
  return known != uses_.end() && known->second == 1;
}

// A plan that does not run takes the sizes.
bool SizedPlans::change(KeptAt kept, const Sizes& sizes) const {
  std::atomic_thread_fence(std::memory_order_acquire);  // what its last run wrote
  forget_sizes(*kept);
  if (!kept->shared->take_sizes()) return false;
  kept->sizes = sizes;
  kept->is_valid = true;
  kept->uses = 0;
  by_sizes_.insert_or_assign(sizes, kept);
  count(*kept);
  touch(kept);
  return true;
}

// Sizes that have been used once, as of what grows from step to step, are followed by those of the next step: the plan
// whose memory is in the caches takes them. Sizes that come again keep theirs.
bool SizedPlans::change_last(SharedPlans& pattern, const Sizes& sizes) const {
  if (pattern.plans.empty()) return false;
  KeptAt last = pattern.plans.back();
  bool is_passed = last->uses == 0 && last->plan.use_count() == 1 && are_asked_once(last->sizes);
  return is_passed && are_asked_once(sizes) && change(last, sizes);
}

// Sizes that have never been asked for come from programs in which most are new: they take the plan that was used
// before the last one, which is in the caches, too. Those that come again find plans of their own by the other ways.
bool SizedPlans::change_recent(SharedPlans& pattern, const Sizes& sizes) const {
  if (pattern.plans.size() < 2 || !are_asked_once(sizes)) return false;
  KeptAt recent = *(pattern.plans.end() - 2);
  return recent->plan.use_count() == 1 && change(recent, sizes);
}

// The least recently used plan that does not run takes the sizes.
bool SizedPlans::change_one(SharedPlans& pattern, const Sizes& sizes) const {
  int tried = 0;
  for (size_t i = 0; i < pattern.plans.size() && tried < kMostTried; ++i) {
    KeptAt at = pattern.plans[i];
    if (at->plan.use_count() > 1) continue;
    ++tried;
    if (change(at, sizes)) return true;
  }
  return false;
}

// The most recently used ones are the likeliest to have steps for such sizes.
bool SizedPlans::copy_one(SharedPlans& pattern, const Sizes& sizes) const {
  int tried = 0;
  for (size_t i = pattern.plans.size(); i > 0 && tried < kMostTried; ++tried) {
    std::shared_ptr<SizedPlan> copy = pattern.plans[--i]->shared->copy();
    if (copy == nullptr) return false;
    if (!copy->take_sizes()) continue;
    SizedPlan* shared = copy.get();
    pattern.plans.push_back(add({.owner = this, .sizes = sizes, .plan = std::move(copy), .shared = shared}));
    return true;
  }
  return false;
}

bool SizedPlans::lower_one(SharedPlans& pattern, const Sizes& sizes, KeptPlans& dropped) const {
  std::shared_ptr<SizedPlan> plan = makers_.make_for_many(pattern.graph);
  if (plan == nullptr) {
    may_share_ = false;
    return false;
  }
  if (pattern.plans.size() >= kMostShared) {
    auto invalid = std::ranges::find_if(pattern.plans, [](KeptAt kept) { return !kept->is_valid; });
    drop(invalid == pattern.plans.end() ? pattern.plans.front() : *invalid, dropped);
  }
  SizedPlan* shared = plan.get();
  pattern.plans.push_back(add({.owner = this, .sizes = sizes, .plan = std::move(plan), .shared = shared}));
  return true;
}

void SizedPlans::drop(KeptAt kept, KeptPlans& dropped) {
  const SizedPlans& owner = *kept->owner;
  owner.forget_sizes(*kept);
  for (SharedPlans& pattern : owner.patterns_) std::erase(pattern.plans, kept);
  // A plan of its own is earned again.
  owner.uses_.erase(HashOfSizes()(kept->sizes));
  all_plans().nbytes -= kept->nbytes;
  dropped.splice(dropped.begin(), all_plans().plans, kept);
}

// The newest plan is always kept, however large it is.
void SizedPlans::shrink(KeptPlans& dropped) const {
  while (all_.nbytes > most_sized_bytes() && all_.plans.size() > 1) drop(std::prev(all_.plans.end()), dropped);
}

}  // namespace

std::shared_ptr<const Plan> plan_for_any_sizes(const std::shared_ptr<const Graph>& graph,
                                               const SizedPlanMakers& makers) {
  if (std::optional<CutGraph> cut = cut_at_unbacked_sizes(*graph)) {
    return two_stage_plan(plan_for_any_sizes(cut->first, makers), plan_for_any_sizes(cut->second, makers),
                          cut->first->outputs().size());
  }
  SymbolList symbols = symbols_of(*graph);
  if (symbols.symbols().empty()) return makers.make(graph, {});
  return std::make_shared<SizedPlans>(graph, std::move(symbols), makers);
}

size_t sized_plans_bytes() {
  std::lock_guard lock(all_plans().mutex);
  return all_plans().nbytes;
}

}  // namespace md
