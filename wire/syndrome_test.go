package wire

import "testing"

func TestSyndromeKinds(t *testing.T) {
	for _, tt := range []struct {
		s             Syndrome
		raw           uint8
		ack, rnr, nak bool
		text          string
	}{
		{AckSyndrome(NoCredit), 0x1f, true, false, false, "ACK(credit 31)"},
		{AckSyndrome(3), 0x03, true, false, false, "ACK(credit 3)"},
		{AckSyndrome(0xff), 0x1f, true, false, false, "ACK(credit 31)"},
		{RNRSyndrome(14), 0x2e, false, true, false, "RNR_NAK(timer 14)"},
		{RNRSyndrome(0), 0x20, false, true, false, "RNR_NAK(timer 0)"},
		{NakPSNSequence, 0x60, false, false, true, "NAK_PSN_SEQUENCE"},
		{NakInvalidRequest, 0x61, false, false, true, "NAK_INVALID_REQUEST"},
		{NakRemoteAccess, 0x62, false, false, true, "NAK_REMOTE_ACCESS"},
		{NakRemoteOperational, 0x63, false, false, true, "NAK_REMOTE_OPERATIONAL"},
		{NakEarlySynchronise, 0x70, false, false, true, "NAK_EARLY_SYNCHRONISE"},
		{0x64, 0x64, false, false, true, "NAK(code 4)"},
		{0x45, 0x45, false, false, false, "SYNDROME_0x45"},
	} {
		if uint8(tt.s) != tt.raw {
			t.Errorf("%v is 0x%02x, want 0x%02x", tt.s, uint8(tt.s), tt.raw)
		}
		if tt.s.IsAck() != tt.ack || tt.s.IsRNR() != tt.rnr || tt.s.IsNak() != tt.nak {
			t.Errorf("%v: ack %v, rnr %v, nak %v", tt.s, tt.s.IsAck(), tt.s.IsRNR(), tt.s.IsNak())
		}
		if tt.s.String() != tt.text {
			t.Errorf("0x%02x prints as %q, want %q", tt.raw, tt.s, tt.text)
		}
	}
	if got := RNRSyndrome(14).RNRTimer(); got != 14 {
		t.Errorf("RNRTimer() = %d, want 14", got)
	}
}

func TestRNRTimerTable(t *testing.T) {
	for code, micros := range []int64{
		655_360, 10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640, 960, 1_280, 1_920,
		2_560, 3_840, 5_120, 7_680, 10_240, 15_360, 20_480, 30_720, 40_960, 61_440, 81_920,
		122_880, 163_840, 245_760, 327_680, 491_520,
	} {
		nanos := micros * 1000
		if got := RNRTimerNanos(uint8(code)); got != nanos {
			t.Errorf("RNRTimerNanos(%d) = %d, want %d", code, got, nanos)
		}
	}
}
