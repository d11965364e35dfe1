"""An OpenID Connect issuer: its keys, its signed tokens, and the exchange of a code for a token.

Sources: OpenID Connect Core 1.0 (3.1.3.7 for the checks of a token), Discovery 1.0, RFC 7517 (keys), RFC 7519 (tokens), RFC 7636 (PKCE),
RFC 8725 (security advice). Only algorithms with a public key are accepted, whatever a token claims. Keys are requested if a token
names an unknown key, at most twice a minute, and are discarded after a day without an answer. Forged tokens therefore cannot
cause many requests. Redirects are not followed.
"""

from __future__ import annotations

import hmac
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from headwater.backend.access.people.grants import Rules, is_trusted_address
from headwater.errors import KeyRequiredError, UnavailableError

if TYPE_CHECKING:
    import httpx
    import jwt

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
LONGEST_TOKEN = 16 << 10
_SKEW_SECONDS = 60
_SECONDS = 5.0  # timeout of the issuer
_MOST_BYTES = 1 << 20  # limit of one answer
_MOST_KEYS = 100
_PAUSE_SECONDS = 30.0  # time between two attempts to load the keys
_FRESH_SECONDS = 600.0  # age at which known keys are requested again
_KEPT_SECONDS = 24 * 3600.0


class TokenError(KeyRequiredError):
    """A token is not from the issuer, not for this service, or not valid now."""


@dataclass(slots=True)
class _IssuerState:
    """The issuer's metadata and keys, and the time of the answer."""

    document: dict[str, Any] = field(default_factory=dict)
    keys: dict[str, jwt.PyJWK] = field(default_factory=dict)
    at: float = float("-inf")


class Issuer:
    """An issuer with its cached keys. Thread-safe. `clock` counts seconds and never goes back."""

    def __init__(self, rules: Rules, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.rules = rules
        self._clock = clock
        self._known = _IssuerState()
        self._lock = Lock()
        self._tried = float("-inf")
        self._fault = "it was not asked yet"

    def wants_keys(self, token: str) -> bool:
        """Whether the keys should be requested (`learn`) before this token is checked. Requests are limited."""
        now = self._clock()
        is_stale = now - self._known.at > _FRESH_SECONDS
        return (is_stale or _key_id(token) not in self._known.keys) and now - self._tried > _PAUSE_SECONDS

    def learn(self) -> None:
        """Request the issuer's addresses and keys. Blocks for some seconds at most, or not at all if another thread already does it.

        An error is stored, and `claims` raises it.
        """
        import httpx

        if not self._lock.acquire(blocking=False):
            return
        try:
            if self._clock() - self._tried <= _PAUSE_SECONDS:
                return
            self._tried = self._clock()
            try:
                with _client() as client:
                    document = _document(client, self.rules.issuer)
                    keys = _keys(_json(client, _endpoint(document, "jwks_uri")))
                self._known = _IssuerState(document, keys, self._clock())
            except (httpx.HTTPError, ValueError) as error:
                self._fault = str(error) or type(error).__name__
        finally:
            self._lock.release()

    def claims(self, token: str, *, audiences: tuple[str, ...]) -> dict[str, Any]:
        """Return the claims of a token, after checking its signature, issuer, audience and times.

        Raises:
            TokenError: the token is not valid.
            UnavailableError: the issuer's keys are unknown, because the issuer does not answer.
        """
        import jwt

        known = self._known
        if self._clock() - known.at > _KEPT_SECONDS:
            raise UnavailableError(f"The issuer {self.rules.issuer} cannot be asked: {self._fault}.", hint="Try again in half a minute.")
        key = known.keys.get(_key_id(token))
        if key is None:
            raise TokenError("The token is signed with a key that its issuer does not name.", hint="Get a new one.")
        try:
            claims: dict[str, Any] = jwt.decode(
                token, key, algorithms=[key.algorithm_name], audience=list(audiences), issuer=self.rules.issuer, leeway=_SKEW_SECONDS,
                options={"require": ["exp", "iat", "iss", "aud", "sub"]},
            )  # fmt: skip
        except (jwt.InvalidTokenError, ValueError, RecursionError) as error:
            raise TokenError(f"The token is not accepted: {error}.", hint="Get a new one from the issuer, for this service.") from None
        if not isinstance(claims["sub"], str) or not claims["sub"]:
            raise TokenError("The token names nobody.", hint="Get a new one.")
        return claims

    def address(self, name: str) -> str:
        """Return an address from the issuer's metadata, such as its `authorization_endpoint`.

        Raises:
            UnavailableError: the issuer does not answer.
        """
        if not self._known.document:
            self.learn()
        try:
            return _endpoint(self._known.document, name)
        except ValueError:
            raise UnavailableError(
                f"The issuer {self.rules.issuer} cannot be asked: {self._fault}.", hint="Try again in half a minute."
            ) from None

    def sign_out_address(self) -> str | None:
        """Return the issuer's address for ending a browser's session, or None if the issuer has none.

        Source: OpenID Connect RP-Initiated Logout 1.0, 2. The issuer may ask the person first, because the service keeps no token that
        would identify the session.

        Raises:
            UnavailableError: the issuer does not answer.
        """
        self.address("authorization_endpoint")  # every issuer has this address; the call loads the metadata
        if "end_session_endpoint" not in self._known.document:
            return None
        address = self.address("end_session_endpoint")
        asked = {"client_id": self.rules.client}
        if self.rules.signed_out is not None:
            asked["post_logout_redirect_uri"] = self.rules.signed_out
        return f"{address}{'&' if '?' in address else '?'}{urlencode(asked)}"

    def exchange(self, code: str, *, verifier: str, nonce: str, redirect: str) -> dict[str, Any]:
        """Return the issuer's claims about the person who returned with a code. Blocks for seconds.

        The claims are from the token and from the userinfo endpoint.

        Raises:
            TokenError: the code is refused, or the token is not for this sign-in.
            UnavailableError: the issuer does not answer.
        """
        import httpx

        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect, "code_verifier": verifier}
        secret = self.rules.secret
        auth = httpx.BasicAuth(self.rules.client, secret) if secret is not None else None
        if auth is None:
            form["client_id"] = self.rules.client
        try:
            with _client() as client:
                answer = _json(client, self.address("token_endpoint"), form=form, auth=auth)
                token = answer.get("id_token") if isinstance(answer, dict) else None
                if not isinstance(token, str) or len(token) > LONGEST_TOKEN:
                    raise TokenError("The issuer gave no token for the code.", hint="Sign in once more.")
                if self.wants_keys(token):
                    self.learn()
                claims = self.claims(token, audiences=(self.rules.client,))
                if not hmac.compare_digest(str(claims.get("nonce", "")).encode(), nonce.encode()):
                    raise TokenError("The token is of another sign-in.", hint="Sign in once more.")
                if claims.get("azp", self.rules.client) != self.rules.client:
                    raise TokenError("The token is for another client.", hint="Sign in once more.")
                return self._with_user_info(client, claims, answer.get("access_token"))
        except httpx.HTTPStatusError as error:
            raise TokenError(f"The issuer does not take the sign-in ({error.response.status_code}).", hint="Sign in once more.") from None
        except (httpx.HTTPError, ValueError) as error:
            raise UnavailableError(
                f"The issuer {self.rules.issuer} cannot be asked: {error}.", hint="Try again in half a minute."
            ) from None

    def _with_user_info(self, client: httpx.Client, claims: dict[str, Any], access: object) -> dict[str, Any]:
        """Add claims of the issuer's userinfo endpoint. They never replace claims of the token."""
        if not isinstance(access, str) or "userinfo_endpoint" not in self._known.document:
            return claims
        more = _json(client, self.address("userinfo_endpoint"), headers={"Authorization": f"Bearer {access}"})
        if not isinstance(more, dict) or more.get("sub") != claims["sub"]:
            return claims  # Core 5.3.2: the answer is about another person
        return together(claims, more)


def together(claims: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Merge claims of a token with more claims about the same subject. `email_verified` comes from the source of the address."""
    teller = claims if "email" in claims else more
    return {**more, **claims, "email_verified": teller.get("email_verified")}


def _key_id(token: str) -> str:
    import jwt

    try:
        stated = jwt.get_unverified_header(token)
    except (jwt.InvalidTokenError, ValueError, RecursionError):
        return ""
    known = "crit" not in stated and stated.get("alg") in ALGORITHMS
    return f"{stated.get('kid', '')} {stated['alg']}" if known else ""


def _client() -> httpx.Client:
    import httpx

    return httpx.Client(timeout=_SECONDS, follow_redirects=False)


def _document(client: httpx.Client, issuer: str) -> dict[str, Any]:
    document = _json(client, f"{issuer.rstrip('/')}/.well-known/openid-configuration")
    if not isinstance(document, dict) or document.get("issuer") != issuer:
        raise ValueError(f"it calls itself {str(document.get('issuer') if isinstance(document, dict) else None)[:200]!r}")
    return document


def _endpoint(document: Mapping[str, Any], name: str) -> str:
    address = document.get(name)
    if not isinstance(address, str) or not is_trusted_address(address):
        raise ValueError(f"its {name} is {str(address)[:200]!r}")
    return address


def _keys(stated: object) -> dict[str, jwt.PyJWK]:
    import jwt

    listed = stated.get("keys") if isinstance(stated, dict) else None
    if not isinstance(listed, list):
        raise ValueError("its keys are no list")  # noqa: TRY004 - told like all that is wrong with the answer
    found: dict[str, jwt.PyJWK] = {}
    for entry in listed[:_MOST_KEYS]:
        if not isinstance(entry, dict) or entry.get("use", "sig") != "sig" or entry.get("kty") == "oct":
            continue
        for algorithm in [entry["alg"]] if "alg" in entry else [name for name in ALGORITHMS if _suits(entry, name)]:
            if algorithm not in ALGORITHMS:
                continue
            try:
                found[f"{entry.get('kid', '')} {algorithm}"] = jwt.PyJWK(entry, algorithm=algorithm)
            except (jwt.PyJWTError, ValueError, KeyError, TypeError):
                continue  # no accepted token can have a signature by an unusable key
    return found


def _suits(key: Mapping[str, Any], algorithm: str) -> bool:
    kind = {"RS": "RSA", "PS": "RSA", "ES": "EC", "Ed": "OKP"}[algorithm[:2]]
    curve = {"P-256": "ES256", "P-384": "ES384", "P-521": "ES512"}.get(str(key.get("crv")))
    return key.get("kty") == kind and (kind != "EC" or algorithm == curve)


def _json(
    client: httpx.Client, url: str, *, form: dict[str, str] | None = None, auth: httpx.BasicAuth | None = None,
    headers: dict[str, str] | None = None,
) -> Any:  # fmt: skip
    import httpx

    method = "GET" if form is None else "POST"
    request = client.build_request(method, url, data=form, headers={"Accept": "application/json", **(headers or {})})
    response = client.send(request, auth=auth or httpx.USE_CLIENT_DEFAULT, stream=True)
    try:
        if response.status_code != 200:
            response.raise_for_status()
            raise ValueError(f"it answers {response.status_code}")
        content = bytearray()
        for piece in response.iter_bytes():
            content += piece
            if len(content) > _MOST_BYTES:
                raise ValueError("its answer is too large")
        return json.loads(bytes(content))
    except RecursionError:
        raise ValueError("its answer is nested too deeply") from None
    finally:
        response.close()
