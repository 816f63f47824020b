#include "tensor/kernels/fourier_rows.h"

#include <algorithm>
#include <utility>

#include "tensor/kernels/fourier_plan.h"
#include "tensor/kernels/fourier_tiles.h"
#include "tensor/parallel/threads.h"

namespace md {
namespace {

constexpr double kNsPerPoint = 1;  // of a lane's transform, in each of a row's steps

// Loads and stores of the inverse exchange the real and imaginary parts.
template <typename T>
FourierTile<T> exchanged(const FourierTile<T>& tile, bool inverse) {
  return inverse ? FourierTile<T>{tile.im, tile.re} : tile;
}

// The columns of (down, across) numbers, turned; then those of the transposed result.
template <typename T>
void transform_split(FourierRow<const T> from, FourierRow<T> to, int64_t n, T scale, bool inverse) {
  const FourierLoops<T>& loops = fourier_loops_of<T>();
  auto split = FourierSplit<T>::of(n);
  int64_t down = split->down(), across = split->across(), lanes = loops.lanes;
  auto first = FourierColumns<T>::of(down), second = FourierColumns<T>::of(across);
  StoragePtr between = Storage::allocate(static_cast<size_t>(2 * n) * sizeof(T));
  T* middle = static_cast<T*>(between->data());
  auto tiles_of = [=](int64_t columns) { return (columns + lanes - 1) / lanes; };
  double ns = kNsPerPoint * static_cast<double>(lanes);
  parallel_for(tiles_of(across), ns * static_cast<double>(down), [&](int64_t begin, int64_t end) {
    FourierTiles<T> tiles(first->room());
    std::vector<int64_t> starts(static_cast<size_t>(lanes));
    for (int64_t i = begin; i < end; ++i) {
      // The last tile overlaps the one before: all lanes are in use.
      int64_t column = std::min(i * lanes, across - lanes);
      for (int64_t lane = 0; lane < lanes; ++lane) starts[static_cast<size_t>(lane)] = (column + lane) * from.step;
      FourierTile<T> in = exchanged(tiles.first, inverse);
      loops.load(from.data, {starts.data(), lanes, across * from.step, from.other}, down, in.re, in.im);
      first->run(tiles.first, tiles.second);
      loops.turn_lanes(split->re() + column, split->im() + column, across, down, tiles.first.re, tiles.first.im);
      for (int64_t lane = 0; lane < lanes; ++lane) starts[static_cast<size_t>(lane)] = (column + lane) * 2;
      loops.store(tiles.first.re, tiles.first.im, {starts.data(), lanes, across * 2, 1}, down, T(1), middle);
    }
  });
  parallel_for(tiles_of(down), ns * static_cast<double>(across), [&](int64_t begin, int64_t end) {
    FourierTiles<T> tiles(second->room());
    std::vector<int64_t> starts(static_cast<size_t>(lanes));
    for (int64_t i = begin; i < end; ++i) {
      int64_t row = std::min(i * lanes, down - lanes);
      for (int64_t lane = 0; lane < lanes; ++lane) starts[static_cast<size_t>(lane)] = (row + lane) * across * 2;
      loops.load(middle, {starts.data(), lanes, 2, 1}, across, tiles.first.re, tiles.first.im);
      second->run(tiles.first, tiles.second);
      for (int64_t lane = 0; lane < lanes; ++lane) starts[static_cast<size_t>(lane)] = (row + lane) * to.step;
      FourierTile<T> out = exchanged(tiles.first, inverse);
      loops.store(out.re, out.im, {starts.data(), lanes, down * to.step, to.other}, across, scale, to.data);
    }
  });
}

template <typename T>
void transform_lane(FourierRow<const T> from, FourierRow<T> to, int64_t n, T scale, bool inverse) {
  const FourierLoops<T>& loops = fourier_loops_of<T>();
  auto columns = FourierColumns<T>::of(n);
  FourierTiles<T> tiles(columns->room());
  int64_t start = 0;
  FourierTile<T> in = exchanged(tiles.first, inverse);
  loops.load(from.data, {&start, 1, from.step, from.other}, n, in.re, in.im);
  columns->run(tiles.first, tiles.second);
  FourierTile<T> out = exchanged(tiles.first, inverse);
  loops.store(out.re, out.im, {&start, 1, to.step, to.other}, n, scale, to.data);
}

// As a convolution with a chirp.
template <typename T>
void transform_by_chirp(FourierRow<const T> from, FourierRow<T> to, int64_t n, T scale, bool inverse) {
  auto chirp = FourierChirp<T>::of(n);
  int64_t size = chirp->size();
  StoragePtr memory = Storage::allocate(static_cast<size_t>(2 * size) * sizeof(T));
  T* row = static_cast<T*>(memory->data());
  T sign = inverse ? T(-1) : T(1);  // the inverse is the conjugate of the conjugate's transform
  const T* turns = chirp->chirp();
  for (int64_t k = 0; k < n; ++k) {
    T re = from.data[k * from.step], im = from.other == 0 ? T(0) : sign * from.data[k * from.step + from.other];
    row[2 * k] = re * turns[2 * k] - im * turns[2 * k + 1];
    row[2 * k + 1] = re * turns[2 * k + 1] + im * turns[2 * k];
  }
  std::fill(row + 2 * n, row + 2 * size, T(0));
  FourierRow<T> whole = {row, 2, 1};
  transform_row<T>({row, 2, 1}, whole, size, T(1), false);
  const T* spectrum = chirp->spectrum();
  for (int64_t k = 0; k < size; ++k) {
    T re = row[2 * k], im = row[2 * k + 1];
    row[2 * k] = re * spectrum[2 * k] - im * spectrum[2 * k + 1];
    row[2 * k + 1] = re * spectrum[2 * k + 1] + im * spectrum[2 * k];
  }
  transform_row<T>({row, 2, 1}, whole, size, T(1), true);
  for (int64_t k = 0; k < n; ++k) {
    T re = row[2 * k], im = row[2 * k + 1];
    to.data[k * to.step] = scale * (re * turns[2 * k] - im * turns[2 * k + 1]);
    if (to.other != 0) to.data[k * to.step + to.other] = sign * scale * (re * turns[2 * k + 1] + im * turns[2 * k]);
  }
}

}  // namespace

template <typename T>
void transform_row(FourierRow<const T> from, FourierRow<T> to, int64_t n, T scale, bool inverse) {
  if (n >= kShortFourierRow && FourierSplit<T>::suits(n)) return transform_split(from, to, n, scale, inverse);
  bool is_long = n > kMostFourierColumn;
  if (is_long || (n >= kShortFourierRow && FourierColumns<T>::of(n)->is_convolution()))
    return transform_by_chirp(from, to, n, scale, inverse);
  transform_lane(from, to, n, scale, inverse);
}

template void transform_row<float>(FourierRow<const float>, FourierRow<float>, int64_t, float, bool);
template void transform_row<double>(FourierRow<const double>, FourierRow<double>, int64_t, double, bool);

}  // namespace md
