#!/usr/bin/env bash
# Installs the programs that some tests and the benchmark use, where this is a
# Debian-like system and we are root. Elsewhere it names what is missing and what
# will be skipped for it. A missing program is never a failure.
#
# BRAID_NO_INSTALL=1 leaves the system as it is.
set -euo pipefail

kernel_tests="the tests against the Linux kernel's RoCE driver"

# program or file:packages:what is skipped without it
wanted=(
  "iperf3:iperf3:the TCP reference of make bench"
  "ucx_perftest:ucx-utils:the UCX rows of make bench"
  "tshark:tshark:the test that Wireshark decodes our packets"
  "chromium:chromium:the tests that look at pages in a browser"
  "cc:gcc libc6-dev:the tests under the race detector"
  "qemu-system-x86_64:qemu-system-x86:$kernel_tests"
  "busybox:busybox-static:$kernel_tests"
  "ip:iproute2:$kernel_tests"
  "nft:nftables:those of $kernel_tests that lose packets"
  "ib_write_bw:perftest:$kernel_tests"
  "ibv_rc_pingpong:ibverbs-utils:$kernel_tests"
  "rping:rdmacm-utils:$kernel_tests"
  "/etc/libibverbs.d/rxe.driver:ibverbs-providers:$kernel_tests"
  "/usr/include/infiniband/verbs.h:libibverbs-dev:$kernel_tests"
  "/usr/include/rdma/rdma_cma.h:librdmacm-dev:$kernel_tests"
)

have() { command -v "$1" >/dev/null || [[ $1 == /* && -e $1 ]]; }

missing_packages() {
  local entry program package
  for entry in "${wanted[@]}"; do
    IFS=: read -r program package _ <<<"$entry"
    have "$program" || echo "$package"
  done
}

install_packages() {
  export DEBIAN_FRONTEND=noninteractive
  # One unreachable third-party list must not keep the others from being used.
  timeout 180 apt-get -qq update >/dev/null 2>&1 ||
    echo "setup: apt-get update had problems; trying to install all the same" >&2
  # The list of packages is meant to be split into words.
  # shellcheck disable=SC2086
  timeout 600 apt-get -qq install --no-install-recommends -y $1 >/dev/null 2>&1 ||
    echo "setup: apt-get could not install: $1" >&2
}

packages=$(missing_packages | tr '\n' ' ')
if [[ -n $packages && -z ${BRAID_NO_INSTALL:-} && $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
  echo "setup: installing $packages"
  install_packages "$packages"
fi

for entry in "${wanted[@]}"; do
  IFS=: read -r program package skipped <<<"$entry"
  if ! have "$program"; then
    echo "setup: WARNING: $program is missing (Debian: apt-get install $package); SKIPPED without it: $skipped" >&2
  fi
done
