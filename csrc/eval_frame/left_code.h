// Code of a thread that Python runs while the functions that it calls may be captured, and what was learned of those:
// if none of them has work for a plan, the hook is taken out while the code runs. An operation on a tensor that runs
// uncaptured meanwhile puts the hook back and starts learning anew. Requires the GIL.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>

#include "cpython/ref.h"
#include "eval_frame/hook.h"

namespace md {

struct CodeFacts;
struct RegionEntry;

class LeftCode {
 public:
  enum class Callees : uint8_t {
    Learned,  // captured unless the code is known to call nothing with work
    Left,     // never captured
  };
  explicit LeftCode(PyCodeObject* code, Callees callees = Callees::Learned);
  ~LeftCode();
  LeftCode(const LeftCode&) = delete;
  LeftCode& operator=(const LeftCode&) = delete;

  // Of this thread; null: none.
  static LeftCode* innermost() { return here().innermost; }
  // This thread has run a plan for a frame.
  void note_work() { ++thread_.work; }
  // This thread has traced these instructions into a graph without operations.
  static void note_wasted(int64_t instructions) { here().wasted += instructions; }
  // An operation on a tensor is about to run eagerly in this thread.
  static void note_operation();
  // Forgets what was learned of all code.
  static void forget_all();

  bool leaves_callees() const { return callees_ == Callees::Left; }
  // Installs the hook for the callees, if it is worth it; whether it is.
  bool install();
  // Whether a frame that this code calls may be captured. If not, the hook is out until this ends.
  bool asks() {
    if (absence_ || is_uninstalled_) return false;
    if (callees_ == Callees::Learned && !is_known_fruitless()) return true;
    take_out();
    return false;
  }
  // Such a frame has been asked for, and has ended, perhaps with an exception set.
  void note_callee();
  // `entry` leaves this code to Python, on the strength of what was learned.
  void watch(std::shared_ptr<RegionEntry> entry);

 private:
  struct Here {
    LeftCode* innermost;
    uint64_t work;
    int64_t wasted;
  };
  static Here& here() {
    static thread_local Here here{};
    return here;
  }

  bool is_known_fruitless();
  void take_out();
  void put_back();
  void set_listening(bool value);

  Here& thread_;  // it lives on the stack of one thread
  Ref code_;
  LeftCode* previous_;
  CodeFacts* facts_ = nullptr;  // of the code; null until needed
  uint64_t seen_work_;
  int64_t seen_wasted_;
  Callees callees_;
  bool is_uninstalled_ = false;  // install() has left the hook out
  bool is_listening_ = false;
  std::optional<HookAbsence> absence_;
  std::optional<HookInstallation> installation_;
  std::shared_ptr<RegionEntry> watched_;
};

}  // namespace md
