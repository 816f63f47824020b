#include "machine_code/executable_memory.h"

#include <sys/mman.h>

#include <cstring>

namespace md {

std::shared_ptr<const ExecutableMemory> ExecutableMemory::copy_of(std::span<const uint8_t> code) {
  // Private pages, so that a forked child has its own copy of the code.
  void* pages = mmap(nullptr, code.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return nullptr;
  std::memcpy(pages, code.data(), code.size());
  if (mprotect(pages, code.size(), PROT_READ | PROT_EXEC) != 0) {
    munmap(pages, code.size());
    return nullptr;
  }
  return std::shared_ptr<const ExecutableMemory>(new ExecutableMemory(static_cast<uint8_t*>(pages), code.size()));
}

ExecutableMemory::~ExecutableMemory() { munmap(pages_, nbytes_); }

}  // namespace md
