#include "bytecode/exception_table.h"

#include "base/error.h"

#include <algorithm>

namespace md {
namespace {

// Six bits per byte, most significant first; bit 6: more bytes follow (bit 7 marks the start of an entry).
class VarintReader {
 public:
  explicit VarintReader(PyObject* bytes)
      : next_(reinterpret_cast<const uint8_t*>(PyBytes_AS_STRING(bytes))), end_(next_ + PyBytes_GET_SIZE(bytes)) {}
  bool done() const { return next_ == end_; }
  int32_t read() {
    int32_t value = 0;
    uint8_t byte = 0x40;
    while (byte & 0x40) {
      MD_ASSERT(next_ != end_, "truncated exception table");
      byte = *next_++;
      value = (value << 6) | (byte & 63);
    }
    return value;
  }

 private:
  const uint8_t* next_;
  const uint8_t* end_;
};

}  // namespace

std::vector<HandlerRange> read_exception_table(PyCodeObject* code, const std::vector<Instruction>& instructions,
                                               const std::vector<int32_t>& unit_to_index) {
  // An instruction is covered if its real opcode is, as in the interpreter's lookup.
  auto first_at = [&](int32_t unit) {
    auto it = std::lower_bound(instructions.begin(), instructions.end(), unit,
                               [](const Instruction& i, int32_t u) { return i.lasti < u; });
    return static_cast<int32_t>(it - instructions.begin());
  };
  std::vector<HandlerRange> ranges;
  VarintReader reader(code->co_exceptiontable);
  while (!reader.done()) {
    int32_t start = reader.read();
    int32_t end = start + reader.read();
    int32_t target = unit_to_index.at(reader.read());
    int32_t depth_and_lasti = reader.read();
    MD_ASSERT(target >= 0, "handler inside a cache");
    ranges.push_back({first_at(start), first_at(end), {target, depth_and_lasti >> 1, (depth_and_lasti & 1) != 0}});
  }
  return ranges;
}

}  // namespace md
