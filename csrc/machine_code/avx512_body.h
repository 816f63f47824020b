// Instruction selection for AVX-512, with separate mask registers.
#pragma once
#include "machine_code/vector_body.h"

namespace md {

class Avx512Body final : public VectorBody {
 public:
  Avx512Body(Assembler& assembler, LoopFrame& frame, bool is_tail) : VectorBody(assembler, frame, is_tail) {}
  void make_tail_mask(WordRegister count) override;
  void choose_bits(VectorRegister mask_and_dst, VectorRegister where_set, VectorRegister where_clear) override;
  void product(VectorRegister dst, VectorRegister a, VectorRegister b) override;
  void absolute(VectorRegister dst, VectorRegister a) override;
  void extreme(Extreme which, VectorRegister dst, VectorRegister a, VectorRegister b) override;
  void compare_integers(MaskRegister dst, VectorRegister a, VectorRegister b, IntegerRelation relation) override;
  void integers_to_floats(VectorRegister dst, VectorRegister src) override;
  void combine(MaskLogic logic, MaskRegister dst, MaskRegister a, MaskRegister b) override;
  void invert(MaskRegister dst, MaskRegister src) override;
  void sign_mask(MaskRegister dst, VectorRegister a) override;
  void blend(VectorRegister dst, MaskRegister mask, VectorRegister where_set, VectorRegister where_clear) override;
  void keep(VectorRegister dst, MaskRegister mask, VectorRegister src) override;
  void overwrite(VectorRegister dst, MaskRegister mask, VectorRegister src) override;

 private:
  void load_vector(VectorRegister to, const MemoryOperand& memory) override;
  void store_vector(VectorRegister from, const MemoryOperand& memory) override;
  void load_mask(MaskRegister to, const MemoryOperand& memory) override;
  void store_mask(MaskRegister from, const MemoryOperand& memory) override;
  void move_under(VectorRegister dst, VectorRegister src, Predicate predicate);
  Predicate masked() const { return is_tail() ? Predicate{tail_mask(), false} : Predicate{}; }
};

}  // namespace md
