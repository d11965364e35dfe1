"""Step 1 of 3, in Spark: keep the trips that went anywhere, each with its speed.

Lineage needs no code here: `headwater run` captures it.

headwater run clean_trips.py TRIPS.csv CLEAN
"""

import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.appName("clean_trips").getOrCreate()
trips = spark.read.csv(sys.argv[1], header=True, schema="bike string, minutes int, km double")
moved = trips.where("km > 0 AND minutes > 0").withColumn("speed", F.round(F.col("km") / (F.col("minutes") / 60), 1))
moved.repartition(2, "bike").write.csv(sys.argv[2], header=True)
spark.stop()
