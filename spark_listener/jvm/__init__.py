"""The Java sources of the per-record path, compiled by the Janino that Spark carries, and what compiles and installs them."""
