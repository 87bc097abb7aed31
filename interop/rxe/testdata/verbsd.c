/*
 * verbsd does with libibverbs what it is told, one command per line:
 *
 *   standard input ──> a command ──> one line of answer: "ok ..." or "error ..."
 *
 * The tests of package rxe drive it, so that they can ask the kernel's RoCE
 * driver for what no stock program does: atomics, immediate data, chosen packet
 * numbers, refused accesses. It keeps no state but the objects that it has made,
 * which are named by their index, and judges nothing: the tests do.
 *
 *   mr SIZE ACCESS                            -> ok INDEX ADDR RKEY
 *   qp SEND_DEPTH RECV_DEPTH                  -> ok INDEX QPN
 *   rtr QP MTU DEST_QPN PSN GID READS RNR_TIMER GID_INDEX
 *   rts QP PSN TIMEOUT RETRY RNR_RETRY READS
 *   recv QP MR OFFSET LENGTH ID
 *   post QP OPCODE MR OFFSET LENGTH ID RADDR RKEY IMM COMPARE SWAPADD
 *   poll TIMEOUT_MS                           -> ok none | ok ID STATUS OPCODE BYTES FLAGS IMM
 *   fill MR OFFSET LENGTH SEED; sum MR OFFSET LENGTH -> ok SUM
 *   store MR OFFSET VALUE; load MR OFFSET     -> ok VALUE
 *   state QP                                  -> ok STATE
 *   error QP; destroy QP; deregister MR
 *   listen PORT: from then on accept every connection of the connection manager; their
 *                queue pairs have the next indices, and are never destroyed by name
 *   exit: end at once, with everything open   (no answer)
 *
 * Numbers are hexadecimal.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <inttypes.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_OBJECTS = 256, MAX_NUMBERS = 16, PORT = 1, PAGE = 4096 };

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_mr *mrs[MAX_OBJECTS];
static struct ibv_qp *qps[MAX_OBJECTS];
static int mr_count, qp_count;

/* The numbers of the command at hand, and the one word that is none. */
static uint64_t number[MAX_NUMBERS];
static char word[64];

static void answer_error(const char *what)
{
	printf("error %s: %s\n", what, strerror(errno));
}

static void answer(int failed, const char *what)
{
	if (failed)
		answer_error(what);
	else
		printf("ok\n");
}

/* The object that a number of the command names, or NULL. */
static struct ibv_qp *qp_of(int n)
{
	return number[n] < (uint64_t)qp_count ? qps[number[n]] : NULL;
}

static struct ibv_mr *mr_of(int n)
{
	return number[n] < (uint64_t)mr_count ? mrs[number[n]] : NULL;
}

static uint8_t *bytes_of(struct ibv_mr *mr, uint64_t offset, uint64_t length)
{
	if (!mr || offset > mr->length || length > mr->length - offset)
		return NULL;
	return (uint8_t *)mr->addr + offset;
}

static void make_mr(void)
{
	void *memory;

	if (mr_count == MAX_OBJECTS || posix_memalign(&memory, PAGE, number[0])) {
		answer_error("mr");
		return;
	}
	memset(memory, 0, number[0]);
	mrs[mr_count] = ibv_reg_mr(pd, memory, number[0], (int)number[1]);
	if (!mrs[mr_count]) {
		answer_error("ibv_reg_mr");
		return;
	}
	printf("ok %x %" PRIx64 " %x\n", mr_count, (uint64_t)(uintptr_t)memory, mrs[mr_count]->rkey);
	mr_count++;
}

static void make_qp(void)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .sq_sig_all = 1,
		.cap = { .max_send_wr = (uint32_t)number[0], .max_recv_wr = (uint32_t)number[1],
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = PORT,
		.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
	};

	if (qp_count == MAX_OBJECTS || !(qps[qp_count] = ibv_create_qp(pd, &init))) {
		answer_error("ibv_create_qp");
		return;
	}
	if (ibv_modify_qp(qps[qp_count], &attr,
			  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)) {
		answer_error("INIT");
		return;
	}
	printf("ok %x %x\n", qp_count, qps[qp_count]->qp_num);
	qp_count++;
}

static void ready_to_receive(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR, .dest_qp_num = (uint32_t)number[2], .rq_psn = (uint32_t)number[3],
		.max_dest_rd_atomic = (uint8_t)number[4], .min_rnr_timer = (uint8_t)number[5],
		.ah_attr = { .is_global = 1, .port_num = PORT,
			     .grh = { .hop_limit = 64, .sgid_index = (uint8_t)number[6] } },
	};

	for (attr.path_mtu = IBV_MTU_256; (128u << attr.path_mtu) < number[1];)
		attr.path_mtu++;
	if (inet_pton(AF_INET6, word, attr.ah_attr.grh.dgid.raw) != 1) {
		answer_error("GID");
		return;
	}
	answer(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER), "RTR");
}

static void ready_to_send(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS, .sq_psn = (uint32_t)number[1], .timeout = (uint8_t)number[2],
		.retry_cnt = (uint8_t)number[3], .rnr_retry = (uint8_t)number[4],
		.max_rd_atomic = (uint8_t)number[5],
	};

	answer(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			     IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC), "RTS");
}

static void post_receive(struct ibv_qp *qp, struct ibv_mr *mr)
{
	struct ibv_sge sge = { .length = (uint32_t)number[3] };
	struct ibv_recv_wr wr = { .wr_id = number[4], .sg_list = &sge, .num_sge = 1 }, *bad;

	if (!mr) {
		answer_error("no such region");
		return;
	}
	sge.addr = (uintptr_t)mr->addr + number[2];
	sge.lkey = mr->lkey;
	errno = ibv_post_recv(qp, &wr, &bad);
	answer(errno, "ibv_post_recv");
}

static void post_send(struct ibv_qp *qp, struct ibv_mr *mr)
{
	struct ibv_sge sge = { .length = (uint32_t)number[4] };
	struct ibv_send_wr wr = { .wr_id = number[5], .sg_list = &sge, .num_sge = 1,
				  .opcode = (enum ibv_wr_opcode)number[1], .send_flags = IBV_SEND_SIGNALED,
				  .imm_data = htonl((uint32_t)number[8]) }, *bad;

	if (!mr) {
		answer_error("no such region");
		return;
	}
	sge.addr = (uintptr_t)mr->addr + number[3];
	sge.lkey = mr->lkey;
	if (wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = number[6];
		wr.wr.atomic.rkey = (uint32_t)number[7];
		/* The argument of FETCH_ADD is where CMP_SWAP has its comparison. */
		wr.wr.atomic.compare_add = wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP ? number[9] : number[10];
		wr.wr.atomic.swap = number[10];
	} else {
		wr.wr.rdma.remote_addr = number[6];
		wr.wr.rdma.rkey = (uint32_t)number[7];
	}
	errno = ibv_post_send(qp, &wr, &bad);
	answer(errno, "ibv_post_send");
}

static uint64_t milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void poll_cq(void)
{
	const struct timespec pause = { .tv_nsec = 100000 };
	uint64_t end = milliseconds() + number[0];
	struct ibv_wc wc;
	int n;

	while (!(n = ibv_poll_cq(cq, 1, &wc)) && milliseconds() < end)
		nanosleep(&pause, NULL);
	if (n < 0)
		answer_error("ibv_poll_cq");
	else if (!n)
		printf("ok none\n");
	else
		printf("ok %" PRIx64 " %x %x %x %x %x\n", wc.wr_id, wc.status, wc.opcode, wc.byte_len,
		       wc.wc_flags, ntohl(wc.imm_data));
}

/* Bytes that differ from place to place and from seed to seed; the tests know
 * the same formula. */
static void fill(struct ibv_mr *mr)
{
	uint8_t *b = bytes_of(mr, number[1], number[2]);
	uint64_t i;

	if (!b) {
		answer_error("range");
		return;
	}
	for (i = 0; i < number[2]; i++)
		b[i] = (uint8_t)(number[3] + i * 131 + (i >> 8) * 17);
	printf("ok\n");
}

/* FNV-1a. */
static void sum(struct ibv_mr *mr)
{
	uint8_t *b = bytes_of(mr, number[1], number[2]);
	uint64_t i, hash = 0xcbf29ce484222325u;

	if (!b) {
		answer_error("range");
		return;
	}
	for (i = 0; i < number[2]; i++)
		hash = (hash ^ b[i]) * 0x100000001b3u;
	printf("ok %" PRIx64 "\n", hash);
}

static void load_or_store(struct ibv_mr *mr, int store)
{
	uint8_t *b = bytes_of(mr, number[1], sizeof(uint64_t));
	uint64_t value;

	if (!b) {
		answer_error("range");
		return;
	}
	if (store)
		memcpy(b, &number[2], sizeof value);
	memcpy(&value, b, sizeof value);
	printf("ok %" PRIx64 "\n", value);
}

static void answer_state(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	if (ibv_query_qp(qp, &attr, IBV_QP_STATE, &init))
		answer_error("ibv_query_qp");
	else
		printf("ok %x\n", attr.qp_state);
}

static void move_to_error(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	answer(ibv_modify_qp(qp, &attr, IBV_QP_STATE), "ERR");
}

/* accept_connection makes the queue pair that a peer asks for. */
static void accept_connection(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	param->private_data = NULL;
	param->private_data_len = 0;
	if (qp_count == MAX_OBJECTS || rdma_create_qp(id, pd, &init) || rdma_accept(id, param))
		rdma_reject(id, NULL, 0);
	else
		qps[qp_count++] = id->qp;
}

static void *serve_connections(void *channel)
{
	struct rdma_cm_event *event;

	while (!rdma_get_cm_event(channel, &event)) {
		enum rdma_cm_event_type kind = event->event;
		struct rdma_conn_param param = event->param.conn;
		struct rdma_cm_id *id = event->id;

		rdma_ack_cm_event(event);
		if (kind == RDMA_CM_EVENT_CONNECT_REQUEST)
			accept_connection(id, &param);
		else if (kind == RDMA_CM_EVENT_DISCONNECTED)
			rdma_disconnect(id);
	}
	return NULL;
}

static void listen_on(void)
{
	struct sockaddr_in here = { .sin_family = AF_INET, .sin_port = htons((uint16_t)number[0]) };
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id;
	pthread_t thread;

	answer(!channel || rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) ||
	       rdma_bind_addr(id, (struct sockaddr *)&here) || rdma_listen(id, 64) ||
	       pthread_create(&thread, NULL, serve_connections, channel), "listen");
}

static void run(const char *command)
{
	struct ibv_qp *qp = qp_of(0);

	if (!strcmp(command, "mr"))
		make_mr();
	else if (!strcmp(command, "qp"))
		make_qp();
	else if (!strcmp(command, "poll"))
		poll_cq();
	else if (!strcmp(command, "fill"))
		fill(mr_of(0));
	else if (!strcmp(command, "sum"))
		sum(mr_of(0));
	else if (!strcmp(command, "load") || !strcmp(command, "store"))
		load_or_store(mr_of(0), *command == 's');
	else if (!strcmp(command, "listen"))
		listen_on();
	else if (!strcmp(command, "exit"))
		_exit(0);
	else if (!strcmp(command, "deregister") && mr_of(0)) {
		answer(ibv_dereg_mr(mr_of(0)), "ibv_dereg_mr");
		mrs[number[0]] = NULL;
	} else if (!qp)
		printf("error no such command or queue pair: %s\n", command);
	else if (!strcmp(command, "rtr"))
		ready_to_receive(qp);
	else if (!strcmp(command, "rts"))
		ready_to_send(qp);
	else if (!strcmp(command, "recv"))
		post_receive(qp, mr_of(1));
	else if (!strcmp(command, "post"))
		post_send(qp, mr_of(2));
	else if (!strcmp(command, "state"))
		answer_state(qp);
	else if (!strcmp(command, "error"))
		move_to_error(qp);
	else if (!strcmp(command, "destroy")) {
		answer(ibv_destroy_qp(qp), "ibv_destroy_qp");
		qps[number[0]] = NULL;
	} else
		printf("error no such command: %s\n", command);
}

int main(void)
{
	/* The connection manager's own, so that its queue pairs may use our memory. */
	struct ibv_context **devices = rdma_get_devices(NULL);
	char line[512];

	if (!devices || !(context = devices[0]) ||
	    !(pd = ibv_alloc_pd(context)) || !(cq = ibv_create_cq(context, 4096, NULL, NULL, 0))) {
		answer_error("open");
		return 1;
	}
	while (fgets(line, sizeof line, stdin)) {
		char *command = strtok(line, " \n"), *field;
		int n = 0;

		memset(number, 0, sizeof number);
		while ((field = strtok(NULL, " \n")) && n < MAX_NUMBERS) {
			/* A GID has colons, as no number has. */
			if (strchr(field, ':'))
				snprintf(word, sizeof word, "%s", field);
			else
				number[n++] = strtoull(field, NULL, 16);
		}
		if (command)
			run(command);
		fflush(stdout);
	}
	return 0;
}
