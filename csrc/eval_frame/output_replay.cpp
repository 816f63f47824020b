#include "eval_frame/output_replay.h"

#include "eval_frame/region_exit.h"
#include "eval_frame/region_revalidation.h"

namespace md {

OutputReplay::OutputReplay(const RegionEntry& entry, const LocalsView& view) : entry_(entry), view_(view) {
  for (const OutputSite& output : entry.region.outputs) {
    Place place{&output, functions_of(output.site, view), nullptr, nullptr};
    if (output.site.failure) place.after = std::make_unique<ValueBuilder>(*output.site.failure, view);
    if (output.runs_python) place.locals = std::make_unique<ValueBuilder>(output.site.locals, view);
    places_.push_back(std::move(place));
  }
}

void OutputReplay::compute_numbers() {
  for (Place& place : places_)
    if (place.after)
      for (RecipeId id : place.output->site.failure->computed) place.after->build(id);
}

void OutputReplay::set_outputs(std::span<Tensor> outputs) {
  for (Place& place : places_) {
    auto from_to = [&](int begin, int end) {
      return outputs.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
    };
    const OutputSite& output = *place.output;
    if (place.locals) place.locals->set_outputs(from_to(output.first_local, output.first_after));
    if (place.after) place.after->set_outputs(from_to(output.first_after, output.end));
  }
}

FrameLocals OutputReplay::locals_of(Place& place, ValueBuilder& builder) {
  if (!place.locals) return FrameLocals(place.output->site.frames.size());
  for (auto [own, same] : place.output->same_locals) place.locals->share(own, builder.build(same));
  return build_locals(place.output->site, *place.locals);
}

bool OutputReplay::call_in_frames(Place& place, const FrameLocals& locals, const std::function<Ref()>& call,
                                  LiveFrame& frame) {
  LinkedCall(frame, place.output->site, place.functions, locals).run([&](size_t) { return static_cast<bool>(call()); });
  return PyErr_Occurred() == nullptr;
}

bool OutputReplay::run(const Effect& effect, ValueBuilder& builder, LiveFrame* frame) {
  stopped_ = static_cast<size_t>(effect.start);
  builder_ = &builder;
  Place& place = places_[stopped_];
  Ref callable = builder.build(effect.target), arguments = builder.build(effect.value);
  Ref names = effect.key != kNoRecipe ? builder.build(effect.key) : Ref();
  auto call = [&] {
    Py_ssize_t count = PyTuple_GET_SIZE(arguments.get()) - (names ? PyTuple_GET_SIZE(names.get()) : 0);
    return Ref::steal(
        PyObject_Vectorcall(callable, &PyTuple_GET_ITEM(arguments.get(), 0), static_cast<size_t>(count), names));
  };
  if (!place.output->runs_python) {
    raised_ = !call();
    return !raised_;
  }
  MD_ASSERT(frame != nullptr, "an output that runs Python code without its frame");
  FrameLocals locals = locals_of(place, builder);
  RegionRevalidation seen(entry_, view_, builder, &effect, locals);
  raised_ = !call_in_frames(place, locals, call, *frame);
  return !raised_ && seen.holds();
}

void OutputReplay::keep_error() {
  if (raised_) error_ = take_raised();
}

Ref OutputReplay::take_error(LiveFrame& frame) {
  Place& place = places_[stopped_];
  if (place.output->runs_python) return take_raised();
  // C code ran without frames.
  Ref error = error_ ? std::move(error_) : take_raised();
  auto raise = [&] {
    set_raised(std::move(error));
    return Ref();
  };
  call_in_frames(place, locals_of(place, *builder_), raise, frame);
  return take_raised();
}

FrameImages OutputReplay::take_images() {
  Place& place = places_[stopped_];
  for (auto [own, same] : place.output->same_after) place.after->share(own, builder_->build(same));
  FrameImages images = build_images(*place.output->site.failure, *place.after);
  place.after->finish();
  // From then on only the images own the values.
  builder_->release();
  release();
  return images;
}

void OutputReplay::release() {
  for (Place& place : places_) {
    if (place.after) place.after->release();
    if (place.locals) place.locals->release();
  }
}

}  // namespace md
