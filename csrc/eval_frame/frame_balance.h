// What regions save in a frame, and what it costs to run the frame here: counts, in the units of loop_costs.def.
#pragma once
#include <cstdint>

namespace md {

class FrameBalance {
 public:
  // saved: by the plan of a region that has run, less what the region costs.
  void add_region(int64_t saved) {
    if (saved > 0)
      gained_ += saved;
    else
      lost_ -= saved;
  }
  void add_instructions(int64_t count) { instructions_ += count; }
  void add(const FrameBalance& inner) {
    gained_ += inner.gained_;
    lost_ += inner.lost_;
    instructions_ += inner.instructions_;
  }

  // Whether Python needs clearly less, and whether so much less that few frames tell.
  bool is_poor() const;
  bool is_ruinous() const;

  int64_t gained() const { return gained_; }
  int64_t lost() const;

 private:
  int64_t gained_ = 0, lost_ = 0;
  int64_t instructions_ = 0;  // that the driver has executed
};

// Of frames that begin with the same region: many tell, or few that lose much.
class PoorFrames {
 public:
  bool are_known() const { return are_known_; }
  void note(const FrameBalance& balance) {
    sum_.add(balance);
    bool is_last = ++frames_ == kMany;
    are_known_ = are_known_ || (is_last ? sum_.is_poor() : frames_ > 1 && sum_.is_ruinous());
    if (!is_last) return;
    sum_ = {};
    frames_ = 0;
  }
  void forget() { *this = {}; }

 private:
  static constexpr int kMany = 16;
  FrameBalance sum_;
  int frames_ = 0;
  bool are_known_ = false;
};

}  // namespace md
