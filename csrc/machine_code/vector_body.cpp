#include "machine_code/vector_body.h"

#include <algorithm>
#include <bit>

#include "machine_code/avx2_body.h"
#include "machine_code/avx512_body.h"
#include "machine_code/one_divisor.h"
#include "machine_code/pointwise_emitters.h"
#include "tensor/simd/pointwise_table.h"

namespace md {
namespace {

bool is_bool_operand(const CodeInstruction& instruction, int i) {
  bool is_condition = instruction.row == static_cast<int>(Pointwise::where) && i == 0;
  return is_condition || instruction.dtype == DType::bool_;
}

}  // namespace

VectorBody::VectorBody(Assembler& assembler, LoopFrame& frame, bool is_tail)
    : assembler_(assembler), frame_(frame), is_tail_(is_tail) {
  int free = frame.vector_count() - static_cast<int>(frame.most_constants());
  if (is_tail && !frame.has_mask_registers()) --free;
  free_vectors_ = (uint32_t{1} << (free - frame.sum_vectors)) - 1;
  free_masks_ = frame.has_mask_registers() ? 0x7e : 0;
  if (frame.sum.is_any()) held_[static_cast<size_t>(frame.sum.read)] = held_sum();
}

std::unique_ptr<VectorBody> VectorBody::create(Assembler& assembler, LoopFrame& frame, bool is_tail) {
  if (frame.set == VectorSet::Avx2) return std::make_unique<Avx2Body>(assembler, frame, is_tail);
  return std::make_unique<Avx512Body>(assembler, frame, is_tail);
}

bool VectorBody::emit(std::span<const CodeInstruction> instructions, int first, size_t& done) {
  note_uses(instructions);
  for (done = 0; done < instructions.size(); ++done) {
    const CodeInstruction& instruction = instructions[done];
    at_ = static_cast<int>(done);
    emit_one(instruction);
    if (failed_) return false;
    Held made = held_[static_cast<size_t>(instruction.dst)];
    bool is_read_later = instruction.last_read >= first + static_cast<int>(instructions.size());
    if (is_read_later && !is_sum(instruction.dst)) store(instruction.dst, made);
    if (failed_) return false;
    for (Held held : scratch_) release(held);
    scratch_.clear();
    for (int reg : in_use_) {
      Held& held = held_[static_cast<size_t>(reg)];
      if (last_use_[static_cast<size_t>(reg)] > at_) continue;
      release(held);
      held = {};
    }
  }
  return true;
}

void VectorBody::note_uses(std::span<const CodeInstruction> instructions) {
  for (size_t i = 0; i < instructions.size(); ++i) {
    last_use_[static_cast<size_t>(instructions[i].dst)] = static_cast<int>(i);
    for (int k = 0; k < instructions[i].operand_count; ++k) {
      if ((instructions[i].once >> k & 1) == 0)
        last_use_[static_cast<size_t>(instructions[i].src[k])] = static_cast<int>(i);
    }
  }
}

void VectorBody::emit_one(const CodeInstruction& instruction) {
  in_use_.assign(1, instruction.dst);
  for (int i = 0; i < instruction.operand_count; ++i) {
    if ((instruction.once >> i & 1) == 0) in_use_.push_back(instruction.src[i]);
  }
  EmitterOperands operands = {.params = instruction.params};
  for (int i = 0; i < instruction.operand_count; ++i) operands.src[i] = operand(instruction, i).id;
  if ((instruction.once & 2) != 0) operands.one_b = instruction.src[1];
  operands.dst = hold(instruction.dst, instruction.result == DType::bool_).id;
  if (!failed_) find_emitter(instruction)(*this, operands);
}

VectorBody::Held VectorBody::operand(const CodeInstruction& instruction, int i) {
  int reg = instruction.src[i];
  if ((instruction.once >> i & 1) != 0)
    return {.kind = Held::Vector, .id = constant(CodeConstant{.loop_register = reg}).id};
  Held& held = held_[static_cast<size_t>(reg)];
  if (held.kind == Held::Nowhere) {
    hold(reg, is_bool_operand(instruction, i));
    held.is_loaded = true;
    if (!failed_) load(reg, held);
  }
  return held;
}

VectorBody::Held VectorBody::hold(int loop_register, bool is_mask) {
  Held& held = held_[static_cast<size_t>(loop_register)];
  if (is_sum(loop_register)) return held = held_sum();
  held = {.kind = is_mask ? Held::Mask : Held::Vector, .id = is_mask ? take_mask() : take_vector()};
  return held;
}

bool VectorBody::is_sum(int loop_register) const { return loop_register == frame_.sum.written; }

VectorBody::Held VectorBody::held_sum() const {
  return {.kind = Held::Vector, .id = frame_.sum_register(frame_.sum_vector).id};
}

void VectorBody::load_sum() {
  for (int i = 0; i < frame_.sum_vectors; ++i)
    load_vector(frame_.sum_register(i), {.base = kScratchPointer, .displacement = i * vector_bytes(frame_.set)});
}

void VectorBody::store_sum() {
  for (int i = 0; i < frame_.sum_vectors; ++i)
    store_vector(frame_.sum_register(i), {.base = kScratchPointer, .displacement = i * vector_bytes(frame_.set)});
}

uint8_t VectorBody::take_vector() {
  if (free_vectors_ == 0 && !evict()) {
    failed_ = true;
    return 0;
  }
  int id = std::countr_zero(free_vectors_);
  free_vectors_ &= ~(uint32_t{1} << id);
  return static_cast<uint8_t>(id);
}

uint8_t VectorBody::take_mask() {
  if (!frame_.has_mask_registers()) return take_vector();
  if (free_masks_ == 0) {
    failed_ = true;
    return 1;
  }
  int id = std::countr_zero(free_masks_);
  free_masks_ = static_cast<uint8_t>(free_masks_ & ~(1 << id));
  return static_cast<uint8_t>(id);
}

bool VectorBody::is_vector(Held held) const {
  return held.kind == Held::Vector || (held.kind == Held::Mask && !frame_.has_mask_registers());
}

void VectorBody::release(Held held) {
  if (held.kind == Held::Nowhere) return;
  if (is_vector(held)) {
    free_vectors_ |= uint32_t{1} << held.id;
  } else {
    free_masks_ = static_cast<uint8_t>(free_masks_ | 1 << held.id);
  }
}

// Evicts the value from caller memory whose next use is farthest. A result never overwrites an operand that is still
// needed, so the value can be reloaded.
bool VectorBody::evict() {
  Held* chosen = nullptr;
  int latest = -1;
  for (size_t reg = 0; reg < held_.size(); ++reg) {
    bool is_used_now = std::find(in_use_.begin(), in_use_.end(), static_cast<int>(reg)) != in_use_.end();
    if (!is_vector(held_[reg]) || !held_[reg].is_loaded || is_used_now || last_use_[reg] <= latest) continue;
    latest = last_use_[reg];
    chosen = &held_[reg];
  }
  if (chosen == nullptr) return false;
  release(*chosen);
  *chosen = {};
  return true;
}

MemoryOperand VectorBody::address(int loop_register, int element_size) {
  MemoryOperand memory = {.base = kScratchPointer, .index = kIndex, .scale = element_size};
  size_t place = static_cast<size_t>(loop_register);
  if (place < frame_.places.size() && frame_.places[place].base >= 0) {
    loop_register = frame_.places[place].base;
    memory.displacement = frame_.places[place].bytes;
  }
  auto found = std::find(frame_.pointers.begin(), frame_.pointers.end(), loop_register);
  if (found == frame_.pointers.end() && frame_.pointers.size() < kPointerCount)
    found = frame_.pointers.insert(frame_.pointers.end(), loop_register);
  if (found != frame_.pointers.end()) {
    memory.base = kPointers[found - frame_.pointers.begin()];
  } else {
    assembler_.load(kScratchPointer, {.base = kRegisters, .displacement = 8 * loop_register});
  }
  return memory;
}

void VectorBody::load(int loop_register, Held to) {
  if (to.kind == Held::Vector) return load_vector({to.id}, address(loop_register, frame_.element_size()));
  load_mask({to.id}, address(loop_register, 1));
}

void VectorBody::store(int loop_register, Held from) {
  if (from.kind == Held::Vector) return store_vector({from.id}, address(loop_register, frame_.element_size()));
  store_mask({from.id}, address(loop_register, 1));
}

VectorRegister VectorBody::scratch() {
  scratch_.push_back({.kind = Held::Vector, .id = take_vector()});
  return {scratch_.back().id};
}

MaskRegister VectorBody::scratch_mask() {
  scratch_.push_back({.kind = Held::Mask, .id = take_mask()});
  return {scratch_.back().id};
}

VectorRegister VectorBody::constant(double value) {
  return constant_bits(is_wide() ? std::bit_cast<uint64_t>(value) : std::bit_cast<uint32_t>(static_cast<float>(value)));
}

VectorRegister VectorBody::constant_bits(uint64_t bits) { return constant(CodeConstant{.bits = bits}); }

VectorRegister VectorBody::constant(const CodeConstant& constant) {
  auto& constants = frame_.constants;
  auto found = std::find(constants.begin(), constants.end(), constant);
  if (found == constants.end() && constants.size() < frame_.most_constants())
    found = constants.insert(constants.end(), constant);
  if (found != constants.end()) return frame_.constant_register(static_cast<size_t>(found - constants.begin()));
  VectorRegister made = scratch();
  broadcast(made, constant);
  return made;
}

std::optional<DivisorRegisters> VectorBody::divisor(int loop_register) {
  constexpr int kParts = 4, kAlsoShared = 1, kScratchVectors = 2, kScratchMasks = 2;
  if (frame_.divides || !frame_.wants_divisor) return std::nullopt;
  auto& constants = frame_.constants;
  auto place = [&](int part) {
    return std::find(constants.begin(), constants.end(),
                     CodeConstant{.loop_register = loop_register, .of_divisor = part});
  };
  bool fits = frame_.has_mask_registers()
                  ? std::popcount(free_vectors_) >= kScratchVectors && std::popcount(free_masks_) >= kScratchMasks
                  : std::popcount(free_vectors_) >= kScratchVectors + 1;
  if (!fits || place(0) == constants.end()) return std::nullopt;
  if (place(1) == constants.end()) {
    if (constants.size() + kParts - 1 + kAlsoShared > frame_.most_constants()) return std::nullopt;
    for (int part = 1; part < kParts; ++part) constants.push_back({.loop_register = loop_register, .of_divisor = part});
  }
  auto held = [&](int part) { return frame_.constant_register(static_cast<size_t>(place(part) - constants.begin())); };
  return DivisorRegisters{.divisor = held(0), .reciprocal = held(1), .rest = held(2), .limit = held(3)};
}

void VectorBody::broadcast(VectorRegister to, const CodeConstant& constant) {
  bool w = is_wide() && frame_.has_mask_registers();
  VectorOpcode op = {OpcodeMap::Map0F38, OpcodePrefix::P66, w, static_cast<uint8_t>(is_wide() ? 0x19 : 0x18)};
  if (constant.loop_register < 0) return assembler_.vector(op, to.id, 0, assembler_.literal(constant.bits));
  assembler_.load(kScratchPointer, {.base = kRegisters, .displacement = 8 * constant.loop_register});
  assembler_.vector(op, to.id, 0, MemoryOperand{.base = kScratchPointer});
}

VectorRegister VectorBody::without_idle_lanes(VectorRegister a) {
  if (!is_tail_) return a;
  VectorRegister filled = scratch();
  blend(filled, tail_mask(), a, constant(1.0));
  return filled;
}

void VectorBody::floats(uint8_t code, VectorRegister dst, VectorRegister a, VectorRegister b) {
  assembler_.vector({OpcodeMap::Map0F, float_prefix(), is_wide(), code}, dst.id, a.id, b);
}

void VectorBody::multiply_add(uint8_t code, VectorRegister sum, VectorRegister a, VectorRegister b) {
  assembler_.vector({OpcodeMap::Map0F38, OpcodePrefix::P66, is_wide(), code}, sum.id, a.id, b);
}

void VectorBody::round(VectorRegister dst, VectorRegister a, uint8_t mode) {
  uint8_t code = is_wide() ? 0x09 : 0x08;
  assembler_.vector({OpcodeMap::Map0F3A, OpcodePrefix::P66, is_wide(), code}, dst.id, 0, a);
  assembler_.immediate(mode);
}

void VectorBody::logic(uint8_t code, VectorRegister dst, VectorRegister a, VectorRegister b) {
  integers(OpcodeMap::Map0F, code, dst, a, b);
}

void VectorBody::integers(OpcodeMap map, uint8_t code, VectorRegister dst, VectorRegister a, VectorRegister b) {
  assembler_.vector({map, OpcodePrefix::P66, is_wide(), code}, dst.id, a.id, b);
}

void VectorBody::sum(VectorRegister dst, VectorRegister a, VectorRegister b) {
  integers(OpcodeMap::Map0F, is_wide() ? 0xd4 : 0xfe, dst, a, b);
}

void VectorBody::difference(VectorRegister dst, VectorRegister a, VectorRegister b) {
  integers(OpcodeMap::Map0F, is_wide() ? 0xfb : 0xfa, dst, a, b);
}

void VectorBody::compare_floats(MaskRegister dst, VectorRegister a, VectorRegister b, FloatRelation relation) {
  assembler_.vector({OpcodeMap::Map0F, float_prefix(), is_wide(), 0xc2}, dst.id, a.id, b);
  assembler_.immediate(static_cast<uint8_t>(relation));
}

void VectorBody::move(VectorRegister dst, VectorRegister src) {
  constexpr uint8_t kMoveAligned = 0x28;
  assembler_.vector({OpcodeMap::Map0F, float_prefix(), is_wide(), kMoveAligned}, dst.id, 0, src);
}

}  // namespace md
