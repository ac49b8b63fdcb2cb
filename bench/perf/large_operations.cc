// Operations of messages that are longer than what is copied at once.
#include "bench/perf/operations.h"
#include "bench/perf/payload.h"

namespace openlapi::bench {

static constexpr unsigned kStream = 8;  // messages

// Task `side` says that it has done its part of the present step; both wait, and the library goes on meanwhile.
void Operations::step(int side) {
  const std::uint64_t now = sequence_;
  std::atomic<std::uint64_t>& word = region_->step[side].value;
  if (region_.side() == side) {
    word.store(now, std::memory_order_release);
  } else {
    spin_until([&] { return word.load(std::memory_order_acquire) == now; }, [&] { job_.probe(); });
  }
}

void Operations::rewrite(std::size_t length, Regime regime) {
  if (regime == Regime::fresh) write_all(job_.source(), length, sequence_);
}

// Task 0 sends and waits for completion; task 1 takes it, and reads it when task 0 has stopped its clock.
template <class Send>
void Operations::large_push(std::uint64_t iterations, std::size_t length, Regime regime, Samples* samples,
                            Send&& send) {
  sequence_ = region_.agree(sequence_);
  time_each(iterations, 1, samples, [&]() -> std::uint64_t {
    ++sequence_;
    if (job_.task() != 0) {
      job_.wait(job_.window().arrived);
      step(0);
      if (regime == Regime::fresh) read_all(job_.target(), length);
      step(1);
      return 0;
    }
    rewrite(length, regime);
    const std::uint64_t start = ticks();
    send();
    job_.wait(job_.window().completed);
    const std::uint64_t taken = ticks() - start;
    step(0);
    step(1);
    return taken;
  });
  job_.fence_all();
}

void Operations::large_put(std::uint64_t iterations, std::size_t length, Regime regime, Samples* samples) {
  large_push(iterations, length, regime, samples, [&] {
    job_.context().put(job_.peer_target(), {job_.source(), length},
                       {.target = job_.peer_arrived(), .completion = &job_.window().completed});
  });
}

void Operations::large_active_message(std::uint64_t iterations, std::size_t length, Regime regime, Samples* samples) {
  large_push(iterations, length, regime, samples, [&] {
    job_.context().send(job_.peer_handler(Handler::deliver), {}, {job_.source(), length},
                        {.target = job_.peer_arrived(), .completion = &job_.window().completed});
  });
}

void Operations::large_get(std::uint64_t iterations, std::size_t length, Regime regime, Samples* samples) {
  sequence_ = region_.agree(sequence_);
  time_each(iterations, 1, samples, [&]() -> std::uint64_t {
    ++sequence_;
    if (job_.task() != 0) {
      rewrite(length, regime);
      step(1);
      job_.wait(job_.window().finished);
      return 0;
    }
    step(1);
    const std::uint64_t start = ticks();
    job_.context().get({job_.target(), length}, job_.peer_source(), {.origin = &job_.window().returned});
    job_.wait(job_.window().returned);
    const std::uint64_t taken = ticks() - start;
    job_.finish_phase();
    if (regime == Regime::fresh) read_all(job_.target(), length);
    return taken;
  });
  job_.fence_all();
}

// Task 0 keeps several under way; task 1 only makes progress.
template <class Begin>
void Operations::stream(std::uint64_t iterations, lapi::Counter& ended, Samples* samples, Begin&& begin) {
  if (job_.task() == 0) {
    time_each(iterations, kStream, samples, [&] {
      const std::uint64_t start = ticks();
      for (unsigned i = 0; i < kStream; ++i) begin();
      for (unsigned i = 0; i < kStream; ++i) job_.wait(ended);
      return ticks() - start;
    });
    job_.finish_phase();
  } else {
    job_.wait(job_.window().finished);
  }
  job_.fence_all();
}

void Operations::put_stream(std::uint64_t iterations, std::size_t length, Samples* samples) {
  stream(iterations, job_.window().completed, samples, [&] {
    job_.context().put(job_.peer_target(), {job_.source(), length}, {.completion = &job_.window().completed});
  });
}

void Operations::get_stream(std::uint64_t iterations, std::size_t length, Samples* samples) {
  stream(iterations, job_.window().returned, samples, [&] {
    job_.context().get({job_.target(), length}, job_.peer_source(), {.origin = &job_.window().returned});
  });
}

void Operations::large_put_both_ways(std::uint64_t iterations, std::size_t length, Samples* samples) {
  sequence_ = region_.agree(sequence_);
  const auto meet = [&] { region_.barrier([&] { job_.probe(); }); };
  time_each(iterations, 1, samples, [&] {
    ++sequence_;
    rewrite(length, Regime::fresh);
    meet();
    const std::uint64_t start = ticks();
    job_.context().put(job_.peer_target(), {job_.source(), length},
                       {.target = job_.peer_arrived(), .completion = &job_.window().completed});
    job_.wait(job_.window().arrived);
    job_.wait(job_.window().completed);
    const std::uint64_t taken = ticks() - start;
    meet();
    read_all(job_.target(), length);
    meet();
    return taken;
  });
  job_.fence_all();
}

}  // namespace openlapi::bench
