#include "control/ssi/module_parameters.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>

#include "control/boot/include/lam-ssi.h"

namespace openlapi::ssi {
namespace {

std::string text_of(int index) {
  char* text = lam_ssi_base_param_lookup_string(index);
  const std::string copy = text == nullptr ? "none" : text;
  std::free(text);
  return copy;
}

class ModuleParameters : public testing::Test {
 protected:
  ~ModuleParameters() override { unsetenv(kVariable); }
  static constexpr char kVariable[] = "LAM_MPI_SSI_boot_try_word";
};

TEST_F(ModuleParameters, HaveDefaultsAndVariables) {
  const int index = lam_ssi_base_param_register_int("boot", "try", "word", nullptr, 75);
  EXPECT_EQ(lam_ssi_base_param_lookup_int(index), 75);
  setenv(kVariable, "-3", 1);
  EXPECT_EQ(lam_ssi_base_param_lookup_int(index), -3);
  EXPECT_EQ(lam_ssi_base_param_find("boot", "try", "word"), index);
  EXPECT_EQ(lam_ssi_base_param_find("boot", "try", "other"), LAMERROR);
  // The same name is the same parameter.
  EXPECT_EQ(lam_ssi_base_param_register_string("boot", "try", "word", nullptr, nullptr), index);
  EXPECT_EQ(text_of(index), "-3");
  unsetenv(kVariable);
  EXPECT_EQ(text_of(index), "none");
  lam_ssi_base_param_register_string("boot", "try", "word", nullptr, "ssh -x");
  EXPECT_EQ(text_of(index), "ssh -x");
}

TEST_F(ModuleParameters, AreNamedByTheirParts) {
  const int whole = lam_ssi_base_param_register_int("boot", "try", nullptr, nullptr, 1);
  EXPECT_EQ(lam_ssi_base_param_find("boot", "try", nullptr), whole);
  const int renamed = lam_ssi_base_param_register_int("boot", "try", "old", "boot_try_word", 2);
  setenv(kVariable, "8", 1);
  EXPECT_EQ(lam_ssi_base_param_lookup_int(renamed), 8);
  const int fixed = lam_ssi_base_param_register_int("boot", "try", "word", LAM_SSI_BASE_PARAM_INFO, 4);
  EXPECT_EQ(lam_ssi_base_param_lookup_int(fixed), 4);
}

TEST_F(ModuleParameters, SayWhatIsAllowed) {
  const int index = lam_ssi_base_param_register_int("boot", "try", "word", nullptr, 75);
  setenv(kVariable, "5x", 1);
  testing::internal::CaptureStderr();
  EXPECT_EQ(lam_ssi_base_param_lookup_int(index), 75);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), std::string(program_invocation_short_name) +
                                                        ": LAM_MPI_SSI_boot_try_word is \"5x\"; allowed: an integer\n");
  testing::internal::CaptureStderr();
  EXPECT_EQ(lam_ssi_base_param_register_int(nullptr, "try", "word", nullptr, 1), LAMERROR);
  EXPECT_NE(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(lam_ssi_base_param_lookup_int(-1), LAMERROR);
  EXPECT_EQ(lam_ssi_base_param_lookup_string(1000), nullptr);
}

}  // namespace
}  // namespace openlapi::ssi
