// The regions of a code object: (instruction, stack depth, policy, waiting callers) -> a few entries, kept in co_extra, so that they die with it.
// GIL held throughout; a published entry is immutable; an entry in use by a run is kept by its shared pointer.
#pragma once
#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <vector>

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
  // Drops every entry of every code object.
  static void reset_all();
  // Drops those that were captured for a backend which nobody will ask for again.
  static void drop_backend(uint64_t backend);

  // The entry whose guards hold, moved to the front of its key; null: none.
  CacheEntryPtr lookup(const CacheKey& key, const LocalsView& view);
  // Seals the guards and gives the entry its number.
  void insert(const CacheKey& key, CacheEntryPtr entry);
  // Living entries, newest first.
  std::vector<CacheEntryPtr> entries(const CacheKey& key) const;
  std::vector<CacheEntryPtr> all_entries() const;  // of every key
  int count(const CacheKey& key) const;
  // Sources whose number or range at an earlier capture of this key was another one than now, or than at a later capture; null: none.
  const std::set<std::string>* varying_numbers(const CacheKey& key, const LocalsView& view, const Bytecode& bytecode);
  // True the first time for a key.
  bool first_warning(const CacheKey& key);
  // False the first time for a key.
  bool was_seen(const CacheKey& key);
  // A place has as many entries as it may have, and further ones were asked for.
  bool limit_was_met() const;
  int frame_id() const { return frame_id_; }  // order of first capture among code objects

  CodeCache();
  ~CodeCache() override;
  CodeCache(const CodeCache&) = delete;

  // The thread that captures something of this code object now (capture_turn.h).
  std::atomic<uint64_t> capturing{0};

 private:
  struct Bucket {
    CacheKey key;
    std::vector<CacheEntryPtr> entries;
    bool warned = false;
    std::set<std::string> varying;
    bool seen = false;
  };
  void guarded_object_died() override;
  // Takes the entries out whose objects died; the caller frees them.
  void take_dead(std::vector<CacheEntryPtr>& dead);
  static int sweep(void*);
  Bucket* find(const CacheKey& key);
  const Bucket* find(const CacheKey& key) const;
  std::vector<Bucket> buckets_;
  int frame_id_;
  int next_id_ = 0;
};

}  // namespace md
