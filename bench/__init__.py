"""The benchmarks behind every figure in the README and docs/benchmarks.md: `make bench SUITE=tpch`.

A suite compares *arms*. The cost of capture is measured in pairs: all arms take turns in one warm JVM (`pairs`). The time of answers is
measured in rounds, each arm in a separate process (`harness`). Two rounds run the arms in a random order and back, so that other work of
the machine affects all of them equally. Figures come from the ratios within rounds. One arm is a control, equal to the baseline. If its
ratio to the baseline is not 1, the machine was too busy, and the figure is marked as not usable.
"""
