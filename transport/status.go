package transport

// Status is the status of a work completion; the names are those of
// libibverbs. A Status other than Success is an error value, so that
// errors.Is(err, transport.RetryExcErr) works.
type Status uint8

// Completion statuses, numbered as enum ibv_wc_status.
const (
	Success         Status = 0
	LocLenErr       Status = 1
	LocQPOpErr      Status = 2
	LocProtErr      Status = 4
	WRFlushErr      Status = 5
	BadRespErr      Status = 7
	LocAccessErr    Status = 8
	RemInvReqErr    Status = 9
	RemAccessErr    Status = 10
	RemOpErr        Status = 11
	RetryExcErr     Status = 12
	RNRRetryExcErr  Status = 13
	RemAbortErr     Status = 16
	FatalErr        Status = 19
	RespTimeoutErr  Status = 20
	GeneralErr      Status = 21
	numStatusValues        = 22
)

var statusNames = [numStatusValues]string{
	Success: "IBV_WC_SUCCESS", LocLenErr: "IBV_WC_LOC_LEN_ERR", LocQPOpErr: "IBV_WC_LOC_QP_OP_ERR",
	LocProtErr: "IBV_WC_LOC_PROT_ERR", WRFlushErr: "IBV_WC_WR_FLUSH_ERR",
	BadRespErr: "IBV_WC_BAD_RESP_ERR", LocAccessErr: "IBV_WC_LOC_ACCESS_ERR", RemInvReqErr: "IBV_WC_REM_INV_REQ_ERR",
	RemAccessErr: "IBV_WC_REM_ACCESS_ERR", RemOpErr: "IBV_WC_REM_OP_ERR", RetryExcErr: "IBV_WC_RETRY_EXC_ERR",
	RNRRetryExcErr: "IBV_WC_RNR_RETRY_EXC_ERR", RemAbortErr: "IBV_WC_REM_ABORT_ERR", FatalErr: "IBV_WC_FATAL_ERR",
	RespTimeoutErr: "IBV_WC_RESP_TIMEOUT_ERR", GeneralErr: "IBV_WC_GENERAL_ERR",
}

func (s Status) String() string {
	if int(s) < len(statusNames) && statusNames[s] != "" {
		return statusNames[s]
	}
	return "IBV_WC_UNKNOWN"
}

// Error makes a failed status an error.
func (s Status) Error() string { return s.String() }
