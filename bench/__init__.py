"""The benchmarks behind every figure in the README and docs/benchmarks.md: `make bench SUITE=tpch`.

A suite compares *arms*. What capture costs is measured by pairs, all arms by turns in one warm JVM (`pairs`); how long answers take in
rounds, each arm a process of its own (`harness`). The arms run in random order, so that whatever the machine does meanwhile hits all of
them alike; figures come from the ratios within rounds. One arm is a control, the same as the baseline: where its ratio to the baseline is
not 1, the machine was too restless, and the figure says that it is not usable.
"""
