// A level's conversions.
namespace md::MD_LEVEL {
namespace {

#include "tensor/simd/half_vectors.inl"

#include "tensor/simd/complex_conversions.inl"
#include "tensor/simd/convert_loops.inl"

// Integers that do not become longer lose their sign with their upper bits; floats become narrow integers through
// int32_t.
template <typename From, typename To>
constexpr ConvertLoop conversion() {
  if constexpr (is_complex_type<From> || is_complex_type<To>) {
    return complex_convert_loop<From, To>;
  } else {
    constexpr bool is_cut = std::is_integral_v<From> && std::is_integral_v<To> && sizeof(To) <= sizeof(From);
    constexpr bool takes_low_bits = std::is_integral_v<From> || sizeof(To) < sizeof(int32_t);
    return convert_loop<std::conditional_t<is_cut, Wrapping<From>, From>,
                        std::conditional_t<takes_low_bits, Wrapping<To>, To>>;
  }
}

template <typename From>
constexpr void fill_convert_from(ConvertRow& row) {
#define MD_DTYPE(name, ctype, ...) row[static_cast<int>(DType::name)] = conversion<From, ctype>();
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
