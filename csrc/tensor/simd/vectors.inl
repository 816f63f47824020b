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

// The places of a vector's elements, for __builtin_shuffle.
template <typename T>
using VectorIndex __attribute__((vector_size(MD_LEVEL_BYTES))) = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;

template <typename T>
inline Vector<T> load_vector(const T* src) {
  return *reinterpret_cast<const Vector<T>*>(src);
}

template <typename T>
inline void store_vector(Vector<T> vector, T* dst) {
  *reinterpret_cast<Vector<T>*>(dst) = vector;
}
