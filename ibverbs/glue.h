/* What Go cannot do with libibverbs itself: unions, macros and inline functions. */
#ifndef BRAID_IBVERBS_GLUE_H
#define BRAID_IBVERBS_GLUE_H

#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdint.h>

enum {
	BRAID_MAX_SGE = 16,      /* transport.MaxSGE */
	BRAID_MAX_INLINE = 1024, /* transport.MaxInline */
	BRAID_BATCH = 64         /* completions per call */
};

/* A work request. The engine has one, in memory of C, which every post fills anew. */
struct braid_request {
	uint64_t id;
	uint32_t opcode, flags;
	uint64_t remote_addr;
	uint64_t compare_add, swap;
	uint32_t rkey, imm;
	struct ibv_ah *ah;
	uint32_t remote_qpn, remote_qkey;
	uint32_t sges;
	struct ibv_sge sge[BRAID_MAX_SGE];
	uint8_t inline_data[BRAID_MAX_INLINE];
};

struct braid_completion {
	uint64_t id;
	uint32_t status, opcode, bytes, flags, imm, src_qp;
};

/* An asynchronous event; qp is that of braid_create_qp, or 0. */
struct braid_event {
	uint32_t type, qp;
};

/* These return 0 or an error number. */
int braid_query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr);
int braid_post_send(struct ibv_qp *qp, struct braid_request *request);
int braid_post_recv(struct ibv_qp *qp, struct braid_request *request);
int braid_arm(struct ibv_cq *cq);
int braid_nonblocking(int fd);

/* Up to BRAID_BATCH completions; negative on failure. */
int braid_poll(struct ibv_cq *cq, struct braid_completion *out);

/* These take one event and return 1, or 0 if there is none now, or a negative error number. */
int braid_take_event(struct ibv_comp_channel *channel);
int braid_take_async(struct ibv_context *context, struct braid_event *out);

/* qp is a number by which events name the queue pair. */
struct ibv_qp *braid_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr, uint32_t qp);
struct ibv_mr *braid_register(struct ibv_pd *pd, uintptr_t address, size_t length, int access);
ssize_t braid_gids(struct ibv_context *context, struct ibv_gid_entry *entries, size_t limit);

#endif
