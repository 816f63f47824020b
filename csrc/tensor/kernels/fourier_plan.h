// What Fourier transforms of a size need: computed once, and kept.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "tensor/simd/fourier_table.h"
#include "tensor/simd/loops.h"

namespace md {

template <typename T>
const FourierLoops<T>& fourier_loops_of() {
  return loops().fourier->of<T>();
}

template <typename T>
struct FourierTile {
  T* re;
  T* im;
};

// The transforms of the lanes of a tile.
template <typename T>
class FourierColumns {
 public:
  explicit FourierColumns(int64_t n);
  static std::shared_ptr<const FourierColumns> of(int64_t n);

  // The points that a tile must hold: of sizes with a large prime factor those of a convolution (Bluestein).
  int64_t room() const { return convolution_ == nullptr ? n_ : convolution_->room(); }
  bool is_convolution() const { return convolution_ != nullptr; }
  // Ends in `tile`, which may exchange its memory with `other`. The inverse is that of tiles with re and im exchanged.
  void run(FourierTile<T>& tile, FourierTile<T>& other) const;
  int64_t bytes() const { return static_cast<int64_t>(numbers_.size() * sizeof(T)); }

 private:
  void add_passes(const std::vector<int64_t>& factors);
  void add_convolution();

  int64_t n_;
  std::vector<T> numbers_;
  std::vector<FourierPass<T>> passes_;
  std::shared_ptr<const FourierColumns> convolution_;
  size_t spectrum_ = 0;  // in numbers_, behind the chirp
};

// A size as a product: across * down, numbers (down, across) in memory.
template <typename T>
class FourierSplit {
 public:
  explicit FourierSplit(int64_t n);
  static std::shared_ptr<const FourierSplit> of(int64_t n);

  // Whether both factors fill vectors, and have no large prime factors.
  static bool suits(int64_t n);
  int64_t down() const { return down_; }
  int64_t across() const { return across_; }
  // (down, across) powers of the first root of 1.
  const T* re() const { return numbers_.data(); }
  const T* im() const { return numbers_.data() + down_ * across_; }
  int64_t bytes() const { return static_cast<int64_t>(numbers_.size() * sizeof(T)); }

 private:
  int64_t down_, across_;
  std::vector<T> numbers_;
};

// Complex numbers: the powers of the first root of 1 of this degree, from 0 to the half.
template <typename T>
class FourierRoots {
 public:
  explicit FourierRoots(int64_t n);
  static std::shared_ptr<const FourierRoots> of(int64_t n);
  const T* data() const { return numbers_.data(); }
  int64_t bytes() const { return static_cast<int64_t>(numbers_.size() * sizeof(T)); }

 private:
  std::vector<T> numbers_;
};

// exp(-pi i k^2 / n), and the transform of its conjugate over a size of at least 2 n - 1, divided by that.
template <typename T>
class FourierChirp {
 public:
  explicit FourierChirp(int64_t n);
  static std::shared_ptr<const FourierChirp> of(int64_t n);
  int64_t size() const { return size_; }
  const T* chirp() const { return chirp_.data(); }
  const T* spectrum() const { return spectrum_.data(); }
  int64_t bytes() const { return static_cast<int64_t>((chirp_.size() + spectrum_.size()) * sizeof(T)); }

 private:
  int64_t size_;
  std::vector<T> chirp_, spectrum_;
};

}  // namespace md
