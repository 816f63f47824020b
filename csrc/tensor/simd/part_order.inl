// A level's sorts, selections and searches.
namespace md::MD_LEVEL {
namespace {

#include "tensor/simd/half_vectors.inl"
#include "tensor/simd/vectors.inl"

#include "tensor/simd/vector_sort.inl"

#include "tensor/simd/order_loops.inl"

constexpr OrderLoops make_order() {
  OrderLoops order{};
  int dtype = 0;
#define MD_DTYPE(name, ctype, ...)         \
  order.keys[dtype] = keys_run<ctype>;     \
  order.places[dtype] = places_run<ctype>; \
  ++dtype;
#define MD_COMPLEX_DTYPE(...)  // the last rows, which have no order
#include "tensor/dtypes.def"
#undef MD_DTYPE
  order.narrow = key_loops<int32_t>();
  order.wide = key_loops<int64_t>();
  order.sort_places = sort_places_run;
  return order;
}

}  // namespace

const constinit OrderLoops order = make_order();

}  // namespace md::MD_LEVEL
