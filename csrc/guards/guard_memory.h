// What a pass of a guard program rested on, as words of memory: while they hold what they held, the same checks pass again.
//
// An object is known for certain (a dict holds it in a version that is checked before, or an immutable object that is itself
// certain does, or the guards hold it) or by its address alone (a slot, an element of a list): another object may be at that
// address now, so that only what is read from it again counts. A word lies in an object that lives while the words before it hold.
// Nothing here is owned. GIL held; only steps may allocate, and so run the collector.
#pragma once
#include <memory>
#include <vector>

#include "guards/guard_program.h"

namespace md {

class GuardMemory {
 public:
  enum class Answer : uint8_t { Holds, Fails, Unknown };  // Unknown: the program has to say
  Answer check(const LocalsView& view);

  // The objects that everything remembered is reached from are the same.
  bool has_roots_of(const LocalsView& view) const;

  // The object at a source, borrowed, if this memory answered the last check of the program, which held; null: not known.
  PyObject* object_at(const Source* source) const {
    uint32_t at = program_.register_of(source);
    return at != kNoRegister && known_[at] ? objects_[at] : nullptr;
  }

  // What a check does: words compared, and instructions.
  size_t words() const { return witnesses_.size(); }
  size_t steps() const { return steps_.size(); }
  int hits = 0;
  // Nothing is known any more.
  void forget() { is_stale_ = true; }
  bool is_stale() const { return is_stale_; }

 private:
  friend class MemoryRecorder;
  explicit GuardMemory(const GuardProgram& program) : program_(program) {}

  struct Root {
    int slot;
    PyObject* object;
  };
  // A word, and the recheck that is made when it has changed; -1: none can be.
  struct Witness {
    const uint64_t* place;
    uint64_t expected;
    int32_t recheck;
  };
  struct RecheckStep {
    GuardInstruction instruction;
    PyTypeObject*
        type;  // of a Fetch: it has to find the object that it found, of this type; null: whatever the checks admit
  };

  // The place of a witness that never holds: its recheck is made each time.
  static constexpr uint64_t kNever = 0;
  bool words_hold(const LocalsView& view);
  bool check_again(Witness& witness, const LocalsView& view);
  bool tensors_hold(const LocalsView& view);

  const GuardProgram& program_;
  bool is_stale_ = false;
  std::vector<Root> roots_;
  PyObject *function_ = nullptr, *globals_ = nullptr, *builtins_ = nullptr;  // of the view; null: any
  std::vector<Witness> witnesses_;
  std::vector<std::vector<RecheckStep>> rechecks_;
  std::vector<PyObject*> objects_;         // by register
  std::vector<bool> known_;                // by register
  std::vector<GuardInstruction> tensors_;  // the checks of known tensors
  uint64_t tensor_changes_ = 0;            // when they were made last
  std::vector<uint32_t> presets_;          // registers of known objects that the steps read
  std::vector<GuardInstruction> steps_;    // what is not remembered
};

// What fetch() gives, from a memory that knows it (null: none).
inline Ref remembered(const Source* source, const LocalsView& view, const GuardMemory* memory) {
  PyObject* object = memory != nullptr ? memory->object_at(source) : nullptr;
  return object != nullptr ? Ref::share(object) : fetch(source, view);
}

// The memories of one program, each with other roots.
class GuardMemories {
 public:
  // The program's answer for this view.
  bool check(const GuardProgram& program, const LocalsView& view);
  // What gave the last answer, if that was true; null: the program itself.
  const GuardMemory* last() const { return last_; }

 private:
  bool check_whole(const GuardProgram& program, const LocalsView& view);
  static constexpr int kMostPatience = 1024;
  bool wants_memory(const GuardProgram& program);
  static bool pays(const GuardProgram& program, const GuardMemory& memory);
  void keep(std::unique_ptr<GuardMemory> memory);
  void drop(GuardMemory& memory);

  std::vector<std::unique_ptr<GuardMemory>> memories_;  // the last used first
  const GuardMemory* last_ = nullptr;
  int running_ = 0;   // checks in progress: the collector may come here again from one
  int patience_ = 1;  // whole passes that come before a recording; grows where memories are of little use
  int waited_ = 0;
};

}  // namespace md
