// Where an object came from, relative to the start of a region. A Source can be fetched from a view and has a name.
#pragma once
#include <deque>
#include <string>
#include <unordered_map>

#include "guards/locals_view.h"

namespace md {

class Bytecode;

enum class SourceKind : uint8_t {
#define MD_SOURCE(name, ...) name,
#include "guards/sources.def"
#undef MD_SOURCE
};
const char* source_kind_name(SourceKind kind);

// Which dict a look-up by name goes to, relative to the base; Type: the dicts along the type's MRO.
enum class LookupDict : uint8_t { None, Base, Attributes, Globals, Builtins, Module, Type };
// What keeps the object: a word of the base that any code may overwrite, the base's attributes (a word where they are
// stored inline), or something else.
enum class SourceHolder : uint8_t { Other, Word, Attributes };

class Source {
 public:
  SourceKind kind() const { return kind_; }
  LookupDict lookup() const;
  SourceHolder holder() const;
  const Source* base() const { return base_; }
  // The name or constant key; for a SlotAttr the slot's name.
  BorrowedRef key() const { return key_; }
  // Slot, position, or, for a SlotAttr, the offset in the object.
  Py_ssize_t index() const { return index_; }
  int id() const { return id_; }        // position in its pool: a base has a smaller id
                                        // than the sources derived from it
  int depth() const { return depth_; }  // number of bases below
  // Equal for the same place in any pool.
  size_t place_hash() const { return place_hash_; }
  // SlotAttr: the type whose instances have the slot.
  // WeakItem: the referent of the key. Null if dead.
  BorrowedRef subject() const;
  BorrowedRef subject_reference() const { return subject_; }

 private:
  friend class SourcePool;
  SourceKind kind_ = SourceKind::Local;
  const Source* base_ = nullptr;
  Ref key_;
  Ref subject_;  // a weak reference: a class reaches the code objects of its methods
  Py_ssize_t index_ = 0;
  int id_ = 0;
  int depth_ = 0;
  size_t place_hash_ = 0;
};

// Whether they denote the same place, in any pools.
bool same_place(const Source* a, const Source* b);

// Owns and interns the sources of one region: equal sources have the same pointer.
class SourcePool {
 public:
  // `key` is a guardable constant (kinds with a key), for a SlotAttr the member descriptor.
  const Source* get(SourceKind kind, const Source* base, BorrowedRef key, Py_ssize_t index = 0);
  // `call` as in cached_calls.h.
  const Source* cached_result(const Source* base, BorrowedRef call);
  const Source* weak_item(const Source* base, BorrowedRef referent);
  const Source* local(int slot) { return get(SourceKind::Local, nullptr, nullptr, slot); }
  const Source* function() { return get(SourceKind::Function, nullptr, nullptr); }
  // `source` with its base replaced by `base`.
  const Source* on_base(const Source* source, const Source* base);
  int size() const { return static_cast<int>(sources_.size()); }
  const Source* operator[](int id) const { return &sources_[id]; }

 private:
  const Source* intern(SourceKind kind, const Source* base, BorrowedRef key, Py_ssize_t index, BorrowedRef subject);
  std::deque<Source> sources_;
  std::unordered_multimap<size_t, int> by_hash_;
};

// The current object; null (without an exception) if there is none or if an object on the path has
// another type. Runs no Python code.
Ref fetch(const Source* source, const LocalsView& view);

// L['x'], G['np'].pi, L['self'].weight, L['xs'][0], as in guard logs. Stack values are S[0], S[1]; C['f']['x'] is local
// x of the suspended caller frame of f.
std::string name(const Source* source, const Bytecode& bytecode);
std::string name_of_element(const std::string& sequence, Py_ssize_t index);

// A Python function of ours that captures run in the place of a library's; kept for the life of the process. Returns
// its index, by which StandIn sources find it.
Py_ssize_t index_of_stand_in(BorrowedRef function);
// Whether the source leads out of a stand-in: such things are constants, and not guarded.
bool is_in_stand_in(const Source* source);

// Whether a SlotAttr source can use this descriptor: a member of __slots__ that holds an object.
bool is_object_slot(BorrowedRef member_descriptor);
// Its offset in the object; -1 if there is no such descriptor.
Py_ssize_t slot_offset(BorrowedRef member_descriptor);

}  // namespace md
