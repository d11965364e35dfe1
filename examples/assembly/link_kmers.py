"""k-mers → the de Bruijn graph: each k-mer with its only successor, if there is one: `link_kmers.py FOLDER`.

A node of the graph is a text of k - 1 bases, and a k-mer leads from its first bases to its last. Where one k-mer enters a node and one
leaves it, the two are linked. Where paths meet or part, a k-mer is linked to itself: its contig ends.
"""

import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

folder = sys.argv[1]
spark = SparkSession.builder.appName("link_kmers").getOrCreate()

kmers = spark.read.parquet(f"{folder}/kmers")
first, last = F.expr("left(kmer, length(kmer) - 1)"), F.expr("right(kmer, length(kmer) - 1)")
leaving = kmers.groupBy(first.alias("node")).agg(F.count("*").alias("leaving"), F.max("kmer").alias("next"))
entering = kmers.groupBy(last.alias("node")).agg(F.count("*").alias("entering"))
passages = leaving.where("leaving = 1").join(entering.where("entering = 1"), "node").select("node", "next")

ends = kmers.withColumn("node", last)
links = ends.join(passages, "node", "left").select(
    "kmer", "count", F.coalesce("next", "kmer").alias("end"), F.when(F.col("next").isNull(), 0).otherwise(1).alias("distance")
)
links.write.mode("overwrite").parquet(f"{folder}/links")
