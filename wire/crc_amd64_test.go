package wire

func init() {
	if narrowCRC {
		crcWays["narrow"] = crcNarrow
	}
}
