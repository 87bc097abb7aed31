// Package export writes the rows of an experiment as CSV and as Parquet.
//
//	type Flow struct { ID int `parquet:"flow,delta"`; FCT float64 `parquet:"fct_us"` }
//	Write(flows, "flows.csv", "flows.parquet")
//	   ──> each row is encoded as it comes
//	   ──> bytes go to a temporary file beside the target
//	   ──> all files are synced, then renamed to their targets
//
// A target therefore either does not change or holds every row: a full disk or a
// crash leaves no half file under its name.
//
// The columns are those that parquet-go makes of the struct, in CSV too. The tag
// delta suits numbers that grow, dict text that repeats.
//
// The same rows give the same bytes on every machine. That is why Parquet pages
// are compressed with gzip: the faster codecs have assembly for some processors
// that chooses other matches than their portable code.
//
// Numbers in CSV have as many digits as it takes to read back the same number.
package export
