"""Reads → k-mers with the number of their occurrences: `count_kmers.py FOLDER`."""

import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

K = 21
folder = sys.argv[1]
spark = SparkSession.builder.appName("count_kmers").getOrCreate()

reads = spark.read.csv(f"{folder}/reads.csv", header=True)
starts = F.sequence(F.lit(1), F.length("sequence") - (K - 1))
kmers = reads.select("sequence", F.explode(starts).alias("start")).select(F.expr(f"substring(sequence, start, {K})").alias("kmer"))
kmers.groupBy("kmer").count().write.mode("overwrite").parquet(f"{folder}/kmers")
