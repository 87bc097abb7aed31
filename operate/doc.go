// Package operate is how an operator reaches a program that uses braid: each offers a socket of its
// own in the runtime directory of its user, and nobody else can open it. There it tells what its
// queue pairs and channels do, takes samples of what they wait for, and has its parameters changed (X-RDMA §VI).
//
// The programs' side is Offer, which a braid.Context calls by itself; a program of package verbs calls it with its
// device. The operator's side is Programs and Dial, behind `braid why` and `braid adm`. Evidence.Explain says in plain words what
// limits a transfer.
//
// Nothing of this is on the way of a packet: what is asked takes the lock of the device as Stats does, some hundred
// times a second while samples are taken, and never else.
package operate
