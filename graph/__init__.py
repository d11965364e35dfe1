"""The domain: containment model, stores, association segments, tracing, views, PROV. It does not depend on a web framework."""
