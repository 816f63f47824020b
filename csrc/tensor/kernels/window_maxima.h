// The largest values of sliding windows over contiguous planes: of each row of a plane by columns, then of rows. In
// both the first of equal elements stays, as in a window that is read row by row, and the last NaN.
#pragma once
#include <algorithm>
#include <vector>

#include "base/rounding.h"
#include "tensor/kernels/window_bands.h"
#include "tensor/simd/loops.h"

namespace md {

template <typename T>
class WindowMaxima {
 public:
  // lowest: of a window without elements.
  WindowMaxima(const WindowGeometry& geometry, T lowest)
      : geometry_(geometry),
        lowest_(lowest),
        line_(round_up(geometry.dims[2].output, kMostLanes)),
        bands_(geometry, line_) {}

  void run(const T* src, int64_t planes, T* dst) const {
    const auto& [d, h, w] = geometry_.dims;
    double ns = 0.05 * static_cast<double>(bands_.rows() * w.output * (h.kernel + w.kernel * h.stride));
    auto make_room = [&] { return Room(*this); };
    bands_.for_each(planes, ns, make_room, [&](const WindowBands::Band& band, Room& room) {
      run_band(band, src + band.plane * geometry_.input_size(), room, dst + band.plane * geometry_.output_size());
    });
  }

 private:
  static constexpr int64_t kMostLanes = 16, kRowsAtOnce = 8;

  // Of one thread: rows with their padding, the largest elements of rows by columns, and those that one result reads.
  struct Room {
    explicit Room(const WindowMaxima& of) : lines(static_cast<size_t>(of.bands_.most_items())) {
      const WindowDim& w = of.geometry_.dims[2];
      int64_t read = (of.line_ + kMostLanes) * w.stride + (w.kernel - 1) * w.dilation + w.padding;
      pitch = round_up(std::max(read, w.padding + w.input), kMostLanes);
      padded.assign(static_cast<size_t>(kRowsAtOnce * pitch), of.lowest_);
    }
    int64_t pitch;
    std::vector<T> padded, lines;
    std::vector<const T*> rows;
  };

  // The largest elements by columns of `count` rows. Rows are read again when what was written of them has left the
  // store buffer, from which vectors across two stores cannot be forwarded.
  void take_rows(const T* src, int64_t count, Room& room, T* lines) const {
    const WindowDim& w = geometry_.dims[2];
    WindowsOfRow windows = {w.output, w.kernel, w.stride, w.dilation};
    for (int64_t first = 0; first < count; first += kRowsAtOnce) {
      int64_t rows = std::min(kRowsAtOnce, count - first);
      for (int64_t i = 0; i < rows; ++i, src += w.input)
        std::copy_n(src, w.input, room.padded.data() + i * room.pitch + w.padding);
      for (int64_t i = 0; i < rows; ++i, lines += line_)
        loops().lanes->template of<T>().largest_by_columns(room.padded.data() + i * room.pitch, windows, lines);
    }
  }

  void run_band(const WindowBands::Band& band, const T* plane, Room& room, T* dst) const {
    const auto& [d, h, w] = geometry_.dims;
    T* line = room.lines.data();
    for (int64_t z = band.layers.begin; z < band.layers.end; z += band.layers.step, line += band.read * line_)
      take_rows(plane + (z * h.input + band.begin) * w.input, band.read, room, line);
    dst += band.depth * h.output * w.output;
    const T* last = dst + (band.first + band.count) * w.output;
    bands_.for_each_result(band, room.lines.data(), room.rows, [&](int64_t y, const std::vector<const T*>& rows) {
      if (rows.empty())
        std::fill_n(dst + y * w.output, w.output, lowest_);
      else
        loops().lanes->template of<T>().largest_of_rows(rows, w.output, last, dst + y * w.output);
    });
  }

  const WindowGeometry& geometry_;
  T lowest_;
  int64_t line_;  // items of a line of results, in whole vectors
  WindowBands bands_;
};

}  // namespace md
