//go:build ibverbs && linux && cgo

#include "glue.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>

int braid_query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr)
{
	return ibv_query_port(context, port, attr);
}

ssize_t braid_gids(struct ibv_context *context, struct ibv_gid_entry *entries, size_t limit)
{
	return ibv_query_gid_table(context, entries, limit, 0);
}

struct ibv_mr *braid_register(struct ibv_pd *pd, uintptr_t address, size_t length, int access)
{
	return ibv_reg_mr(pd, (void *)address, length, access);
}

struct ibv_qp *braid_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr, uint32_t qp)
{
	attr->qp_context = (void *)(uintptr_t)qp;
	return ibv_create_qp(pd, attr);
}

int braid_arm(struct ibv_cq *cq)
{
	return ibv_req_notify_cq(cq, 0);
}

int braid_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ? errno : 0;
}

int braid_post_send(struct ibv_qp *qp, struct braid_request *r)
{
	struct ibv_send_wr wr = {
		.wr_id = r->id, .sg_list = r->sge, .num_sge = (int)r->sges,
		.opcode = (enum ibv_wr_opcode)r->opcode, .send_flags = r->flags,
		.imm_data = htonl(r->imm),
	}, *bad;

	if (r->ah) {
		wr.wr.ud.ah = r->ah;
		wr.wr.ud.remote_qpn = r->remote_qpn;
		wr.wr.ud.remote_qkey = r->remote_qkey;
	} else if (wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = r->remote_addr;
		wr.wr.atomic.rkey = r->rkey;
		wr.wr.atomic.compare_add = r->compare_add;
		wr.wr.atomic.swap = r->swap;
	} else {
		wr.wr.rdma.remote_addr = r->remote_addr;
		wr.wr.rdma.rkey = r->rkey;
	}
	return ibv_post_send(qp, &wr, &bad);
}

int braid_post_recv(struct ibv_qp *qp, struct braid_request *r)
{
	struct ibv_recv_wr wr = { .wr_id = r->id, .sg_list = r->sge, .num_sge = (int)r->sges }, *bad;

	return ibv_post_recv(qp, &wr, &bad);
}

int braid_poll(struct ibv_cq *cq, struct braid_completion *out)
{
	struct ibv_wc wc[BRAID_BATCH];
	int i, n = ibv_poll_cq(cq, BRAID_BATCH, wc);

	for (i = 0; i < n; i++)
		out[i] = (struct braid_completion){
			.id = wc[i].wr_id, .status = wc[i].status, .opcode = wc[i].opcode,
			.bytes = wc[i].byte_len, .flags = wc[i].wc_flags,
			.imm = ntohl(wc[i].imm_data), .src_qp = wc[i].src_qp,
		};
	return n;
}

/*
 * Events are acknowledged at once: destroying what they belong to waits for it.
 * Signals come from the Go runtime, which moves goroutines by them.
 */

int braid_take_event(struct ibv_comp_channel *channel)
{
	struct ibv_cq *cq;
	void *context;

	while (ibv_get_cq_event(channel, &cq, &context)) {
		if (errno != EINTR)
			return errno == EAGAIN ? 0 : -errno;
	}
	ibv_ack_cq_events(cq, 1);
	return 1;
}

int braid_take_async(struct ibv_context *context, struct braid_event *out)
{
	struct ibv_async_event event;

	while (ibv_get_async_event(context, &event)) {
		if (errno != EINTR)
			return errno == EAGAIN ? 0 : -errno;
	}
	out->type = event.event_type;
	switch (event.event_type) {
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		out->qp = (uint32_t)(uintptr_t)event.element.qp->qp_context;
		break;
	default:
		out->qp = 0;
	}
	ibv_ack_async_event(&event);
	return 1;
}
