// Thread domains: what belongs to them, and what happens where there are none.
#include "tests/beds/verbs_adapters.h"

namespace openlapi::test {
namespace {

class VerbsDomains : public VerbsAdapters {
 protected:
  VerbsDomains() {
    bed_connects_after = 1;
    bed_has_bulk = true;
  }

  // Of everything that packets and reads go through.
  void use_all() {
    VerbsPair pair;
    expect_exchange(pair);
    EXPECT_NE(pair.left->connections()->counters().packets_sent, 0u);
    read_bulk(pair, 1 << 20);
    thread_domains_ = domain_counts().thread_domains;
  }

  int thread_domains_ = 0;  // at the end of use_all()
};

TEST_F(VerbsDomains, QueuePairsAndTheirQueuesAreMadeInAThreadDomain) {
  adapter_shim.thread_domains = true;
  use_all();
  EXPECT_EQ(thread_domains_, 2) << "one for each transport";
  const DomainCounts counts = domain_counts();
  EXPECT_GE(counts.inside.queue_pairs, 6) << "datagrams, packets and reads, at both ends";
  EXPECT_EQ(counts.inside.completion_queues, 8) << "of datagrams, arrivals, packets and reads";
  EXPECT_EQ(counts.inside.shared_queues, 2);
  EXPECT_EQ(counts.outside.queue_pairs, 0);
  EXPECT_EQ(counts.outside.completion_queues, 0);
  EXPECT_EQ(counts.outside.shared_queues, 0);
  EXPECT_EQ(counts.thread_domains, 0) << "they go with their transports, after what is in them";
}

TEST_F(VerbsDomains, CompletionQueuesAreMadeOutsideWhereTheAdapterWantsThat) {
  adapter_shim.thread_domains = true;
  adapter_shim.queues_in_parent_domains = false;
  use_all();
  const DomainCounts counts = domain_counts();
  EXPECT_GE(counts.inside.queue_pairs, 6);
  EXPECT_EQ(counts.inside.completion_queues, 0);
  EXPECT_EQ(counts.outside.completion_queues, 8);
}

TEST_F(VerbsDomains, WithoutParentDomainsThereIsNoThreadDomain) {
  adapter_shim.thread_domains = true;
  adapter_shim.parent_domains = false;
  use_all();
  EXPECT_EQ(thread_domains_, 0);
  EXPECT_EQ(domain_counts().inside.queue_pairs, 0);
  EXPECT_GE(domain_counts().outside.queue_pairs, 6);
}

TEST_F(VerbsDomains, WithoutThreadDomainsEverythingIsInTheProtectionDomain) {
  use_all();
  EXPECT_EQ(thread_domains_, 0);
  EXPECT_GE(domain_counts().outside.queue_pairs, 6);
  EXPECT_EQ(domain_counts().outside.shared_queues, 2);
}

}  // namespace
}  // namespace openlapi::test
