"""Record capture and its events: the Java side installed, and its queue drained."""

from headwater.spark_listener.capture.bridge import Bridge

__all__ = ["Bridge"]
