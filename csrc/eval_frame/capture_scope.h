// Which frames may be roots of a capture. Frames of the standard library, of minidynamo and of the packages in
// skipped_packages.def are inlined but never captured on their own at a break.
#pragma once
#include <cstdint>

#include "cpython/frame.h"
#include "cpython/ref.h"

namespace md {

struct Policy;

// Folders whose code is never a root; set once at import (absolute, with a trailing separator).
void add_skipped_folder(BorrowedRef path);
// Reserves the co_extra index; called at import.
void reserve_place_of_facts();

// The last frame of a code object that was left on account of its arguments' types alone: one like it is left at once.
struct LeftBefore {
  static constexpr int kMostArguments = 4;
  const Policy* policy = nullptr;  // null: none
  uint32_t generation = 0;
  int count = 0;
  PyTypeObject* types[kMostArguments] = {};
};

// What is known of a code object apart from its regions; lives as long as it does.
struct CodeFacts {
  bool may_be_root;
  bool leaves_callees;  // the import machinery, or disabled code: what it runs is never captured
  bool skips_inner;     // a wrapper: the function in its closure runs uncaptured, but not what that calls
  bool calls;           // the code has instructions that make calls
  uint32_t generation;  // of `fruitless`
  int64_t fruitless;    // instructions traced and frames asked for in vain since a callee had work, see left_code.cpp
  LeftBefore left;
};
// Cached on the code object: needed for every Python call made by a compiled frame.
CodeFacts& facts_of(PyCodeObject* code);
CodeFacts* find_facts(PyCodeObject* code);  // null if there are none
// CodeFacts::fruitless, 0 if it was forgotten.
int64_t fruitless(CodeFacts& facts);
void forget_learned();  // CodeFacts::fruitless and LeftBefore, of all code
void forget_left();     // LeftBefore: a type may have died
// Remembers the arguments of a frame that has not begun.
void note_left(CodeFacts& facts, PvFrame* frame, const Policy* policy);
bool is_left_again(const CodeFacts& facts, PvFrame* frame, const Policy* policy);

}  // namespace md
