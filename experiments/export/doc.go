// Package export writes the records of an experiment as CSV and as Parquet.
//
// # The flow
//
//	type Flow struct { ID int `col:"flow"`; FCT float64 `col:"fct_us"` }
//	CreateRows[Flow]("flows.csv", "flows.parquet") ──> Append(flow)… ──> Close
//	   ──> each record is checked against the schema and encoded as it comes
//	   ──> bytes go to a temporary file beside the target
//	   ──> Close syncs all files, then renames them to their targets
//
// A target therefore either does not change or holds every record: a full disk, a
// bad record or a crash leaves no half file under its name. The first error is
// returned, removes what was written so far, and is returned again by whatever is
// called afterwards.
//
// [Create] does the same for records whose columns are known only at run time,
// such as those of a sweep. [ReadRows] and [Read] read both formats back.
//
// The same records give the same bytes on every machine. That is why Parquet pages
// are compressed with gzip: the faster codecs have assembly for some processors
// that chooses other matches than their portable code.
//
// Numbers in CSV have as many digits as it takes to read back the same number.
package export
