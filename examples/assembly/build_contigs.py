"""The de Bruijn graph → contigs: `build_contigs.py FOLDER`.

Each round replaces the link of a k-mer by the link of the k-mer that it leads to, twice. After n rounds, links are 4^n k-mers long, or lead
to the end of their contig. A contig is the k-mers with one end, in the order of their distance.
"""

import sys

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

ROUNDS = 6
folder = sys.argv[1]
spark = SparkSession.builder.appName("build_contigs").getOrCreate()


def follow(links: DataFrame) -> DataFrame:
    further = links.select(F.col("kmer").alias("end"), F.col("end").alias("further"), F.col("distance").alias("more"))
    return links.join(further, "end").select(
        "kmer", "count", F.col("further").alias("end"), (F.col("distance") + F.col("more")).alias("distance")
    )


links = spark.read.parquet(f"{folder}/links")
for number in range(ROUNDS):
    follow(follow(links)).write.mode("overwrite").parquet(f"{folder}/rounds/{number}")
    links = spark.read.parquet(f"{folder}/rounds/{number}")

paths = links.groupBy("end").agg(
    F.sort_array(F.collect_list(F.struct("distance", "kmer")), asc=False).alias("path"), F.avg("count").alias("coverage")
)
bases = F.expr("concat(path[0].kmer, array_join(transform(slice(path, 2, size(path)), step -> right(step.kmer, 1)), ''))")
paths.select(bases.alias("bases"), F.size("path").alias("kmers"), "coverage").write.mode("overwrite").parquet(f"{folder}/contigs")
