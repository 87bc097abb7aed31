// Package testbed is what the figures from the MP-RDMA paper's testbed (figure 10: ten servers, two ToR switches, four
// paths) and from its network of 320 servers have in common: probes and lines of the paths, packet sizes and marking
// thresholds, DCQCN.
package testbed
