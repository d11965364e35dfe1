"""The bridge to capture in the JVM: installs the Java classes, and reads their events."""

from headwater.spark_listener.capture.bridge import Bridge

__all__ = ["Bridge"]
