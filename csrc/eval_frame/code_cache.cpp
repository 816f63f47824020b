#include "eval_frame/code_cache.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "cpython/code_extra.h"
#include "snapshot/policy.h"

namespace md {

namespace {

void release_cache(void* extra) { delete static_cast<CodeCache*>(extra); }

std::unordered_set<CodeCache*>& living_caches() {
  static auto* caches = new std::unordered_set<CodeCache*>();
  return *caches;
}

// Caches with entries that died since the last sweep.
std::unordered_set<CodeCache*>& caches_to_sweep() {
  static auto* caches = new std::unordered_set<CodeCache*>();
  return *caches;
}

}  // namespace

CodeCache::CodeCache() {
  static int next_frame_id = 0;
  frame_id_ = next_frame_id++;
  living_caches().insert(this);
}

CodeCache::~CodeCache() {
  living_caches().erase(this);
  caches_to_sweep().erase(this);
  for (const CacheEntryPtr& entry : all_entries()) entry->guards.stop_listening();
}

CodeCache& CodeCache::of(PyCodeObject* code) {
  static const CodeExtra attached(release_cache);
  if (void* known = attached.get(code)) return *static_cast<CodeCache*>(known);
  auto cache = std::make_unique<CodeCache>();
  attached.set(code, cache.get());
  return *cache.release();
}

void CodeCache::reset_all() {
  // Freeing an entry may run code that makes new caches: take everything out first.
  std::vector<Bucket> dropped;
  for (CodeCache* cache : living_caches()) {
    for (const CacheEntryPtr& entry : cache->all_entries()) entry->guards.stop_listening();
    for (Bucket& bucket : cache->buckets_) dropped.push_back(std::move(bucket));
    cache->buckets_.clear();
  }
}

void CodeCache::drop_backend(uint64_t backend) {
  std::vector<CacheEntryPtr> dropped;
  for (CodeCache* cache : living_caches()) {
    std::erase_if(cache->buckets_, [&](Bucket& bucket) {
      if (bucket.key.policy->backend != backend) return false;
      for (CacheEntryPtr& entry : bucket.entries) {
        entry->guards.stop_listening();
        dropped.push_back(std::move(entry));
      }
      return true;
    });
  }
}

// Told in the middle of anything, the collector's work too. The interpreter sweeps as soon as it is between two
// instructions; if it cannot be asked to, the next entry of the place does.
void CodeCache::guarded_object_died() {
  bool is_first = caches_to_sweep().empty();
  caches_to_sweep().insert(this);
  if (is_first && Py_AddPendingCall(sweep, nullptr) != 0) caches_to_sweep().clear();
}

int CodeCache::sweep(void*) {
  // What the entries held may run code when it is freed: the caches are whole first.
  std::vector<CacheEntryPtr> dead;
  for (CodeCache* cache : std::exchange(caches_to_sweep(), {})) cache->take_dead(dead);
  return 0;
}

void CodeCache::take_dead(std::vector<CacheEntryPtr>& dead) {
  for (Bucket& bucket : buckets_) {
    std::erase_if(bucket.entries, [&](CacheEntryPtr& entry) {
      if (!entry->guards.dead()) return false;
      dead.push_back(std::move(entry));
      return true;
    });
  }
}

bool CodeCache::limit_was_met() const {
  return std::ranges::any_of(buckets_, [](const Bucket& bucket) { return bucket.warned; });
}

CodeCache::Bucket* CodeCache::find(const CacheKey& key) {
  for (Bucket& bucket : buckets_)
    if (bucket.key == key) return &bucket;
  return nullptr;
}

const CodeCache::Bucket* CodeCache::find(const CacheKey& key) const { return const_cast<CodeCache*>(this)->find(key); }

CacheEntryPtr CodeCache::lookup(const CacheKey& key, const LocalsView& view) {
  Bucket* bucket = find(key);
  if (bucket == nullptr) return nullptr;
  std::vector<CacheEntryPtr>& entries = bucket->entries;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (!entries[i]->guards.check(view)) continue;
    if (i > 0) std::rotate(entries.begin(), entries.begin() + i, entries.begin() + i + 1);
    return entries.front();
  }
  return nullptr;
}

void CodeCache::insert(const CacheKey& key, CacheEntryPtr entry) {
  entry->guards.seal(this);
  entry->id = next_id_++;
  Bucket* bucket = find(key);
  if (bucket == nullptr) bucket = &buckets_.emplace_back(Bucket{key, {}, false, {}});
  std::vector<CacheEntryPtr> dead;
  take_dead(dead);
  bucket->entries.insert(bucket->entries.begin(), std::move(entry));
}

std::vector<CacheEntryPtr> CodeCache::all_entries() const {
  std::vector<CacheEntryPtr> all;
  for (const Bucket& bucket : buckets_) all.insert(all.end(), bucket.entries.begin(), bucket.entries.end());
  return all;
}

std::vector<CacheEntryPtr> CodeCache::entries(const CacheKey& key) const {
  std::vector<CacheEntryPtr> living;
  if (const Bucket* bucket = find(key)) {
    for (const CacheEntryPtr& entry : bucket->entries)
      if (!entry->guards.dead()) living.push_back(entry);
  }
  std::sort(living.begin(), living.end(), [](const auto& a, const auto& b) { return a->id > b->id; });
  return living;
}

int CodeCache::count(const CacheKey& key) const {
  const Bucket* bucket = find(key);
  if (bucket == nullptr) return 0;
  return static_cast<int>(std::count_if(bucket->entries.begin(), bucket->entries.end(),
                                        [](const CacheEntryPtr& entry) { return !entry->guards.dead(); }));
}

const std::set<std::string>* CodeCache::varying_numbers(const CacheKey& key, const LocalsView& view,
                                                        const Bytecode& bytecode) {
  Bucket* bucket = find(key);
  if (bucket == nullptr) return nullptr;
  for (const CacheEntryPtr& entry : bucket->entries)
    if (!entry->guards.dead()) entry->guards.add_varying_numbers(view, bytecode, bucket->varying);
  return bucket->varying.empty() ? nullptr : &bucket->varying;
}

bool CodeCache::first_warning(const CacheKey& key) {
  Bucket* bucket = find(key);
  if (bucket == nullptr || bucket->warned) return false;
  bucket->warned = true;
  return true;
}

bool CodeCache::was_seen(const CacheKey& key) {
  Bucket* bucket = find(key);
  if (bucket == nullptr) {
    bucket = &buckets_.emplace_back();
    bucket->key = key;
  }
  return std::exchange(bucket->seen, true);
}

}  // namespace md
