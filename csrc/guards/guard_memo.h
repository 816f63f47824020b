// Memo of a passed guard check: the memory words that it depended on. If none has changed, the guards still hold.
// An object is known for certain (owned by a dict whose version is checked before it, by an immutable object that is
// itself certain, or by the guards) or by address only (in a slot or a list element): then another object may occupy
// that address, so only what is read from it again counts. Each word lies in an object that is alive if the preceding
// words hold. Owns nothing. Requires the GIL; only steps may allocate, and so run the garbage collector.
#pragma once
#include <memory>
#include <vector>

#include "guards/guard_program.h"

namespace md {

class GuardMemo {
 public:
  enum class Answer : uint8_t { Holds, Fails, Unknown };  // Unknown: run the program
  // registers: as many as the program has.
  Answer check(const LocalsView& view, PyObject** registers);

  // Whether the roots, through which everything in the memo was reached, are the same objects.
  bool has_roots_of(const LocalsView& view) const;

  // The object in a register, borrowed, if the memo knows it; valid if the memo answered the last check and it held.
  PyObject* object_in(uint32_t which) const { return known_[which] ? objects_[which] : nullptr; }

  // Cost of a check: words compared, and instructions run.
  size_t words() const { return witnesses_.size(); }
  size_t steps() const { return steps_.size(); }
  int hits = 0;
  // Invalidates the memo.
  void forget() { is_stale_ = true; }
  bool is_stale() const { return is_stale_; }

 private:
  friend class MemoRecorder;
  explicit GuardMemo(const GuardProgram& program) : program_(program) {}

  struct Root {
    int slot;
    PyObject* object;
  };
  // A word and its expected value; `recheck` is run if it has changed, -1 if the memo is then invalid.
  struct Witness {
    const uint64_t* place;
    uint64_t expected;
    int32_t recheck;
  };
  struct RecheckStep {
    GuardInstruction instruction;
    PyTypeObject*
        type;  // for a Fetch: it must find the same object, of this type; null: any object that passes the checks
  };

  // The address of a witness that always differs: its recheck runs each time.
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
  std::vector<PyObject*> objects_;          // by register
  std::vector<bool> known_;                 // by register
  std::vector<GuardInstruction> tensors_;   // the checks of known tensors
  uint64_t tensor_changes_ = 0;             // tensor_changes() at their last run
  bool tensors_may_change_unseen_ = false;  // one is of a family that does not count its changes
  std::vector<uint32_t> presets_;           // registers of known objects that the steps read
  std::vector<GuardInstruction> steps_;     // the part that is not memoised
};

class FetchedObjects;

// The memos of one guard program, with different roots.
class GuardMemos {
 public:
  // The program's result for this view. If it holds, `fetched`, which may be null, has the objects.
  bool check(const GuardProgram& program, const LocalsView& view, FetchedObjects* fetched);
  // The memo that answered the last successful check; null if the full program ran.
  const GuardMemo* last() const { return last_; }

 private:
  bool check_whole(const GuardProgram& program, const LocalsView& view, PyObject** registers);
  static constexpr int kMostPatience = 1024;
  bool wants_memory(const GuardProgram& program);
  static bool pays(const GuardProgram& program, const GuardMemo& memory);
  void keep(std::unique_ptr<GuardMemo> memory);
  void drop(GuardMemo& memory);

  std::vector<std::unique_ptr<GuardMemo>> memories_;  // most recently used first
  const GuardMemo* last_ = nullptr;
  int running_ = 0;  // checks in progress: the garbage collector may re-enter from one
  int backoff_ = 1;  // full runs before the next recording (backoff); grows when memos do not pay off
  int waited_ = 0;
};

}  // namespace md
