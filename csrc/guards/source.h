// Where an object came from, relative to a region's start. A Source has two duties: fetch(view) and name().
#pragma once
#include <deque>
#include <string>

#include "guards/locals_view.h"

namespace md {

class Bytecode;

enum class SourceKind : uint8_t {
#define MD_SOURCE(name, doc) name,
#include "guards/sources.def"
#undef MD_SOURCE
};

class Source {
 public:
  SourceKind kind() const { return kind_; }
  const Source* base() const { return base_; }
  BorrowedRef key() const { return key_; }
  int index() const { return index_; }
  int id() const { return id_; }  // position in its pool: a base has a smaller id than what stands on it

 private:
  friend class SourcePool;
  SourceKind kind_;
  const Source* base_;
  Ref key_;
  int index_;
  int id_;
};

// Owns and interns the sources of one region: equal sources are one pointer.
class SourcePool {
 public:
  const Source* get(SourceKind kind, const Source* base, BorrowedRef key, int index = 0);
  const Source* local(int slot) { return get(SourceKind::Local, nullptr, nullptr, slot); }
  const Source* function() { return get(SourceKind::Function, nullptr, nullptr); }
  int size() const { return static_cast<int>(sources_.size()); }
  const Source* operator[](int id) const { return &sources_[id]; }

 private:
  std::deque<Source> sources_;
};

// The object there now; null (and no exception) when it is not there or the path has other types. Runs no Python code.
Ref fetch(const Source* source, const LocalsView& view);

// L['x'], G['np'].pi, L['self'].weight, L['xs'][0]: as in guard logs. Stack values are S[0], S[1].
std::string name(const Source* source, const Bytecode& bytecode);

}  // namespace md
