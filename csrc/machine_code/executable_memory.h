// Pages that hold machine code: first writable, then readable and executable, never both.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace md {

class ExecutableMemory {
 public:
  // nullptr if the system refuses such pages; the caller then runs without machine code.
  static std::shared_ptr<const ExecutableMemory> copy_of(std::span<const uint8_t> code);
  ~ExecutableMemory();
  const uint8_t* at(size_t offset) const { return pages_ + offset; }
  size_t nbytes() const { return nbytes_; }
  ExecutableMemory(const ExecutableMemory&) = delete;
  ExecutableMemory& operator=(const ExecutableMemory&) = delete;

 private:
  ExecutableMemory(uint8_t* pages, size_t nbytes) : pages_(pages), nbytes_(nbytes) {}
  uint8_t* pages_;
  size_t nbytes_;
};

}  // namespace md
