#include "api/arguments/program_registry.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <iterator>
#include <set>
#include <thread>
#include <vector>

namespace openlapi {
namespace {

// `bytes` at the beginning of every 16.
struct Program {
  explicit Program(long bytes = 4) {
    auto* copy = reinterpret_cast<lapi_dgsm_copy_t*>(code);
    copy->opcode = LAPI_DGSM_COPY;
    copy->bytes = bytes;
    copy->offset = 0;
    auto* iterate = reinterpret_cast<lapi_dgsm_iterate_t*>(code + LAPI_DGSM_COPY_SIZE);
    iterate->opcode = LAPI_DGSM_ITERATE;
    iterate->iter_loc = -LAPI_DGSM_COPY_SIZE;
    description.code = code;
    description.code_size = LAPI_DGSM_COPY_SIZE + LAPI_DGSM_ITERATE_SIZE;
    description.depth = 1;
    description.density = LAPI_DGSM_SPARSE;
    description.size = bytes;
    description.extent = 16;
    description.lext = 0;
    description.rext = bytes;
    description.atom_size = 0;
  }

  int code[LAPI_DGSM_COPY_SIZE + LAPI_DGSM_ITERATE_SIZE];
  lapi_dgsp_descr_t description{};
};

TEST(ProgramRegistry, a_handle_is_a_copy_of_the_description) {
  ProgramRegistry registry;
  lapi_dg_handle_t handle = nullptr;
  {
    Program program;
    program.description.atom_size = 2;
    ASSERT_EQ(registry.add(&program.description, true, handle), LAPI_SUCCESS);
    program.code[0] = -1;
  }
  EXPECT_EQ(handle->code[0], LAPI_DGSM_COPY);
  EXPECT_EQ(handle->code_size, LAPI_DGSM_COPY_SIZE + LAPI_DGSM_ITERATE_SIZE);
  EXPECT_EQ(handle->depth, 1);
  EXPECT_EQ(handle->size, 4);
  EXPECT_EQ(handle->extent, 16);
  EXPECT_EQ(handle->rext, 4);
  EXPECT_EQ(handle->atom_size, 2);
  ASSERT_NE(registry.find(handle), nullptr);
  EXPECT_EQ(registry.find(handle)->bytes, 4U);
  EXPECT_EQ(registry.find(handle)->atom_size, 2U);
}

TEST(ProgramRegistry, counts_registration_and_reservations) {
  ProgramRegistry registry;
  Program program;
  lapi_dg_handle_t handle = nullptr;
  ASSERT_EQ(registry.add(&program.description, false, handle), LAPI_SUCCESS);
  EXPECT_EQ(registry.reserve(handle), LAPI_SUCCESS);
  EXPECT_EQ(registry.reserve(handle), LAPI_SUCCESS);
  for (int left = 3; left > 0; --left) {
    EXPECT_NE(registry.find(handle), nullptr);
    EXPECT_EQ(registry.unreserve(handle), LAPI_SUCCESS);
  }
  EXPECT_EQ(registry.find(handle), nullptr);
  EXPECT_EQ(registry.unreserve(handle), LAPI_ERR_DGSP_FREE);
  EXPECT_EQ(registry.reserve(handle), LAPI_ERR_DGSP);
}

TEST(ProgramRegistry, what_runs_a_program_keeps_it) {
  ProgramRegistry registry;
  Program program;
  lapi_dg_handle_t handle = nullptr;
  ASSERT_EQ(registry.add(&program.description, false, handle), LAPI_SUCCESS);
  auto running = registry.find(handle);
  const std::weak_ptr<const GatherScatterProgram> alive = running;
  EXPECT_EQ(registry.unreserve(handle), LAPI_SUCCESS);
  EXPECT_FALSE(alive.expired());
  running.reset();
  EXPECT_TRUE(alive.expired());
}

TEST(ProgramRegistry, knows_handles_that_never_were) {
  ProgramRegistry registry;
  Program program;
  for (lapi_dg_handle_t wrong : {lapi_dg_handle_t{nullptr}, &program.description}) {
    EXPECT_EQ(registry.find(wrong), nullptr);
    EXPECT_EQ(registry.reserve(wrong), LAPI_ERR_DGSP);
    EXPECT_EQ(registry.unreserve(wrong), LAPI_ERR_DGSP);
  }
}

TEST(ProgramRegistry, a_handle_rests_before_it_is_used_again) {
  ProgramRegistry registry;
  Program program;
  std::set<lapi_dg_handle_t> handles;
  lapi_dg_handle_t first = nullptr;
  ASSERT_EQ(registry.add(&program.description, false, first), LAPI_SUCCESS);
  ASSERT_EQ(registry.unreserve(first), LAPI_SUCCESS);
  for (int i = 0; i < 1000; ++i) {
    lapi_dg_handle_t handle = nullptr;
    ASSERT_EQ(registry.add(&program.description, false, handle), LAPI_SUCCESS);
    if (i < 50) {
      EXPECT_NE(handle, first);
    }
    handles.insert(handle);
    EXPECT_EQ(registry.unreserve(handle), LAPI_SUCCESS);
  }
  EXPECT_LT(handles.size(), 100U);  // and memory is not used up
}

TEST(ProgramRegistry, always_refuses_what_cannot_be_copied) {
  ProgramRegistry registry;
  lapi_dg_handle_t handle = nullptr;
  EXPECT_EQ(registry.add(nullptr, false, handle), LAPI_ERR_DGSP);
  const auto refused = [&](auto change) {
    Program program;
    change(program.description);
    const int with = registry.add(&program.description, true, handle);
    return registry.add(&program.description, false, handle) == with ? with : LAPI_SUCCESS;
  };
  EXPECT_EQ(refused([](lapi_dgsp_descr_t& d) { d.atom_size = -1; }), LAPI_ERR_DGSP_ATOM);
  EXPECT_EQ(refused([](lapi_dgsp_descr_t& d) { d.atom_size = kMaxAtomSize + 1; }), LAPI_ERR_DGSP_ATOM);
  EXPECT_EQ(refused([](lapi_dgsp_descr_t& d) { d.code = nullptr; }), LAPI_ERR_DGSP_OTHER);
  EXPECT_EQ(refused([](lapi_dgsp_descr_t& d) { d.code_size = 0; }), LAPI_ERR_DGSP_OTHER);
  EXPECT_EQ(refused([](lapi_dgsp_descr_t& d) { d.code_size = -7; }), LAPI_ERR_DGSP_OTHER);
  EXPECT_EQ(refused([](lapi_dgsp_descr_t& d) { d.density = static_cast<lapi_dgsp_density_t>(3); }),
            LAPI_ERR_DGSP_OTHER);
  EXPECT_EQ(handle, nullptr);
}

TEST(ProgramRegistry, only_verification_refuses_what_cannot_be_run) {
  ProgramRegistry registry;
  lapi_dg_handle_t handle = nullptr;
  Program program;
  program.code[0] = 77;
  EXPECT_EQ(registry.add(&program.description, true, handle), LAPI_ERR_DGSP_OPC);
  EXPECT_EQ(handle, nullptr);
  ASSERT_EQ(registry.add(&program.description, false, handle), LAPI_SUCCESS);
  EXPECT_EQ(return_code(registry.find(handle)->gather_fault(4)), LAPI_ERR_DGSP_OPC);
  Program wrong_size;
  wrong_size.description.size = 5;
  EXPECT_EQ(registry.add(&wrong_size.description, true, handle), LAPI_ERR_DGSP_OTHER);
  ASSERT_EQ(registry.add(&wrong_size.description, false, handle), LAPI_SUCCESS);
  EXPECT_EQ(return_code(registry.find(handle)->gather_fault(4)), LAPI_SUCCESS);
}

TEST(ProgramRegistry, threads_may_use_it_at_the_same_time) {
  ProgramRegistry registry;
  Program program;
  lapi_dg_handle_t shared = nullptr;
  ASSERT_EQ(registry.add(&program.description, false, shared), LAPI_SUCCESS);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 2000; ++round) {
        lapi_dg_handle_t own = nullptr;
        EXPECT_EQ(registry.add(&program.description, false, own), LAPI_SUCCESS);
        EXPECT_EQ(registry.reserve(shared), LAPI_SUCCESS);
        EXPECT_NE(registry.find(shared), nullptr);
        EXPECT_EQ(registry.unreserve(own), LAPI_SUCCESS);
        EXPECT_EQ(registry.unreserve(shared), LAPI_SUCCESS);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(registry.unreserve(shared), LAPI_SUCCESS);
  EXPECT_EQ(registry.unreserve(shared), LAPI_ERR_DGSP_FREE);
}

// What a transfer asks, without any lock: is it contiguous, and where does it begin?
TEST(ProgramRegistry, contiguous_data_needs_no_program) {
  ProgramRegistry registry;
  const auto longest = [&](auto change) {
    Program program;
    change(program);
    lapi_dg_handle_t handle = nullptr;
    EXPECT_EQ(registry.add(&program.description, false, handle), LAPI_SUCCESS);
    std::uint64_t bytes = 0;
    ContiguousProgram found;
    for (const std::uint64_t wanted : {1u, 3u, 4u, 5u, 16u, 17u, 100'000u}) {
      if (!registry.find_contiguous(handle, wanted, found)) continue;
      bytes = wanted;
      EXPECT_EQ(found.offset, static_cast<std::uint64_t>(program.description.lext));
      EXPECT_EQ(found.atom_size, static_cast<std::uint32_t>(program.description.atom_size));
    }
    EXPECT_EQ(registry.unreserve(handle), LAPI_SUCCESS);
    EXPECT_FALSE(registry.find_contiguous(handle, 1, found));
    return bytes;
  };
  const auto unit = [](Program& p) { p.description.extent = 4, p.description.density = LAPI_DGSM_UNIT; };
  EXPECT_EQ(longest([](Program&) {}), 4U) << "one application of one block";
  EXPECT_EQ(longest([](Program& p) { p.description.density = LAPI_DGSM_CONTIG; }), 4U);
  EXPECT_EQ(longest([](Program& p) { p.description.extent = 4; }), 100'000U) << "blocks side by side";
  EXPECT_EQ(longest(unit), 100'000U);
  EXPECT_EQ(longest([&](Program& p) { unit(p), p.description.atom_size = 4; }), 100'000U);
  EXPECT_EQ(longest([&](Program& p) { p.description.density = LAPI_DGSM_UNIT; }), 100'000U) << "so it is said";
  EXPECT_EQ(longest([&](Program& p) { unit(p), p.code[0] = 77; }), 0U) << "a fault is to be found";
  EXPECT_EQ(longest([&](Program& p) { unit(p), p.code[LAPI_DGSM_COPY_SIZE + 1] = 0; }), 4U);
}

TEST(ProgramRegistry, a_program_with_control_is_never_contiguous) {
  int code[LAPI_DGSM_CONTROL_SIZE + LAPI_DGSM_COPY_SIZE + LAPI_DGSM_ITERATE_SIZE];
  const lapi_dgsm_control_t control = {LAPI_DGSM_CONTROL, 1, 2};
  const lapi_dgsm_copy_t copy = {LAPI_DGSM_COPY, 8, 0};
  const lapi_dgsm_iterate_t iterate = {LAPI_DGSM_ITERATE, -LAPI_DGSM_CONTROL_SIZE - LAPI_DGSM_COPY_SIZE};
  std::memcpy(code, &control, sizeof control);
  std::memcpy(code + LAPI_DGSM_CONTROL_SIZE, &copy, sizeof copy);
  std::memcpy(code + LAPI_DGSM_CONTROL_SIZE + LAPI_DGSM_COPY_SIZE, &iterate, sizeof iterate);
  lapi_dgsp_descr_t description{code, std::size(code), 1, LAPI_DGSM_UNIT, 8, 8, {0}, {8}, 8};
  ProgramRegistry registry;
  lapi_dg_handle_t handle = nullptr;
  ContiguousProgram found;
  ASSERT_EQ(registry.add(&description, false, handle), LAPI_SUCCESS);
  EXPECT_FALSE(registry.find_contiguous(handle, 8, found));
}

// Handles are looked up while others are made: all that there are, and none that there are not.
TEST(ProgramRegistry, handles_are_found_while_others_are_made) {
  constexpr int kPrograms = 2000;
  ProgramRegistry registry;
  Program program;
  std::vector<lapi_dg_handle_t> handles(kPrograms);
  std::atomic<int> made{0};
  std::thread reader([&] {
    ContiguousProgram found;
    for (int looked = 0; looked < kPrograms;) {
      const int known = made.load(std::memory_order_acquire);
      for (; looked < known; ++looked) {
        EXPECT_TRUE(registry.find_contiguous(handles[static_cast<std::size_t>(looked)], 4, found));
        EXPECT_FALSE(registry.find_contiguous(&program.description, 4, found));
      }
    }
  });
  for (lapi_dg_handle_t& handle : handles) {
    EXPECT_EQ(registry.add(&program.description, false, handle), LAPI_SUCCESS);
    made.fetch_add(1, std::memory_order_release);
  }
  reader.join();
  ContiguousProgram found;
  for (const lapi_dg_handle_t handle : handles) {
    EXPECT_TRUE(registry.find_contiguous(handle, 4, found));
    EXPECT_EQ(registry.unreserve(handle), LAPI_SUCCESS);
    EXPECT_FALSE(registry.find_contiguous(handle, 4, found));
  }
}

}  // namespace
}  // namespace openlapi
