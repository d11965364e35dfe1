"""Sets failing records aside instead of failing the job: `spark.headwater.skipFailing=N`. Nothing here is loaded without this setting.

in the driver     register (limit, file of claims, reports), rdd_methods (PySpark's methods with guards), functions (pickles that the
                  JVM puts around functions of Spark SQL; `jvm/rewrite/functions/SetAsideRule`)
in workers        claims (counts records across all tasks), guards (calls functions of the program and catches their exceptions);
                  shipped by value, so that workers need nothing of Headwater
"""
