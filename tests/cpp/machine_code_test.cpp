// Machine code of fused pointwise operations is bit-identical to the loops of the single operations.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "check.h"
#include "machine_code/executable_memory.h"
#include "machine_code/pointwise_code.h"
#include "tensor/simd/loops.h"

using namespace md;

namespace {

constexpr int64_t kLongest = 100, kGuardBytes = 64;
constexpr std::byte kGuard{0xa5};

// Elements of one loop register, followed by guard bytes that must stay unchanged.
struct Elements {
  DType dtype;
  std::vector<std::byte> bytes;
  Elements(DType type, int64_t n)
      : dtype(type), bytes(static_cast<size_t>(n) * item_size(type) + kGuardBytes, kGuard) {}
  size_t used() const { return bytes.size() - kGuardBytes; }
};

template <typename T>
void put(Elements& elements, int64_t i, T value) {
  std::memcpy(elements.bytes.data() + static_cast<size_t>(i) * sizeof(T), &value, sizeof(T));
}

template <typename T>
T unusual_or_plain(std::mt19937& random) {
  if constexpr (std::is_floating_point_v<T>) {
    using Limits = std::numeric_limits<T>;
    const T special[] = {0,
                         T(-0.0),
                         1,
                         -1,
                         Limits::infinity(),
                         -Limits::infinity(),
                         Limits::quiet_NaN(),
                         Limits::denorm_min(),
                         -Limits::min(),
                         Limits::max(),
                         T(0.5),
                         T(-0.5),
                         T(2.5)};
    if (random() % 3 == 0) return special[random() % std::size(special)];
    return static_cast<T>(std::normal_distribution<double>(0, 4)(random));
  } else {
    if (random() % 4 == 0) return std::numeric_limits<T>::min();
    return static_cast<T>(static_cast<int64_t>(random() % 9) - 4);
  }
}

void fill_at_random(Elements& elements, int64_t n, std::mt19937& random) {
  for (int64_t i = 0; i < n; ++i) {
    switch (elements.dtype) {
      case DType::float32:
        put(elements, i, unusual_or_plain<float>(random));
        break;
      case DType::float64:
        put(elements, i, unusual_or_plain<double>(random));
        break;
      case DType::int32:
      case DType::uint32:
        put(elements, i, unusual_or_plain<int32_t>(random));
        break;
      case DType::int64:
      case DType::uint64:
        put(elements, i, unusual_or_plain<int64_t>(random));
        break;
      default:
        put(elements, i, static_cast<uint8_t>(random() % 2));
    }
  }
}

template <typename T>
bool same_floats(const Elements& a, const Elements& b) {
  for (size_t at = 0; at < a.used(); at += sizeof(T)) {
    T x, y;
    std::memcpy(&x, a.bytes.data() + at, sizeof(T));
    std::memcpy(&y, b.bytes.data() + at, sizeof(T));
    bool alike = std::memcmp(&x, &y, sizeof(T)) == 0 || (std::isnan(x) && std::isnan(y));
    if (!alike) return false;
  }
  return std::equal(a.bytes.begin() + static_cast<std::ptrdiff_t>(a.used()), a.bytes.end(),
                    b.bytes.begin() + static_cast<std::ptrdiff_t>(b.used()));
}

bool same(const Elements& a, const Elements& b) {
  if (a.dtype == DType::float32) return same_floats<float>(a, b);
  if (a.dtype == DType::float64) return same_floats<double>(a, b);
  return a.bytes == b.bytes;
}

// A loop: its registers, which of them are single elements, and its instructions.
struct Program {
  std::vector<Elements> registers;
  std::vector<bool> is_one;
  std::vector<int> lies_over;  // by register: the register whose memory it shares, -1: its own
  std::vector<Scalar> params;
  std::vector<CodeInstruction> code;

  int add_register(DType dtype, int64_t n, bool one = false) {
    registers.emplace_back(dtype, one ? 1 : n);
    is_one.push_back(one);
    lies_over.push_back(-1);
    return static_cast<int>(registers.size()) - 1;
  }
};

std::vector<std::byte*> addresses(Program& program) {
  std::vector<std::byte*> all;
  for (size_t reg = 0; reg < program.registers.size(); ++reg) {
    int owner = program.lies_over[reg];
    all.push_back(program.registers[owner < 0 ? reg : static_cast<size_t>(owner)].bytes.data());
  }
  return all;
}

void run_one_by_one(Program& program, int64_t n) {
  std::vector<std::byte*> at = addresses(program);
  for (const CodeInstruction& instruction : program.code) {
    void* dst = at[static_cast<size_t>(instruction.dst)];
    const void* src[3] = {};
    for (int i = 0; i < instruction.operand_count; ++i) src[i] = at[static_cast<size_t>(instruction.src[i])];
    if (instruction.row < 0) {
      loops().convert[static_cast<int>(instruction.dtype)][static_cast<int>(instruction.result)](src[0], dst, n);
    } else {
      pointwise_loop(instruction.row, instruction.dtype, instruction.once)(src, dst, n, instruction.params);
    }
  }
}

// Runs machine code for as many instructions as possible, and loops for the rest.
int run_as_code(Program& program, int64_t n, int64_t head) {
  std::vector<std::byte*> at = addresses(program);
  int operations = 0;
  for (size_t begin = 0; begin < program.code.size();) {
    Assembler assembler(*machine_code_set());
    size_t offset = 0;
    std::span<const CodeInstruction> rest = std::span(program.code).subspan(begin);
    size_t count = assemble_pointwise(assembler, rest, static_cast<int>(begin), offset);
    if (count == 0) {
      Program single = program;
      single.code = {program.code[begin]};
      run_one_by_one(single, n);
      program.registers = single.registers;
      at = addresses(program);
      ++begin;
      continue;
    }
    auto memory = ExecutableMemory::copy_of(assembler.code());
    CHECK(memory != nullptr);
    reinterpret_cast<PointwiseCode>(reinterpret_cast<uintptr_t>(memory->at(offset)))(at.data(), n, std::min(head, n));
    operations += static_cast<int>(count);
    begin += count;
  }
  return operations;
}

// The same elements as rows of a function for rows: its prefetches for the last rows are out of range.
bool run_as_rows(Program& program, int64_t elements, int64_t rows, SumPlace sum = {}) {
  int count = static_cast<int>(program.registers.size());
  CodeRows shape = {.elements = elements, .stride = count, .ahead = 2, .sum = sum};
  std::vector<std::byte*> at;
  for (int64_t r = 0; r < rows + shape.ahead; ++r) {
    std::vector<std::byte*> first = addresses(program);
    for (size_t reg = 0; reg < first.size(); ++reg) {
      auto row_bytes = static_cast<int64_t>(item_size(program.registers[reg].dtype)) * elements;
      bool stays = program.is_one[reg] || static_cast<int>(reg) == sum.read || static_cast<int>(reg) == sum.written;
      at.push_back(first[reg] + (stays ? 0 : std::min(r, rows - 1) * row_bytes));
    }
  }
  for (int reg = 0; reg < count; reg += 3) shape.fetched.push_back(reg);
  Assembler assembler(*machine_code_set());
  size_t offset = 0;
  if (!assemble_rows(assembler, program.code, shape, offset)) return false;
  auto memory = ExecutableMemory::copy_of(assembler.code());
  CHECK(memory != nullptr);
  reinterpret_cast<RowsCode>(reinterpret_cast<uintptr_t>(memory->at(offset)))(at.data(), rows);
  return true;
}

std::string text_of(const Program& program) {
  std::string text;
  for (const CodeInstruction& instruction : program.code) {
    text += instruction.row < 0 ? "cast" : pointwise_rows()[static_cast<size_t>(instruction.row)].name;
    text += str_cat("(", row(instruction.dtype).name, ", once ", instruction.once, ") ");
  }
  return text;
}

int programs_of_rows = 0;

void check_seen(const Program& program, const Program& other, int64_t n) {
  for (size_t reg = 0; reg < program.registers.size(); ++reg) {
    bool is_seen = true;
    for (const CodeInstruction& instruction : program.code)
      is_seen = is_seen && (instruction.dst != static_cast<int>(reg) || instruction.last_read == kReadOutside);
    if (!is_seen || same(program.registers[reg], other.registers[reg])) continue;
    for (const CodeInstruction& instruction : program.code) {
      if (instruction.dst != static_cast<int>(reg)) continue;
      Program one;
      one.code = {instruction};
      std::fprintf(stderr, "register %zu, which is %s, of %s: %d elements\n", reg, text_of(one).c_str(),
                   text_of(program).c_str(), static_cast<int>(n));
    }
    CHECK(same(program.registers[reg], other.registers[reg]));
  }
}

void check_alike(Program program, int64_t n) {
  Program other = program, in_rows = program;
  run_one_by_one(program, n);
  // Fewer elements than the narrowest vector.
  int64_t lanes = vector_bytes(*machine_code_set()) / 8;
  run_as_code(other, n, (n + static_cast<int64_t>(program.code.size())) % lanes);
  check_seen(program, other, n);
  constexpr int64_t kElements = 32;
  if (n % kElements != 0 || !run_as_rows(in_rows, kElements, n / kElements)) return;
  ++programs_of_rows;
  check_seen(program, in_rows, n);
}

// Every dtype of each row with machine code, with every choice of single-element operands.
std::vector<CodeInstruction> all_instructions() {
  std::vector<CodeInstruction> all;
  const DType dtypes[] = {DType::float32, DType::float64, DType::int32, DType::int64,
                          DType::uint32,  DType::uint64,  DType::bool_};
  for (DType dtype : dtypes) {
    for (size_t row = 0; row < pointwise_rows().size(); ++row) {
      const PointwiseRow& info = pointwise_rows()[row];
      for (unsigned once = 0; once < 8; ++once) {
        if (pointwise_loop(static_cast<int>(row), dtype, once) == nullptr) continue;
        CodeInstruction instruction = {.row = static_cast<int>(row), .dtype = dtype};
        instruction.result = pointwise_result_dtype(static_cast<int>(row), dtype);
        instruction.operand_count = info.arity;
        instruction.once = once;
        if (has_machine_code(instruction)) all.push_back(instruction);
      }
    }
    for (DType to : dtypes) {
      CodeInstruction instruction = {.dtype = dtype, .result = to, .operand_count = 1};
      if (dtype != to && has_machine_code(instruction)) all.push_back(instruction);
    }
  }
  return all;
}

DType operand_dtype(const CodeInstruction& instruction, int i) {
  bool is_condition = instruction.row == static_cast<int>(Pointwise::where) && i == 0;
  return is_condition ? DType::bool_ : instruction.dtype;
}

// The sign of a computed NaN is unspecified.
bool reads_signs(const CodeInstruction& instruction) {
  return instruction.row == static_cast<int>(Pointwise::signbit) ||
         instruction.row == static_cast<int>(Pointwise::copysign);
}

// Appends the instruction with random registers, including earlier results.
void append(Program& program, CodeInstruction instruction, int64_t n, std::mt19937& random) {
  for (int i = 0; i < instruction.operand_count; ++i) {
    bool one = (instruction.once >> i & 1) != 0;
    std::vector<int> fitting;
    for (size_t reg = 0; reg < program.registers.size(); ++reg) {
      if (program.registers[reg].dtype == operand_dtype(instruction, i) && program.is_one[reg] == one)
        fitting.push_back(static_cast<int>(reg));
    }
    if (fitting.empty() || reads_signs(instruction) || random() % 4 == 0) {
      instruction.src[i] = program.add_register(operand_dtype(instruction, i), n, one);
      fill_at_random(program.registers.back(), one ? 1 : n, random);
    } else {
      instruction.src[i] = fitting[random() % fitting.size()];
    }
  }
  instruction.dst = program.add_register(instruction.result, n);
  program.code.push_back(instruction);
}

// Results that are never read are read outside, and so are some that are.
void settle_reads(Program& program, std::mt19937& random) {
  const double numbers[] = {0.3, -2, 1e-3};
  for (size_t i = 0; i < program.code.size() * kMaxPointwiseParams; ++i)
    program.params.push_back(random() % 2 == 0 ? Scalar(numbers[random() % 3])
                                               : Scalar(static_cast<int64_t>(random() % 5)));
  for (size_t i = 0; i < program.code.size(); ++i) {
    CodeInstruction& instruction = program.code[i];
    instruction.last_read = -1;
    for (size_t later = i + 1; later < program.code.size(); ++later) {
      for (int src : program.code[later].src) {
        if (src == instruction.dst) instruction.last_read = static_cast<int>(later);
      }
    }
    if (instruction.last_read < 0 || random() % 5 == 0) instruction.last_read = kReadOutside;
    if (instruction.row >= 0 && pointwise_rows()[static_cast<size_t>(instruction.row)].param_count > 0)
      instruction.params = &program.params[i * kMaxPointwiseParams];
  }
}

void check_program(Program program, int64_t n, std::mt19937& random) {
  settle_reads(program, random);
  check_alike(program, n);
}

void check_each_instruction(const std::vector<CodeInstruction>& all) {
  std::mt19937 random(1);
  for (const CodeInstruction& instruction : all) {
    for (int64_t n : {1, 7, 16, 33, 64, 100}) {
      Program program;
      append(program, instruction, n, random);
      append(program, instruction, n, random);
      check_program(program, n, random);
    }
  }
}

void check_programs(const std::vector<CodeInstruction>& all, unsigned first, unsigned count) {
  for (unsigned seed = first; seed < first + count; ++seed) {
    std::mt19937 random(seed);
    int64_t n = static_cast<int64_t>(random() % kLongest) + 1;
    if (seed % 3 == 0) n = 32 * (1 + n % 3);
    size_t length = 2 + random() % (seed % 10 == 0 ? 60 : 12);
    Program program;
    DType first = all[random() % all.size()].dtype;
    while (program.code.size() < length) {
      const CodeInstruction& instruction = all[random() % all.size()];
      bool fits = first == DType::bool_ || item_size(instruction.dtype) == item_size(first) ||
                  instruction.dtype == DType::bool_;
      if (fits || random() % 20 == 0) append(program, instruction, n, random);
    }
    if (program.registers.size() > kMaxCodeRegisters) continue;
    check_program(program, n, random);
  }
}

// A result over an operand that nothing reads later.
void check_in_place() {
  std::mt19937 random(5);
  for (int64_t n : {3, 16, 50}) {
    Program program;
    int x = program.add_register(DType::float32, n), y = program.add_register(DType::float32, n);
    fill_at_random(program.registers[0], n, random);
    fill_at_random(program.registers[1], n, random);
    CodeInstruction sum = {.row = static_cast<int>(Pointwise::add), .dtype = DType::float32, .result = DType::float32};
    sum.operand_count = 2;
    sum.src[0] = x, sum.src[1] = y, sum.dst = program.add_register(DType::float32, n), sum.last_read = 1;
    CodeInstruction product = sum;
    product.row = static_cast<int>(Pointwise::mul);
    product.src[0] = sum.dst, product.dst = program.add_register(DType::float32, n);
    product.last_read = kReadOutside;
    program.lies_over.back() = y;
    program.code = {sum, product};
    check_alike(program, n);
  }
}

CodeInstruction of_two(Pointwise row, DType dtype, int a, int b, int dst) {
  CodeInstruction instruction = {.row = static_cast<int>(row), .dtype = dtype, .result = dtype, .operand_count = 2};
  instruction.src[0] = a, instruction.src[1] = b, instruction.dst = dst, instruction.last_read = kReadOutside;
  return instruction;
}

// Rows, or their products with others, are summed sequentially in registers.
void check_sums(DType dtype, int64_t elements, int64_t rows, bool of_products) {
  std::mt19937 random(static_cast<unsigned>(elements * rows));
  int64_t n = elements * rows;
  Program program;
  int source = program.add_register(dtype, n);
  fill_at_random(program.registers[0], n, random);
  if (of_products) {
    int other = program.add_register(dtype, n), product = program.add_register(dtype, n);
    fill_at_random(program.registers[1], n, random);
    program.code = {of_two(Pointwise::mul, dtype, source, other, product)};
    program.code[0].last_read = 1;
    source = product;
  }
  int read = program.add_register(dtype, elements);
  fill_at_random(program.registers.back(), elements, random);
  int written = program.add_register(dtype, elements);
  program.lies_over.back() = read;

  Program expected = program;
  run_one_by_one(expected, n);
  std::vector<std::byte*> at = addresses(expected);
  std::byte* sum = at[static_cast<size_t>(read)];
  for (int64_t r = 0; r < rows; ++r) {
    const void* operands[] = {sum,
                              at[static_cast<size_t>(source)] + r * elements * static_cast<int64_t>(item_size(dtype))};
    pointwise_loop(static_cast<int>(Pointwise::add), dtype, 0)(operands, sum, elements, nullptr);
  }
  program.code.push_back(of_two(Pointwise::add, dtype, read, source, written));
  CHECK(run_as_rows(program, elements, rows, {.read = read, .written = written}));
  CHECK(same(program.registers[static_cast<size_t>(read)], expected.registers[static_cast<size_t>(read)]));
}

void check_sums_of_rows() {
  for (DType dtype : {DType::float32, DType::float64}) {
    auto item = static_cast<int64_t>(item_size(dtype));
    int64_t most = most_summed(*machine_code_set(), item), vector = vector_bytes(*machine_code_set()) / item;
    for (int64_t elements : {vector, 3 * vector, most}) {
      for (int64_t rows : {1, 2, 7}) {
        check_sums(dtype, elements, rows, false);
        check_sums(dtype, elements, rows, true);
      }
    }
  }
}

// check: run with each set of instructions that this processor has, which is chosen with the loops that it agrees with.
template <typename Check>
void with_each_set(Check check) {
  int sets = 0;
  for (const char* level : {"avx512", "avx2"}) {
    try {
      use_instruction_level(level);
    } catch (const Error&) {
      continue;
    }
    if (!uses_machine_code()) continue;
    check();
    ++sets;
  }
  if (sets == 0) std::puts("no machine code for this processor");
}

TEST(each_instruction) {
  with_each_set([] {
    std::vector<CodeInstruction> all = all_instructions();
    CHECK(all.size() > 300);
    check_each_instruction(all);
  });
}

TEST(programs) {
  with_each_set([] {
    programs_of_rows = 0;
    check_programs(all_instructions(), 0, 3000);
    CHECK(programs_of_rows > 500);
  });
}

TEST(in_place) { with_each_set(check_in_place); }

TEST(sums) { with_each_set(check_sums_of_rows); }

DRAWN(instructions) {
  with_each_set([&] { check_programs(all_instructions(), first, count); });
}

}  // namespace

// Each set of instructions that this processor has, which is chosen with the loops that it agrees with.
