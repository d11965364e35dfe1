"""The domain: containment model, stores, association segments, tracing, views, PROV. Knows no web framework."""
