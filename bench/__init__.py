"""The benchmarks behind every figure in the README: `make bench SUITE=demo`.

A suite compares *arms*, each a worker process with one warmed JVM or service of its own. In every round every case runs once in every
arm, the arms in random order, so that whatever the machine does meanwhile hits all of them alike; figures come from the ratios
within rounds. One arm is a control, the same as the baseline: where its ratio to the baseline is not 1 within ±3 %, the machine was too
restless, and the figure says that it is not usable.
"""
