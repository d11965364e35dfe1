"""Record lineage of RDD programs, in PySpark.

    in the driver     operators (PySpark's methods with hooks), sources (files that methods read), known (facts about an RDD), calls (the
                      program's call); loaded with the first RDD: program (how each RDD was made), source_files (files of sources), saves
                      (results of a save), border (from DataFrames and back), sparing (limits of mode auto)
    in workers        starts, whole_files (numbers of records that a function reads), taps (recorded or carried references), checked and
                      placed (declarations about functions), chosen (records of a question), keys (hashes), blocks (segments), batches
                      (batches of records); shipped by value, so that workers need nothing of Headwater; _taps, their loops in C, is used
                      if a worker has this package

Every transformation of PySpark is a function over the iterator of a partition, and the functions between two shuffles run as one. So two
places in a stage are enough: incoming records get references, and at the end the tap reads which records were read for each result.
"""
