#include "tensor/gemm/precision.h"

#include "base/error.h"
#include "tensor/gemm/onednn_info.h"

namespace md {
namespace {

struct PrecisionRow {
  const char* name;
  DType dtype;
  bool (*is_fast)();
};
constexpr PrecisionRow kRows[kPrecisionCount] = {{"float32", DType::float32, [] { return true; }},
                                                 {"bfloat16", DType::bfloat16, onednn_multiplies_bfloat16},
                                                 {"int8", DType::int8, onednn_multiplies_bytes}};

const PrecisionRow& row_of(Precision precision) { return kRows[static_cast<int>(precision)]; }

std::string unless_float32(const char* preposition, Precision precision) {
  return precision == Precision::Float32 ? std::string() : str_cat(" ", preposition, " ", name_of(precision));
}

}  // namespace

const char* name_of(Precision precision) { return row_of(precision).name; }
std::string of_precision(Precision precision) { return unless_float32("of", precision); }
std::string in_precision(Precision precision) { return unless_float32("in", precision); }
DType multiplied(DType dtype, Precision precision) {
  return precision == Precision::Float32 ? dtype : row_of(precision).dtype;
}
bool is_fast(Precision precision) { return row_of(precision).is_fast(); }

}  // namespace md
