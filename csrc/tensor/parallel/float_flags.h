// The floating-point exceptions of a stretch of work, on whatever threads it runs: for libraries whose programs see
// them. IEEE 754-2019, section 7. x86's MXCSR keeps them for each thread.
#pragma once
#include <atomic>
#include <cstdint>

namespace md {

// An operation without a result, or a conversion to an integer that the dtype does not hold.
inline constexpr uint32_t kInvalidFlag = 1;
// A result that its dtype does not hold.
inline constexpr uint32_t kOverflowFlag = 8;

// The exceptions that this thread has met since it last cleared them, as bits of MXCSR.
uint32_t float_flags_here();
void clear_float_flags_here();
// As an operation of the processor that meets them.
void raise_float_flags_here(uint32_t flags);

// Restores what this thread has met when it dies: what lies between is the business of the library that is called.
class FloatFlagsAside {
 public:
  FloatFlagsAside();
  ~FloatFlagsAside();
  FloatFlagsAside(const FloatFlagsAside&) = delete;
  FloatFlagsAside& operator=(const FloatFlagsAside&) = delete;

 private:
  uint32_t before_;
};

// While it lives, exceptions of this thread and of workers that serve it are collected. Not nested.
class FloatFlags {
 public:
  FloatFlags();
  ~FloatFlags();
  FloatFlags(const FloatFlags&) = delete;
  FloatFlags& operator=(const FloatFlags&) = delete;
  uint32_t raised() const { return float_flags_here() | of_workers_.load(std::memory_order_relaxed); }

  // The collection of this thread; null: none. A worker adds to that of the thread that it serves.
  static FloatFlags* here();
  void add(uint32_t flags) { of_workers_.fetch_or(flags, std::memory_order_relaxed); }

 private:
  std::atomic<uint32_t> of_workers_ = 0;
};

// Around a worker's part in a job of a thread that has this collection, or none.
class WorkerFlags {
 public:
  explicit WorkerFlags(FloatFlags* flags) : flags_(flags) {
    if (flags_ != nullptr) clear_float_flags_here();
  }
  ~WorkerFlags() {
    if (flags_ != nullptr) flags_->add(float_flags_here());
  }
  WorkerFlags(const WorkerFlags&) = delete;
  WorkerFlags& operator=(const WorkerFlags&) = delete;

 private:
  FloatFlags* flags_;
};

}  // namespace md
