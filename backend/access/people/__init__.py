"""People and programs that an OpenID Connect issuer vouches for: who they are, and what the operator grants them."""
