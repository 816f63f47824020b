// The regions of a code object: (instruction, stack depth, policy, suspended callers) -> a few entries, stored in
// co_extra, so they die with the code object. Requires the GIL; published entries are immutable; a shared pointer
// keeps an entry alive while it runs.
#pragma once
#include <atomic>
#include <compare>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "guards/guard_index.h"
#include "guards/guard_set.h"
#include "snapshot/caller_chain.h"

namespace md {

struct CacheKey {
  int instruction;
  int depth;
  const Policy* policy;
  CallerChainPtr callers;
  friend bool operator==(const CacheKey& a, const CacheKey& b) {
    return a.instruction == b.instruction && a.depth == b.depth && a.policy == b.policy &&
           same_chain(a.callers, b.callers);
  }
};

// Base of a cached region. It dies when an object that its guards hold weakly dies.
class CacheEntry {
 public:
  explicit CacheEntry(GuardSet guard_set) : guards(std::move(guard_set)) {}
  virtual ~CacheEntry() = default;
  CacheEntry(const CacheEntry&) = delete;
  GuardSet guards;
  int id = 0;  // counts from 0 within the code object
};
using CacheEntryPtr = std::shared_ptr<CacheEntry>;

class CodeCache : private GuardDeathListener {
 public:
  // Created on first use; owned by the code object.
  static CodeCache& of(PyCodeObject* code);
  // Reserves the co_extra index; called at import.
  static void reserve_place();
  // Drops all entries of all code objects.
  static void reset_all();
  // Drops the entries captured for a backend that will not be used again.
  static void drop_backend(uint64_t backend);
  // The same at the next instruction boundary of the interpreter, for callers that may run at any point.
  static void drop_backend_soon(uint64_t backend);

  // The entry whose guards hold, or null. Tries the last hit first, then the candidates found by an index over
  // discriminating sources; entries that the index cannot distinguish are tried in turn.
  // `fetched` may be null.
  CacheEntryPtr lookup(const CacheKey& key, const LocalsView& view, FetchedObjects* fetched = nullptr);
  // Seals the guards and assigns the entry's id. `view` is the one that it was captured for.
  void insert(const CacheKey& key, CacheEntryPtr entry, const LocalsView& view);
  // Live entries, newest first.
  std::vector<CacheEntryPtr> entries(const CacheKey& key) const;
  std::vector<CacheEntryPtr> all_entries() const;  // for all keys
  int count(const CacheKey& key) const;
  // Of this place, under all policies.
  int count_under_all_policies(const CacheKey& key) const;
  // How often each guard was the first to fail, as reported by GuardSet::failing, when no entry of the key held.
  using FailureCounts = std::map<std::string, int>;
  void count_failure(const CacheKey& key, const std::string& failing);
  FailureCounts failure_counts(const CacheKey& key) const;
  // Sources whose number or range differed between captures of this key, or differs now; null if there are none.
  const std::set<std::string>* varying_numbers(const CacheKey& key, const LocalsView& view, const Bytecode& bytecode);
  // Whether all one-time warnings about the key's limit have been given.
  bool is_reported(const CacheKey& key) const;
  void set_told(const CacheKey& key);
  // True on the first call for a key.
  bool first_warning(const CacheKey& key);
  // The same, for suppressed errors.
  bool first_suppression(const CacheKey& key);
  // False on the first call for a key.
  bool was_seen(const CacheKey& key);
  // Whether some place has reached its limit and further entries were requested.
  bool limit_was_met() const;
  int frame_id() const { return frame_id_; }  // order of first capture among code objects
  int next_entry_id() const { return next_id_; }

  CodeCache();
  ~CodeCache() override;
  CodeCache(const CodeCache&) = delete;

  // The thread that is capturing this code object, 0 if none (capture_lock.h).
  std::atomic<uint64_t> capturing{0};

 private:
  // Sort order of buckets: those with the same instruction, depth and callers are adjacent.
  struct Order {
    int instruction;
    size_t hash;  // of the depth and the callers, not of the policy
    explicit Order(const CacheKey& key);
    friend auto operator<=>(const Order&, const Order&) = default;
  };
  struct Bucket {
    explicit Bucket(const CacheKey& of) : key(of), order(of) {}
    CacheKey key;
    Order order;
    std::vector<CacheEntryPtr> entries;  // most recently used first; with an index, in its order
    bool warned = false, reported = false, suppressed = false;
    std::set<std::string> dynamic_sources;
    bool seen = false;
    FailureCounts failures;
    // A discriminating source: where the guards of an entry distinguished a newcomer, without
    // duplicates. Owned by the entry.
    struct DiscriminatingSource {
      CacheEntryPtr owner;
      const Source* source;
    };
    std::vector<DiscriminatingSource> discriminators;
    GuardIndex index;
    size_t last_found = 0;  // in entries, with an index
    size_t follower = 0;  // in buckets_: where lookup() found a place the last time after this one; may be past the end

    CacheEntryPtr search(const LocalsView& view, FetchedObjects* fetched);
    CacheEntryPtr search_in_turn(const LocalsView& view, FetchedObjects* fetched);
    void note_discriminating_source(const LocalsView& view);
    void build_index();
  };
  void guarded_object_died() override;
  // Moves out the dead entries; the caller frees them.
  void take_dead(std::vector<CacheEntryPtr>& dead);
  static int sweep(void*);
  Bucket* find(const CacheKey& key);
  const Bucket* find(const CacheKey& key) const;
  Bucket& find_or_add(const CacheKey& key);
  std::span<const Bucket> neighbours(const Order& order) const;
  std::vector<Bucket> buckets_;  // sorted: straight-line code may have tens of thousands, and so may one instruction
  size_t last_place_ = 0;        // of the bucket that lookup() found last; may be past the end, or another
  bool has_dead_ = false;        // an object held by an entry died since the last sweep
  int frame_id_;
  int next_id_ = 0;
};

}  // namespace md
