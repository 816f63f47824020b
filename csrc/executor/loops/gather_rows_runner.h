// Runs one thread's rows of a loop with indexed rows.
#pragma once
#include <algorithm>
#include <array>

#include "executor/loops/row_fetches.h"

namespace md {

class GatherRowsRunner {
 public:
  GatherRowsRunner(const LoopProgram& program, const LoopAddresses& bases,
                   const std::array<const int64_t*, kMaxRowChoices>& indices)
      : program_(program), indices_(indices), at_(program, bases) {}

  // n columns of whole rows, with no copied streams; for consecutive sums, whole sums.
  void run(int64_t begin, int64_t end, int64_t column, int64_t n) {
    step_count_ = sum_count_ = chosen_count_ = repeated_count_ = 0;
    rows_of_a_sum_ = end - begin;
    for (const Stream& stream : program_.inputs) start(stream, begin, column, n);
    for (const Stream& stream : program_.outputs) start(stream, begin, column, 0);
    auto loop = std::find_if(program_.row_loops.begin(), program_.row_loops.end(),
                             [&](const RowLoop& loop) { return loop.elements == n; });
    bool is_code = loop != program_.row_loops.end();
    if (is_code) fetch_first_rows(begin, end);
    for (int64_t row = begin; row < end; row += rows_of_a_sum_) {
      int64_t stop = std::min(row + rows_of_a_sum_, end);
      is_code ? run_row_loop(*loop, row, stop) : run_found_rows(row, stop, n);
      for (size_t i = 0; i < sum_count_; ++i) at_[sums_[i].reg] += sums_[i].bytes;
    }
  }

 private:
  struct GatherStream {
    int reg;
    int64_t row_bytes, fetched_bytes;
    std::byte* base;
    const int64_t* index;
    int64_t extent;
    std::byte* at(int64_t row) const { return base + (index[row] + (index[row] < 0 ? extent : 0)) * row_bytes; }
  };

  // n: number of elements to prefetch.
  void start(const Stream& stream, int64_t row, int64_t column, int64_t n) {
    std::byte* first = at_.base(stream.reg) + column * stream.strides.back() * stream.item_size;
    int64_t row_bytes = stream.strides.front() * stream.item_size;
    if (stream.access != StreamAccess::Chosen) {
      at_[stream.reg] = first + row * row_bytes;
      steps_[step_count_++] = {stream.reg, row_bytes};
      return;
    }
    const RowChoice& choice = program_.choices[static_cast<size_t>(stream.choice)];
    if (program_.is_shared_row(stream)) {
      at_[stream.reg] = first + row / choice.repeat * row_bytes;
      sums_[sum_count_++] = {stream.reg, row_bytes};
      rows_of_a_sum_ = choice.repeat;
      return;
    }
    const int64_t* index = indices_[static_cast<size_t>(stream.choice)];
    for (size_t i = 0; i < chosen_count_; ++i) {
      const GatherStream& other = chosen_[i];
      if (other.base != first || other.index != index || other.row_bytes != row_bytes) continue;
      repeated_[repeated_count_++] = {stream.reg, other.reg};
      return;
    }
    constexpr int64_t kMostFetched = 1024;
    chosen_[chosen_count_++] = {.reg = stream.reg,
                                .row_bytes = row_bytes,
                                .fetched_bytes = std::min(n * stream.item_size, kMostFetched),
                                .base = first,
                                .index = index,
                                .extent = choice.extent};
  }

  // Computes and prefetches each row's addresses a few rows ahead.
  void run_found_rows(int64_t begin, int64_t end, int64_t n) {
    std::array<std::array<std::byte*, kMaxRowChoices + 1>, kRowsAhead> found;
    auto find = [&](int64_t row) {
      for (size_t i = 0; i < chosen_count_; ++i) {
        std::byte* place = chosen_[i].at(row);
        found[static_cast<size_t>(row) % kRowsAhead][i] = place;
        prefetch(place, chosen_[i].fetched_bytes);
      }
    };
    for (int64_t row = begin; row < std::min(begin + kRowsAhead, end); ++row) find(row);
    for (int64_t row = begin; row < end; ++row) {
      for (size_t i = 0; i < chosen_count_; ++i) at_[chosen_[i].reg] = found[static_cast<size_t>(row) % kRowsAhead][i];
      for (size_t i = 0; i < repeated_count_; ++i) at_[repeated_[i].reg] = at_[repeated_[i].of];
      if (row + kRowsAhead < end) find(row + kRowsAhead);
      at_.execute(n);
      for (size_t i = 0; i < step_count_; ++i) at_[steps_[i].reg] += steps_[i].bytes;
    }
  }

  // The machine code for rows prefetches the rows kRowsAhead further on.
  void fetch_first_rows(int64_t begin, int64_t end) const {
    for (size_t i = 0; i < chosen_count_; ++i) {
      for (int64_t row = begin; row < std::min(begin + kRowsAhead, end); ++row)
        prefetch(chosen_[i].at(row), chosen_[i].fetched_bytes);
    }
  }

  // Computes the addresses of a batch of rows first; the loop over them is machine code.
  void run_row_loop(const RowLoop& loop, int64_t begin, int64_t end) {
    constexpr int64_t kRows = 64;
    std::array<std::byte*, (kRows + kRowsAhead) * kMaxRowLoopRegisters> places;
    int64_t stride = program_.register_count;
    auto fill = [&](int reg, int64_t from, int64_t to, auto&& place) {
      std::byte** into = places.data() + from * stride + reg;
      for (int64_t i = from; i < to; ++i, into += stride) *into = place(i);
    };
    for (const LoopScalar& scalar : program_.scalars)
      fill(scalar.reg, 0, kRows, [&](int64_t) { return at_.base(scalar.reg); });
    for (size_t i = 0; i < sum_count_; ++i) places[static_cast<size_t>(sums_[i].reg)] = at_[sums_[i].reg];
    for (int64_t row = begin, rows; row < end; row += rows) {
      rows = std::min(end - row, kRows);
      for (size_t i = 0; i < chosen_count_; ++i) {
        const GatherStream chosen = chosen_[i];
        int64_t count = std::min(rows + kRowsAhead, program_.rows - row);
        fill(chosen.reg, 0, count, [&](int64_t at) { return chosen.at(row + at); });
        fill(chosen.reg, count, rows + kRowsAhead, [&](int64_t) { return chosen.base; });
      }
      for (size_t i = 0; i < repeated_count_; ++i)
        fill(repeated_[i].reg, 0, rows + kRowsAhead,
             [&](int64_t at) { return places[static_cast<size_t>(at * stride + repeated_[i].of)]; });
      for (size_t i = 0; i < step_count_; ++i) {
        std::byte*& at = at_[steps_[i].reg];
        fill(steps_[i].reg, 0, rows,
             [from = at, bytes = steps_[i].bytes](int64_t later) { return from + later * bytes; });
        at += rows * steps_[i].bytes;
      }
      loop.code(places.data(), rows);
    }
  }

  const LoopProgram& program_;
  const std::array<const int64_t*, kMaxRowChoices>& indices_;
  LoopRegisters at_;
  struct PlainStep {
    int reg;
    int64_t bytes;
  };
  std::array<PlainStep, kMaxLoopRegisters> steps_;  // of streams without an index: step to the next row
  std::array<PlainStep, 2> sums_;                   // for consecutive sums: step to the next sum
  int64_t rows_of_a_sum_ = 0;
  // An index belongs to one stream, except those of sums, which are read and written.
  std::array<GatherStream, kMaxRowChoices + 1> chosen_;
  struct RepeatedStream {
    int reg, of;  // at the same address
  };
  std::array<RepeatedStream, kMaxRowChoices + 1> repeated_;
  size_t step_count_ = 0, sum_count_ = 0, chosen_count_ = 0, repeated_count_ = 0;
};

}  // namespace md
