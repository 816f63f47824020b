// Instruction selection for AVX2: a mask is a vector whose elements are all ones or all zeros.
#pragma once
#include "machine_code/vector_body.h"

namespace md {

class Avx2Body final : public VectorBody {
 public:
  Avx2Body(Assembler& assembler, LoopFrame& frame, bool is_tail) : VectorBody(assembler, frame, is_tail) {}
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
  VectorRegister ones();   // all bits set
  VectorRegister zeros();  // these two are scratch registers
  void greater(VectorRegister dst, VectorRegister a, VectorRegister b);
  void load_bytes(VectorRegister to, MemoryOperand memory);
  void store_bytes(VectorRegister from, MemoryOperand memory);
  void long_product(VectorRegister dst, VectorRegister a, VectorRegister b);
};

}  // namespace md
