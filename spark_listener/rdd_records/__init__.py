"""Record lineage of RDD programs, in PySpark.

    in the driver     operators (what PySpark's methods become), sources (what is read), known (what is known of an RDD), calls (which
                      method the program called); loaded with the first RDD: program (how it is found out), source_files (which files
                      sources read), saves (what a save wrote), border (from DataFrames and back), sparing (what mode auto follows)
    in workers        starts, whole_files (which record was pulled), taps (what is written or carried), checked and placed (what the
                      program declares of its functions), chosen (what a question reads), keys (hashes), blocks (segments), batches (how
                      records are sent); shipped by value, so that workers need nothing of ours; _taps, their loops in C, is used where a
                      worker has this package

Every transformation of PySpark is a function over the iterator of a partition, and those between two shuffles run as one. So two places a
stage are enough: where records come in they get their references, and where they go out it is read off which were pulled for each.
"""
