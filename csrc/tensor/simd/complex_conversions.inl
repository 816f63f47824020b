// Conversions from and to complex numbers.

template <typename To, typename From>
inline To convert_one(From value);

template <typename To, typename From>
inline To convert_complex(From value) {
  if constexpr (is_complex_type<From> && is_complex_type<To>) {
    return {decltype(To::re)(value.re), decltype(To::re)(value.im)};
  } else if constexpr (is_complex_type<To>) {
    return {convert_one<decltype(To::re)>(value), 0};
  } else if constexpr (std::is_same_v<To, bool>) {
    return (value.re != 0) | (value.im != 0);
  } else {
    return convert_one<To>(value.re);
  }
}

template <typename From, typename To>
void complex_convert_loop(const void* src, void* dst, int64_t n) {
  const From* from = static_cast<const From*>(src);
  To* to = static_cast<To*>(dst);
  if constexpr (std::is_same_v<From, To>) {
    __builtin_memmove(dst, src, size_t(n) * sizeof(To));
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) to[i] = convert_complex<To>(from[i]);
  }
}
