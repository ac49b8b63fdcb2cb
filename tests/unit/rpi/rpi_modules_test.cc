#include "api/rpi/modules/rpi_modules.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

#include "api/rpi/services/process_list.h"

namespace openlapi::rpi {
namespace {

// What the built-in modules of this test were asked, in order.
std::string log;

struct Levels {
  int priority, thread_min, thread_max;
};

int do_nothing() { return 0; }

const lam_ssi_rpi_actions_1_1_0_t whole_actions = {
    .lsra_addprocs =
        [](_proc** procs, int count) {
          log += "add" + std::to_string(count) + ((procs[0]->p_mode & LAM_PRPIADDED) != 0 ? "new " : " ");
          return procs[0]->p_gps.gps_pid == 13 ? LAMERROR : 0;
        },
    .lsra_finalize =
        [](_proc* process) {
          log += process == nullptr ? "finalize " : "finalize-one ";
          return 0;
        },
    .lsra_build = [](MPI_Request) { return 0; },
    .lsra_start = [](MPI_Request, MPI_Request) { return 0; },
    .lsra_advance = [](MPI_Request, int) { return 0; },
    .lsra_destroy = [](MPI_Request) { return 0; },
    .lsra_iprobe = [](MPI_Request) { return 0; },
    .lsra_fastrecv = nullptr,
    .lsra_fastsend = nullptr,
    .lsra_alloc_mem = lam_ssi_rpi_base_alloc_mem,
    .lsra_free_mem = lam_ssi_rpi_base_free_mem,
    .lsra_interrupt = do_nothing,
    .lsra_checkpoint = do_nothing,
    .lsra_continue = do_nothing,
    .lsra_restart = nullptr,
    .lsra_tv_queue_support = 1,
};

// One for each name, so that each has functions of its own.
template <int kNumber>
struct BuiltIn {
  static inline Levels levels{};
  static inline int open_result = 1, query_result = 1;
  static inline const lam_ssi_rpi_actions_1_1_0_t* actions = &whole_actions;
  static inline int tag = 0, context = 0;
  static inline lam_ssi_rpi_1_1_0_t module{};

  static const lam_ssi_1_0_0_t* make(std::string_view name, Levels of, int release = 0) {
    levels = of;
    open_result = query_result = 1;
    actions = &whole_actions;
    tag = context = 0;
    module = {{1, 0, 0, "rpi", 1, 1, 0, "", 1, 0, release, open, close}, query, init};
    name.copy(module.lsr_meta_info.ssi_module_name, LAM_MPI_SSI_BASE_MAX_MODULE_NAME_LEN - 1);
    return &module.lsr_meta_info;
  }
  static std::string name() { return module.lsr_meta_info.ssi_module_name; }
  static int open(OPT*) {
    log += "open-" + name() + " ";
    return open_result;
  }
  static int close() {
    log += "close-" + name() + " ";
    return 0;
  }
  static int query(int* priority, int* thread_min, int* thread_max) {
    *priority = levels.priority;
    *thread_min = levels.thread_min;
    *thread_max = levels.thread_max;
    return query_result;
  }
  static const lam_ssi_rpi_actions_1_1_0_t* init(_proc**, int count, int* max_tag, int* max_context) {
    log += "init" + std::to_string(count) + " ";
    if (tag != 0) *max_tag = tag;
    if (context != 0) *max_context = context;
    return actions;
  }
};

class RpiModulesTest : public testing::Test {
 protected:
  RpiModulesTest() {
    log.clear();
    setenv("LAM_MPI_SSI_base_module_path", "/nonexistent", 1);
  }
  ~RpiModulesTest() override {
    for (const char* name : {"LAM_MPI_SSI_base_module_path", "LAM_MPI_SSI_rpi", "LAM_MPI_SSI_rpi_plain_priority"}) {
      unsetenv(name);
    }
    lam_nukeprocs();
  }
  // Who is selected of these, and with which thread level.
  static std::string selected(std::vector<const lam_ssi_1_0_0_t*> built_in, int level) {
    RpiModules modules(built_in);
    modules.open(nullptr);
    const int given = modules.select(level);
    return modules.name() + std::to_string(given);
  }
  static std::string refusal(auto&& work) {
    try {
      work();
    } catch (const std::exception& error) {
      return error.what();
    }
    return "none";
  }
};

TEST_F(RpiModulesTest, TheHighestPriorityIsSelected) {
  EXPECT_EQ(
      selected(
          {BuiltIn<0>::make("a", {10, 0, 0}), BuiltIn<1>::make("b", {30, 0, 0}), BuiltIn<2>::make("c", {20, 0, 0})}, 0),
      "b0");
  EXPECT_EQ(log, "open-a open-b open-c close-c close-a close-b ");
  // Of equals the last name.
  EXPECT_EQ(selected({BuiltIn<0>::make("lamd", {20, 0, 0}), BuiltIn<1>::make("tcp", {20, 0, 0})}, 0), "tcp0");
}

TEST_F(RpiModulesTest, ThreadLevelsAreTriedFromTheOneAskedForDown) {
  const auto built_in = [] {
    return std::vector{BuiltIn<0>::make("single", {50, 0, 0}), BuiltIn<1>::make("serial", {30, 0, 2}),
                       BuiltIn<2>::make("funneled", {40, 1, 1})};
  };
  EXPECT_EQ(selected(built_in(), MPI_THREAD_MULTIPLE), "serial2");
  EXPECT_EQ(selected(built_in(), MPI_THREAD_SERIALIZED), "serial2");
  EXPECT_EQ(selected(built_in(), MPI_THREAD_FUNNELED), "funneled1");
  EXPECT_EQ(selected(built_in(), MPI_THREAD_SINGLE), "single0");
  // It has none so low.
  EXPECT_EQ(selected({BuiltIn<0>::make("multiple", {0, 3, 3})}, MPI_THREAD_SINGLE), "multiple3");
  EXPECT_EQ(refusal([&] { selected(built_in(), 4); }), "thread level 4 was asked for; allowed: 0 to 3");
}

TEST_F(RpiModulesTest, WhoDoesNotWantIsLeftOut) {
  const std::vector built_in{BuiltIn<0>::make("closed", {50, 0, 0}), BuiltIn<1>::make("shy", {40, 0, 0}),
                             BuiltIn<2>::make("odd", {30, 2, 1}), BuiltIn<3>::make("last", {-5, 0, 0})};
  BuiltIn<0>::open_result = 0;
  BuiltIn<1>::query_result = 0;
  testing::internal::CaptureStderr();
  EXPECT_EQ(selected(built_in, 0), "last0");
  EXPECT_NE(
      testing::internal::GetCapturedStderr().find("odd is left out: its thread levels are 2 to 1; allowed: 0 to 3"),
      std::string::npos);
  EXPECT_EQ(log, "open-closed open-shy open-odd open-last close-shy close-odd close-last ");
}

TEST_F(RpiModulesTest, OnlyTheOneThatIsNamedIsOpened) {
  const std::vector built_in{BuiltIn<0>::make("a", {10, 0, 0}), BuiltIn<1>::make("b", {30, 0, 0})};
  setenv("LAM_MPI_SSI_rpi", "a", 1);
  EXPECT_EQ(selected(built_in, 0), "a0");
  EXPECT_EQ(log, "open-a close-a ");
  BuiltIn<0>::query_result = 0;
  EXPECT_EQ(refusal([&] { selected(built_in, 0); }),
            "LAM_MPI_SSI_rpi is a, and this module does not want to be used here");
  setenv("LAM_MPI_SSI_rpi", "other", 1);
  EXPECT_EQ(refusal([&] { selected(built_in, 0); }), "LAM_MPI_SSI_rpi is other, and there is no such module");
  unsetenv("LAM_MPI_SSI_rpi");
  EXPECT_EQ(refusal([&] { selected({}, 0); }), "no rpi module can be used");
}

TEST_F(RpiModulesTest, AModuleLivesFromInitToClose) {
  const std::vector built_in{BuiltIn<0>::make("a", {10, 0, 0})};
  BuiltIn<0>::tag = 1000;
  BuiltIn<0>::context = 5000;  // higher than it was: not allowed
  _proc process{};
  _proc* const processes[] = {&process};
  {
    RpiModules modules(built_in);
    modules.open(nullptr);
    modules.select(0);
    EXPECT_EQ(modules.actions(), nullptr);
    const MessageLimits limits = modules.init(processes, {.tag = 32767, .context = 2000});
    EXPECT_EQ(limits.tag, 1000);
    EXPECT_EQ(limits.context, 2000);
    ASSERT_NE(modules.actions(), nullptr);
    EXPECT_NE(modules.actions()->lsra_interrupt, nullptr);
    EXPECT_EQ(modules.actions()->lsra_checkpoint, nullptr);  // without a restart it is none
    modules.add_processes(processes);
    EXPECT_EQ(process.p_mode, 0);
    process.p_gps.gps_pid = 13;
    EXPECT_EQ(refusal([&] { modules.add_processes(processes); }), "rpi module a cannot add 1 processes");
    _gps gps{};
    lam_procfree(lam_procadd(&gps));
  }
  EXPECT_EQ(log, "open-a init1 add1new add1new finalize-one finalize close-a ");
}

TEST_F(RpiModulesTest, AModuleThatFailsIsClosed) {
  const std::vector built_in{BuiltIn<0>::make("a", {10, 0, 0})};
  const auto init = [&] {
    RpiModules modules(built_in);
    modules.open(nullptr);
    modules.select(0);
    modules.init({}, {.tag = 1, .context = 1});
  };
  BuiltIn<0>::actions = nullptr;
  EXPECT_EQ(refusal(init), "rpi module a cannot be initialised");
  EXPECT_EQ(log, "open-a init0 close-a ");
  lam_ssi_rpi_actions_1_1_0_t part = whole_actions;
  part.lsra_advance = nullptr;
  BuiltIn<0>::actions = &part;
  log.clear();
  EXPECT_EQ(refusal(init), "rpi module a lacks functions of sections 4.5 to 4.15");
  EXPECT_EQ(log, "open-a init0 finalize close-a ");
}

// A process that talks to itself through a module that others have written.
class ModulesOfOthers : public RpiModulesTest {
 protected:
  ModulesOfOthers() {
    setenv("LAM_MPI_SSI_base_module_path", std::getenv("RPI_TEST_MODULES"), 1);
    _gps gps{};
    lam_myproc = lam_procadd(&gps);
  }

  static _req request(int type, char* buffer, int size, int rank, int tag) {
    _req made{};
    made.rq_type = type;
    made.rq_marks = type == LAM_RQISEND ? LAM_RQFSOURCE : LAM_RQFDEST;
    made.rq_packbuf = buffer;
    made.rq_packsize = size;
    made.rq_rank = rank;
    made.rq_tag = tag;
    made.rq_cid = 7;
    return made;
  }
  static void run(const lam_ssi_rpi_actions_1_1_0_t& actions, _req& made) {
    ASSERT_EQ(actions.lsra_build(&made), 0);
    made.rq_state = LAM_RQSSTART;
    ASSERT_EQ(actions.lsra_start(&made, &made), 0);
    ASSERT_EQ(made.rq_state, LAM_RQSDONE);
    ASSERT_EQ(actions.lsra_destroy(&made), 0);
  }
  static void exchange(const lam_ssi_rpi_actions_1_1_0_t& actions) {
    char text[] = "a message", room[4] = "";
    _req send = request(LAM_RQISEND, text, sizeof text, 0, 3);
    send.rq_seq = 42;
    run(actions, send);
    _req probe = request(LAM_RQIPROBE, nullptr, 0, MPI_ANY_SOURCE, MPI_ANY_TAG);
    run(actions, probe);
    EXPECT_EQ(probe.rq_status.st_length, static_cast<int>(sizeof text));
    _req receive = request(LAM_RQIRECV, room, sizeof room, MPI_ANY_SOURCE, MPI_ANY_TAG);
    run(actions, receive);
    EXPECT_EQ(receive.rq_status.MPI_TAG, 3);
    EXPECT_EQ(receive.rq_flags, LAM_RQFTRUNC);
    EXPECT_EQ(receive.rq_seq, 42);
    EXPECT_EQ(std::string_view(room, sizeof room), "a me");
  }
};

TEST_F(ModulesOfOthers, OfBothInterfacesAreUsed) {
  for (const char* name : {"plain", "newer"}) {
    setenv("LAM_MPI_SSI_rpi", name, 1);
    RpiModules modules;
    modules.open(nullptr);
    EXPECT_EQ(modules.select(MPI_THREAD_MULTIPLE), MPI_THREAD_FUNNELED);
    EXPECT_EQ(modules.init(std::span(lam_procs, 1), {.tag = 32767, .context = 100}).tag, 1000);
    EXPECT_EQ(lam_myproc->p_mode, LAM_PRPIINIT | LAM_PRPICONNECT);
    EXPECT_EQ(modules.actions()->lsra_interrupt != nullptr, std::string_view(name) == "newer");
    exchange(*modules.actions());
    modules.close();
    EXPECT_EQ(lam_myproc->p_mode, 0);
  }
}

TEST_F(ModulesOfOthers, HaveParameters) {
  setenv("LAM_MPI_SSI_rpi_plain_priority", "8", 1);
  EXPECT_EQ(selected({}, 0), "plain0");
  setenv("LAM_MPI_SSI_rpi_plain_priority", "6", 1);
  EXPECT_EQ(selected({}, 0), "newer0");
}

}  // namespace
}  // namespace openlapi::rpi
