// The regions of a code object: (instruction, stack depth, policy, waiting callers) -> a few entries, kept in co_extra, so that they die with it.
// GIL held throughout; a published entry is immutable; an entry in use by a run is kept by its shared pointer.
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

// What the cache knows of an entry. It dies when an object that its guards hold weakly does.
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
  // Made at the first call; belongs to the code object.
  static CodeCache& of(PyCodeObject* code);
  // In co_extra, at import.
  static void reserve_place();
  // Drops every entry of every code object.
  static void reset_all();
  // Drops those that were captured for a backend which nobody will ask for again.
  static void drop_backend(uint64_t backend);
  // The same as soon as the interpreter is between two instructions: for whoever is told in the middle of anything.
  static void drop_backend_soon(uint64_t backend);

  // The entry whose guards hold; null: none. Tried first is the one that was found last, then those that an index over the places
  // at which entries were seen to differ names; entries that no such place tells apart are tried in turn.
  CacheEntryPtr lookup(const CacheKey& key, const LocalsView& view);
  // Seals the guards and gives the entry its number. The view is the one that it was captured for.
  void insert(const CacheKey& key, CacheEntryPtr entry, const LocalsView& view);
  // Living entries, newest first.
  std::vector<CacheEntryPtr> entries(const CacheKey& key) const;
  std::vector<CacheEntryPtr> all_entries() const;  // of every key
  int count(const CacheKey& key) const;
  // Of this place, under whatever policies.
  int count_under_all_policies(const CacheKey& key) const;
  // How often each guard was the first to fail, as GuardSet::failing tells, when no entry of this key held.
  using FailureCounts = std::map<std::string, int>;
  void count_failure(const CacheKey& key, const std::string& failing);
  FailureCounts failure_counts(const CacheKey& key) const;
  // Sources whose number or range at an earlier capture of this key was another one than now, or than at a later capture; null: none.
  const std::set<std::string>* varying_numbers(const CacheKey& key, const LocalsView& view, const Bytecode& bytecode);
  // Everything is told that is told once of the limit of a key.
  bool is_told(const CacheKey& key) const;
  void set_told(const CacheKey& key);
  // True the first time for a key.
  bool first_warning(const CacheKey& key);
  // Likewise, of an error that is suppressed.
  bool first_suppression(const CacheKey& key);
  // False the first time for a key.
  bool was_seen(const CacheKey& key);
  // A place has as many entries as it may have, and further ones were asked for.
  bool limit_was_met() const;
  int frame_id() const { return frame_id_; }  // order of first capture among code objects
  int next_entry_id() const { return next_id_; }

  CodeCache();
  ~CodeCache() override;
  CodeCache(const CodeCache&) = delete;

  // The thread that captures something of this code object now (capture_turn.h).
  std::atomic<uint64_t> capturing{0};

 private:
  // Where a bucket stands: those of one instruction, depth and chain of callers are neighbours.
  struct Order {
    int instruction;
    size_t hash;  // of the depth and the callers; not of the policy
    explicit Order(const CacheKey& key);
    friend auto operator<=>(const Order&, const Order&) = default;
  };
  struct Bucket {
    explicit Bucket(const CacheKey& of) : key(of), order(of) {}
    CacheKey key;
    Order order;
    std::vector<CacheEntryPtr> entries;  // the last found first, or where there is an index, in its order
    bool warned = false, told = false, suppressed = false;
    std::set<std::string> varying;
    bool seen = false;
    FailureCounts failures;
    // Where the guards of an entry told a newcomer apart, each place once. The entries own them.
    struct TellingPlace {
      CacheEntryPtr owner;
      const Source* source;
    };
    std::vector<TellingPlace> telling;
    GuardIndex index;
    size_t last_found = 0;  // in entries, with an index

    CacheEntryPtr search(const LocalsView& view);
    CacheEntryPtr search_in_turn(const LocalsView& view);
    void note_telling_place(const LocalsView& view);
    void build_index();
  };
  void guarded_object_died() override;
  // Takes the entries out whose objects died; the caller frees them.
  void take_dead(std::vector<CacheEntryPtr>& dead);
  static int sweep(void*);
  Bucket* find(const CacheKey& key);
  const Bucket* find(const CacheKey& key) const;
  Bucket& find_or_add(const CacheKey& key);
  std::span<const Bucket> neighbours(const Order& order) const;
  std::vector<Bucket> buckets_;  // in their order: straight code may have tens of thousands, and so may one instruction
  bool has_dead_ = false;        // an object that an entry held died, and nobody has swept since
  int frame_id_;
  int next_id_ = 0;
};

}  // namespace md
