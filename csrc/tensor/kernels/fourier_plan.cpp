#include "tensor/kernels/fourier_plan.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numbers>
#include <unordered_map>

#include "tensor/kernels/fourier_rows.h"

namespace md {
namespace {

constexpr int64_t kMostKeptBytes = 64 << 20;  // of each kind

// Computed outside of the lock: one value may need another one.
template <typename Value>
std::shared_ptr<const Value> kept(int64_t n) {
  struct Kept {
    std::mutex mutex;
    std::unordered_map<int64_t, std::shared_ptr<const Value>> values;
    int64_t bytes = 0;
  };
  static Kept& all = *new Kept;
  {
    std::lock_guard lock(all.mutex);
    if (auto found = all.values.find(n); found != all.values.end()) return found->second;
  }
  auto made = std::make_shared<const Value>(n);
  std::lock_guard lock(all.mutex);
  if (all.bytes + made->bytes() > kMostKeptBytes) {
    all.values.clear();
    all.bytes = 0;
  }
  if (all.values.emplace(n, made).second) all.bytes += made->bytes();
  return made;
}

struct Root {
  long double re, im;
};

// exp(-2 pi i k / n).
Root root_of(int64_t k, int64_t n) {
  long double angle =
      -2 * std::numbers::pi_v<long double> * static_cast<long double>(k % n) / static_cast<long double>(n);
  return {std::cos(angle), std::sin(angle)};
}

template <typename T>
void append(std::vector<T>& numbers, const Root& root) {
  numbers.push_back(static_cast<T>(root.re));
  numbers.push_back(static_cast<T>(root.im));
}

// Empty if there is a prime factor without a pass.
std::vector<int64_t> factors_of(int64_t n) {
  std::vector<int64_t> factors;
  int twos = 0;
  for (; n % 2 == 0; n /= 2) ++twos;
  // As many as possible by 8, none by 2 but a single one.
  int fours = twos % 3 == 2 ? 1 : twos % 3 == 1 && twos > 1 ? 2 : 0;
  for (int i = 0; i < (twos - 2 * fours) / 3; ++i) factors.push_back(8);
  for (int i = 0; i < fours; ++i) factors.push_back(4);
  if (twos == 1) factors.push_back(2);
  for (int64_t factor = 3; factor <= kMostFourierRadix; factor += 2)
    for (; n % factor == 0; n /= factor) factors.push_back(factor);
  if (n > 1) factors.clear();
  return factors;
}

bool is_smooth(int64_t n) { return n == 1 || !factors_of(n).empty(); }

// The largest factor that is not above the root.
int64_t middle_factor(int64_t n) {
  int64_t middle = 1;
  for (int64_t factor = 2; factor * factor <= n; ++factor)
    if (n % factor == 0) middle = factor;
  return middle;
}

// A size of at least n that divides well: 2^k, 3 * 2^k or 5 * 2^k.
int64_t smooth_from(int64_t n) {
  int64_t best = INT64_MAX;
  for (int64_t factor : {1, 3, 5}) {
    int64_t size = factor * 4;
    while (size < n) size *= 2;
    best = std::min(best, size);
  }
  return best;
}

// k^2 modulo 2 n: the chirp's angles repeat themselves.
int64_t square_modulo(int64_t k, int64_t n) {
  return static_cast<int64_t>(static_cast<__int128>(k) * k % (static_cast<__int128>(2) * n));
}

}  // namespace

template <typename T>
FourierColumns<T>::FourierColumns(int64_t n) : n_(n) {
  std::vector<int64_t> factors = factors_of(n);
  if (n > 1 && factors.empty())
    add_convolution();
  else
    add_passes(factors);
}

template <typename T>
std::shared_ptr<const FourierColumns<T>> FourierColumns<T>::of(int64_t n) {
  return kept<FourierColumns>(n);
}

template <typename T>
void FourierColumns<T>::add_passes(const std::vector<int64_t>& factors) {
  std::vector<size_t> turns, roots;
  int64_t done = 1;
  for (int64_t radix : factors) {
    int64_t rest = n_ / done / radix;
    passes_.push_back({radix, rest, done, nullptr, nullptr});
    turns.push_back(numbers_.size());
    for (int64_t p = 0; p < rest; ++p)
      for (int64_t j = 1; j < radix; ++j) append(numbers_, root_of(done * j * p, n_));
    roots.push_back(numbers_.size());
    for (int64_t k = 0; k < radix; ++k) append(numbers_, root_of(k, radix));
    done *= radix;
  }
  for (size_t i = 0; i < passes_.size(); ++i) {
    passes_[i].turns = numbers_.data() + turns[i];
    passes_[i].roots = numbers_.data() + roots[i];
  }
}

template <typename T>
void FourierColumns<T>::add_convolution() {
  auto chirp = FourierChirp<T>::of(n_);
  convolution_ = of(chirp->size());
  numbers_.assign(chirp->chirp(), chirp->chirp() + 2 * n_);
  spectrum_ = numbers_.size();
  numbers_.insert(numbers_.end(), chirp->spectrum(), chirp->spectrum() + 2 * chirp->size());
}

template <typename T>
void FourierColumns<T>::run(FourierTile<T>& tile, FourierTile<T>& other) const {
  const FourierLoops<T>& loops = fourier_loops_of<T>();
  if (convolution_ == nullptr) {
    for (const FourierPass<T>& pass : passes_) {
      loops.pass(pass, tile.re, tile.im, other.re, other.im);
      std::swap(tile, other);
    }
    return;
  }
  int64_t size = convolution_->n_;
  loops.turn_points(numbers_.data(), n_, tile.re, tile.im);
  std::fill(tile.re + n_ * loops.lanes, tile.re + size * loops.lanes, T(0));
  std::fill(tile.im + n_ * loops.lanes, tile.im + size * loops.lanes, T(0));
  convolution_->run(tile, other);
  loops.turn_points(numbers_.data() + spectrum_, size, tile.re, tile.im);
  for (FourierTile<T>* each : {&tile, &other}) std::swap(each->re, each->im);
  convolution_->run(tile, other);
  for (FourierTile<T>* each : {&tile, &other}) std::swap(each->re, each->im);
  loops.turn_points(numbers_.data(), n_, tile.re, tile.im);
}

template <typename T>
FourierSplit<T>::FourierSplit(int64_t n) : down_(middle_factor(n)), across_(n / down_) {
  // Root k is the product of two: of the multiple of `coarse` below it, and of the rest.
  int64_t coarse = static_cast<int64_t>(std::sqrt(static_cast<double>(n))) + 1;
  std::vector<Root> steps, rests;
  for (int64_t k = 0; k * coarse < n; ++k) steps.push_back(root_of(k * coarse, n));
  for (int64_t k = 0; k < coarse; ++k) rests.push_back(root_of(k, n));
  numbers_.resize(static_cast<size_t>(2 * n));
  for (int64_t row = 0, at = 0; row < down_; ++row) {
    for (int64_t column = 0; column < across_; ++column, ++at) {
      int64_t k = row * column % n;
      const Root& a = steps[static_cast<size_t>(k / coarse)];
      const Root& b = rests[static_cast<size_t>(k % coarse)];
      numbers_[static_cast<size_t>(at)] = static_cast<T>(a.re * b.re - a.im * b.im);
      numbers_[static_cast<size_t>(n + at)] = static_cast<T>(a.re * b.im + a.im * b.re);
    }
  }
}

template <typename T>
std::shared_ptr<const FourierSplit<T>> FourierSplit<T>::of(int64_t n) {
  return kept<FourierSplit>(n);
}

template <typename T>
bool FourierSplit<T>::suits(int64_t n) {
  return is_smooth(n) && middle_factor(n) >= fourier_loops_of<T>().lanes;
}

template <typename T>
FourierRoots<T>::FourierRoots(int64_t n) {
  for (int64_t k = 0; k <= n / 2; ++k) append(numbers_, root_of(k, n));
}

template <typename T>
std::shared_ptr<const FourierRoots<T>> FourierRoots<T>::of(int64_t n) {
  return kept<FourierRoots>(n);
}

template <typename T>
FourierChirp<T>::FourierChirp(int64_t n) : size_(smooth_from(2 * n - 1)) {
  for (int64_t k = 0; k < n; ++k) append(chirp_, root_of(square_modulo(k, n), 2 * n));
  spectrum_.resize(static_cast<size_t>(2 * size_));
  for (int64_t k = 0; k < n; ++k) {
    for (int64_t place : {k, (size_ - k) % size_}) {
      spectrum_[static_cast<size_t>(2 * place)] = chirp_[static_cast<size_t>(2 * k)];
      spectrum_[static_cast<size_t>(2 * place + 1)] = -chirp_[static_cast<size_t>(2 * k + 1)];
    }
  }
  FourierRow<T> row = {spectrum_.data(), 2, 1};
  transform_row<T>({spectrum_.data(), 2, 1}, row, size_, T(1) / static_cast<T>(size_), false);
}

template <typename T>
std::shared_ptr<const FourierChirp<T>> FourierChirp<T>::of(int64_t n) {
  return kept<FourierChirp>(n);
}

template class FourierColumns<float>;
template class FourierColumns<double>;
template class FourierSplit<float>;
template class FourierSplit<double>;
template class FourierRoots<float>;
template class FourierRoots<double>;
template class FourierChirp<float>;
template class FourierChirp<double>;

}  // namespace md
