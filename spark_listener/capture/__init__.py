"""Record capture and its events: installs the Java side, and reads its queue."""

from headwater.spark_listener.capture.bridge import Bridge

__all__ = ["Bridge"]
