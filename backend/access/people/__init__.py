"""People and programs that an OpenID Connect issuer identifies, and the rights that the operator grants them."""
