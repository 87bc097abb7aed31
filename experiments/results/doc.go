// Package results says what came out of a scenario's run.
//
// # The flow
//
//	scenario.Run ──Summarise──> Summary ──Text──> the terminal
//	                                    └─JSON──> programs
//	             ──Write(dir)──> summary.json
//	                             flows, links, series, paths, degrees as .csv and .parquet
//	                             completion-times, goodput, queues as .svg
//
// Everything that Write writes is a function of the scenario and its seed, byte
// for byte. What depends on the machine, such as how long the run took, stands in
// Summary.Cost alone, which Write leaves out.
package results
