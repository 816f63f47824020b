// The level's vectors.

// Vectors of the level's width, with the alignment of their elements.
template <typename T>
struct VectorOf {
  typedef T type __attribute__((vector_size(MD_LEVEL_BYTES), aligned(alignof(T)), may_alias));
};
template <typename T>
using Vector = typename VectorOf<T>::type;
template <typename T>
constexpr int kVector = MD_LEVEL_BYTES / sizeof(T);
