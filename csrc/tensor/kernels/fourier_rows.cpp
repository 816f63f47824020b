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

// The memory of one thread.
template <typename T>
struct RowRoom {
  FourierTiles<T> tiles;
  std::vector<int64_t> starts;
  explicit RowRoom(int64_t points) : tiles(points), starts(static_cast<size_t>(fourier_loops_of<T>().lanes)) {}
};

// The columns of (down, across) numbers, turned; then those of the transposed result. The last tile overlaps the one
// before: all lanes are in use.
template <typename T>
class SplitRow {
 public:
  explicit SplitRow(int64_t n)
      : split_(FourierSplit<T>::of(n)),
        first_(FourierColumns<T>::of(split_->down())),
        second_(FourierColumns<T>::of(split_->across())) {}

  int64_t down() const { return split_->down(); }
  int64_t across() const { return split_->across(); }
  int64_t room() const { return std::max(first_->room(), second_->room()); }
  int64_t column_tiles() const { return (across() + loops_.lanes - 1) / loops_.lanes; }
  int64_t row_tiles() const { return (down() + loops_.lanes - 1) / loops_.lanes; }

  void take_columns(FourierRow<const T> from, bool inverse, int64_t tile, RowRoom<T>& room, T* middle) const {
    int64_t lanes = loops_.lanes, column = std::min(tile * lanes, across() - lanes);
    FourierTiles<T>& tiles = room.tiles;
    put_starts(room, column, from.step);
    FourierTile<T> in = exchanged(tiles.first, inverse);
    loops_.load(from.data, {room.starts.data(), lanes, across() * from.step, from.other}, down(), in.re, in.im);
    first_->run(tiles.first, tiles.second);
    loops_.turn_lanes(split_->re() + column, split_->im() + column, across(), down(), tiles.first.re, tiles.first.im);
    put_starts(room, column, 2);
    loops_.store(tiles.first.re, tiles.first.im, {room.starts.data(), lanes, across() * 2, 1}, down(), T(1), middle);
  }

  void take_rows(const T* middle, bool inverse, T scale, int64_t tile, RowRoom<T>& room, FourierRow<T> to) const {
    int64_t lanes = loops_.lanes, row = std::min(tile * lanes, down() - lanes);
    FourierTiles<T>& tiles = room.tiles;
    put_starts(room, row, across() * 2);
    loops_.load(middle, {room.starts.data(), lanes, 2, 1}, across(), tiles.first.re, tiles.first.im);
    second_->run(tiles.first, tiles.second);
    put_starts(room, row, to.step);
    FourierTile<T> out = exchanged(tiles.first, inverse);
    loops_.store(out.re, out.im, {room.starts.data(), lanes, down() * to.step, to.other}, across(), scale, to.data);
  }

 private:
  static void put_starts(RowRoom<T>& room, int64_t first, int64_t step) {
    for (size_t lane = 0; lane < room.starts.size(); ++lane)
      room.starts[lane] = (first + static_cast<int64_t>(lane)) * step;
  }

  const FourierLoops<T>& loops_ = fourier_loops_of<T>();
  std::shared_ptr<const FourierSplit<T>> split_;
  std::shared_ptr<const FourierColumns<T>> first_, second_;
};

template <typename T>
void transform_split(FourierRow<const T> from, FourierRow<T> to, int64_t n, T scale, bool inverse) {
  SplitRow<T> row(n);
  StoragePtr between = Storage::allocate(static_cast<size_t>(2 * n) * sizeof(T));
  T* middle = static_cast<T*>(between->data());
  double ns = kNsPerPoint * static_cast<double>(fourier_loops_of<T>().lanes);
  parallel_for(row.column_tiles(), ns * static_cast<double>(row.down()), [&](int64_t begin, int64_t end) {
    RowRoom<T> room(row.room());
    for (int64_t i = begin; i < end; ++i) row.take_columns(from, inverse, i, room, middle);
  });
  parallel_for(row.row_tiles(), ns * static_cast<double>(row.across()), [&](int64_t begin, int64_t end) {
    RowRoom<T> room(row.room());
    for (int64_t i = begin; i < end; ++i) row.take_rows(middle, inverse, scale, i, room, to);
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

template <typename T>
struct FourierRows<T>::Split {
  explicit Split(int64_t n)
      : row(n), room(row.room()), between(Storage::allocate(static_cast<size_t>(2 * n) * sizeof(T))) {}
  SplitRow<T> row;
  RowRoom<T> room;
  StoragePtr between;
};

template <typename T>
FourierRows<T>::FourierRows(int64_t n) : n_(n) {
  if (n >= kShortFourierRow && FourierSplit<T>::suits(n)) split_ = std::make_unique<Split>(n);
}
template <typename T>
FourierRows<T>::~FourierRows() = default;

template <typename T>
void FourierRows<T>::run(FourierRow<const T> from, FourierRow<T> to, T scale, bool inverse) {
  if (split_ == nullptr) return transform_row(from, to, n_, scale, inverse);
  T* middle = static_cast<T*>(split_->between->data());
  for (int64_t i = 0; i < split_->row.column_tiles(); ++i)
    split_->row.take_columns(from, inverse, i, split_->room, middle);
  for (int64_t i = 0; i < split_->row.row_tiles(); ++i)
    split_->row.take_rows(middle, inverse, scale, i, split_->room, to);
}

template class FourierRows<float>;
template class FourierRows<double>;
template void transform_row<float>(FourierRow<const float>, FourierRow<float>, int64_t, float, bool);
template void transform_row<double>(FourierRow<const double>, FourierRow<double>, int64_t, double, bool);

}  // namespace md
