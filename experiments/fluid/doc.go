// Package fluid solves the fluid model of MP-RDMA §3.2.1: windows, queues and
// marking ratios as smooth functions of time, beside which the packets of a
// simulation can be laid.
//
// The flow through the package:
//
//	Config ──> check, defaults ──> fixed point (equilibrium.go) ──> average RTTs R*
//	       ──> RK4 over eq. (6) and (7) with delayed marks (solve.go, model.go, history.go)
//	       ──> Result: Equilibrium, Steady (averages of the tail), Trajectory
//
// # The model
//
// Virtual path i carries w_i packets of a connection and is mapped onto link j;
// N connections share the mapping; C_j is a link's rate in packets per second,
// d_j its base RTT, q_j its queue in packets.
//
//	cwnd     = sum of w_i over the virtual paths of the connection
//	dw_i/dt  = w_i/(cwnd R_j) (1 - F_j(t-R*_j))  -  w_i/(2 R_j) F_j(t-R*_j)    (6)
//	dq_j/dt  = N/R_j (sum of w_i over Path(j))  -  C_j                         (7)
//	R_j      = d_j + q_j/C_j                                                   (8)
//	F_j      = 0                               if q_j <= Kmin
//	           Pmax (q_j-Kmin)/(Kmax-Kmin)     if Kmin < q_j <= Kmax           (5)
//	           1                               if q_j > Kmax
//
// With one virtual path on one link, (6) to (8) are (1) to (3). Standard RED
// and DCTCP marking (Kmin = Kmax, Pmax = 1) are both cases of (5).
//
// Setting (6) to zero gives F = 2/(cwnd+2), which names no path: all paths of a
// connection are marked alike, whatever their RTTs, capacities and curves.
// Setting (7) to zero gives sum of N w_i = C_j d_j + q_j. Both together are the
// closed form that [FixedPoint] computes and [Solve] returns beside its numbers.
//
// The delay makes this a system of delay differential equations. Solve takes
// steps of fixed length by the classical Runge-Kutta scheme of order four and
// reads the delayed queue from its own past by cubic Hermite interpolation; no
// step is longer than the shortest base RTT, so the past it needs is always
// known. The same Config gives the same Result.
//
// # What the paper leaves open, and what was chosen
//
//   - Packet size. Footnote 4 counts 1220 packets in 100 Gb/s times 100 µs, which
//     is 1024 B, so that is [DefaultPacketBytes]. K is read as packets.
//   - R*, the RTT at the average queue, is known only after the fact. [Solve]
//     takes it at the fixed point's queue, which is the same wherever the queue
//     settles; [SolveSelfConsistent] repeats the solution until R* fits its
//     own average, which matters for the limit cycle of DCTCP marking.
//   - F, "the ratio of marked packets in the current window", is the marking
//     probability at the delayed instant, not an average over a window.
//   - Before time zero the queue is what it is at time zero.
//   - A queue does not fall below zero, which (7) by itself would allow. There
//     is no buffer limit, no PFC, no floor under cwnd and no limit by the NIC's
//     rate; at the paper's parameters none of them binds at the fixed point.
//   - "Mapped randomly": every [Group] has a mapping of its own, and (7) sums
//     over groups. One group is the paper's model.
//
// # Where the paper's text and its equations disagree
//
//   - "Full throughput is achieved under both marking schemes" of figure 4. With
//     standard RED the model agrees. With DCTCP marking it depends on the packet
//     size, since K is in packets: a self-consistent R* gives 100 % at 1500 B,
//     where the queue keeps above 8 packets, and 99.3 % at 1024 B, where all
//     flows in phase run it empty for a moment of each cycle.
//   - Eq. (4) is not the fixed point of (2) and (3). The text sets q = NW - CR
//     with R = d + q/C, which counts the queue twice; (2) demands NW = CR, hence
//     q = NW - Cd = 2N(1-F)/F - Cd, twice the right side of (4).
//     [PrintedQueue] gives (4) as printed, for comparison with figure 4.
//   - The text says that an unmarked ACK increases w_i with probability
//     w_i/cwnd. Eq. (6) uses 1/cwnd for each ACK of virtual path i, which the
//     sentence before derives; (6) is followed.
//   - That all links are marked alike needs mappings that allow it. A connection
//     equalises only the links it uses; if others load one link so that its
//     marks stay above the rest, the connection leaves that link, and the ratios
//     of different links differ for good. [FixedPoint] finds these cases too.
package fluid
