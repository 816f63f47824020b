// The means of sliding windows over contiguous planes: rows are padded with zeros, which leave sums as they are, so
// that all windows of a row are summed side by side, each read row by row.
#pragma once
#include <algorithm>
#include <vector>

#include "base/rounding.h"
#include "tensor/kernels/window_bands.h"
#include "tensor/simd/loops.h"

namespace md {

template <typename T>
class WindowMeans {
 public:
  explicit WindowMeans(const WindowGeometry& geometry)
      : geometry_(geometry), pitch_(pitch_of(geometry.dims[2])), bands_(geometry, pitch_) {}

  // along(dim, o): what the window o of a dim counts for; the divisor is the product over the dims. A window that
  // counts for nothing has no elements.
  template <typename Along>
  void run(const T* src, int64_t planes, T* dst, const Along& along) const {
    double ns = 0.05 * static_cast<double>(bands_.rows() * geometry_.dims[2].output * geometry_.kernel_size());
    auto make_room = [&] { return Room(*this); };
    bands_.for_each(planes, ns, make_room, [&](const WindowBands::Band& band, Room& room) {
      run_band(band, src + band.plane * geometry_.input_size(), room, dst + band.plane * geometry_.output_size(),
               along);
    });
  }

 private:
  static constexpr int64_t kMostLanes = 16;

  static int64_t pitch_of(const WindowDim& w) {
    int64_t read = (round_up(w.output, kMostLanes) + kMostLanes) * w.stride + (w.kernel - 1) * w.dilation;
    return round_up(std::max(read, w.padding + w.input), kMostLanes);
  }

  // Of one thread: the padded rows of a band, those of one result, and the divisors of the windows of a row.
  struct Room {
    explicit Room(const WindowMeans& of)
        : padded(static_cast<size_t>(of.bands_.most_items()), T(0)),
          divisors(static_cast<size_t>(round_up(of.geometry_.dims[2].output, kMostLanes)), T(1)) {}
    std::vector<T> padded, divisors;
    std::vector<const T*> rows;
    int64_t factor = -1;  // of the divisors, by the dims before the last
  };

  template <typename Along>
  void run_band(const WindowBands::Band& band, const T* plane, Room& room, T* dst, const Along& along) const {
    const auto& [d, h, w] = geometry_.dims;
    bands_.for_each_row(band, room.padded.data(),
                        [&](int64_t row, T* line) { std::copy_n(plane + row * w.input, w.input, line + w.padding); });
    dst += band.depth * h.output * w.output;
    const T* last = dst + (band.first + band.count) * w.output;
    bands_.for_each_result(band, room.padded.data(), room.rows, [&](int64_t y, const std::vector<const T*>& rows) {
      divide_by(along(d, band.depth) * along(h, y), room, along);
      loops().lanes->template of<T>().means_of_rows(rows, {w.output, w.kernel, w.stride, 1}, room.divisors.data(), last,
                                                    dst + y * w.output);
    });
  }

  template <typename Along>
  void divide_by(int64_t factor, Room& room, const Along& along) const {
    if (factor == room.factor) return;
    room.factor = factor;
    const WindowDim& w = geometry_.dims[2];
    for (int64_t x = 0; x < w.output; ++x) {
      int64_t divisor = factor * along(w, x);
      room.divisors[static_cast<size_t>(x)] = divisor == 0 ? T(1) : static_cast<T>(divisor);
    }
  }

  const WindowGeometry& geometry_;
  int64_t pitch_;  // items of a padded row
  WindowBands bands_;
};

}  // namespace md
