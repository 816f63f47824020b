// A level's conversions.
namespace md::MD_LEVEL {
namespace {

#include "tensor/simd/half_vectors.inl"

#include "tensor/simd/convert_loops.inl"

template <typename From>
constexpr void fill_convert_from(ConvertRow& row) {
#define MD_DTYPE(name, ctype, ...) row[static_cast<int>(DType::name)] = convert_loop<From, ctype>;
#include "tensor/dtypes.def"
#undef MD_DTYPE
}

constexpr ConvertTable make_conversions() {
  ConvertTable table{};
#define MD_DTYPE(name, ctype, ...) fill_convert_from<ctype>(table.loops[static_cast<int>(DType::name)]);
#include "tensor/dtypes.def"
#undef MD_DTYPE
  return table;
}

}  // namespace

const constinit ConvertTable conversions = make_conversions();

}  // namespace md::MD_LEVEL
