#include <gtest/gtest.h>

#include <cerrno>

#include <string>
#include <vector>

#include "control/boot/include/all_opt.h"

namespace {

class OptionParser : public testing::Test {
 protected:
  ~OptionParser() override { ao_free(options_); }

  int parse(const std::vector<std::string>& words) {
    words_ = words;
    words_.insert(words_.begin(), "lamboot");
    pointers_.clear();
    for (std::string& word : words_) pointers_.push_back(word.data());
    pointers_.push_back(nullptr);
    count_ = static_cast<int>(words_.size());
    testing::internal::CaptureStderr();
    const int status = ao_parse(options_, &count_, pointers_.data());
    error_ = testing::internal::GetCapturedStderr();
    return status;
  }
  std::vector<std::string> left() const { return {pointers_.begin(), pointers_.begin() + count_}; }
  std::string parameter(const char* option, int instance = 0, int index = 0) {
    const char* text = ao_param(options_, option, instance, index);
    return text == nullptr ? "(none)" : text;
  }

  OPT* options_ = ao_init();
  std::vector<std::string> words_{};
  std::vector<char*> pointers_{};
  int count_ = 0;
  std::string error_{};
};

TEST_F(OptionParser, SaysWhatWasGiven) {
  ao_setopt1(options_, "dhv", nullptr, 0, 0);
  ao_setopt(options_, "c", nullptr, 1, 0);
  ao_setopt(options_, "ssi", nullptr, 2, 0);
  ASSERT_EQ(parse({"-v", "-c", "conf", "-ssi", "boot", "rsh", "hosts", "-ssi", "rpi", "tcp"}), 0);
  EXPECT_EQ(ao_taken(options_, "v"), 1);
  EXPECT_EQ(ao_taken(options_, "d"), 0);
  EXPECT_EQ(ao_taken(options_, "unknown"), 0);
  EXPECT_EQ(ao_ntaken(options_), 3);
  EXPECT_EQ(ao_ninsts(options_, "ssi"), 2);
  EXPECT_EQ(ao_nparams(options_, "ssi", 1), 2);
  EXPECT_EQ(parameter("ssi", 1, 0), "rpi");
  EXPECT_EQ(parameter("ssi", 1, 2), "(none)");
  EXPECT_EQ(parameter("c"), "conf");
  EXPECT_EQ(left(), (std::vector<std::string>{"lamboot", "hosts"}));
  EXPECT_STREQ(ao_argv0(options_), "lamboot");
}

TEST_F(OptionParser, LeavesArgvAloneWhenAsked) {
  ao_setflags(options_, AOPRESERVE_ARGV);
  ao_setopt1(options_, "v", nullptr, 0, 0);
  ASSERT_EQ(parse({"-v", "hosts"}), 0);
  EXPECT_EQ(left(), (std::vector<std::string>{"lamboot", "-v", "hosts"}));
  int count = 0;
  char** unused = nullptr;
  ASSERT_EQ(ao_unused(options_, &count, &unused), 0);
  EXPECT_EQ((std::vector<std::string>{unused, unused + count}), (std::vector<std::string>{"lamboot", "hosts"}));
}

TEST_F(OptionParser, ParsesAgainWhatWasUnknownAtFirst) {
  ao_setflags(options_, AOPRESERVE_ARGV | AOIGN_UNRECOG);
  ao_setopt1(options_, "v", nullptr, 0, 0);
  ASSERT_EQ(parse({"-late", "-v"}), 0);
  ao_setopt(options_, "late", nullptr, 0, 0);
  ASSERT_EQ(ao_parse(options_, nullptr, nullptr), 0);
  EXPECT_EQ(ao_taken(options_, "late"), 1);
  EXPECT_EQ(ao_taken(options_, "v"), 1);
}

TEST_F(OptionParser, KeepsTheTail) {
  ao_setopt1(options_, "v", nullptr, 0, 0);
  ASSERT_EQ(parse({"-v", "--", "-x", "y"}), 0);
  int count = 0;
  char** tail = nullptr;
  ASSERT_EQ(ao_tail(options_, &count, &tail), 0);
  EXPECT_EQ((std::vector<std::string>{tail, tail + count}), (std::vector<std::string>{"-x", "y"}));
}

TEST_F(OptionParser, TakesLettersTogetherWithAParameter) {
  ao_setopt1(options_, "vd", nullptr, 0, 0);
  ao_setopt(options_, "n", nullptr, 1, AOINT);
  ASSERT_EQ(parse({"-vdn12", "-n", "-3"}), 0);
  int number = 0;
  EXPECT_EQ(ao_taken(options_, "d"), 1);
  EXPECT_EQ(ao_intparam(options_, "n", 0, 0, &number), 0);
  EXPECT_EQ(number, 12);
  EXPECT_EQ(ao_intparam(options_, "n", 1, 0, &number), 0);
  EXPECT_EQ(number, -3);
  EXPECT_EQ(ao_intparam(options_, "n", 2, 0, &number), LAMERROR);
}

TEST_F(OptionParser, TakesFlagsTogetherBesideLongerOptions) {
  ao_setopt1(options_, "vdH", nullptr, 0, 0);
  ao_setopt(options_, "n", nullptr, 1, AOINT);
  ao_setopt(options_, "dv", nullptr, 1, 0);
  ASSERT_EQ(parse({"-dHv", "-dv", "x"}), 0);
  EXPECT_EQ(ao_ninsts(options_, "H"), 1);
  EXPECT_EQ(ao_ninsts(options_, "v"), 1);
  EXPECT_EQ(parameter("dv"), "x") << "an option's own name counts first";
  ASSERT_EQ(parse({"-vn12"}), LAMERROR);
  EXPECT_NE(error_.find("option -vn12 is unknown"), std::string::npos) << error_;
  ao_setflags(options_, AOIGN_UNRECOG);
  ASSERT_EQ(parse({"-Hv"}), 0);
  EXPECT_EQ(ao_ninsts(options_, "H"), 1) << "it may be an option that is declared later";
}

TEST_F(OptionParser, TakesABareNumberAndVariableNumbersOfParameters) {
  ao_setopt(options_, "#", nullptr, 0, 0);
  ao_setopt(options_, "hosts", nullptr, AOVARNUM, 0);
  ASSERT_EQ(parse({"-8", "-hosts", "a", "b", "-4"}), 0);
  int number = 0;
  EXPECT_EQ(ao_intparam(options_, "#", 1, 0, &number), 0);
  EXPECT_EQ(number, 4);
  EXPECT_EQ(ao_nparams(options_, "hosts", 0), 2);
}

TEST_F(OptionParser, RefusesWithTheReason) {
  ao_setopt1(options_, "vq", nullptr, 0, 0);
  ao_setopt(options_, "n", nullptr, 1, AOINT);
  EXPECT_EQ(parse({"-z"}), LAMERROR);
  EXPECT_EQ(error_, std::string(program_invocation_short_name) + ": option -z is unknown; allowed: -v, -q, -n\n");
  EXPECT_EQ(parse({"-n", "many"}), LAMERROR);
  EXPECT_EQ(error_, std::string(program_invocation_short_name) + ": option -n is many; allowed: an integer\n");
  EXPECT_EQ(parse({"-n"}), LAMERROR);
  EXPECT_EQ(error_, std::string(program_invocation_short_name) + ": option -n needs 1 value(s), and 0 follow(s)\n");
  EXPECT_EQ(parse({"-vz"}), LAMERROR);
  EXPECT_EQ(error_,
            std::string(program_invocation_short_name) + ": option -z (in -vz) is unknown; allowed: -v, -q, -n\n");
}

TEST_F(OptionParser, RefusesOptionsThatExcludeEachOther) {
  ao_setopt(options_, "c", nullptr, 1, AOINT);
  EXPECT_EQ(ao_setopt(options_, "np", "nothing", 1, AOINT), LAMERROR);
  ASSERT_EQ(ao_setopt(options_, "np", "c", 1, AOINT), 0);
  ASSERT_EQ(parse({"-np", "2"}), 0);
  EXPECT_STREQ(ao_chosen(options_, "c"), "np");
  EXPECT_EQ(parse({"-c", "2"}), LAMERROR);
  EXPECT_EQ(error_, std::string(program_invocation_short_name) + ": options -np and -c exclude each other\n");
}

TEST_F(OptionParser, RequiresWhatMustBeThere) {
  ao_setopt(options_, "H", nullptr, 1, AOMUST);
  EXPECT_EQ(parse({}), LAMERROR);
  EXPECT_EQ(error_, std::string(program_invocation_short_name) + ": option -H is missing: it must be given\n");
  EXPECT_EQ(ao_setopt(options_, "H", nullptr, 1, 0), LAMERROR);
  int parameters = 0;
  EXPECT_EQ(ao_exam_isopt(options_, "H"), 1);
  EXPECT_EQ(ao_exam_nparams(options_, "H", &parameters), 0);
  EXPECT_EQ(parameters, 1);
  EXPECT_EQ(ao_exam_nparams(options_, "I", &parameters), LAMERROR);
}

}  // namespace
