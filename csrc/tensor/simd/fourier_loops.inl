// Fourier transforms, one in each lane.

template <typename T>
inline Pair<T> load_pair(const T* re, const T* im, int64_t point) {
  return {load_vector(re + point * kVector<T>), load_vector(im + point * kVector<T>)};
}
template <typename T>
inline void store_pair(const Pair<T>& pair, T* re, T* im, int64_t point) {
  store_vector<T>(pair.re, re + point * kVector<T>);
  store_vector<T>(pair.im, im + point * kVector<T>);
}

template <typename T, int Radix>
void butterfly_pass(const FourierPass<T>& pass, const T* re, const T* im, T* to_re, T* to_im) {
  int64_t rest = pass.rest, done = pass.done;
  for (int64_t p = 0; p < rest; ++p) {
    const T* turns = pass.turns + p * (Radix - 1) * 2;
    for (int64_t q = 0; q < done; ++q) {
      Pair<T> a[Radix];
#pragma GCC unroll 8
      for (int k = 0; k < Radix; ++k) a[k] = load_pair(re, im, q + done * (p + rest * k));
      Butterfly<Radix>::run(a);
      if (p > 0) {
#pragma GCC unroll 8
        for (int j = 1; j < Radix; ++j) a[j] = product(a[j], turns[2 * j - 2], turns[2 * j - 1]);
      }
#pragma GCC unroll 8
      for (int j = 0; j < Radix; ++j) store_pair(a[j], to_re, to_im, q + done * (Radix * p + j));
    }
  }
}

template <typename T>
void odd_pass(const FourierPass<T>& pass, const T* re, const T* im, T* to_re, T* to_im) {
  int64_t rest = pass.rest, done = pass.done, radix = pass.radix;
  for (int64_t p = 0; p < rest; ++p) {
    const T* turns = pass.turns + p * (radix - 1) * 2;
    for (int64_t q = 0; q < done; ++q) {
      Pair<T> a[kMostFourierRadix], b[kMostFourierRadix];
      for (int64_t k = 0; k < radix; ++k) a[k] = load_pair(re, im, q + done * (p + rest * k));
      odd_butterfly(radix, pass.roots, a, b);
      for (int64_t j = 0; j < radix; ++j) {
        Pair<T> found = p > 0 && j > 0 ? product(b[j], turns[2 * j - 2], turns[2 * j - 1]) : b[j];
        store_pair(found, to_re, to_im, q + done * (radix * p + j));
      }
    }
  }
}

template <typename T>
void pass_run(const FourierPass<T>& pass, const T* re, const T* im, T* to_re, T* to_im) {
  switch (pass.radix) {
    case 2:
      return butterfly_pass<T, 2>(pass, re, im, to_re, to_im);
    case 3:
      return butterfly_pass<T, 3>(pass, re, im, to_re, to_im);
    case 4:
      return butterfly_pass<T, 4>(pass, re, im, to_re, to_im);
    case 5:
      return butterfly_pass<T, 5>(pass, re, im, to_re, to_im);
    case 8:
      return butterfly_pass<T, 8>(pass, re, im, to_re, to_im);
    default:
      return odd_pass(pass, re, im, to_re, to_im);
  }
}

template <typename T>
inline Pair<T> load_apart(const T* src) {
  Vector<T> a = load_vector(src), b = load_vector(src + kVector<T>);
  return {every_second<T, 0>(a, b, kLanesOf<T>), every_second<T, 1>(a, b, kLanesOf<T>)};
}
template <typename T>
inline void store_in_turn(const Pair<T>& pair, T* dst) {
  store_vector<T>(in_turn<T, false>(pair.re, pair.im, kLanesOf<T>), dst);
  store_vector<T>(in_turn<T, true>(pair.re, pair.im, kLanesOf<T>), dst + kVector<T>);
}

// Whether there is a transform for each lane, and their numbers are adjacent, or the points of each are, of complex and
// of real numbers.
template <typename T>
inline bool lanes_are_adjacent(const FourierPlaces& places) {
  bool result = places.count == kVector<T> && places.other == 1;
  for (int64_t i = 1; i < places.count; ++i) result = result && places.starts[i] == places.starts[0] + 2 * i;
  return result;
}
inline bool points_are_adjacent(const FourierPlaces& places) { return places.other == 1 && places.step == 2; }
inline bool reals_are_adjacent(const FourierPlaces& places) { return places.other == 0 && places.step == 1; }

template <typename T>
void load_places(const T* src, const FourierPlaces& places, int64_t first, int64_t points, T* re, T* im) {
  for (int64_t k = first; k < points; ++k) {
    for (int64_t lane = 0; lane < places.count; ++lane) {
      const T* from = src + places.starts[lane] + k * places.step;
      re[k * kVector<T> + lane] = from[0];
      im[k * kVector<T> + lane] = places.other == 0 ? T(0) : from[places.other];
    }
    for (int64_t lane = places.count; lane < kVector<T>; ++lane) {
      re[k * kVector<T> + lane] = 0;
      im[k * kVector<T> + lane] = 0;
    }
  }
}

// As many points as a vector has; lanes beyond the count repeat the last one.
template <bool IsReal, typename T>
inline void load_square(const T* src, const FourierPlaces& places, int64_t first, T* re, T* im) {
  constexpr int kNumber = IsReal ? 1 : 2;
  Vector<T> reals[kVector<T>], others[kVector<T>];
#pragma GCC unroll 16
  for (int lane = 0; lane < kVector<T>; ++lane) {
    int64_t of = lane < places.count ? lane : places.count - 1;
    const T* from = src + places.starts[of] + first * kNumber;
    Pair<T> pair = IsReal ? Pair<T>{load_vector(from), {}} : load_apart(from);
    reals[lane] = pair.re;
    others[lane] = pair.im;
  }
  transpose<T>(reals);
  if constexpr (!IsReal) transpose<T>(others);
#pragma GCC unroll 16
  for (int k = 0; k < kVector<T>; ++k) store_pair<T>({reals[k], others[k]}, re, im, first + k);
}

template <typename T>
void load_run(const T* src, const FourierPlaces& places, int64_t points, T* re, T* im) {
  int64_t done = 0;
  if (lanes_are_adjacent<T>(places)) {
    const T* from = src + places.starts[0];
    for (; done < points; ++done) store_pair(load_apart(from + done * places.step), re, im, done);
  } else if (points_are_adjacent(places)) {
    for (; done + kVector<T> <= points; done += kVector<T>) load_square<false>(src, places, done, re, im);
  } else if (reals_are_adjacent(places)) {
    for (; done + kVector<T> <= points; done += kVector<T>) load_square<true>(src, places, done, re, im);
  }
  load_places(src, places, done, points, re, im);
}

template <typename T>
void store_places(const T* re, const T* im, const FourierPlaces& places, int64_t first, int64_t points, T scale,
                  T* dst) {
  for (int64_t k = first; k < points; ++k) {
    for (int64_t lane = 0; lane < places.count; ++lane) {
      T* to = dst + places.starts[lane] + k * places.step;
      to[0] = re[k * kVector<T> + lane] * scale;
      if (places.other != 0) to[places.other] = im[k * kVector<T> + lane] * scale;
    }
  }
}

template <bool IsReal, typename T>
inline void store_square(const T* re, const T* im, const FourierPlaces& places, int64_t first, T scale, T* dst) {
  constexpr int kNumber = IsReal ? 1 : 2;
  Vector<T> reals[kVector<T>], others[kVector<T>];
#pragma GCC unroll 16
  for (int k = 0; k < kVector<T>; ++k) {
    Pair<T> pair = load_pair(re, im, first + k) * scale;
    reals[k] = pair.re;
    others[k] = pair.im;
  }
  transpose<T>(reals);
  if constexpr (!IsReal) transpose<T>(others);
#pragma GCC unroll 16
  for (int lane = 0; lane < kVector<T>; ++lane) {
    if (lane == places.count) return;
    T* to = dst + places.starts[lane] + first * kNumber;
    if constexpr (IsReal) {
      store_vector<T>(reals[lane], to);
    } else {
      store_in_turn<T>({reals[lane], others[lane]}, to);
    }
  }
}

template <typename T>
void store_run(const T* re, const T* im, const FourierPlaces& places, int64_t points, T scale, T* dst) {
  int64_t done = 0;
  if (lanes_are_adjacent<T>(places)) {
    T* to = dst + places.starts[0];
    for (; done < points; ++done) store_in_turn(load_pair(re, im, done) * scale, to + done * places.step);
  } else if (points_are_adjacent(places)) {
    for (; done + kVector<T> <= points; done += kVector<T>) store_square<false>(re, im, places, done, scale, dst);
  } else if (reals_are_adjacent(places)) {
    for (; done + kVector<T> <= points; done += kVector<T>) store_square<true>(re, im, places, done, scale, dst);
  }
  store_places(re, im, places, done, points, scale, dst);
}

template <typename T>
void turn_points_run(const T* turns, int64_t points, T* re, T* im) {
  for (int64_t k = 0; k < points; ++k)
    store_pair(product(load_pair(re, im, k), turns[2 * k], turns[2 * k + 1]), re, im, k);
}

template <typename T>
void turn_lanes_run(const T* re_factors, const T* im_factors, int64_t step, int64_t points, T* re, T* im) {
  for (int64_t k = 0; k < points; ++k) {
    Pair<T> a = load_pair<T>(re, im, k);
    Vector<T> b = load_vector(re_factors + k * step), c = load_vector(im_factors + k * step);
    store_pair<T>({a.re * b - a.im * c, a.re * c + a.im * b}, re, im, k);
  }
}

// The even and odd numbers have the transforms (a + conj(b)) / 2 and (a - conj(b)) / 2i, b the mirror image of a.
template <typename T>
void apart_run(const T* turns, int64_t half, const T* re, const T* im, T* to_re, T* to_im) {
  for (int64_t k = 0; k <= half; ++k) {
    Pair<T> a = load_pair(re, im, k == half ? 0 : k), b = load_pair(re, im, k == 0 ? 0 : half - k);
    b.im = -b.im;
    Pair<T> even = (a + b) * T(0.5), odd = turned_back((a - b) * T(0.5));
    store_pair(even + product(odd, turns[2 * k], turns[2 * k + 1]), to_re, to_im, k);
  }
}

// What is imaginary of the first and the middle frequency does not count.
template <typename T>
void together_run(const T* turns, int64_t half, const T* re, const T* im, T* to_re, T* to_im) {
  for (int64_t k = 0; k < half; ++k) {
    Pair<T> a = load_pair(re, im, k), b = load_pair(re, im, half - k);
    b.im = -b.im;
    if (k == 0) a.im = b.im = Vector<T>{};
    Pair<T> even = a + b, odd = product(a - b, turns[2 * k], -turns[2 * k + 1]);
    store_pair<T>({even.re - odd.im, even.im + odd.re}, to_re, to_im, k);
  }
}

template <typename T>
constexpr FourierLoops<T> fourier_loops() {
  return {kVector<T>,         load_run<T>,       store_run<T>, pass_run<T>,
          turn_points_run<T>, turn_lanes_run<T>, apart_run<T>, together_run<T>};
}
