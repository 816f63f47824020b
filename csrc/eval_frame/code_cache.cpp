#include "eval_frame/code_cache.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "cpython/code_extra.h"
#include "eval_frame/capture_scope.h"
#include "eval_frame/counters.h"
#include "eval_frame/left_code.h"
#include "snapshot/serving_code.h"

namespace md {

namespace {

void release_cache(void* extra) { delete static_cast<CodeCache*>(extra); }

const CodeExtra& attached_caches() {
  static const CodeExtra extra(release_cache);
  return extra;
}

std::unordered_set<CodeCache*>& living_caches() {
  static auto* caches = new std::unordered_set<CodeCache*>();
  return *caches;
}

size_t mixed(size_t hash, size_t with) { return hash ^ (with + 0x9e3779b97f4a7c15 + (hash << 6) + (hash >> 2)); }

size_t hash_of(const CallerChain& chain) {
  size_t hash = chain.size();
  for (const CallerPlace& place : chain) {
    hash = mixed(hash, reinterpret_cast<size_t>(place.bytecode));
    hash = mixed(hash, static_cast<size_t>(place.index));
  }
  return hash;
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

void CodeCache::reserve_place() { attached_caches(); }

CodeCache& CodeCache::of(PyCodeObject* code) {
  if (void* known = attached_caches().get(code)) return *static_cast<CodeCache*>(known);
  auto cache = std::make_unique<CodeCache>();
  attached_caches().set(code, cache.get());
  return *cache.release();
}

void CodeCache::reset_all() {
  // Freeing an entry may run code that creates new caches: move everything out first.
  ServingCode serving;
  LeftCode::forget_all();
  std::vector<Bucket> dropped;
  for (CodeCache* cache : living_caches()) {
    for (const CacheEntryPtr& entry : cache->all_entries()) entry->guards.stop_listening();
    for (Bucket& bucket : cache->buckets_) dropped.push_back(std::move(bucket));
    cache->buckets_.clear();
    cache->next_id_ = 0;
  }
}

void CodeCache::drop_backend(uint64_t backend) {
  ServingCode serving;
  LeftCode::forget_all();
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

static std::vector<uint64_t>& backends_to_drop() {
  static auto* backends = new std::vector<uint64_t>();
  return *backends;
}

void CodeCache::drop_backend_soon(uint64_t backend) {
  backends_to_drop().push_back(backend);
  Py_AddPendingCall(sweep, nullptr);  // if the queue is full, the next insert() drops it
}

// May be called at any point, even during garbage collection. The interpreter sweeps at the next instruction boundary;
// if it cannot be scheduled, the next insert() does.
void CodeCache::guarded_object_died() {
  has_dead_ = true;
  bool is_first = caches_to_sweep().empty();
  caches_to_sweep().insert(this);
  if (is_first && Py_AddPendingCall(sweep, nullptr) != 0) caches_to_sweep().clear();
}

int CodeCache::sweep(void*) {
  // Freeing the entries may run code: the caches must be consistent first.
  ServingCode serving;
  std::vector<CacheEntryPtr> dead;
  for (CodeCache* cache : std::exchange(caches_to_sweep(), {})) cache->take_dead(dead);
  for (uint64_t backend : std::exchange(backends_to_drop(), {})) drop_backend(backend);
  return 0;
}

void CodeCache::take_dead(std::vector<CacheEntryPtr>& dead) {
  has_dead_ = false;
  forget_left();
  auto take = [&](CacheEntryPtr& entry) {
    bool is_dead = entry->guards.dead();
    if (is_dead) dead.push_back(std::move(entry));
    return is_dead;
  };
  for (Bucket& bucket : buckets_) {
    ++counters().cache_places_visited;
    std::erase_if(bucket.discriminators, [&](Bucket::DiscriminatingSource& place) { return take(place.owner); });
    if (std::erase_if(bucket.entries, take) > 0) bucket.build_index();
  }
}

bool CodeCache::limit_was_met() const {
  return std::ranges::any_of(buckets_, [](const Bucket& bucket) { return bucket.warned; });
}

CodeCache::Order::Order(const CacheKey& key)
    : instruction(key.instruction), hash(mixed(key.callers ? hash_of(*key.callers) : 0, key.depth)) {}

// Only a few, which differ in policy.
std::span<const CodeCache::Bucket> CodeCache::neighbours(const Order& order) const {
  auto at = [](const Bucket& bucket) {
    ++counters().cache_places_visited;
    return bucket.order;
  };
  auto first = std::ranges::lower_bound(buckets_, order, {}, at);
  auto last = std::find_if(first, buckets_.end(), [&](const Bucket& bucket) { return at(bucket) != order; });
  return {first, last};
}

const CodeCache::Bucket* CodeCache::find(const CacheKey& key) const {
  for (const Bucket& bucket : neighbours(Order(key)))
    if (bucket.key == key) return &bucket;
  return nullptr;
}

CodeCache::Bucket* CodeCache::find(const CacheKey& key) { return const_cast<Bucket*>(std::as_const(*this).find(key)); }

CodeCache::Bucket& CodeCache::find_or_add(const CacheKey& key) {
  if (Bucket* known = find(key)) return *known;
  auto behind = neighbours(Order(key)).end() - std::span<const Bucket>(buckets_).begin();
  return *buckets_.emplace(buckets_.begin() + behind, key);
}

CacheEntryPtr CodeCache::lookup(const CacheKey& key, const LocalsView& view, FetchedObjects* fetched) {
  if (buckets_.empty()) return nullptr;
  Bucket& last = buckets_[std::min(last_place_, buckets_.size() - 1)];
  if (last.follower >= buckets_.size() || buckets_[last.follower].key != key) {
    Bucket* bucket = find(key);
    if (bucket == nullptr) return nullptr;
    last.follower = static_cast<size_t>(bucket - buckets_.data());
  }
  last_place_ = last.follower;
  return buckets_[last_place_].search(view, fetched);
}

CacheEntryPtr CodeCache::Bucket::search(const LocalsView& view, FetchedObjects* fetched) {
  if (index.empty()) return search_in_turn(view, fetched);
  if (entries[last_found]->guards.check(view, fetched)) return entries[last_found];
  for (const auto& [hash, number] : index.candidates(view)) {
    if (number == last_found || !entries[number]->guards.check(view, fetched)) continue;
    last_found = number;
    return entries[number];
  }
  return nullptr;
}

CacheEntryPtr CodeCache::Bucket::search_in_turn(const LocalsView& view, FetchedObjects* fetched) {
  for (size_t i = 0; i < entries.size(); ++i) {
    if (!entries[i]->guards.check(view, fetched)) continue;
    auto found = entries.begin() + static_cast<std::ptrdiff_t>(i);
    if (i > 0) std::rotate(entries.begin(), found, found + 1);
    return entries.front();
  }
  return nullptr;
}

// Records where the newest entry differs from the new arguments.
void CodeCache::Bucket::note_discriminating_source(const LocalsView& view) {
  constexpr size_t kMostPlaces = 4;
  auto newest = std::ranges::max_element(entries, {}, &CacheEntry::id);
  if (newest == entries.end() || discriminators.size() == kMostPlaces) return;
  const Source* source = (*newest)->guards.discriminating_source(view);
  if (source == nullptr) return;
  if (std::ranges::any_of(discriminators,
                          [&](const DiscriminatingSource& known) { return same_place(known.source, source); }))
    return;
  discriminators.push_back({*newest, source});
}

void CodeCache::Bucket::build_index() {
  constexpr size_t kFewEntries = 3;  // a linear search is as fast
  index = GuardIndex();
  last_found = 0;
  if (entries.size() <= kFewEntries) return;
  std::vector<const GuardSet*> sets;
  for (const CacheEntryPtr& entry : entries) sets.push_back(&entry->guards);
  std::vector<const Source*> places;
  for (const DiscriminatingSource& place : discriminators) places.push_back(place.source);
  index = GuardIndex(sets, places);
}

void CodeCache::insert(const CacheKey& key, CacheEntryPtr entry, const LocalsView& view) {
  entry->guards.seal(this);
  entry->id = next_id_++;
  // Freed at the end, when the cache is consistent, because that may run code.
  std::vector<CacheEntryPtr> dead;
  if (has_dead_) take_dead(dead);
  has_dead_ = has_dead_ || entry->guards.dead();
  Bucket& bucket = find_or_add(key);
  bucket.note_discriminating_source(view);
  bucket.entries.insert(bucket.entries.begin(), std::move(entry));
  bucket.build_index();
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

int CodeCache::count_under_all_policies(const CacheKey& key) const {
  int total = 0;
  for (const Bucket& bucket : neighbours(Order(key)))
    if (bucket.key.depth == key.depth && same_chain(bucket.key.callers, key.callers)) total += count(bucket.key);
  return total;
}

void CodeCache::count_failure(const CacheKey& key, const std::string& failing) {
  if (Bucket* bucket = find(key)) ++bucket->failures[failing];
}

CodeCache::FailureCounts CodeCache::failure_counts(const CacheKey& key) const {
  const Bucket* bucket = find(key);
  return bucket != nullptr ? bucket->failures : FailureCounts();
}

bool CodeCache::is_reported(const CacheKey& key) const {
  const Bucket* bucket = find(key);
  return bucket != nullptr && bucket->reported;
}

void CodeCache::set_told(const CacheKey& key) {
  if (Bucket* bucket = find(key)) bucket->reported = true;
}

const std::set<std::string>* CodeCache::varying_numbers(const CacheKey& key, const LocalsView& view,
                                                        const Bytecode& bytecode) {
  Bucket* bucket = find(key);
  if (bucket == nullptr) return nullptr;
  for (const CacheEntryPtr& entry : bucket->entries)
    if (!entry->guards.dead()) entry->guards.add_varying_numbers(view, bytecode, bucket->dynamic_sources);
  return bucket->dynamic_sources.empty() ? nullptr : &bucket->dynamic_sources;
}

bool CodeCache::first_warning(const CacheKey& key) {
  Bucket* bucket = find(key);
  if (bucket == nullptr || bucket->warned) return false;
  bucket->warned = true;
  return true;
}

bool CodeCache::first_suppression(const CacheKey& key) { return !std::exchange(find_or_add(key).suppressed, true); }

bool CodeCache::was_seen(const CacheKey& key) { return std::exchange(find_or_add(key).seen, true); }

}  // namespace md
