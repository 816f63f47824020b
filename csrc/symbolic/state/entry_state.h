// The state at the start of a region: the outermost frame on entry, and the callers that the region has returned to
// since.
#pragma once
#include <utility>
#include <vector>

#include "symbolic/state/symbolic_frame.h"
#include "symbolic/state/trace_start.h"

namespace md {

class EntryState {
 public:
  explicit EntryState(const TraceStart& start);
  ~EntryState();
  const TraceStart& start() const { return start_; }

  // The outermost frame on entry: the region's own frame at its start, or a caller at the time the region returned to
  // it.
  const std::vector<ValuePtr>& slots() const { return slots_; }
  const std::vector<ValuePtr>& stack() const { return stack_; }
  void set_frame(std::vector<ValuePtr> slots, std::vector<ValuePtr> stack);
  // Returns true if that frame has owned the value's object since then. At its first instruction a frame owns nothing:
  // it shares its references with its caller.
  bool owns(const ValuePtr& value) const;
  // How many of its slots and places on its stack hold the object, whether or not the trace knows that they are alike.
  Py_ssize_t places_of(BorrowedRef object) const;
  bool owns_objects() const { return start_.index > 0 || has_returned(); }
  // Objects of that stack that the frame still owns, and their positions.
  std::vector<std::pair<ValuePtr, size_t>>& watched() { return watched_; }

  struct ChangedSlots {
    std::vector<std::pair<int, ValuePtr>> values;
    bool owns_moved = false;  // as in FrameState
  };
  struct ReturnedFrame {
    int index;
    int64_t executed;
    ChangedSlots changed;
  };
  const std::vector<ReturnedFrame>& returns() const { return returns_; }  // Snapshot::returns
  bool has_returned() const { return !returns_.empty(); }
  // The suspended caller of the outermost frame, if any.
  const CallerPlace& next_caller() const { return (*start_.callers)[returns_.size()]; }
  bool has_next_caller() const { return start_.callers != nullptr && returns_.size() < start_.callers->size(); }
  void add_return(ReturnedFrame frame);
  int callers_slot() const { return callers_slot_; }  // the slot of the view where the next caller begins
  void set_callers_slot(int slot) { callers_slot_ = slot; }

 private:
  const TraceStart& start_;
  std::vector<ValuePtr> slots_, stack_;
  std::vector<std::pair<ValuePtr, size_t>> watched_;
  std::vector<ReturnedFrame> returns_;
  int callers_slot_ = 0;
};

}  // namespace md
